"""Execute single instructions with a given register state: for oracles and for tests of the semantics table.

state = WaveState.of("gfx942")
state.vgpr[1] = ...                       # (512, 64) uint32, row 256 + n is accumulation register n
after = execute("gfx942", "v_add_f32 v0, v1, v2", state)

`Snippets` assembles thousands of instructions with one call of the assembler; running one costs microseconds.
"""

from __future__ import annotations

import ctypes as c
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipport.core import HipportError, target_named
from hipport.emulator import native_api as api
from hipport.emulator.device import Device, Options

VCC, M0, EXEC = 106, 124, 126  # indices of the low halves in `WaveState.sgpr`
DEFAULT_MODE = 0xF0 | 1 << 8 | 1 << 9  # nearest even, denormals kept, DX10 clamp, IEEE


@dataclass
class WaveState:
    """Registers of one wave.

    Attributes:
        sgpr: (128,) uint32; 106, 107 hold vcc, 124 m0, 126, 127 exec.
        vgpr: (512, 64) uint32; wave32 uses lanes 0 to 31.
        scc: 0 or 1.
        mode: MODE register: rounding bits 0-3, denormals 4-7, DX10 clamp 8, IEEE 9, FP16 overflow 23.
        lds: (n,) uint8, may be empty.
    """

    sgpr: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(128, np.uint32))
    vgpr: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((512, 64), np.uint32))
    scc: int = 0
    mode: int = DEFAULT_MODE
    lds: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    @classmethod
    def of(cls, target: str) -> WaveState:
        """All lanes of the target's wave on, everything else 0."""
        state = cls()
        state.exec_mask = (1 << target_named(target).wave_size) - 1
        return state

    def copy(self) -> WaveState:
        """An independent copy."""
        return replace(self, sgpr=self.sgpr.copy(), vgpr=self.vgpr.copy(), lds=self.lds.copy())

    def _pair(self, index: int) -> int:
        return int(self.sgpr[index]) | int(self.sgpr[index + 1]) << 32

    def _set_pair(self, index: int, value: int) -> None:
        self.sgpr[index] = value & 0xFFFFFFFF
        self.sgpr[index + 1] = value >> 32

    @property
    def exec_mask(self) -> int:
        """EXEC, one bit per lane."""
        return self._pair(EXEC)

    @exec_mask.setter
    def exec_mask(self, value: int) -> None:
        self._set_pair(EXEC, value)

    @property
    def vcc(self) -> int:
        """VCC, one bit per lane."""
        return self._pair(VCC)

    @vcc.setter
    def vcc(self, value: int) -> None:
        self._set_pair(VCC, value)


def assemble(target: str, text: str) -> bytes:
    """Assemble and link AMDGPU assembly to a code object.

    Raises:
        HipportError: the assembler rejects it; the message is its first error.
    """
    from hipport.sdk import find_sdk

    sdk = find_sdk()
    with tempfile.TemporaryDirectory() as folder:
        source, relocatable, linked = (Path(folder) / n for n in ("a.s", "a.o", "a.co"))
        source.write_text(text)
        mc = [
            sdk.tool("llvm-mc"),
            "-triple=amdgcn-amd-amdhsa",
            f"-mcpu={target}",
            "-filetype=obj",
            source,
            "-o",
            relocatable,
        ]
        for command in (mc, [sdk.tool("ld.lld"), "-shared", "--no-undefined", relocatable, "-o", linked]):
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
            if done.returncode:
                errors = [line for line in done.stderr.splitlines() if "error:" in line]
                raise HipportError(
                    f"cannot assemble for {target}: {(errors or ['failed'])[0]}", "check the instruction"
                )
        return linked.read_bytes()


class Snippets:
    """Many pieces of assembly in one code object, each run on its own.

    Args:
        target: LLVM processor name.
        texts: one or more instructions each, separated by newlines or semicolons; ``s_endpgm`` is added.
        options: of the device.

    Raises:
        HipportError: the assembler rejects one of them.
    """

    def __init__(self, target: str, texts: Sequence[str], options: Options | None = None) -> None:
        lines = [f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"', ".text"]
        for index, text in enumerate(texts):
            lines += [f".globl snippet_{index}", f".type snippet_{index},@function", ".p2align 6", f"snippet_{index}:"]
            lines += ["s_nop 0", *text.replace(";", "\n").splitlines(), "s_endpgm"]
            lines += [f".size snippet_{index}, .-snippet_{index}"]
        self.texts = tuple(texts)
        self.target = target
        self._device = Device(target, options or Options())
        self._module = self._device.load(assemble(target, "\n".join(lines) + "\n"))

    def run(self, index: int, state: WaveState, max_instructions: int = 0) -> WaveState:
        """The state after snippet ``index``; ``state`` is not changed.

        Raises:
            UnimplementedInstruction: it is not in the table, or a modifier or mode is not implemented.
            EmulatorError: memory fault or trap.
        """
        struct = api.WaveStateStruct(
            scc=state.scc,
            mode=state.mode,
            max_instructions=max_instructions,
            pc=self._module.symbol(f"snippet_{index}"),
        )
        lds = np.ascontiguousarray(state.lds, np.uint8).copy()
        struct.lds = lds.ctypes.data if lds.size else None
        struct.lds_bytes = lds.size
        sgpr = _view(struct.sgpr, (128,))
        vgpr = _view(struct.vgpr, (512, 64))
        sgpr[:] = state.sgpr
        vgpr[:] = state.vgpr
        self._device.core.run_wave(self._module.handle, c.byref(struct))
        return WaveState(sgpr=sgpr.copy(), vgpr=vgpr.copy(), scc=int(struct.scc), mode=int(struct.mode), lds=lds)


def _view(array: Any, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    return np.frombuffer(array, np.uint32).reshape(shape)


@cache
def _one(target: str, text: str) -> Snippets:
    return Snippets(target, [text])


def execute(target: str, text: str, state: WaveState) -> WaveState:
    """Run one piece of assembly; convenient, but each new text costs a call of the assembler: see `Snippets`."""
    return _one(target, text).run(0, state)


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of the semantics table.

    Attributes:
        mnemonic: without encoding suffix.
        unit: control, salu, smem, valu, lds, memory or matrix.
        operands: types in text order, destination first (vector and scalar opcodes).
        exactness: ``exact``, or the tolerance.
    """

    mnemonic: str
    unit: str
    operands: tuple[str, ...]
    exactness: str


@cache
def opcodes() -> dict[str, Opcode]:
    """The semantics table by mnemonic."""
    core = api.core()
    table = {}
    item = api.OpcodeStruct()
    for index in range(core.opcode_count()):
        core.opcode_at(index, c.byref(item))
        name = item.mnemonic.decode()
        table[name] = Opcode(name, item.unit.decode(), tuple(item.operands.decode().split()), item.exactness.decode())
    return table
