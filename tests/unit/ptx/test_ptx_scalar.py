"""Scalar PTX functions against models written from the PTX ISA with Python's unbounded integers and exact fractions.

The functions are the same C++ on host and device, so they are compiled for the host and called through ctypes.
"""

from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from ptx_model import clamp, model_bfe, model_bfi, model_dot, model_fns, model_lop3, model_prmt, model_shf, signed, wrap

from hipport.core.files import include_root
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

_TYPES = {"u32": "unsigned", "s32": "int", "u64": "unsigned long long", "s64": "long long", "u16": "unsigned short",
          "s16": "short", "f32": "float", "f64": "double", "u8": "unsigned char", "s8": "signed char"}  # fmt: skip
_CTYPES = {"u32": ctypes.c_uint32, "s32": ctypes.c_int32, "u64": ctypes.c_uint64, "s64": ctypes.c_int64,
           "u16": ctypes.c_uint16, "s16": ctypes.c_int16, "f32": ctypes.c_float, "f64": ctypes.c_double}  # fmt: skip

# name -> (C++ expression of a, b, c, d; result type; types of a, b, c, d)
_FUNCTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {}


def declare(name: str, expression: str, result: str, *types: str) -> None:
    _FUNCTIONS[name] = (expression, result, types)


for _t in ("u32", "s32", "u64", "s64"):
    _T = _TYPES[_t]
    declare(f"bfe_{_t}", f"bfe<{_T}>(a, b, c)", _t, _t, "u32", "u32")
    declare(f"bfind_{_t}", f"bfind<{_T}>(a)", "u32", _t)
    declare(f"shiftamt_{_t}", f"bfind_shiftamt<{_T}>(a)", "u32", _t)
    declare(f"shr_{_t}", f"shr<{_T}>(a, b)", _t, _t, "u32")
    declare(f"mul_hi_{_t}", f"mul_hi<{_T}>(a, b)", _t, _t, _t)
    declare(f"mul_lo_{_t}", f"mul_lo<{_T}>(a, b)", _t, _t, _t)
    declare(f"sad_{_t}", f"sad<{_T}>(a, b, c)", _t, _t, _t, _t)
for _t in ("u32", "u64"):
    _T = _TYPES[_t]
    declare(f"bfi_{_t}", f"bfi<{_T}>(a, b, c, d)", _t, _t, _t, "u32", "u32")
    declare(f"shl_{_t}", f"shl<{_T}>(a, b)", _t, _t, "u32")
    declare(f"brev_{_t}", f"brev<{_T}>(a)", _t, _t)
    declare(f"clz_{_t}", f"clz<{_T}>(a)", "u32", _t)
    declare(f"popc_{_t}", f"popc<{_T}>(a)", "u32", _t)
    declare(
        f"chain_add_{_t}",
        f"[&]{{ unsigned k = 0; add_cc<{_T}>(a, b, k); return addc<{_T}>(c, d, k); }}()",
        _t,
        *[_t] * 4,
    )
    declare(
        f"chain_sub_{_t}",
        f"[&]{{ unsigned k = 0; sub_cc<{_T}>(a, b, k); return subc<{_T}>(c, d, k); }}()",
        _t,
        *[_t] * 4,
    )
    declare(
        f"carry_of_addc_{_t}", f"[&]{{ unsigned k = c & 1; addc_cc<{_T}>(a, b, k); return k; }}()", "u32", _t, _t, "u32"
    )
    declare(
        f"borrow_of_subc_{_t}",
        f"[&]{{ unsigned k = c & 1; subc_cc<{_T}>(a, b, k); return k; }}()",
        "u32",
        _t,
        _t,
        "u32",
    )
declare("mul_hi_u16", "mul_hi<unsigned short>(a, b)", "u16", "u16", "u16")
declare("mul_hi_s16", "mul_hi<short>(a, b)", "s16", "s16", "s16")
declare("mul_lo_u16", "mul_lo<unsigned short>(a, b)", "u16", "u16", "u16")
declare("mad_wide_s32", "mad_wide<int>(a, b, c)", "s64", "s32", "s32", "s64")
declare("add_sat", "add_sat<int>(a, b)", "s32", "s32", "s32")
declare("sub_sat", "sub_sat<int>(a, b)", "s32", "s32", "s32")
declare("mad_hi_sat", "mad_hi_sat<int>(a, b, c)", "s32", "s32", "s32", "s32")
declare("mul24_hi", "mul24_hi<int>(a, b)", "s32", "s32", "s32")
declare("mul24_lo", "mul24_lo<unsigned>(a, b)", "u32", "u32", "u32")
for _mode in ("", "_f4e", "_b4e", "_rc8", "_ecl", "_ecr", "_rc16"):
    declare(f"prmt{_mode}", f"prmt{_mode}(a, b, c)", "u32", "u32", "u32", "u32")
