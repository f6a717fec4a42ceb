"""Evaluates the pseudocode of AMD's ISA manuals (the strings tinygrad extracts from the PDFs).

program = Program("D0.f32 = S0.f32 + S1.f32")
state = State(registers={"S0": 0x3F800000, "S1": 0x40000000})
program.run(state)                         # state.registers["D0"], state.written["D0"]

A registers is an unlimited bit pattern; `State.written` says which bits the program assigned, `State.any_nan` which
of them may hold any NaN. Untyped names (tmp) remember the type of their last value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import oracle_numbers as n
from oracle_numbers import Bits, integer


class NotCovered(Exception):  # noqa: N818 (a statement about the oracle, not an error)
    """The evaluator does not know a construct of this program."""


class _Break(Exception):  # noqa: N818
    pass


class _Return(Exception):  # noqa: N818
    pass


TOKEN = re.compile(
    r"""\s*(?:(?P<cast>\d+'[UIFB](?=\())|(?P<sized>\d+'0x[0-9a-fA-F]+|\d+'-?\d+(?:\.\d+)?U?)|(?P<hex>0x[0-9a-fA-F]+U?L*)
    |(?P<real>\d+\.\d+(?:[eE][-+]?\d+)?F?)|(?P<number>\d+(?:U?L*)?)
    |(?P<name>[A-Za-z_]\w*)|(?P<op>\+:|<<|>>|<=|>=|<>|==|!=|&&|\|\||\+=|-=|\*\*|[-+*/%&|^~!<>=?:;,.(){}\[\]']))""",
    re.VERBOSE,
)
TYPE = re.compile(r"^(u|i|b|f|bf|fp)(\d+)$")
KEYWORDS = ("if", "elsif", "else", "endif", "then", "for", "do", "endfor", "break", "declare", "return", "lambda")


def tokens(text: str) -> list[str]:
    text = re.sub(r"//[^\n]*", "", text)
    result, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise NotCovered(f"character {text[at : at + 20]!r}")
        result.append(match.group().strip())
        at = match.end()
    return result


@dataclass
class State:
    """What a program reads and writes; see the module's example.

    Attributes:
        registers: pattern by name (S0, S1, S2, D0, D1, VCC, EXEC, SCC, M0, SIMM32, DATA, ...).
        constants: untyped values by name, e.g. WAVE32 or OPSEL.
        lane: laneId.
        memory: bytes by address.
        library: pseudocode by opcode, for programs that call other opcodes.
        vgpr: (lane, register) -> pattern.
    """

    registers: dict[str, int] = field(default_factory=dict)
    constants: dict[str, Bits] = field(default_factory=dict)
    lane: int = 0
    memory: dict[int, int] = field(default_factory=dict)
    library: dict[str, str] = field(default_factory=dict)
    fnuz: bool = False
    vgpr: Callable[[int, int], int] | None = None
    written: dict[str, int] = field(default_factory=dict)
    any_nan: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, tuple[str, int]] = field(default_factory=dict)
    lambdas: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)
    to_zero: bool = False
    stored: dict[int, int] = field(default_factory=dict)
    stored_any_nan: set[int] = field(default_factory=set)
    vgpr_written: dict[tuple[int, int], int] = field(default_factory=dict)


Expression = Callable[[State], Bits]
REGISTERS = {
    "S0", "S1", "S2", "D0", "D1", "VCC", "EXEC", "SCC", "M0", "SIMM16", "SIMM32", "DATA", "DATA0", "DATA2", "DATA1",
    "VDATA", "RETURN_DATA", "ADDR", "OFFSET", "OFFSET0", "OFFSET1", "ADDR_BASE", "OPSEL", "OPSEL_HI", "PC", "NEG",
    "NEG_HI", "VDST", "SRC0", "SADDR", "vgpr_a", "offset",
}  # fmt: skip


class Parser:
    def __init__(self, text: str) -> None:
        self.t = tokens(text)
        self.i = 0

    def peek(self, ahead: int = 0) -> str:
        return self.t[self.i + ahead] if self.i + ahead < len(self.t) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise NotCovered(f"expected {expected!r}, found {token!r}")
        self.i += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.i += 1
            return True
        return False

    # Statements
    def block(self, *ends: str) -> list[Callable[[State], None]]:
        body = []
        while self.peek() and self.peek() not in ends:
            if self.accept(";"):
                continue
            body.append(self.statement())
        return body

    def statement(self) -> Callable[[State], None]:
        word = self.peek()
        if word == "if":
            return self.conditional()
        if word == "for":
            return self.loop()
        if word == "declare":
            return self.declaration()
        if word == "break":
            self.take()

            def stop(state: State) -> None:
                raise _Break

            return stop
        if word == "return":
            self.take()
            value = self.expression()

            def give(state: State) -> None:
                raise _Return(value(state))

            return give
        if self.peek(1) == "=" and self.peek(2) == "lambda":
            return self.function()
        return self.assignment()

    def declaration(self) -> Callable[[State], None]:
        """``declare NAME : 32'I`` or ``declare NAME : 32'I[4]``."""
        self.take("declare")
        name = self.take()
        self.take(":")
        width, _, kind = int(self.take()), self.take("'"), self.take().lower()
        if not self.accept("["):
            return lambda state: None
        self.expression()
        self.take("]")

        def array(state: State) -> None:
            state.arrays[name] = (kind, width)
            state.registers[name], state.any_nan[name] = 0, 0

        return array

    def function(self) -> Callable[[State], None]:
        name = self.take()
        self.take("=")
        self.take("lambda")
        self.take("(")
        parameters = []
        while not self.accept(")"):
            parameters.append(self.take())
            self.accept(",")
        self.take("(")
        if self.peek() in ("if", "declare", "return"):
            body = self.block(")")
        else:
            value = self.expression()

            def give(state: State) -> None:
                raise _Return(value(state))

            body = [give]
        self.take(")")

        def define(state: State) -> None:
            state.lambdas[name] = (parameters, body)

        return define

    def conditional(self) -> Callable[[State], None]:
        arms: list[tuple[Expression | None, list[Callable[[State], None]]]] = []
        self.take("if")
        test: Expression | None = self.expression()
        self.take("then")
        while True:
            arms.append((test, self.block("elsif", "else", "endif")))
            word = self.take()
            if word == "endif":
                break
            test = self.expression() if word == "elsif" else None
            if word == "elsif":
                self.take("then")

        def run(state: State) -> None:
            for condition, body in arms:
                if condition is None or truth(condition(state)):
                    for step in body:
                        step(state)
                    return

        return run

    def loop(self) -> Callable[[State], None]:
        self.take("for")
        name = self.take()
        self.take("in")
        first = self.expression()
        self.take(":")
        last = self.expression()
        self.take("do")
        body = self.block("endfor")
        self.take("endfor")

        def run(state: State) -> None:
            low = first(state)
            for value in range(low.int, last(state).int + 1):
                store(state, name, integer(low.kind, low.width, value))
                try:
                    for step in body:
                        step(state)
                except _Break:
                    return

        return run

    def assignment(self) -> Callable[[State], None]:
        start = self.i
        if self.peek() == "{":  # { D1.u1, D0.u64 } = value
            self.take("{")
            targets = []
            while not self.accept("}"):
                targets.append(self.place())
                self.accept(",")
            self.take("=")
            value = self.expression()

            def scatter(state: State) -> None:
                bits = value(state).bits
                for width, put in [(t[1], t[0]) for t in reversed(targets)]:
                    if not width:
                        raise NotCovered("untyped part of a concatenation")
                    put(state, Bits("b", width, bits & ((1 << width) - 1)))
                    bits >>= width

            return scatter
        target = self.place()
        operator = self.peek()
        if operator in ("+=", "-="):
            self.take()
            after = self.i
            self.i = start
            old = self.postfix()
            self.i = after
            value = self.expression()

            def update(state: State) -> None:
                target[0](state, arithmetic(operator[0], old(state), value(state)))

            return update
        if operator != "=":
            self.i = start
            value = self.expression()  # a call for its effect

            def call(state: State) -> None:
                value(state)

            return call
        self.take("=")
        targets2 = [target]
        while True:  # EXEC.u64[laneId] = D0.u64[laneId] = value
            mark = self.i
            try:
                again = self.place()
                if self.peek() != "=":
                    raise NotCovered("")
            except NotCovered:
                self.i = mark
                break
            self.take("=")
            targets2.append(again)
        value = self.expression()

        def run(state: State) -> None:
            result = value(state)
            for put, _ in targets2:
                put(state, result)

        return run

    def place(self) -> tuple[Callable[[State, Bits], None], int]:
        """Something assignable: how to write it, and its width where it is known."""
        name = self.take()
        if not re.match(r"[A-Za-z_]", name) or name in KEYWORDS:
            raise NotCovered(f"assignment to {name}")
        parts: list[tuple[str, Any]] = []
        while True:
            if self.accept("."):
                parts.append(("type", self.take()))
            elif self.accept("["):
                parts.append(("index", self.index()))
            else:
                break
        if name == "MEM":
            address = parts[0][1][1]
            kind, width = parse_type(parts[1][1]) if len(parts) > 1 else ("b", 32)

            def put_memory(state: State, value: Bits) -> None:
                at, value = address(state).bits, coerce(value, kind, width)
                for k in range(value.width // 8):
                    state.stored[at + k] = value.bits >> 8 * k & 255
                    if value.any_nan >> 8 * k & 255:
                        state.stored_any_nan.add(at + k)

            return put_memory, width
        if name in ("ROUND_MODE",):

            def put_mode(state: State, value: Bits) -> None:
                state.to_zero = bool(value.bits)

            return put_mode, 0
        if name == "TRAPSTS":
            return (lambda state, value: None), 0
        if name == "SGPR":
            raise NotCovered(name)
        if name == "VGPR":
            lane, register = parts[0][1][1], parts[1][1][1]

            def put_vgpr(state: State, value: Bits) -> None:
                state.vgpr_written[lane(state).int, register(state).int] = value.bits & 0xFFFFFFFF

            return put_vgpr, 32
        declared = [p for p in parts if p[0] == "type"]
        kind, width = parse_type(declared[-1][1]) if declared else ("", 0)
        indices = [p[1] for p in parts if p[0] == "index"]

        def put(state: State, value: Bits) -> None:
            if not indices:
                store(state, name, coerce(value, kind, width) if kind else value)
                return
            if len(indices) > 1:
                raise NotCovered("two indices")
            high, low = bounds(indices[0], state)
            if name in state.arrays:
                element_kind, span = state.arrays[name]
                element = coerce(value, element_kind, span)
                store_slice(state, name, low * span, span, element.bits, element.any_nan)
                return
            span = abs(high - low) + 1
            if kind and parts[-1][0] == "type":
                value = coerce(value, kind, width)
            pattern = value.bits & ((1 << span) - 1)
            if high < low:
                pattern, low = int(f"{pattern:0{span}b}"[::-1], 2), high
            store_slice(state, name, low, span, pattern, value.any_nan)

        return put, width

    def index(self) -> tuple[str, Any, Any]:
        """Inside [...]: ('one', e, None), ('range', high, low) or ('from', low, width)."""
        first = self.expression()
        if self.accept(":"):
            second = self.expression()
            self.take("]")
            return "range", first, second
        if self.accept("+:"):
            second = self.expression()
            self.take("]")
            return "from", first, second
        self.take("]")
        return "one", first, None

    # Expressions, loosest first
    def expression(self) -> Expression:
        condition = self.binary(0)
        if self.accept("?"):
            yes = self.expression()
            self.take(":")
            no = self.expression()
            return lambda state: yes(state) if truth(condition(state)) else no(state)
        return condition

    LEVELS = (
        ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
        ("*", "/", "%"), ("**",),
    )  # fmt: skip

    def binary(self, level: int) -> Expression:
        if level == len(self.LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in self.LEVELS[level]:
            operator = self.take()
            left = _apply(operator, left, self.binary(level + 1))
        return left

    def unary(self) -> Expression:
        operator = self.peek()
        if operator in ("-", "~", "!", "+"):
            self.take()
            value = self.unary()
            if operator == "-":
                return lambda state: negate(value(state))
            if operator == "~":
                return lambda state: complement(value(state))
            if operator == "!":
                return lambda state: integer("u", 1, not truth(value(state)))
            return value
        return self.postfix()

    def postfix(self) -> Expression:
        value, name = self.primary()
        typed = ""
        while True:
            if self.accept("."):
                typed = self.take()
                value = _typed(value, typed, name)
            elif self.accept("["):
                value = _indexed(value, self.index(), name)
                name = ""
            else:
                return value

    def primary(self) -> tuple[Expression, str]:
        token = self.take()
        if token == "(":
            value = self.expression()
            self.take(")")
            return value, ""
        if token == "{":
            parts = []
            while not self.accept("}"):
                parts.append(self.expression())
                self.accept(",")
            return (lambda state: concatenation([p(state) for p in parts])), ""
        if match := re.fullmatch(r"(\d+)'([UIFB])", token):
            self.take("(")
            value = self.expression()
            self.take(")")
            width, kind = int(match[1]), match[2].lower()
            return (lambda state: cast(value(state), kind, width)), ""
        if match := re.fullmatch(r"(\d+)'(-?\d+\.\d+)", token):
            constant = n.rounded("f", int(match[1]), Fraction(match[2]))
            return (lambda state: constant), ""
        if match := re.fullmatch(r"(\d+)'(0x[0-9a-fA-F]+)", token):
            constant = integer("u", int(match[1]), int(match[2], 16))
            return (lambda state: constant), ""
        if match := re.fullmatch(r"(\d+)'(-?\d+)(U?)", token):
            constant = integer("u" if match[3] else "i", int(match[1]), int(match[2]))
            return (lambda state: constant), ""
        if match := re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)(U?)(L*)", token):
            wide = 64 if match[3] else 32
            constant = integer("u" if match[2] else "i", wide, int(match[1], 0))
            return (lambda state: constant), ""
        if match := re.fullmatch(r"(\d+\.\d+(?:[eE][-+]?\d+)?)(F?)", token):
            constant = n.rounded("f", 32 if match[2] else 64, Fraction(match[1]))
            return (lambda state: constant), ""
        if not re.match(r"[A-Za-z_]", token) or token in KEYWORDS:
            raise NotCovered(f"token {token!r}")
        if self.peek() == "(":
            self.take("(")
            arguments = []
            while not self.accept(")"):
                arguments.append(self.expression())
                self.accept(",")
            return _call(token, arguments), ""
        if token == "MEM":
            self.take("[")
            _, address, _ = self.index()
            kind, width = "b", 32
            if self.accept("."):
                kind, width = parse_type(self.take())
            return (lambda state: load(state, address(state).bits, kind, width)), ""
        if token == "VGPR":
            self.take("[")
            _, lane, _ = self.index()
            self.take("[")
            _, register, _ = self.index()
            return (lambda state: _read_vgpr(state, lane(state).int, register(state).int)), ""
        if token == "WAVE_MODE":
            self.take(".")
            flag = "WAVE_MODE." + self.take()
            return (lambda state: state.constants[flag]), ""
        if token in ("NAN", "DENORM", "INF", "OVERFLOW_F32", "OVERFLOW_F64", "UNDERFLOW_F32", "UNDERFLOW_F64", "PI"):
            return _special(token), token
        return (lambda state: lookup(state, token)), token


def _read_vgpr(state: State, lane: int, register: int) -> Bits:
    if state.vgpr is None:
        raise NotCovered("VGPR")
    old = state.vgpr_written.get((lane, register))
    return Bits("b", 32, state.vgpr(lane, register) if old is None else old)


def _apply(operator: str, left: Expression, right: Expression) -> Expression:
    if operator == "||":
        return lambda state: integer("u", 1, truth(left(state)) or truth(right(state)))
    if operator == "&&":
        return lambda state: integer("u", 1, truth(left(state)) and truth(right(state)))
    return lambda state: arithmetic(operator, left(state), right(state))


DENORM = Bits("denorm", 64, 0)


def _special(token: str) -> Expression:
    if token == "DENORM":
        return lambda state: DENORM
    if token == "NAN":
        return lambda state: n.nan("f", 64)
    if token == "INF":
        return lambda state: n.inf("f", 64)
    if token == "PI":
        return lambda state: n.of_float("f", 64, math.pi)

    def limit(state: State) -> Bits:
        # OVERFLOW is what an overflowing operation gives (infinity in nearest even), UNDERFLOW likewise zero.
        width = int(token[-2:])
        return n.inf("f", width) if token.startswith("OVER") else Bits("f", width, 0)

    return limit


def parse_type(text: str) -> tuple[str, int]:
    if text in ("fp8", "bf8"):
        return text, 8
    match = TYPE.match(text)
    if not match:
        raise NotCovered(f"type {text}")
    return match[1], int(match[2])


def truth(value: Bits) -> bool:
    return value.bits != 0


def lookup(state: State, name: str) -> Bits:
    if name in state.constants:
        return state.constants[name]
    if name in ("laneId", "laneID"):
        return integer("u", 32, state.lane)
    if name == "ROUND_MODE":
        return integer("u", 1, state.to_zero)
    if name == "ROUND_NEAREST_EVEN":
        return integer("u", 1, 0)
    if name == "ROUND_TOWARD_ZERO":
        return integer("u", 1, 1)
    if name == "S":
        return integer("b", 32, 0)
    if name not in state.registers:
        raise NotCovered(f"name {name}")
    kind, width = state.kinds.get(name, ("b", 0))
    width = width or 256
    return Bits(kind, width, state.registers[name] & ((1 << width) - 1), state.any_nan.get(name, 0))


def store(state: State, name: str, value: Bits) -> None:
    """Whole assignment: registers keep the bits above, names become the value."""
    if name in REGISTERS:
        width = 32 if name in ("D0", "RETURN_DATA", "VDATA") and value.width < 16 else value.width
        store_slice(state, name, 0, width, value.bits, value.any_nan)
        return
    state.registers[name], state.kinds[name] = value.bits, (value.kind, value.width)
    state.any_nan[name] = value.any_nan


def store_slice(state: State, name: str, low: int, width: int, pattern: int, any_nan: int) -> None:
    mask = ((1 << width) - 1) << low
    state.registers[name] = state.registers.get(name, 0) & ~mask | (pattern << low & mask)
    state.written[name] = state.written.get(name, 0) | mask
    state.any_nan[name] = state.any_nan.get(name, 0) & ~mask | (any_nan << low & mask)
    if name not in REGISTERS and name in state.kinds and low + width > state.kinds[name][1]:
        state.kinds[name] = (state.kinds[name][0], low + width)


def load(state: State, address: int, kind: str, width: int) -> Bits:
    value = 0
    for k in range(width // 8):
        value |= state.stored.get(address + k, state.memory.get(address + k, 0)) << 8 * k
    return Bits(kind, width, value, ((1 << width) - 1) * (address in state.stored_any_nan))


def bounds(index: tuple[str, Any, Any], state: State) -> tuple[int, int]:
    form, first, second = index
    if form == "one":
        at = first(state).int
        return at, at
    if form == "from":
        low = first(state).int
        return low + second(state).int - 1, low
    return first(state).int, second(state).int


def _typed(value: Expression, text: str, name: str) -> Expression:
    if name == "DENORM":
        return value
    if name in ("NAN", "INF"):
        kind, width = parse_type(text)
        return lambda state: n.convert(value(state), kind, width)
    kind, width = parse_type(text)

    def read(state: State) -> Bits:
        raw = value(state)
        mask = (1 << width) - 1
        bits = raw.int if raw.kind == kind == "i" else raw.bits
        return Bits(kind, width, bits & mask, raw.any_nan & mask)

    return read


def _indexed(value: Expression, index: tuple[str, Any, Any], name: str) -> Expression:
    def read(state: State) -> Bits:
        high, low = bounds(index, state)
        if name == "S":
            return lookup(state, f"S{low}")
        raw = value(state)
        if name in state.arrays:
            kind, span = state.arrays[name]
            mask = (1 << span) - 1
            return Bits(
                kind, span, state.registers[name] >> low * span & mask, state.any_nan[name] >> low * span & mask
            )
        span = abs(high - low) + 1
        if high >= low:
            mask = (1 << span) - 1
            return Bits("slice", span, raw.bits >> low & mask, raw.any_nan >> low & mask)
        return Bits("slice", span, int(f"{raw.bits >> high & ((1 << span) - 1):0{span}b}"[::-1], 2))

    return read


def concatenation(parts: list[Bits]) -> Bits:
    result, width, any_nan = 0, 0, 0
    for part in parts:
        result, any_nan = result << part.width | part.bits, any_nan << part.width | part.any_nan
        width += part.width
    return Bits("u", width, result, any_nan)


def coerce(value: Bits, kind: str, width: int) -> Bits:
    """Assignment to a typed place: floats convert, patterns extend by their sign."""
    if value.width == width:
        return Bits(kind, width, value.bits, value.any_nan)
    if value.is_float and (kind, width) in n.FORMATS:
        return n.convert(value, kind, width)
    mask = (1 << width) - 1
    return Bits(kind, width, value.int & mask, value.any_nan & mask)


def cast(value: Bits, kind: str, width: int) -> Bits:
    if value.kind == "power":
        return value
    if kind == "f":
        if value.is_float:
            return n.convert(value, "f", width)
        if value.kind in ("u", "b", "slice", "i") and value.width == width:
            return Bits("f", width, value.bits)  # 32'F({ S0.b16, 16'0U }): the pattern
        return n.rounded("f", width, Fraction(value.int))
    if value.is_float and kind in "ui":
        return float_to_integer(value, kind, width)
    return integer(kind, width, value.int)


def float_to_integer(value: Bits, kind: str, width: int) -> Bits:
    """Truncates and saturates; NaN gives 0."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind == "i" else (0, (1 << width) - 1)
    state, sign, _ = n.classify(value)
    if state == "nan":
        return integer(kind, width, 0)
    number = (low if sign else high) if state == "inf" else math.trunc(n.real(value))
    return integer(kind, width, min(max(number, low), high))


def negate(value: Bits) -> Bits:
    if value.is_float:
        loose = ((1 << value.width) - 1) * n.is_nan(value)  # whether the sign of a NaN flips is not defined
        return Bits(value.kind, value.width, value.bits ^ 1 << (value.width - 1), value.any_nan | loose)
    return integer(value.kind, value.width, -value.bits)


def complement(value: Bits) -> Bits:
    return integer(value.kind, value.width, ~value.bits)


def is_denormal(value: Bits) -> bool:
    _, mantissa_bits = n.FORMATS[value.kind, value.width]
    magnitude = value.bits & ((1 << (value.width - 1)) - 1)
    return 0 < magnitude < 1 << mantissa_bits


def arithmetic(operator: str, a: Bits, b: Bits) -> Bits:
    if operator == "**":  # only 2.0F ** n and 2.0 ** n occur
        if n.as_float(a) != 2.0:
            raise NotCovered("power of another base")
        return Bits("power", a.width, b.int & 0xFFFFFFFF)
    if "power" in (a.kind, b.kind):
        value, power = (a, b) if b.kind == "power" else (b, a)
        return _ldexp(value, Bits("i", 32, power.bits))  # the manuals mean one rounding
    if DENORM in (a, b):
        return integer("u", 1, is_denormal(a if b is DENORM else b))
    if a.is_float or b.is_float:
        if not (a.is_float and b.is_float):
            other = b if a.is_float else a
            home = a if a.is_float else b
            other = n.rounded(home.kind, home.width, Fraction(other.int))
            a, b = (a, other) if a.is_float else (other, b)
        width = max(a.width, b.width)
        kind = a.kind if a.width == width else b.kind
        if a.kind != b.kind and a.width == b.width:
            raise NotCovered("mixed float formats")
        return _float_arithmetic(operator, n.convert(a, kind, width), n.convert(b, kind, width))
    if operator in ("+", "-", "*", "<<", ">>"):  # a slice is a number of the context's width
        a, b = (Bits("u", 32, x.bits) if x.kind == "slice" and x.width < 32 else x for x in (a, b))
    if operator in ("<<", ">>"):
        # Guard bits: the manuals shift after widening only where they write so.
        number = a.int << min(b.bits, 4096) if operator == "<<" else a.int >> b.bits
        return integer(a.kind, a.width, number)
    width = max(a.width, b.width)
    kind = "i" if a.kind == b.kind == "i" else "u"
    if a.width != b.width and "b" not in (a.kind, b.kind):
        kind = a.kind if a.width > b.width else b.kind
    x, y = integer(kind, width, a.int).int, integer(kind, width, b.int).int
    if operator in COMPARE:
        return integer("u", 1, COMPARE[operator](x, y))
    if operator in ("/", "%"):
        if y == 0:
            raise NotCovered("division by zero")
        return integer(kind, width, x // y if operator == "/" else x % y)
    return integer(kind, width, INTEGER[operator](x, y))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}


def _float_arithmetic(operator: str, a: Bits, b: Bits) -> Bits:
    if operator in COMPARE:
        x, y = n.as_float(a), n.as_float(b)
        # <> is "less or greater": false with a NaN, unlike !=.
        return integer("u", 1, (x < y or x > y) if operator == "<>" else COMPARE[operator](x, y))
    if operator == "+":
        return n.add(a, b)
    if operator == "-":
        return n.add(a, b, minus=True)
    if operator == "*":
        return n.multiply(a, b)
    if operator == "/":
        return n.divide(a, b)
    raise NotCovered(f"float {operator}")


# Functions the manuals name without defining.
def _round_to(value: Bits, how: Callable[[Fraction], int]) -> Bits:
    state, sign, _ = n.classify(value)
    if state == "nan":
        return n.nan(value.kind, value.width)
    if state == "inf":
        return value
    return n.rounded(value.kind, value.width, Fraction(how(n.real(value))), sign)


def _exponent(value: Bits) -> Bits:
    exponent_bits, mantissa_bits = n.FORMATS[value.kind, value.width]
    return integer("i", 32, value.bits >> mantissa_bits & ((1 << exponent_bits) - 1))


def _ldexp(value: Bits, power: Bits) -> Bits:
    state, sign, _ = n.classify(value)
    if state == "nan":
        return n.nan(value.kind, value.width)
    if state == "inf":
        return value
    return n.rounded(value.kind, value.width, n.real(value) * Fraction(2) ** max(-3000, min(3000, power.int)), sign)


def _signalling(value: Bits) -> bool:
    return n.is_nan(value) and not value.bits >> (n.FORMATS[value.kind, value.width][1] - 1) & 1


def _quiet(value: Bits) -> Bits:
    return Bits(value.kind, value.width, value.bits | 1 << (n.FORMATS[value.kind, value.width][1] - 1), value.any_nan)


def _transcendental(kind: str) -> Callable[[Bits], Bits]:
    def apply(x: Bits) -> Bits:
        value = n.as_float(x)
        if math.isnan(value):
            return n.nan(x.kind, x.width)
        if kind == "log2":
            if value == 0:
                return n.inf(x.kind, x.width, 1)
            if value < 0:
                return n.nan(x.kind, x.width)
            return n.of_float(x.kind, x.width, math.inf if value == math.inf else math.log2(value))
        if math.isinf(value):
            return n.nan(x.kind, x.width)
        return n.of_float(x.kind, x.width, {"sin": math.sin, "cos": math.cos}[kind](value))

    return apply


def _pow(base: Bits, x: Bits) -> Bits:
    value = n.as_float(x)
    if math.isnan(value):
        return n.nan(x.kind, x.width)
    if abs(value) > 2000:
        return n.inf(x.kind, x.width) if value > 0 else Bits(x.kind, x.width, 0)
    whole = math.floor(value)
    return n.rounded(x.kind, x.width, Fraction(2.0 ** (value - whole)) * Fraction(2) ** whole)


def _mantissa(x: Bits) -> Bits:
    value = n.as_float(x)
    return n.of_float(x.kind, x.width, math.frexp(value)[0])


def _small(x: Bits, state: State) -> Bits:
    return n.small_float(x.bits & 255, *((5, 2) if x.kind == "bf8" else (4, 3)), state.fnuz)


def _norm(signed: bool) -> Callable[[Bits], Bits]:
    def apply(x: Bits) -> Bits:
        value = n.as_float(x)
        value = 0.0 if math.isnan(value) else min(max(value, -1.0 if signed else 0.0), 1.0)
        return integer("i" if signed else "u", 16, round(Fraction(value) * (32767 if signed else 65535)))

    return apply


def _signext(x: Bits) -> Bits:
    return integer("i", 64, Bits("i", x.width, x.bits).int)


FUNCTIONS: dict[str, Callable[..., Bits]] = {
    "fma": n.fma,
    "sqrt": n.square_root,
    "abs": lambda x: (
        Bits(x.kind, x.width, x.bits & ~(1 << (x.width - 1)), x.any_nan)
        if x.is_float
        else integer(x.kind, x.width, abs(x.int))
    ),
    "sign": lambda x: integer("u", 1, x.bits >> (x.width - 1)),
    "isNAN": lambda x: integer("u", 1, n.is_nan(x)),
    "isSignalNAN": lambda x: integer("u", 1, _signalling(x)),
    "isQuietNAN": lambda x: integer("u", 1, n.is_nan(x) and not _signalling(x)),
    "cvtToQuietNAN": _quiet,
    "exponent": _exponent,
    "mantissa": _mantissa,
    "ldexp": _ldexp,
    "trunc": lambda x: _round_to(x, math.trunc),
    "floor": lambda x: _round_to(x, math.floor),
    "fract": lambda x: n.add(x, _round_to(x, math.floor), minus=True),
    "isEven": lambda x: integer("u", 1, n.classify(x)[0] == "finite" and n.real(x) % 2 == 0),
    "log2": _transcendental("log2"),
    "sin": _transcendental("sin"),
    "cos": _transcendental("cos"),
    "pow": _pow,
    "signext": _signext,
    "signext_from_bit": lambda x, at: integer(
        "i", x.width, 0 if at.bits == 0 else Bits("i", at.bits, x.bits & ((1 << at.bits) - 1)).int
    ),
    "countbits": lambda x: integer("u", 32, x.bits.bit_count()),
    "bitCount": lambda x: integer("u", 32, x.bits.bit_count()),
    "count_ones": lambda x: integer("u", 32, x.bits.bit_count()),
    "reverse_bits": lambda x: Bits(x.kind, x.width, int(f"{x.bits:0{x.width}b}"[::-1], 2)),
    "ABSDIFF": lambda x, y: integer("u", 32, abs(x.bits - y.bits)),
    "BYTE_PERMUTE": lambda data, selector: _byte_permute(data, selector),
    "v_cvt_i16_f32": lambda x: float_to_integer(x, "i", 16),
    "v_cvt_u16_f32": lambda x: float_to_integer(x, "u", 16),
    # Not of the manuals: for the corrected programs of corrections.tsv.
    "round_even": lambda x: _round_to(x, round),
    "fract_below_one": lambda x: _fract(x),
    "sin_turns": lambda x: _turns(x, math.sin),
    "cos_turns": lambda x: _turns(x, math.cos),
    "frexp_exponent": lambda x: integer("i", 32, math.frexp(n.as_float(x))[1] if n.classify(x)[0] == "finite" else 0),
    "frexp_mantissa": lambda x: n.nan(x.kind, x.width) if n.is_nan(x) else _mantissa(x),
    "GT_NEG_ZERO": lambda x, y: integer("u", 1, _ordered(x) > _ordered(y)),
    "LT_NEG_ZERO": lambda x, y: integer("u", 1, _ordered(x) < _ordered(y)),
    "f16_to_snorm": _norm(True),
    "f32_to_snorm": _norm(True),
    "f16_to_unorm": _norm(False),
    "f32_to_unorm": _norm(False),
    "u32_to_u16": lambda x: integer("u", 16, min(x.bits, 0xFFFF)),
    "i32_to_i16": lambda x: integer("i", 16, min(max(x.int, -0x8000), 0x7FFF)),
    "f32_to_u8": lambda x: float_to_integer(x, "u", 8),
    "s_ff1_i32_b64": lambda x: integer("i", 32, (x.bits & -x.bits).bit_length() - 1),
    "s_ff1_i32_b32": lambda x: integer("i", 32, (x.bits & -x.bits).bit_length() - 1),
    "float32": lambda s, e, m: Bits("f", 32, s.bits << 31 | (e.bits & 255) << 23 | m.bits & 0x7FFFFF),
    "CalcDsAddr": lambda *parts: integer("u", 32, sum(p.bits & 0xFFFFFFFF for p in parts)),
    "CalcGlobalAddr": lambda *parts: integer("u", 64, parts[0].bits),
    "CalcFlatAddr": lambda *parts: integer("u", 64, parts[0].bits),
    "CalcBufferAddr": lambda *parts: integer("u", 64, parts[0].bits),
}


def _fract(x: Bits) -> Bits:
    result = n.add(x, _round_to(x, math.floor), minus=True)
    one = n.rounded(x.kind, x.width, Fraction(1))
    return Bits(x.kind, x.width, one.bits - 1) if result.bits == one.bits else result


def _turns(x: Bits, function: Callable[[float], float]) -> Bits:
    """sin or cos of 2 pi x; the manuals define it for up to 256 turns, beyond that it is that of 0."""
    if n.classify(x)[0] != "finite":
        return n.nan(x.kind, x.width)
    value = n.real(x)
    if abs(value) > 256:
        return n.of_float(x.kind, x.width, function(0.0))
    if not value:
        return x if function is math.sin else n.of_float(x.kind, x.width, 1.0)
    return n.of_float(x.kind, x.width, function(2 * math.pi * float(value - round(value))))


def _ordered(x: Bits) -> tuple[float, int]:
    """Order of numbers with -0 below +0."""
    return n.as_float(x), -(x.bits >> (x.width - 1))


def _byte_permute(data: Bits, selector: Bits) -> Bits:
    """V_PERM_B32: bytes of {S0, S1}; 8-11 replicate a sign, 12 is 0, above is 0xff."""
    s = selector.bits & 255
    if s >= 13:
        return integer("u", 8, 0xFF)
    if s == 12:
        return integer("u", 8, 0)
    if s >= 8:
        return integer("u", 8, 0xFF if data.bits >> (15 + 16 * (s - 8)) & 1 else 0)
    return integer("u", 8, data.bits >> 8 * s)


CONVERSION = re.compile(r"^(u|i|f|bf)(4|8|16|32|64)_to_(u|i|f|bf)(16|32|64)$")


def _call(name: str, arguments: list[Expression]) -> Expression:
    if name in FUNCTIONS:
        function = FUNCTIONS[name]
        return lambda state: function(*[a(state) for a in arguments])
    if name in ("fp8_to_f32", "bf8_to_f32"):
        kind = name[:3]
        return lambda state: _small(Bits(kind, 8, arguments[0](state).bits & 255), state)
    if name in ("f32_to_fp8", "f32_to_bf8"):
        shape = (5, 2) if name.endswith("bf8") else (4, 3)
        return lambda state: integer("u", 8, n.to_small_float(arguments[0](state), *shape, state.fnuz))
    if match := CONVERSION.match(name):
        source, target = (match[1], int(match[2])), (match[3], int(match[4]))

        def convert(state: State) -> Bits:
            x = arguments[0](state)
            x = x if x.is_float and source[0] == "f" else integer(*source, x.bits)
            if x.is_float and target in n.FORMATS:
                result = n.convert(x, *target, to_zero=state.to_zero)
                if n.is_nan(result):
                    return n.nan(*target)
                return result
            if x.is_float:
                return float_to_integer(x, *target)
            if target in n.FORMATS:
                return n.rounded(*target, Fraction(x.int))
            return integer(*target, x.int)

        return convert

    def dynamic(state: State) -> Bits:
        values = [a(state) for a in arguments]
        if name in state.lambdas:
            parameters, body = state.lambdas[name]
            saved = {p: (state.registers.get(p), state.kinds.get(p)) for p in parameters}
            for parameter, value in zip(parameters, values, strict=True):
                store(state, parameter, value)
            try:
                for step in body:
                    step(state)
            except _Return as result:
                return result.args[0]  # type: ignore[no-any-return]
            finally:
                for parameter, (bits, kind) in saved.items():
                    if bits is not None and kind is not None:
                        state.registers[parameter], state.kinds[parameter] = bits, kind
            raise NotCovered(f"{name} returned nothing")
        if name in state.library:
            inner = State(constants=state.constants, library=state.library, fnuz=state.fnuz)
            for k, value in enumerate(values):
                inner.registers[f"S{k}"] = value.bits
            inner.registers["D0"] = 0
            program(state.library[name]).run(inner)
            kind, width = values[0].kind, values[0].width
            if name.startswith("v_cvt_i16"):
                kind, width = "i", 16
            elif name.startswith("v_cvt_u16"):
                kind, width = "u", 16
            elif name.startswith(("v_sad", "v_msad")):
                kind, width = "u", 32
            mask = (1 << width) - 1
            return Bits(kind, width, inner.registers["D0"] & mask, inner.any_nan.get("D0", 0) & mask)
        raise NotCovered(f"function {name}")

    return dynamic


class Program:
    """Parsed pseudocode of one opcode.

    Raises:
        NotCovered: it holds a construct the evaluator does not know.
    """

    def __init__(self, text: str) -> None:
        parser = Parser(text)
        self.body = parser.block()

    def run(self, state: State) -> None:
        for step in self.body:
            step(state)


@cache
def program(text: str) -> Program:
    return Program(text)
