"""Facts of one translation unit: ask the cache, else a child process with limits."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hipport.core import HipportError
from hipport.core.facts import UnitFacts
from hipport.core.files import cache_root, package_root, write_atomic

MEMORY_BYTES = 3 << 30
TIMEOUT_SECONDS = 600.0  # wall clock: a unit that takes 30 s alone shares the machine


def unit_facts(path: Path, flags: Sequence[str], **limits: Any) -> UnitFacts:
    """Facts about the main file alone; arguments and errors as of `tree_facts`."""
    return tree_facts(path, flags, **limits)[os.path.realpath(path)]


def tree_facts(
    path: Path,
    flags: Sequence[str],
    *,
    root: Path | None = None,
    clang: str = "clang++-22",
    memory_bytes: int = MEMORY_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
    cache: bool = True,
) -> dict[str, UnitFacts]:
    """Parse a unit, or take its facts from the cache when neither it, nor its flags, nor a file it includes changed.

    The result holds facts about the main file and every file below ``root`` that it includes, by real path.

    Args:
        path: main file.
        flags: language, include paths and macros, for example `front_end_flags` and a toolchain's flags.
        root: the tree; None: facts about the main file only.
        clang: clang++ whose headers are used.
        memory_bytes: address space of the child process.
        timeout_seconds: wall-clock limit of the child process.
        cache: use and fill the cache directory.

    Raises:
        HipportError: the file cannot be read, or the front end ran out of memory or time or crashed. Errors in the
            program are no exception: they are listed in ``errors``.
    """
    main = path.resolve()
    try:
        text = main.read_bytes()
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}") from error
    tree = os.path.realpath(root) if root else ""
    key = _key(main, tree, text, flags, clang)
    stored = cache_root() / "facts" / f"{key}.json"
    if cache and (found := _cached(stored)) is not None:
        return found
    facts = _parse(main, tree, flags, clang, memory_bytes, timeout_seconds)
    if cache:
        hashes = _hashes(facts[str(main)].dependencies)
        plain = {"dependencies": hashes, "facts": {name: found.to_plain() for name, found in facts.items()}}
        write_atomic(stored, json.dumps(plain).encode())
    return facts


def _key(main: Path, tree: str, text: bytes, flags: Sequence[str], clang: str) -> str:
    digest = hashlib.sha256(text)
    digest.update(repr((str(main), tree, list(flags), clang)).encode("utf-8", "surrogateescape"))
    for module in ("semantics/clang.py", "core/facts.py"):
        digest.update((package_root() / module).read_bytes())
    return digest.hexdigest()[:40]


def _hashes(files: Sequence[str]) -> dict[str, str]:
    return {name: _hash(Path(name)) for name in files}


def _hash(path: Path) -> str:
    """Of a file's bytes. Units of a tree read mostly the same headers: a state of a file is read once."""
    try:
        state = path.stat()
        return _hash_of(path, state.st_size, state.st_mtime_ns, state.st_ino)
    except OSError:
        return ""


@lru_cache(maxsize=1 << 16)
def _hash_of(path: Path, size: int, changed_ns: int, inode: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _cached(stored: Path) -> dict[str, UnitFacts] | None:
    try:
        plain = json.loads(stored.read_text(encoding="utf-8"))
        if all(_hash(Path(name)) == known for name, known in plain["dependencies"].items()):
            return {name: UnitFacts.from_plain(found) for name, found in plain["facts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None


def _parse(
    main: Path, tree: str, flags: Sequence[str], clang: str, memory_bytes: int, timeout_seconds: float
) -> dict[str, UnitFacts]:
    request = {
        "path": str(main), "root": tree, "flags": list(flags), "clang": clang, "memory_bytes": memory_bytes,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hipport.semantics.worker"],
            input=json.dumps(request), capture_output=True, text=True, timeout=timeout_seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise HipportError(
            f"{main.name}: the front end took longer than {timeout_seconds:g} s", "translate it without facts"
        ) from error
    if done.returncode != 0:
        reason = done.stderr.strip().rsplit("\n", 1)[-1] or f"it ended with status {done.returncode}"
        limit = f"memory limit {memory_bytes >> 20} MiB"
        raise HipportError(f"{main.name}: the front end failed: {reason} ({limit})", "translate it without facts")
    return {name: UnitFacts.from_plain(found) for name, found in json.loads(done.stdout).items()}
