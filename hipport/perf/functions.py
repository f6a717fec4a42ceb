"""Functions of a code object as instructions with branch targets."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from hipport.codeobject import CodeObject, disassemble

_PADDING = frozenset({"s_nop", "s_code_end"})
_DIRECT_BRANCHES = ("s_branch", "s_cbranch_")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: in the ELF, bytes.
        opcode: mnemonic with its encoding suffix, ``v_add_f32_e32``.
        operands: as LLVM writes them.
        target: address that a direct branch goes to, None otherwise.
    """

    address: int
    opcode: str
    operands: str = ""
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function: symbol name, and instructions in order without the padding at the end."""

    name: str
    instructions: tuple[Instruction, ...]


def functions_of(code: CodeObject) -> dict[str, Function]:
    """Every function with a size, by name.

    Raises:
        HipportError: it cannot be disassembled.
    """
    everything = disassemble(code)
    addresses = [instruction.address for instruction in everything]
    found = {}
    for symbol in code.symbols:
        if symbol.kind == "func" and symbol.bytes:
            first = bisect.bisect_left(addresses, symbol.address)
            last = bisect.bisect_left(addresses, symbol.address + symbol.bytes)
            body = [
                instruction(plain.address, plain.text, plain.words[0] if plain.words else 0)
                for plain in everything[first:last]
            ]
            while body and body[-1].opcode in _PADDING:
                body.pop()
            found[symbol.name] = Function(symbol.name, tuple(body))
    return found


def instruction(address: int, text: str, word: int) -> Instruction:
    """From an instruction's text and first word.

    A direct branch jumps by its signed 16-bit immediate, in words, from the instruction that follows (all ISA guides,
    format SOPP).
    """
    opcode, _, operands = text.partition(" ")
    target = None
    if opcode.startswith(_DIRECT_BRANCHES):
        offset = word & 0xFFFF
        target = address + 4 + 4 * (offset - 0x10000 if offset & 0x8000 else offset)
    return Instruction(address, opcode, operands.strip(), target)
