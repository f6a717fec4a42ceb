"""Typed bit patterns and their arithmetic: exact rationals, rounded once. Shares nothing with the emulator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

# kind and width -> (exponent bits, mantissa bits)
# Rounding by width, as MODE counts it: 0 nearest even, 1 up, 2 down, 3 towards zero.
ROUNDING = {16: 0, 32: 0, 64: 0}
FORMATS = {("f", 16): (5, 10), ("f", 32): (8, 23), ("f", 64): (11, 52), ("bf", 16): (8, 7)}


@dataclass(slots=True)
class Bits:
    """A value of the pseudocode.

    Attributes:
        kind: ``u``, ``i``, ``b`` (raw), ``f``, ``bf``, ``fp`` (fp8 e4m3), ``bf`` of width 8 (bf8 e5m2).
        width: in bits.
        bits: pattern, 0 <= bits < 2**width.
        any_nan: mask of the bits of NaNs that came from arithmetic: any NaN is right there.
    """

    kind: str
    width: int
    bits: int
    any_nan: int = 0

    @property
    def is_float(self) -> bool:
        return (self.kind, self.width) in FORMATS

    @property
    def int(self) -> int:
        """Value of an integer or raw pattern."""
        if self.kind == "i" and self.bits >> (self.width - 1):
            return self.bits - (1 << self.width)
        return self.bits


def integer(kind: str, width: int, value: int) -> Bits:
    return Bits(kind, width, value & ((1 << width) - 1))


def classify(x: Bits) -> tuple[str, int, Fraction]:
    """(nan, inf, or finite; sign; magnitude)."""
    exponent_bits, mantissa_bits = FORMATS[x.kind, x.width]
    sign = x.bits >> (x.width - 1)
    exponent = x.bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = x.bits & ((1 << mantissa_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return ("nan" if mantissa else "inf"), sign, Fraction(0)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent:
        mantissa |= 1 << mantissa_bits
    shift = max(exponent, 1) - bias - mantissa_bits
    return "finite", sign, Fraction(mantissa << shift) if shift >= 0 else Fraction(mantissa, 1 << -shift)


def real(x: Bits) -> Fraction:
    """Signed value of a finite float."""
    _, sign, magnitude = classify(x)
    return -magnitude if sign else magnitude


def is_nan(x: Bits) -> bool:
    return x.is_float and classify(x)[0] == "nan"


def nan(kind: str, width: int, sign: int = 0, payload: int = 0) -> Bits:
    exponent_bits, mantissa_bits = FORMATS[kind, width]
    exponent = ((1 << exponent_bits) - 1) << mantissa_bits
    return Bits(kind, width, sign << (width - 1) | exponent | 1 << (mantissa_bits - 1) | payload, (1 << width) - 1)


def inf(kind: str, width: int, sign: int = 0) -> Bits:
    exponent_bits, mantissa_bits = FORMATS[kind, width]
    return Bits(kind, width, sign << (width - 1) | ((1 << exponent_bits) - 1) << mantissa_bits)


def rounded(kind: str, width: int, value: Fraction, zero_sign: int = 0, to_zero: bool = False) -> Bits:
    """As ROUNDING says (or toward zero); an exact zero takes ``zero_sign``."""
    mode = 3 if to_zero else ROUNDING[width]
    exponent_bits, mantissa_bits = FORMATS[kind, width]
    sign = int(value < 0) if value else zero_sign
    value = abs(value)
    bias = (1 << (exponent_bits - 1)) - 1
    if not value:
        return Bits(kind, width, sign << (width - 1))
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = value / Fraction(2) ** (exponent - mantissa_bits)
    mantissa = scaled.numerator // scaled.denominator if mode else round(scaled)
    away = mode == 1 + sign
    if away and mantissa != scaled:
        mantissa += 1
    if mantissa >> (mantissa_bits + 1):
        mantissa >>= 1
        exponent += 1
    if exponent > bias:
        if mode and not away:
            return Bits(kind, width, inf(kind, width, sign).bits - 1)
        return inf(kind, width, sign)
    field = exponent + bias if mantissa >> mantissa_bits else 0
    return Bits(kind, width, sign << (width - 1) | field << mantissa_bits | mantissa & ((1 << mantissa_bits) - 1))


def convert(x: Bits, kind: str, width: int, to_zero: bool = False) -> Bits:
    """Float to float; a NaN keeps sign and the top of its payload and becomes quiet."""
    if (x.kind, x.width) == (kind, width):
        return x
    state, sign, _ = classify(x)
    if state == "inf":
        return inf(kind, width, sign)
    if state == "nan":
        old, new = FORMATS[x.kind, x.width][1], FORMATS[kind, width][1]
        payload = x.bits & ((1 << old) - 1)
        payload = payload >> (old - new) if old > new else payload << (new - old)
        exponent = inf(kind, width, sign).bits
        # Widening keeps a signalling NaN signalling: the pseudocode asks isSignalNAN(64'F(x)).
        return Bits(
            kind, width, exponent | payload | (1 << (new - 1) if old > new else 0), ((1 << width) - 1) * bool(x.any_nan)
        )
    return rounded(kind, width, real(x), sign, to_zero)


def _zero_sign(width: int, a: int, b: int) -> int:
    """Sign of a sum that is 0: opposite zeros give -0 only when rounding down."""
    return a if a == b else int(ROUNDING[width] == 2)


def add(a: Bits, b: Bits, minus: bool = False) -> Bits:
    if minus:
        b = Bits(b.kind, b.width, b.bits ^ 1 << (b.width - 1))
    (sa, na, _), (sb, nb, _) = classify(a), classify(b)
    if "nan" in (sa, sb) or (sa == sb == "inf" and na != nb):
        return nan(a.kind, a.width)
    if sa == "inf":
        return a
    if sb == "inf":
        return b
    return rounded(a.kind, a.width, real(a) + real(b), _zero_sign(a.width, na, nb))


def multiply(a: Bits, b: Bits) -> Bits:
    (sa, na, ma), (sb, nb, mb) = classify(a), classify(b)
    if "nan" in (sa, sb) or (sa == "inf" and sb == "finite" and not mb) or (sb == "inf" and sa == "finite" and not ma):
        return nan(a.kind, a.width)
    if "inf" in (sa, sb):
        return inf(a.kind, a.width, na ^ nb)
    return rounded(a.kind, a.width, real(a) * real(b), na ^ nb)


def divide(a: Bits, b: Bits) -> Bits:
    (sa, na, ma), (sb, nb, mb) = classify(a), classify(b)
    if "nan" in (sa, sb) or sa == sb == "inf" or (sa == sb == "finite" and not ma and not mb):
        return nan(a.kind, a.width)
    if sa == "inf" or (sb == "finite" and not mb):
        return inf(a.kind, a.width, na ^ nb)
    if sb == "inf":
        return rounded(a.kind, a.width, Fraction(0), na ^ nb)
    return rounded(a.kind, a.width, real(a) / real(b), na ^ nb)


def fma(a: Bits, b: Bits, c: Bits) -> Bits:
    (sa, na, ma), (sb, nb, mb), (sc, nc, _) = classify(a), classify(b), classify(c)
    sign = na ^ nb
    if "nan" in (sa, sb, sc):
        return nan(a.kind, a.width)
    if "inf" in (sa, sb):
        zero = (sa == "finite" and not ma) or (sb == "finite" and not mb)
        if zero or (sc == "inf" and nc != sign):
            return nan(a.kind, a.width)
        return inf(a.kind, a.width, sign)
    if sc == "inf":
        return c
    return rounded(a.kind, a.width, real(a) * real(b) + real(c), _zero_sign(a.width, sign, nc))


def square_root(a: Bits) -> Bits:
    state, sign, magnitude = classify(a)
    if state == "nan" or (sign and (state == "inf" or magnitude)):
        return nan(a.kind, a.width)
    if state == "inf" or not magnitude:
        return a
    scale = 1 << 700  # the smallest root is 2^-537
    return rounded(a.kind, a.width, Fraction(math.isqrt(int(magnitude * scale * scale)) * 2 + 1, 2 * scale))


def as_float(a: Bits) -> float:
    """A python float; exact for every format here."""
    state, sign, _ = classify(a)
    if state == "nan":
        return math.nan
    if state == "inf":
        return -math.inf if sign else math.inf
    return math.copysign(float(real(a)), -1.0 if sign else 1.0)


def of_float(kind: str, width: int, value: float) -> Bits:
    if math.isnan(value):
        return nan(kind, width)
    if math.isinf(value):
        return inf(kind, width, int(value < 0))
    return rounded(kind, width, Fraction(value), int(math.copysign(1.0, value) < 0))


def small_float(bits: int, exponent_bits: int, mantissa_bits: int, fnuz: bool) -> Bits:
    """fp8/bf8 pattern to f32. OCP (fnuz False) or the gfx942 formats with one NaN (0x80) and a bias one larger."""
    sign, exponent = bits >> 7, bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    top = (1 << exponent_bits) - 1
    if fnuz:
        if bits == 0x80:
            return nan("f", 32)
    elif mantissa_bits == 2 and exponent == top:
        return nan("f", 32) if mantissa else inf("f", 32, sign)
    elif mantissa_bits == 3 and exponent == top and mantissa == 7:
        return nan("f", 32)
    bias = (1 << (exponent_bits - 1)) - (0 if fnuz else 1)
    if exponent:
        mantissa |= 1 << mantissa_bits
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - bias - mantissa_bits)
    return rounded("f", 32, -value if sign else value, sign)


def to_small_float(x: Bits, exponent_bits: int, mantissa_bits: int, fnuz: bool) -> int:
    """f32 to an fp8/bf8 pattern, nearest even, overflow not saturated: the nearest of all 256 values."""
    state, sign, magnitude = classify(x)
    top = {True: 0x80, False: 0x7F | sign << 7}[fnuz]
    if state == "nan":
        return top
    largest = Fraction({4: 240 if fnuz else 448, 5: 57344}[exponent_bits])
    overflow = 0x80 if fnuz else (0x7C if exponent_bits == 5 else 0x7F) | sign << 7
    if state == "inf":
        return overflow
    bias = (1 << (exponent_bits - 1)) - (0 if fnuz else 1)
    exponent = 1 - bias
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = round(magnitude / Fraction(2) ** (exponent - mantissa_bits))
    if units * Fraction(2) ** (exponent - mantissa_bits) > largest:
        return overflow
    if units >> (mantissa_bits + 1):
        units, exponent = units >> 1, exponent + 1
    if not units:
        return 0 if fnuz else sign << 7
    field = exponent + bias if units >> mantissa_bits else 0
    return sign << 7 | field << mantissa_bits | units & ((1 << mantissa_bits) - 1)
