"""The C API (``native/hipport_emulator.h``) for Python: structs, signatures, errors. Nothing else calls ctypes."""

from __future__ import annotations

import ctypes as c
import os
import shutil
from functools import cache
from typing import Any, ClassVar

from hipport.core import HipportError, ToolchainError

API_VERSION = 1
STATUS = {
    1: "invalid argument",
    2: "out of memory",
    3: "bad code object",
    4: "wrong target",
    5: "not found",
    6: "unimplemented",
    7: "toolchain",
    8: "memory fault",
    9: "deadlock",
    10: "instruction limit",
    11: "trap",
    12: "resources",
    13: "internal error",
}
INSTRUCTION_LIMIT = 10


class EmulatorError(HipportError):
    """A call of the core failed.

    Attributes:
        status: number of the ``hipemu_status``.
    """

    def __init__(self, status: int, message: str, next_step: str = "") -> None:
        super().__init__(f"{STATUS.get(status, 'error')}: {message}", next_step)
        self.status = status


class UnimplementedInstruction(EmulatorError):  # noqa: N818 - the name that the design gives it
    """An opcode, modifier or mode that the emulator does not implement; it never guesses."""


NEXT_STEPS = {
    3: "is the file an AMDGPU code object, and whole?",
    4: "build for this target, or choose another with --target",
    5: "list what there is with: hipport emulate FILE --list",
    6: "report the instruction; hipport emulate FILE --coverage lists all that are missing",
    7: "run: hipport doctor",
    10: "raise --max-instructions, or look for a loop that never ends",
}


class Struct(c.Structure):
    """A struct that begins with its own size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self._fields_[0][0] == "struct_bytes":
            self.struct_bytes = c.sizeof(self)


class Config(Struct):
    """``hipemu_config``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("objdump", c.c_char_p),
        ("cache_dir", c.c_char_p),
        ("arena_bytes", c.c_uint64),
        ("memory_bytes", c.c_uint64),
    ]


class OptionsStruct(Struct):
    """``hipemu_options``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("threads", c.c_uint32),
        ("deterministic", c.c_uint32),
        ("checks", c.c_uint32),
        ("max_instructions", c.c_uint64),
        ("poison", c.c_uint32),
        ("quantum", c.c_uint32),
        ("reverse_waves", c.c_uint32),
        ("max_findings", c.c_uint32),
        ("stop_at_finding", c.c_uint32),
        ("host_copies", c.c_uint32),
    ]


class ArgumentStruct(Struct):
    """``hipemu_argument``."""

    _fields_: ClassVar[Any] = [
        ("offset", c.c_uint32),
        ("bytes", c.c_uint32),
        ("kind", c.c_char_p),
        ("name", c.c_char_p),
    ]


class KernelInfoStruct(Struct):
    """``hipemu_kernel_info``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("name", c.c_char_p),
        ("kernarg_bytes", c.c_uint32),
        ("explicit_kernarg_bytes", c.c_uint32),
        ("lds_bytes", c.c_uint32),
        ("private_bytes", c.c_uint32),
        ("dynamic_stack", c.c_uint32),
        ("wavefront_size", c.c_uint32),
        ("max_workgroup_size", c.c_uint32),
        ("vgprs", c.c_uint32),
        ("agprs", c.c_uint32),
        ("sgprs", c.c_uint32),
        ("vgpr_spills", c.c_uint32),
        ("sgpr_spills", c.c_uint32),
        ("n_arguments", c.c_uint32),
        ("arguments", c.POINTER(ArgumentStruct)),
    ]


class VariableStruct(Struct):
    """``hipemu_variable``."""

    _fields_: ClassVar[Any] = [("name", c.c_char_p), ("address", c.c_void_p), ("bytes", c.c_uint64)]


class LaunchStruct(Struct):
    """``hipemu_launch``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("dynamic_lds_bytes", c.c_uint32),
        ("kernarg", c.c_void_p),
        ("kernarg_bytes", c.c_uint32),
        ("cooperative", c.c_uint32),
        ("multigrid_sync_arg", c.c_uint64),
    ]


class StatisticsStruct(Struct):
    """``hipemu_statistics``."""

    _fields_: ClassVar[Any] = [
        (name, c.c_uint64)
        for name in (
            "instructions",
            "waves",
            "workgroups",
            "nanoseconds",
            "lds_accesses",
            "lds_conflict_cycles",
            "global_accesses",
            "global_segments",
            "global_minimum",
            "mfma_instructions",
            "scratch_bytes",
            "cpu_nanoseconds",
        )
    ]


class ResultStruct(Struct):
    """``hipemu_result``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("status", c.c_int32),
        ("first_finding", c.c_uint64),
        ("n_findings", c.c_uint64),
        ("n_dropped", c.c_uint64),
        ("statistics", StatisticsStruct),
    ]


class FindingStruct(Struct):
    """``hipemu_finding``."""

    _fields_: ClassVar[Any] = [
        ("id", c.c_char_p),
        ("message", c.c_char_p),
        ("kernel", c.c_char_p),
        ("instruction", c.c_char_p),
        ("source_file", c.c_char_p),
        ("source_line", c.c_uint32),
        ("pc", c.c_uint64),
        ("workgroup", c.c_uint32 * 3),
        ("wave", c.c_uint32),
        ("lane", c.c_uint32),
        ("address", c.c_uint64),
        ("occurrences", c.c_uint64),
    ]


