"""fp16, bfloat16, fp8, SIMD-word headers against models written from the specifications with exact fractions.

The headers' arithmetic is integer code that is the same on host and device, so it is compiled for the host into a
shared library and called through ctypes; `test_compiles` builds every header for every target.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from hipport.core import TARGETS, ToolchainError
from hipport.core.files import include_root
from hipport.sdk import Sdk, find_sdk

pytestmark = pytest.mark.sdk

WRAPPERS = r"""
#include <hip/hip_runtime.h>
#include <hipport/fp8.h>
#include <hipport/simd.h>
using namespace hipport;
#define BF16(T, n)                                                                                             \
  extern "C" unsigned short from_##n(T x, int mode) {                                                          \
    __hip_bfloat16 r[] = {__##n##2bfloat16_rn(x), __##n##2bfloat16_rz(x), __##n##2bfloat16_rd(x),                  \
                          __##n##2bfloat16_ru(x)};                                                                 \
    return detail::bits_of(r[mode]);                                                                           \
  }
BF16(float, float) BF16(long long, ll) BF16(unsigned long long, ull)
#define TO(T, n)                                                                                               \
  extern "C" T to_##n(unsigned short bits, int mode) {                                                         \
    __hip_bfloat16 h = detail::bf16_of_bits(bits);                                                             \
    T r[] = {__bfloat162##n##_rn(h), __bfloat162##n##_rz(h), __bfloat162##n##_rd(h), __bfloat162##n##_ru(h)};  \
    return r[mode];                                                                                            \
  }
