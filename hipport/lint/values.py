"""Values of the provenance analysis, and what arithmetic makes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from hipport.lint.finding import Step
from hipport.syntax import ParsedFile

WARP_NAME = re.compile(rb"(?i)warp|lanes?\b|wave|\A(?:k?WS|W)\Z")


class Role(StrEnum):
    """What a value stands for."""

    UNKNOWN = "unknown"
    NUMBER = "number"
    THREAD = "thread number"
    LANE = "lane number"
    WARP = "warp number"
    MASK = "lane mask"
    LANE_BIT = "bit of a lane"
    BLOCK = "block size"
    WARPS = "number of warps"


@dataclass(frozen=True, slots=True)
class Value:
    """A value.

    Attributes:
        number: its value with warps of 32, where it is a constant.
        highest: an upper bound, where one is known.
        literal: a written 32, 31, 16, 5 decides it.
        wavefront: ``warpSize`` (64 on wave64) decides it.
        by_target: the constant that decides it has another value in another branch of the preprocessor.
        wide: a mask of 64 bits.
        computed: the number comes out of arithmetic that has nothing to do with warps (``D / 4`` may be 32 by chance).
        name: outermost name of the constant.
        trace: source first.
    """

    role: Role = Role.UNKNOWN
    number: int | None = None
    highest: int | None = None
    literal: bool = False
    wavefront: bool = False
    by_target: bool = False
    wide: bool = False
    computed: bool = False
    name: bytes = b""
    trace: tuple[Step, ...] = ()


UNKNOWN = Value()


def flags(left: Value, right: Value) -> Value:
    """What decides the result of an operation: whatever decides one of its operands."""
    return Value(
        literal=left.literal or right.literal,
        wavefront=left.wavefront or right.wavefront,
        by_target=left.by_target or right.by_target,
    )


def join(values: list[Value]) -> Value:
    """One value for several: what all agree on."""
    first = values[0]
    if len(values) == 1:
        return first
    if any(v.role is not first.role for v in values):
        return UNKNOWN
    highs = [v.highest for v in values]
    return replace(
        first,
        number=first.number if all(v.number == first.number for v in values) else None,
        highest=max(h for h in highs if h is not None) if None not in highs else None,
        literal=any(v.literal for v in values),
        wavefront=any(v.wavefront for v in values),
        wide=all(v.wide for v in values),
    )


def warp_part(sign: bytes, role: Role, right: Value) -> Role | None:
    """What ``thread % 32`` and the like stand for."""
    number = right.number
    if sign == b"%" and (number == 32 or right.by_target):
        return Role.LANE if role is Role.THREAD else None
    if sign == b"&" and number == 31:
        return Role.LANE if role is Role.THREAD else None
    if (sign == b"/" and (number == 32 or right.by_target)) or (sign == b">>" and number == 5):
        return Role.WARP if role is Role.THREAD else Role.WARPS
    return None


def is_wide_one(text: bytes) -> bool:
    """The 1 of ``1 << lane`` has 64 bits."""
    return bool(re.search(rb"(?i)1u?ll?u?|\b64", text))


def means_warp(size: Value) -> bool:
    """A divisor that may be the size of a warp: written out, warpSize, or a constant named after warps."""
    if size.wavefront or size.by_target:
        return True
    return not size.computed and (not size.name or bool(WARP_NAME.search(size.name)))


def arithmetic(sign: bytes, left: Value, right: Value, flags: Value) -> Value:
    """A number made of two."""
    number = highest = None
    if left.number is not None and right.number is not None:
        number = _fold(sign, left.number, right.number)
        highest = number if not flags.wavefront else None
    elif left.highest is not None and right.number is not None and sign in (b"/", b">>", b"-", b"+", b"*"):
        highest = _fold(sign, left.highest, right.number)
    elif right.highest is not None and left.number is not None and sign in (b"+", b"*"):
        highest = _fold(sign, left.number, right.highest)
    lanes = (sign == b"-" and right.number == 1 and left.number == 32) or (sign == b"<<" and left.number == 1)
    name = left.name if lanes else b""
    computed = left.computed or not lanes
    return replace(flags, role=Role.NUMBER, number=number, highest=highest, computed=computed, name=name)


def _fold(sign: bytes, a: int, b: int) -> int | None:
    if sign in (b"/", b"%"):
        return None if b == 0 else a // b if sign == b"/" else a % b
    if sign in (b"<<", b">>"):
        return None if not 0 <= b < 64 else a << b if sign == b"<<" else a >> b
    table = {b"+": a + b, b"-": a - b, b"*": a * b, b"&": a & b, b"|": a | b, b"^": a ^ b}
    return table.get(sign)


def step_at(parsed: ParsedFile, offset: int, text: bytes) -> Step:
    """A trace step at an offset of a file."""
    place = parsed.source.place(offset)
    shown = " ".join(text.decode("utf-8", "replace").split())
    return Step(parsed.source.path, place.line, place.column, shown if len(shown) <= 90 else shown[:89] + "…")
