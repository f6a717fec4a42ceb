"""Untrusted archives: what is unpacked, what is refused."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import zipfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_index import FILES, write_sdist

from hipport.core import HipportError
from hipport.upstream.archive import read_license, unpack


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> Callable[[tarfile.TarFile], None]:
    def add(tar: tarfile.TarFile) -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, target
        entry.size = 4 if kind == tarfile.REGTYPE else 0
        tar.addfile(entry, io.BytesIO(b"evil"))

    return add


def tree(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_only_listed_paths_and_without_the_top_folder(tmp_path: Path) -> None:
    archive = tmp_path / "kernels-1.0.tar.gz"
    write_sdist(archive, FILES)
    out = tmp_path / "out"
    out.mkdir()
    hashes = unpack(archive, out, ("csrc", "LICENSE"))
    assert tree(out) == {path: FILES[path] for path in ("LICENSE", "csrc/a.cu", "csrc/deep/b.h")}
    assert set(hashes) == {"LICENSE", "csrc/a.cu", "csrc/deep/b.h"}


def test_a_listed_name_is_no_prefix(tmp_path: Path) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {"csrc/a": "1", "csrc_more/b": "2", "setup.py": "3", "setup.pyc": "4"})
    (tmp_path / "out").mkdir()
    unpack(archive, tmp_path / "out", ("csrc", "setup.py"))
    assert set(tree(tmp_path / "out")) == {"csrc/a", "setup.py"}


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (member("../outside"), "leaves the tree"),
        (member("k-1/csrc/../../../outside"), "leaves the tree"),
        (member("/etc/outside"), "leaves the tree"),
        (member("k-1\\..\\outside"), "leaves the tree"),
        (member("k-1/csrc/link", tarfile.SYMTYPE, "../../../etc/passwd"), "out of the tree"),
        (member("k-1/csrc/link", tarfile.SYMTYPE, "/etc/passwd"), "out of the tree"),
        (member("k-1/csrc/link", tarfile.LNKTYPE, "../etc/passwd"), "out of the tree"),
        (member("k-1/csrc/dev", tarfile.CHRTYPE), "device or a pipe"),
        (member("k-1/csrc/fifo", tarfile.FIFOTYPE), "device or a pipe"),
    ],
)
def test_unsafe_archives_are_refused_whole(
    extra: Callable[[tarfile.TarFile], None], reason: str, tmp_path: Path
) -> None:
    archive = tmp_path / "in/k-1.tar.gz"
    write_sdist(archive, {"csrc/a.cu": "x"}, extra)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(HipportError, match="unsafe") as caught:
        unpack(archive, out, ("csrc",))
    assert reason in caught.value.message
    assert not list(out.iterdir())
    assert not (tmp_path / "outside").exists()


def test_a_link_inside_the_tree_becomes_the_file_it_names(tmp_path: Path) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {"a.h": "text", "d/b.h": "x"}, member("k-1/d/link.h", tarfile.SYMTYPE, "../a.h"))
    (tmp_path / "out").mkdir()
    unpack(archive, tmp_path / "out", ("d",))
    link = tmp_path / "out/d/link.h"
    assert not link.is_symlink()
    assert link.read_text() == "text"


def test_a_file_that_is_also_a_folder_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {"d": "file", "d/x": "below"})
    (tmp_path / "out").mkdir()
    with pytest.raises(HipportError, match="both a file and a folder"):
        unpack(archive, tmp_path / "out", (".",))


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.99])
def test_truncated_archive(keep: float, tmp_path: Path) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {f"csrc/{n}": os.urandom(3000).hex() for n in range(20)})
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * keep)])
    (tmp_path / "out").mkdir()
    with pytest.raises(HipportError, match="damaged or truncated"):
        unpack(archive, tmp_path / "out", ("csrc",))


def test_not_an_archive(tmp_path: Path) -> None:
    for name in ("k-1.tar.gz", "k-1.zip"):
        (tmp_path / name).write_bytes(b"<html>not found</html>")
        with pytest.raises(HipportError, match="damaged"):
            unpack(tmp_path / name, tmp_path, ("csrc",))


def test_missing_listed_path(tmp_path: Path) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {"csrc/a": "1"})
    with pytest.raises(HipportError, match="has no hopper"):
        unpack(archive, tmp_path, ("csrc", "hopper"))


def test_disk_full_is_known_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "k-1.tar.gz"
    write_sdist(archive, {"csrc/a": "1" * 1000})
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1000, 1, 999))
    (tmp_path / "out").mkdir()
    with pytest.raises(HipportError, match="free"):
        unpack(archive, tmp_path / "out", ("csrc",))
    assert not list((tmp_path / "out").iterdir())


def test_wheel_and_zip(tmp_path: Path) -> None:
    for name, top in (("k-1-py3-none-any.whl", ""), ("k-1.zip", "k-1/")):
        with zipfile.ZipFile(tmp_path / name, "w") as zipped:
            zipped.writestr(f"{top}k/a.cu", "x")
            zipped.writestr(f"{top}k-1.dist-info/METADATA", "License: MIT\n")
        out = tmp_path / f"out-{name}"
        out.mkdir()
        unpack(tmp_path / name, out, ("k",))
        assert tree(out) == {"k/a.cu": "x"}
        assert read_license(tmp_path / name) == "MIT"
    with zipfile.ZipFile(tmp_path / "evil-1.zip", "w") as zipped:
        zipped.writestr("../outside", "x")
    with pytest.raises(HipportError, match="unsafe"):
        unpack(tmp_path / "evil-1.zip", tmp_path, (".",))


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: BSD-3-Clause\nLicense: ignored\n", "BSD-3-Clause"),
        ("License: UNKNOWN\nClassifier: License :: OSI Approved :: MIT License\n", "MIT License"),
        ("Name: k\n", "unknown"),
    ],
)
def test_licence_from_metadata(metadata: str, licence: str, tmp_path: Path) -> None:
    write_sdist(tmp_path / "k-1.tar.gz", {"PKG-INFO": metadata, "x": "y"})
    assert read_license(tmp_path / "k-1.tar.gz") == licence
