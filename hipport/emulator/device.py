"""Run kernels of a code object on the CPU.

device = Device("gfx942")
module = device.load("kernels.co")
out = np.zeros(256, np.float32)
module.launch("vadd", grid=4, block=64, args=[a, b, out, np.int32(256)])

numpy arrays are copied to guest memory before the launch and back after it; scalars must have the size the kernel
declares (``np.int32(5)``, ``np.float32(1)``).
"""

from __future__ import annotations

import contextlib
import ctypes as c
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipport.core import HipportError, target_named
from hipport.core.files import cache_root
from hipport.emulator import native_api as api


class Checks(IntFlag):
    """What to look for while running; the range test on every access is always on."""

    NONE = 0
    BOUNDS = 1
    UNINITIALISED = 2
    RACES = 4
    BARRIERS = 8
    WAITCNT = 16
    MASKS = 32
    BANKS = 64
    ALL = 127

    @classmethod
    def parse(cls, text: str) -> Checks:
        """Comma list of names, in any case; empty for none.

        Raises:
            HipportError: there is no check of that name.
        """
        chosen = cls.NONE
        for name in filter(None, (part.strip() for part in text.split(","))):
            if name.upper() not in cls.__members__:
                known = ", ".join(m.lower() for m in cls.__members__)
                raise HipportError(f"unknown check {name!r}", f"choose from {known}")
            chosen |= cls[name.upper()]
        return chosen


@dataclass(frozen=True, slots=True)
class Options:
    """How to run.

    Attributes:
        threads: worker threads, 0 for one per CPU.
        deterministic: the same bits for any thread count, float atomics included.
        checks: see `Checks`.
        max_instructions: wave-instructions per launch, 0 for no limit.
        poison: pattern in registers and LDS before the first write.
        quantum: wave-instructions before another wave gets its turn, 0 for the default.
        reverse_waves: run the waves of a workgroup in reverse order.
        max_findings: kept per launch.
        stop_at_finding: end the launch at its first finding.
    """

    threads: int = 0
    deterministic: bool = True
    checks: Checks = Checks.NONE
    max_instructions: int = 0
    poison: int = 0xCDCDCDCD
    quantum: int = 0
    reverse_waves: bool = False
    max_findings: int = 64
    stop_at_finding: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong that a launch did.

    Attributes:
        id: HP850 to HP879.
        message: one line.
        kernel: mangled name.
        instruction: disassembly.
        source_file: from DWARF, empty when unknown.
        source_line: 0 when unknown.
        pc: offset in the code object.
        workgroup: its three indices.
        wave: in its workgroup.
        lane: of the wave.
        address: memory address, LDS offset or register number.
        occurrences: the same finding at the same instruction is kept once.
    """

    id: str
    message: str
    kernel: str
    instruction: str
    source_file: str
    source_line: int
    pc: int
    workgroup: tuple[int, int, int]
    wave: int
    lane: int
    address: int
    occurrences: int

    def format(self) -> str:
        """One line: place, id, message, instruction, wave and lane."""
        place = f"{self.source_file}:{self.source_line}: " if self.source_line else ""
        where = (
            f"workgroup {self.workgroup[0]},{self.workgroup[1]},{self.workgroup[2]} wave {self.wave} lane {self.lane}"
        )
        code = f" at '{self.instruction}' (+0x{self.pc:x})" if self.instruction else ""
        times = f", {self.occurrences} times" if self.occurrences > 1 else ""
        return f"{place}{self.id}: {self.message}{code}, kernel {self.kernel}, {where}{times}"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of one launch, or sums over a device's launches. Bank and coalescing counts need `Checks.BANKS`."""

    instructions: int
    waves: int
    workgroups: int
    nanoseconds: int
    lds_accesses: int
    lds_conflict_cycles: int
    global_accesses: int
    global_segments: int
    global_minimum: int
    mfma_instructions: int
    scratch_bytes: int
    cpu_nanoseconds: int

    @property
    def instructions_per_second(self) -> float:
        """Wave-instructions per second of wall clock."""
        return self.instructions * 1e9 / self.nanoseconds if self.nanoseconds else 0.0


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What a launch did.

    Attributes:
        statistics: see `Statistics`.
        findings: kept findings, in the order they were found.
        dropped: findings beyond `Options.max_findings`.
        error: why the launch ended early (memory fault, deadlock, trap, limit), None when it ran to completion.
    """

    statistics: Statistics
    findings: tuple[Finding, ...] = ()
    dropped: int = 0
    error: api.EmulatorError | None = None

    def raise_error(self) -> LaunchResult:
        """Self, or raise the error that ended the launch."""
        if self.error is not None:
            raise self.error
        return self


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One argument of a kernel: offset and size in the kernarg segment, metadata kind and name."""

    offset: int
    bytes: int
    kind: str
    name: str

    @property
    def hidden(self) -> bool:
        """Filled in by the runtime, not passed by the caller."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Metadata of a kernel (AMDGPUUsage, "Code Object Metadata")."""

    name: str
    kernarg_bytes: int
    explicit_kernarg_bytes: int
    lds_bytes: int
    private_bytes: int
    dynamic_stack: bool
    wavefront_size: int
    max_workgroup_size: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    arguments: tuple[KernelArgument, ...] = field(default=())

    @property
    def explicit_arguments(self) -> tuple[KernelArgument, ...]:
        """What a caller passes, in order."""
        return tuple(a for a in self.arguments if not a.hidden)


