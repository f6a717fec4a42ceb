"""What the loop model needs to know about an instruction: its kind, its matrix passes, its memory traffic.

Sources: matrix passes are the issue cycles (in units of 4 clocks) of LLVM's scheduling models for gfx90a, gfx942 and
gfx950 (``SISchedule.td``; ``llvm-mca -mcpu=gfx942 -instruction-info`` prints them), which equal the passes of AMD's
CDNA ISA guides; rates of transcendental and 32-bit integer multiply instructions: CDNA3 ISA guide, quarter rate.
"""

from __future__ import annotations

import re
from enum import StrEnum

WAVE_SIZE = 64


class Kind(StrEnum):
    """Kinds of instructions, by the pipe that they occupy."""

    MATRIX = "mfma"
    ACC_MOVE = "acc_mov"
    VALU = "valu"
    VALU_QUARTER = "valu_q"
    LDS_READ = "lds_read"
    LDS_WRITE = "lds_write"
    LDS_PERMUTE = "lds_perm"
    SCRATCH = "scratch"
    VMEM_LOAD = "vmem_load"
    VMEM_STORE = "vmem_store"
    VMEM_ATOMIC = "vmem_atomic"
    CACHE = "cache"
    SMEM = "smem"
    SALU = "salu"
    BRANCH = "branch"
    WAIT = "waitcnt"
    BARRIER = "barrier"
    HINT = "hint"
    NOP = "nop"
    OTHER = "other"


LDS_KINDS = frozenset({Kind.LDS_READ, Kind.LDS_WRITE, Kind.LDS_PERMUTE})
VMEM_KINDS = frozenset({Kind.VMEM_LOAD, Kind.VMEM_STORE, Kind.VMEM_ATOMIC, Kind.SCRATCH})

_QUARTER = re.compile(
    r"v_(?:exp|log|rcp|rsq|sqrt|sin|cos)_(?:f32|f16|iflag|legacy)|v_rcp_iflag"
    r"|v_mul_(?:lo|hi)_[ui]32|v_mad_[ui]64_[ui]32"
)
# First match wins.
_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r".*mfma", Kind.MATRIX),
        (r"v_accvgpr", Kind.ACC_MOVE),
        (_QUARTER.pattern, Kind.VALU_QUARTER),
        (r"v_", Kind.VALU),
        (r"ds_.*read", Kind.LDS_READ),
        (r"ds_.*write", Kind.LDS_WRITE),
        (r"ds_", Kind.LDS_PERMUTE),
        (r"scratch_", Kind.SCRATCH),
        (r"buffer_.*(?:wbl2|inv)", Kind.CACHE),
        (r"(?:global|buffer|flat)_.*store", Kind.VMEM_STORE),
        (r"(?:global|buffer|flat)_.*atomic", Kind.VMEM_ATOMIC),
        (r"(?:global|buffer|flat)_", Kind.VMEM_LOAD),
        (r"s_(?:load|buffer_load|store)", Kind.SMEM),
        (r"s_barrier$", Kind.BARRIER),
        (r"s_waitcnt$", Kind.WAIT),
        (r"s_nop$", Kind.NOP),
        (r"s_(?:branch|cbranch|endpgm|setpc|swappc)", Kind.BRANCH),
        (r"s_(?:setprio|sleep|sethalt)", Kind.HINT),
        (r"s_", Kind.SALU),
    )
)


def kind_of(opcode: str) -> Kind:
    """Kind of a mnemonic."""
    return next((kind for pattern, kind in _KINDS if pattern.match(opcode)), Kind.OTHER)


