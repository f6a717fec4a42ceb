"""The upstream tree, translated once per change of rules, and its kernels on the emulator with all checks on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hipport.core.files import cache_root
from hipport.flash import FlashAttention

UPSTREAM = Path(__file__).parents[2] / "upstream_cuda"


@pytest.fixture(scope="session")
def tree() -> Path:
    """The translated tree; it stays in the cache, so that only what changed is translated again."""
    if not (UPSTREAM / "csrc/flash_attn").is_dir():
        pytest.skip("the upstream sources are not here: hipport upstream sync")
    out = cache_root() / "flash" / "corpus"
    command = [sys.executable, "-m", "hipport", "translate", str(UPSTREAM), "--out", str(out), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return out


@pytest.fixture
def flash(tree: Path) -> Iterator[FlashAttention]:
    """Kernels for gfx942; a test fails when the checks found something in what it ran."""
    kernels = FlashAttention(tree, target="gfx942", checks="all", compute_units=1, seed=11)
    yield kernels
    assert not kernels.findings