class Buffer:
    """A block of guest memory; its device address is a host address.

    Args:
        device: owner.
        bytes: size.
    """

    def __init__(self, device: Device, n_bytes: int) -> None:
        pointer = c.c_void_p()
        device.core.alloc(device.handle, n_bytes, 0, 0, 0, c.byref(pointer))
        self.device = device
        self.n_bytes = n_bytes
        self.address: int = pointer.value or 0
        self._release = weakref.finalize(self, _free, device.core, device.keep_alive, self.address)

    def view(self, dtype: Any = np.uint8) -> NDArray[Any]:
        """The memory itself as a (n_bytes / itemsize,) array; valid while the buffer lives.

        What the host reads this way is not seen by `Checks.UNINITIALISED`; `download` is.
        """
        raw: Any = (c.c_uint8 * self.n_bytes).from_address(self.address)
        return np.frombuffer(raw, dtype=np.uint8)[
            : self.n_bytes // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize
        ].view(dtype)

    def download(self, dtype: Any = np.uint8) -> NDArray[Any]:
        """A copy for the host. Uninitialised values in it become findings of the device."""
        copy = self.view(dtype).copy()
        self.device.core.copied(self.device.handle, copy.ctypes.data, self.address, copy.nbytes)
        return copy

    def free(self) -> None:
        """Give the memory back now; later uses by a kernel are findings."""
        self._release()


def _free(core: Any, alive: _Handle, address: int) -> None:
    if alive.value:
        with contextlib.suppress(HipportError):
            core.free(alive.value, address)


class _Handle:
    """The device's handle; 0 once it is destroyed, so that late finalizers do nothing."""

    def __init__(self, value: int) -> None:
        self.value = value


def _destroy(core: Any, handle: _Handle) -> None:
    if handle.value:
        core.device_destroy(handle.value)
        handle.value = 0


