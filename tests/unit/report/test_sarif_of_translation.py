"""SARIF of a translation: its diagnostics, with the documentation of their ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli.report import command
from hipport.cli.translate import command as translate

SOURCE = (
    "__device__ int f(int v) { int lane = threadIdx.x & 31;"
    " if (lane < 8) v += __shfl_xor_sync(~0u, v, 1); return v; }\n"
)


def test_report_as_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cu").write_text(SOURCE)
    CliRunner().invoke(translate, ["src", "--out", "out"], standalone_mode=False)
    result = CliRunner().invoke(command, ["--out", "out", "--format", "sarif"], standalone_mode=False)
    run = json.loads(result.stdout)["runs"][0]
    found = [r for r in run["results"] if r["ruleId"] == "HP210"]
    assert [(r["level"], r["kind"]) for r in found] == [("warning", "fail")]
    place = found[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a.cu"
    assert place["region"] == {"startLine": 1, "startColumn": SOURCE.index("__shfl") + 1}
    rule = run["tool"]["driver"]["rules"][found[0]["ruleIndex"]]
    assert rule["shortDescription"]["text"] == "A full mask inside a branch that lanes decide differently"
    assert str(tmp_path) not in result.stdout
