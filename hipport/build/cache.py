"""The content-hash cache of compilations.

An entry is found in two steps, without preprocessing: compiler, flags and the main file's bytes name a list of the
dependency lists seen so far; compiler, flags and the bytes of all files of such a list name the result. A file whose
name equals that of a dependency and that appears or vanishes in the tree changes the key too: it may shadow a header.

A kernel that is cut out of a unit's bitcode depends on the hash of that bitcode, its own name and the flags alone.

Where system headers lie does not matter: their folders are numbered by their place in the search order, in flags and in
dependency lists. So a cache survives a moved environment, and equal headers made again under another name.

A compilation with errors is kept as well when its dependencies are known. What the machine caused (a kill, a full
disk) is never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import posixpath
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from hipport.build.plan import Job
from hipport.build.tree import Tree
from hipport.core.files import cache_root, write_atomic

_SCHEMA = 1
_LISTS_KEPT = 8  # dependency lists remembered for one main file: variants by macro


@dataclass(frozen=True, slots=True)
class Cost:
    """What a compilation took when it ran.

    Attributes:
        cpu_s: user and system seconds of the compiler and its children.
        peak_bytes: largest resident set of one process.
    """

    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """Outcome of one compiler call.

    Attributes:
        ok: it succeeded.
        output: bytes of the object (or IR); empty on failure.
        messages: standard error, paths inside the tree relative to its root.
        cost: see `Cost`.
        cached: it comes from the cache.
    """

    ok: bool
    output: bytes = field(repr=False)
    messages: str
    cost: Cost
    cached: bool = False


class BuildCache:
    """Compilations under `cache_root`, shared by all trees.

    Args:
        tree: the tree that is built; its files' hashes are remembered for the life of the object.
        compiler_identity: hash that changes with the compiler and its headers.
        folder: where entries live; default ``build`` under `cache_root`.
    """

    def __init__(self, tree: Tree, compiler_identity: str, folder: Path | None = None) -> None:
        self.folder = folder or cache_root() / "build"
        self._tree = tree
        self._identity = compiler_identity
        self._hashes: dict[str, str] = {}
        self._opened_ns = time.time_ns()
        self.damaged: list[str] = []

    def look_up(self, job: Job) -> Compiled | None:
        """The outcome of the same compilation, None when it has to run. A damaged entry is dropped and noted."""
        for dependencies in self._lists(job):
            key = self._key(job, dependencies)
            if key is not None and (found := self._load(key, job)) is not None:
                return found
        return None

    def expected_cost(self, job: Job) -> Cost | None:
        """Cost of the latest compilation of the same unit or kernel in the same pass, whatever its contents."""
        try:
            row = json.loads(self._cost_path(job).read_bytes())
            return Cost(float(row["cpu_s"]), int(row["peak_bytes"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, job: Job, compiled: Compiled, dependencies: Sequence[str]) -> None:
        """Keep an outcome; one that read a file which changed since this object was made belongs to no known state.

        Raises:
            HipportError: the cache cannot be written.
        """
        dependencies = _numbered(job, dependencies)
        key = self._key(job, dependencies)
        if key is None or self._changed(job, dependencies):
            return
        packed = zstandard.compress(compiled.output, 3)
        row = {
            "ok": compiled.ok,
            "messages": compiled.messages,
            "cpu_s": compiled.cost.cpu_s,
            "peak_bytes": compiled.cost.peak_bytes,
            "sha256": hashlib.sha256(packed).hexdigest(),
        }
        write_atomic(self._entry(key, ".zst"), packed)
        write_atomic(self._entry(key, ".json"), json.dumps(row).encode())
        lists = [list(dependencies), *(known for known in self._lists(job) if known != list(dependencies))]
        write_atomic(self._list_path(job), json.dumps(lists[:_LISTS_KEPT]).encode())
        write_atomic(
            self._cost_path(job), json.dumps({"cpu_s": row["cpu_s"], "peak_bytes": row["peak_bytes"]}).encode()
        )

    def remembered(self, kind: str, sha256: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What is known about some bytes, found once.

        Args:
            kind: what is known; changes with the meaning of the answer.
            sha256: of the bytes.
            find: finds it; JSON data.
        """
        path = self.folder / kind / sha256[:2] / f"{sha256}.json"
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(path.read_bytes())
            if isinstance(known, dict):
                return known
        found = find()
        write_atomic(path, json.dumps(found).encode())
        return found

    # --- keys ---

    def _base(self, job: Job) -> str:
        main = self._hash(job.unit.path) or ""
        if job.cut is not None:
            main = repr((job.cut.symbol, job.cut.variables, job.cut.bitcode_sha256))
        flags = list(job.flags)
        for number, folder in enumerate(_system_folders(job)):
            flags = [flag.replace(folder, f"<{number}>") for flag in flags]
        return _digest(_SCHEMA, self._identity, job.kind, job.target, job.unit.path, flags, main)

    def _key(self, job: Job, dependencies: Sequence[str]) -> str | None:
        """Key of a result, from a numbered dependency list; None when one of its files is not there."""
        digest = hashlib.sha256(self._base(job).encode())
        folders = _system_folders(job)
        for path in dependencies:
            content = self._hash(_located(path, folders))
            if content is None:
                return None
            digest.update(f"{content} {path}\n".encode("utf-8", "surrogateescape"))
        for name in sorted({posixpath.basename(path) for path in dependencies}):
            digest.update(repr(self._tree.by_name.get(name, ())).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _changed(self, job: Job, dependencies: Sequence[str]) -> bool:
        folders = _system_folders(job)
        with contextlib.suppress(OSError):
            return any(
                (self._tree.root / _located(path, folders)).stat().st_mtime_ns > self._opened_ns
                for path in dependencies
            )
        return True

    def _hash(self, path: str) -> str | None:
        if path not in self._hashes:
            try:
                data = (self._tree.root / path).read_bytes()  # an absolute path replaces the root
            except OSError:
                return None
            self._hashes[path] = hashlib.sha256(data).hexdigest()
        return self._hashes[path]

    # --- files ---

    def _entry(self, key: str, suffix: str) -> Path:
        return self.folder / "objects" / key[:2] / (key + suffix)

    def _list_path(self, job: Job) -> Path:
        base = self._base(job)
        return self.folder / "dependencies" / base[:2] / f"{base}.json"

    def _cost_path(self, job: Job) -> Path:
        name = _digest(job.kind, job.target, job.unit.path, *([job.cut.symbol] if job.cut else []))
        return self.folder / "cost" / name[:2] / f"{name}.json"

    def _lists(self, job: Job) -> list[list[str]]:
        path = self._list_path(job)
        try:
            lists = json.loads(path.read_bytes())
            if isinstance(lists, list) and all(_is_list_of_paths(row) for row in lists):
                return lists
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError):
            pass
        self.damaged.append(path.name)
        _remove(path)
        return []

    def _load(self, key: str, job: Job) -> Compiled | None:
        path = self._entry(key, ".json")
        try:
            row = json.loads(path.read_bytes())
            packed = self._entry(key, ".zst").read_bytes()
            if hashlib.sha256(packed).hexdigest() == row["sha256"]:
                output = zstandard.decompress(packed)
                cost = Cost(float(row["cpu_s"]), int(row["peak_bytes"]))
                return Compiled(bool(row["ok"]), output, str(row["messages"]), cost, cached=True)
        except FileNotFoundError:
            if not path.exists():
                return None
        except (OSError, ValueError, KeyError, TypeError, zstandard.ZstdError):
            pass
        self.damaged.append(job.label)
        _remove(path)
        _remove(self._entry(key, ".zst"))
        return None


