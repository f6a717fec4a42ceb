"""Video instructions, lowered and compiled for the host, against the pseudocode of PTX ISA 9.7.18 and 9.7.19."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hipport.core import Span
from hipport.core.files import include_root
from hipport.rewrite.transforms.ptx_context import Refusal
from hipport.rewrite.transforms.ptx_lower import lower_asm
from hipport.sdk import find_sdk
from hipport.syntax.ptx_asm import AsmStatement, Constraint

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_RANGE = {("b", "s32"): (-128, 127), ("b", "u32"): (0, 255), ("h", "s32"): (-32768, 32767), ("h", "u32"): (0, 65535),
          ("", "s32"): (-(1 << 31), (1 << 31) - 1), ("", "u32"): (0, (1 << 32) - 1)}  # fmt: skip


def extract(register: int, kind: str, selector: str) -> int:
    """partSelectSignExtend."""
    width = {"": 32, "b": 8, "h": 16}[selector[:1]]
    value = register >> (width * int(selector[1:] or 0)) & ((1 << width) - 1)
    return value - (1 << width) if kind == "s32" and value >> (width - 1) else value


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def typed(value: int, kind: str) -> int:
    return extract(value & 0xFFFFFFFF, kind, "")


def operate(name: str, a: int, b: int) -> int:
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "absdiff":
            return abs(a - b)
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "avrg":
            return (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1
    return int(_COMPARE[name](a, b))


@dataclass(frozen=True)
class Case:
    """One instruction: its PTX with d, a, b, c as registers, and its value for (a, b, c)."""

    ptx: str
    value: Callable[[int, int, int], int]


def scalar_cases(rng: random.Random) -> list[Case]:
    cases = []
    selectors = ["", "", "b0", "b1", "b2", "b3", "h0", "h1"]
    for number in range(240):
        name = rng.choice(["add", "sub", "absdiff", "min", "max", "set", "shl", "shr"])
        kinds = [rng.choice(["u32", "s32"]) for _ in range(3)]
        dsel, asel, bsel = rng.choice(selectors), rng.choice(selectors), rng.choice(selectors)
        second = rng.choice(["add", "min", "max", ""]) if not dsel or number % 2 else ""
        if second:
            dsel = ""
        saturate = rng.random() < 0.5 and name not in ("set", "shl")
        words, operation, mode = list(kinds), name, ""
        if name == "set":
            operation = rng.choice(list(_COMPARE))
            words, kinds = [*kinds[1:], operation], ["u32", *kinds[1:]]
        if name in ("shl", "shr"):
            kinds[2] = words[2] = "u32"
            mode = rng.choice(["clamp", "wrap"])
        dots = [*words, *(["sat"] if saturate else []), *([mode] if mode else []), *([second] if second else [])]

        def value(
            a: int, b: int, c: int, operation: str = operation, mode: str = mode, kinds: list[str] = kinds,
            sel: tuple[str, str, str] = (dsel, asel, bsel), saturate: bool = saturate, second: str = second,
        ) -> int:  # fmt: skip
            ta, tb = extract(a, kinds[1], sel[1]), extract(b, kinds[2], sel[2])
            if mode:
                tb = min(tb, 32) if mode == "clamp" else tb & 31
                result = ta << tb if operation == "shl" else ta >> tb
            else:
                result = operate(operation, ta, tb)
            if saturate:
                result = clamp(result, *_RANGE[sel[0][:1], kinds[0]])
            if second:
                return operate(second, typed(result, kinds[0]), typed(c, kinds[0])) & 0xFFFFFFFF
            if sel[0]:
                width = 8 if sel[0][0] == "b" else 16
                mask = ((1 << width) - 1) << (width * int(sel[0][1:]))
                return c & ~mask | (result << (width * int(sel[0][1:]))) & mask
            return result & 0xFFFFFFFF

        dot = [f".{s}" if s else "" for s in (dsel, asel, bsel)]
        third = ", c" if second or dsel else ""
        cases.append(Case(f"v{name}.{'.'.join(dots)} d{dot[0]}, a{dot[1]}, b{dot[2]}{third};", value))
    return cases


def mad_cases(rng: random.Random) -> list[Case]:
    cases = []
    selectors = ["", "b0", "b1", "b2", "b3", "h0", "h1"]
    for _ in range(80):
        kinds = [rng.choice(["u32", "s32"]) for _ in range(3)]
        asel, bsel, shift, saturate = (
            rng.choice(selectors), rng.choice(selectors), rng.choice([0, 7, 15]), rng.random() < 0.5
        )  # fmt: skip
        plus_one = rng.random() < 0.3
        product, addend = (False, False) if plus_one else rng.choice([(False, False), (True, False), (False, True)])

        def value(
            a: int, b: int, c: int, kinds: list[str] = kinds, sel: tuple[str, str] = (asel, bsel),
            shift: int = shift, saturate: bool = saturate, flags: tuple[bool, bool, bool] = (plus_one, product, addend),
        ) -> int:  # fmt: skip
            final = "s32" in kinds[1:] or flags[1] or flags[2]
            result = extract(a, kinds[1], sel[0]) * extract(b, kinds[2], sel[1])
            lsb = 0
            if flags[0]:
                lsb = 1
            elif flags[1]:
                result, lsb = ~result, 1
            elif flags[2]:
                c, lsb = ~c & 0xFFFFFFFF, 1
            result = (result + typed(c, "s32" if final else "u32") + lsb) >> shift
            if saturate:
                result = clamp(result, *_RANGE["", "s32" if final else "u32"])
            return result & 0xFFFFFFFF

        dots = [
            *kinds,
            *(["po"] if plus_one else []),
            *(["sat"] if saturate else []),
            *([f"shr{shift}"] if shift else []),
        ]
        dot = [f".{s}" if s else "" for s in (asel, bsel)]
        minus = ("-" if product else "", "-" if addend else "")
        cases.append(Case(f"vmad.{'.'.join(dots)} d, {minus[0]}a{dot[0]}, b{dot[1]}, {minus[1]}c;", value))
    return cases


def simd_cases(rng: random.Random) -> list[Case]:
    cases = []
    for _ in range(160):
        n = rng.choice([2, 4])
        size, digits = ("h", "0123") if n == 2 else ("b", "01234567")
        name = rng.choice(["add", "sub", "absdiff", "min", "max", "avrg", "set"])
        kinds = [rng.choice(["u32", "s32"]) for _ in range(3)]
        operation, words = name, list(kinds)
        if name == "set":
            operation = rng.choice(list(_COMPARE))
            words, kinds = [*kinds[1:], operation], ["u32", *kinds[1:]]
        how = rng.choice(["", "sat", "add"]) if name != "set" else rng.choice(["", "add"])
        choose = [rng.random() < 0.4 for _ in range(3)]
        asel = "".join(rng.choice(digits) for _ in range(n)) if choose[0] else ("10" if n == 2 else "3210")
        bsel = "".join(rng.choice(digits) for _ in range(n)) if choose[1] else ("32" if n == 2 else "7654")
        places = sorted(rng.sample(range(n), rng.randint(1, n)), reverse=True) if choose[2] else list(range(n))

        def value(
            a: int, b: int, c: int, n: int = n, operation: str = operation, kinds: list[str] = kinds,
            sel: tuple[str, str] = (asel, bsel), places: list[int] = places, how: str = how, size: str = size,
        ) -> int:  # fmt: skip
            def element(which: str, i: int, kind: str) -> int:
                at = int(which[n - 1 - i])
                return extract((a, b)[at // n], kind, f"{size}{at % n}")

            width, result = 32 // n, c if how == "add" else 0
            for i in range(n):
                t = operate(operation, element(sel[0], i, kinds[1]), element(sel[1], i, kinds[2]))
                if how == "sat":
                    t = clamp(t, *_RANGE[size, kinds[0]])
                if how == "add":
                    result += t if i in places else 0
                else:
                    part = t if i in places else c >> (width * i)
                    result |= (part & ((1 << width) - 1)) << (width * i)
            return result & 0xFFFFFFFF

        dot = [f".{size}{s}" if given else "" for s, given in zip((asel, bsel), choose, strict=False)]
        mask = f".{size}{''.join(map(str, places))}" if choose[2] else ""
        dots = ".".join([*words, *([how] if how else [])])
        cases.append(Case(f"v{name}{n}.{dots} d{mask}, a{dot[0]}, b{dot[1]}, c;", value))
    return cases


def lowered(ptx: str) -> str:
    text = re.sub(r"(?<![\w.])[abcd](?=[.,;])", lambda m: f"%{'dabc'.index(m[0])}", ptx)
    operands = tuple(Constraint("r" if i else "=r", f"v{i}", 0) for i in range(4))
    return lower_asm(AsmStatement(Span(0, 0), text, True, False, operands, (), ())).text


@pytest.mark.sdk
def test_video_instructions_follow_the_pseudocode(tmp_path: Path) -> None:
    rng = random.Random(11)
    cases = scalar_cases(rng) + mad_cases(rng) + simd_cases(rng)
    lines = ["#include <hipport/ptx_video.h>"]
    for i, case in enumerate(cases):
        lines.append(
            f'extern "C" unsigned t{i}(unsigned v1, unsigned v2, unsigned v3) '
            f"{{ unsigned v0 = 0; {lowered(case.ptx)}; return v0; }}"
        )
    source, compiled, shared = tmp_path / "video.hip", tmp_path / "video.o", tmp_path / "video.so"
    source.write_text("\n".join(lines))
    sdk = find_sdk()
    for command in (
        [sdk.clang, *sdk.host_flags(), f"-I{include_root()}", "-O1", "-c", source, "-o", compiled],
        [sdk.clang, "-shared", compiled, "-o", shared],
    ):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(shared))
    for i, case in enumerate(cases):
        function = getattr(library, f"t{i}")
        function.restype, function.argtypes = ctypes.c_uint32, [ctypes.c_uint32] * 3
        for _ in range(60):
            a, b, c = (rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01]) if rng.random() < 0.2
                       else rng.getrandbits(32) for _ in range(3))  # fmt: skip
            if rng.random() < 0.3:
                b &= 0x3F
            assert function(a, b, c) == case.value(a, b, c), (case.ptx, hex(a), hex(b), hex(c))


@pytest.mark.parametrize(
    "ptx",
    [
        "vadd.u32.u32.u32 d, a.b4, b;",  # no such byte
        "vadd.u32.u32.u32 d, a.h10, b;",  # two halfwords
        "vadd.u32.u32.u32.add d.b0, a, b, c;",  # second operation and merge
        "vshl.u32.u32.u32.sat.clamp d, a, b;",  # width of the intermediate result is not given
        "vshr.u32.u32.s32.clamp d, a, b;",  # amounts are unsigned
        "vmad.u32.u32.u32.po d, -a, b, c;",
        "vadd4.u32.u32.u32 d, a.h10, b, c;",
        "vadd2.u32.u32.u32.sat.add d, a, b, c;",
    ],
)
def test_what_is_no_video_instruction(ptx: str) -> None:
    with pytest.raises(Refusal):
        lowered(ptx)
