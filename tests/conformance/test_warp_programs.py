"""Warp and PTX programs on wavefronts of 64 and of 32 lanes; each also checks itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_conformance import check, names

FOLDER = Path(__file__).parent / "warp"


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1201"])
@pytest.mark.parametrize("name", names(FOLDER))
def test_warp_programs(name: str, target: str) -> None:
    check(FOLDER, name, target)


@pytest.mark.parametrize("name", names(FOLDER))
def test_expected_output_finds_nothing_wrong(name: str) -> None:
    assert not re.search(r"bad [1-9]|ok 0", (FOLDER / f"{name}.out").read_text())
