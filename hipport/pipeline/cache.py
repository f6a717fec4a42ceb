"""What lies in hipport's cache folder, and what may go."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import cache_root
from hipport.emit.pristine import pack_folder, read_pack

# Parts that need the network or minutes to come back; only their own commands remove them.
_EXPENSIVE = frozenset({"sdk", "debs", "upstream"})


@dataclass(frozen=True, slots=True)
class Area:
    """A folder or file of the cache and what it holds."""

    name: str
    n_files: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Translation:
    """The cache entry of one output tree; ``alive`` when the tree is still there."""

    path: Path
    out: str
    n_files: int
    n_bytes: int
    alive: bool


def sections() -> list[Area]:
    """The cache's folders with their sizes, by name."""
    root = cache_root()
    if not root.is_dir():
        return []
    return [_area(p) for p in sorted(root.iterdir())]


def translations() -> list[Translation]:
    """Cached translations, by output tree; damaged packs count as gone."""
    found = []
    folder = pack_folder()
    for path in sorted(folder.glob("*.pack")) if folder.is_dir() else []:
        pack = read_pack(path, with_frames=False)
        out = pack.out if pack else ""
        n_files = len(pack.records) if pack else 0
        found.append(
            Translation(path, out or "(damaged)", n_files, path.stat().st_size, bool(out) and Path(out).is_dir())
        )
    return sorted(found, key=lambda t: t.out)


def prune(everything: bool, dry_run: bool = False) -> list[Area]:
    """Remove translations whose output is gone; with ``everything`` all that costs only time.

    Raises:
        HipportError: something cannot be removed.
    """
    if everything:
        root = cache_root()
        doomed = [p for p in sorted(root.iterdir()) if p.name not in _EXPENSIVE] if root.is_dir() else []
    else:
        doomed = [t.path for t in translations() if not t.alive]
    removed = []
    for path in doomed:
        removed.append(_area(path))
        if dry_run:
            continue
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:
            raise HipportError(f"cannot remove {path}: {error.strerror}", "check permissions") from error
    return removed


def _area(path: Path) -> Area:
    n_files = n_bytes = 0
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            for name in names:
                n_files += 1
                n_bytes += os.lstat(f"{folder}/{name}").st_size
    else:
        n_files, n_bytes = 1, path.lstat().st_size
    return Area(path.name, n_files, n_bytes)
