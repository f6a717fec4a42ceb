"""The grammar of PTX text inside inline assembly: text to a small typed tree.

Source: PTX ISA 8.x, chapters 4 (Syntax), 6 (Instruction operands) and 9 (Instruction set); CUDA, "Inline PTX Assembly
in CUDA" for ``%0`` operands, ``%%`` escapes and ``%=``, a number of the statement's own.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass


class PtxSyntaxError(ValueError):
    """The text is not PTX. ``offset`` is where, in characters of the assembly text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class AsmOperand:
    """``%3``: an operand of the asm statement."""

    index: int


@dataclass(frozen=True, slots=True)
class Name:
    """A register, variable, label or function: what it is follows from the declarations in scope."""

    name: str


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """``%laneid``, ``%tid.x``: without the percent sign."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point constant as bits of an f32 (``bits_wide`` 32) or f64."""

    bits: int
    bits_wide: int


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, ...}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; ``coordinates`` only in tensor-map addresses ``[map, {x, y}]``."""

    base: Operand
    offset: Operand | None = None
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Sink:
    """``_``: a destination that is thrown away."""


@dataclass(frozen=True, slots=True)
class Not:
    """``!p``: a negated predicate."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Pair:
    """``p|q``: two destinations, of which the second may be missing in an instruction."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """``(a, b)``: parameters of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """``%1.b0``, ``r.h10``: bytes or halfwords of a register, in video instructions."""

    operand: Operand
    selector: str


@dataclass(frozen=True, slots=True)
class Negative:
    """``-r``: the negated factor or addend of ``vmad``."""

    operand: Operand


