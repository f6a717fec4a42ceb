"""Matrix instructions against numpy, with operands placed by the published register layouts.

Layouts of MFMA: AMD matrix instruction calculator (element to register equations). WMMA: RDNA3 and RDNA4 ISA
manuals. Every operand element is different, so a misplaced one shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.emulator.testing import Snippets, WaveState

pytestmark = pytest.mark.sdk


@dataclass(frozen=True)
class Mfma:
    target: str
    name: str
    m: int
    k: int
    blocks: int
    kind: str  # element type of A and B

    @property
    def bits(self) -> int:
        return {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16}.get(self.kind, 8)


MFMA = [
    *(
        Mfma("gfx942", f"v_mfma_{out}_{s}{b}_{kind}", m, k, blocks, kind)
        for out, kind, sizes in (
            ("f32", "f32", ((32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1))),
            ("f32", "f16", ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1))),
            ("f32", "bf16", ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1))),
            ("f32", "xf32", ((16, 8, 1), (32, 4, 1))),
            ("i32", "i8", ((32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 16, 1), (16, 32, 1))),
            ("f64", "f64", ((16, 4, 1), (4, 4, 4))),
            ("f32", "fp8_fp8", ((16, 32, 1), (32, 16, 1))),
            ("f32", "bf8_bf8", ((16, 32, 1), (32, 16, 1))),
        )
        for m, k, blocks in sizes
        for s in (f"{m}x{m}x{k}",)
        for b in (f"_{blocks}b" if blocks > 1 else "",)
    ),
    Mfma("gfx90a", "v_mfma_f32_32x32x8f16", 32, 8, 1, "f16"),
    Mfma("gfx90a", "v_mfma_f32_16x16x16bf16_1k", 16, 16, 1, "bf16"),
    Mfma("gfx90a", "v_mfma_f32_32x32x4bf16", 32, 4, 1, "bf16"),
    Mfma("gfx90a", "v_mfma_i32_32x32x8i8", 32, 8, 1, "i8"),
    Mfma("gfx90a", "v_mfma_f64_16x16x4f64", 16, 4, 1, "f64"),
    Mfma("gfx950", "v_mfma_f32_16x16x32_f16", 16, 32, 1, "f16"),
    Mfma("gfx950", "v_mfma_f32_32x32x16_bf16", 32, 16, 1, "bf16"),
    Mfma("gfx950", "v_mfma_i32_16x16x64_i8", 16, 64, 1, "i8"),
    Mfma("gfx950", "v_mfma_i32_32x32x32_i8", 32, 32, 1, "i8"),
    Mfma("gfx950", "v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, "fp8_fp8"),
]


def e4m3(x: int, fnuz: bool) -> float:
    sign, exponent, mantissa = x >> 7, x >> 3 & 15, x & 7
    bias = 8 if fnuz else 7
    value = (mantissa / 8) * 2.0 ** (1 - bias) if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - bias)
    return -value if sign else value


def e5m2(x: int, fnuz: bool) -> float:
    sign, exponent, mantissa = x >> 7, x >> 2 & 31, x & 3
    bias = 16 if fnuz else 15
    value = (mantissa / 4) * 2.0 ** (1 - bias) if exponent == 0 else (1 + mantissa / 4) * 2.0 ** (exponent - bias)
    return -value if sign else value


def values(op: Mfma, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """(numbers as float64, their encodings as uint64)."""
    kind = op.kind.split("_")[0]
    if kind == "i8":
        x = rng.integers(-128, 128, shape)
        return x.astype(np.float64), (x & 0xFF).astype(np.uint64)
    if kind in ("fp8", "bf8"):
        raw = rng.integers(0, 0x70 if kind == "fp8" else 0x60, shape) | rng.integers(0, 2, shape) << 7
        raw = np.where(raw == 0x80, 0, raw)  # NaN of the fnuz flavour
        decode = e4m3 if kind == "fp8" else e5m2
        return np.vectorize(lambda v: decode(int(v), op.target == "gfx942"))(raw), raw.astype(np.uint64)
    x = rng.standard_normal(shape)
    if kind == "f64":
        return x, x.view(np.uint64)
    if kind == "f16":
        h = x.astype(np.float16)
        return h.astype(np.float64), h.view(np.uint16).astype(np.uint64)
    f = x.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        f &= np.uint32(0xFFFF0000)
        return f.view(np.float32).astype(np.float64), (f >> 16).astype(np.uint64)
    if kind == "xf32":
        f &= np.uint32(0xFFFFE000)  # representable, so that rounding does not show
    return f.view(np.float32).astype(np.float64), f.astype(np.uint64)


def put(rows: NDArray[np.uint32], lane: int, element: int, bits: int, raw: int) -> None:
    at = element * bits
    if bits == 64:
        rows[element * 2, lane], rows[element * 2 + 1, lane] = raw & 0xFFFFFFFF, raw >> 32
        return
    rows[at // 32, lane] |= np.uint32(raw << at % 32)


@pytest.mark.parametrize("op", MFMA, ids=lambda op: f"{op.target}-{op.name}")
def test_mfma(op: Mfma) -> None:
    rng = np.random.default_rng(len(op.name) + op.k)
    a, a_raw = values(op, (op.blocks, op.m, op.k), rng)
    b, b_raw = values(op, (op.blocks, op.k, op.m), rng)
    wide = op.kind == "f64"
    in_place = op.kind == "i8"
    c = rng.integers(-1000, 1000, (op.blocks, op.m, op.m)).astype(np.float64)
    state = WaveState.of(op.target)
    # lane of an element: M block + M blocks floor(k / per) + i, position k mod per
    per = max(op.m * op.k * op.blocks // 64, 1)
    for block in range(op.blocks):
        for i in range(op.m):
            for k in range(op.k):
                lane = op.m * block + op.m * op.blocks * (k // per) + i
                put(state.vgpr[64:96], lane, k % per, op.bits, int(a_raw[block, i, k]))
                put(state.vgpr[96:128], lane, k % per, op.bits, int(b_raw[block, k, i]))

    def result_place(block: int, i: int, j: int) -> tuple[int, int]:
        if wide:
            return (2 * (i // 4), 16 * (i % 4) + j) if op.blocks == 1 else (0, 16 * (i % 4) + 4 * block + j)
        if op.m == 4:
            return i, 4 * block + j
        if op.m == 16:
            return 4 * block + i % 4, 16 * (i // 4) + j
        return 16 * block + 4 * (i // 8) + i % 4, 32 * (i // 4) % 64 + j

    for block in range(op.blocks):
        for i in range(op.m):
            for j in range(op.m):
                reg, lane = result_place(block, i, j)
                if wide:
                    raw = int(c[block, i, j : j + 1].view(np.uint64)[0])
                    state.vgpr[reg, lane], state.vgpr[reg + 1, lane] = raw & 0xFFFFFFFF, raw >> 32
                elif in_place:
                    state.vgpr[reg, lane] = np.uint32(int(c[block, i, j]) & 0xFFFFFFFF)
                else:
                    state.vgpr[reg, lane] = c[block, i, j].astype(np.float32).view(np.uint32)
    n_out = max(op.m * op.m * op.blocks // 64, 1) * (2 if wide else 1)
    n_in = max(per * op.bits // 32, 1)

    def span(first: int, n: int) -> str:
        return f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"

    text = f"{op.name} {span(0, n_out)}, {span(64, n_in)}, {span(96, n_in)}, {span(0, n_out)}"
    after = Snippets(op.target, [text]).run(0, state)
    want = c + a @ b
    tolerance = 0 if in_place else 1e-12 if wide else 1e-5 * op.k
    for block in range(op.blocks):
        for i in range(op.m):
            for j in range(op.m):
                reg, lane = result_place(block, i, j)
                word = after.vgpr[reg, lane]
                if wide:
                    got = np.uint64(int(word) | int(after.vgpr[reg + 1, lane]) << 32).view(np.float64)
                else:
                    got = word.view(np.int32) if in_place else word.view(np.float32)
                scale = max(1.0, float(np.abs(a[block, i]) @ np.abs(b[block, :, j]) + abs(c[block, i, j])))
                assert abs(float(got) - want[block, i, j]) <= tolerance * scale, (block, i, j)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "iu8", "iu4"])
def test_wmma(target: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    bits = {"iu8": 8, "iu4": 4}.get(kind, 16)
    if kind.startswith("iu"):
        limit = 1 << (bits - 1)
        a, b = rng.integers(-limit, limit, (16, 16)), rng.integers(-limit, limit, (16, 16))
        a_raw, b_raw = a & (2 * limit - 1), b & (2 * limit - 1)
    elif kind == "f16":
        ha, hb = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
        a, b, a_raw, b_raw = ha.astype(float), hb.astype(float), ha.view(np.uint16), hb.view(np.uint16)
    else:
        fa, fb = (
            rng.standard_normal((16, 16)).astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000) for _ in range(2)
        )
        a, b, a_raw, b_raw = fa.view(np.float32).astype(float), fb.view(np.float32).astype(float), fa >> 16, fb >> 16
    gfx12 = target == "gfx1201"
    per = 8 if gfx12 else 16
    state = WaveState.of(target)
    for i in range(16):
        for k in range(16):
            for half in (k // 8,) if gfx12 else (0, 1):  # gfx11 repeats the operands in lanes 16 to 31
                put(state.vgpr[64:96], i + 16 * half, k % per, bits, int(a_raw[i, k]))
                put(state.vgpr[96:128], i + 16 * half, k % per, bits, int(b_raw[k, i]))
    c = rng.integers(-100, 100, (16, 16))
    place = (lambda i: (i % 8, 16 * (i // 8))) if gfx12 else (lambda i: (i // 2, 16 * (i % 2)))
    integer = kind.startswith("iu")
    for i in range(16):
        reg, lane = place(i)
        row = c[i].astype(np.int32) if integer else c[i].astype(np.float32)
        state.vgpr[reg, lane : lane + 16] = row.view(np.uint32)
    n = max(per * bits // 32, 1)
    source = [f"v[{f}:{f + n - 1}]" if n > 1 else f"v{f}" for f in (64, 96)]
    out = "i32" if integer else "f32"
    signed = " neg_lo:[1,1,0]" if integer else ""
    text = f"v_wmma_{out}_16x16x16_{kind} v[0:7], {source[0]}, {source[1]}, v[0:7]{signed}"
    after = Snippets(target, [text]).run(0, state)
    want = c + a @ b
    for i in range(16):
        reg, lane = place(i)
        got = after.vgpr[reg, lane : lane + 16]
        if integer:
            assert (got.view(np.int32) == want[i]).all()
        else:
            np.testing.assert_allclose(got.view(np.float32), want[i], rtol=1e-5, atol=1e-4)