class Device:
    """An emulated GPU.

    Args:
        target: LLVM processor name.
        options: how to run; `Device.options` may be assigned later.
        arena_bytes: address space for guest memory, 0 for the default (64 GiB).

    Raises:
        HipportError: unknown target.
        ToolchainError: the core or a disassembler is missing.
    """

    def __init__(self, target: str = "gfx942", options: Options = Options(), arena_bytes: int = 0) -> None:
        self.target = target_named(target)
        self.core = api.core()
        config = api.Config(
            objdump=api.objdump().encode(),
            cache_dir=str(cache_root() / "emulator" / "programs").encode(),
            arena_bytes=arena_bytes,
        )
        pointer = c.c_void_p()
        self.core.device_create(self.target.name.encode(), c.byref(config), c.byref(pointer))
        self.keep_alive = _Handle(pointer.value or 0)
        self._finalizer = weakref.finalize(self, _destroy, self.core, self.keep_alive)
        self._output: Any = None
        self._options = options
        self.options = options

    @property
    def handle(self) -> int:
        """Pointer for the C API."""
        return self.keep_alive.value

    @property
    def options(self) -> Options:
        """How launches run."""
        return self._options

    @options.setter
    def options(self, options: Options) -> None:
        values = {f.name: int(getattr(options, f.name)) for f in fields(options)}
        self.core.options_set(self.handle, c.byref(api.OptionsStruct(**values, host_copies=1)))
        self._options = options

    def on_output(self, receive: Callable[[int, bytes], None] | None) -> None:
        """Send text that device code prints to ``receive(stream, text)``: 1 stdout, 2 stderr; None: this process."""
        if receive is None:
            self._output = api.OUTPUT(0)
        else:
            self._output = api.OUTPUT(lambda _user, stream, text, n: receive(stream, c.string_at(text, n)))
        self.core.output_set(self.handle, self._output, None)

    def allocate(self, n_bytes: int) -> Buffer:
        """Uninitialised guest memory.

        Raises:
            EmulatorError: no room.
        """
        return Buffer(self, n_bytes)

    def upload(self, array: NDArray[Any]) -> Buffer:
        """Guest memory with a copy of the array.

        Raises:
            HipportError: it holds Python objects.
            EmulatorError: no room.
        """
        if array.dtype.hasobject:
            raise HipportError("an array of Python objects has no bytes to copy", "use numbers or plain structures")
        buffer = Buffer(self, max(array.nbytes, 1))
        if array.nbytes:
            buffer.view()[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
            self.core.copied(self.handle, buffer.address, None, array.nbytes)
        return buffer

    def load(self, image: Path | str | bytes) -> Module:
        """Load a code object: ELF or offload bundle, as a file or as bytes.

        Raises:
            HipportError: the file cannot be read, is corrupt, or has no code for this target.
        """
        if isinstance(image, bytes):
            return Module(self, image)
        try:
            data = Path(image).read_bytes()
        except OSError as failure:
            raise HipportError(f"cannot read {image}: {failure.strerror}", "check the path") from failure
        from hipport.codeobject import device_image

        return Module(self, device_image(data, self.target.name, str(image)))

    def findings(self, first: int = 0) -> tuple[Finding, ...]:
        """Findings of all launches since `clear_findings`, from index ``first``."""
        found = []
        item = api.FindingStruct()
        for index in range(first, self.core.finding_count(self.handle)):
            self.core.finding_at(self.handle, index, c.byref(item))
            found.append(
                Finding(
                    id=item.id.decode(),
                    message=item.message.decode("utf-8", "replace"),
                    kernel=item.kernel.decode("utf-8", "replace"),
                    instruction=item.instruction.decode("utf-8", "replace"),
                    source_file=item.source_file.decode("utf-8", "replace"),
                    source_line=item.source_line,
                    pc=item.pc,
                    workgroup=(item.workgroup[0], item.workgroup[1], item.workgroup[2]),
                    wave=item.wave,
                    lane=item.lane,
                    address=item.address,
                    occurrences=item.occurrences,
                )
            )
        return tuple(found)

    def clear_findings(self) -> None:
        """Forget all findings."""
        self.core.findings_clear(self.handle)

    @property
    def statistics(self) -> Statistics:
        """Sums over all launches."""
        total = api.StatisticsStruct()
        self.core.statistics_get(self.handle, c.byref(total))
        return _statistics(total)


def _statistics(struct: api.StatisticsStruct) -> Statistics:
    return Statistics(**{f.name: int(getattr(struct, f.name)) for f in fields(Statistics)})


Dim = int | tuple[int, ...]


def _dim3(value: Dim, what: str) -> tuple[int, int, int]:
    given = value if isinstance(value, tuple | list) else (value,)
    parts = [p for p in given if isinstance(p, int | np.integer) and 1 <= p <= 0xFFFFFFFF]
    if len(parts) != len(given) or not 1 <= len(given) <= 3:
        raise HipportError(
            f"{what} must be one to three positive numbers, not {value}", f"for example {what}=(4, 2, 1)"
        )
    padded = (*parts, 1, 1)
    return (padded[0], padded[1], padded[2])


Argument = NDArray[Any] | np.generic | Buffer | bytes


class Module:
    """A loaded code object.

    Args:
        device: where it is loaded.
        image: ELF bytes for the device's target.
    """

    def __init__(self, device: Device, image: bytes) -> None:
        pointer = c.c_void_p()
        device.core.module_load(device.handle, image, len(image), c.byref(pointer))
        self.device = device
        self.handle: int = pointer.value or 0
        count = device.core.module_kernel_count(self.handle)
        handles = [device.core.module_kernel_at(self.handle, k) for k in range(count)]
        self.kernels: dict[str, KernelInfo] = {}
        self._kernel_handles: dict[str, int] = {}
        for handle in handles:
            info = self._info(handle)
            self.kernels[info.name] = info
            self._kernel_handles[info.name] = handle

    def _info(self, handle: int) -> KernelInfo:
        struct = api.KernelInfoStruct()
        self.device.core.kernel_info_get(handle, c.byref(struct))
        arguments = tuple(
            KernelArgument(a.offset, a.bytes, a.kind.decode("utf-8", "replace"), a.name.decode("utf-8", "replace"))
            for a in struct.arguments[: struct.n_arguments]
        )
        values = {f.name: getattr(struct, f.name) for f in fields(KernelInfo) if f.name not in ("name", "arguments")}
        values["dynamic_stack"] = bool(values["dynamic_stack"])
        return KernelInfo(name=struct.name.decode("utf-8", "replace"), arguments=arguments, **values)

    def kernel(self, name: str) -> KernelInfo:
        """Metadata of a kernel by its mangled name, or by the part of it that is the plain name if that is unique.

        Raises:
            HipportError: there is none, or several match.
        """
        if name in self.kernels:
            return self.kernels[name]
        matches = [k for k in self.kernels if f"{len(name)}{name}" in k]
        if len(matches) == 1:
            return self.kernels[matches[0]]
        if matches:
            raise HipportError(f"{name!r} names {len(matches)} kernels", f"use a full name: {', '.join(matches[:5])}")
        known = ", ".join(list(self.kernels)[:8])
        raise HipportError(
            f"no kernel named {name!r}", f"the code object has: {known}" if known else "it has no kernels"
        )

    def variables(self) -> dict[str, tuple[int, int]]:
        """Device variables: name -> (address, bytes)."""
        found = {}
        item = api.VariableStruct()
        for k in range(self.device.core.module_variable_count(self.handle)):
            self.device.core.module_variable_at(self.handle, k, c.byref(item))
            found[item.name.decode("utf-8", "replace")] = (int(item.address), int(item.bytes))
        return found

    def symbol(self, name: str) -> int:
        """Address of a symbol.

        Raises:
            EmulatorError: there is none.
        """
        address = c.c_uint64()
        self.device.core.module_symbol(self.handle, name.encode(), c.byref(address))
        return address.value

    def occupancy(self, name: str, block_threads: int, dynamic_lds_bytes: int = 0) -> int:
        """Workgroups of that size that one compute unit holds."""
        result = c.c_uint32()
        handle = self._kernel_handles[self.kernel(name).name]
        self.device.core.occupancy(handle, block_threads, dynamic_lds_bytes, c.byref(result))
        return result.value

    def instructions(self, name: str) -> Iterator[tuple[int, str, bool]]:
        """(offset, disassembly, implemented) of every instruction of a kernel."""
        found: list[tuple[int, str, bool]] = []
        visit = api.VISIT(
            lambda _user, offset, text, ok: found.append((offset, text.decode("utf-8", "replace"), bool(ok)))
        )
        self.device.core.kernel_visit(self._kernel_handles[self.kernel(name).name], visit, None)
        return iter(found)

    def launch(
        self,
        kernel: str,
        grid: Dim,
        block: Dim,
        args: Sequence[Argument] = (),
        *,
        dynamic_lds_bytes: int = 0,
        cooperative: bool = False,
    ) -> LaunchResult:
        """Run a kernel to completion.

        Args:
            kernel: name, see `kernel`.
            grid: workgroups per dimension.
            block: work-items of a workgroup.
            args: explicit arguments in order: arrays (copied in, and back afterwards when writeable), `Buffer`s,
                numpy scalars, or raw bytes for structs passed by value.
            dynamic_lds_bytes: LDS beyond what the kernel declares.
            cooperative: all workgroups are live at once.

        Raises:
            HipportError: wrong arguments or geometry, not implemented instruction, memory fault, deadlock, trap, limit.
        """
        result = self.try_launch(
            kernel, grid, block, args, dynamic_lds_bytes=dynamic_lds_bytes, cooperative=cooperative
        )
        return result.raise_error()

    def try_launch(
        self,
        kernel: str,
        grid: Dim,
        block: Dim,
        args: Sequence[Argument] = (),
        *,
        dynamic_lds_bytes: int = 0,
        cooperative: bool = False,
    ) -> LaunchResult:
        """As `launch`, but an error that ends the launch is in the result, with the findings up to then."""
        info = self.kernel(kernel)
        arguments = info.explicit_arguments
        if len(args) != len(arguments):
            raise HipportError(
                f"kernel {info.name} takes {len(arguments)} arguments, got {len(args)}",
                "arguments: " + ", ".join(f"{a.name or a.kind} ({a.bytes} bytes)" for a in arguments),
            )
        kernarg = bytearray(max(info.kernarg_bytes, 8))
        back: list[tuple[NDArray[Any], Buffer]] = []
        for index, (value, argument) in enumerate(zip(args, arguments, strict=True)):
            data = self._argument_bytes(value, argument, index, info.name, back)
            kernarg[argument.offset : argument.offset + argument.bytes] = data
        blocks = _dim3(block, "block")
        groups = _dim3(grid, "grid")
        items = tuple(g * b for g, b in zip(groups, blocks, strict=True))
        if any(n > 0xFFFFFFFF for n in items):
            raise HipportError(f"grid {groups} of blocks {blocks} has too many work-items", "use a smaller grid")
        raw: Any = (c.c_uint8 * len(kernarg)).from_buffer(kernarg)
        launch = api.LaunchStruct(
            grid=(c.c_uint32 * 3)(*items),
            block=(c.c_uint32 * 3)(*blocks),
            dynamic_lds_bytes=dynamic_lds_bytes,
            kernarg=c.addressof(raw),
            kernarg_bytes=info.explicit_kernarg_bytes,
            cooperative=int(cooperative),
        )
        result = api.ResultStruct()
        core = self.device.core
        status = core.launch_kernel(self._kernel_handles[info.name], c.byref(launch), c.byref(result))
        error = api.error(status) if status else None
        added = 0
        for array, buffer in back:
            array.reshape(-1).view(np.uint8)[:] = buffer.view()[: array.nbytes]
            added += core.copied(self.device.handle, array.ctypes.data, buffer.address, array.nbytes)
        for _, buffer in back:
            buffer.free()
        findings = self.device.findings(result.first_finding) if result.n_findings or added else ()
        return LaunchResult(_statistics(result.statistics), findings, int(result.n_dropped), error)

    def _argument_bytes(
        self,
        value: Argument,
        argument: KernelArgument,
        index: int,
        kernel: str,
        back: list[tuple[NDArray[Any], Buffer]],
    ) -> bytes:
        label = f"argument {index} ({argument.name or argument.kind}) of {kernel}"
        if isinstance(value, Buffer):
            data = value.address.to_bytes(8, "little")
        elif isinstance(value, np.ndarray):
            if argument.kind != "global_buffer" and argument.bytes != 8:
                raise HipportError(f"{label} is no pointer", f"pass a numpy scalar of {argument.bytes} bytes")
            if not value.flags.c_contiguous:
                raise HipportError(f"{label} is not contiguous", "pass np.ascontiguousarray(x)")
            buffer = self.device.upload(value)
            if value.flags.writeable:
                back.append((value, buffer))
            else:
                back.append((value.copy(), buffer))
            data = buffer.address.to_bytes(8, "little")
        elif isinstance(value, np.generic):
            data = value.tobytes()
        elif isinstance(value, bytes):
            data = value
        else:
            raise HipportError(f"{label}: {type(value).__name__} has no size", "pass a numpy scalar, array, or bytes")
        if len(data) != argument.bytes:
            raise HipportError(
                f"{label} has {argument.bytes} bytes, the value {len(data)}",
                "pass a value of the size the kernel declares",
            )
        return data
