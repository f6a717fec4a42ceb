"""PTX arithmetic in kernels against the model of the PTX ISA: lowered, compiled for a target, run on the emulator.

Every instruction gets 512 random operand sets with many special values.
"""

from __future__ import annotations

import functools
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ptx_model import FORMATS, NAN, SMALL, evaluate, model_lop3, wrap

from hipport.core import Span
from hipport.core.files import include_root
from hipport.emulator import Device
from hipport.rewrite.transforms.ptx_lower import lower_asm
from hipport.sdk import find_sdk
from hipport.syntax.ptx_asm import AsmStatement, Constraint

pytestmark = pytest.mark.sdk

CASES = 512
LETTER = {8: "r", 16: "h", 32: "r", 64: "l"}
CPP = {"r": "unsigned", "l": "unsigned long long", "h": "unsigned short", "f": "float", "d": "double"}
READ = {"r": "unsigned({})", "l": "{}", "h": "static_cast<unsigned short>({})",
        "f": "__uint_as_float(unsigned({}))", "d": "__longlong_as_double({})"}  # fmt: skip
WRITE = {"r": "{}", "l": "{}", "h": "{}", "f": "__float_as_uint({})", "d": "__double_as_longlong({})"}


def letter(kind: str) -> str:
    """Constraint of an operand of a PTX type."""
    if kind in ("f32", "f64"):
        return {"f32": "f", "f64": "d"}[kind]
    if kind in ("f16", "bf16"):
        return "h"
    if kind == "f32x2":
        return "l"
    return "r" if kind.endswith(("x2", "x4")) else LETTER[int(kind[1:])]


@dataclass(frozen=True)
class Case:
    """One instruction: destination and sources by PTX type; `tail` is an immediate after them."""

    name: str
    result: str
    sources: tuple[str, ...]
    tail: str = ""

    def ptx(self) -> str:
        if self.name in CHAINS:
            return f"{{ .reg .u32 x, y; {self.name} mov.b64 %0, {{x, y}}; }}"
        operands = ", ".join(f"%{i}" for i in range(len(self.sources) + 1))
        if self.result == "b8":  # no asm operand has 8 bits
            return f"{{ .reg .b8 x; {self.name} x, {operands[4:]}; mov.b16 %0, {{x, x}}; }}"
        if self.sources == ("b8",):
            return f"{{ .reg .b8 x, y; mov.b16 {{x, y}}, %1; {self.name} %0, x; }}"
        return f"{self.name} {operands}{self.tail};"

    def letters(self) -> tuple[str, ...]:
        return tuple("h" if kind == "b8" else letter(kind) for kind in (self.result, *self.sources))


