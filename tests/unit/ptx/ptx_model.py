"""A model of PTX arithmetic written from the text of the PTX ISA, with Python's unbounded integers and exact fractions.

`evaluate("add.rz.ftz.f32", bits, bits)` gives the bits of the result. Registers are bits; a NaN result is `NAN`, whose
payload PTX leaves open, except where a format has one NaN only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

#: Result that is not a number.
NAN = -1


# -- integers ----------------------------------------------------------------------------------------------------------


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


def clamp(value: int, kind: str) -> int:
    bits = int(kind[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, value))


def model_bfe(a: int, position: int, length: int, kind: str) -> int:
    """PTX ISA 9.7.1.19, the pseudocode bit by bit."""
    bits = int(kind[1:])
    raw, pos, n = a & ((1 << bits) - 1), position & 0xFF, length & 0xFF
    sign = 0 if kind[0] == "u" or n == 0 else (raw >> min(pos + n - 1, bits - 1)) & 1
    result = 0
    for i in range(bits):
        bit = (raw >> (pos + i)) & 1 if i < n and pos + i < bits else sign
        result |= bit << i
    return wrap(result, kind)


def model_bfi(a: int, b: int, position: int, length: int, bits: int) -> int:
    """PTX ISA 9.7.1.20: the low bits of a over b."""
    result, pos, n = b, position & 0xFF, length & 0xFF
    for i in range(n):
        if pos + i < bits:
            result = result & ~(1 << (pos + i)) | ((a >> i) & 1 if i < bits else 0) << (pos + i)
    return result


def model_prmt(a: int, b: int, selector: int, mode: str) -> int:
    """PTX ISA 9.7.8.7, with the tables of the modes."""
    table = {
        "f4e": [(3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)],
        "b4e": [(5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)],
        "rc8": [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)],
        "ecl": [(3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)],
        "ecr": [(0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)],
        "rc16": [(1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)],
    }
    data = [(a >> (8 * i)) & 0xFF for i in range(4)] + [(b >> (8 * i)) & 0xFF for i in range(4)]
    result = 0
    for i in range(4):
        nibble = (selector >> (4 * i)) & 15 if not mode else table[mode][selector & 3][3 - i]
        byte = data[nibble & 7]
        if not mode and nibble & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << (8 * i)
    return result


def model_shf(a: int, b: int, c: int, side: str, mode: str) -> int:
    n = min(c, 32) if mode == "clamp" else c & 31
    both = b << 32 | a
    return (both << n >> 32 if side == "l" else both >> n) & 0xFFFFFFFF


def model_lop3(a: int, b: int, c: int, table: int) -> int:
    return sum(((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1)) & 1) << i for i in range(32))


def model_fns(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if mask >> (base & 31) & 1 else 0xFFFFFFFF
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in order if mask >> i & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def model_dot(a: int, b: int, c: int, a_signed: bool, b_signed: bool, form: str) -> int:
    """dp4a, and dp2a.lo and .hi, which multiply halves of a with bytes of b."""

    def part(word: int, i: int, bits: int, is_signed: bool) -> int:
        value = word >> (bits * i) & ((1 << bits) - 1)
        return signed(value, bits) if is_signed else value

    if form == "4":
        return c + sum(part(a, i, 8, a_signed) * part(b, i, 8, b_signed) for i in range(4)) & 0xFFFFFFFF
    first = 2 if form == "hi" else 0
    return c + sum(part(a, i, 16, a_signed) * part(b, i + first, 8, b_signed) for i in range(2)) & 0xFFFFFFFF


# -- floating point ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """A binary interchange format."""

    exponent: int
    mantissa: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.exponent + self.mantissa)


FORMATS = {"f64": Format(11, 52), "f32": Format(8, 23), "f16": Format(5, 10), "bf16": Format(8, 7),
           "e4m3": Format(4, 3), "e5m2": Format(5, 2), "e2m3": Format(2, 3), "e3m2": Format(3, 2),
           "e2m1": Format(2, 1)}  # fmt: skip
#: Small formats: largest finite magnitude and NaN (of positive sign; the 6- and 4-bit formats have none).
SMALL = {"e4m3": (0x7E, 0x7F), "e5m2": (0x7B, 0x7F), "e2m3": (0x1F, 0x1F), "e3m2": (0x1F, 0x1F), "e2m1": (7, 7)}

Number = tuple[int, Fraction | None]  # sign and magnitude; None is infinity


def decode(bits: int, form: Format) -> Number | None:
    """Sign and magnitude of an IEEE number; None for NaN."""
    sign, magnitude = bits >> (form.bits - 1) & 1, bits & (form.sign - 1)
    if magnitude >= form.infinity:
        return None if magnitude > form.infinity else (sign, None)
    return sign, finite(magnitude, form)


def finite(magnitude: int, form: Format) -> Fraction:
    exponent, mantissa = magnitude >> form.mantissa, magnitude & ((1 << form.mantissa) - 1)
    if exponent:
        mantissa |= 1 << form.mantissa
    return mantissa * Fraction(2) ** (max(exponent, 1) - form.bias - form.mantissa)


def magnitude_of(value: Fraction, sign: int, form: Format, mode: str) -> int:
    """Bits of a non-negative value rounded once (IEEE 754, 4.3), exponents unbounded above; `rna`: ties away."""
    if not value:
        return 0
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length() - 1, 1 - form.bias)
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    count, rest = divmod(value, Fraction(2) ** (exponent - form.mantissa))
    half = Fraction(2) ** (exponent - form.mantissa) / 2
    away = {"rn": rest > half or (rest == half and count % 2 == 1), "rna": rest >= half, "rz": False,
            "rm": bool(sign and rest), "rp": bool(not sign and rest)}[mode]  # fmt: skip
    return ((exponent + form.bias - 1) << form.mantissa) + count + away


def encode(number: Number, form: Format, mode: str = "rn") -> int:
    sign, value = number
    magnitude = form.infinity if value is None else magnitude_of(value, sign, form, mode)
    if magnitude >= form.infinity and value is not None:
        to_infinity = mode in ("rn", "rna") or (mode == "rp" and not sign) or (mode == "rm" and sign)
        magnitude = form.infinity if to_infinity else form.infinity - 1
    return sign << (form.bits - 1) | magnitude


def flushed(bits: int, form: Format) -> int:
    """ftz: a subnormal becomes a zero of its sign."""
    return bits & form.sign if bits & form.infinity == 0 else bits


def real_sum(a: Number, b: Number, mode: str) -> Number | None:
    (s, x), (t, y) = a, b
    if x is None or y is None:
        return None if x is None and y is None and s != t else (s, None) if x is None else b
    total = (-x if s else x) + (-y if t else y)
    if total == 0:
        return (s if s == t else int(mode == "rm")), Fraction(0)
    return int(total < 0), abs(total)


def real_product(a: Number, b: Number) -> Number | None:
    (s, x), (t, y) = a, b
    if x is None or y is None:
        return None if x == 0 or y == 0 else (s ^ t, None)
    return s ^ t, x * y


def real_quotient(a: Number, b: Number) -> Number | None:
    (s, x), (t, y) = a, b
    if y is None:
        return None if x is None else (s ^ t, Fraction(0))
    if y == 0:
        return None if x == 0 else (s ^ t, None)
    return (s ^ t, None) if x is None else (s ^ t, x / y)


def arithmetic(op: str, words: list[str], kind: str, args: tuple[int, ...]) -> int:
    """add, sub, mul, fma, div, rcp, sqrt (PTX ISA 9.7.3 to 9.7.5)."""
    form, mode = FORMATS[kind], next((w for w in words if w in ("rn", "rz", "rm", "rp")), "rn")
    if "ftz" in words:
        args = tuple(flushed(x, form) for x in args)
    numbers = [decode(x, form) for x in args]
    result: Number | None = None
    if None not in numbers:
        a, *rest = [n for n in numbers if n is not None]
        match op:
            case "add":
                result = real_sum(a, rest[0], mode)
            case "sub":
                result = real_sum(a, (1 - rest[0][0], rest[0][1]), mode)
            case "mul":
                result = real_product(a, rest[0])
            case "fma":
                product = real_product(a, rest[0])
                result = None if product is None else real_sum(product, rest[1], mode)
            case "div":
                result = real_quotient(a, rest[0])
            case "rcp":
                result = real_quotient((0, Fraction(1)), a)
            case "sqrt":
                if a[1] == 0 or a == (0, None):
                    result = a
                elif not a[0]:
                    return root(a[1] or Fraction(0), form, mode)
    bits = NAN if result is None else encode(result, form, mode)
    return finished(bits, words, form)


def root(x: Fraction, form: Format, mode: str) -> int:
    scale = 2 * (form.mantissa + 8 + max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    whole = math.isqrt((x.numerator << scale) // x.denominator)
    value = Fraction(whole, 1 << (scale // 2))
    if value * value != x:  # never a tie: half a unit more makes no difference to rounding
        value += Fraction(1, 1 << (scale // 2 + 1))
    return encode((0, value), form, mode)


def finished(bits: int, words: list[str], form: Format) -> int:
    """ftz, sat and relu of a result."""
    if "ftz" in words and bits != NAN:
        bits = flushed(bits, form)
    if "sat" in words:
        if bits == NAN or bits & form.sign:
            return 0
        return min(bits, form.bias << form.mantissa)
    if "relu" in words and bits != NAN and bits & form.sign:
        return 0
    return bits


def smallest(op: str, words: list[str], kind: str, args: tuple[int, ...]) -> int:
    """min and max: a number wins over NaN but with `.NaN`; -0 is below +0."""
    form = FORMATS[kind]
    if "ftz" in words:
        args = tuple(flushed(x, form) for x in args)
    sign = 0
    if "xorsign" in words:
        sign = (args[0] ^ args[1]) & form.sign
    if "abs" in words:
        args = tuple(x & ~form.sign for x in args)
    numbers = [x for x in args if decode(x, form) is not None]
    if not numbers or ("NaN" in words and len(numbers) < len(args)):
        return NAN
    order: Callable[[int], int] = lambda x: -(x & ~form.sign) - 1 if x & form.sign else x  # noqa: E731
    found = min(numbers, key=order) if op == "min" else max(numbers, key=order)
    return found | sign


def to_integer(number: Number | None, kind: str, mode: str, wide: bool) -> int:
    """cvt to an integer: rounds, clamps; NaN gives 0, or only the top bit for 64 bits on either side."""
    bits = int(kind[1:])
    if number is None:
        return 1 << (bits - 1) if wide or bits == 64 else 0
    sign, value = number
    if value is None:
        return clamp(-(1 << 70) if sign else 1 << 70, kind) & ((1 << bits) - 1)
    return clamp(whole(-value if sign else value, mode), kind) & ((1 << bits) - 1)


def whole(value: Fraction, mode: str) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](value)


def small(bits: int, source: Format, kind: str, relu: bool) -> int:
    """To an 8-, 6- or 4-bit format, rounded to nearest, saturated."""
    form, (largest, nan) = FORMATS[kind], SMALL[kind]
    number = decode(bits, source)
    if number is None:
        return nan
    sign, value = number
    if relu and sign:
        return 0
    magnitude = largest if value is None else min(largest, magnitude_of(value, sign, form, "rn"))
    return sign * form.sign | magnitude


def widened(bits: int, kind: str) -> int:
    """fp16 bits of a small number."""
    form, (_, nan) = FORMATS[kind], SMALL[kind]
    magnitude = bits & (form.sign - 1)
    if kind == "e5m2":
        return 0x7FFF if magnitude > 0x7C else bits << 8
    if kind == "e4m3" and magnitude == nan:
        return 0x7FFF
    return encode((int(bool(bits & form.sign)), finite(magnitude, form)), FORMATS["f16"])


def ue8m0(bits: int, source: Format, mode: str, satfinite: bool) -> int:
    """Exponent of the power of two next to |x|, from 2^-127 (0x00) to 2^127 (0xfe); 0xff is NaN."""
    number = decode(bits, source)
    if number is None:
        return 0xFF
    value = number[1]
    if value is None:
        return 0xFE if satfinite else 0xFF
    exponent = -127
    while exponent < 128 and (
        Fraction(2) ** exponent < value if mode == "rp" else Fraction(2) ** (exponent + 1) <= value
    ):
        exponent += 1
    return min(exponent + 127, 0xFE if satfinite else 0xFF)


def convert(words: list[str], args: tuple[int, ...]) -> int:
    """cvt of one value (PTX ISA 9.7.9.21)."""
    kinds = [w for w in words if w in FORMATS or (w[0] in "us" and w[1:].isdigit())]
    to, source = kinds[0], kinds[-1]
    mode = next((w for w in words if w in ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")), "rn")
    (a,) = args
    if source not in FORMATS:
        value = wrap(a, source)
        if to not in FORMATS:
            return clamp(value, to) if "sat" in words else wrap(value, to)
        return finished(encode((int(value < 0), Fraction(abs(value))), FORMATS[to], mode), words, FORMATS[to])
    form = FORMATS[source]
    if "ftz" in words and source == "f32":
        a = flushed(a, form)
    number = decode(a, form)
    if to not in FORMATS:
        return (
            signed(to_integer(number, to, mode, source == "f64"), int(to[1:]))
            if to[0] == "s"
            else to_integer(number, to, mode, source == "f64")
        )
    if number is None:
        return finished(NAN, words, FORMATS[to])
    if mode.endswith("i") and number[1] is not None:
        rounded = whole(-number[1] if number[0] else number[1], mode)
        number = (number[0], Fraction(abs(rounded)))
        mode = "rn"
    bits = encode(number, FORMATS[to], mode if mode in ("rz", "rm", "rp") else "rn")
    if "satfinite" in words and bits & FORMATS[to].infinity == FORMATS[to].infinity:
        bits -= 1
    return finished(bits, [w for w in words if w != "ftz" or to == "f32"], FORMATS[to])


def tf32(a: int, words: list[str]) -> int:
    """f32 with 10 mantissa bits, the rest zero."""
    number = decode(a, FORMATS["f32"])
    if number is None:
        return NAN
    if "relu" in words and number[0]:
        return 0
    mode = next(w for w in words if w in ("rn", "rz", "rna"))
    bits = encode(number, Format(8, 10), mode) << 13
    return bits - (1 << 13) if "satfinite" in words and bits & 0x7FFFFFFF == 0x7F800000 else bits


RELATIONS: dict[str, Callable[[Fraction | int, Fraction | int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}  # fmt: skip


def compare(relation: str, kind: str, a: int, b: int) -> bool:
    """set and setp: without u, false where an operand is NaN; with it, true."""
    if kind not in FORMATS:
        return RELATIONS[relation](wrap(a, kind), wrap(b, kind))
    x, y = decode(a, FORMATS[kind]), decode(b, FORMATS[kind])
    if relation in ("num", "nan"):
        return (x is None or y is None) == (relation == "nan")
    if x is None or y is None:
        return relation.endswith("u")
    first, second = (
        (Fraction(2) ** 2000 if value is None else value) * (-1 if sign else 1) for sign, value in (x, y)
    )  # fmt: skip
    return RELATIONS[relation.removesuffix("u")](first, second)


def halves(function: Callable[..., int], args: tuple[int, ...], bits: int) -> tuple[int, int]:
    """Both halves of packed operands, the low one first."""
    mask = (1 << bits) - 1
    return function(*(a & mask for a in args)), function(*(a >> bits & mask for a in args))


def evaluate(name: str, *args: int) -> int | tuple[int, ...]:
    """Bits of the result of one instruction: of each half or byte, low ones first, for packed results."""
    op, *words = name.split(".")
    if op == "cvt":
        return _cvt(words, args)
    if op == "set":
        return _set(words, args)
    kind = words[-1] if words else ""
    if kind in ("f16", "bf16") and words[-2:-1] == ["f32"]:  # halves but for the last operand: they are f32 values
        numbers = [decode(x, FORMATS[kind]) for x in args[:-1]]
        if None in numbers:
            return finished(NAN, words, FORMATS["f32"])
        wide = [encode(x, FORMATS["f32"]) for x in numbers if x is not None]
        return arithmetic(op, words[:-1], "f32", (*wide, args[-1]))
    if kind in ("f16x2", "bf16x2", "f32x2"):
        scalar = ".".join((op, *words[:-1], kind[:-2]))
        return halves(lambda *parts: int(evaluate(scalar, *parts)), args, FORMATS[kind[:-2]].bits)  # type: ignore[arg-type, return-value]
    if kind in FORMATS:
        form = FORMATS[kind]
        if op in ("min", "max"):
            return smallest(op, words, kind, args)
        if op in ("abs", "neg"):
            (a,) = (flushed(x, form) if "ftz" in words else x for x in args)
            return NAN if decode(a, form) is None else a & ~form.sign if op == "abs" else a ^ form.sign
        if op == "copysign":
            return args[1] & ~form.sign | args[0] & form.sign
        return arithmetic(op, words, kind, args)
    return _integer(op, words, kind, args)


def _set(words: list[str], args: tuple[int, ...]) -> int:
    relation, to, kind = words
    true = 0x3F800000 if to == "f32" else 0xFFFFFFFF
    return true if compare(relation, kind, *args) else 0


def _cvt(words: list[str], args: tuple[int, ...]) -> int | tuple[int, ...]:
    relu, finite_only = "relu" in words, "satfinite" in words
    to = next((w for w in words if w.endswith("x2")), "")
    source = words[-1]
    if "pack" in words:
        bits = int(words[words.index("sat") + 1][1:])
        kind, mask = words[words.index("sat") + 1], (1 << bits) - 1
        a, b = (clamp(signed(x, 32), kind) & mask for x in args[:2])
        return (args[2] << 2 * bits if len(args) > 2 else 0) & 0xFFFFFFFF | a << bits | b
    if "tf32" in words:
        return tf32(args[0], words)
    if not to:
        return convert(words, args)
    if source == "f32":
        parts, form = (args[1], args[0]), FORMATS["f32"]
    elif source in ("f16x2", "bf16x2"):
        parts, form = (args[0] & 0xFFFF, args[0] >> 16 & 0xFFFF), FORMATS[source[:-2]]
    else:
        width = 4 if source == "e2m1x2" else 8
        low, high = args[0] & ((1 << width) - 1), args[0] >> width & ((1 << width) - 1)
        if source == "ue8m0x2":
            return tuple(0x7FFF if x == 0xFF else x << 7 if x else 0x40 for x in (low, high))
        wide = (widened(low, source[:-2]), widened(high, source[:-2]))
        return tuple(0 if relu and x & 0x8000 else x for x in wide)
    if to == "ue8m0x2":
        mode = "rp" if "rp" in words else "rz"
        return tuple(ue8m0(x, form, mode, finite_only) for x in parts)
    if to in ("f16x2", "bf16x2"):
        scalar = [w if w != to else to[:-2] for w in words]
        return tuple(convert(scalar, (x,)) for x in parts)
    return tuple(small(x, form, to[:-2], relu) for x in parts)


def _integer(op: str, words: list[str], kind: str, args: tuple[int, ...]) -> int:
    if kind.endswith(("16x2", "8x4")):
        scalar, count = kind[:-2], int(kind[-1])
        bits = 32 // count
        parts = [
            int(evaluate(".".join((op, *words[:-1], scalar)), *(a >> bits * i & ((1 << bits) - 1) for a in args)))  # type: ignore[arg-type]
            for i in range(count)
        ]
        return sum((part & ((1 << bits) - 1)) << bits * i for i, part in enumerate(parts))
    if op in ("dp4a", "dp2a"):
        form = "4" if op == "dp4a" else words[0]
        a_signed, b_signed = (w == "s32" for w in words[-2:])
        return model_dot(*args, a_signed, b_signed, form)  # type: ignore[call-arg]
    if op == "prmt":
        return model_prmt(*args, words[1] if len(words) > 1 else "")  # type: ignore[call-arg]
    if op == "lop3":
        return model_lop3(*args)  # type: ignore[call-arg]
    if op == "shf":
        return model_shf(*args, words[0], words[1])  # type: ignore[call-arg]
    bits = int(kind[1:])
    unsigned_kind = f"u{bits}"
    raw = [x & ((1 << bits) - 1) for x in args]
    a, b, c = ([wrap(x, kind if kind[0] in "us" else unsigned_kind) for x in args] + [0, 0])[:3]
    match op:
        case "add" | "sub":
            total = a + b if op == "add" else a - b
            return clamp(total, kind) if "sat" in words else total
        case "mul" | "mad":
            addend = wrap(args[2], f"{kind[0]}{2 * bits if 'wide' in words else bits}") if op == "mad" else 0
            product = a * b if "hi" not in words else a * b >> bits
            return clamp(product + addend, kind) if "sat" in words else product + addend
        case "mul24" | "mad24":
            a, b = ((signed(x, 24) if kind[0] == "s" else x & 0xFFFFFF) for x in (a, b))
            addend = c if op == "mad24" else 0
            return (a * b >> 16 if "hi" in words else a * b) + addend
        case "div":
            return math.trunc(Fraction(a, b))
        case "rem":
            return a - b * math.trunc(Fraction(a, b))
        case "sad":
            return c + abs(a - b)
        case "abs":
            return abs(a)
        case "neg":
            return -a
        case "min" | "max":
            found = min(a, b) if op == "min" else max(a, b)
            return max(found, 0) if "relu" in words else found
        case "and":
            return raw[0] & raw[1]
        case "or":
            return raw[0] | raw[1]
        case "xor":
            return raw[0] ^ raw[1]
        case "not":
            return ~raw[0]
        case "cnot":
            return int(raw[0] == 0)
        case "shl":
            return raw[0] << min(args[1] & 0xFFFFFFFF, bits)
        case "shr":
            return a >> min(args[1] & 0xFFFFFFFF, bits)
        case "popc":
            return raw[0].bit_count()
        case "clz":
            return bits - raw[0].bit_length()
        case "brev":
            return int(f"{raw[0]:0{bits}b}"[::-1], 2)
        case "bfind":
            magnitude = ~a if a < 0 else a
            found = magnitude.bit_length() - 1 if magnitude else 0xFFFFFFFF
            return bits - 1 - found if "shiftamt" in words and magnitude else found
        case "bfe":
            return model_bfe(a, args[1], args[2], kind)
        case "bfi":
            return model_bfi(raw[0], raw[1], args[2], args[3], bits)
        case "bmsk":
            position, length = raw
            if "wrap" in words:
                position, length = position & 31, length & 31
            return ((1 << min(length, 32)) - 1) << min(position, 32)
        case "szext":
            n = raw[1] & 31 if "wrap" in words else min(raw[1], 32)
            return (0 if n == 0 else wrap(raw[0], f"{kind[0]}{n}"))  # fmt: skip
    raise AssertionError(op)
