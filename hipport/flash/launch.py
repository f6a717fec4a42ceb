"""Launch entry points on numpy arrays: in this process, or in a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipport.flash import library
from hipport.flash.library import Launch, Library, Memory, Pointer
from hipport.flash.worker import ask

__all__ = ["Array", "Launch", "Pointer", "run", "run_here"]

Array = NDArray[Any]


def run(
    path: Path, environment: Mapping[str, str], buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
) -> list[Array]:
    """Run launches in a worker; returns the buffers marked True, as they are afterwards, shaped as they were given.

    Args:
        path: a library of entry points.
        environment: of the worker (`hipport.hiprt.runtime_environment`).
        buffers: what is copied to the device, and whether it is wanted back.
        launches: in order.

    Raises:
        HipportError: `hipport.flash.worker.ask`.
    """
    parts = [(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, wanted) for array, wanted in buffers]
    wanted = [array for array, wanted in buffers if wanted]
    results = ask(path, environment, parts, launches)
    return [
        np.frombuffer(bytearray(data), array.dtype).reshape(array.shape)
        for array, data in zip(wanted, results, strict=True)
    ]


def run_here(loaded: Library, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]) -> list[Array]:
    """`run` in this process, on the GPU of this machine.

    Raises:
        HipportError: `hipport.flash.library.run`.
    """
    held = [(np.array(array, order="C"), wanted) for array, wanted in buffers]
    memory = [Memory(array.ctypes.data, array.nbytes, wanted) for array, wanted in held]
    library.run(loaded, memory, launches)
    return [array for array, wanted in held if wanted]
