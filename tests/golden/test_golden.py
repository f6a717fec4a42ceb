"""Whole trees, byte for byte, through the real rules.

Each folder holds ``input/``, ``expected/``, ``findings.txt`` (place, severity, id) and optionally ``options.toml`` (as
hipport.toml). ``HIPPORT_GOLDEN=write pytest tests/golden`` writes what translation gives now: review it like code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hipport.core.files import include_root
from hipport.pipeline.run import Outcome, Request, translate_tree
from hipport.pipeline.settings import load_settings

HERE = Path(__file__).parent
TREES = sorted(p.parent.name for p in HERE.glob("*/input"))


def translate(name: str, out: Path) -> Outcome:
    options = HERE / name / "options.toml"
    settings = load_settings(options) if options.exists() else load_settings(HERE / "defaults.toml")
    return translate_tree(Request((HERE / name / "input",), out, settings.translate_options(), patches=out / "none"))


def files(tree: Path) -> dict[str, bytes]:
    found = {p.relative_to(tree).as_posix(): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}
    own = ("manifest", ".hipport/", "include/hipport/")
    return {path: data for path, data in found.items() if not path.startswith(own)}


def findings(outcome: Outcome) -> str:
    found = outcome.manifest.all_diagnostics()
    return "".join(f"{d.path}:{d.line} {d.severity} {d.id}\n" for d in found)


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("name", TREES)
def test_tree(name: str, tmp_path: Path) -> None:
    outcome = translate(name, tmp_path / "out")
    expected = HERE / name / "expected"
    if os.environ.get("HIPPORT_GOLDEN") == "write":
        shutil.rmtree(expected, ignore_errors=True)
        for path, data in files(tmp_path / "out").items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(data)
        (HERE / name / "findings.txt").write_text(findings(outcome))
    got = files(tmp_path / "out")
    assert sorted(got) == sorted(files(expected))
    for path, data in files(expected).items():
        assert got[path] == data, path
    assert findings(outcome) == (HERE / name / "findings.txt").read_text()


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("name", TREES)
def test_headers_beside_the_output_are_the_shipped_ones(name: str, tmp_path: Path) -> None:
    translate(name, tmp_path / "out")
    for path in (tmp_path / "out/include").rglob("*.h"):
        assert path.read_bytes() == (include_root() / path.relative_to(tmp_path / "out/include")).read_bytes()


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("name", TREES)
def test_translating_the_output_changes_nothing(name: str, tmp_path: Path) -> None:
    translate(name, tmp_path / "out")
    options = HERE / name / "options.toml"
    settings = load_settings(options) if options.exists() else load_settings(HERE / "defaults.toml")
    again = translate_tree(
        Request((tmp_path / "out",), tmp_path / "again", settings.translate_options(), exclude=("manifest*.json",))
    )
    assert files(tmp_path / "again") == files(tmp_path / "out")
    assert not any(f.edits for f in again.manifest.files)


@pytest.mark.sdk
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_the_expected_kernel_compiles(target: str, tmp_path: Path) -> None:
    from hipport.sdk import find_sdk

    sdk = find_sdk()
    source = HERE / "row_norm/expected/src/row_norm.cu"
    command = [str(sdk.clang), *sdk.device_flags(target), "-O3", "-I", str(include_root())]
    run = subprocess.run(
        [*command, "-c", str(source), "-o", str(tmp_path / "kernel.o")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "kernel.o").stat().st_size > 0
