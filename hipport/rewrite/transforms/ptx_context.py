"""What the lowering of one PTX instruction sees and writes: typed operands in, C++ statements out."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hipport.syntax.ptx import (
    Address,
    AsmOperand,
    Float,
    Instruction,
    Integer,
    Name,
    Not,
    Operand,
    Pair,
    Sink,
    SpecialRegister,
    Vector,
)

PTX = "hipport::ptx::"

#: C++ type that holds a value of a PTX type. Half-precision values travel as bits, as they do in PTX registers.
CPP = {
    "u8": "unsigned char",
    "s8": "signed char",
    "b8": "unsigned char",
    "u16": "unsigned short",
    "s16": "short",
    "b16": "unsigned short",
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "u32": "unsigned",
    "s32": "int",
    "b32": "unsigned",
    "f16x2": "unsigned",
    "bf16x2": "unsigned",
    "u16x2": "unsigned",
    "s16x2": "unsigned",
    "u8x4": "unsigned",
    "s8x4": "unsigned",
    "tf32": "unsigned",
    "e4m3x2": "unsigned short",
    "e5m2x2": "unsigned short",
    "e2m3x2": "unsigned short",
    "e3m2x2": "unsigned short",
    "ue8m0x2": "unsigned short",
    "e2m1x2": "unsigned char",
    "u64": "unsigned long long",
    "f32x2": "unsigned long long",
    "s64": "long long",
    "b64": "unsigned long long",
    "f32": "float",
    "f64": "double",
    "pred": "bool",
}
SIZE = {name: {"char": 1, "short": 2, "int": 4, "unsigned": 4, "long": 8, "float": 4, "double": 8, "bool": 0}[
    cpp.split()[-1]
] for name, cpp in CPP.items()}  # fmt: skip

#: Storage of an asm operand by its constraint letter.
STORAGE = {"h": "u16", "r": "u32", "l": "u64", "f": "f32", "d": "f64", "n": "imm", "i": "imm"}


class Refusal(Exception):  # noqa: N818 - not an error of the tool: the answer "this cannot be lowered"
    """The instruction cannot be carried over.

    Attributes:
        id: diagnostic id.
        message: one line.
        next_step: what to do instead.
        subject: the instruction or modifier, for grouping.
    """

    def __init__(self, id_: str, message: str, next_step: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.id = id_
        self.message = message
        self.next_step = next_step
        self.subject = subject


@dataclass(frozen=True, slots=True)
class Note:
    """A finding about an instruction that was lowered."""

    id: str
    message: str
    next_step: str
    subject: str
    offset: int


@dataclass(frozen=True, slots=True)
class Variable:
    """An asm operand or a PTX register as C++ sees it: an expression and the PTX type of its storage (or ``imm``)."""

    text: str
    storage: str


class Modifiers:
    """The words after the opcode, taken one by one; what nobody takes is unknown."""

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self._left = list(instruction.modifiers)

    def flag(self, *names: str) -> bool:
        """Take the first of ``names`` that is there."""
        for name in names:
            if name in self._left:
                self._left.remove(name)
                return True
        return False

    def one_of(self, names: Iterable[str], default: str = "") -> str:
        """Take the first modifier that is one of ``names``."""
        wanted = set(names)
        for word in self._left:
            if word in wanted:
                self._left.remove(word)
                return word
        return default

    def take(self, pattern: str) -> list[str]:
        """Take all modifiers that match a regular expression."""
        found = [word for word in self._left if re.fullmatch(pattern, word)]
        self._left = [word for word in self._left if word not in found]
        return found

    def type(self, *allowed: str) -> str:
        """Take the next modifier, which must be one of the PTX types ``allowed``."""
        for word in self._left:
            if word in allowed:
                self._left.remove(word)
                return word
        raise self.unknown(self._left[-1] if self._left else "")

    def end(self) -> None:
        """Nothing may be left.

        Raises:
            Refusal: something is.
        """
        if self._left:
            raise self.unknown(self._left[0])

    def unknown(self, word: str) -> Refusal:
        """The refusal for a modifier that is not understood."""
        name = self._instruction.name
        what = f"modifier '.{word}'" if word else "the missing type"
        return Refusal(
            "HP502",
            f"{what} of PTX instruction '{name}' is not understood",
            "write the statement in C++ for AMD, or add the form to the PTX table",
            name,
        )


class Context:
    """Collects the C++ for one asm statement.

    Args:
        variables: asm operands by index.
        lookup: register name to variable in the current scope.
        in_kernel: the statement stands in a ``__global__`` function itself.
    """

    def __init__(
        self, variables: dict[int, Variable], lookup: Callable[[str], Variable | None], *, in_kernel: bool = False
    ) -> None:
        self._variables = variables
        self.lookup = lookup
        self.in_kernel = in_kernel
        self.instruction = Instruction("", (), ())
        self.lines: list[str] = []
        self.declarations: list[str] = []
        self.includes: set[str] = set()
        self.notes: list[Note] = []
        self.carry_set = False
        self._n_temporaries = 0

    # -- output ------------------------------------------------------------------------------------------------------
    def do(self, statement: str) -> None:
        """Append a C++ statement without its semicolon."""
        self.lines.append(statement)

    def declare(self, declaration: str) -> None:
        """Append a declaration at the start of the block, once."""
        if declaration not in self.declarations:
            self.declarations.append(declaration)

    def temporary(self, expression: str) -> str:
        """Keep a value under a fresh name."""
        name = f"ptx_v{self._n_temporaries}"
        self._n_temporaries += 1
        self.do(f"const auto {name} = {expression}")
        return name

    def note(self, id_: str, message: str, next_step: str = "", subject: str = "") -> None:
        """Report something about the current instruction."""
        note = Note(id_, message, next_step, subject or self.instruction.name, self.instruction.offset)
        if note not in self.notes:
            self.notes.append(note)

    # -- operands ----------------------------------------------------------------------------------------------------
    def operand(self, index: int) -> Operand:
        """Operand of the current instruction.

        Raises:
            Refusal: there are fewer.
        """
        operands = self.instruction.operands
        if index >= len(operands):
            raise self.wrong(f"operand {index + 1} is missing")
        return operands[index]

    def expect(self, *counts: int) -> None:
        """The instruction must have one of these numbers of operands."""
        if len(self.instruction.operands) not in counts:
            raise self.wrong(f"{len(self.instruction.operands)} operands")

    def wrong(self, what: str) -> Refusal:
        """The refusal for an instruction whose operands make no sense."""
        name = self.instruction.name
        return Refusal("HP504", f"PTX instruction '{name}': {what}", "correct the PTX", name)

    def variable(self, operand: Operand) -> Variable:
        """What stands behind a register or ``%n``.

        Raises:
            Refusal: an undeclared name or an operand number out of range.
        """
        if isinstance(operand, AsmOperand):
            found = self._variables.get(operand.index)
            if found is None:
                raise self.wrong(f"'%{operand.index}' names no operand")
            return found
        if isinstance(operand, Name):
            variable = self.lookup(operand.name)
            if variable is None:
                raise self.wrong(f"'{operand.name}' is not declared")
            return variable
        raise self.wrong("a register was expected")

    def read(self, operand: Operand, kind: str) -> str:
        """C++ expression of the operand's value as PTX type ``kind``.

        The bits are those of the register: an f32 instruction on an ``"r"`` operand reinterprets them.
        """
        if isinstance(operand, Integer):
            return self._integer(operand.value, kind)
        if isinstance(operand, Float):
            return _float_literal(operand, kind)
        if isinstance(operand, SpecialRegister):
            from hipport.rewrite.transforms.ptx_special import special_register

            return special_register(self, operand.name, kind)
        if isinstance(operand, Not) and kind == "pred":
            return f"!{self.read(operand.operand, kind)}"
        if isinstance(operand, Vector):
            return self._packed(operand, kind)
        variable = self.variable(operand)
        return self._converted(variable, kind)

    def _converted(self, variable: Variable, kind: str) -> str:
        storage, text = variable.storage, variable.text
        if kind == "pred" or storage == "pred":
            if kind != storage:
                raise self.wrong("a predicate where a value is expected, or the reverse")
            return text
        if storage == "imm":
            if kind == "f32":
                return f"__uint_as_float({text})"
            if kind == "f64":
                return f"__longlong_as_double({text})"
            return text
        if storage == kind or (CPP[storage] == CPP[kind]):
            return self._address_bits(text, storage)
        size, wanted = SIZE[storage], SIZE[kind]
        if storage == "f32":
            if wanted == 4:
                return f"__float_as_uint({text})"
        elif storage == "f64":
            if wanted == 8:
                return f"(unsigned long long)__double_as_longlong({text})"
        elif kind == "f32":
            if size == 4:
                return f"__uint_as_float({text})"
        elif kind == "f64":
            if size == 8:
                return f"__longlong_as_double({self._address_bits(text, storage)})"
        elif size >= wanted:
            return self._address_bits(text, storage)
        raise self.wrong(f"a .{storage} operand where a .{kind} value is expected")

    def _address_bits(self, text: str, storage: str) -> str:
        """A 64-bit operand may be a pointer; instructions that compute addresses must take it as an integer."""
        if storage == "u64" and self.instruction.opcode in _POINTER_OPCODES and not text.startswith("ptx_"):
            return f"{PTX}bits64({text})"
        return text

    def _integer(self, value: int, kind: str) -> str:
        if kind == "pred":
            return "true" if value else "false"
        if kind in ("f32", "f64"):
            raise self.wrong("an integer constant where a floating-point value is expected")
        if SIZE[kind] == 8:
            return f"{value & (1 << 64) - 1:#x}ull" if not -(1 << 31) <= value < 1 << 31 else str(value)
        if value > 9999 or value < -(1 << 31):
            return f"{value & 0xFFFFFFFF:#x}u" if value >= 1 << 31 or value < 0 else f"{value:#x}"
        return str(value)

    def _packed(self, operand: Vector, kind: str) -> str:
        items = operand.items
        if len(items) == 2 and SIZE[kind] in (2, 4, 8):
            half = {2: "b8", 4: "b16", 8: "b32"}[SIZE[kind]]
            return f"{PTX}pack({self.typed(items[0], half)}, {self.typed(items[1], half)})"
        if len(items) == 4 and SIZE[kind] in (4, 8):
            quarter = "b8" if SIZE[kind] == 4 else "b16"
            return f"{PTX}pack({', '.join(self.typed(item, quarter) for item in items)})"
        raise self.wrong(f"a vector of {len(items)} where a .{kind} value is expected")

    def typed(self, operand: Operand, kind: str) -> str:
        """`read`, with a cast so that the C++ type is exactly that of ``kind``."""
        text = self.read(operand, kind)
        if text.startswith("ptx_") and text.isidentifier() and CPP.get(self._storage(operand)) == CPP[kind]:
            return text
        if text.startswith(f"static_cast<{CPP[kind]}>("):
            return text
        return f"static_cast<{CPP[kind]}>({text})"

    def _storage(self, operand: Operand) -> str:
        return self.variable(operand).storage if isinstance(operand, AsmOperand | Name) else ""

    def constant(self, operand: Operand) -> str:
        """C++ constant expression of an immediate (a number or an ``"n"`` operand).

        Raises:
            Refusal: the operand is not known at compile time.
        """
        if isinstance(operand, Integer):
            return str(operand.value)
        if isinstance(operand, AsmOperand):
            variable = self.variable(operand)
            if variable.storage == "imm":
                return variable.text
        raise self.wrong("an immediate is needed")

    def is_constant(self, operand: Operand) -> bool:
        """True for a number or an ``"n"`` operand."""
        if isinstance(operand, Integer):
            return True
        return isinstance(operand, AsmOperand) and self.variable(operand).storage == "imm"

    def set(self, operand: Operand, kind: str, expression: str) -> None:
        """Write the value ``expression`` of PTX type ``kind`` to a destination."""
        if isinstance(operand, Sink):
            self.do(f"(void){expression}")
            return
        if isinstance(operand, Vector):
            self._unpack(operand, kind, expression)
            return
        if isinstance(operand, Pair):
            raise self.wrong("two destinations")
        variable = self.variable(operand)
        storage, text = variable.storage, variable.text
        if storage == "imm":
            raise self.wrong("the destination is an immediate")
        if (storage == "pred") != (kind == "pred"):
            raise self.wrong("a predicate where a value is expected, or the reverse")
        if CPP[storage] != CPP[kind]:
            if storage == "f32":
                if SIZE[kind] != 4:
                    raise self.wrong(f"a .{kind} result in a .{storage} register")
                expression = f"__uint_as_float({expression})"
            elif storage == "f64":
                if SIZE[kind] != 8:
                    raise self.wrong(f"a .{kind} result in a .{storage} register")
                expression = f"__longlong_as_double({expression})"
            elif kind == "f32":
                if SIZE[storage] != 4:
                    raise self.wrong(f"a .{kind} result in a .{storage} register")
                expression = f"__float_as_uint({expression})"
            elif kind == "f64":
                if SIZE[storage] != 8:
                    raise self.wrong(f"a .{kind} result in a .{storage} register")
                expression = f"__double_as_longlong({expression})"
            elif SIZE[storage] < SIZE[kind]:
                raise self.wrong(f"a .{kind} result in a .{storage} register")
        if storage == "u64" and self.instruction.opcode in _POINTER_OPCODES and not text.startswith("ptx_"):
            self.do(f"{PTX}assign({text}, {expression})")
        else:
            self.do(f"{text} = {expression}")

    def _unpack(self, operand: Vector, kind: str, expression: str) -> None:
        count = len(operand.items)
        part = {(2, 2): "b8", (4, 2): "b16", (8, 2): "b32", (4, 4): "b8", (8, 4): "b16"}.get((SIZE[kind], count))
        if part is None:
            raise self.wrong(f"a .{kind} value does not split into {count} registers")
        name = self.temporary(f"{PTX}unpack<{CPP[part]}>({expression})")
        for i, item in enumerate(operand.items):
            if not isinstance(item, Sink):
                self.set(item, part, f"{name}[{i}]")

    def spread(self, operand: Operand, kind: str, expression: str) -> None:
        """Write an array value (``hipport::ptx::vec``) to the registers of a vector, or element 0 to one register."""
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if len(items) == 1:
            self.set(items[0], kind, f"{expression}[0]")
            return
        name = self.temporary(expression)
        for i, item in enumerate(items):
            if not isinstance(item, Sink):
                self.set(item, kind, f"{name}[{i}]")

    def vector(self, operand: Operand) -> tuple[Operand, ...]:
        """Registers of ``{...}``, or the one register."""
        return operand.items if isinstance(operand, Vector) else (operand,)

    # -- addresses ---------------------------------------------------------------------------------------------------
    def pointer(self, operand: Operand, space: str, cpp_type: str) -> str:
        """C++ pointer to ``cpp_type`` in a state space (``global``, ``shared``, ``generic``, ...)."""
        if not isinstance(operand, Address):
            raise self.wrong("an address in brackets is expected")
        if operand.coordinates:
            raise self.wrong("tensor coordinates")
        base = operand.base
        if isinstance(base, Integer):
            raise self.wrong("a constant address")
        variable = self.variable(base)
        if variable.storage not in ("u32", "u64"):
            raise self.wrong(f"an address in a .{variable.storage} register")
        maker = {"global": "global", "shared": "shared", "shared::cta": "shared", "generic": "generic", "": "generic"}
        if space not in maker:
            raise Refusal(
                "HP506",
                f"PTX instruction '{self.instruction.name}' uses the .{space} state space: no counterpart here",
                "pass a generic or global pointer",
                self.instruction.name,
            )
        if maker[space] != "shared" and variable.storage == "u32":
            raise self.wrong("a 32-bit address outside shared memory")
        none = operand.offset is None or operand.offset == Integer(0)
        offset = "" if none or operand.offset is None else f", {self.read(operand.offset, 's32')}"
        return f"{PTX}{maker[space]}<{cpp_type}>({variable.text}{offset})"


_POINTER_OPCODES = {"add", "sub", "mov", "cvta", "ld", "ldu", "st", "selp", "and", "or", "mad", "atom", "isspacep"}


def _float_literal(operand: Float, kind: str) -> str:
    if kind in ("f32", "b32", "u32", "s32"):
        if operand.bits_wide == 64:
            value = struct.unpack("<d", struct.pack("<Q", operand.bits))[0]
            bits = struct.unpack("<I", struct.pack("<f", value))[0]
        else:
            bits = operand.bits
        return f"__uint_as_float({bits:#010x}u)" if kind == "f32" else f"{bits:#010x}u"
    if operand.bits_wide == 32:
        value = struct.unpack("<f", struct.pack("<I", operand.bits))[0]
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    else:
        bits = operand.bits
    if kind == "f64":
        return f"__longlong_as_double({bits:#018x}ull)"
    return f"{bits:#018x}ull"


Lower = Callable[[Context, Modifiers], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One opcode of the lowering table.

    Attributes:
        opcode: first word of the instruction.
        lower: writes the C++ for one instruction.
        family: chapter of the documentation page it belongs to.
    """

    opcode: str
    lower: Lower = field(repr=False)
    family: str = ""


TABLE: dict[str, Entry] = {}


def lowers(*opcodes: str, family: str) -> Callable[[Lower], Lower]:
    """Register a function as the lowering of ``opcodes``.

    Raises:
        ValueError: an opcode is registered already.
    """

    def register(function: Lower) -> Lower:
        for opcode in opcodes:
            if opcode in TABLE:
                raise ValueError(f"PTX opcode {opcode} has two lowerings")
            TABLE[opcode] = Entry(opcode, function, family)
        return function

    return register
