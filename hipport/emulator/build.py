"""Builds the C++ core once per machine and keeps it in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import cache_root

NATIVE = Path(__file__).with_name("native")
LIBRARY = "libhipport_emulator.so"
# Contraction and fast math would change results; traps and errno only keep loops from being vectorised.
COMPILER_FLAGS = (
    "-std=c++20",
    "-O3",
    "-march=native",
    "-mprefer-vector-width=512",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-fast-math",
)


def library_path() -> Path:
    """The core as a shared library (C API: ``native/hipport_emulator.h``), from the cache or built now.

    Raises:
        ToolchainError: there is no C++20 compiler, or it rejects the sources.
    """
    compiler = host_compiler()
    sources = {path.name: path.read_bytes() for path in sorted(NATIVE.iterdir()) if path.suffix in (".cpp", ".h")}
    folder = cache_root() / "emulator" / _identity(compiler, sources)
    library = folder / LIBRARY
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder / "lock"):
            if not library.exists():
                _build(compiler, sources, library)
    return library


def host_compiler() -> str:
    """The C++ compiler for the core: ``$CXX``, else the first of g++, clang++, c++ on PATH.

    Raises:
        ToolchainError: there is none.
    """
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise ToolchainError(
        "the emulator needs a C++ compiler once, to build itself, and none was found", "install g++ or set CXX"
    )


def _identity(compiler: str, sources: Mapping[str, bytes]) -> str:
    """Hash of everything the library depends on: sources, compiler, flags, and the CPU for ``-march=native``."""
    digest = hashlib.sha256()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    for part in (version, *COMPILER_FLAGS, platform.machine(), _cpu_features()):
        digest.update(part.encode() + b"\0")
    for name, text in sources.items():
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()[:24]


def _cpu_features() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Several processes may want the library at once: one builds, the others wait."""
    import fcntl

    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _build(compiler: str, sources: Mapping[str, bytes], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as temporary:
        # A copy of what was hashed: an edit during the build must not end up under the old hash.
        for name, text in sources.items():
            (Path(temporary) / name).write_bytes(text)
        units = sorted(Path(temporary).glob("*.cpp"))
        objects = [unit.with_suffix(".o") for unit in units]

        def compile_one(pair: tuple[Path, Path]) -> None:
            _run([compiler, *COMPILER_FLAGS, "-c", str(pair[0]), "-o", str(pair[1])])

        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            list(pool.map(compile_one, zip(units, objects, strict=True)))
        linked = Path(temporary) / LIBRARY
        names = [str(o) for o in objects]
        _run([compiler, "-shared", f"-Wl,-soname,{LIBRARY}", "-o", str(linked), *names, "-lpthread", "-ldl"])
        linked.replace(library)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
        raise ToolchainError(
            f"building the emulator failed: {errors[0] if errors else command[0]}",
            "a C++20 compiler is needed: g++ 11 or clang 14 and later",
        )
