"""Builds the drop-in ``libamdhip64.so.N`` and ``libhiprtc.so.N`` with the host compiler, once per toolchain."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import cache_root, write_atomic
from hipport.emulator.build import host_compiler, library_path
from hipport.hiprt.symbols import TABLE, of_major, refused_source, version_script
from hipport.sdk import Sdk

NATIVE = Path(__file__).with_name("native")
RTC_SOURCE = "rtc.cpp"  # also the whole of libhiprtc
COMPILER_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter")


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
    digest = hashlib.sha256()
    for part in (sdk.identity, str(emulator), compiler, str(sdk.clang), *COMPILER_FLAGS):
        digest.update(part.encode() + b"\0")
    for source in (TABLE, Path(__file__), TABLE.with_name("symbols.py"), *_sources(), *sorted(NATIVE.glob("*.h"))):
        digest.update(source.read_bytes())
    folder = cache_root() / "hiprt" / digest.hexdigest()[:24]
    runtime = RuntimeFolder(folder, major)
    if not runtime.library.exists():
        _build(runtime, sdk, compiler, emulator)
    return runtime


def _sources() -> list[Path]:
    return sorted(NATIVE.glob("*.cpp"))


def _build(runtime: RuntimeFolder, sdk: Sdk, compiler: str, emulator: Path) -> None:
    runtime.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=runtime.folder.parent) as temporary:
        work = Path(temporary)
        out = work / "out"
        out.mkdir()
        symbols = of_major(runtime.major)
        names = [path.name for path in _sources() if path.name != RTC_SOURCE]
        (work / "all.cpp").write_text("".join(f'#include "{name}"\n' for name in names))
        (work / "refused.cpp").write_text(refused_source(symbols))
        (work / "hip.map").write_text(version_script(symbols))
        (work / "rtc.map").write_text("{\n  global:\n    hiprtc*;\n  local:\n    *;\n};\n")
        flags = [*COMPILER_FLAGS, f"-I{NATIVE}", f"-I{emulator_headers()}"]
        for folder in sdk.include_dirs:
            flags += ["-isystem", str(folder)]
        _run([compiler, *flags, "-c", str(work / "all.cpp"), "-o", str(work / "all.o")])
        _run([compiler, *flags, "-c", str(NATIVE / RTC_SOURCE), "-o", str(work / "rtc.o")])
        _run([compiler, "-O1", "-fPIC", "-c", str(work / "refused.cpp"), "-o", str(work / "refused.o")])
        objects = ["all.o", "refused.o", "rtc.o"]
        core = [str(emulator), f"-Wl,-rpath,{emulator.parent}"]
        _link(compiler, work, objects, "hip.map", core, runtime.library.name)
        _link(compiler, work, ["rtc.o"], "rtc.map", [], f"libhiprtc.so.{runtime.major}")
        (out / "rtc.args").write_text("\n".join(_rtc_arguments(sdk)) + "\n")
        (out / "objdump.path").write_text(f"{sdk.tool('llvm-objdump')}\n")
        for name in ("libamdhip64", "libhiprtc"):
            (out / f"{name}.so").symlink_to(f"{name}.so.{runtime.major}")
        _publish(out, runtime.folder)


def emulator_headers() -> Path:
    """Folder of ``hipport_emulator.h``."""
    return NATIVE.parent.parent / "emulator" / "native"


def _link(compiler: str, work: Path, objects: list[str], script: str, libraries: list[str], name: str) -> None:
    command = [compiler, "-shared", f"-Wl,-soname,{name}", "-Wl,-z,defs", f"-Wl,--version-script={work / script}"]
    command += [str(work / name) for name in objects]
    _run([*command, *libraries, "-ldl", "-lpthread", "-o", str(work / "out" / name)])


def _rtc_arguments(sdk: Sdk) -> list[str]:
    """Compiler and flags of hipRTC, with ``@TARGET`` and ``@WAVE`` for what the target decides."""
    target = "gfx942"
    words = [str(sdk.clang)]
    for flag in sdk.device_flags(target):
        if flag.startswith("-D__AMDGCN_WAVEFRONT_SIZE="):
            words.append("-D__AMDGCN_WAVEFRONT_SIZE=@WAVE")
        else:
            words.append(flag.replace(target, "@TARGET"))
    return [*words, "-include", "hip/hip_runtime.h", "-O3"]


def _publish(source: Path, folder: Path) -> None:
    """Move a finished build into place; another process may have been faster."""
    try:
        source.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = cache_root() / "hiprt" / "build.log"
        write_atomic(log, (" ".join(command) + "\n" + done.stderr).encode())
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise ToolchainError(f"the HIP runtime does not build: {first}", f"see {log}")