TO(int, int) TO(unsigned short, ushort) TO(long long, ll)
extern "C" unsigned short double_to_half(double x) { return detail::bits_of(__double2half(x)); }
extern "C" unsigned short bf16_fma(unsigned short a, unsigned short b, unsigned short c) {
  return detail::bits_of(detail::fma_rn(detail::bf16_of_bits(a), detail::bf16_of_bits(b), detail::bf16_of_bits(c)));
}
extern "C" unsigned char double_to_fp8(double x, int s, int k) {
  return cvt_double_to_fp8(x, (fp8_saturation)s, (fp8_interpretation)k);
}
extern "C" unsigned char float_to_fp8(float x, int s, int k) {
  return cvt_float_to_fp8(x, (fp8_saturation)s, (fp8_interpretation)k);
}
extern "C" float fp8_to_float(unsigned char x, int k) { return detail::fp8_to_float(x, (fp8_interpretation)k); }
extern "C" unsigned bf16_eq_mask(unsigned a, unsigned b) {
  return __heq2_mask(detail::bf162_of(a), detail::bf162_of(b));
}
extern "C" unsigned half_max2_nan(unsigned a, unsigned b) {
  return detail::word_of(__hmax2_nan(detail::half2_of(a), detail::half2_of(b)));
}
#define S2(n) extern "C" unsigned s_##n(unsigned a, unsigned b) { return n(a, b); }
S2(vadd2) S2(vadd4) S2(vsubss2) S2(vsubus4) S2(vaddss4) S2(vaddus2) S2(vavgs2) S2(vavgu4) S2(vhaddu2) S2(vabsdiffs4)
S2(vabsdiffu2) S2(vmaxs4) S2(vminu2) S2(vcmpges2) S2(vcmpltu4) S2(vsetne2) S2(vsads4) S2(vsadu2)
extern "C" unsigned s_vabsss2(unsigned a) { return vabsss2(a); }
extern "C" unsigned s_vneg4(unsigned a) { return vneg4(a); }
extern "C" int s_dp4a(int a, int b, int c) { return dp4a(a, b, c); }
extern "C" int s_dp2a_hi(int a, int b, int c) { return dp2a_hi(a, b, c); }
"""

MODES = ("rn", "rz", "rd", "ru")


@pytest.fixture(scope="module")
def sdk() -> Sdk:
    try:
        return find_sdk()
    except ToolchainError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def library(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    folder = tmp_path_factory.mktemp("formats")
    source, compiled, shared = folder / "wrappers.hip", folder / "wrappers.o", folder / "wrappers.so"
    source.write_text(WRAPPERS)
    clang = str(sdk.clang)
    for command in (
        [clang, *sdk.host_flags(), "-I", str(include_root()), "-O1", "-c", str(source), "-o", str(compiled)],
        [clang, "-shared", str(compiled), "-o", str(shared)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(shared))


def round_to_format(value: Fraction, mantissa: int, exponents: int, bias: int, mode: str) -> int | None:
    """Magnitude bits of `value` rounded once (IEEE 754, 4.3); None when it overflows past the largest exponent."""
    magnitude, negative = abs(value), value < 0
    if magnitude == 0:
        return 0
    exponent = max(math.floor(math.log2(magnitude)) - 1, 1 - bias)
    while Fraction(2) ** (exponent + 1) <= magnitude:
        exponent += 1
    ulp = Fraction(2) ** (exponent - mantissa)
    count, rest = divmod(magnitude, ulp)
    up = {
        "rn": rest * 2 > ulp or (rest * 2 == ulp and count % 2 == 1),
        "rz": False,
        "rd": negative and rest > 0,
        "ru": not negative and rest > 0,
    }[mode]
    count += up
    if count == 0:
        return 0
    if count < 2**mantissa:  # subnormal: the exponent is at its least
        return int(count)
    if count == 2 ** (mantissa + 1):
        count, exponent = count // 2, exponent + 1
    field = exponent + bias
    return None if field >= 2**exponents else (field << mantissa) + int(count) - 2**mantissa


def ieee16(value: Fraction, mantissa: int, exponents: int, bias: int, mode: str) -> int:
    """Bits of a 16-bit IEEE format."""
    sign = 0x8000 if value < 0 else 0
    infinity = (2**exponents - 1) << mantissa
    bits = round_to_format(value, mantissa, exponents, bias, mode)
    if bits is None or bits >= infinity:
        away = mode == "rn" or (mode == "ru" and value > 0) or (mode == "rd" and value < 0)
        bits = infinity if away else infinity - 1
    return sign | bits


def bf16_value(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def interesting_floats(rng: random.Random, count: int) -> Iterator[float]:
    for i in range(count):
        bits = rng.getrandbits(32)
        if i % 3 == 0:  # ties and near-ties of an 8-bit significand
            bits = (bits & 0xFFFF0000) | rng.choice((0x8000, 0x7FFF, 0x8001, 0))
        if i % 7 == 0:  # subnormals and the largest exponents
            bits = (bits & 0x807FFFFF) | rng.choice((0, 0x7F000000, 0x00800000))
        value = struct.unpack("<f", struct.pack("<I", bits))[0]
        if math.isfinite(value):
            yield value


@pytest.mark.parametrize("mode", range(4), ids=MODES)
def test_float_to_bf16(library: ctypes.CDLL, mode: int) -> None:
    convert = library.from_float
    convert.argtypes, convert.restype = [ctypes.c_float, ctypes.c_int], ctypes.c_ushort
    for value in interesting_floats(random.Random(mode), 4000):
        if value != 0:
            assert convert(value, mode) == ieee16(Fraction(value), 7, 8, 127, MODES[mode]), value
    assert convert(math.inf, mode) == 0x7F80
    assert convert(math.nan, mode) == 0x7FFF
    assert convert(-0.0, mode) == 0x8000


@pytest.mark.parametrize("mode", range(4), ids=MODES)
def test_integers_to_bf16_round_once(library: ctypes.CDLL, mode: int) -> None:
    rng = random.Random(mode)
    for name, kind, low, high in (
        ("ll", ctypes.c_longlong, -(2**63), 2**63 - 1),
        ("ull", ctypes.c_ulonglong, 0, 2**64 - 1),
    ):
        convert = getattr(library, f"from_{name}")
        convert.argtypes, convert.restype = [kind, ctypes.c_int], ctypes.c_ushort
        cases = [low, high, 0, 1, 257, 2**24 + 1, 2**40 + 2**32, 2**40 + 2**32 + 1]
        cases += [rng.randint(low, high) >> rng.randrange(60) for _ in range(2000)]
        for value in cases:
            assert convert(value, mode) == ieee16(Fraction(value), 7, 8, 127, MODES[mode]), value


@pytest.mark.parametrize("mode", range(4), ids=MODES)
def test_bf16_to_integers_saturate(library: ctypes.CDLL, mode: int) -> None:
    nearest: dict[str, Callable[[float], int]] = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}
    kinds = (
        ("int", ctypes.c_int, -(2**31), 2**31 - 1),
        ("ushort", ctypes.c_ushort, 0, 65535),
        ("ll", ctypes.c_longlong, -(2**63), 2**63 - 1),
    )
    for name, kind, low, high in kinds:
        convert = getattr(library, f"to_{name}")
        convert.argtypes, convert.restype = [ctypes.c_ushort, ctypes.c_int], kind
        for bits in range(0, 65536, 7):
            value = bf16_value(bits)
            if math.isnan(value):  # PTX cvt: 0, for 64-bit results only the top bit
                expected = -(2**63) if name == "ll" else 0
            elif math.isinf(value):
                expected = high if value > 0 else low
            else:
                expected = min(max(nearest[MODES[mode]](value), low), high)
            assert convert(bits, mode) == expected, hex(bits)


def test_double_to_half_rounds_once(library: ctypes.CDLL) -> None:
    convert = library.double_to_half
    convert.argtypes, convert.restype = [ctypes.c_double], ctypes.c_ushort
    # 1 + 2^-11 + 2^-40 rounds up once, but through float it would become a tie and round down.
    assert convert(1 + 2**-11 + 2**-40) == 0x3C01
    rng = random.Random(5)
    for _ in range(3000):
        value = rng.choice((-1, 1)) * rng.randint(1, 2 ** rng.randint(1, 52)) * 2.0 ** rng.randint(-60, -20)
        assert convert(value) == ieee16(Fraction(value), 10, 5, 15, "rn"), value


def test_bf16_fma_rounds_once(library: ctypes.CDLL) -> None:
    fma = library.bf16_fma
    fma.argtypes, fma.restype = [ctypes.c_ushort] * 3, ctypes.c_ushort
    rng = random.Random(6)
    for _ in range(6000):
        a, b, c = ((rng.getrandbits(1) << 15) | (rng.randint(90, 160) << 7) | rng.getrandbits(7) for _ in range(3))
        exact = Fraction(bf16_value(a)) * Fraction(bf16_value(b)) + Fraction(bf16_value(c))
        if exact != 0:
            assert fma(a, b, c) == ieee16(exact, 7, 8, 127, "rn"), (hex(a), hex(b), hex(c))


def fp8_value(bits: int, e4m3: bool) -> float:
    """Meaning of an OCP fp8 byte (OFP8 1.0, table 1)."""
    mantissa_bits, bias = (3, 7) if e4m3 else (2, 15)
    sign = -1.0 if bits & 0x80 else 1.0
    field, mantissa = (bits & 0x7F) >> mantissa_bits, bits & (2**mantissa_bits - 1)
    if e4m3 and bits & 0x7F == 0x7F:
        return math.nan
    if not e4m3 and field == 31:
        return math.nan if mantissa else sign * math.inf
    if field == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / 2**mantissa_bits) * 2.0 ** (field - bias)


@pytest.mark.parametrize("kind", [0, 1], ids=["e4m3", "e5m2"])
def test_fp8_decodes_every_byte(library: ctypes.CDLL, kind: int) -> None:
    decode = library.fp8_to_float
    decode.argtypes, decode.restype = [ctypes.c_ubyte, ctypes.c_int], ctypes.c_float
    for bits in range(256):
        expected, got = fp8_value(bits, kind == 0), decode(bits, kind)
        assert (math.isnan(expected) and math.isnan(got)) or (
            got == expected and math.copysign(1, got) == math.copysign(1, expected)
        ), hex(bits)


@pytest.mark.parametrize("kind", [0, 1], ids=["e4m3", "e5m2"])
@pytest.mark.parametrize("saturate", [0, 1], ids=["nosat", "satfinite"])
def test_fp8_encodes_with_one_rounding(library: ctypes.CDLL, kind: int, saturate: int) -> None:
    encode = library.double_to_fp8
    encode.argtypes, encode.restype = [ctypes.c_double, ctypes.c_int, ctypes.c_int], ctypes.c_ubyte
    mantissa, exponents, bias, largest = ((3, 4, 7, 0x7E), (2, 5, 15, 0x7B))[kind]
    overflow = (largest if saturate else 0x7F) if kind == 0 else (largest if saturate else 0x7C)
    rng = random.Random(kind)
    finite = [fp8_value(b, kind == 0) for b in range(256) if math.isfinite(fp8_value(b, kind == 0))]
    ordered = sorted(set(finite))
    ties = [(x + y) / 2 for x, y in itertools.pairwise(ordered)]
    cases = ordered + ties + [t * (1 + 2**-40) for t in ties] + [rng.uniform(-600, 600) for _ in range(500)]
    cases += [448.0, 464.0, 464.0001, 480.0, 61439.0, 61440.0, 1e9, -1e9, 1e-9]
    for value in cases:
        bits = round_to_format(Fraction(value), mantissa, exponents, bias, "rn")
        if bits is None or bits > largest:
            bits = overflow
        sign = 0x80 if math.copysign(1, value) < 0 else 0
        assert encode(value, saturate, kind) == sign | bits, value
    assert encode(math.nan, saturate, kind) == 0x7F
    assert encode(-math.inf, saturate, kind) == 0x80 | overflow


def test_masks_and_extremes(library: ctypes.CDLL) -> None:
    assert library.bf16_eq_mask(0x80007FC0, 0x00007FC0) & 0xFFFFFFFF == 0xFFFF0000  # -0 == +0, NaN != NaN
    half_max = library.half_max2_nan
    half_max.restype = ctypes.c_uint
    assert half_max(0x3C007E00, 0x40003C00) == 0x40007FFF  # 1 vs 2; NaN wins
    assert half_max(0x80008000, 0x0000BC00) == 0x00008000  # +0 above -0; -0 above -1


def lanes(word: int, bits: int, signed: bool) -> list[int]:
    values = [(word >> at) & (2**bits - 1) for at in range(0, 32, bits)]
    return [v - 2**bits if signed and v >> (bits - 1) else v for v in values]


def clamp(value: int, bits: int, signed: bool) -> int:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return min(max(value, low), high)


SIMD: dict[str, tuple[int, bool, Callable[[int, int], int]]] = {
    "vadd2": (16, False, lambda x, y: x + y),
    "vadd4": (8, False, lambda x, y: x + y),
    "vsubss2": (16, True, lambda x, y: clamp(x - y, 16, True)),
    "vsubus4": (8, False, lambda x, y: clamp(x - y, 8, False)),
    "vaddss4": (8, True, lambda x, y: clamp(x + y, 8, True)),
    "vaddus2": (16, False, lambda x, y: clamp(x + y, 16, False)),
    "vavgs2": (16, True, lambda x, y: (x + y + (1 if x + y >= 0 else 0)) >> 1),
    "vavgu4": (8, False, lambda x, y: (x + y + 1) >> 1),
    "vhaddu2": (16, False, lambda x, y: (x + y) >> 1),
    "vabsdiffs4": (8, True, lambda x, y: abs(x - y)),
    "vabsdiffu2": (16, False, lambda x, y: abs(x - y)),
    "vmaxs4": (8, True, max),
    "vminu2": (16, False, min),
    "vcmpges2": (16, True, lambda x, y: -1 if x >= y else 0),
    "vcmpltu4": (8, False, lambda x, y: -1 if x < y else 0),
    "vsetne2": (16, False, lambda x, y: int(x != y)),
}


@pytest.mark.parametrize("name", SIMD)
def test_simd_words(library: ctypes.CDLL, name: str) -> None:
    bits, signed, operation = SIMD[name]
    function = getattr(library, f"s_{name}")
    function.argtypes, function.restype = [ctypes.c_uint] * 2, ctypes.c_uint
    rng = random.Random(name)
    edges = [0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x80008000, 0x7FFF7FFF, 0x00010001]
    for a in edges + [rng.getrandbits(32) for _ in range(50)]:
        for b in edges + [rng.getrandbits(32) for _ in range(20)]:
            pairs = zip(lanes(a, bits, signed), lanes(b, bits, signed), strict=True)
            expected = sum((operation(x, y) & (2**bits - 1)) << (i * bits) for i, (x, y) in enumerate(pairs))
            assert function(a, b) == expected, (hex(a), hex(b))


def test_simd_sums_and_dot_products(library: ctypes.CDLL) -> None:
    rng = random.Random(1)
    for name in ("vsads4", "vsadu2", "dp4a", "dp2a_hi", "vabsss2", "vneg4"):
        getattr(library, f"s_{name}").restype = ctypes.c_uint
    for _ in range(300):
        a, b, c = (rng.choice((rng.getrandbits(32), 0x80808080, 0x80008000)) for _ in range(3))
        sad = sum(abs(x - y) for x, y in zip(lanes(a, 8, True), lanes(b, 8, True), strict=True))
        assert library.s_vsads4(a, b) == sad
        assert library.s_vsadu2(a, b) == sum(
            abs(x - y) for x, y in zip(lanes(a, 16, False), lanes(b, 16, False), strict=True)
        )
        dot = sum(x * y for x, y in zip(lanes(a, 8, True), lanes(b, 8, True), strict=True)) + c
        assert library.s_dp4a(ctypes.c_int(a), ctypes.c_int(b), ctypes.c_int(c)) == dot & 0xFFFFFFFF
        dot2 = sum(x * y for x, y in zip(lanes(a, 16, True), lanes(b, 8, True)[2:], strict=True)) + c
        assert library.s_dp2a_hi(ctypes.c_int(a), ctypes.c_int(b), ctypes.c_int(c)) == dot2 & 0xFFFFFFFF
        assert library.s_vabsss2(a) == sum(
            clamp(abs(x), 16, True) << (16 * i) for i, x in enumerate(lanes(a, 16, True))
        )
        assert library.s_vneg4(a) == sum((-x & 0xFF) << (8 * i) for i, x in enumerate(lanes(a, 8, True)))


HEADERS = sorted(path.name for path in (include_root() / "hipport").glob("*.h"))


@pytest.mark.parametrize("target", TARGETS)
def test_headers_compile(sdk: Sdk, target: str, tmp_path: Path) -> None:
    """Each header alone first, then all together, in one unit per target."""
    assert {"half.h", "bf16.h", "fp8.h", "simd.h", "intrinsics.h", "rounding.h"} <= set(HEADERS)
    source = tmp_path / "headers.hip"
    source.write_text("".join(f"#include <hipport/{name}>\n" for name in HEADERS) + "__global__ void k() {}\n")
    command = [str(sdk.clang), *sdk.device_flags(target), f"-I{include_root()}", "-O1", "-Wall", "-Werror", str(source)]
    done = subprocess.run([*command, "-o", str(tmp_path / "o")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