def _is_list_of_paths(row: object) -> bool:
    return isinstance(row, list) and all(isinstance(item, str) for item in row)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _system_folders(job: Job) -> list[str]:
    """Absolute folders of ``-isystem``, in search order."""
    pairs = zip(job.flags, job.flags[1:], strict=False)
    return [folder for flag, folder in pairs if flag == "-isystem" and folder.startswith("/")]


def _numbered(job: Job, dependencies: Sequence[str]) -> list[str]:
    """Paths below a system folder as ``<number>/path``, sorted."""
    folders = _system_folders(job)
    found = []
    for path in dependencies:
        number = next((n for n, folder in enumerate(folders) if path.startswith(f"{folder}/")), None)
        found.append(path if number is None else f"<{number}>{path[len(folders[number]) :]}")
    return sorted(found)


_NUMBERED = re.compile(r"<(\d+)>(?=/)")


def _located(path: str, folders: Sequence[str]) -> str:
    """Inverse of `_numbered`; a number without a folder gives a path that does not exist."""
    match = _NUMBERED.match(path)
    if match is None:
        return path
    number = int(match[1])
    return (folders[number] if number < len(folders) else path) + path[match.end() :]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogateescape")).hexdigest()


_DEPENDENCY = re.compile(r"(?:\\[ #]|\$\$|[^\s\\]|\\(?![\n\r ]))+")


def parse_depfile(text: str, root: Path) -> tuple[str, ...]:
    """Files that a dependency file lists, sorted: relative to ``root`` inside it, absolute elsewhere."""
    body = text.partition(":")[2].replace("\\\r\n", " ").replace("\\\n", " ")
    found = set()
    for match in _DEPENDENCY.finditer(body):
        path = match[0].replace("\\ ", " ").replace("\\#", "#").replace("$$", "$")
        absolute = posixpath.normpath(posixpath.join(root.as_posix(), path))
        prefix = root.as_posix().rstrip("/") + "/"
        found.add(absolute.removeprefix(prefix))
    return tuple(sorted(found))
