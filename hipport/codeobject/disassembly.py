"""Disassembly by LLVM's own disassembler, cached by the hash of the code object."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hipport.codeobject.elf import CodeObject
from hipport.codeobject.errors import CodeObjectError
from hipport.core.files import cache_root, write_atomic

_LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-Fa-f]+): ((?:[0-9A-Fa-f]{8} ?)+)")
_FORMAT = b"1"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: in the ELF.
        words: 32-bit words of its encoding.
        text: mnemonic, operands, modifiers.
    """

    address: int
    words: tuple[int, ...]
    text: str

    @property
    def mnemonic(self) -> str:
        """With its encoding suffix (``v_add_f32_e32``)."""
        return self.text.split(" ", 1)[0]

    @property
    def bytes(self) -> int:
        """Size of the encoding."""
        return 4 * len(self.words)


def disassemble(code: CodeObject, function: str | None = None) -> tuple[Instruction, ...]:
    """Instructions of one function (padding included), or of the whole code section.

    Raises:
        CodeObjectError: there is no such function.
        ToolchainError: LLVM's tools are missing.
    """
    everything = _disassemble(code)
    if function is None:
        return everything
    symbol = next((s for s in code.symbols if s.kind == "func" and s.name == function), None)
    if symbol is None:
        raise CodeObjectError(f"{code.name} has no function {function}", "list them with: hipport emulate FILE --list")
    return tuple(i for i in everything if symbol.address <= i.address < symbol.address + symbol.bytes)


def _disassemble(code: CodeObject) -> tuple[Instruction, ...]:
    from hipport.sdk import find_sdk

    key = hashlib.sha256(_FORMAT + code.data).hexdigest()[:32]
    cached = cache_root() / "codeobject" / f"{key}.dis"
    try:
        text = cached.read_text()
    except OSError:
        tool = find_sdk().tool("llvm-objdump")
        with tempfile.NamedTemporaryFile(suffix=".co") as file:
            file.write(code.data)
            file.flush()
            command = [str(tool), "-d", f"--mcpu={code.target}", file.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["failed"]
            raise CodeObjectError(f"{code.name}: {Path(tool).name}: {reason[0]}", "is the file whole?") from None
        lines = (_LINE.match(line) for line in done.stdout.splitlines())
        text = "".join(f"{m[2]} {m[3].strip().replace(' ', ',')} {m[1]}\n" for m in lines if m)
        write_atomic(cached, text.encode())
    found = []
    for line in text.splitlines():
        address, words, body = line.split(" ", 2)
        found.append(Instruction(int(address, 16), tuple(int(w, 16) for w in words.split(",")), body))
    return tuple(found)