class WaveStateStruct(Struct):
    """``hipemu_wave_state``."""

    _fields_: ClassVar[Any] = [
        ("struct_bytes", c.c_uint32),
        ("scc", c.c_uint32),
        ("mode", c.c_uint32),
        ("lds_bytes", c.c_uint32),
        ("lds", c.c_void_p),
        ("pc", c.c_uint64),
        ("max_instructions", c.c_uint64),
        ("instructions", c.c_uint64),
        ("sgpr", c.c_uint32 * 128),
        ("vgpr", c.c_uint32 * (512 * 64)),
    ]


class OpcodeStruct(Struct):
    """``hipemu_opcode``."""

    _fields_: ClassVar[Any] = [(n, c.c_char_p) for n in ("mnemonic", "unit", "operands", "exactness")]


OUTPUT = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.POINTER(c.c_char), c.c_size_t)
VISIT = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_char_p, c.c_int)

# name -> (result, arguments); "status" results raise EmulatorError.
_P = c.c_void_p
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "api_version": (c.c_uint32, []),
    "error_text": (c.c_char_p, []),
    "device_create": ("status", [c.c_char_p, c.POINTER(Config), c.POINTER(_P)]),
    "device_destroy": (None, [_P]),
    "options_get": ("status", [_P, c.POINTER(OptionsStruct)]),
    "options_set": ("status", [_P, c.POINTER(OptionsStruct)]),
    "output_set": (None, [_P, OUTPUT, _P]),
    "alloc": ("status", [_P, c.c_uint64, c.c_uint64, c.c_int, c.c_uint32, c.POINTER(_P)]),
    "free": ("status", [_P, _P]),
    "copied": (c.c_uint64, [_P, _P, _P, c.c_uint64]),
    "memory_info": (None, [_P, c.POINTER(c.c_uint64), c.POINTER(c.c_uint64)]),
    "module_load": ("status", [_P, c.c_char_p, c.c_size_t, c.POINTER(_P)]),
    "module_unload": (None, [_P]),
    "module_kernel_count": (c.c_size_t, [_P]),
    "module_kernel_at": (_P, [_P, c.c_size_t]),
    "module_kernel": ("status", [_P, c.c_char_p, c.POINTER(_P)]),
    "kernel_info_get": ("status", [_P, c.POINTER(KernelInfoStruct)]),
    "module_variable_count": (c.c_size_t, [_P]),
    "module_variable_at": ("status", [_P, c.c_size_t, c.POINTER(VariableStruct)]),
    "module_symbol": ("status", [_P, c.c_char_p, c.POINTER(c.c_uint64)]),
    "launch_kernel": (c.c_int, [_P, c.POINTER(LaunchStruct), c.POINTER(ResultStruct)]),
    "statistics_get": (None, [_P, c.POINTER(StatisticsStruct)]),
    "occupancy": ("status", [_P, c.c_uint32, c.c_uint32, c.POINTER(c.c_uint32)]),
    "finding_count": (c.c_size_t, [_P]),
    "finding_at": ("status", [_P, c.c_size_t, c.POINTER(FindingStruct)]),
    "findings_clear": (None, [_P]),
    "run_wave": ("status", [_P, c.POINTER(WaveStateStruct)]),
    "opcode_count": (c.c_size_t, []),
    "opcode_at": ("status", [c.c_size_t, c.POINTER(OpcodeStruct)]),
    "kernel_visit": ("status", [_P, VISIT, _P]),
}


def error(status: int) -> EmulatorError:
    """The exception for a failed call, with the core's text and the next step."""
    text = core().error_text().decode("utf-8", "replace")
    kind = UnimplementedInstruction if status == 6 else EmulatorError
    return kind(status, text, NEXT_STEPS.get(status, ""))


class Core:
    """The loaded library; one attribute per C function, without the ``hipemu_`` prefix."""

    def __init__(self, path: str) -> None:
        library = c.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, f"hipemu_{name}")
            function.argtypes = arguments
            function.restype = c.c_int if result == "status" else result
            if result == "status":
                function.errcheck = _check
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _check(status: int, _function: Any, _arguments: Any) -> int:
    if status:
        raise error(status)
    return status


@cache
def core() -> Core:
    """The C++ core, built on first use.

    Raises:
        ToolchainError: it cannot be built or loaded.
    """
    from hipport.emulator.build import library_path

    path = library_path()
    try:
        loaded = Core(str(path))
    except OSError as failure:
        raise ToolchainError(f"cannot load the emulator: {failure}", "delete it from the cache and retry") from failure
    if loaded.api_version() != API_VERSION:
        raise ToolchainError("the emulator in the cache has another interface", "delete it from the cache and retry")
    return loaded


@cache
def objdump() -> str:
    """Path of an llvm-objdump that knows AMDGPU: ``$HIPPORT_OBJDUMP``, the SDK's, then PATH.

    Raises:
        ToolchainError: there is none.
    """
    given = os.environ.get("HIPPORT_OBJDUMP")
    if given:
        return given
    from hipport.sdk import find_sdk

    try:
        return str(find_sdk().tool("llvm-objdump"))
    except ToolchainError:
        for name in ("llvm-objdump", *(f"llvm-objdump-{n}" for n in range(30, 16, -1))):
            found = shutil.which(name)
            if found:
                return found
        raise
