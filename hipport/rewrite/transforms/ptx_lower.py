"""One asm statement with PTX text to C++: scopes, guards, operand binding, layout of the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hipport.rewrite.transforms import (  # noqa: F401 - each fills the table
    ptx_float,
    ptx_integer,
    ptx_matrix,
    ptx_memory,
    ptx_refused,
    ptx_sync,
    ptx_video,
    ptx_wmma,
)
from hipport.rewrite.transforms.ptx_context import CPP, PTX, TABLE, Context, Modifiers, Note, Refusal, Variable
from hipport.rewrite.transforms.ptx_memory import storage_of
from hipport.rewrite.transforms.ptx_refused import hopper, is_refused
from hipport.rewrite.transforms.ptx_sync import label
from hipport.syntax.ptx import (
    Address,
    AsmOperand,
    Block,
    Declaration,
    Instruction,
    Label,
    Negative,
    Not,
    Operand,
    Pair,
    Part,
    Pragma,
    PtxSyntaxError,
    Statement,
    Vector,
    parse_ptx,
)
from hipport.syntax.ptx_asm import AsmStatement, Constraint

HEADER = "hipport/ptx.h"
_SIMPLE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[\w+\])*\Z|\d\w*\Z")


@dataclass(frozen=True, slots=True)
class Lowered:
    """C++ in place of an asm statement.

    Attributes:
        text: an expression or ``do { } while (false)``, without the final semicolon.
        lines: the same as separate lines when it is a block, for a caller that may use several lines.
        includes: headers that it needs.
        notes: what a person should know.
    """

    text: str
    lines: tuple[str, ...]
    includes: tuple[str, ...]
    notes: tuple[Note, ...]


def lower_asm(statement: AsmStatement, *, in_kernel: bool = False) -> Lowered:
    """Lower the PTX of one asm statement.

    Args:
        statement: from `hipport.syntax.ptx_asm.parse_asm`.
        in_kernel: it stands directly in a ``__global__`` function.

    Raises:
        Refusal: it cannot be lowered.
        PtxSyntaxError: its text is not PTX.
    """
    tree = parse_ptx(statement.text, extended=statement.extended)
    return _Lowering(statement, tree, in_kernel=in_kernel).result()


def instructions(statements: Iterable[Statement]) -> Iterator[Instruction]:
    """All instructions, blocks included, in order."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from instructions(statement.statements)
        elif isinstance(statement, Instruction):
            yield statement


