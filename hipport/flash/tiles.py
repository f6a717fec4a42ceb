"""Tiles of the forward kernels, for the host side: read from ``hipport/cute/flash_tiles.h``, where the table lies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from hipport.core import HipportError
from hipport.core.files import include_root

_TABLE = "hipport/cute/flash_tiles.h"
_ROW = re.compile(r"^ *\{(\w+), (\d+), \{(\d+), (\d+), (\d+), (true|false)\}, (\d+)\},$", re.MULTILINE)
EVERY_TARGET = "any"


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and columns of scores that a workgroup works on at a time, and its wavefronts."""

    block_m: int
    block_n: int
    warps: int
    share_q_k: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Attributes:
        target: LLVM processor name, or `EVERY_TARGET`.
        head_dim: instantiated head dimension.
        forward: tile of the forward kernel.
        split_block_n: columns of a block of the split-KV kernel.
    """

    target: str
    head_dim: int
    forward: Tile
    split_block_n: int


@cache
def rows() -> tuple[Row, ...]:
    """The table."""
    text = (include_root() / _TABLE).read_text(encoding="utf-8")
    return tuple(
        Row(target, int(dim), Tile(int(m), int(n), int(warps), share == "true"), int(split))
        for target, dim, m, n, warps, share, split in _ROW.findall(text)
    )


def forward_tile(head_dim: int, target: str = EVERY_TARGET) -> Tile:
    """Tile of the forward kernel for an instantiated head dimension (see `row_for`)."""
    return row_for(head_dim, target).forward


def split_block_n(head_dim: int, target: str = EVERY_TARGET) -> int:
    """Columns of a block of the split-KV kernel (see `row_for`)."""
    return row_for(head_dim, target).split_block_n


def row_for(head_dim: int, target: str = EVERY_TARGET) -> Row:
    """The row that a build for one target takes for an instantiated head dimension.

    Args:
        head_dim: as instantiated (`hipport.flash.kernels.padded_head_dim`).
        target: LLVM processor name; `EVERY_TARGET` for a build that does not say.

    Raises:
        HipportError: no such head dimension.
    """
    for wanted in (target, EVERY_TARGET):
        for row in rows():
            if (row.target, row.head_dim) == (wanted, head_dim):
                return row
    raise HipportError(f"head dimension {head_dim} has no tile", f"add a row to {_TABLE}")
