"""docs/opcodes.md is what scripts/opcode_table.py writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.sdk
@pytest.mark.slow
def test_the_page_of_opcodes_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "opcode_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
