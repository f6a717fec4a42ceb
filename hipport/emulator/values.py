"""Kernel arguments as text: what ``hipport emulate --args`` takes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hipport.core import HipportError
from hipport.core.files import write_atomic

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"{sign}{bits}": np.dtype(f"{sign}{bits // 8}").type for sign in "iu" for bits in (8, 16, 32, 64)},
}
_SYNTAX = "use x.npy, x.npy:out.npy, zeros:f32:1024[:out.npy], or a scalar such as i32:7"


@dataclass(frozen=True, slots=True)
class Value:
    """One argument.

    Attributes:
        value: numpy array or scalar, as `Module.launch` takes it.
        output: where the array goes after the launch, None: nowhere.
    """

    value: Any
    output: Path | None = None

    def save(self) -> None:
        """Write the array to `output`.

        Raises:
            HipportError: the file cannot be written.
        """
        if self.output is not None:
            buffer = io.BytesIO()
            np.save(buffer, self.value)
            write_atomic(self.output, buffer.getvalue())


def parse_values(texts: Sequence[str]) -> list[Value]:
    """Arguments in order.

    Raises:
        HipportError: one of them is not understood, or its file cannot be read.
    """
    return [_value(text) for text in texts]


def _value(text: str) -> Value:
    head, _, rest = text.partition(":")
    if head == "zeros":
        dtype, _, rest = rest.partition(":")
        shape, _, output = rest.partition(":")
        if dtype not in DTYPES:
            raise HipportError(f"argument {text!r}: unknown type {dtype!r}", f"types: {', '.join(DTYPES)}")
        try:
            dims = tuple(int(n) for n in shape.split("x"))
            array = np.zeros(dims, DTYPES[dtype])
        except (ValueError, MemoryError) as error:
            raise HipportError(f"argument {text!r}: bad shape {shape!r}", _SYNTAX) from error
        return Value(array, Path(output) if output else None)
    if head in DTYPES:
        kind = DTYPES[head]
        try:
            number: Any = float(rest) if head.startswith("f") else int(rest, 0)
            if not head.startswith("f") and not np.iinfo(kind).min <= number <= np.iinfo(kind).max:
                raise ValueError
            return Value(kind(number))
        except ValueError as error:
            raise HipportError(f"argument {text!r}: {rest!r} is no {head}", _SYNTAX) from error
    if head.endswith(".npy"):
        try:
            array = np.load(head, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise HipportError(f"cannot read array {head}: {error}", "write it with numpy.save") from error
        return Value(np.ascontiguousarray(array), Path(rest) if rest else None)
    raise HipportError(f"argument {text!r} is not understood", _SYNTAX)
