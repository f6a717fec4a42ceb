"""Find the input files of a translation: sorted, each once, nothing that could hang or loop."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipport.core import Diagnostic, HipportError, Severity
from hipport.emit.manifest import MANIFEST
from hipport.emit.transaction import STATE_DIR

_SKIPPED_FOLDERS = {".git", ".hg", ".svn", ".jj", "__pycache__", ".venv", STATE_DIR}

_Identity = tuple[int, int]  # device and inode


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: its path relative to the root, where it is, size in bytes, executable bit."""

    path: str
    absolute: str
    size: int
    executable: bool


@dataclass(slots=True)
class Inputs:
    """What was found.

    Attributes:
        root: the folder that paths are relative to, absolute.
        files: sorted by path.
        diagnostics: what was left out and why.
        scope: selected paths relative to the root (``""``: all of it).
    """

    root: Path
    files: list[InputFile] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    scope: tuple[str, ...] = ("",)

    def covers(self, path: str) -> bool:
        """True when a path lies in the selected scope."""
        return any(not s or path == s or path.startswith(s + "/") for s in self.scope)


def tree_root(inputs: Sequence[Path], root: Path | None) -> Path:
    """The folder that output paths are relative to: given, or the input itself, or the folder common to all inputs.

    Raises:
        HipportError: an input does not exist, or lies outside the given root.
    """
    for given in inputs:
        if not os.path.lexists(given):
            raise HipportError(f"no such file or folder: {given}", "check the path")
    if root is not None:
        if not root.is_dir():
            raise HipportError(f"--root {root} is not a folder")
        for given in inputs:
            if not given.absolute().is_relative_to(root.absolute()):
                raise HipportError(f"{given} is not below --root {root}")
        return root.absolute()
    folders = [g.absolute() if g.is_dir() else g.absolute().parent for g in inputs]
    return Path(os.path.normpath(os.path.commonpath(folders)))


def find_inputs(
    inputs: Sequence[Path],
    root: Path,
    excluded: Callable[[str], bool],
    out: Path,
    follow_links: bool = True,
) -> Inputs:
    """Walk the inputs.

    Links are followed, each folder at most once along a path; pipes, sockets, devices and links that lead nowhere are
    reported. Version control folders, ``out`` and other output trees of hipport are left out.
    """
    root = root.absolute()
    found = Inputs(root, scope=tuple(sorted({_relative(g, root) for g in inputs})))
    walker = _Walker(found, excluded, _identity(out), follow_links)
    for given in inputs:
        walker.visit(str(given.absolute()), _relative(given, root), ())
    unique = {f.path: f for f in found.files}
    found.files = [unique[p] for p in sorted(unique)]
    found.diagnostics = sorted(set(found.diagnostics), key=lambda d: (d.path, d.id))
    return found


def _relative(path: Path, root: Path) -> str:
    relative = os.path.relpath(path.absolute(), root)
    return "" if relative == "." else relative.replace(os.sep, "/")


def names_below(root: Path, excluded: Callable[[str], bool], out: Path, limit: int) -> list[str]:
    """Paths of files below ``root``, without links and without looking at them; stops after ``limit`` files."""
    found: list[str] = []
    own = _identity(out)
    pending = [""]
    while pending and len(found) < limit:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(f"{root}/{folder}"), key=lambda e: e.name)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.is_symlink() or excluded(path):
                continue
            if not entry.is_dir():
                found.append(path)
            elif entry.name not in _SKIPPED_FOLDERS and _identity(Path(entry.path)) != own:
                pending.append(f"{path}/")
    return found


def _identity(path: Path) -> _Identity | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino


class _Walker:
    def __init__(
        self, found: Inputs, excluded: Callable[[str], bool], out: _Identity | None, follow_links: bool
    ) -> None:
        self.found = found
        self.excluded = excluded
        self.out = out
        self.follow_links = follow_links

    def visit(self, absolute: str, path: str, parents: tuple[_Identity, ...]) -> None:
        """One file or folder; ``parents`` are the folders above it, to see loops."""
        if path and self.excluded(path):
            return
        link = os.path.islink(absolute)  # noqa: PTH114 - paths are strings here: this loop is hot
        if link and not self.follow_links:
            self._skip(path, "HP932", Severity.NOTE, "a link is not followed in place", "translate what it leads to")
            return
        try:
            info = os.stat(absolute)  # noqa: PTH116
        except OSError as error:
            if link:
                self._skip(path, "HP932", Severity.WARNING, "the link leads nowhere or in a circle: left out", "fix it")
            else:
                self._unreadable(path, error)
            return
        if stat.S_ISREG(info.st_mode):
            executable = bool(info.st_mode & stat.S_IXUSR)
            self.found.files.append(InputFile(path, absolute, info.st_size, executable))
        elif stat.S_ISDIR(info.st_mode):
            self._folder(absolute, path, parents, (info.st_dev, info.st_ino))
        else:
            self._skip(path, "HP931", Severity.WARNING, "not a regular file (pipe, socket or device): left out", "")

    def _folder(self, absolute: str, path: str, parents: tuple[_Identity, ...], identity: _Identity) -> None:
        if path and os.path.basename(path) in _SKIPPED_FOLDERS:  # noqa: PTH119 - paths are strings here
            return
        if identity in parents:
            self._skip(path, "HP932", Severity.WARNING, "the link leads to a folder above it: left out", "")
            return
        if path and (identity == self.out or _is_output_tree(absolute)):
            return
        try:
            names = sorted(os.listdir(absolute))  # noqa: PTH208
        except OSError as error:
            self._unreadable(path, error)
            return
        for name in names:
            self.visit(f"{absolute}/{name}", f"{path}/{name}" if path else name, (*parents, identity))

    def _unreadable(self, path: str, error: OSError) -> None:
        self._skip(path, "HP930", Severity.ERROR, f"cannot be read: {error.strerror}", "check permissions")

    def _skip(self, path: str, number: str, severity: Severity, message: str, next_step: str) -> None:
        self.found.diagnostics.append(Diagnostic(number, severity, message, path=path, next_step=next_step))


def _is_output_tree(folder: str) -> bool:
    return os.path.isdir(f"{folder}/{STATE_DIR}") and os.path.isfile(f"{folder}/{MANIFEST}")  # noqa: PTH112, PTH113
