"""The fake engine in place of the real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engine import FakeEngine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEngine:
    """The fake engine in place of the real one, with rules whose identity the test controls, and a cache of its own."""
    fake = FakeEngine()
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("hipport.pipeline.session.load_engine", lambda *facts: fake)
    monkeypatch.setattr("hipport.pipeline.session.rulebook_identity", lambda folders: f"rules {fake.replacement!r}")
    return fake
