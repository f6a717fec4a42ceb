"""The sample that continuous integration builds: 4 units of layer_norm for a wave64 and a wave32 target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.build.torch_headers import find_torch
from hipport.cli.build import command as build
from hipport.cli.translate import command as translate

UPSTREAM = Path(__file__).parents[2] / "upstream_cuda"
LAYER_NORM = UPSTREAM / "csrc" / "layer_norm"

pytestmark = [pytest.mark.sdk, pytest.mark.corpus]


@pytest.mark.skipif(not LAYER_NORM.is_dir(), reason="run: hipport upstream sync")
@pytest.mark.skipif(find_torch() is None, reason='run: pip install "hipport[torch]"')
def test_four_units_for_two_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream launches every combination of 10 type sets with 16 or 8 switches, forward; more, backward."""
    monkeypatch.chdir(tmp_path)
    arguments = [str(LAYER_NORM), "--root", str(UPSTREAM), "--out", "generated_hip", "-q"]
    CliRunner().invoke(translate, arguments, standalone_mode=False)
    result = CliRunner().invoke(
        build, ["--preset", "sample", "-j", "1", "--json", "-q"], standalone_mode=False, catch_exceptions=False
    )
    report = json.loads(result.output)
    assert result.return_value == 0, report["diagnostics"]
    for target in ("gfx942", "gfx1100"):
        totals = report["totals"][target]
        assert (totals["units"], totals["ok"]) == (4, 4)
        assert totals["kernels"] == report["totals"]["stubs"]["registered"]
    forward = next(
        row for row in report["outcomes"] if row["unit"].endswith("ln_fwd_256.cu") and row["pass"] == "stubs"
    )
    # 10 REGISTER_FWD_LAUNCHER lines, each with 4 BOOL_SWITCHes: 16 instantiations
    assert len(forward["registered"]) == 160
