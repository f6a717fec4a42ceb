"""The tile table of ``hipport/cute/flash_tiles.h``, for the host side: a test keeps both equal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and columns of scores that a workgroup works on at a time, and its wavefronts."""

    block_m: int
    block_n: int
    warps: int
    share_q_k: bool


def forward_tile(head_dim: int) -> Tile:
    """Tile of the forward kernel for an instantiated head dimension."""
    if head_dim <= 32:
        return Tile(128, 128, 4, False)
    if head_dim <= 128:
        return Tile(128, 64, 4, True)
    if head_dim <= 192:
        return Tile(128, 32, 4, True)
    return Tile(64, 64, 4, True)


def split_block_n(head_dim: int) -> int:
    """Columns of a block of the split-KV kernel."""
    for limit, columns in ((32, 256), (64, 128), (128, 64)):
        if head_dim <= limit:
            return columns
    return 32
