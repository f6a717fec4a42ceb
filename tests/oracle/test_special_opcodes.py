"""Opcodes whose pseudocode in the manuals does not decide: division steps, approximations, tables, float atomics.

Oracle: numpy's correctly rounded division, exact integers, the accuracy that the manuals state, the value formulas
of the formats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forms import accepted, wave_size
from oracle_numbers import real, small_float
from oracle_tables import MANUAL
from oracle_values import sample

from hipport.emulator.testing import Snippets, WaveState

pytestmark = pytest.mark.sdk
every_target = pytest.mark.parametrize("target", MANUAL)
ROUNDS = 40
COVERS = {
    *(f"v_div_{step}_f{bits}" for step in ("scale", "fmas", "fixup") for bits in (32, 64)), "v_div_fixup_f16",
    "v_div_fixup_legacy_f16", "v_trig_preop_f64", "v_bitop3_b32", "v_bitop3_b16", "v_cvt_sr_fp8_f32",
    "v_cvt_sr_bf8_f32",
    "v_dot2_f32_bf16", "v_dot2c_f32_bf16", "v_mac_f32", "v_mad_f32", "v_madak_f32", "v_madmk_f32", "v_fma_legacy_f32",
    "v_fma_dx9_zero_f32", "v_fmac_dx9_zero_f32", "v_fmac_legacy_f32", "global_atomic_csub_u32",
    "buffer_atomic_csub_u32",
    "flat_atomic_csub_u32",
    *(f"ds_{m}{rtn}_f{bits}" for m in ("min", "max") for rtn in ("", "_rtn") for bits in (32, 64)),
    *(f"{space}_atomic_{name}" for space in ("global", "flat", "buffer")
      for name in ("fmin", "fmax", "min_f32", "max_f32", "min_f64", "max_f64")),
}  # fmt: skip


def put(state: WaveState, register: int, bits: NDArray[np.uint64]) -> None:
    state.vgpr[register] = bits.astype(np.uint32)
    state.vgpr[register + 1] = (bits >> np.uint64(32)).astype(np.uint32)


def get64(state: WaveState, register: int) -> NDArray[np.uint64]:
    return state.vgpr[register].astype(np.uint64) | state.vgpr[register + 1].astype(np.uint64) << np.uint64(32)


# The sequences that LLVM makes of a division: numerator in v[10:11], denominator in v[12:13], quotient in v[4:5].
F32 = """v_div_scale_f32 v20, SINK, v12, v12, v10
v_div_scale_f32 v21, VCC, v10, v12, v10
v_rcp_f32 v22, v20
v_fma_f32 v23, -v20, v22, 1.0
v_fma_f32 v22, v23, v22, v22
v_mul_f32 v23, v21, v22
v_fma_f32 v24, -v20, v23, v21
v_fma_f32 v23, v24, v22, v23
v_fma_f32 v24, -v20, v23, v21
v_div_fmas_f32 v24, v24, v22, v23
v_div_fixup_f32 v4, v24, v12, v10"""
F64 = """v_div_scale_f64 v[20:21], SINK, v[12:13], v[12:13], v[10:11]
v_rcp_f64 v[22:23], v[20:21]
v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
v_div_scale_f64 v[24:25], VCC, v[10:11], v[12:13], v[10:11]
v_mul_f64 v[26:27], v[24:25], v[22:23]
v_fma_f64 v[28:29], -v[20:21], v[26:27], v[24:25]
v_div_fmas_f64 v[28:29], v[28:29], v[22:23], v[26:27]
v_div_fixup_f64 v[4:5], v[28:29], v[12:13], v[10:11]"""


@every_target
def test_division_steps_give_the_rounded_quotient(target: str) -> None:
    sink, vcc = ("s[6:7]", "vcc") if wave_size(target) == 64 else ("s6", "vcc_lo")
    snippets = Snippets(target, [text.replace("SINK", sink).replace("VCC", vcc) for text in (F32, F64)])
    rng, lanes = np.random.default_rng(1), slice(0, wave_size(target))
    for index, (kind, dtype, raw) in enumerate((("f32", np.float32, np.uint32), ("f64", np.float64, np.uint64))):
        for _ in range(ROUNDS):
            state = WaveState.of(target)
            a, b = sample(rng, kind, 64), sample(rng, kind, 64)
            put(state, 10, a)
            put(state, 12, b)
            x, y = a.astype(raw).view(dtype), b.astype(raw).view(dtype)
            with np.errstate(all="ignore"):
                want = (x / y)[lanes]
            got = get64(snippets.run(index, state), 4).astype(raw).view(dtype)[lanes]
            wrong = (got.view(raw) != want.view(raw)) & ~(np.isnan(got) & np.isnan(want))
            assert not wrong.any(), [(x[k], y[k], got[k], want[k]) for k in np.flatnonzero(wrong)[:3]]


@every_target
def test_division_fixup_of_halves(target: str) -> None:
    """Given the rounded quotient it keeps it, and makes the special cases right."""
    names = ["v_div_fixup_f16 v4, v10, v12, v14", "v_div_fixup_legacy_f16 v4, v10, v12, v14"]
    texts = [text for text, good in zip(names, accepted(target, names), strict=True) if good]
    snippets = Snippets(target, texts)
    rng, lanes = np.random.default_rng(2), slice(0, wave_size(target))
    for index in range(len(texts)):
        for _ in range(ROUNDS):
            state = WaveState.of(target)
            n, d = (sample(rng, "f16", 64).astype(np.uint16).view(np.float16) for _ in range(2))
            with np.errstate(all="ignore"):
                want = n / d
            for register, value in ((10, want), (12, d), (14, n)):
                state.vgpr[register] = value.view(np.uint16)
            got = (snippets.run(index, state).vgpr[4] & 0xFFFF).astype(np.uint16).view(np.float16)
            agree = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
            assert agree[lanes].all()


def two_over_pi(bits: int) -> int:
    """The first fractional bits of 2 / pi as an integer (Machin's formula)."""
    one = 1 << (bits + 64)

    def arctan_inverse(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (2 * one * one // pi) >> 64


@every_target
def test_segments_of_two_over_pi(target: str) -> None:
    """V_TRIG_PREOP_F64: 53 bits of 2 / pi from bit 53 * S1[4:0] on (plus the exponent beyond 1077), as their value."""
    snippets = Snippets(target, ["v_trig_preop_f64 v[4:5], v[10:11], v12"])
    digits = two_over_pi(1400)
    rng = np.random.default_rng(3)
    for _ in range(20):
        state = WaveState.of(target)
        exponents = np.where(rng.random(64) < 0.5, rng.integers(900, 1100, 64), rng.integers(1077, 1300, 64))
        bits = exponents.astype(np.uint64) << np.uint64(52) | rng.integers(0, 1 << 52, 64).astype(np.uint64)
        segment = rng.integers(0, 19, 64)
        put(state, 10, bits)
        state.vgpr[12] = segment
        got = get64(snippets.run(0, state), 4).view(np.float64)
        for lane in range(wave_size(target)):
            shift = int(segment[lane]) * 53 + max(int(exponents[lane]) - 1077, 0)
            if shift + 53 > 1020:
                continue  # a denormal result is rounded
            value = Fraction(digits >> (1400 - 53 - shift) & ((1 << 53) - 1), 1 << (53 + shift))
            assert Fraction(float(got[lane])) == value, (lane, shift)


APPROXIMATIONS = {
    # opcode: function of float64, units in the last place (manuals: V_EXP_F32 and the like)
    "v_exp_f32": (np.exp2, 1.0),
    "v_log_f32": (np.log2, 1.0),
    "v_rcp_f32": (lambda x: 1 / x, 1.0),
    "v_rcp_iflag_f32": (lambda x: 1 / x, 1.0),
    "v_rsq_f32": (lambda x: 1 / np.sqrt(x), 1.0),
    "v_sqrt_f32": (np.sqrt, 1.0),
    "v_exp_f16": (np.exp2, 0.51),
    "v_log_f16": (np.log2, 0.51),
    "v_rcp_f16": (lambda x: 1 / x, 0.51),
    "v_rsq_f16": (lambda x: 1 / np.sqrt(x), 0.51),
    "v_sqrt_f16": (np.sqrt, 0.51),
    "v_rcp_f64": (lambda x: 1 / x, 2.0**29),
    "v_rsq_f64": (lambda x: 1 / np.sqrt(x), 2.0**29),
    "v_sqrt_f64": (np.sqrt, 2.0**29),
}
SMALLEST = {"f16": (-14, 10), "f32": (-126, 23), "f64": (-1022, 52)}


def error_in_units(got: NDArray[np.float64], want: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    low, mantissa = SMALLEST[kind]
    _, exponent = np.frexp(np.where(np.isfinite(want) & (want != 0), want, 1.0))
    unit = np.ldexp(1.0, np.maximum(exponent - 1, low) - mantissa)
    with np.errstate(invalid="ignore"):
        return np.where(got == want, 0.0, np.abs(got - want) / unit)


@pytest.mark.slow
@every_target
def test_approximations_are_as_accurate_as_stated(target: str) -> None:
    """All halves; a sweep of singles and doubles over every exponent. f32 forms flush denormal inputs and results."""
    texts, names = [], []
    for name in APPROXIMATIONS:
        registers = "v[4:5], v[10:11]" if name.endswith("64") else "v4, v10"
        texts.append(f"{name}_e64 {registers}")
        names.append(name)
    good = accepted(target, texts)
    names = [name for name, yes in zip(names, good, strict=True) if yes]
    snippets = Snippets(target, [text for text, yes in zip(texts, good, strict=True) if yes])
    assert len(names) == len(APPROXIMATIONS)
    rng, wave = np.random.default_rng(4), wave_size(target)
    for index, name in enumerate(names):
        function, limit = APPROXIMATIONS[name]
        kind = name[-3:]
        dtype, raw = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}[
            kind
        ]
        if kind == "f16":
            bits = np.arange(1 << 16, dtype=np.uint64)
        else:
            sign_exponent = 512 if kind == "f32" else 4096
            mantissa = 23 if kind == "f32" else 52
            n = 8192
            bits = rng.integers(0, sign_exponent, n).astype(np.uint64) << np.uint64(mantissa)
            bits |= rng.integers(0, 1 << mantissa, n).astype(np.uint64)
            if name == "v_exp_f32":
                bits[: n // 2] = rng.uniform(-126, 128, n // 2).astype(np.float32).view(np.uint32)
        with np.errstate(invalid="ignore"):
            x = bits.astype(raw).view(dtype).astype(np.float64)
        low, _ = SMALLEST[kind]
        flushes = kind == "f32"
        if flushes:
            x = np.where(np.abs(x) < 2.0**low, np.copysign(0.0, x), x)
        with np.errstate(all="ignore"):
            want = function(x)
            overflow = np.abs(want) > float(np.finfo(dtype).max)
            want = np.where(overflow, np.copysign(np.inf, want), want)
        got = np.empty(len(bits))
        for start in range(0, len(bits), wave):
            state = WaveState.of(target)
            part = bits[start : start + wave]
            full = np.zeros(64, np.uint64)
            full[: len(part)] = part
            put(state, 10, full)
            after = get64(snippets.run(index, state), 4).astype(raw).view(dtype)
            with np.errstate(invalid="ignore"):
                got[start : start + wave] = after[: len(part)]
        error = error_in_units(got, want, kind)
        same = np.isnan(got) & np.isnan(want)
        tiny = flushes & (np.abs(want) < 2.0**low) & ((got == 0) | (np.abs(got) == 2.0**low))
        wrong = ~same & ~tiny & ~(error <= limit)
        # Beyond half a unit above the greatest number both it and infinity are as near as stated.
        wrong &= ~(np.isinf(want) & (np.abs(got) == float(np.finfo(dtype).max)))
        assert not wrong.any(), (name, [(x[k], got[k], want[k], error[k]) for k in np.flatnonzero(wrong)[:3]])


@pytest.mark.slow
@every_target
def test_sine_and_cosine_of_turns(target: str) -> None:
    """The input counts turns, up to 256; the manuals state no accuracy, 2^-20 and 2^-9 absolute are asked for."""
    rng, wave = np.random.default_rng(5), wave_size(target)
    texts = [f"v_{f}_f{bits} v4, v10" for f in ("sin", "cos") for bits in (32, 16)]
    snippets = Snippets(target, texts)
    for index, text in enumerate(texts):
        half = "f16" in text
        dtype = np.float16 if half else np.float32
        function = np.sin if "sin" in text else np.cos
        for _ in range(ROUNDS):
            x = rng.uniform(-256, 256, 64).astype(dtype)
            state = WaveState.of(target)
            state.vgpr[10] = x.view(np.uint16 if half else np.uint32)
            raw = snippets.run(index, state).vgpr[4]
            got = (raw.astype(np.uint16).view(np.float16) if half else raw.view(np.float32)).astype(np.float64)
            turns = x.astype(np.float64)
            want = function(2 * np.pi * (turns - np.round(turns)))
            assert (np.abs(got - want)[:wave] <= (2.0**-9 if half else 2.0**-20)).all(), text


def test_any_bit_operation_of_three() -> None:
    """The truth table has S0 in bit 2, S1 in bit 1 and S2 in bit 0 of its index."""
    rng = np.random.default_rng(6)
    tables = [int(t) for t in rng.integers(0, 256, 24)]
    texts = [f"v_bitop3_b{bits} v4, v10, v11, v12 bitop3:{table:#x}" for table in tables for bits in (32, 16)]
    snippets = Snippets("gfx950", texts)
    state = WaveState.of("gfx950")
    state.vgpr[4:13] = rng.integers(0, 1 << 32, (9, 64), dtype=np.uint32)
    a, b, c = state.vgpr[10:13]
    for index, text in enumerate(texts):
        table = tables[index // 2]
        want = np.zeros(64, np.uint32)
        for at in range(8):
            if table >> at & 1:
                want |= (a if at & 4 else ~a) & (b if at & 2 else ~b) & (c if at & 1 else ~c)
        got = snippets.run(index, state).vgpr[4]
        mask = 0xFFFF if "b16" in text else 0xFFFFFFFF
        np.testing.assert_array_equal(got & mask, want & mask, err_msg=text)


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize(("name", "shape"), [("fp8", (4, 3)), ("bf8", (5, 2))])
def test_stochastic_rounding_to_eight_bits(target: str, name: str, shape: tuple[int, int]) -> None:
    """Random bits 0 take the neighbour towards zero, all ones the other; the byte is chosen, the others are kept."""
    fnuz = target == "gfx942"
    values = {}
    for code in range(0x7F if not fnuz else 0x80):
        bits = small_float(code, *shape, fnuz)
        if bits.bits & 0x7F800000 != 0x7F800000:
            values[float(real(bits))] = code
    ordered = sorted(values)
    rng = np.random.default_rng(7)
    pick = rng.integers(8, len(ordered) - 2, 64)
    neighbours = list(pairwise(ordered))
    x = np.array([neighbours[k][0] + (neighbours[k][1] - neighbours[k][0]) * 0.375 for k in pick], np.float32)
    x[:8] = [ordered[k] for k in pick[:8]]
    selection = "byte_sel:2" if target == "gfx1201" else "op_sel:[0,0,0,1]"
    snippets = Snippets(target, [f"v_cvt_sr_{name}_f32 v4, v10, v11 {selection}"])
    for noise in (0, 0xFFFFFFFF):
        state = WaveState.of(target)
        state.vgpr[4], state.vgpr[10], state.vgpr[11] = 0xA1B2C3D4, x.view(np.uint32), noise
        got = snippets.run(0, state).vgpr[4]
        for lane in range(wave_size(target)):
            low, high = neighbours[pick[lane]]
            want = low if lane < 8 or not noise else high
            assert got[lane] & 0xFF00FFFF == 0xA100C3D4
            assert got[lane] >> 16 & 0xFF == values[want], (float(x[lane]), noise)


@every_target
def test_dot_products_of_bf16(target: str) -> None:
    names = ["v_dot2_f32_bf16 v4, v10, v11, v12", "v_dot2c_f32_bf16 v4, v10, v11"]
    texts = [text for text, good in zip(names, accepted(target, names), strict=True) if good]
    if not texts:
        pytest.skip("no such instruction")
    rng = np.random.default_rng(8)
    snippets = Snippets(target, texts)
    a, b = (rng.integers(-60, 61, (2, 64)) for _ in range(2))
    c = rng.integers(-1000, 1000, 64)
    state = WaveState.of(target)
    for register, pair in ((10, a), (11, b)):
        halves = pair.astype(np.float32).view(np.uint32) >> 16
        state.vgpr[register] = halves[0] | halves[1] << 16
    state.vgpr[12] = state.vgpr[4] = c.astype(np.float32).view(np.uint32)
    want = (a * b).sum(0) + c
    for index in range(len(texts)):
        got = snippets.run(index, state).vgpr[4].view(np.float32)
        np.testing.assert_array_equal(got[: wave_size(target)], want[: wave_size(target)])


@pytest.mark.slow
@every_target
def test_minimum_and_maximum_of_floats_in_memory(target: str) -> None:
    """Numbers win over NaN (what atomicrmw fmin and fmax ask for); of opposite zeros either is right."""
    forms = {}
    for m in ("min", "max"):
        for bits, data in ((32, "v12"), (64, "v[12:13]")):
            d = "v4" if bits == 32 else "v[4:5]"
            forms[f"ds_{m}_f{bits} v10, {data}"] = (m, bits, "lds")
            forms[f"ds_{m}_rtn_f{bits} {d}, v10, {data}"] = (m, bits, "lds")
            for cache in ("", " sc0", " glc"):
                for name in (f"{m}_f{bits}", f"f{m}"):
                    returned = f"{d}, " if cache else ""
                    forms[f"global_atomic_{name} {returned}v[10:11], {data}, off{cache}"] = (m, bits, "global")
                    forms[f"flat_atomic_{name} {returned}v[10:11], {data}{cache}"] = (m, bits, "global")
                    forms[f"buffer_atomic_{name} {data}, v10, s[8:11], 0 offen{cache}"] = (m, bits, "buffer")
    texts = [text for text, good in zip(forms, accepted(target, list(forms)), strict=True) if good]
    assert len(texts) >= 4
    snippets = Snippets(target, texts)
    memory = snippets._device.allocate(1024)
    rng, wave = np.random.default_rng(9), wave_size(target)
    for index, text in enumerate(texts):
        m, bits, space = forms[text]
        dtype, raw = (np.float32, np.uint32) if bits == 32 else (np.float64, np.uint64)
        for _ in range(8):
            old, new = (sample(rng, f"f{bits}", wave).astype(raw) for _ in range(2))
            state = WaveState.of(target)
            offsets = np.arange(64) * (bits // 8)
            put(state, 10, (offsets + (memory.address if space == "global" else 0)).astype(np.uint64))
            full = np.zeros(64, np.uint64)
            full[:wave] = new
            put(state, 12, full)
            content = np.zeros(1024, np.uint8)
            content[: wave * bits // 8] = old.view(np.uint8)
            state.lds = content.copy()
            state.sgpr[124] = 0xFFFFFFFF
            memory.view()[:] = content
            word3 = 0x27000 if wave == 64 else 0x31014000
            state.sgpr[8:12] = [memory.address & 0xFFFFFFFF, memory.address >> 32, 1024, word3]
            after = snippets.run(index, state)
            result = after.lds if space == "lds" else memory.view()
            got = result[: wave * bits // 8].copy().view(dtype)
            x, y = old.view(dtype), new.view(dtype)
            with np.errstate(invalid="ignore"):
                want = np.fmin(x, y) if m == "min" else np.fmax(x, y)
            signalling = np.isnan(x) | np.isnan(y)
            agree = (got == want) | (np.isnan(got) & signalling)
            assert agree.all(), text


def flush(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), x).astype(np.float32)


def test_multiply_and_add_in_two_roundings() -> None:
    """v_mad_f32 and its like round the product and flush denormals, whatever MODE says."""
    forms = ["v_mad_f32 v4, v10, v11, v12", "v_mac_f32 v4, v10, v11"]
    forms += ["v_madmk_f32 v4, v10, 0x40490fdb, v12", "v_madak_f32 v4, v10, v11, 0x40490fdb"]
    snippets = Snippets("gfx90a", forms)
    rng = np.random.default_rng(10)
    for _ in range(ROUNDS):
        state = WaveState.of("gfx90a")
        for register in (4, 10, 11, 12):
            state.vgpr[register] = sample(rng, "f32", 64).astype(np.uint32)
        d, a, b, c = (flush(state.vgpr[register].view(np.float32)) for register in (4, 10, 11, 12))
        k = np.float32(np.array(0x40490FDB, np.uint32).view(np.float32))
        for index, (x, y, z) in enumerate(((a, b, c), (a, b, d), (a, k, c), (a, b, k))):
            with np.errstate(all="ignore"):
                want = flush(flush(x * y) + z)
            got = snippets.run(index, state).vgpr[4].view(np.float32)
            agree = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
            assert agree.all(), forms[index]


@every_target
def test_products_where_zero_wins(target: str) -> None:
    """Legacy (DX9) multiplication: 0 times anything is 0, infinities and NaNs too; the sum is exact here."""
    names = ["v_fma_legacy_f32 v4, v10, v11, v12", "v_fma_dx9_zero_f32 v4, v10, v11, v12"]
    names += ["v_fmac_legacy_f32 v4, v10, v11", "v_fmac_dx9_zero_f32 v4, v10, v11"]
    texts = [text for text, good in zip(names, accepted(target, names), strict=True) if good]
    if not texts:
        pytest.skip("no such instruction")
    rng, lanes = np.random.default_rng(11), slice(0, wave_size(target))
    choices = np.array([0.0, -0.0, 1.0, -3.0, 17.0, np.inf, -np.inf, np.nan], np.float32)
    snippets = Snippets(target, texts)
    for index, text in enumerate(texts):
        for _ in range(ROUNDS):
            a, b = rng.choice(choices, 64), rng.choice(choices, 64)
            c = rng.integers(-100, 100, 64).astype(np.float32)
            state = WaveState.of(target)
            state.vgpr[10], state.vgpr[11] = a.view(np.uint32), b.view(np.uint32)
            state.vgpr[4] = state.vgpr[12] = c.view(np.uint32)
            with np.errstate(invalid="ignore"):
                want = (np.where((a == 0) | (b == 0), 0, a * b) + c)[lanes]
            np.testing.assert_array_equal(
                snippets.run(index, state).vgpr[4].view(np.float32)[lanes], want, err_msg=text
            )


def test_clamped_subtraction_in_memory() -> None:
    """csub: not below 0; the old value is returned."""
    texts = [
        "global_atomic_csub_u32 v4, v[10:11], v12, off glc",
        "buffer_atomic_csub_u32 v12, v10, s[8:11], 0 offen glc",
    ]
    texts += ["flat_atomic_csub_u32 v4, v[10:11], v12 glc"]
    texts = [text for text, good in zip(texts, accepted("gfx1100", texts), strict=True) if good]
    snippets = Snippets("gfx1100", texts)
    memory = snippets._device.allocate(128)
    rng = np.random.default_rng(12)
    assert len(texts) >= 2
    for index, text in enumerate(texts):
        old, new = (sample(rng, "b32", 32).astype(np.uint32) for _ in range(2))
        memory.view()[:] = old.view(np.uint8)
        state = WaveState.of("gfx1100")
        put(state, 10, (np.arange(64) * 4 + (0 if "buffer" in text else memory.address)).astype(np.uint64))
        state.vgpr[12, :32] = new
        state.sgpr[8:12] = [memory.address & 0xFFFFFFFF, memory.address >> 32, 128, 0x31014000]
        after = snippets.run(index, state)
        np.testing.assert_array_equal(memory.view().view(np.uint32), np.where(old < new, 0, old - new), err_msg=text)
        np.testing.assert_array_equal(after.vgpr[12 if "buffer" in text else 4, :32], old)


def test_the_digits_of_two_over_pi() -> None:
    assert math.ldexp(two_over_pi(60), -60) == pytest.approx(2 / math.pi, rel=1e-15)
