"""Same-length blanking of what confuses the CUDA grammar, so that tree offsets stay offsets of the text.

tree-sitter-cuda knows neither ``typename A::B{}`` in an expression nor annotation macros (``CUTE_HOST_DEVICE``); both
turn whole functions into ERROR nodes. Comments are named nodes that get between the nodes that a query wants side by
side. All are overwritten by spaces, for the parser only.
"""

from __future__ import annotations

import re

from hipport.syntax.tokens import Scan

_NOT_LINE_END = re.compile(rb"[^\r\n]")

# What a macro says about the function it annotates.
DEVICE_AND_HOST = frozenset(
    b"CUTE_HOST_DEVICE CUTLASS_HOST_DEVICE CUTE_HOST_DEVICE_NOINLINE C10_HOST_DEVICE TORCH_HOST_DEVICE".split()
)
DEVICE_ONLY = frozenset(
    b"CUTE_DEVICE CUTLASS_DEVICE C10_DEVICE CUB_DEVICE GPU_LAMBDA C10_DEVICE_INLINE CUTLASS_GLOBAL".split()
)
HOST_ONLY = frozenset(b"CUTE_HOST CUTLASS_HOST C10_HOST CUTE_HOST_RTC".split())
_NEUTRAL = frozenset(
    b"CUTE_INLINE CUTLASS_PRAGMA_UNROLL CUTLASS_PRAGMA_NO_UNROLL CUTE_UNROLL CUTE_NO_UNROLL CUTE_GRID_CONSTANT"
    b" CUTLASS_GRID_CONSTANT CUTLASS_LAMBDA_FUNC_INLINE C10_LAUNCH_BOUNDS C10_ALWAYS_INLINE C10_NOINLINE C10_EXPORT"
    b" C10_API C10_CUDA_API C10_HIP_API TORCH_API TORCH_CUDA_CPP_API TORCH_CUDA_CU_API __grid_constant__"
    b" CUTLASS_CONSTEXPR_IF_CXX17 CUTE_STL_NAMESPACE_BEGIN CUTLASS_STL_NAMESPACE_BEGIN FORCE_INLINE".split()
)
# Annotations that carry arguments.
_WITH_ARGUMENTS = frozenset(
    b"__align__ __builtin_align__ CUTE_ALIGNAS CUTLASS_ALIGNAS __maxnreg__ __cluster_dims__ __block_size__"
    b" C10_LAUNCH_BOUNDS_0 C10_LAUNCH_BOUNDS_1 C10_LAUNCH_BOUNDS_2".split()
)
_ARGUMENTS = re.compile(rb"\s*\((?:[^();{}]|\([^();{}]*\))*\)")
ANNOTATIONS = DEVICE_AND_HOST | DEVICE_ONLY | HOST_ONLY | _NEUTRAL


def blanked(scan: Scan, defined: frozenset[bytes] = frozenset()) -> bytes:
    """Return ``data`` with confusing tokens overwritten by spaces; the same object when there is none.

    Args:
        scan: the text and its tokens.
        defined: names that the text itself defines as macros; those keep their spelling at the ``#define``.
    """
    data = scan.data
    buffer: bytearray | None = bytearray(data) if scan.comments else None
    for comment in scan.comments:
        assert buffer is not None
        text = data[comment.start : comment.end]
        # Line ends stay: a directive must still end where it ends.
        buffer[comment.start : comment.end] = _NOT_LINE_END.sub(b" ", text) if b"\n" in text else b" " * len(text)
    for start, name in scan.identifiers:
        if name == b"typename":
            if not _constructs_value(data, start + 8):
                continue
        elif name in _WITH_ARGUMENTS and name not in defined:
            arguments = _ARGUMENTS.match(data, start + len(name))
            if arguments is None:
                continue
            if buffer is None:
                buffer = bytearray(data)
            buffer[start : arguments.end()] = _NOT_LINE_END.sub(b" ", data[start : arguments.end()])
            continue
        elif name not in ANNOTATIONS or name in defined:
            continue
        if buffer is None:
            buffer = bytearray(data)
        buffer[start : start + len(name)] = b" " * len(name)
    return data if buffer is None else bytes(buffer)


def _constructs_value(data: bytes, at: int) -> bool:
    """True for ``typename A<..>::B{`` and ``typename A::B(``: a value made from a dependent type."""
    depth = 0
    limit = min(len(data), at + 2000)
    while at < limit:
        byte = data[at]
        if byte == 0x3C:  # <
            depth += 1
        elif byte == 0x3E:  # >
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0:
            if byte in b"{(":
                return True
            if not (byte in b" \t\r\n:_" or 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122):
                return False
            if byte in b" \t\r\n" and _two_words(data, at):
                return False
        elif byte in b";{}":
            return False
        at += 1
    return False


def _two_words(data: bytes, at: int) -> bool:
    """True when the space at ``at`` separates a finished type from a declared name (``typename A::B x``)."""
    before = data[:at].rstrip()[-9:] if at < 64 else data[at - 64 : at].rstrip()[-9:]
    after = data[at : at + 64].lstrip()[:1]
    return (
        before[-1:] not in (b":", b"")
        and not before.endswith((b"typename", b"template"))
        and (after.isalnum() or after == b"_")
    )
