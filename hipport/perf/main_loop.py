"""What the code of a kernel looks like where it counts: matrix instructions, and spills in the loops that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from hipport.codeobject import CodeObject
from hipport.perf.functions import Function, Instruction, functions_of
from hipport.perf.loops import find_loops, innermost

_MATRIX = re.compile(r"v_(?:mfma|smfmac|wmma|swmmac)_")  # CDNA's and RDNA's
_ACCUMULATION_MOVE = re.compile(r"v_accvgpr_(?:read|write|mov)")
_LANE_MOVE = re.compile(r"v_(?:read|write)lane_")
# Before gfx942 compiled code reaches private memory through a buffer whose descriptor is in s[0:3].
_PRIVATE_BUFFER = re.compile(r"(?:off|v\d+), s\[0:3\],")


@dataclass(frozen=True, slots=True)
class CodeShape:
    """One kernel's code.

    Attributes:
        instructions: all of them.
        matrix: MFMA or WMMA instructions.
        scratch: instructions that access private memory.
        main_loops: innermost loops that hold matrix instructions; where there are none, innermost loops.
        main_loop_matrix: matrix instructions in them.
        main_loop_scratch: accesses to private memory in them.
        main_loop_acc_moves: moves between accumulation and vector registers in them; CDNA spills there first.
        main_loop_lane_moves: reads and writes of single lanes in them; where SGPRs are spilled, they go to lanes.
    """

    instructions: int
    matrix: int
    scratch: int
    main_loops: int
    main_loop_matrix: int
    main_loop_scratch: int
    main_loop_acc_moves: int
    main_loop_lane_moves: int


def code_figures(code: CodeObject) -> dict[str, dict[str, int]]:
    """The fields of `CodeShape` for each function of a code object, by name.

    Raises:
        HipportError: it cannot be disassembled.
    """
    return {name: asdict(shape_of(function)) for name, function in functions_of(code).items()}


def shape_of(function: Function) -> CodeShape:
    """Shape of one function."""
    instructions = function.instructions
    with_matrix = [loop for loop in find_loops(function) if any(_is_matrix(instructions[i]) for i in loop.instructions)]
    loops = innermost(with_matrix or find_loops(function))
    inside = {i for loop in loops for i in loop.instructions}
    main = [instructions[i] for i in sorted(inside)]
    return CodeShape(
        len(instructions),
        _count(map(_is_matrix, instructions)),
        _count(map(_is_scratch, instructions)),
        len(loops),
        _count(map(_is_matrix, main)),
        _count(map(_is_scratch, main)),
        _count(bool(_ACCUMULATION_MOVE.match(i.opcode)) for i in main),
        _count(bool(_LANE_MOVE.match(i.opcode)) for i in main),
    )


def _count(answers: Iterable[bool]) -> int:
    return sum(answers)


def _is_matrix(instruction: Instruction) -> bool:
    return bool(_MATRIX.match(instruction.opcode))


def _is_scratch(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return opcode.startswith("scratch_") or (
        opcode.startswith(("buffer_load", "buffer_store")) and bool(_PRIVATE_BUFFER.search(instruction.operands))
    )
