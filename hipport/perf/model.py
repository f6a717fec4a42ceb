"""The static loop model: clocks of one SIMD for one iteration of a kernel's hottest loop.

A model, not a measurement: it ranks kernels of one kind, it does not predict time. One SIMD issues for one wave at most
one instruction every 4 clocks. Per iteration, with every lane active:

- matrix: 4 clocks for each pass of each matrix instruction;
- VALU: 4 for a full-rate instruction, 16 for a quarter-rate one (exp, log, rcp, sqrt, 32-bit integer multiply);
- LDS: its 128 bytes per clock are shared by the 4 SIMDs of the CU, all in this loop;
- VMEM: the L1's 64 bytes per clock, shared likewise, scratch included;
- SALU: 4 for each scalar instruction, branch, wait and barrier, 4 (n + 1) for ``s_nop n``;
- issue: all of it after another, 4 for each memory instruction: one wave that overlaps nothing.

Sources: AMD CDNA3 ISA guide; CDNA3 white paper (LDS and L1 bandwidth); passes: see `hipport.perf.isa`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipport.core import HipportError, Target
from hipport.perf.functions import Function, Instruction
from hipport.perf.isa import (
    LDS_KINDS,
    VMEM_KINDS,
    WAVE_SIZE,
    Kind,
    kind_of,
    matrix_flops,
    matrix_passes,
    memory_bytes,
    vector_flops,
)
from hipport.perf.loops import Loop, find_loops, innermost

LDS_BYTES_PER_CLK = 128
L1_BYTES_PER_CLK = 64
SIMDS = 4
ISSUE_CLK = 4
QUARTER_CLK = 16
# Dense fp16 FLOP per clock of one SIMD: peak rate / (CUs * SIMDs * clock), from AMD's data sheets.
PEAK_FLOP_PER_CLK = {"gfx90a": 256, "gfx942": 512, "gfx950": 1024}

MODEL_STATEMENT = (
    "a static model: it counts the instructions of one loop and assumes that nothing stalls; it ranks kernels of the"
    " same kind, it does not predict time"
)


@dataclass(frozen=True, slots=True)
class Tile:
    """What one iteration of an attention loop computes: queries x keys x head dimension by so many waves."""

    queries: int
    keys: int
    head: int
    waves: int

    @property
    def flops_per_wave(self) -> float:
        """Useful FLOP of one wave and iteration: two matrix products of 2 * queries * keys * head."""
        return 4 * self.queries * self.keys * self.head / self.waves

    @property
    def scores_per_lane(self) -> float:
        """Score elements that one lane holds."""
        return self.queries * self.keys / (self.waves * WAVE_SIZE)


@dataclass(frozen=True, slots=True)
class LoopCost:
    """Clocks of one SIMD per iteration, per wave; see the module's documentation.

    Attributes:
        instructions: how many.
        counts: by `Kind`.
        matrix_by_opcode: matrix instructions by mnemonic.
        quarter_by_opcode: quarter-rate instructions by mnemonic.
        lds_bytes: moved by LDS instructions.
        vmem_bytes: moved by vector memory instructions.
        matrix_clk: see above.
        valu_clk: see above; matrix instructions are not in it.
        lds_clk: see above.
        vmem_clk: see above.
        salu_clk: see above.
        issue_clk: one wave that overlaps nothing.
        matrix_flops: of the matrix instructions.
        vector_flops: of the multiply-adds on the vector ALU.
        useful_flops: of the tile when one was given; else the matrix FLOP.
        peak_flop_per_clk: of the target's matrix pipe, one SIMD.
        unknown_matrix: matrix instructions that the model does not know: it counts them as 0, so figures are too low.
    """

    instructions: int
    counts: dict[Kind, int]
    matrix_by_opcode: dict[str, int]
    quarter_by_opcode: dict[str, int]
    lds_bytes: int
    vmem_bytes: int
    matrix_clk: int
    valu_clk: int
    lds_clk: float
    vmem_clk: float
    salu_clk: int
    issue_clk: int
    matrix_flops: int
    vector_flops: int
    useful_flops: float
    peak_flop_per_clk: int
    unknown_matrix: tuple[str, ...]

    @property
    def pipes(self) -> dict[str, float]:
        """Clocks that each pipe is busy; matrix instructions also take a VALU issue slot each."""
        return {
            "matrix": self.matrix_clk,
            "valu_port": self.valu_clk + ISSUE_CLK * self.counts.get(Kind.MATRIX, 0),
            "lds": self.lds_clk,
            "vmem": self.vmem_clk,
            "salu": self.salu_clk,
        }

    @property
    def bottleneck(self) -> str:
        """The busiest pipe."""
        pipes = self.pipes
        return max(pipes, key=lambda name: pipes[name])

    @property
    def overlap_clk(self) -> float:
        """The busiest pipe's clocks: perfect overlap by other waves, a lower bound of the time."""
        return max(self.pipes.values())

    @property
    def utilisation_serial(self) -> float:
        """Useful matrix rate of one wave alone, as a part of the peak."""
        return self._utilisation(self.issue_clk)

    @property
    def utilisation_overlap(self) -> float:
        """Useful matrix rate with perfect overlap, as a part of the peak: an upper bound."""
        return self._utilisation(self.overlap_clk)

    @property
    def issue_clk_per_mflop(self) -> float | None:
        """Issue clocks per useful MFLOP of one wave (of the vector ALU where nothing else counts as useful).

        The floor on gfx942 is 1953: 10**6 / 512.
        """
        flops = self.useful_flops or self.vector_flops
        return self.issue_clk * 1e6 / flops if flops else None

    @property
    def matrix_redundancy(self) -> float | None:
        """Matrix FLOP per useful FLOP; 1 means that nothing is computed twice or padded."""
        return self.matrix_flops / self.useful_flops if self.useful_flops and self.matrix_flops else None

    def utilisation(self, waves_per_simd: float) -> float:
        """Estimate with so many waves: they interleave until the busiest pipe is full."""
        return min(self.utilisation_overlap, waves_per_simd * self.utilisation_serial)

    def _utilisation(self, clk: float) -> float:
        return self.useful_flops / self.peak_flop_per_clk / clk if clk else 0.0


