"""Send a request to an entry program and read its reply (the format is in ``hipport/cute/flash_entry.h``)."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipport.core import HipportError

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter that is the device address of a buffer, by its number."""

    buffer: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch: which kernel of the program, its grid in workgroups, its parameters by field name."""

    kernel: int
    grid: tuple[int, int, int]
    parameters: Mapping[str, int | float | Pointer]


def run(
    program: Path, environment: Mapping[str, str], buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
) -> list[Array]:
    """Run the program; returns the buffers marked True, as they are after the launches, shaped as they were given.

    Raises:
        HipportError: the program failed; its own message is quoted.
    """
    request = bytearray(struct.pack("<I", len(buffers)))
    for array, wanted in buffers:
        data = np.ascontiguousarray(array).tobytes()
        request += struct.pack("<QI", len(data), int(wanted)) + data
    request += struct.pack("<I", len(launches))
    for launch in launches:
        request += struct.pack("<5I", launch.kernel, *launch.grid, len(launch.parameters))
        for name, value in launch.parameters.items():
            request += struct.pack("<I", len(name)) + name.encode()
            if isinstance(value, Pointer):
                request += struct.pack("<IQ", 2, value.buffer)
            elif isinstance(value, float):
                request += struct.pack("<Id", 1, value)
            else:
                request += struct.pack("<Iq", 0, int(value))
    done = subprocess.run([str(program)], input=bytes(request), capture_output=True, env=dict(environment), check=False)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0 or len(done.stdout) < 4:
        raise HipportError(
            f"the kernel program ended with {done.returncode}: {said[-500:]}", "run it with checks for the place"
        )
    if status := struct.unpack_from("<I", done.stdout)[0]:
        raise HipportError(f"HIP error {status}: {said[-500:]}", "see the HIP runtime's error codes")
    at = 4
    results = []
    for array, wanted in buffers:
        if wanted:
            results.append(np.frombuffer(done.stdout, array.dtype, array.size, at).reshape(array.shape).copy())
            at += array.nbytes
    return results