for _side in "lr":
    for _mode in ("clamp", "wrap"):
        declare(f"shf_{_side}_{_mode}", f"shf_{_side}_{_mode}(a, b, c)", "u32", "u32", "u32", "u32")
for _table in (0x00, 0x01, 0x1B, 0x80, 0x96, 0xCA, 0xEA, 0xFE, 0xFF):
    declare(f"lop3_{_table}", f"lop3<{_table}>(a, b, c)", "u32", "u32", "u32", "u32")
for _a in ("false", "true"):
    for _b in ("false", "true"):
        declare(f"dp4a_{_a}_{_b}", f"dp4a<{_a}, {_b}>(a, b, c)", "u32", "u32", "u32", "u32")
        declare(f"dp2a_lo_{_a}_{_b}", f"dp2a_lo<{_a}, {_b}>(a, b, c)", "u32", "u32", "u32", "u32")
        declare(f"dp2a_hi_{_a}_{_b}", f"dp2a_hi<{_a}, {_b}>(a, b, c)", "u32", "u32", "u32", "u32")
declare("bmsk_clamp", "bmsk_clamp(a, b)", "u32", "u32", "u32")
declare("bmsk_wrap", "bmsk_wrap(a, b)", "u32", "u32", "u32")
declare("szext_clamp", "szext_clamp<int>(a, b)", "s32", "s32", "u32")
declare("fns", "fns(a, b, c)", "u32", "u32", "u32", "s32")
for _mode in ("rn", "rz", "rm", "rp"):
    for _op, _n in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3), ("sqrt", 1)):
        declare(f"{_op}_{_mode}", f"{_op}_{_mode}({', '.join('abc'[:_n])})", "f32", *["f32"] * _n)
    declare(f"cvt_{_mode}_f32_s64", f"cvt_{_mode}_f32<long long>(a)", "f32", "s64")
    declare(f"cvt_{_mode}_f32_u32", f"cvt_{_mode}_f32<unsigned>(a)", "f32", "u32")
    declare(f"cvt_{_mode}_f64_u64", f"cvt_{_mode}_f64<unsigned long long>(a)", "f64", "u64")
    declare(f"cvt_{_mode}_f32_f64", f"cvt_{_mode}_f32(a)", "f32", "f64")
    for _t in ("s32", "u32", "s64", "u64"):
        _i = {"rn": "rni", "rz": "rzi", "rm": "rmi", "rp": "rpi"}[_mode]
        declare(f"cvt_{_i}_{_t}_f32", f"cvt_{_i}<{_TYPES[_t]}>(a)", _t, "f32")
        declare(f"cvt_{_i}_{_t}_f64", f"cvt_{_i}<{_TYPES[_t]}>(a)", _t, "f64")
for _to in ("u8", "s8", "u16", "s16", "u32", "s32"):
    for _from in ("s32", "u32", "s64", "u64"):
        declare(
            f"sat_{_to}_{_from}",
            f"cvt_sat<{_TYPES[_to]}, {_TYPES[_from]}>(a)",
            "s64" if _to[0] == "s" else "u64",
            _from,
        )