def integer_cases() -> Iterator[Case]:
    wide = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
    for kind in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for op in ("add", "sub", "min", "max", "mul.lo", "mul.hi", "div", "rem"):
            yield Case(f"{op}.{kind}", kind, (kind, kind))
        for op in ("mad.lo", "mad.hi", "sad"):
            yield Case(f"{op}.{kind}", kind, (kind,) * 3)
        if kind in wide:
            yield Case(f"mul.wide.{kind}", wide[kind], (kind, kind))
            yield Case(f"mad.wide.{kind}", wide[kind], (kind, kind, wide[kind]))
        yield Case(f"shr.{kind}", kind, (kind, "u32"))
        if kind[0] == "s":
            yield Case(f"abs.{kind}", kind, (kind,))
            yield Case(f"neg.{kind}", kind, (kind,))
        if int(kind[1:]) >= 32:
            yield Case(f"bfe.{kind}", kind, (kind, "u32", "u32"))
            yield Case(f"bfind.{kind}", "u32", (kind,))
            yield Case(f"bfind.shiftamt.{kind}", "u32", (kind,))
    for bits in ("b16", "b32", "b64"):
        yield Case(f"shl.{bits}", bits, (bits, "u32"))
        yield Case(f"not.{bits}", bits, (bits,))
        yield Case(f"cnot.{bits}", bits, (bits,))
        for op in ("and", "or", "xor"):
            yield Case(f"{op}.{bits}", bits, (bits, bits))
    for bits in ("b32", "b64"):
        yield Case(f"popc.{bits}", "u32", (bits,))
        yield Case(f"clz.{bits}", "u32", (bits,))
        yield Case(f"brev.{bits}", bits, (bits,))
        yield Case(f"bfi.{bits}", bits, (bits, bits, "u32", "u32"))
    for op in ("add.sat", "sub.sat", "min.relu", "max.relu"):
        yield Case(f"{op}.s32", "s32", ("s32", "s32"))
    yield Case("mad.hi.sat.s32", "s32", ("s32",) * 3)
    for kind in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield Case(f"mul24.{half}.{kind}", kind, (kind, kind))
            yield Case(f"mad24.{half}.{kind}", kind, (kind,) * 3)
        for mode in ("clamp", "wrap"):
            yield Case(f"szext.{mode}.{kind}", kind, ("u32", "u32"))
        for other in ("u32", "s32"):
            yield Case(f"dp4a.{kind}.{other}", "u32", ("u32",) * 3)
            yield Case(f"dp2a.lo.{kind}.{other}", "u32", ("u32",) * 3)
            yield Case(f"dp2a.hi.{kind}.{other}", "u32", ("u32",) * 3)
    for kind in ("u16x2", "s16x2", "u8x4", "s8x4"):
        for op in ("add", "sub", "add.sat", "sub.sat"):
            yield Case(f"{op}.{kind}", kind, (kind, kind))
        for op in ("min", "max"):
            if kind.endswith("x2"):
                yield Case(f"{op}.{kind}", kind, (kind, kind))
    for mode in ("clamp", "wrap"):
        yield Case(f"bmsk.{mode}.b32", "u32", ("u32", "u32"))
        for side in "lr":
            yield Case(f"shf.{side}.{mode}.b32", "u32", ("u32",) * 3)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Case(f"prmt.b32{mode}", "u32", ("u32",) * 3)
    for table in (0x00, 0x01, 0x1B, 0x2C, 0x3A, 0x78, 0x80, 0x96, 0xB8, 0xCA, 0xE8, 0xEA, 0xF8, 0xFE, 0xFF):
        yield Case("lop3.b32", "u32", ("u32",) * 3, f", {table}")


def real_cases() -> Iterator[Case]:
    for kind in ("f32", "f64"):
        for mode in ("rn", "rz", "rm", "rp"):
            for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
                yield Case(f"{op}.{mode}.{kind}", kind, (kind,) * n)
        for op, n in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield Case(f"{op}.rn.{kind}", kind, (kind,) * n)
        for op in ("min", "max"):
            yield Case(f"{op}.{kind}", kind, (kind, kind))
        yield Case(f"abs.{kind}", kind, (kind,))
        yield Case(f"neg.{kind}", kind, (kind,))
        yield Case(f"copysign.{kind}", kind, (kind, kind))
    for mode in ("rz", "rm", "rp"):
        for op, n in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield Case(f"{op}.{mode}.f32", "f32", ("f32",) * n)
    for words in ("rn.ftz", "rn.sat", "rz.ftz.sat"):
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            yield Case(f"{op}.{words}.f32", "f32", ("f32",) * n)
    for narrow in ("f16", "bf16"):
        for words in ("rn", "rz", "rp.sat"):
            for op, n in (("add", 1), ("sub", 1), ("fma", 2)):
                yield Case(f"{op}.{words}.f32.{narrow}", "f32", (narrow,) * n + ("f32",))
    for words in ("rn", "rz", "rm.ftz"):
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            yield Case(f"{op}.{words}.f32x2", "f32x2", ("f32x2",) * n)
    for op in ("min", "max"):
        for words in ("ftz", "NaN", "ftz.NaN", "xorsign.abs", "NaN.xorsign.abs"):
            yield Case(f"{op}.{words}.f32", "f32", ("f32", "f32"))
        for words in ("", ".NaN", ".abs", ".ftz.NaN.abs"):
            yield Case(f"{op}{words}.f32", "f32", ("f32",) * 3)
        for kind in ("f16", "bf16", "f16x2", "bf16x2"):
            yield Case(f"{op}.{kind}", kind, (kind, kind))
            for words in ("NaN", "xorsign.abs", "NaN.xorsign.abs"):
                yield Case(f"{op}.{words}.{kind}", kind, (kind, kind))
    for kind in ("f16", "bf16", "f16x2", "bf16x2"):
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            yield Case(f"{op}.rn.{kind}", kind, (kind,) * n)
        yield Case(f"fma.rn.relu.{kind}", kind, (kind,) * 3)
        yield Case(f"abs.{kind}", kind, (kind,))
        yield Case(f"neg.{kind}", kind, (kind,))
        if kind.startswith("f"):
            for op, n in (("add", 2), ("mul", 2), ("fma", 3)):
                yield Case(f"{op}.rn.ftz.sat.{kind}", kind, (kind,) * n)
    for kind in ("s16", "u32", "s64", "f32", "f64"):
        names = ["eq", "ne", "lt", "le", "gt", "ge"]
        names += ["lo", "ls", "hi", "hs"] if kind[0] == "u" else []
        names += ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] if kind[0] == "f" else []
        for name in names:
            yield Case(f"set.{name}.u32.{kind}", "u32", (kind, kind))
        yield Case(f"set.le.f32.{kind}", "f32", (kind, kind))


