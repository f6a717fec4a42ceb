"""Resources of every kernel in a code object: what its metadata and symbol table state."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.build.occupancy import Occupancy, occupancy
from hipport.codeobject import CodeObject, Kernel
from hipport.core import Target, target_named


@dataclass(frozen=True, slots=True)
class KernelUsage:
    """One kernel of a code object (LLVM AMDGPUUsage, "Code Object V5 Metadata").

    Attributes:
        name: mangled name.
        vgprs: vector registers per lane, accumulation registers included.
        agprs: how many of them are accumulation registers (CDNA).
        sgprs: scalar registers.
        lds_bytes: static LDS of a workgroup.
        scratch_bytes: private memory per lane.
        vgpr_spills: vector registers spilled.
        sgpr_spills: scalar registers spilled.
        max_workgroup_size: most work items of a workgroup (``__launch_bounds__``).
        wave_size: lanes of a wave.
        hostcall: it may call the host (``printf``, ``malloc``, a failing ``assert``).
        code_bytes: size of the kernel's own code; called functions that were not inlined are extra.
        occupancy: see `Occupancy`, with static LDS only and a workgroup of `max_workgroup_size`.
    """

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    max_workgroup_size: int
    wave_size: int
    hostcall: bool
    code_bytes: int
    occupancy: Occupancy


def read_kernels(code: CodeObject) -> tuple[KernelUsage, ...]:
    """Kernels of a code object, sorted by name.

    Raises:
        HipportError: it is for a GPU that hipport does not know.
    """
    target = target_named(code.target)
    code_bytes = {symbol.name: symbol.bytes for symbol in code.symbols if symbol.kind == "func"}
    rows = [_usage(kernel, target, code_bytes.get(kernel.name, 0)) for kernel in code.kernels.values()]
    return tuple(sorted(rows, key=lambda usage: usage.name))


def _usage(kernel: Kernel, target: Target, code_bytes: int) -> KernelUsage:
    lds = kernel.descriptor.lds_bytes
    return KernelUsage(
        name=kernel.name,
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        lds_bytes=lds,
        scratch_bytes=kernel.descriptor.private_bytes,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        max_workgroup_size=kernel.max_workgroup_size,
        wave_size=kernel.wavefront_size,
        hostcall=any(argument.kind == "hidden_hostcall_buffer" for argument in kernel.arguments),
        code_bytes=code_bytes,
        occupancy=occupancy(target, kernel.vgprs, kernel.sgprs, lds, kernel.max_workgroup_size, kernel.wavefront_size),
    )
