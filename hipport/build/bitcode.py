"""What LLVM bitcode of a unit's device side holds: its kernels, and the inline assembly that is left."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError

# define protected amdgpu_kernel void @_Z1kPf(ptr addrspace(1) %0) #0 {
_KERNEL = re.compile(rb'define [^@"]*\bamdgpu_kernel\b[^@"]*@(?:"([^"]+)"|([\w$.]+))\(')
# @table = protected addrspace(1) externally_initialized global [4 x i32] ...
_VARIABLE = re.compile(rb'@(?:"([^"]+)"|([\w$.]+)) = (?!internal |private |appending )')
# @_ZL5calls = internal addrspace(1) global i32 0; constants and LDS, address space 3, hold nothing between kernels
_STATIC = re.compile(rb'@(?:"([^"]+)"|([\w$.]+)) = (?:internal|private) [^"=]*?addrspace\(1\) [^"=]*?\bglobal ')
# %3 = call i32 asm sideeffect "s_nop 0", "=s,s"(i32 %2)
_ASSEMBLY = re.compile(rb' asm (?:[a-z]+ )*"([^"]+)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class BitcodeFacts:
    """What is in the bitcode.

    Attributes:
        sha256: of the bitcode.
        kernels: mangled names, sorted.
        variables: names of what is no function and can be seen from outside, sorted.
        statics: names of variables in memory that keep what a kernel writes and cannot be seen from outside, sorted.
        assembly: texts of inline assembly, each once, sorted; device library code included. An empty text, which only
            ties a value to a register, is none.
    """

    sha256: str
    kernels: tuple[str, ...]
    variables: tuple[str, ...]
    statics: tuple[str, ...]
    assembly: tuple[str, ...]


def read_bitcode(path: Path, sha256: str, disassembler: Path) -> BitcodeFacts:
    """Read a bitcode file through ``llvm-dis``.

    Raises:
        ToolchainError: the disassembler does not read it.
    """
    kernels: set[str] = set()
    variables: set[str] = set()
    statics: set[str] = set()
    assembly: set[str] = set()
    with subprocess.Popen(
        [str(disassembler), str(path), "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        for line in process.stdout or ():
            if line.startswith(b"define ") and (kernel := _KERNEL.match(line)):
                kernels.add((kernel[1] or kernel[2]).decode())
            elif line.startswith(b"@"):
                if variable := _VARIABLE.match(line):
                    variables.add((variable[1] or variable[2]).decode())
                elif static := _STATIC.match(line):
                    statics.add((static[1] or static[2]).decode())
            elif b" asm " in line:
                assembly.update(_text(found) for found in _ASSEMBLY.findall(line))
    if process.returncode:
        raise ToolchainError(f"{disassembler.name} cannot read the front end's output", "run: hipport doctor")
    return BitcodeFacts(sha256, *(tuple(sorted(names)) for names in (kernels, variables, statics, assembly)))


def _text(escaped: bytes) -> str:
    return _ESCAPE.sub(lambda code: chr(int(code[1], 16)), escaped.decode("utf-8", "replace"))