declare("pack_u8", "cvt_pack_sat<8, false>(a, b, c)", "u32", "s32", "s32", "u32")
declare("pack_s8", "cvt_pack_sat<8, true>(a, b, c)", "u32", "s32", "s32", "u32")
declare("pack_s4", "cvt_pack_sat<4, true>(a, b, c)", "u32", "s32", "s32", "u32")
declare("fma_bf16", "fma_bf16(a, b, c)", "u16", "u16", "u16", "u16")
declare("fma_f16", "fma_f16(a, b, c)", "u16", "u16", "u16", "u16")
declare("add_bf16", "add_bf16(a, b)", "u16", "u16", "u16")
declare("mul_f16", "mul_f16(a, b)", "u16", "u16", "u16")
declare("tf32_rna", "cvt_rna_tf32(a)", "u32", "f32")
declare("tf32_rn", "cvt_rn_tf32(a)", "u32", "f32")


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., int | float]:
    sdk = find_sdk()
    folder = tmp_path_factory.mktemp("ptx")
    lines = ["#include <hipport/ptx_float.h>", "using namespace hipport; using namespace hipport::ptx;"]
    for name, (expression, result, types) in _FUNCTIONS.items():
        parameters = ", ".join(f"{_TYPES[t]} {p}" for t, p in zip(types, "abcd", strict=False))
        lines.append(
            f'extern "C" {_TYPES[result]} t_{name}({parameters}) {{ return ptx::{expression}; }}'.replace(
                "ptx::[&]", "[&]"
            )
        )
    source, compiled, shared = folder / "scalar.hip", folder / "scalar.o", folder / "scalar.so"
    source.write_text("\n".join(lines))
    for command in (
        [sdk.clang, *sdk.host_flags(), f"-I{include_root()}", "-O1", "-c", source, "-o", compiled],
        [sdk.clang, "-shared", compiled, "-o", shared],
    ):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(shared))

    def run(name: str, *arguments: float) -> int | float:
        _, result, types = _FUNCTIONS[name]
        function = getattr(library, f"t_{name}")
        function.restype = _CTYPES[result]
        function.argtypes = [_CTYPES[t] for t in types]
        value: int | float = function(*arguments)
        return value

    return run


def integers(rng: random.Random, kind: str, count: int) -> Iterator[int]:
    bits = int(kind[1:])
    special = [0, 1, 2, -1, -2, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x0F0F0F0F, 3 << (bits - 2)]
    for i in range(count):
        value = (
            rng.choice(special) if i % 4 == 0 else rng.getrandbits(bits) >> (rng.randrange(bits) if i % 3 == 0 else 0)
        )
        yield wrap(value, kind)


def test_bit_fields_and_shifts(call: Callable[..., int]) -> None:
    rng = random.Random(1)
    for kind in ("u32", "s32", "u64", "s64"):
        bits = int(kind[1:])
        for a in integers(rng, kind, 400):
            pos, n = (
                rng.choice((0, 1, 31, 32, 63, 64, 200, 255, 256, rng.randrange(70))),
                rng.choice((0, 1, 32, 64, 255, rng.randrange(70))),
            )
            assert call(f"bfe_{kind}", a, pos, n) == model_bfe(a, pos, n, kind), (kind, a, pos, n)
            amount = rng.choice((0, 31, 32, 63, 64, 2**31, rng.randrange(bits)))
            assert call(f"shr_{kind}", a, amount) == wrap(a >> min(amount, bits), kind)
            if kind[0] == "u":
                assert call(f"shl_{kind}", a, amount) == wrap(a << min(amount, bits), kind)
                b = rng.getrandbits(bits)
                assert call(f"bfi_{kind}", a, b, pos, n) == model_bfi(a, b, pos, n, bits), (a, b, pos, n)
                assert call(f"brev_{kind}", a) == int(f"{a:0{bits}b}"[::-1], 2)
                assert call(f"clz_{kind}", a) == bits - a.bit_length()
                assert call(f"popc_{kind}", a) == a.bit_count()
            magnitude = ~a if a < 0 else a
            found = magnitude.bit_length() - 1 if magnitude else 0xFFFFFFFF
            assert call(f"bfind_{kind}", a) == found
            assert call(f"shiftamt_{kind}", a) == (found if found == 0xFFFFFFFF else bits - 1 - found)
    for _ in range(300):
        a, b, c = rng.getrandbits(32), rng.getrandbits(32), rng.choice((0, 1, 31, 32, 33, 63, 64, rng.getrandbits(32)))
        for side in "lr":
            for mode in ("clamp", "wrap"):
                assert call(f"shf_{side}_{mode}", a, b, c) == model_shf(a, b, c, side, mode)
        ones = ((1 << min(b % 40, 32)) - 1) << min(c, 32)
        assert call("bmsk_clamp", c, b % 40) == ones & 0xFFFFFFFF
        assert call("bmsk_wrap", c, b) == ((1 << (b & 31)) - 1) << (c & 31) & 0xFFFFFFFF
        n = rng.choice((0, 1, 16, 31, 32, 40))
        assert call("szext_clamp", signed(a, 32), n) == (signed(a, 32) if n >= 32 else signed(a, n) if n else 0)


