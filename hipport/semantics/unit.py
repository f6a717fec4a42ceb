"""Facts of one translation unit: ask the cache, else a child process with limits."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import cache_root, package_root, write_atomic
from hipport.semantics.facts import UnitFacts

MEMORY_BYTES = 3 << 30
TIMEOUT_SECONDS = 180.0


def unit_facts(
    path: Path,
    flags: Sequence[str],
    *,
    clang: str = "clang++-22",
    memory_bytes: int = MEMORY_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
    cache: bool = True,
) -> UnitFacts:
    """Parse a unit, or take its facts from the cache when neither it, nor its flags, nor a file it includes changed.

    Args:
        path: main file.
        flags: language, include paths and macros, for example `front_end_flags` and a toolchain's flags.
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
    key = _key(main, text, flags, clang)
    stored = cache_root() / "facts" / f"{key}.json"
    if cache and (found := _cached(stored)) is not None:
        return found
    facts = _parse(main, flags, clang, memory_bytes, timeout_seconds)
    if cache:
        plain = {"dependencies": _hashes(facts.dependencies), "facts": facts.to_plain()}
        write_atomic(stored, json.dumps(plain).encode())
    return facts


def _key(main: Path, text: bytes, flags: Sequence[str], clang: str) -> str:
    digest = hashlib.sha256(text)
    digest.update(repr((str(main), list(flags), clang)).encode("utf-8", "surrogateescape"))
    for module in ("clang.py", "facts.py"):
        digest.update((package_root() / "semantics" / module).read_bytes())
    return digest.hexdigest()[:40]


def _hashes(files: Sequence[str]) -> dict[str, str]:
    return {name: _hash(Path(name)) for name in files}


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _cached(stored: Path) -> UnitFacts | None:
    try:
        plain = json.loads(stored.read_text(encoding="utf-8"))
        if all(_hash(Path(name)) == known for name, known in plain["dependencies"].items()):
            return UnitFacts.from_plain(plain["facts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None


def _parse(main: Path, flags: Sequence[str], clang: str, memory_bytes: int, timeout_seconds: float) -> UnitFacts:
    request = {"path": str(main), "flags": list(flags), "clang": clang, "memory_bytes": memory_bytes}
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
    return UnitFacts.from_plain(json.loads(done.stdout))
