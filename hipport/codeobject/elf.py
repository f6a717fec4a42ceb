"""One AMDGPU ELF: kernels with descriptor and metadata, symbols, source lines."""

from __future__ import annotations

import bisect
import io
import struct
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hipport.codeobject.bundle import EM_AMDGPU
from hipport.codeobject.descriptor import KernelDescriptor
from hipport.codeobject.errors import CodeObjectError

NT_AMDGPU_METADATA = 32
# What pyelftools raises on files that are not what they say.
_BROKEN = (
    ELFError,
    DWARFError,
    ConstructError,
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
# EF_AMDGPU_MACH of the ELF header (AMDGPUUsage, "ELF Header").
MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x41: "gfx1100", 0x4E: "gfx1201"}


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel argument: offset and size in bytes, ``.value_kind`` and name (may be empty)."""

    offset: int
    bytes: int
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel.

    Attributes:
        name: symbol, mangled.
        descriptor: see `KernelDescriptor`.
        arguments: hidden ones included.
        wavefront_size: 32 or 64.
        vgprs: of one lane, AGPRs included on gfx90a and later.
        agprs: of one lane.
        sgprs: of a wave.
        vgpr_spills: VGPRs stored to scratch.
        sgpr_spills: SGPRs stored to VGPRs or scratch.
        max_workgroup_size: threads it was compiled for.
        dynamic_stack: its stack size is not known at build time.
    """

    name: str
    descriptor: KernelDescriptor
    arguments: tuple[Argument, ...]
    wavefront_size: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    max_workgroup_size: int
    dynamic_stack: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: address in the ELF, size, ``func``, ``object`` or ``notype``."""

    name: str
    address: int
    bytes: int
    kind: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the source: file as the compiler named it, 1-based line."""

    file: str
    line: int


@dataclass(frozen=True)
class CodeObject:
    """A parsed AMDGPU ELF.

    Attributes:
        name: for messages.
        data: the file.
        target: LLVM processor name; ``mach 0xNN`` when this package does not know it.
        kernels: by name.
        symbols: in address order.
    """

    name: str
    data: bytes = field(repr=False)
    target: str
    kernels: dict[str, Kernel]
    symbols: tuple[Symbol, ...] = field(repr=False)

    @classmethod
    def parse(cls, data: bytes, name: str = "code object") -> CodeObject:
        """Read an AMDGPU ELF.

        Raises:
            CodeObjectError: it is something else, truncated or corrupt.
        """
        try:
            return cls._parse(data, name)
        except CodeObjectError:
            raise
        except _BROKEN as error:
            raise CodeObjectError(f"{name}: corrupt ELF ({error})", "rebuild the file") from error

    @classmethod
    def _parse(cls, data: bytes, name: str) -> CodeObject:
        if not data.startswith(b"\x7fELF"):
            raise CodeObjectError(f"{name} is not an ELF file", "pass an AMDGPU code object")
        elf = ELFFile(io.BytesIO(data))
        if elf.header.e_machine not in (EM_AMDGPU, "EM_AMDGPU"):
            raise CodeObjectError(f"{name} is an ELF for another machine", "pass an AMDGPU code object")
        end = max(
            (s["sh_offset"] + s["sh_size"] for s in elf.iter_sections() if s["sh_type"] != "SHT_NOBITS"), default=0
        )
        if end > len(data):
            raise CodeObjectError(f"{name}: truncated ELF, {len(data)} of {end} bytes", "copy or build the file again")
        symbols = _symbols(elf)
        metadata = _metadata(elf, name)
        machine = elf.header.e_flags & 0xFF
        by_name = {s.name: s for s in symbols}
        kernels = {}
        for record in metadata.get("amdhsa.kernels", []):
            kernel = _kernel(elf, record, by_name, name)
            kernels[kernel.name] = kernel
        return cls(name, data, MACHINES.get(machine, f"mach 0x{machine:x}"), kernels, symbols)

    def function_at(self, address: int) -> Symbol | None:
        """The function that contains an ELF address."""
        for s in self.symbols:
            if s.kind == "func" and s.address <= address < s.address + max(s.bytes, 1):
                return s
        return None

    @cached_property
    def _lines(self) -> tuple[list[int], list[SourceLine | None]]:
        rows: list[tuple[int, SourceLine | None]] = []
        try:
            elf = ELFFile(io.BytesIO(self.data))
            if elf.has_dwarf_info():
                dwarf = elf.get_dwarf_info()
                for unit in dwarf.iter_CUs():
                    rows += _unit_lines(dwarf, unit)
        except _BROKEN:
            rows = []  # source places are a convenience
        rows.sort(key=lambda row: row[0])
        return [a for a, _ in rows], [place for _, place in rows]

    def line_at(self, address: int) -> SourceLine | None:
        """Source line of an ELF address, None without debug information."""
        addresses, places = self._lines
        at = bisect.bisect_right(addresses, address) - 1
        return places[at] if at >= 0 else None


