"""What continuous integration verifies of FlashAttention: the quick cases on a wave64 target, one on a wave32 target.

`hipport verify` compiles 11 instantiations in 5 programs, two at a time: under three minutes on two cores when nothing
is cached. `test_flash_forward.py` has all cases.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]


@pytest.mark.parametrize(
    ("target", "choice", "n_cases"),
    [("gfx942", ("--subset", "quick"), 14), ("gfx1201", ("--case", "h200_d64_odd_causal_gqa"), 1)],
)
def test_cases_pass(tree: Path, target: str, choice: tuple[str, ...], n_cases: int) -> None:
    command = [sys.executable, "-m", "hipport", "verify", str(tree), "--target", target, *choice, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert [case for case in run["cases"] if not case["passed"]] == []
    assert (run["target"], run["passed"]) == (target, n_cases)
    assert all(case["kernels"] and case["figures"] for case in run["cases"])
