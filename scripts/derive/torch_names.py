"""Rows for PyTorch's C++ API, from an installed torch package.

What a ROCm build of PyTorch offers is documented by the package itself: its hipify (version 2, PyTorch 2.11 and later)
renames the *files* below ``ATen/cuda`` and ``c10/cuda`` and keeps every class, function, macro and namespace
(ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h, "Masquerading as CUDA"; pytorch/pytorch#174087).
"""

from __future__ import annotations

import re
from pathlib import Path

from derive.declarations import read
from derive.rows import Row
from derive.sources import HeaderSet

TABLE = "torch/torch.tsv"
TITLE = "PyTorch C++ API (ATen, c10)"
_SOURCE = "pytorch/pytorch#174087"
_FOLDERS = ("ATen/cuda", "ATen/native/cuda", "c10/cuda")
_PROBE = """
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/CUDAUtils.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/cuda/PhiloxCudaState.h>
#include <ATen/cuda/PinnedMemoryAllocator.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDADeviceAssertionHost.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/cuda/CUDAStream.h>
"""


def hip_path(path: str) -> str:
    """Where a ROCm build has a header: ``cuda`` and ``CUDA`` become ``hip`` and ``HIP`` in folder and file name."""
    return path.replace("cuda", "hip").replace("CUDA", "HIP")


def torch_rows(include: Path, cuda: HeaderSet) -> list[Row]:
    """Headers (renamed) and names (kept).

    Args:
        include: ``torch/include`` of an installed package.
        cuda: NVIDIA headers that torch's include.
    """
    rows = []
    for folder in _FOLDERS:
        for file in sorted((include / folder).rglob("*")):
            path = file.relative_to(include).as_posix()
            if file.suffix in (".h", ".cuh", ".hpp"):
                rows.append(Row(path, hip_path(path), "header", "ok", source=_SOURCE))
    roots = [include, include / "torch/csrc/api/include"]
    flags = ["-x", "c++", "-std=c++20", *(f"-I{r}" for r in (*roots, *cuda.roots))]
    found = read(_PROBE, flags, [include], cuda.clang)
    for name, entry in found.items():
        if entry.header.startswith(_FOLDERS) and _is_api(name):
            kind = entry.kind if entry.kind != "macro" or "::" not in name else "function"
            rows.append(Row(name, name, kind, "same", source=_SOURCE))
            if name.startswith("c10::cuda::") and name.count("::") == 2:
                # at::cuda has a using-directive for c10::cuda.
                alias = name.replace("c10::", "at::", 1)
                if alias not in found:
                    rows.append(Row(alias, alias, kind, "same", source=_SOURCE))
    return rows


def _is_api(name: str) -> bool:
    last = name.rsplit("::", 1)[-1]
    if not last.isidentifier() or last.endswith(("_H", "_H_", "_INC")) or re.search(r"\b(detail|impl)::", name):
        return False
    return re.search("cuda", name, re.IGNORECASE) is not None