# v_mfma_f32_32x32x8_f16, v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x4_2b_f16, v_smfmac_f32_32x32x16_f16
_MATRIX = re.compile(r"v_(?P<sparse>s)?mfmac?_(?:f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(?P<type>[a-z]+\d+\w*)")
# Names of gfx90a do not state how many blocks an instruction multiplies (CDNA2 ISA guide, matrix instructions).
_GFX90A_BLOCKS = {
    "32x32x1f32": 2,
    "16x16x1f32": 4,
    "4x4x1f32": 16,
    "32x32x4f16": 2,
    "16x16x4f16": 4,
    "4x4x4f16": 16,
    "32x32x2bf16": 2,
    "16x16x2bf16": 4,
    "4x4x2bf16": 16,
    "32x32x4bf16_1k": 2,
    "16x16x4bf16_1k": 4,
    "4x4x4bf16_1k": 16,
    "32x32x4i8": 2,
    "16x16x4i8": 4,
    "4x4x4i8": 16,
    "4x4x4f64": 4,
}
_KNOWN_TYPES = re.compile(r"(?:f32|xf32|f16|bf16|bf16_1k|i8|f64|(?:fp8|bf8)_(?:fp8|bf8))(?:_e64)?$")


def matrix_shape(opcode: str) -> tuple[int, int, int, int, str] | None:
    """(M, N, K, blocks, input type) of a matrix instruction; None for one that the model does not know."""
    found = _MATRIX.match(opcode)
    if not found or not _KNOWN_TYPES.match(found["type"]):
        return None
    m, n, k = int(found[2]), int(found[3]), int(found[4])
    kind = found["type"].removesuffix("_e64")
    blocks = int(found[5]) if found[5] else _GFX90A_BLOCKS.get(f"{m}x{n}x{k}{kind}", 1)
    return m, n, k, blocks, kind


def matrix_passes(opcode: str, target: str) -> int | None:
    """Passes (of 4 clocks) that a matrix instruction occupies the matrix pipe; None when the model does not know it.

    Args:
        opcode: mnemonic.
        target: ``gfx90a``, ``gfx942`` or ``gfx950``.
    """
    shape = matrix_shape(opcode)
    if shape is None:
        return None
    m, _, _, blocks, kind = shape
    if kind == "f64":
        return {16: 16 if target == "gfx950" else 8, 4: 4}[m]
    slow = target == "gfx90a" or kind == "f32" or blocks > 1
    return {32: 16, 16: 8, 4: 2}[m] if slow else {32: 8, 16: 4, 4: 2}[m]


def matrix_flops(opcode: str) -> int:
    """Floating-point operations of one wave's matrix instruction (2 for each multiply-add); 0 when unknown."""
    shape = matrix_shape(opcode)
    if shape is None:
        return 0
    m, n, k, blocks, _ = shape
    return 2 * m * n * k * blocks


def memory_bytes(opcode: str) -> int:
    """Bytes that one wave's memory instruction moves with all 64 lanes active."""
    if opcode.startswith("ds_"):
        access = re.match(r"ds_(?:read|write)(2?)(?:st64)?_[a-z](\d+)", opcode)
        if not access:
            return 4 * WAVE_SIZE
        return int(access[2]) // 8 * WAVE_SIZE * (2 if access[1] else 1)
    wide = re.search(r"dwordx(\d)", opcode)
    if wide:
        return 4 * WAVE_SIZE * int(wide[1])
    if re.search(r"_[us]?byte", opcode):
        return WAVE_SIZE
    if re.search(r"_[us]?short", opcode):
        return 2 * WAVE_SIZE
    return 4 * WAVE_SIZE


def vector_flops(opcode: str) -> int:
    """FLOP of one wave's multiply-add on the vector ALU, for kernels without matrix instructions; 0 for others."""
    if re.match(r"v_pk_fma_f32", opcode):
        return 4 * WAVE_SIZE
    if re.match(r"v_pk_(?:mul|add)_f32", opcode):
        return 2 * WAVE_SIZE
    if re.match(r"v_(?:fma|fmac|fmamk|fmaak|mac|mad)_(?:mix\w*_)?f(?:32|16)|v_fma_mix", opcode):
        return 2 * WAVE_SIZE
    if re.match(r"v_dot2|v_pk_fma_f16", opcode):
        return 4 * WAVE_SIZE
    return 0
