"""A usable AMD toolchain: one clang, the HIP headers, the device libraries, and the flags that put them together."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hipport.core import ToolchainError, target_named

_TRAP_HEADER = Path(__file__).with_name("gfx11_trap.h")
CXX_STANDARD = "c++17"  # what upstream's setup.py passes to nvcc


@dataclass(frozen=True)
class Sdk:
    """Where the toolchain is, and how to call it.

    Attributes:
        source: ``rocm`` (an installed ROCm), ``cache`` (``hipport sdk install``) or ``given`` (``HIPPORT_SDK``).
        root: folder that it was found in.
        clang: the ``clang++`` executable.
        include_dirs: folders that hold ``hip/hip_runtime.h`` and the libraries' headers; empty when clang's default
            search path covers them.
        device_lib_path: folder of the device bitcode (``ocml.bc``, ``ockl.bc``, ``oclc_*.bc``).
        hip_version: (major, minor, patch) of the headers.
        library_dirs: folders that hold ``libamdhip64.so``.
        record: lock record of an installed SDK, None for a ROCm.
    """

    source: str
    root: Path
    clang: Path
    include_dirs: tuple[Path, ...]
    device_lib_path: Path
    hip_version: tuple[int, int, int]
    library_dirs: tuple[Path, ...]
    record: Path | None = None

    @property
    def profile(self) -> str:
        """``major.minor`` of HIP, the name that ``find_sdk`` and ``hipport sdk install --profile`` take."""
        return f"{self.hip_version[0]}.{self.hip_version[1]}"

    @cached_property
    def clang_version(self) -> str:
        """First line of ``clang++ --version``.

        Raises:
            ToolchainError: the compiler does not start.
        """
        return _first_line([str(self.clang), "--version"])

    @cached_property
    def resource_dir(self) -> Path:
        """Clang's own headers and runtime (``-print-resource-dir``)."""
        return Path(_first_line([str(self.clang), "-print-resource-dir"]))

    @cached_property
    def identity(self) -> str:
        """Hex SHA-256 that changes when the compiler, the headers or the device libraries do; for cache keys.

        An installed SDK is named by its lock record. For a ROCm it is the names and sizes of the headers and bitcode:
        reading a gigabyte for each command would cost more than it protects.
        """
        digest = hashlib.sha256(self.clang_version.encode())
        digest.update(repr((self.hip_version, self.clang.resolve().stat().st_size)).encode())
        if self.record is not None:
            digest.update(self.record.read_bytes())
        else:
            for line in _listing((*(self.include_dirs or (Path("/usr/include/hip"),)), self.device_lib_path)):
                digest.update(line.encode())
        return digest.hexdigest()

    def tool(self, name: str) -> Path:
        """The tool of that name that belongs to this clang (``llvm-objdump``, ``llvm-mc``, ``ld.lld``, ...).

        Raises:
            ToolchainError: it is not installed.
        """
        folder = self.clang.resolve().parent
        beside = folder / name
        if beside.exists():
            return beside
        suffix = folder.parent.name.removeprefix("llvm")  # llvm-22 -> -22
        found = shutil.which(f"{name}{suffix}")
        if found is None:
            raise ToolchainError(f"{name} is not installed beside {self.clang}", "run: hipport sdk install")
        return Path(found)

    def device_flags(self, target: str) -> list[str]:
        """Flags to compile HIP for one target to a plain code object: everything but ``-O``, input and output.

        The wave size is a define because HIP's headers need it in the preprocessor and clang no longer defines it.
        ``-ffp-contract=on`` contracts within an expression, as nvcc does. The SDK's headers are system headers:
        warnings are about the user's code.

        Raises:
            HipportError: unknown target.
        """
        wave_size = target_named(target).wave_size
        return [
            *self._language_flags((target,)),
            f"--offload-arch={target}",
            "--cuda-device-only",
            "--no-gpu-bundle-output",
            f"-D__AMDGCN_WAVEFRONT_SIZE={wave_size}",
        ]

    def host_flags(self, targets: Iterable[str] = (), *, device_code: bool = True) -> list[str]:
        """Flags to compile HIP for the host: everything but ``-O``, input and output.

        Args:
            targets: what the program runs on. Host code of several knows the widest wavefront among them.
            device_code: build and embed their device code in the same call; else the host side only.

        Raises:
            HipportError: unknown target.
        """
        wave_sizes = {target: target_named(target).wave_size for target in targets}
        flags = [*self._language_flags(wave_sizes), "-fPIC"]
        if not wave_sizes or not device_code:
            widest = max(wave_sizes.values(), default=64)
            return [*flags, "--cuda-host-only", f"-D__AMDGCN_WAVEFRONT_SIZE={widest}"]
        for target, wave_size in wave_sizes.items():
            processor = target.split(":")[0]
            flags += [f"--offload-arch={target}", f"-Xarch_{processor}", f"-D__AMDGCN_WAVEFRONT_SIZE={wave_size}"]
        return [*flags, "-Xarch_host", f"-D__AMDGCN_WAVEFRONT_SIZE={max(wave_sizes.values())}"]

    def link_flags(self) -> list[str]:
        """Flags to link host objects against ``libamdhip64``.

        The library's own dependencies (HSA, comgr) are the running machine's business, so they may be absent here.
        """
        return [*(f"-L{folder}" for folder in self.library_dirs), "-lamdhip64", "-Wl,--allow-shlib-undefined"]

    def _language_flags(self, targets: Iterable[str]) -> list[str]:
        flags = ["-x", "hip", f"-std={CXX_STANDARD}", "-nogpuinc", "-include", "__clang_hip_runtime_wrapper.h"]
        if "version 22." in self.clang_version and any(target.startswith("gfx110") for target in targets):
            flags += ["-include", str(_TRAP_HEADER)]
        for folder in (self.resource_dir / "include" / "cuda_wrappers", *self.include_dirs):
            flags += ["-isystem", str(folder)]
        return [
            *flags,
            f"--rocm-device-lib-path={self.device_lib_path}",
            "-DHIP_ENABLE_WARP_SYNC_BUILTINS",
            "-ffp-contract=on",
        ]


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise ToolchainError(
            f"{command[0]} does not run: {reason.strip().splitlines()[-1]}", "run: hipport doctor"
        ) from error
    return done.stdout.partition("\n")[0].strip()


def _listing(folders: tuple[Path, ...]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield f"{path.relative_to(folder)} {path.stat().st_size}\n"
