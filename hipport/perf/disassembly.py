"""Functions of a code object as instructions: the text of ``llvm-objdump -d``, parsed."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hipport.core import HipportError, ToolchainError
from hipport.sdk import Sdk

_FUNCTION = re.compile(r"^([0-9a-f]{8,16}) <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s+(\S+)\s*(.*?)\s*//\s*([0-9A-Fa-f]{8,}):(.*)$")
_TARGET = re.compile(r"<(.+?)(?:\+0x([0-9a-f]+))?>\s*$")
_PADDING = frozenset({"s_nop", "s_code_end"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: in bytes, as in the object file.
        opcode: mnemonic with its encoding suffix, ``v_add_f32_e32``.
        operands: as written.
        target: address that a branch goes to, None otherwise.
    """

    address: int
    opcode: str
    operands: str
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function: symbol name, first address, instructions in order; trailing padding is left out."""

    name: str
    address: int
    instructions: tuple[Instruction, ...]


def parse_objdump(text: str) -> tuple[Function, ...]:
    """Functions of a disassembly, in order."""
    functions: list[tuple[str, int, list[Instruction]]] = []
    branches: list[tuple[int, int, str, int]] = []  # function, instruction, symbol, offset
    for line in text.splitlines():
        head = _FUNCTION.match(line)
        if head:
            functions.append((head[2], int(head[1], 16), []))
            continue
        found = _INSTRUCTION.match(line)
        if not found or not functions:
            continue
        body = functions[-1][2]
        target = _TARGET.search(found[4])
        if target:
            branches.append((len(functions) - 1, len(body), target[1], int(target[2] or "0", 16)))
        body.append(Instruction(int(found[3], 16), found[1], found[2]))
    starts = {name: address for name, address, _ in functions}
    for function, index, symbol, offset in branches:
        body = functions[function][2]
        if symbol in starts:
            old = body[index]
            body[index] = Instruction(old.address, old.opcode, old.operands, starts[symbol] + offset)
    for _, _, body in functions:
        while body and body[-1].opcode in _PADDING:
            body.pop()
    return tuple(Function(name, address, tuple(body)) for name, address, body in functions)


def disassemble(path: Path, sdk: Sdk) -> tuple[Function, ...]:
    """Disassemble a code object with the SDK's ``llvm-objdump``.

    Raises:
        HipportError: the file is no code object.
        ToolchainError: the tool is missing or fails.
    """
    tool = sdk.tool("llvm-objdump")
    try:
        done = subprocess.run([str(tool), "-d", str(path)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolchainError(f"cannot start {tool}: {error.strerror}", "run: hipport doctor") from error
    functions = parse_objdump(done.stdout)
    if done.returncode or not functions:
        reason = done.stderr.strip().splitlines()
        raise HipportError(
            f"cannot disassemble {path}: {reason[0] if reason else 'it holds no code'}",
            "give a code object that hipport build wrote (.hsaco)",
        )
    return functions
