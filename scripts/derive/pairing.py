"""Finds the HIP name of a CUDA name.

The vendors' names differ by prefix, by ``_t`` on types, by underscores and letter case of enumerators, and by version
suffixes. `key` removes exactly that, so equal keys mean the same API; everything else is a sourced exception.
"""

from __future__ import annotations

import re
from collections import defaultdict

from derive.declarations import Declaration, Declarations

_PREFIXES = (
    ("hiprtc", "rtc"),
    ("nvrtc", "rtc"),
    ("cuda", ""),
    ("cu", ""),
    ("hip", ""),
)


def key(name: str) -> str:
    """Name without vendor prefix, underscores and letter case: ``cudaMallocAsync`` and ``hipMallocAsync`` agree."""
    flat = name.replace("_", "").lower()
    for prefix, replacement in _PREFIXES:
        if flat.startswith(prefix) and len(flat) > len(prefix):
            return replacement + flat[len(prefix) :]
    return flat


class Pairing:
    """Index of HIP declarations by key."""

    def __init__(self, hip: Declarations) -> None:
        self._hip = hip
        self._index: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name, entry in hip.items():
            # HIP's headers define a few CUDA names for old sources (CUDA_SUCCESS): no name of HIP.
            if name.lower().startswith(("hip", "ihip", "_", "miopen", "roctx")):
                self._index[key(name), entry.kind].append(name)
        self._by_value: dict[tuple[str, int], list[str]] = defaultdict(list)
        for name, entry in hip.items():
            if entry.kind == "enum" and entry.value is not None and name.startswith("hip"):
                self._by_value[entry.enum, entry.value].append(name)

    def find(self, cuda: Declaration) -> list[str]:
        """HIP names for a CUDA declaration, likeliest first."""
        if cuda.enum in _ERROR_ENUMS:
            return [name for name in [self._error(cuda)] if name]
        out = [name for name in spellings(cuda.name) if self._agrees(cuda.kind, name)]
        base = key(cuda.name)
        if base == cuda.name.replace("_", "").lower():
            return out  # no vendor prefix: only the identical name is the same thing
        stems = [base + "t", base] if cuda.kind == "type" and not cuda.fields else [base, base + "t"]
        if cuda.kind == "type":
            tag = re.sub(r"(st|enum)$", "", base)  # of struct CUstream_st, enum CUresult_enum
            stems += [tag + "t", tag]
        stems = [*rewritten_key(cuda.name), *stems, base.removesuffix("t"), re.sub(r"v\d(64)?$", r"\1", base)]
        for stem in stems:
            for kind in (cuda.kind, *_NEAR.get(cuda.kind, ())):
                names = self._index.get((stem, kind), [])
                out += sorted(names, key=lambda n: (n.endswith(("R0000", "R0600", "_spt")), len(n), n))
        return list(dict.fromkeys(out))

    def _agrees(self, kind: str, name: str) -> bool:
        found = self._hip.get(name)
        return found is not None and (kind == found.kind or found.kind in _NEAR.get(kind, ()))

    def _error(self, cuda: Declaration) -> str:
        """By number where the name differs: error numbers are equal by design (hip_runtime_api.h, hipError_t)."""
        same_number = self._by_value.get(("hipError_t", cuda.value if cuda.value is not None else -1), [])
        same_key = [name for name in self._index.get((key(cuda.name), "enum"), []) if name.startswith("hipError")]
        both = [name for name in same_number if name in same_key]
        return next(iter(both or same_key or same_number), "")


_ERROR_ENUMS = {"cudaError", "cudaError_t", "cudaError_enum", "CUresult"}

_NEAR = {"macro": ("enum",), "enum": ("macro",), "function": ("macro",), "type": ()}


# Prefixes that change: CUDA beginning, HIP beginning. All that fit are tried in this order.
_REWRITES = (
    ("cudaDevAttr", "hipDeviceAttribute"),
    ("CU_DEVICE_ATTRIBUTE_MAXIMUM_", "hipDeviceAttributeMax"),
    ("CU_CTX_SCHED_", "hipDeviceSchedule"),
    ("CU_CTX_", "hipDevice"),
    ("CU_JIT_", "hipJitOption"),
    ("cudaJit", "hipJitOption"),
    ("CU_MEMHOSTALLOC_", "hipHostMalloc"),
    ("cudaHostAlloc", "hipHostMalloc"),
    ("CU_MEMPOOL_ATTR_", "hipMemPool"),
    ("CU_MEM_ALLOC_", "hipMemAllocation"),
    ("CU_MEMHOSTREGISTER_", "hipHostRegister"),
    ("cuda", "hip"),
    ("CUDART_", "HIP_"),
    ("CUDART_", "HIPRT_"),
    ("CUDA_", "HIP_"),
    ("cuGraph", "hipDrvGraph"),
    ("cuMem", "hipDrvMem"),
    ("cuGet", "hipDrvGet"),
    ("cuPointer", "hipDrvPointer"),
    ("cuLaunch", "hipDrvLaunch"),
    ("cuLaunch", "hipModuleLaunch"),
    ("cuOccupancy", "hipModuleOccupancy"),
    ("cu", "hip"),
    ("CU_", "HIP_"),
    ("CU", "hip"),
    ("CU", "HIP"),
    ("make_cu", "make_hip"),
    ("nvrtc", "hiprtc"),
    ("NVRTC", "HIPRTC"),
    ("nv_bfloat16", "__hip_bfloat16"),
    ("__nv_", "__hip_"),
    ("__NV_", "__HIP_"),
)


def spellings(name: str) -> list[str]:
    """HIP spellings that follow from the prefix alone, likeliest first; the name itself last."""
    fitting = [new + name[len(old) :] for old, new in _REWRITES if name.startswith(old)]
    versionless = [re.sub(r"_v\d(_64)?$", r"\1", spelling) for spelling in fitting]
    return list(dict.fromkeys([*fitting, *versionless, name]))


def rewritten_key(name: str) -> list[str]:
    """Keys of the prefix rewrites: ``CU_JIT_MAX_REGISTERS`` and ``hipJitOptionMaxRegisters`` agree."""
    return [key(new + name[len(old) :]) for old, new in _REWRITES if name.startswith(old)]
