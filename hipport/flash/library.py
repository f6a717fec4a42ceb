"""A compiled library of C entry points (``hipport/flash.h``), called with the HIP runtime that it is linked to.

The runtime's functions are looked up through the library itself, so both sides always mean the same ``libamdhip64``:
AMD's on a ROCm machine (PyTorch's copy where PyTorch has loaded one), the drop-in one on the emulator. Standard library
only: a worker that loads this starts in a few hundredths of a second.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import include_root

HEADER = "hipport/flash.h"
_STRUCTURE = "hipport_flash_params"
_TYPES: dict[str, type[ctypes._SimpleCData[int] | ctypes._SimpleCData[float] | ctypes._SimpleCData[bool]]] = {
    "int": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint8_t": ctypes.c_uint8,
    "uint64_t": ctypes.c_uint64,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
}
_TO_DEVICE, _TO_HOST = 1, 2  # hipMemcpyHostToDevice, hipMemcpyDeviceToHost
_INVALID_VALUE = 1  # hipErrorInvalidValue; the other codes of hip/hip_runtime_api.h that have a next step:
_NEXT_STEPS = {
    2: "make the problem smaller",
    98: "this GPU is another target: choose it with target=",
    100: "device='emulator' needs no GPU; rocminfo says what AMD's driver sees",
    209: "this GPU is another target: choose it with target=",
    700: "the emulator's checks name the place: device='emulator', checks='all'",
    719: "the emulator's checks name the place: device='emulator', checks='all'",
}


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter that is the device address of a buffer, by its number."""

    buffer: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One call of an entry point.

    Attributes:
        entry: its C name.
        parameters: by field of ``hipport_flash_params``; an address that is already one of the device is a number.
        stream: ``hipStream_t``; 0 is the null stream.
    """

    entry: str
    parameters: Mapping[str, int | float | Pointer]
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """Host memory that a launch works on: its address and bytes, and whether it wants back what the kernels leave."""

    address: int
    n_bytes: int
    wanted: bool


@cache
def parameter_fields() -> dict[str, str]:
    """C type of every field of ``hipport_flash_params``, in the header's order; ``address`` for any pointer.

    Raises:
        HipportError: a line of the structure is no field.
    """
    text = (include_root() / HEADER).read_text(encoding="utf-8")
    body = re.search(rf"\nstruct {_STRUCTURE} {{\n(.*?)\n}};", text, re.DOTALL)
    fields: dict[str, str] = {}
    for line in body[1].splitlines() if body else ():
        row = re.fullmatch(r"\s*(?:(\w+)|\w+(\*)) (\w+);\s*(?://.*)?", line)
        if row is None or (row[1] and row[1] not in _TYPES):
            raise HipportError(f"{HEADER}: {line.strip()!r} is no field", f"one field a line, of {', '.join(_TYPES)}")
        fields[row[3]] = row[1] or "address"
    return fields


def layout() -> int:
    """64 bits that change with the structure; a library answers with those that it was compiled with."""
    text = ";".join(f"{kind} {name}" for name, kind in parameter_fields().items())
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


@cache
def _structure() -> type[ctypes.Structure]:
    fields = [(name, _TYPES.get(kind, ctypes.c_void_p)) for name, kind in parameter_fields().items()]
    return type(_STRUCTURE, (ctypes.Structure,), {"_fields_": fields})


def pack(parameters: Mapping[str, int | float | Pointer], addresses: Sequence[int] = ()) -> ctypes.Structure:
    """The C structure; fields that are not named are zero.

    Args:
        parameters: by name.
        addresses: of the buffers that `Pointer` numbers.

    Raises:
        HipportError: no such field, or the value is not one of its type.
    """
    packed = _structure()()
    for name, value in parameters.items():
        kind = parameter_fields().get(name)
        if kind is None:
            raise HipportError(f"FlashAttention has no parameter {name!r}", f"{HEADER} lists them")
        if isinstance(value, Pointer):
            if kind != "address" or not 0 <= value.buffer < len(addresses):
                raise HipportError(f"parameter {name}, {kind}, is not for buffer {value.buffer}", f"see {HEADER}")
            setattr(packed, name, addresses[value.buffer])
        elif kind == "float":
            setattr(packed, name, float(value))
        else:
            number = int(value)
            setattr(packed, name, number)
            if number != value or (getattr(packed, name) or 0) != number:
                raise HipportError(f"parameter {name}: {value} is no {kind}", f"see {HEADER}")
    return packed


class Library:
    """A loaded library.

    Args:
        path: made by `hipport.flash.kernels.build_entry`.
        runtime_folders: where ``libamdhip64`` may lie that the dynamic linker does not know.

    Raises:
        HipportError: it or the HIP runtime cannot be loaded, or it was made for another version of the structure.
    """

    def __init__(self, path: Path, runtime_folders: Iterable[Path] = ()) -> None:
        self.path = path
        self._library = _load(path, runtime_folders)
        _one_runtime(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
        ask = self._function("hipport_flash_layout")
        ask.restype = ctypes.c_uint64
        if ask() != layout():
            raise HipportError(f"{path} was made by another version of hipport", _again(path))
        self._error_text = self._function("hipGetErrorString")
        self._error_text.restype = ctypes.c_char_p

    def copy_in(self, memory: Memory) -> int:
        """Device address of a copy; 0 for nothing to copy."""
        address = ctypes.c_void_p()
        if memory.n_bytes:
            self._call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(memory.n_bytes))
            try:
                self._copy(address.value or 0, memory.address, memory.n_bytes, _TO_DEVICE)
            except HipportError:
                self.free(address.value or 0)
                raise
        return address.value or 0

    def copy_out(self, address: int, memory: Memory) -> None:
        """Copy back from the device."""
        if memory.n_bytes:
            self._copy(memory.address, address, memory.n_bytes, _TO_HOST)

    def free(self, address: int) -> None:
        """Release what `copy_in` made; after a fault the runtime refuses, and the first error is the one to report."""
        self._function("hipFree")(ctypes.c_void_p(address))

    def launch(self, launch: Launch, addresses: Sequence[int] = ()) -> None:
        """Enqueue a kernel on its stream.

        Raises:
            HipportError: unknown entry or parameter, or HIP refused.
        """
        packed = pack(launch.parameters, addresses)
        self._call(launch.entry, ctypes.byref(packed), ctypes.c_void_p(launch.stream))

    def synchronize(self) -> None:
        """Wait for the device.

        Raises:
            HipportError: a kernel failed.
        """
        self._call("hipDeviceSynchronize")

    def _copy(self, to: int, source: int, n_bytes: int, kind: int) -> None:
        self._call("hipMemcpy", ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(n_bytes), kind)

    def _call(self, name: str, *arguments: object) -> None:
        if code := self._function(name)(*arguments):
            text = self._error_text(code)
            refused = code == _INVALID_VALUE and name.startswith("hipport_")
            next_step = "it was not compiled for these parameters" if refused else _NEXT_STEPS.get(code, "")
            raise HipportError(f"{name}: {text.decode() if text else 'HIP error'} ({code})", next_step)

    def _function(self, name: str) -> ctypes._NamedFuncPointer:
        try:
            return self._library[name]
        except AttributeError as error:
            raise HipportError(f"{self.path} has no function {name}", _again(self.path)) from error


def run(library: Library, memory: Sequence[Memory], launches: Iterable[Launch]) -> None:
    """Copy to the device, launch, wait, copy back what is wanted into the same place.

    Without memory of the host everything lies on the device already; then this only enqueues.

    Raises:
        HipportError: HIP failed; the call and its error are named.
    """
    addresses: list[int] = []
    try:
        for part in memory:  # one by one: what is there when an error comes is released
            addresses.append(library.copy_in(part))  # noqa: PERF401
        for launch in launches:
            library.launch(launch, addresses)
        if memory:
            library.synchronize()
        for part, address in zip(memory, addresses, strict=True):
            if part.wanted:
                library.copy_out(address, part)
    finally:
        for address in addresses:
            library.free(address)


def _load(path: Path, runtime_folders: Iterable[Path]) -> ctypes.CDLL:
    # A runtime that is loaded already serves, whatever folder it came from: the dynamic linker goes by its name.
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        missing = re.match(r"(libamdhip64\.so\.\d+): cannot open", str(error))
        if missing is None:
            raise HipportError(f"cannot load {path}: {error}", _again(path)) from error
    instead = "install ROCm, or take device='emulator'"
    for folder in runtime_folders:
        if (runtime := folder / missing[1]).is_file():
            try:
                ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(path))
            except OSError as error:
                raise HipportError(f"cannot load {runtime}: {error}", instead) from error
    raise HipportError(f"there is no {missing[1]} on this machine", instead)


def _one_runtime(maps: str) -> None:
    """Two HIP runtimes in a process know nothing of each other's memory.

    Args:
        maps: ``/proc/self/maps``.

    Raises:
        HipportError: there are two.
    """
    found = sorted(set(re.findall(r"/\S*/libamdhip64\.so\S*", maps)))
    if len(found) > 1:
        raise HipportError(f"two HIP runtimes are loaded: {', '.join(found)}", "use a PyTorch made for this ROCm")


def _again(path: Path) -> str:
    return f"remove {path.parent}; the next call compiles it again"