class _Lowering:
    def __init__(self, statement: AsmStatement, tree: Block, *, in_kernel: bool) -> None:
        self._statement = statement
        self._tree = tree
        self._all = list(instructions(tree.statements))
        self._uses: dict[int, int] = {}
        for instruction in self._all:
            for index in _indices(instruction.operands):
                self._uses[index] = self._uses.get(index, 0) + 1
        self._bind = len(self._all) > 1 or any(i.guard for i in self._all) or self._has_labels(tree)
        self._before: list[str] = []
        self._after: list[str] = []
        self._scopes: list[dict[str, Variable]] = [{}]
        self._taken: set[str] = set()
        self._context = Context(self._operands(), self._lookup, in_kernel=in_kernel)
        self._offset = 0

    @staticmethod
    def _has_labels(block: Block) -> bool:
        return any(
            isinstance(s, Label) or (isinstance(s, Block) and _Lowering._has_labels(s)) for s in block.statements
        )

    def result(self) -> Lowered:
        for instruction in self._all:  # the reason a person needs most comes first
            if instruction.opcode not in TABLE or is_refused(instruction):
                self._refuse(instruction)
        body = self._block(self._tree)
        context = self._context
        labels = [d for d in context.declarations if d.startswith("__label__")]
        declared = [*labels, *self._before, *(d for d in context.declarations if d not in labels)]
        lines = [f"{d};" for d in declared] + body + [f"{a};" for a in self._after]
        includes = (
            tuple(sorted({HEADER} | context.includes))
            if any("hipport::ptx::" in x for x in lines)
            else tuple(sorted(context.includes))
        )
        notes = tuple(context.notes)
        if not lines:
            return Lowered(self._empty(), (), includes, notes)
        if (
            len(lines) == 1
            and not self._before
            and "{" not in lines[0].split("(")[0]
            and not lines[0].startswith(("const auto", "if "))
        ):
            return Lowered(lines[0].removesuffix(";"), (), includes, notes)
        return Lowered("do { " + " ".join(lines) + " } while (false)", tuple(lines), includes, notes)

    def _empty(self) -> str:
        """An asm statement without instructions: a compiler barrier, or a way to hide a value from the optimiser."""
        if "memory" in self._statement.clobbers:
            return "__atomic_signal_fence(__ATOMIC_SEQ_CST)"
        return "static_cast<void>(0)"

    def _refuse(self, instruction: Instruction) -> None:
        self._offset = instruction.offset
        if is_refused(instruction):
            raise hopper(instruction)
        raise Refusal(
            "HP500",
            f"PTX instruction '{instruction.name}' is unknown",
            "write the statement in C++ for AMD, or add the instruction to the PTX table",
            instruction.opcode,
        )

    # -- operands ----------------------------------------------------------------------------------------------------
    def _operands(self) -> dict[int, Variable]:
        constraints = self._statement.operands
        n_outputs = sum(1 for c in constraints if c.written)
        variables: dict[int, Variable] = {}
        for index, constraint in enumerate(constraints):
            variables[index] = self._variable(index, constraint, n_outputs)
        return variables

    def _variable(self, index: int, constraint: Constraint, n_outputs: int) -> Variable:
        letter = constraint.letter
        if letter.isdigit():  # matching constraint: an input in the place of an output
            return self._matched(index, int(letter), constraint)
        storage = storage_of(letter)
        text = constraint.expression
        if not text:
            raise Refusal("HP504", f"asm operand %{index} is empty", "correct the statement", "operand")
        if storage == "imm":
            return Variable(text if _SIMPLE.match(text) else f"({text})", storage)
        aliased = n_outputs > 1 and constraint.written and not _SIMPLE.match(text)
        often = self._uses.get(index, 0) > 1 and not _SIMPLE.match(text)
        if not (self._bind or aliased or often):
            return Variable(text, storage)
        if constraint.written and not self._bind:
            self._before.append(f"auto&& ptx_{index} = {text}")
            return Variable(f"ptx_{index}", storage)
        name = f"ptx_{index}"
        value = f"{PTX}bits64({text})" if storage == "u64" and constraint.read else text
        if constraint.read:
            self._before.append(f"{CPP[storage]} {name} = {value}")
        else:
            self._before.append(f"{CPP[storage]} {name} = 0")
        if constraint.written:
            if storage == "u64":
                self._after.append(f"{PTX}assign({text}, {name})")
            else:
                self._after.append(f"{text} = {name}")
        return Variable(name, storage)

    def _matched(self, index: int, output: int, constraint: Constraint) -> Variable:
        constraints = self._statement.operands
        if output >= len(constraints) or not constraints[output].written:
            raise Refusal("HP501", f"asm constraint '{constraint.text}' names no output", "correct it", "constraint")
        self._bind = True
        storage = storage_of(constraints[output].letter)
        name = f"ptx_{output}"
        for i, line in enumerate(self._before):
            if line == f"{CPP[storage]} {name} = 0":
                value = f"{PTX}bits64({constraint.expression})" if storage == "u64" else constraint.expression
                self._before[i] = f"{CPP[storage]} {name} = {value}"
                return Variable(name, storage)
        raise Refusal(
            "HP501", f"asm constraint '{constraint.text}' is not understood", "use '+' constraints", "constraint"
        )

    def _lookup(self, name: str) -> Variable | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    # -- statements --------------------------------------------------------------------------------------------------
    def _block(self, block: Block) -> list[str]:
        self._scopes.append({})
        lines: list[str] = []
        for statement in block.statements:
            match statement:
                case Block():
                    lines += self._block(statement)
                case Declaration():
                    self._declare(statement)
                case Label(name, _):
                    self._context.declare(f"__label__ {label(name)}")
                    lines.append(f"{label(name)}:;")
                case Pragma():
                    pass
                case Instruction():
                    lines += self._instruction(statement)
        self._scopes.pop()
        return lines

    def _declare(self, declaration: Declaration) -> None:
        self._offset = declaration.offset
        if declaration.space != "reg":
            raise Refusal(
                "HP506",
                f"a .{declaration.space} variable declared inside inline PTX",
                "declare it in C++",
                f".{declaration.space}",
            )
        storage = {"pred": "pred", "f32": "f32", "f64": "f64"}.get(declaration.type)
        if storage is None:
            if declaration.type not in CPP:
                raise Refusal(
                    "HP502", f"register type '.{declaration.type}' is not understood", "use .b16, .b32 or .b64", ".reg"
                )
            storage = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[_size(declaration.type)]
        for name in declaration.names:
            parts = [f"{name}.{c}" for c in "xyzw"[: declaration.components]] if declaration.components > 1 else [name]
            for part in parts:
                unique = base = "ptx_" + "".join(c if c.isalnum() else "_" for c in part.lstrip("%"))
                number = 1
                while unique in self._taken or re.fullmatch(r"ptx_(?:v?\d+|carry|all)", unique):
                    unique = f"{base}_{number}"
                    number += 1
                self._taken.add(unique)
                self._scopes[-1][part] = Variable(unique, storage)
                self._context.declare(f"{CPP[storage]} {unique} = 0" if storage != "pred" else f"bool {unique} = false")

    def _instruction(self, instruction: Instruction) -> list[str]:
        self._offset = instruction.offset
        context = self._context
        context.instruction = instruction
        context.lines = []
        TABLE[instruction.opcode].lower(context, Modifiers(instruction))
        lines = [f"{line};" for line in context.lines]
        if instruction.guard is None:
            scoped = len(self._all) > 1 and any(line.startswith("const auto") for line in lines)
            return [f"{{ {' '.join(lines)} }}"] if scoped else lines
        test = context.read(instruction.guard.operand, "pred")
        test = f"!{test}" if instruction.guard.negated else test
        if len(lines) == 1:
            return [f"if ({test}) {lines[0]}"]
        return [f"if ({test}) {{ {' '.join(lines)} }}"]


def _size(kind: str) -> int:
    return {"char": 1, "short": 2, "int": 4, "unsigned": 4, "long": 8, "float": 4, "double": 8}[CPP[kind].split()[-1]]


def _indices(operands: Iterable[Operand]) -> Iterator[int]:
    """Numbers of the asm operands in operand trees."""
    for operand in operands:
        match operand:
            case AsmOperand(index):
                yield index
            case Vector(items):
                yield from _indices(items)
            case Pair(first, second):
                yield from _indices((first, second))
            case Part(inner) | Negative(inner) | Not(inner):
                yield from _indices((inner,))
            case Address(base, offset, coordinates):
                yield from _indices((base, *coordinates, *((offset,) if offset is not None else ())))


__all__ = ["Lowered", "PtxSyntaxError", "instructions", "lower_asm"]