def loop_cost(instructions: Iterable[Instruction], target: Target, useful_flops: float | None = None) -> LoopCost:
    """Cost of the given instructions, each executed once.

    Raises:
        HipportError: the model does not cover the target.
    """
    if target.name not in PEAK_FLOP_PER_CLK:
        raise HipportError(
            f"the loop model does not cover {target.name}", f"covered: {', '.join(PEAK_FLOP_PER_CLK)}; or leave it out"
        )
    rows = [(instruction, kind_of(instruction.opcode)) for instruction in instructions]
    counts = Counter(kind for _, kind in rows)
    matrix = Counter(i.opcode.removesuffix("_e64") for i, kind in rows if kind is Kind.MATRIX)
    passes = {opcode: matrix_passes(opcode, target.name) for opcode in matrix}
    matrix_clk = sum(ISSUE_CLK * (passes[opcode] or 0) * n for opcode, n in matrix.items())
    valu_clk = ISSUE_CLK * (counts[Kind.VALU] + counts[Kind.ACC_MOVE]) + QUARTER_CLK * counts[Kind.VALU_QUARTER]
    scalar = (Kind.SALU, Kind.BRANCH, Kind.WAIT, Kind.BARRIER, Kind.HINT)
    nop_clk = sum(ISSUE_CLK * (int(i.operands.split()[0], 0) + 1) for i, kind in rows if kind is Kind.NOP)
    salu_clk = ISSUE_CLK * sum(counts[kind] for kind in scalar) + nop_clk
    memory = LDS_KINDS | VMEM_KINDS | {Kind.SMEM, Kind.CACHE, Kind.OTHER}
    lds_bytes = sum(memory_bytes(i.opcode) for i, kind in rows if kind in LDS_KINDS)
    vmem_bytes = sum(memory_bytes(i.opcode) for i, kind in rows if kind in VMEM_KINDS)
    flops = sum(matrix_flops(opcode) * n for opcode, n in matrix.items())
    return LoopCost(
        instructions=len(rows),
        counts=dict(sorted(counts.items())),
        matrix_by_opcode=dict(sorted(matrix.items())),
        quarter_by_opcode=dict(
            sorted(Counter(_plain(i.opcode) for i, kind in rows if kind is Kind.VALU_QUARTER).items())
        ),
        lds_bytes=lds_bytes,
        vmem_bytes=vmem_bytes,
        matrix_clk=matrix_clk,
        valu_clk=valu_clk,
        lds_clk=SIMDS * lds_bytes / LDS_BYTES_PER_CLK,
        vmem_clk=SIMDS * vmem_bytes / L1_BYTES_PER_CLK,
        salu_clk=salu_clk,
        issue_clk=matrix_clk + valu_clk + salu_clk + ISSUE_CLK * sum(counts[kind] for kind in memory),
        matrix_flops=flops,
        vector_flops=sum(vector_flops(i.opcode) for i, kind in rows if kind is Kind.VALU),
        useful_flops=flops if useful_flops is None else useful_flops,
        peak_flop_per_clk=PEAK_FLOP_PER_CLK[target.name],
        unknown_matrix=tuple(sorted(opcode for opcode in matrix if passes[opcode] is None)),
    )


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The hottest loop of a kernel.

    Attributes:
        loop: which.
        n_loops: loops of the kernel.
        always: cost of what every iteration executes: the figures to compare.
        all_blocks: cost with every block of the loop once.
        scratch_in_loop: scratch instructions in the loop: spills on the hot path.
    """

    loop: Loop
    n_loops: int
    always: LoopCost
    all_blocks: LoopCost
    scratch_in_loop: int


def hottest_loop(
    function: Function, target: Target, tile: Tile | None = None, header: int | None = None
) -> LoopReport | None:
    """The loop to look at: innermost, with most matrix instructions (then the shortest); without any, with most VALU.

    Args:
        function: the kernel.
        target: the GPU.
        tile: what an iteration computes; without it every matrix FLOP counts as useful.
        header: address of the loop to take instead.

    Returns:
        None when the kernel has no loop.

    Raises:
        HipportError: the model does not cover the target, or no loop has that header.
    """
    loops = find_loops(function)
    if not loops:
        return None
    if header is not None:
        chosen = next((loop for loop in loops if loop.header == header), None)
        if chosen is None:
            known = ", ".join(hex(loop.header) for loop in loops)
            raise HipportError(f"no loop starts at {header:#x}", f"loops start at {known}")
    else:
        chosen = _choose(function, loops)
    useful = tile.flops_per_wave if tile else None
    every = [function.instructions[i] for i in chosen.instructions]
    always = [function.instructions[i] for i in chosen.always_instructions]
    return LoopReport(
        chosen,
        len(loops),
        loop_cost(always, target, useful),
        loop_cost(every, target, useful),
        sum(kind_of(i.opcode) is Kind.SCRATCH for i in every),
    )


def _choose(function: Function, loops: Sequence[Loop]) -> Loop:
    opcodes = [instruction.opcode for instruction in function.instructions]

    def n_matrix(loop: Loop) -> int:
        return sum("mfma" in opcodes[i] for i in loop.instructions)

    def n_valu(loop: Loop) -> int:
        return sum(opcodes[i].startswith("v_") for i in loop.instructions)

    with_matrix = [loop for loop in loops if n_matrix(loop)]
    weight = n_matrix if with_matrix else n_valu
    return max(innermost(with_matrix or loops), key=lambda loop: (weight(loop), -len(loop.instructions)))


def _plain(opcode: str) -> str:
    return opcode.removesuffix("_e32").removesuffix("_e64")
