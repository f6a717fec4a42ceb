"""Builds the drop-in ``libamdhip64.so.N`` and ``libhiprtc.so.N`` with the host compiler, once per toolchain."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import cache_root, write_atomic
from hipport.emulator.build import host_compiler, library_path
from hipport.hiprt.symbols import of_major, refused_source, version_script
from hipport.sdk import Sdk

NATIVE = Path(__file__).with_name("native")
EMULATOR_HEADER = NATIVE.parent.parent / "emulator" / "native" / "hipport_emulator.h"
RTC_SOURCE = "rtc.cpp"  # also the whole of libhiprtc
COMPILER_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter")
_ANY_TARGET = "gfx942"  # flags are asked for one and hold for all, but for its name and wave size


@dataclass(frozen=True, slots=True)
class RuntimeFolder:
    """A built runtime.

    Attributes:
        folder: put it first in ``LD_LIBRARY_PATH`` of a HIP program.
        major: HIP major version whose interface it has.
    """

    folder: Path
    major: int

    @property
    def library(self) -> Path:
        """The drop-in ``libamdhip64.so.N``."""
        return self.folder / f"libamdhip64.so.{self.major}"


def build_runtime(sdk: Sdk) -> RuntimeFolder:
    """The runtime for programs built with this SDK, from the cache or built now.

    Raises:
        ToolchainError: there is no host compiler, or it rejects the sources.
    """
    compiler = host_compiler()
    emulator = library_path()
    major = sdk.hip_version[0]
    objects = _objects(sdk, compiler, major)
    identity = _hash(objects.name, str(emulator), str(sdk.clang), *sdk.device_flags(_ANY_TARGET))
    runtime = RuntimeFolder(cache_root() / "hiprt" / identity, major)
    if not runtime.library.exists():
        with _building(runtime.folder) as out:
            _link(compiler, objects, ("all.o", "refused.o", "rtc.o"), "hip.map", emulator, out / runtime.library.name)
            _link(compiler, objects, ("rtc.o",), "rtc.map", None, out / f"libhiprtc.so.{major}")
            (out / "rtc.args").write_text("\n".join(_rtc_arguments(sdk)) + "\n")
            (out / "objdump.path").write_text(f"{sdk.tool('llvm-objdump')}\n")
            for name in ("libamdhip64", "libhiprtc"):
                (out / f"{name}.so").symlink_to(f"{name}.so.{major}")
    return runtime


def _objects(sdk: Sdk, compiler: str, major: int) -> Path:
    """Folder of the compiled sources and the version scripts; the emulator's library does not matter for them."""
    files = [*sorted(NATIVE.glob("*.cpp")), *sorted(NATIVE.glob("*.h")), EMULATOR_HEADER]
    sources = {path.name: path.read_bytes() for path in files}
    names = [name for name in sources if name.endswith(".cpp") and name != RTC_SOURCE]
    symbols = of_major(major)
    sources |= {
        "all.cpp": "".join(f'#include "{name}"\n' for name in names).encode(),
        "refused.cpp": refused_source(symbols).encode(),
        "hip.map": version_script(symbols).encode(),
        "rtc.map": b"{\n  global:\n    hiprtc*;\n  local:\n    *;\n};\n",
    }
    identity = _hash(
        sdk.identity, compiler, *COMPILER_FLAGS, Path(__file__).read_bytes(),
        *(part for name, text in sources.items() for part in (name, text)),
    )  # fmt: skip
    folder = cache_root() / "hiprt" / "objects" / identity
    if not folder.is_dir():
        with _building(folder) as out:
            # A copy of what was hashed: an edit during the build must not end up under the old hash.
            for name, text in sources.items():
                (out / name).write_bytes(text)
            flags = [*COMPILER_FLAGS]
            for include in sdk.include_dirs:
                flags += ["-isystem", str(include)]
            for unit in ("all.cpp", RTC_SOURCE, "refused.cpp"):
                _run([compiler, *flags, "-c", str(out / unit), "-o", str((out / unit).with_suffix(".o"))])
    return folder


def _link(compiler: str, objects: Path, names: tuple[str, ...], script: str, emulator: Path | None, out: Path) -> None:
    command = [
        compiler,
        "-shared",
        f"-Wl,-soname,{out.name}",
        "-Wl,-z,defs",
        f"-Wl,--version-script={objects / script}",
    ]
    command += [str(objects / name) for name in names]
    if emulator is not None:
        command += [str(emulator), f"-Wl,-rpath,{emulator.parent}"]
    _run([*command, "-ldl", "-lpthread", "-o", str(out)])


def _rtc_arguments(sdk: Sdk) -> list[str]:
    """Compiler and flags of hipRTC, with ``@TARGET`` and ``@WAVE`` for what the target decides."""
    words = [str(sdk.clang)]
    for flag in sdk.device_flags(_ANY_TARGET):
        if flag.startswith("-D__AMDGCN_WAVEFRONT_SIZE="):
            words.append("-D__AMDGCN_WAVEFRONT_SIZE=@WAVE")
        else:
            words.append(flag.replace(_ANY_TARGET, "@TARGET"))
    return [*words, "-include", "hip/hip_runtime.h", "-O3"]


@contextlib.contextmanager
def _building(folder: Path) -> Iterator[Path]:
    """An empty folder that becomes ``folder`` when the block ends well; another process may have been faster."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as temporary:
        out = Path(temporary) / "out"
        out.mkdir()
        yield out
        try:
            out.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update((part.encode() if isinstance(part, str) else part) + b"\0")
    return digest.hexdigest()[:24]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = cache_root() / "hiprt" / "build.log"
        write_atomic(log, (" ".join(command) + "\n" + done.stderr).encode())
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise ToolchainError(f"the HIP runtime does not build: {first}", f"see {log}")
