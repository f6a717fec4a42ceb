"""Resources of every kernel in a code object: what its metadata and symbol table state."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import msgpack
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from hipport.build.occupancy import Occupancy, occupancy
from hipport.core import HipportError, Target, target_named

NT_AMDGPU_METADATA = 32


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
    code_bytes: int
    occupancy: Occupancy


def read_kernels(data: bytes, target: Target | None = None) -> tuple[KernelUsage, ...]:
    """Kernels of a code object, sorted by name.

    Args:
        data: bytes of the ELF file.
        target: the GPU; None takes the one that the metadata names.

    Raises:
        HipportError: not an AMDGPU code object, or one whose metadata cannot be read.
    """
    metadata, sizes = _read(data)
    target = target or _target(metadata)
    try:
        rows = [_usage(row, sizes, target) for row in metadata.get("amdhsa.kernels", ())]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HipportError(f"the code object's metadata cannot be read: {error!r}", "rebuild the object") from error
    return tuple(sorted(rows, key=lambda usage: usage.name))


def code_object_target(data: bytes) -> Target:
    """The GPU that a code object was compiled for.

    Raises:
        HipportError: not an AMDGPU code object, or one for a GPU that hipport does not know.
    """
    return _target(_read(data)[0])


def _target(metadata: dict[str, Any]) -> Target:
    return target_named(str(metadata.get("amdhsa.target", "")).rpartition("--")[2])


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, int]]:
    """Metadata of a code object, and the code size of each function."""
    try:
        elf = ELFFile(io.BytesIO(data))
        notes = [n for s in elf.iter_sections() if isinstance(s, NoteSection) for n in s.iter_notes()]
        symbols: Any = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        sizes = {s.name: int(s["st_size"]) for s in symbols.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"}
        for note in notes:
            if note["n_name"] == "AMDGPU" and note["n_type"] in (NT_AMDGPU_METADATA, "NT_AMDGPU_METADATA"):
                metadata = msgpack.unpackb(note["n_descdata"])
                if isinstance(metadata, dict):
                    return metadata, sizes
    except (ELFError, AttributeError, KeyError, ValueError, msgpack.UnpackException) as error:
        raise HipportError("not an AMDGPU code object", "give the file that hipport build wrote") from error
    raise HipportError("the file has no AMDGPU metadata", "give a code object (.hsaco) that hipport build wrote")


def _usage(row: dict[str, Any], sizes: dict[str, int], target: Target) -> KernelUsage:
    name = str(row[".name"])
    vgprs, sgprs = int(row[".vgpr_count"]), int(row[".sgpr_count"])
    lds, workgroup = int(row[".group_segment_fixed_size"]), int(row[".max_flat_workgroup_size"])
    wave_size = int(row.get(".wavefront_size", target.wave_size))
    return KernelUsage(
        name=name,
        vgprs=vgprs,
        agprs=int(row.get(".agpr_count", 0)),
        sgprs=sgprs,
        lds_bytes=lds,
        scratch_bytes=int(row[".private_segment_fixed_size"]),
        vgpr_spills=int(row.get(".vgpr_spill_count", 0)),
        sgpr_spills=int(row.get(".sgpr_spill_count", 0)),
        max_workgroup_size=workgroup,
        wave_size=wave_size,
        code_bytes=sizes.get(name, 0),
        occupancy=occupancy(target, vgprs, sgprs, lds, workgroup, wave_size),
    )
