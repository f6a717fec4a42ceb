"""No configuration of this machine's pip plays a part, and no network beyond the loopback interface."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_index import FILES, publish

from hipport.upstream.pins import Pin


@pytest.fixture(autouse=True)
def own_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of this machine's pip or network plays a part."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pin:
    """kernels 1.0 on the configured index, and its pin."""
    return publish(tmp_path, monkeypatch, "1.0", FILES)
