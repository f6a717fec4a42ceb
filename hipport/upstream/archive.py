"""Unpack listed paths of an untrusted archive.

The whole archive is refused when any member is absolute, leaves the tree, links out of it or is a device: such an
archive was made to do harm, so its other members deserve no trust either.
"""

from __future__ import annotations

import email.parser
import gzip
import hashlib
import lzma
import posixpath
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hipport.core import HipportError
from hipport.upstream.pins import is_inside

_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Member:
    """One file of an archive.

    Attributes:
        path: inside the archive, without the sdist's top folder.
        size_bytes: unpacked size.
        executable: has an execute bit.
        name: its name in the archive, to read it by (of the target, for a link).
    """

    path: str
    size_bytes: int
    executable: bool
    name: str


def unpack(archive: Path, folder: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """Unpack the files under ``paths`` into ``folder``.

    Returns:
        SHA-256 by path of what was written.

    Raises:
        HipportError: unsafe or damaged archive, a listed path that it does not have, or not enough disk.
    """
    with _reader(archive) as reader:
        members = reader.members()
        wanted = [member for member in members if any(_is_under(member.path, path) for path in paths)]
        for path in paths:
            if not any(_is_under(member.path, path) for member in wanted):
                raise HipportError(f"{archive.name} has no {path}", "fix the paths in upstream.toml")
        _check_space(folder, wanted)
        hashes = {}
        for member in wanted:
            target = folder / member.path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                hashes[member.path] = _write(reader.open(member.name), target, member.executable)
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise _unsafe(archive, f"{member.path} is both a file and a folder") from error
            except _DAMAGE as error:
                raise _damaged(archive, error) from error
            except OSError as error:
                raise HipportError(
                    f"cannot unpack {member.path}: {error.strerror or error}", "check free disk space"
                ) from error
        return hashes


def read_license(archive: Path) -> str:
    """The licence that the archive's metadata states (SPDX expression where there is one), ``unknown`` if none.

    Raises:
        HipportError: unsafe or damaged archive.
    """
    with _reader(archive) as reader:
        for member in reader.members():
            if member.path == "PKG-INFO" or member.path.endswith(".dist-info/METADATA"):
                with reader.open(member.name) as stream:
                    fields = email.parser.BytesHeaderParser().parse(stream)
                stated = str(fields["License-Expression"] or fields["License"] or "").strip()
                classes = [c.rpartition("::")[2].strip() for c in fields.get_all("Classifier", []) if "License ::" in c]
                if stated.lower() == "unknown":
                    stated = ""
                return stated.partition("\n")[0] or " AND ".join(classes) or "unknown"
    return "unknown"


def _is_under(path: str, listed: str) -> bool:
    return listed == "." or path == listed or path.startswith(f"{listed}/")


def _check_space(folder: Path, members: list[Member]) -> None:
    needed = sum(member.size_bytes for member in members)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise HipportError(
            f"unpacking needs {needed / 1e6:.0f} MB, the disk has {free / 1e6:.0f} MB free", "free some disk space"
        )


def _write(stream: IO[bytes], target: Path, executable: bool) -> str:
    digest = hashlib.sha256()
    with stream, target.open("wb") as output:
        while block := stream.read(1 << 18):
            digest.update(block)
            output.write(block)
    if executable:
        target.chmod(0o755)
    return digest.hexdigest()


class _Tar:
    def __init__(self, archive: Path, tar: tarfile.TarFile) -> None:
        self.archive = archive
        self.tar = tar

    def members(self) -> list[Member]:
        entries = self.tar.getmembers()
        for entry in entries:
            if not is_inside(entry.name) or "\\" in entry.name:
                raise _unsafe(self.archive, f"member {entry.name!r} leaves the tree")
            if (entry.issym() or entry.islnk()) and not is_inside(self._target(entry)):
                raise _unsafe(self.archive, f"link {entry.name!r} leads out of the tree")
            if not (entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()):
                raise _unsafe(self.archive, f"member {entry.name!r} is a device or a pipe")
        files = {posixpath.normpath(e.name): e for e in entries if e.isfile()}
        top = _top_folder(list(files))
        found = {}
        for entry in entries:
            name = posixpath.normpath(entry.name)
            source = files.get(self._target(entry)) if entry.issym() or entry.islnk() else entry
            # A link inside the tree becomes a copy of the file it names; one to a folder is left out.
            if source is not None and source.isfile():
                path = name.removeprefix(top)
                found[path] = Member(path, source.size, bool(source.mode & 0o111), source.name)
        return list(found.values())

    @staticmethod
    def _target(entry: tarfile.TarInfo) -> str:
        base = posixpath.dirname(posixpath.normpath(entry.name)) if entry.issym() else ""
        return posixpath.normpath(posixpath.join(base, entry.linkname))

    def open(self, name: str) -> IO[bytes]:
        stream = self.tar.extractfile(name)
        assert stream is not None  # members() names files only
        return stream


class _Zip:
    def __init__(self, archive: Path, zipped: zipfile.ZipFile) -> None:
        self.archive = archive
        self.zip = zipped

    def members(self) -> list[Member]:
        files = []
        for entry in self.zip.infolist():
            kind = (entry.external_attr >> 16) & 0o170000
            if not is_inside(entry.filename) or "\\" in entry.filename:
                raise _unsafe(self.archive, f"member {entry.filename!r} leaves the tree")
            if kind not in (0, 0o100000, 0o040000):
                raise _unsafe(self.archive, f"member {entry.filename!r} is a link or a device")
            if not entry.is_dir():
                files.append(entry)
        top = "" if self.archive.suffix == ".whl" else _top_folder([entry.filename for entry in files])
        return [
            Member(e.filename.removeprefix(top), e.file_size, bool((e.external_attr >> 16) & 0o111), e.filename)
            for e in files
        ]

    def open(self, name: str) -> IO[bytes]:
        return self.zip.open(name)


def _top_folder(names: list[str]) -> str:
    """``NAME-VERSION/`` when everything lies in it (sdist), else empty."""
    tops = {name.partition("/")[0] for name in names if "/" in name}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""


@contextmanager
def _reader(archive: Path) -> Iterator[_Tar | _Zip]:
    try:
        if archive.suffix in (".zip", ".whl"):
            with zipfile.ZipFile(archive) as zipped:
                yield _Zip(archive, zipped)
        else:
            with tarfile.open(archive, "r:*") as tar:
                yield _Tar(archive, tar)
    except _DAMAGE as error:
        raise _damaged(archive, error) from error


def _damaged(archive: Path, error: Exception) -> HipportError:
    return HipportError(f"{archive.name} is damaged or truncated: {error}", "run the command again to fetch it anew")


def _unsafe(archive: Path, reason: str) -> HipportError:
    return HipportError(f"{archive.name} is unsafe: {reason}", "nothing was unpacked: do not use this archive")