def _unit_lines(dwarf: Any, unit: Any) -> list[tuple[int, SourceLine | None]]:
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return []
    first = 0 if program["version"] >= 5 else 1
    names = [e.name.decode("utf-8", "replace") for e in program["file_entry"]]
    rows: list[tuple[int, SourceLine | None]] = []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        index = state.file - first
        known = 0 <= index < len(names) and state.line
        rows.append((state.address, SourceLine(names[index], state.line) if known and not state.end_sequence else None))
    return rows


def _symbols(elf: Any) -> tuple[Symbol, ...]:
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return ()
    kinds = {"STT_FUNC": "func", "STT_OBJECT": "object", "STT_NOTYPE": "notype"}
    found = [
        Symbol(s.name, s["st_value"], s["st_size"], kinds[s["st_info"]["type"]])
        for s in table.iter_symbols()
        if s.name and s["st_info"]["type"] in kinds and s["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS")
    ]
    return tuple(sorted(found, key=lambda s: (s.address, s.name)))


def _metadata(elf: Any, name: str) -> dict[str, Any]:
    import msgpack

    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (NT_AMDGPU_METADATA, "NT_AMDGPU_METADATA"):
                raw = note["n_descdata"] if isinstance(note["n_descdata"], bytes) else note["n_desc"]
                raw = raw if isinstance(raw, bytes) else raw.encode("latin-1")
                try:
                    decoded = msgpack.unpackb(raw, strict_map_key=False)
                except (ValueError, msgpack.UnpackException) as error:
                    raise CodeObjectError(f"{name}: corrupt metadata ({error})", "rebuild the file") from error
                return decoded if isinstance(decoded, dict) else {}
    return {}


def _kernel(elf: Any, record: dict[str, Any], symbols: dict[str, Symbol], name: str) -> Kernel:
    symbol = str(record[".symbol"])
    found = symbols.get(symbol)
    if found is None:
        raise CodeObjectError(f"{name}: kernel {record['.name']} has no descriptor", "rebuild the file")
    descriptor = KernelDescriptor.parse(_bytes_at(elf, found.address, 64), found.address)
    arguments = tuple(
        Argument(int(a[".offset"]), int(a[".size"]), str(a[".value_kind"]), str(a.get(".name", "")))
        for a in record.get(".args", [])
    )
    return Kernel(
        name=symbol.removesuffix(".kd"),
        descriptor=descriptor,
        arguments=arguments,
        wavefront_size=int(record[".wavefront_size"]),
        vgprs=int(record[".vgpr_count"]),
        agprs=int(record.get(".agpr_count", 0)),
        sgprs=int(record[".sgpr_count"]),
        vgpr_spills=int(record.get(".vgpr_spill_count", 0)),
        sgpr_spills=int(record.get(".sgpr_spill_count", 0)),
        max_workgroup_size=int(record[".max_flat_workgroup_size"]),
        dynamic_stack=bool(record.get(".uses_dynamic_stack", False)),
    )


def _bytes_at(elf: Any, address: int, count: int) -> bytes:
    for segment in elf.iter_segments("PT_LOAD"):
        start = segment["p_vaddr"]
        if start <= address and address + count <= start + segment["p_filesz"]:
            data: bytes = segment.data()
            return data[address - start : address - start + count]
    return b""
