"""docs/warp.md and docs/ptx.md say what the rules and the table say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("warp_docs", ROOT / "scripts" / "warp_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run scripts/warp_docs.py"
