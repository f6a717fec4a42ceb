"""gfx950's conversions of scaled formats, against the value formulas of OCP Microscaling Formats 1.0."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.emulator.testing import Snippets, WaveState

pytestmark = pytest.mark.sdk

TARGET = "gfx950"
# format -> (exponent bits, mantissa bits, bias)
FORMATS = {"fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}


def value(name: str, code: int) -> float:
    e, m, bias = FORMATS[name]
    sign, exponent, mantissa = code >> (e + m), code >> m & ((1 << e) - 1), code & ((1 << m) - 1)
    magnitude = (1 + mantissa / 2**m) * 2.0 ** (exponent - bias) if exponent else mantissa / 2**m * 2.0 ** (1 - bias)
    return -magnitude if sign else magnitude


def codes(name: str) -> list[int]:
    """Encodings of numbers, infinities and NaNs left out."""
    e, m, _ = FORMATS[name]
    every = range(1 << (1 + e + m))
    if name == "fp8":
        return [c for c in every if c & 0x7F != 0x7F]
    if name == "bf8":
        return [c for c in every if c & 0x7C != 0x7C]
    return list(every)


def floats(x: NDArray[np.float64]) -> NDArray[np.uint32]:
    return x.astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
@pytest.mark.parametrize("exponent", [0, -3, 5])
def test_pairs(name: str, exponent: int) -> None:
    bits = 4 if name == "fp4" else 8
    all_codes = codes(name)
    rng = np.random.default_rng(1)
    low, high = rng.choice(all_codes, 64), rng.choice(all_codes, 64)
    state = WaveState.of(TARGET)
    state.vgpr[2] = (low | high << bits).astype(np.uint32)
    state.vgpr[3] = floats(np.full(64, 2.0**exponent))
    state.vgpr[0] = 0xAAAAAAAA
    unpack, pack = f"v_cvt_scalef32_pk_f32_{name} v[4:5], v2, v3", f"v_cvt_scalef32_pk_{name}_f32 v0, v4, v5, v3"
    after = Snippets(TARGET, [f"{unpack}\n{pack}"]).run(0, state)
    for row, code in ((4, low), (5, high)):
        want = np.array([value(name, int(c)) for c in code]) * 2.0**exponent
        assert (after.vgpr[row].view(np.float32) == want).all()
    # Back again: the same codes, and the rest of the destination is kept.
    width = 2 * bits
    assert (after.vgpr[0] & ((1 << width) - 1) == state.vgpr[2]).all()
    assert (after.vgpr[0] >> width == 0xAAAAAAAA >> width).all()


@pytest.mark.parametrize("name", ["fp6", "bf6"])
def test_thirty_two_values(name: str) -> None:
    rng = np.random.default_rng(2)
    chosen = rng.integers(0, 64, (32, 64))
    state = WaveState.of(TARGET)
    for k in range(32):
        for lane in range(64):
            for b in range(6):
                if chosen[k, lane] >> b & 1:
                    state.vgpr[64 + (6 * k + b) // 32, lane] |= np.uint32(1 << (6 * k + b) % 32)
    state.vgpr[2] = floats(np.full(64, 4.0))
    unpack = f"v_cvt_scalef32_pk32_f32_{name} v[4:35], v[64:69], v2"
    pack = f"v_cvt_scalef32_2xpk16_{name}_f32 v[72:77], v[4:19], v[20:35], v2"
    after = Snippets(TARGET, [f"{unpack}\n{pack}"]).run(0, state)
    want = np.vectorize(lambda c: value(name, int(c)))(chosen) * 4
    assert (after.vgpr[4:36].view(np.float32) == want).all()
    # 2xpk16 interleaves its two sources: element 2 k is k of the first, 2 k + 1 is k of the second.
    for k in range(16):
        for source in (0, 1):
            at = 6 * (2 * k + source)
            words = after.vgpr[72 + at // 32].astype(np.uint64)
            if at % 32 > 26:
                words |= after.vgpr[73 + at // 32].astype(np.uint64) << np.uint64(32)
            assert ((words >> np.uint64(at % 32) & np.uint64(63)) == chosen[16 * source + k]).all()


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4"])
def test_rounding_to_nearest_even(name: str) -> None:
    values = np.array(sorted({value(name, c) for c in codes(name)}))
    by_value = {value(name, c): c for c in reversed(codes(name))}
    rng = np.random.default_rng(3)
    x = rng.uniform(values[0], values[-1], 60)
    x = np.concatenate([x, (values[10:12] + values[11:13]) / 2, (values[3:5] + values[4:6]) / 2]).astype(np.float32)
    state = WaveState.of(TARGET)
    state.vgpr[4], state.vgpr[5], state.vgpr[3] = x.view(np.uint32), x.view(np.uint32), floats(np.ones(64))
    after = Snippets(TARGET, [f"v_cvt_scalef32_pk_{name}_f32 v0, v4, v5, v3"]).run(0, state)
    bits = 4 if name == "fp4" else 8
    for lane in range(64):
        distance = np.abs(values - float(x[lane]))
        best = values[distance == distance.min()]
        want = {by_value[b] for b in best} if len(best) == 1 else {c for b in best if not (c := by_value[b]) & 1}
        got = int(after.vgpr[0, lane]) & ((1 << bits) - 1)
        if value(name, got) == 0:
            assert 0.0 in best
        else:
            assert got in want, (x[lane], got, want)


@pytest.mark.parametrize(("a", "b"), [("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8")])
def test_dot_product_of_four(a: str, b: str) -> None:
    rng = np.random.default_rng(4)
    left, right = rng.choice(codes(a), (4, 64)), rng.choice(codes(b), (4, 64))
    state = WaveState.of("gfx1201")
    for k in range(4):
        state.vgpr[1] |= (left[k] << 8 * k).astype(np.uint32)
        state.vgpr[2] |= (right[k] << 8 * k).astype(np.uint32)
    c = rng.integers(-50, 50, 64).astype(np.float64)
    state.vgpr[3] = floats(c)
    after = Snippets("gfx1201", [f"v_dot4_f32_{a}_{b} v0, v1, v2, v3"]).run(0, state)
    products = np.array([[value(a, int(left[k, n])) * value(b, int(right[k, n])) for n in range(64)] for k in range(4)])
    lanes = slice(0, 32)
    scale = np.abs(products).sum(0) + np.abs(c)
    assert (np.abs(after.vgpr[0].view(np.float32) - (products.sum(0) + c)) <= 1e-6 * scale)[lanes].all()


@pytest.mark.parametrize(("name", "kept"), [("f16", 10), ("bf16", 7)])
def test_stochastic_rounding(name: str, kept: int) -> None:
    """Random bits 0 truncate, all ones round up whatever is not exact; a value that fits stays."""
    rng = np.random.default_rng(5)
    x = np.abs(rng.standard_normal(64)).astype(np.float32) + np.float32(0.5)
    mask = np.uint32(0xFFFFFFFF << (23 - kept) & 0xFFFFFFFF)
    x[:8] = (x[:8].view(np.uint32) & mask).view(np.float32)
    down = (x.view(np.uint32) & mask).view(np.float32)
    up = np.where(down == x, x, (down.view(np.uint32) + np.uint32(1 << (23 - kept))).view(np.float32))
    for noise, want in ((0, down), (0xFFFFFFFF, up)):
        state = WaveState.of(TARGET)
        state.vgpr[1], state.vgpr[2], state.vgpr[0] = x.view(np.uint32), noise, 0xABCD0000
        after = Snippets(TARGET, [f"v_cvt_sr_{name}_f32 v0, v1, v2"]).run(0, state).vgpr[0]
        low = (after & 0xFFFF).astype(np.uint16)
        got = (
            low.view(np.float16).astype(np.float32) if name == "f16" else (low.astype(np.uint32) << 16).view(np.float32)
        )
        assert (got == want).all()
        assert (after >> 16 == 0xABCD).all()