def conversion_cases() -> Iterator[Case]:
    integers = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for to in integers:
        for source in ("u16", "s16", "u32", "s32", "u64", "s64"):
            yield Case(f"cvt.{to}.{source}", to, (source,))
            yield Case(f"cvt.sat.{to}.{source}", to, (source,))
        for mode in ("rni", "rzi", "rmi", "rpi"):
            for real in ("f32", "f64", "f16", "bf16"):
                yield Case(f"cvt.{mode}.{to}.{real}", to, (real,))
        yield Case(f"cvt.rzi.ftz.{to}.f32", to, ("f32",))
    for source in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for mode in ("rn", "rz", "rm", "rp"):
            yield Case(f"cvt.{mode}.f32.{source}", "f32", (source,))
            yield Case(f"cvt.{mode}.f64.{source}", "f64", (source,))
        yield Case(f"cvt.rn.f16.{source}", "f16", (source,))
        yield Case(f"cvt.rn.sat.f32.{source}", "f32", (source,))
    for mode in ("rn", "rz", "rm", "rp"):
        yield Case(f"cvt.{mode}.f32.f64", "f32", ("f64",))
        yield Case(f"cvt.{mode}.f16.f64", "f16", ("f64",))
        yield Case(f"cvt.{mode}.f16.f32", "f16", ("f32",))
        yield Case(f"cvt.{mode}i.f32.f32", "f32", ("f32",))
        yield Case(f"cvt.{mode}i.f64.f64", "f64", ("f64",))
    for to, source in (("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("f64", "f16")):
        yield Case(f"cvt.{to}.{source}", to, (source,))
    for words in ("sat", "ftz", "ftz.sat"):
        yield Case(f"cvt.{words}.f32.f32", "f32", ("f32",))
    for words in ("rn.ftz.f32.f64", "rn.sat.f32.f64"):
        yield Case(f"cvt.{words}", "f32", ("f64",))
    for to in ("f16", "bf16"):
        for mode in ("rn", "rz"):
            for words in ("", ".relu", ".satfinite", ".satfinite.relu"):
                yield Case(f"cvt.{mode}{words}.{to}.f32", to, ("f32",))
                yield Case(f"cvt.{mode}{words}.{to}x2.f32", f"{to}x2", ("f32", "f32"))
    for mode in ("rn", "rz", "rna"):
        for words in ("", ".satfinite") + ((".relu", ".satfinite.relu") if mode != "rna" else ()):
            yield Case(f"cvt.{mode}{words}.tf32.f32", "b32", ("f32",))
    for kind in SMALL:
        packed = "b8" if kind == "e2m1" else "b16"
        for relu in ("", ".relu"):
            yield Case(f"cvt.rn.satfinite{relu}.{kind}x2.f32", packed, ("f32", "f32"))
            yield Case(f"cvt.rn{relu}.f16x2.{kind}x2", "b32", (packed,))
            if kind in ("e4m3", "e5m2"):
                yield Case(f"cvt.rn.satfinite{relu}.{kind}x2.f16x2", packed, ("f16x2",))
    for mode in ("rz", "rp"):
        for words in ("", ".satfinite"):
            yield Case(f"cvt.{mode}{words}.ue8m0x2.f32", "b16", ("f32", "f32"))
            yield Case(f"cvt.{mode}{words}.ue8m0x2.bf16x2", "b16", ("bf16x2",))
    yield Case("cvt.rn.bf16x2.ue8m0x2", "b32", ("b16",))
    for kind in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield Case(f"cvt.pack.sat.{kind}.s32.b32", "b32", ("s32", "s32", "b32"))
    for kind in ("u16", "s16"):
        yield Case(f"cvt.pack.sat.{kind}.s32", "b32", ("s32", "s32"))


#: Instructions that pass a carry on: what they compute together from a, b, c, d.
CHAINS: dict[str, Callable[[int, int, int, int], int]] = {
    "add.cc.u32 x, %1, %2; addc.u32 y, %3, %4;": lambda a, b, c, d: a + (c << 32) + b + (d << 32),
    "sub.cc.s32 x, %1, %2; subc.s32 y, %3, %4;": lambda a, b, c, d: a + (c << 32) - b - (d << 32),
    "mad.lo.cc.u32 x, %1, %2, %3; madc.hi.u32 y, %1, %2, %4;": lambda a, b, c, d: a * b + c + (d << 32),
    "add.cc.u32 x, %1, %2; madc.lo.cc.u32 y, %3, %4, 0; addc.u32 x, 0, 0;": lambda a, b, c, d: (
        (c * d % (1 << 32) + (a + b >> 32)) >> 32 | (c * d + (a + b >> 32)) % (1 << 32) << 32
    ),
    "sub.cc.u32 x, %1, %2; subc.cc.u32 y, %3, %4; subc.u32 x, 0, 0;": lambda a, b, c, d: (
        (0xFFFFFFFF if a + (c << 32) < b + (d << 32) else 0) | (a + (c << 32) - b - (d << 32) >> 32) << 32
    ),
    ".reg .pred p, q; setp.lt.s32 p|q, %1, %2; selp.u32 x, %3, %4, p; selp.u32 y, %3, %4, q;": lambda a, b, c, d: (
        c | d << 32 if wrap(a, "s32") < wrap(b, "s32") else d | c << 32
    ),
    ".reg .pred p; setp.ge.u32 p, %1, %2; setp.lo.xor.u32 p, %3, %4, p; selp.u32 x, 1, 0, p; not.b32 y, x;": (
        lambda a, b, c, d: int((c < d) != (a >= b)) | (~int((c < d) != (a >= b)) & 0xFFFFFFFF) << 32
    ),
}


def chain_cases() -> Iterator[Case]:
    for program in CHAINS:
        yield Case(program, "u64", ("u32",) * 4)


GROUPS = {"integer": integer_cases, "real": real_cases, "conversion": conversion_cases, "chains": chain_cases}


def operand(rng: random.Random, kind: str) -> int:
    """A random register, often a special or a near value."""
    if kind in ("f16x2", "bf16x2", "f32x2"):
        return operand(rng, kind[:-2]) | operand(rng, kind[:-2]) << FORMATS[kind[:-2]].bits
    if kind in FORMATS:
        form = FORMATS[kind]
        bits = rng.getrandbits(form.bits)
        match rng.randrange(8):
            case 0:  # zeros, infinities, NaN, one, the largest, the smallest
                special = [0, form.infinity, form.infinity | 1, form.infinity - 1, 1, form.bias << form.mantissa]
                return rng.choice(special) | bits & form.sign
            case 1:  # subnormals and the smallest normals
                return bits & (form.sign | (1 << (form.mantissa + 1)) - 1)
            case 2 | 3:  # few digits: ties and exact results
                keep = form.sign | form.infinity
                return near_one(rng, bits, form.mantissa) & (keep | rng.getrandbits(3) << max(form.mantissa - 4, 0))
            case 4 | 5:
                return near_one(rng, bits, form.mantissa)
        return bits
    bits = 32 if kind.endswith(("x2", "x4")) else int(kind[1:])
    if rng.random() < 0.3:
        return rng.choice([0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 31, 32, 33, 63, 64]) & (
            (1 << bits) - 1
        )
    return rng.getrandbits(bits) >> (rng.randrange(bits) if rng.random() < 0.4 else 0)


def near_one(rng: random.Random, bits: int, mantissa: int) -> int:
    """Moderate exponents, so that sums round and cancel and integers come out."""
    form = next(f for f in FORMATS.values() if f.mantissa == mantissa)
    reach = min(form.bias - 1, rng.choice((3, 3, 12, 40)))
    return bits & ~form.infinity | (form.bias + rng.randrange(-reach, reach + 1)) << mantissa


@dataclass(frozen=True)
class Table:
    """Cases with their operands and what the model says."""

    cases: tuple[Case, ...]
    operands: np.ndarray  # case, source, number of the operand set
    expected: tuple[tuple[tuple[int, ...], ...], ...]


@functools.cache
def table(group: str) -> Table:
    cases = tuple(GROUPS[group]())
    operands = np.zeros((len(cases), 4, CASES), np.uint64)
    expected = []
    for number, case in enumerate(cases):
        rng = random.Random(case.name)
        results = []
        for i in range(CASES):
            args = [operand(rng, kind) for kind in case.sources]
            if case.name.startswith(("div.u", "div.s", "rem")) and (args[1] == 0 or args[0] >> 15):
                args[1] |= 1  # by zero, and the least integer by -1, PTX leaves open
                args[1] &= ~2
            operands[number, : len(args), i] = args
            results.append(model(case, args))
        expected.append(tuple(results))
    return Table(cases, operands, tuple(expected))


def model(case: Case, args: list[int]) -> tuple[int, ...]:
    """Expected parts of the result register, low ones first."""
    if case.name in CHAINS:
        return (CHAINS[case.name](*args) & 0xFFFFFFFFFFFFFFFF,)
    if case.name == "lop3.b32":
        return (model_lop3(*args, int(case.tail[2:])),)  # type: ignore[call-arg]
    found = evaluate(case.name, *args)
    return found if isinstance(found, tuple) else (found,)


def kernels(group: str) -> str:
    headers: set[str] = set()
    lines = []
    for number, case in enumerate(table(group).cases):
        letters = case.letters()
        operands = tuple(Constraint(f"={x}" if i == 0 else x, f"v{i}", 0) for i, x in enumerate(letters))
        lowered = lower_asm(AsmStatement(Span(0, 0), case.ptx(), True, True, operands, (), ()), in_kernel=True)
        headers.update(lowered.includes)
        loads = [f"{CPP[letters[0]]} v0 = 0;"]
        for i, x in enumerate(letters[1:]):
            loads.append(f"const unsigned long long x{i} = in[{i} * {CASES} + t];")
            loads.append(f"{CPP[x]} v{i + 1} = {READ[x].format(f'x{i}')};")
        result = WRITE[letters[0]].format("v0")
        lines.append(
            f'extern "C" __global__ void k{number}(const unsigned long long* in, unsigned long long* out) {{ '
            f"const int t = threadIdx.x; {' '.join(loads)} {lowered.text}; out[t] = {result}; }}"
        )
    return "\n".join([f"#include <{name}>" for name in sorted(headers)] + lines) + "\n"


def agrees(case: Case, got: int, expected: tuple[int, ...]) -> bool:
    if case.result == "b8":
        return got & 0xFF == expected[0] | expected[1] << 4
    if len(expected) == 2:
        width = {"l": 32, "r": 16, "h": 8}[letter(case.result)]
        form = FORMATS.get(case.result[:-2])
        mask = (1 << width) - 1
        return all(same(got >> (width * i) & mask, value, form) for i, value in enumerate(expected))
    kind = case.result
    if expected[0] == NAN and kind == "b32":
        return got & 0x7FFFFFFF > 0x7F800000
    if kind in FORMATS:
        return same(got, expected[0], FORMATS[kind])
    # A small integer fills its register with its sign or with zeros.
    bits = {"h": 16, "r": 32, "l": 64}[letter(kind)]
    return got == wrap(expected[0], kind if kind[0] in "us" and "x" not in kind else f"u{bits}") & ((1 << bits) - 1)


def same(got: int, expected: int, form: object) -> bool:
    """Equal bits; NaN of any payload where the model says NaN."""
    if expected != NAN:
        return got == expected
    return form is not None and got & (form.sign - 1) > form.infinity  # type: ignore[attr-defined]


@pytest.mark.parametrize("group", list(GROUPS))
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_arithmetic(target: str, group: str, tmp_path: Path) -> None:
    sdk = find_sdk()
    source, compiled = tmp_path / "ptx.hip", tmp_path / "ptx.co"
    source.write_text(kernels(group))
    command = [sdk.clang, *sdk.device_flags(target), f"-I{include_root()}", "-O1", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    module = Device(target).load(compiled)
    wrong = []
    everything = table(group)
    for number, case in enumerate(everything.cases):
        out = np.zeros(CASES, np.uint64)
        module.launch(f"k{number}", grid=1, block=CASES, args=[everything.operands[number], out])
        for i, expected in enumerate(everything.expected[number]):
            if not agrees(case, int(out[i]), expected):
                args = [hex(int(x)) for x in everything.operands[number, : len(case.sources), i]]
                want = [hex(x) if x != NAN else "NaN" for x in expected]
                wrong.append(f"{case.ptx()} {args}: got {int(out[i]):#x}, want {want}")
                break
    assert not wrong, f"{len(wrong)} of {len(everything.cases)} instructions:\n" + "\n".join(wrong[:60])
