"""Bring the tree to what ``upstream.toml`` pins, without losing anything that a person changed.

What was unpacked is recorded per source in ``.hipport/upstream/NAME.json`` (path -> SHA-256). A file whose bytes differ
from the record was changed by a person. New files are unpacked beside the tree and moved in one by one, each
atomically; the record is written last, so an interrupted run is completed by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from hipport.core import HipportError
from hipport.core.files import write_atomic
from hipport.upstream.archive import read_license, unpack
from hipport.upstream.fetch import Progress, fetch
from hipport.upstream.pins import MAIN_GROUP, PIN_FILE, Pin, append_pin, check_new

STATE_FOLDER = ".hipport/upstream"  # a folder that translate never takes as input
_OURS = frozenset({PIN_FILE, "README.md"})  # committed beside the sources


@dataclass(frozen=True)
class State:
    """What was unpacked.

    Attributes:
        version: of the source.
        sha256: of its archive.
        groups: unpacked groups.
        files: SHA-256 by path relative to the source's folder.
    """

    version: str
    sha256: str
    groups: tuple[str, ...]
    files: dict[str, str]


@dataclass(frozen=True)
class SyncResult:
    """What a sync did.

    Attributes:
        pin: the source.
        groups: groups that the tree now holds.
        n_files: files of the source in the tree.
        written: files that were written.
        removed: files of an older version that were removed.
        kept: files that a person changed and that were left as they are.
    """

    pin: Pin
    groups: tuple[str, ...]
    n_files: int
    written: int
    removed: int
    kept: tuple[str, ...] = ()


def sync(
    root: Path,
    pin: Pin,
    groups: tuple[str, ...] = (),
    *,
    force: bool = False,
    offline: bool = False,
    progress: Progress | None = None,
) -> SyncResult:
    """Fetch and unpack one source. Does nothing when the tree is right already.

    Files that a person changed are kept. Only another version of the source, which they cannot follow, is refused.

    Args:
        root: folder of ``upstream.toml``.
        pin: the source.
        groups: groups to have besides ``main`` and those already there.
        force: overwrite files that a person changed.
        offline: use the cache only.
        progress: called while downloading.

    Raises:
        HipportError: changed files without ``force``, or what fetching and unpacking raise; the tree is as before.
    """
    state = read_state(root, pin)
    earlier = state.groups if state else ()
    still_named = [group for group in earlier if group in pin.groups]
    wanted = tuple(dict.fromkeys((MAIN_GROUP, *still_named, *groups)))
    paths = pin.paths(wanted)
    folder = root / pin.folder
    if state is not None and state.sha256 == pin.sha256 and set(state.groups) == set(wanted):
        changed = changed_files(folder, state)
        if all((folder / path).exists() for path in state.files) and not (changed and force):
            return SyncResult(pin, wanted, len(state.files), 0, 0, tuple(changed))
    archive, _ = fetch(pin.name, pin.version, pin.sha256, offline=offline, progress=progress)
    try:
        states = root / STATE_FOLDER
        states.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="staging-", dir=states) as name:
            staging = Path(name)
            files = unpack(archive, staging, paths)
            reserved = sorted(_OURS & files.keys()) if pin.folder == "." else []
            if reserved:
                raise HipportError(f"{pin.name} would overwrite {reserved[0]}", "leave it out of the groups")
            known = state.files if state else {}
            edited = _edited(folder, files, known)
            same_version = state is not None and state.sha256 == pin.sha256
            kept = [path for path in edited if same_version and path in known and not force]
            if len(kept) < len(edited) and not force:
                raise _would_overwrite(folder, [path for path in edited if path not in kept])
            written = _move_in(staging, folder, {path: files[path] for path in files if path not in set(kept)})
            removed = _remove_old(folder, [path for path in known if path not in files], known, force)
    except OSError as error:
        raise HipportError(f"cannot write {root}: {error.strerror}", "check permissions and free space") from error
    _write_state(root, pin, State(pin.version, pin.sha256, wanted, files))
    return SyncResult(pin, wanted, len(files), written, removed, tuple(kept))


def read_state(root: Path, pin: Pin) -> State | None:
    """What was unpacked for a source; None when nothing was, or the record is damaged."""
    try:
        data = json.loads(_state_path(root, pin).read_text(encoding="utf-8"))
        return State(data["version"], data["sha256"], tuple(data["groups"]), data["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def changed_files(folder: Path, state: State) -> list[str]:
    """Unpacked files whose bytes are no longer what was unpacked; missing ones do not count."""
    return [path for path, sha256 in state.files.items() if _sha256(folder / path) not in (sha256, None)]


def _edited(folder: Path, files: dict[str, str], known: dict[str, str]) -> list[str]:
    """Files that hold something that is neither the recorded nor the new content."""
    return [path for path, sha256 in files.items() if _sha256(folder / path) not in (None, sha256, known.get(path))]


def _would_overwrite(folder: Path, edited: list[str]) -> HipportError:
    more = f" and {len(edited) - 3} more" if len(edited) > 3 else ""
    return HipportError(
        f"{len(edited)} changed files in {folder} would be overwritten: {', '.join(edited[:3])}{more}",
        "keep your changes elsewhere, or overwrite them with --force",
    )


def _move_in(staging: Path, folder: Path, files: dict[str, str]) -> int:
    written = 0
    for path, sha256 in files.items():
        target = folder / path
        if _sha256(target) == sha256 and not target.is_symlink():
            continue
        _make_folder(folder, target.parent)
        if target.is_dir() and not target.is_symlink():
            raise HipportError(f"{target} is a folder where a file must go", "move it away")
        os.replace(staging / path, target)  # noqa: PTH105
        written += 1
    return written


def _make_folder(root: Path, folder: Path) -> None:
    """Make a folder below ``root``; a link on the way could lead the files elsewhere, so it is refused."""
    root.mkdir(parents=True, exist_ok=True)
    at = root
    for part in folder.relative_to(root).parts:
        at = at / part
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            raise HipportError(f"{at} is in the way of an upstream folder", "move it away")
        at.mkdir(exist_ok=True)


def _remove_old(folder: Path, paths: list[str], known: dict[str, str], force: bool) -> int:
    """Remove files that the new version no longer has; changed ones stay unless ``force``."""
    removed = 0
    for path in paths:
        if _sha256(folder / path) == known[path] or (force and (folder / path).is_file()):
            (folder / path).unlink()
            removed += 1
            _prune_empty(folder, (folder / path).parent)
    return removed


def _prune_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _state_path(root: Path, pin: Pin) -> Path:
    name = canonicalize_name(pin.name) if pin.folder == "." else pin.folder.replace("/", "-")
    return root / STATE_FOLDER / f"{name}.json"


def _write_state(root: Path, pin: Pin, state: State) -> None:
    data = {"name": pin.name, "version": state.version, "sha256": state.sha256, "groups": state.groups}
    text = json.dumps({**data, "files": dict(sorted(state.files.items()))}, indent=0)
    write_atomic(_state_path(root, pin), text.encode())


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def add(root: Path, name: str, version: str, *, offline: bool = False, progress: Progress | None = None) -> SyncResult:
    """Fetch a version of any package into a folder of its own, and pin it in ``upstream.toml``.

    The hash pinned is the one that the index states (or, where it states none, of the file it gave).

    Raises:
        HipportError: pinned already, or what fetching and unpacking raise; nothing is pinned then.
    """
    check_new(root, name, version)
    archive, sha256 = fetch(name, version, offline=offline, progress=progress)
    folder = f"{canonicalize_name(name)}-{version}"
    pin = Pin(name, version, sha256, read_license(archive), folder, {MAIN_GROUP: (".",)})
    result = sync(root, pin, offline=True)
    append_pin(root, pin)
    return result