def test_permute_and_logic(call: Callable[..., int]) -> None:
    rng = random.Random(2)
    for i in range(3000):
        a, b, c = rng.getrandbits(32), rng.getrandbits(32), i * 23 & 0xFFFF | rng.getrandbits(16) << 16
        assert call("prmt", a, b, c) == model_prmt(a, b, c, "")
        for mode in ("_f4e", "_b4e", "_rc8", "_ecl", "_ecr", "_rc16"):
            assert call(f"prmt{mode}", a, b, c) == model_prmt(a, b, c, mode[1:]), mode
    for table in (0x00, 0x01, 0x1B, 0x80, 0x96, 0xCA, 0xEA, 0xFE, 0xFF):
        for _ in range(100):
            a, b, c = (rng.getrandbits(32) for _ in range(3))
            assert call(f"lop3_{table}", a, b, c) == model_lop3(a, b, c, table)


def test_integer_arithmetic(call: Callable[..., int]) -> None:
    rng = random.Random(3)
    for kind in ("u32", "s32", "u64", "s64"):
        bits = int(kind[1:])
        for a, b in zip(integers(rng, kind, 300), integers(rng, kind, 300), strict=True):
            c, d = rng.getrandbits(bits), rng.getrandbits(bits)
            assert call(f"mul_hi_{kind}", a, b) == wrap(a * b >> bits, kind)
            assert call(f"mul_lo_{kind}", a, b) == wrap(a * b, kind)
            assert call(f"sad_{kind}", a, b, wrap(c, kind)) == wrap(c + abs(a - b), kind)
            if kind[0] == "u":
                assert call(f"chain_add_{kind}", a, b, c, d) == wrap(((c << bits | a) + (d << bits | b)) >> bits, kind)
                assert call(f"chain_sub_{kind}", a, b, c, d) == wrap(((c << bits | a) - (d << bits | b)) >> bits, kind)
                assert call(f"carry_of_addc_{kind}", a, b, c) == (a + b + (c & 1)) >> bits
                assert call(f"borrow_of_subc_{kind}", a, b, c) == int(a - b - (c & 1) < 0)
    for a, b in zip(integers(rng, "s32", 400), integers(rng, "s32", 400), strict=True):
        c = rng.getrandbits(64)
        assert call("mad_wide_s32", a, b, signed(c, 64)) == signed(a * b + c, 64)
        assert call("add_sat", a, b) == clamp(a + b, "s32")
        assert call("sub_sat", a, b) == clamp(a - b, "s32")
        assert call("mad_hi_sat", a, b, signed(c, 32)) == clamp((a * b >> 32) + signed(c, 32), "s32")
        assert call("mul24_hi", a, b) == signed(signed(a, 24) * signed(b, 24) >> 16, 32)
        assert call("mul24_lo", a & 0xFFFFFFFF, b & 0xFFFFFFFF) == (a & 0xFFFFFF) * (b & 0xFFFFFF) & 0xFFFFFFFF
        assert call("mul_hi_u16", a & 0xFFFF, b & 0xFFFF) == (a & 0xFFFF) * (b & 0xFFFF) >> 16
        assert call("mul_lo_u16", a & 0xFFFF, b & 0xFFFF) == (a & 0xFFFF) * (b & 0xFFFF) & 0xFFFF
        assert call("mul_hi_s16", signed(a, 16), signed(b, 16)) == signed(a, 16) * signed(b, 16) >> 16


def test_dot_products(call: Callable[..., int]) -> None:
    rng = random.Random(4)
    for _ in range(200):
        a, b, c = (rng.getrandbits(32) for _ in range(3))
        for x in ("false", "true"):
            for y in ("false", "true"):
                signs = (x == "true", y == "true")
                assert call(f"dp4a_{x}_{y}", a, b, c) == model_dot(a, b, c, *signs, "4")
                assert call(f"dp2a_lo_{x}_{y}", a, b, c) == model_dot(a, b, c, *signs, "lo")
                assert call(f"dp2a_hi_{x}_{y}", a, b, c) == model_dot(a, b, c, *signs, "hi")


def test_find_nth_set(call: Callable[..., int]) -> None:
    rng = random.Random(5)
    for _ in range(500):
        mask, base, offset = rng.getrandbits(32) & rng.getrandbits(32), rng.randrange(32), rng.randrange(-6, 7)
        assert call("fns", mask, base, offset) == model_fns(mask, base, offset)


