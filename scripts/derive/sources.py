"""Header sets: where a vendor's headers of one version lie, and how one family of them is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from derive.declarations import Declarations, read, resolve_aliases, resource_includes
from derive.families import Family

_CUDA_DEVICE_MACROS = (
    "-D__CUDACC__",
    "-D__NVCC__",
    "-D__CUDA_ARCH__=900",
    "-D__CUDACC_VER_BUILD__=0",
    "-D__CUDACC_VER_MINOR__=0",
    "-D_NVHPC_CUDA",
)


@dataclass(frozen=True)
class HeaderSet:
    """Headers of one vendor and version.

    Attributes:
        label: the version people name (``13.0``, ``6.4``).
        roots: include directories.
        skip: headers that belong to another version than the label says: they prove nothing about it.
        clang: compiler whose own headers libclang uses.
    """

    label: str
    roots: tuple[Path, ...]
    skip: frozenset[str] = frozenset()
    clang: str = "clang++-22"

    def has(self, header: str) -> bool:
        """True when some root holds the header."""
        return header not in self.skip and any((root / header).is_file() for root in self.roots)

    def _source(self, headers: tuple[str, ...]) -> str:
        return "".join(f"#include <{header}>\n" for header in headers if self.has(header))

    def _include_flags(self) -> list[str]:
        return [f"-I{root}" for root in self.roots]

    def read_cuda(self, family: Family) -> Declarations:
        """Declarations of a family's CUDA headers; empty when this set lacks them all."""
        return self._read(family.cuda, self._cuda_flags(family), fatal=not (family.device or family.nvcc))

    def read_hip(self, family: Family) -> Declarations:
        """Declarations of a family's HIP headers, device functions included; empty when this set lacks them all."""
        return self._read(family.hip, self._hip_flags(family), fatal=True)

    def read_nvcc(self, source: str, extra: list[Path]) -> Declarations:
        """Declarations below ``extra`` roots when ``source`` is read as nvcc would."""
        flags = ["-x", "c++", "-std=c++17", *(f"-I{root}" for root in extra), *self._include_flags()]
        flags += [*_CUDA_DEVICE_MACROS, f"-D__CUDACC_VER_MAJOR__={self.label.split('.')[0]}"]
        return read(source, flags, extra, self.clang, fatal=False)

    def read_device(self, source: str) -> Declarations:
        """Declarations of this set when ``source`` is read as HIP device code."""
        return read(source, self._device_flags(), list(self.roots), self.clang)

    def _read(self, headers: tuple[str, ...], flags: list[str], fatal: bool) -> Declarations:
        source = self._source(headers)
        if not source:
            return {}
        # clang's own headers implement HIP's math functions.
        builtin = [resource_includes(self.clang)] if "hip" in flags else []
        found = read(source, flags, [*self.roots, *builtin], self.clang, fatal)
        resolve_aliases(found)
        return found

    def _cuda_flags(self, family: Family) -> list[str]:
        flags = ["-x", "c++", "-std=c++17", *self._include_flags()]
        if family.device or family.nvcc:
            flags += [*_CUDA_DEVICE_MACROS, f"-D__CUDACC_VER_MAJOR__={self.label.split('.')[0]}"]
        return flags

    def _hip_flags(self, family: Family) -> list[str]:
        if not (family.device or family.nvcc):
            return ["-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__", "-DHIPBLAS_V2", *self._include_flags()]
        return self._device_flags()

    def _device_flags(self) -> list[str]:
        wrappers = resource_includes(self.clang) / "cuda_wrappers"
        return [
            *("-x", "hip", "--offload-arch=gfx942", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-std=c++17"),
            *("-include", "__clang_hip_runtime_wrapper.h", "-isystem", str(wrappers)),
            *("-D__AMDGCN_WAVEFRONT_SIZE=64", "-DHIP_ENABLE_WARP_SYNC_BUILTINS", *self._include_flags()),
        ]
