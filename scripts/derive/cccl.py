"""Rows for CUB, Thrust and libcu++: mostly headers, and the CUB names that hipCUB lacks.

hipCUB has the names of CUB in its own namespace, so one row renames the namespace and only exceptions need rows.
rocThrust keeps both headers and namespace. libcu++ has no counterpart in the SDK.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from derive.declarations import Declarations
from derive.pairing import key
from derive.rows import Row
from derive.sources import HeaderSet

TABLE = "libraries/cccl.tsv"
TITLE = "CUB, Thrust and libcu++"
_UMBRELLA = "hipcub/hipcub.hpp"
_LIBCUDACXX = (
    "ROCm ships no libcu++: use the C++ standard library on the host and HIP atomics on the device, or libhipcxx"
)


def cccl_rows(cuda: HeaderSet, hip: Sequence[HeaderSet]) -> list[Row]:
    """Rows of all three libraries.

    Args:
        cuda: set that holds ``cub/``, ``thrust/`` and ``cuda/std/``, below ``cccl/`` in CUDA 13.
        hip: sets that hold ``hipcub/`` and ``thrust/``, oldest first.
    """
    rows = [Row("cub", "hipcub", "namespace", "ok", source="hipCUB documentation")]
    rows += [_cub_header(path, hip) for path in _headers(cuda, "cub", ("*.cuh",))]
    rows += [row for path in _headers(cuda, "thrust", ("*.h", "*.cuh")) if (row := _thrust_header(path, hip))]
    rows += [
        Row(path, "", "header", "none", "HP119", source="HIP SDK include tree", note=_LIBCUDACXX)
        for folder in ("cuda", "nv")
        for path in _headers(cuda, folder, ("*",))
    ]
    return rows + _cub_names(cuda, hip)


def _headers(cuda: HeaderSet, folder: str, patterns: tuple[str, ...]) -> list[str]:
    """Public headers of a library, relative to its include root."""
    found: set[str] = set()
    for root in (*cuda.roots, *(r / "cccl" for r in cuda.roots)):
        for pattern in patterns:
            found |= {p.relative_to(root).as_posix() for p in (root / folder).rglob(pattern) if p.is_file()}
    return sorted(path for path in found if not any(part in _INTERNAL for part in _parts(path)))


_INTERNAL = frozenset(("detail", "specializations", "dispatch", "agent", "tuning", "kernels"))


def _parts(path: str) -> list[str]:
    return ["detail" if part.startswith("__") else part for part in PurePosixPath(path).parts]


def _cub_header(path: str, hip: Sequence[HeaderSet]) -> Row:
    own = "hip" + path.removesuffix(".cuh") + ".hpp"
    there = [s.label for s in hip if s.has(own)]
    source = "HIP SDK include tree"
    if len(there) == len(hip) and path != "cub/cub.cuh":
        return Row(path, own, "header", "ok", source=source)
    if there and there[-1] == hip[-1].label and path != "cub/cub.cuh":
        return Row(path, own, "header", "ok", rocm_min=there[0], source=source)
    if path.startswith(("cub/device/", "cub/block/", "cub/warp/")):
        note = f"hipCUB of {' and '.join(s.label for s in hip)} has no such header"
        return Row(path, "", "header", "none", "HP710", source=source, note=note)
    return Row(path, _UMBRELLA, "header", "ok", source=source)


def _thrust_header(path: str, hip: Sequence[HeaderSet]) -> Row | None:
    own = path.replace("thrust/system/cuda/", "thrust/system/hip/")
    there = [s.label for s in hip if s.has(own)]
    source = "HIP SDK include tree"
    if not there:
        note = f"rocThrust of {' and '.join(s.label for s in hip)} has no such header"
        return Row(path, "", "header", "none", "HP711", source=source, note=note)
    minimum = there[0] if len(there) < len(hip) else ""
    if own == path:
        return Row(path, own, "header", "same", rocm_min=minimum, source=source) if minimum else None
    return Row(path, own, "header", "ok", rocm_min=minimum, source=source)


def _cub_names(cuda: HeaderSet, hip: Sequence[HeaderSet]) -> list[Row]:
    """Rows for what the namespace row alone does not settle: names hipCUB lacks, or has in some versions only."""
    roots = [r for root in cuda.roots for r in (root / "cccl", root) if (r / "cub").is_dir()]
    ours = cuda.read_nvcc("#include <cub/cub.cuh>\n", roots)
    theirs = [s.read_device(f"#include <{_UMBRELLA}>\n") for s in hip]
    rows = []
    for name, entry in sorted(ours.items()):
        if name.startswith("cub::") and name.count("::") == 1 and name.removeprefix("cub::").isidentifier():
            there = [s.label for s, found in zip(hip, theirs, strict=True) if "hip" + name in found]
            kind = "macro" if entry.kind == "macro" else entry.kind
            if not there:
                note = f"no hipcub::{name[5:]} in {' and '.join(s.label for s in hip)}"
                rows.append(Row(name, "", kind, "none", "HP710", note=note))
            elif len(there) < len(hip):
                rows.append(Row(name, "hip" + name, kind, "ok", rocm_min=there[0]))
        elif name.startswith("CUB_") and entry.header.startswith(("cub/", "cccl/cub/")):
            rows += _cub_macro(name, theirs[-1])
    return rows


def _cub_macro(name: str, hip: Declarations) -> list[Row]:
    if name in hip:
        return [Row(name, name, "macro", "same")]
    found = sorted(n for n in hip if n.startswith("HIPCUB_") and key(n) == key(name))
    return [Row(name, found[0], "macro", "ok")] if found else []
