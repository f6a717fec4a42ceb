"""Compares a program's output with what the reference machine printed."""

from __future__ import annotations

import math
import re

RELATIVE_TOLERANCE = 1e-3  # of digits beside an `_ok` flag; everything else is exact
_DECIMAL = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")
# Lines that depend on summation order: information, not a check.
_INFORMATION = {"a16_flash_simt": ("first_row", "abs_sum"), "a16b_flash_mma": ("first_row", "abs_sum")}


def differences(program: str, got: str, want: str) -> list[str]:
    """Lines that differ, as messages; empty when the outputs agree."""
    got_lines, want_lines = got.splitlines(), want.splitlines()
    found = []
    for number, (mine, theirs) in enumerate(zip(got_lines, want_lines, strict=False), 1):
        informative = (
            theirs.startswith(_INFORMATION.get(program, ("\0",))) and mine.split(":")[0] == theirs.split(":")[0]
        )
        if not informative and not _same_line(mine, theirs):
            found.append(f"line {number}: got {mine!r}, want {theirs!r}")
    if len(got_lines) != len(want_lines):
        found.append(f"{len(got_lines)} lines, want {len(want_lines)}")
    return found


def _same_line(got: str, want: str) -> bool:
    if got == want:
        return True
    if "_ok:" not in want:
        return False
    mine, theirs = _DECIMAL.findall(got), _DECIMAL.findall(want)
    if _DECIMAL.sub("#", got) != _DECIMAL.sub("#", want) or len(mine) != len(theirs):
        return False
    return all(math.isclose(float(a), float(b), rel_tol=RELATIVE_TOLERANCE) for a, b in zip(mine, theirs, strict=True))
