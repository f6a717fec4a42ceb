"""Archives and package indexes made on the spot."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hipport.upstream.pins import Pin

FILES = {
    "csrc/a.cu": "__global__ void a() {}\n",
    "csrc/deep/b.h": "#pragma once\n",
    "tests/t.py": "assert True\n",
    "other/unlisted.txt": "not wanted\n",
    "LICENSE": "BSD\n",
    "PKG-INFO": "Metadata-Version: 2.4\nName: kernels\nLicense-Expression: BSD-3-Clause\n",
}


def write_sdist(path: Path, files: dict[str, str], extra: Callable[[tarfile.TarFile], None] | None = None) -> str:
    """Write NAME-VERSION.tar.gz with its top folder; returns the SHA-256."""
    top = path.name.removesuffix(".tar.gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
        if extra is not None:
            extra(tar)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_index(root: Path, name: str, links: list[str]) -> str:
    """A PEP 503 page; returns the index's file: URL."""
    page = root / "simple" / name / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    anchors = "".join(f'<a href="{link}">{link}</a><br/>\n' for link in links)
    page.write_text(f"<!DOCTYPE html><html><body>{anchors}</body></html>")
    return (root / "simple").as_uri()


def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, files: dict[str, str]) -> Pin:
    sha256 = write_sdist(tmp_path / f"files/kernels-{version}.tar.gz", files)
    found = sorted((tmp_path / "files").glob("*.tar.gz"))
    monkeypatch.setenv("PIP_INDEX_URL", write_index(tmp_path, "kernels", [f"../../files/{p.name}" for p in found]))
    groups = {"main": ("csrc", "LICENSE"), "tests": ("tests",)}
    return Pin("kernels", version, sha256, "BSD-3-Clause", ".", groups)