# -- floating point ----------------------------------------------------------------------------------------------------


def bits32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def float32(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def rounded(value: Fraction, mode: str, mantissa: int = 23, least: int = -126, most: int = 127) -> float:
    """``value`` rounded once to a binary format (IEEE 754, 4.3), as a Python float. Not for zero."""
    magnitude, negative = abs(value), value < 0
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, least)
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    ulp = Fraction(2) ** (exponent - mantissa)
    count, rest = divmod(magnitude, ulp)
    up = {"rn": 2 * rest > ulp or (2 * rest == ulp and count % 2 == 1), "rz": False, "rm": negative and rest > 0,
          "rp": not negative and rest > 0}[mode]  # fmt: skip
    result = (count + up) * ulp
    largest = (2 - Fraction(2) ** -mantissa) * Fraction(2) ** most
    if result > largest:
        to_infinity = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        return (
            math.copysign(math.inf, -1 if negative else 1) if to_infinity else float(-largest if negative else largest)
        )
    return float(-result if negative else result) if result else (-0.0 if negative else 0.0)


def reals(rng: random.Random, count: int) -> list[float]:
    found = []
    for i in range(count):
        bits = rng.getrandbits(32)
        if i % 3 == 0:  # near one, so that sums round and cancel
            bits = (bits & 0x807FFFFF) | (127 + rng.randrange(-3, 4)) << 23
        if i % 5 == 0:
            bits = (bits & 0x807FFFFF) | rng.choice((0, 1, 2, 253, 254)) << 23
        if i % 11 == 0:
            bits &= 0xFF800000
        value = float32(bits)
        if math.isfinite(value):
            found.append(value)
    return found


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f32_rounding_modes(call: Callable[..., float], mode: str) -> None:
    rng = random.Random(6)
    values = reals(rng, 1500)

    def check(name: str, exact: Fraction, zero: float, *arguments: float) -> None:
        expected = rounded(exact, mode) if exact else zero
        got = call(name, *arguments)
        assert bits32(got) == bits32(expected), (name, arguments, got, expected)

    for i in range(len(values) - 2):
        a, b, c = values[i : i + 3]
        if i % 17 == 0:
            b = -a
        x, y, z = Fraction(a), Fraction(b), Fraction(c)

        def zero_sum(p: float, q: float, p_is_zero: bool) -> float:
            if p_is_zero and math.copysign(1, p) == math.copysign(1, q):
                return p
            return -0.0 if mode == "rm" else 0.0

        check(f"add_{mode}", x + y, zero_sum(a, b, a == 0), a, b)
        check(f"sub_{mode}", x - y, zero_sum(a, -b, a == 0), a, b)
        check(f"mul_{mode}", x * y, math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b)), a, b)
        if b != 0:
            check(f"div_{mode}", x / y, math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b)), a, b)
        product_sign = math.copysign(1, a) * math.copysign(1, b)
        check(f"fma_{mode}", x * y + z, zero_sum(math.copysign(0.0, product_sign), c, x * y == 0), a, b, c)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_square_root(call: Callable[..., float], mode: str) -> None:
    rng = random.Random(7)
    for value in reals(rng, 600):
        x = Fraction(abs(value))
        got = call(f"sqrt_{mode}", abs(value))
        if x == 0:
            assert got == 0
            continue
        root, up = Fraction(got), Fraction(float32(bits32(got) + 1))
        down = Fraction(float32(bits32(got) - 1))
        if mode == "rn":
            assert (root + down) ** 2 / 4 <= x <= (root + up) ** 2 / 4
        elif mode == "rp":
            assert down**2 < x <= root**2
        else:
            assert root**2 <= x < up**2


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_conversions(call: Callable[..., float], mode: str) -> None:
    rng = random.Random(8)
    for kind in ("s64", "u32", "u64"):
        for value in integers(rng, kind, 300):
            if kind == "u64":
                expected = rounded(Fraction(value), mode, 52, -1022, 1023) if value else 0.0
                assert call(f"cvt_{mode}_f64_u64", value) == expected
            else:
                expected = rounded(Fraction(value), mode) if value else 0.0
                assert call(f"cvt_{mode}_f32_{kind}", value) == expected
    for _ in range(500):
        value = rng.choice((1, -1)) * rng.random() * 2.0 ** rng.randrange(-152, 130)
        assert bits32(call(f"cvt_{mode}_f32_f64", value)) == bits32(rounded(Fraction(value), mode))
    whole: dict[str, Callable[[Fraction], int]] = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}
    name = {"rn": "rni", "rz": "rzi", "rm": "rmi", "rp": "rpi"}[mode]
    for kind in ("s32", "u32", "s64", "u64"):
        for value in [
            *reals(rng, 200),
            0.5,
            1.5,
            2.5,
            -0.5,
            -1.5,
            2147483648.0,
            -2147483648.0,
            4294967296.0,
            2.0**63,
            2.0**64,
            1e30,
        ]:
            expected = clamp(whole[mode](Fraction(value)), kind)
            assert call(f"cvt_{name}_{kind}_f32", value) == expected, (kind, value)
            assert call(f"cvt_{name}_{kind}_f64", value) == expected, (kind, value)
        for value in (math.inf, -math.inf):
            assert call(f"cvt_{name}_{kind}_f32", value) == clamp(int(math.copysign(1 << 70, value)), kind)
        top = wrap(1 << (int(kind[1:]) - 1), kind)
        assert call(f"cvt_{name}_{kind}_f32", math.nan) == (top if kind.endswith("64") else 0)
        assert call(f"cvt_{name}_{kind}_f64", math.nan) == top