Operand = (
    AsmOperand | Name | SpecialRegister | Integer | Float | Vector | Address | Sink | Not | Pair | Group | Part
    | Negative
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p`` before an instruction."""

    operand: Operand
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        opcode: the first word (``ld``).
        modifiers: the words after it without dots (``global``, ``nc``, ``L1::no_allocate``, ``v4``, ``u32``).
        operands: in order, destinations first as PTX has them.
        guard: predicate, or None.
        offset: of the opcode in the assembly text.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    offset: int = 0

    @property
    def name(self) -> str:
        """Opcode with its modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Declaration:
    """``.reg .b32 a, b<4>;``: registers, or variables of another state space.

    Attributes:
        space: ``reg``, ``shared``, ``local``, ...
        type: ``b32``, ``pred``, ...
        names: declared names; ``t<3>`` counts as ``t0``, ``t1``, ``t2``.
        components: 2 or 4 for ``.v2`` and ``.v4``, which are used as ``t.x``, ``t.y``, ...; else 1.
        offset: of the directive in the assembly text.
    """

    space: str
    type: str
    names: tuple[str, ...]
    components: int = 1
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Label:
    """``DONE:``, the target of a branch."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """``{ ... }``: a scope of declarations."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Pragma:
    """``.pragma``, ``.loc`` and the like: no meaning for the result."""

    text: str


Statement = Instruction | Declaration | Label | Block | Pragma

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<operand>%\d+)
  | (?P<register>%%?[A-Za-z_$](?:[\w$]|%=)*(?:\.[xyzw]\b)?)
  | (?P<float>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+)
  | (?P<integer>0[xX][0-9a-fA-F]+U?\b | 0[bB][01]+U?\b | \d+U?\b)
  | (?P<dotted>\.\w+(?:::\w+)*)
  | (?P<word>(?:[A-Za-z_$]|%=)(?:[\w$]|%=)*)
  | (?P<string>"[^"\n]*")
  | (?P<mark>[{}\[\](),;:@!|+\-<>=])
    """,
    re.VERBOSE | re.DOTALL,
)
_PRAGMA = {".pragma", ".loc", ".file"}
_SPACES = {".reg", ".shared", ".local", ".global", ".const", ".param"}
_VECTORS = {".v2", ".v4"}
_COMPONENTS = {".x", ".y", ".z", ".w"}
_PART = re.compile(r"\.(?:b[0-7]{1,4}|h[0-3]{1,2})")
_ALIGN = ".align"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PtxSyntaxError(f"unexpected character {text[at]!r}", at)
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match[0], at, match.end())
        at = match.end()
    yield _Token("end", "", at, at)


def parse_ptx(text: str, *, extended: bool = True) -> Block:
    """Parse the text of one asm statement.

    Args:
        text: the assembly text after C string escapes and concatenation.
        extended: the statement has operands, so ``%%r`` stands for ``%r``; without operands a single ``%`` does.

    Raises:
        PtxSyntaxError: the text is not PTX.
    """
    parser = _Parser(list(_tokens(text)), extended)
    statements: list[Statement] = []
    while not parser.at("end"):
        statements.extend(parser.statement())
    return Block(tuple(statements))


class _Parser:
    def __init__(self, tokens: list[_Token], extended: bool) -> None:
        self._tokens = tokens
        self._at = 0
        self._extended = extended

    # -- tokens ------------------------------------------------------------------------------------------------------
    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def at(self, *texts: str) -> bool:
        """True when the next token is one of ``texts`` (or of kind ``end``)."""
        return self._next.text in texts if self._next.kind != "end" else "end" in texts

    def _take(self) -> _Token:
        token = self._next
        if token.kind == "end":
            raise PtxSyntaxError("the text ends in the middle of a statement", token.start)
        self._at += 1
        return token

    def _expect(self, text: str) -> _Token:
        if not self.at(text):
            raise PtxSyntaxError(f"expected {text!r}, found {self._next.text or 'the end'!r}", self._next.start)
        return self._take()

    def _end_of_statement(self) -> None:
        if self.at("end", "}"):  # ptxas wants the semicolon; the end of the text is as clear
            return
        self._expect(";")

    # -- statements --------------------------------------------------------------------------------------------------
    def statement(self) -> Iterator[Statement]:
        token = self._next
        if token.text == ";":
            self._take()
        elif token.text == "{":
            yield self._block()
        elif token.kind == "dotted":
            yield self._directive()
        elif token.kind == "word" and self._tokens[self._at + 1].text == ":":
            self._take()
            self._take()
            yield Label(token.text, token.start)
        else:
            yield self._instruction()

    def _block(self) -> Block:
        self._expect("{")
        statements: list[Statement] = []
        while not self.at("}"):
            if self.at("end"):
                raise PtxSyntaxError("'{' without '}'", self._next.start)
            statements.extend(self.statement())
        self._expect("}")
        return Block(tuple(statements))

    def _directive(self) -> Statement:
        first = self._take()
        if first.text in _PRAGMA:
            words = [first.text]
            while not self.at(";", "end"):
                words.append(self._take().text)
            self._end_of_statement()
            return Pragma(" ".join(words))
        if first.text not in _SPACES:
            raise PtxSyntaxError(f"unknown directive {first.text!r}", first.start)
        while self.at(_ALIGN):
            self._take()
            self._take()
        components = int(self._take().text[2:]) if self.at(*_VECTORS) else 1
        kind = self._take()
        if kind.kind != "dotted":
            raise PtxSyntaxError(f"expected a type, found {kind.text!r}", kind.start)
        names: list[str] = []
        while True:
            names.extend(self._declared())
            if not self.at(","):
                break
            self._take()
        self._end_of_statement()
        return Declaration(first.text[1:], kind.text[1:], tuple(names), components, first.start)

    def _declared(self) -> list[str]:
        token = self._take()
        if token.kind not in ("word", "register"):
            raise PtxSyntaxError(f"expected a name, found {token.text!r}", token.start)
        name = self._plain(token)
        if self.at("<"):
            self._take()
            count = self._integer(self._take())
            self._expect(">")
            return [f"{name}{i}" for i in range(count)]
        if self.at("["):
            raise PtxSyntaxError("arrays are not understood", self._next.start)
        return [name]

    def _instruction(self) -> Instruction:
        guard = None
        if self.at("@"):
            self._take()
            negated = self.at("!")
            if negated:
                self._take()
            guard = Guard(self._operand(), negated)
        opcode = self._take()
        if opcode.kind != "word":
            raise PtxSyntaxError(f"expected an instruction, found {opcode.text!r}", opcode.start)
        modifiers: list[str] = []
        while self._next.kind == "dotted":
            modifiers.append(self._take().text[1:])
        operands: list[Operand] = []
        if not self.at(";", "end", "}"):
            operands.append(self._operand())
            while self.at(","):
                self._take()
                operands.append(self._operand())
        self._end_of_statement()
        return Instruction(opcode.text, tuple(modifiers), tuple(operands), guard, opcode.start)

    # -- operands ----------------------------------------------------------------------------------------------------
    def _operand(self) -> Operand:
        first = self._simple()
        if self._next.kind == "dotted" and _PART.fullmatch(self._next.text):
            first = Part(first, self._take().text[1:])
        if self.at("|"):
            self._take()
            return Pair(first, self._simple())
        return first

    def _simple(self) -> Operand:
        token = self._take()
        match token.kind, token.text:
            case "operand", text:
                return AsmOperand(int(text[1:]))
            case "register", _:
                return self._register(token)
            case (("integer" | "float"), _):
                return self._number(token, negative=False)
            case "word", "_":
                return Sink()
            case "word", "WARP_SZ":
                return Integer(32)
            case "word", text:
                if self.at(*_COMPONENTS) and self._next.start == token.end:
                    text += self._take().text
                return Name(text)
            case _, "-":
                if self._next.kind in ("operand", "register", "word"):
                    negated = self._simple()
                    if self._next.kind == "dotted" and _PART.fullmatch(self._next.text):
                        negated = Part(negated, self._take().text[1:])
                    return Negative(negated)
                return self._number(self._take(), negative=True)
            case _, "!":
                return Not(self._simple())
            case _, "{":
                return Vector(self._list("}"))
            case _, "(":
                return Group(self._list(")"))
            case _, "[":
                return self._address()
        raise PtxSyntaxError(f"expected an operand, found {token.text!r}", token.start)

    def _list(self, closing: str) -> tuple[Operand, ...]:
        items: list[Operand] = []
        while not self.at(closing):
            items.append(self._operand())
            if not self.at(","):
                break
            self._take()
        self._expect(closing)
        return tuple(items)

    def _address(self) -> Address:
        base = self._simple()
        offset: Operand | None = None
        coordinates: tuple[Operand, ...] = ()
        if self.at("+"):
            self._take()
            offset = self._simple()
        elif self.at("-"):
            offset = self._simple()
        elif self.at(","):
            self._take()
            second = self._simple()
            coordinates = second.items if isinstance(second, Vector) else (second,)
        self._expect("]")
        return Address(base, offset, coordinates)

    def _plain(self, token: _Token) -> str:
        """A register's name without the escape of extended asm: ``%%r`` and ``%r`` are ``%r``, ``r`` stays.

        nvcc takes ``%r`` in statements with operands as well.
        """
        if token.text.startswith("%%"):
            if not self._extended:
                raise PtxSyntaxError("'%%' needs an asm statement with operands", token.start)
            return token.text[1:]
        return token.text

    def _register(self, token: _Token) -> Operand:
        name = self._plain(token)
        if name[1:].split(".")[0] in SPECIAL_REGISTERS:
            return SpecialRegister(name[1:])
        return Name(name)

    @staticmethod
    def _integer(token: _Token) -> int:
        text = token.text.rstrip("U")
        if token.kind != "integer":
            raise PtxSyntaxError(f"expected a number, found {token.text!r}", token.start)
        if len(text) > 1 and text[0] == "0" and text.isdigit():
            return int(text, 8)
        return int(text, 0)

    def _number(self, token: _Token, *, negative: bool) -> Operand:
        if token.kind == "integer":
            value = self._integer(token)
            return Integer(-value if negative else value)
        if token.kind != "float":
            raise PtxSyntaxError(f"expected a number, found {token.text!r}", token.start)
        text = token.text
        if text[:2] in ("0f", "0F"):
            return Float(int(text[2:], 16) ^ (0x80000000 if negative else 0), 32)
        bits = int(text[2:], 16) if text[:2] in ("0d", "0D") else struct.unpack("<Q", struct.pack("<d", float(text)))[0]
        return Float(bits ^ (1 << 63 if negative else 0), 64)


_SPECIAL = (
    "tid ntid laneid warpid nwarpid ctaid nctaid smid nsmid gridid is_explicit_cluster clusterid nclusterid "
    "cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank lanemask_eq lanemask_le lanemask_lt lanemask_ge "
    "lanemask_gt clock clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi total_smem_size aggr_smem_size "
    "dynamic_smem_size current_graph_exec reserved_smem_offset_begin reserved_smem_offset_end "
    "reserved_smem_offset_cap reserved_smem_offset_0 reserved_smem_offset_1"
)
SPECIAL_REGISTERS = frozenset(
    (
        *_SPECIAL.split(),
        *(f"pm{i}{suffix}" for i in range(8) for suffix in ("", "_64")),
        *(f"envreg{i}" for i in range(32)),
    )
)
