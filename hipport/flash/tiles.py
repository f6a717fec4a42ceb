"""Tiles of the forward kernels, for the host side: read from ``hipport/cute/flash_tiles.h``, where the table lies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hipport.core import HipportError
from hipport.core.files import include_root

_TABLE = "hipport/cute/flash_tiles.h"
_LARGEST = 256  # head dimension that the last row of a table is for


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and columns of scores that a workgroup works on at a time, and its wavefronts."""

    block_m: int
    block_n: int
    warps: int
    share_q_k: bool


def forward_tile(head_dim: int) -> Tile:
    """Tile of the forward kernel for an instantiated head dimension."""
    block_m, block_n, warps, share = _row("forward_tile", head_dim).strip("{}").replace(" ", "").split(",")
    return Tile(int(block_m), int(block_n), int(warps), share == "true")


def split_block_n(head_dim: int) -> int:
    """Columns of a block of the split-KV kernel."""
    return int(_row("split_block_n", head_dim))


def _row(function: str, head_dim: int) -> str:
    for limit, value in _rows(function):
        if head_dim <= limit:
            return value
    raise HipportError(f"head dimension {head_dim} is over {_LARGEST}", "FlashAttention supports up to 256")


@cache
def _rows(function: str) -> tuple[tuple[int, str], ...]:
    """The function's ``if (head_dim <= LIMIT) return VALUE;`` in order; its last return serves what is left."""

    def parse() -> Iterator[tuple[int, str]]:
        text = (include_root() / _TABLE).read_text(encoding="utf-8")
        body = re.search(rf"\n[^\n]*\b{function}\(int head_dim\) {{\n(.*?)\n}}", text, re.DOTALL)
        for line in body[1].splitlines() if body else ():
            row = re.fullmatch(r"\s*(?:if \(head_dim <= (\d+)\) )?return ([^;]+);", line)
            if row is None:
                raise HipportError(f"{_TABLE}: {line.strip()!r} is no row of {function}", "keep its rows one a line")
            yield int(row[1] or _LARGEST), row[2]

    return tuple(parse())