def test_saturation_and_packing(call: Callable[..., int]) -> None:
    rng = random.Random(9)
    for to in ("u8", "s8", "u16", "s16", "u32", "s32"):
        for source in ("s32", "u32", "s64", "u64"):
            for value in integers(rng, source, 120):
                assert call(f"sat_{to}_{source}", value) == clamp(value, to), (to, source, value)
    for _ in range(200):
        a, b, c = rng.randrange(-400, 400), rng.randrange(-400, 400), rng.getrandbits(32)
        for name, kind in (("pack_u8", "u8"), ("pack_s8", "s8"), ("pack_s4", "s4")):
            bits = int(kind[1:])
            mask = (1 << bits) - 1
            expected = (c << 2 * bits | (clamp(a, kind) & mask) << bits | clamp(b, kind) & mask) & 0xFFFFFFFF
            assert call(name, a, b, c) == expected


def half(bits: int) -> float:
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])


def test_half_precision(call: Callable[..., int]) -> None:
    rng = random.Random(10)

    def bf16(bits: int) -> float:
        return float32(bits << 16)

    for _ in range(3000):
        a, b, c = (rng.getrandbits(16) for _ in range(3))
        if rng.random() < 0.7:  # moderate exponents, so that products and sums meet
            a, b, c = ((v & 0x807F) | (127 + rng.randrange(-9, 9)) << 7 for v in (a, b, c))
        x, y, z = bf16(a), bf16(b), bf16(c)
        if all(map(math.isfinite, (x, y, z))):
            for name, exact, arguments in (
                ("fma_bf16", Fraction(x) * Fraction(y) + Fraction(z), (a, b, c)),
                ("add_bf16", Fraction(x) + Fraction(y), (a, b)),
            ):
                if exact:
                    assert call(name, *arguments) == bits32(rounded(exact, "rn", 7)) >> 16, (name, x, y, z)
    for _ in range(3000):
        a, b, c = (rng.getrandbits(16) for _ in range(3))
        x, y, z = half(a), half(b), half(c)
        if all(map(math.isfinite, (x, y, z))):
            for name, exact, arguments in (
                ("fma_f16", Fraction(x) * Fraction(y) + Fraction(z), (a, b, c)),
                ("mul_f16", Fraction(x) * Fraction(y), (a, b)),
            ):
                if exact:
                    expected = rounded(exact, "rn", 10, -14, 15)
                    bits = (
                        0x7C00 | (expected < 0) << 15
                        if math.isinf(expected)
                        else struct.unpack("<H", struct.pack("<e", expected))[0]
                    )
                    assert call(name, *arguments) == bits, (name, x, y, z)


def test_tf32(call: Callable[..., int]) -> None:
    rng = random.Random(11)
    for value in reals(rng, 800):
        if value == 0 or abs(value) > 3e38:
            continue
        assert call("tf32_rn", value) == bits32(rounded(Fraction(value), "rn", 10))
        magnitude = (bits32(abs(value)) + 0x1000) & 0xFFFFE000  # ties away: add half a unit, then cut
        assert call("tf32_rna", value) == magnitude | bits32(value) & 0x80000000
