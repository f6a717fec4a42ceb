"""Safety of translating in place: version control must be able to bring every changed file back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hipport.core import HipportError

_SHOWN = 5


def require_committed(root: Path, paths: Sequence[str]) -> None:
    """Refuse when git could not restore one of ``paths`` (relative to ``root``).

    Raises:
        HipportError: no repository, or a file is untracked, ignored or has uncommitted changes.
    """
    force = "commit them, or use --force"
    tracked = _git(root, ["ls-files", "-z", "--", "."])
    if tracked is None:
        raise HipportError(
            f"{root} is not in a git work tree: --in-place could not be undone",
            "commit the sources first, write to another folder with --out, or use --force",
        )
    known = {os.fsdecode(name) for name in tracked.split(b"\0") if name}
    unknown = [p for p in paths if p not in known]
    if unknown:
        raise HipportError(f"--in-place would change files that git does not track: {_some(unknown)}", force)
    status = _git(root, ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--", "."])
    if status is None:
        raise HipportError(f"git status failed in {root}", "check the repository, or use --force")
    prefix = os.fsdecode((_git(root, ["rev-parse", "--show-prefix"]) or b"").rstrip(b"\n"))
    dirty = {os.fsdecode(row[3:]).removeprefix(prefix) for row in status.split(b"\0") if row}
    changed = [p for p in paths if p in dirty]
    if changed:
        raise HipportError(f"--in-place would change files with uncommitted changes: {_some(changed)}", force)


def _git(root: Path, arguments: list[str]) -> bytes | None:
    try:
        run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return run.stdout if run.returncode == 0 else None


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more
