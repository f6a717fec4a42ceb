"""MFMA and WMMA against numpy, with an independent model of where each element lives.

Layouts: AMD's matrix instruction calculator. MFMA MxNxK, `per` consecutive k per lane: A[m][k] is in lane
m + M * (k // per), B[k][n] in lane n + N * (k // per); D of 32x32 is in register 4 * (m // 8) + m % 4, lane
n + 32 * ((m // 4) % 2), D of 16x16 in register m % 4, lane n + 16 * (m // 4). gfx12 WMMA: as 16x16 with 8 rows a lane.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.emulator.testing import Snippets, WaveState

A, B, C = 16, 32, 64  # first registers
# target, mnemonic, M, K, consecutive k of a lane, element type
MFMA = [
    ("gfx90a", "v_mfma_f32_32x32x8f16", 32, 8, 4, "f16"),
    ("gfx90a", "v_mfma_f32_16x16x16f16", 16, 16, 4, "f16"),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", 32, 8, 4, "bf16"),
    ("gfx90a", "v_mfma_f32_16x16x16bf16_1k", 16, 16, 4, "bf16"),
    ("gfx90a", "v_mfma_i32_32x32x8i8", 32, 8, 4, "i8"),
    ("gfx90a", "v_mfma_i32_16x16x16i8", 16, 16, 4, "i8"),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 32, 8, 4, "f16"),
    ("gfx942", "v_mfma_f32_16x16x16_f16", 16, 16, 4, "f16"),
    ("gfx942", "v_mfma_f32_32x32x8_bf16", 32, 8, 4, "bf16"),
    ("gfx942", "v_mfma_f32_16x16x16_bf16", 16, 16, 4, "bf16"),
    ("gfx942", "v_mfma_f32_32x32x2_f32", 32, 2, 1, "f32"),
    ("gfx942", "v_mfma_f32_16x16x4_f32", 16, 4, 1, "f32"),
    ("gfx942", "v_mfma_i32_32x32x16_i8", 32, 16, 8, "i8"),
    ("gfx942", "v_mfma_i32_16x16x32_i8", 16, 32, 8, "i8"),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 32, 16, 8, "f16"),
    ("gfx950", "v_mfma_f32_16x16x32_f16", 16, 32, 8, "f16"),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", 32, 16, 8, "bf16"),
    ("gfx950", "v_mfma_f32_16x16x32_bf16", 16, 32, 8, "bf16"),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", 16, 16, 8, "f16"),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", 16, 16, 8, "bf16"),
]
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1}


def patterns(values: NDArray[np.int64], kind: str) -> NDArray[np.uint64]:
    if kind == "i8":
        return values.astype(np.int8).view(np.uint8).astype(np.uint64)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return bits >> np.uint64(16) if kind == "bf16" else bits


def place(state: WaveState, first: int, matrix: NDArray[np.int64], per: int, kind: str) -> None:
    """``matrix`` (rows, K), rows being m of A or n of B."""
    size = BYTES[kind]
    per_register = 4 // size
    bits = patterns(matrix, kind)
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            lane, at = row + matrix.shape[0] * (k // per), k % per
            state.vgpr[first + at // per_register, lane] |= np.uint32(
                int(bits[row, k]) << 8 * size * (at % per_register)
            )


def home(m: int, n: int, rows: int, wave: int) -> tuple[int, int]:
    """(register, lane) of D[m][n]."""
    if rows == 32:
        return 4 * (m // 8) + m % 4, n + 32 * ((m // 4) % 2)
    per_lane = 256 // wave
    return m % per_lane, n + 16 * (m // per_lane)


def span(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


@pytest.mark.sdk
@pytest.mark.parametrize(("target", "name", "rows", "depth", "per", "kind"), MFMA, ids=lambda v: str(v))
def test_matrix_product(target: str, name: str, rows: int, depth: int, per: int, kind: str) -> None:
    wave = 32 if target == "gfx1201" else 64
    rng = np.random.default_rng(rows * depth)
    limit = 100 if kind in ("i8", "f16", "f32") else 60
    # Small integers: every sum is exact in f32, so any order of accumulation gives these bits.
    a, b = (rng.integers(-limit, limit, (rows, depth)) for _ in range(2))
    c = np.arange(rows * rows).reshape(rows, rows) - 300  # unique in each place
    registers, results = max(1, per * BYTES[kind] // 4), rows * rows // wave
    state = WaveState.of(target)
    place(state, A, a, per, kind)
    place(state, B, b, per, kind)
    integer = "_i32_" in name
    for m in range(rows):
        for n in range(rows):
            register, lane = home(m, n, rows, wave)
            value = np.array([c[m, n]], np.int32 if integer else np.float32)
            state.vgpr[C + register, lane] = value.view(np.uint32)[0]
    text = f"{name} {span(C, results)}, {span(A, registers)}, {span(B, registers)}, {span(C, results)}"
    after = Snippets(target, [text]).run(0, state)
    want = a @ b.T + c
    got = np.zeros_like(want)
    for m in range(rows):
        for n in range(rows):
            register, lane = home(m, n, rows, wave)
            word = after.vgpr[C + register, lane : lane + 1].copy()
            got[m, n] = int(word.view(np.int32 if integer else np.float32)[0])
    np.testing.assert_array_equal(got, want)


@pytest.mark.sdk
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_wmma_of_gfx11(kind: str) -> None:
    """A and B hold all 16 k of a row in each lane, lanes 16-31 a copy; D element v is row 2 v + lane // 16."""
    rng = np.random.default_rng(11)
    a, b = (rng.integers(-60, 60, (16, 16)) for _ in range(2))
    c = np.arange(256).reshape(16, 16)
    state = WaveState.of("gfx1100")
    for first, matrix in ((A, a), (B, b)):
        bits = patterns(matrix, kind)
        for lane in range(32):
            for k in range(16):
                state.vgpr[first + k // 2, lane] |= np.uint32(int(bits[lane % 16, k]) << 16 * (k % 2))
    for v in range(8):
        for lane in range(32):
            state.vgpr[C + v, lane] = np.float32(c[2 * v + lane // 16, lane % 16]).view(np.uint32)
    text = f"v_wmma_f32_16x16x16_{kind} {span(C, 8)}, {span(A, 8)}, {span(B, 8)}, {span(C, 8)}"
    after = Snippets("gfx1100", [text]).run(0, state)
    want = a @ b.T + c
    got = np.array([[after.vgpr[C + m // 2, n + 16 * (m % 2)] for n in range(16)] for m in range(16)], np.uint32)
    np.testing.assert_array_equal(got.view(np.float32), want)
