"""FlashAttention-2's own forward kernels, translated, built for gfx942, run on the emulator with all checks on.

Needs the upstream sources (`hipport upstream sync`), the toolchain and PyTorch. A case compiles one instantiation when
it is not cached: half a minute of CPU. The cases are those of `hipport verify`, with its bars: upstream's own rule, at
most twice the error that plain PyTorch makes in the same type, or where figures recorded on an NVIDIA H200 are in the
table, theirs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hipport.flash import FlashAttention

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.flash.cases import Case, read_cases, run_case  # noqa: E402 - after the skip

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: case.name)
def test_case(flash: FlashAttention, case: Case) -> None:
    outcome = run_case(flash, case)
    assert not outcome.problem
    assert [figure for figure in outcome.figures if not figure.held] == []
    assert outcome.figures


def philox_bytes(seed: int, subsequence: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Philox 4x32 with 7 rounds (Salmon et al., SC 2011): 16 bytes per (subsequence, offset), shape (..., 16)."""
    mask = np.uint64(0xFFFFFFFF)
    low, high = (lambda x: x & mask), (lambda x: x >> np.uint64(32))
    offset, subsequence = offset.astype(np.uint64), subsequence.astype(np.uint64)
    c = [low(offset), high(offset), low(subsequence), high(subsequence)]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(7):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [high(second) ^ c[1] ^ key[0], low(second), high(first) ^ c[3] ^ key[1], low(first)]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    words = np.stack(c, -1).astype("<u4")
    return words.view(np.uint8).reshape(*words.shape[:-1], 16)


def kept(seed: int, offset: int, heads: int, rows: int, columns: int, threshold: int) -> np.ndarray:
    """Which scores upstream keeps: mma.sync layout of a 16 x 32 block over a 32-lane warp. (heads, rows, columns)"""
    head, row, column = np.ogrid[:heads, :rows, :columns]
    r, c = row % 16, column % 32
    lane = r % 8 * 4 + c % 8 // 2
    byte = c // 16 * 8 + c % 16 // 8 * 4 + r // 8 * 2 + c % 2
    block = (row // 16).astype(np.uint64) | (column // 32).astype(np.uint64) << np.uint64(32)
    shape = (heads, rows, columns)
    random = philox_bytes(seed, np.broadcast_to(block, shape), np.broadcast_to(offset + head * 32 + lane, shape))
    picked = np.take_along_axis(random, np.broadcast_to(byte, shape)[..., None], -1)[..., 0]
    return picked <= threshold


def test_dropout_drops_what_upstream_drops(flash: FlashAttention) -> None:
    generator = torch.Generator().manual_seed(5)
    q = torch.zeros(1, 96, 2, 64, dtype=torch.float16)
    k, v = (torch.randn(1, 160, 2, 64, generator=generator).half() for _ in range(2))
    # every unnormalised score is 1: its sign tells whether it was dropped
    offset = flash.philox.offset
    _, _, dropped = flash.interface.flash_attn_func(q, k, v, dropout_p=0.3, return_attn_probs=True)
    keep = kept(flash.philox.seed, offset, 2, 96, 160, math.floor(float(np.float32(1) - np.float32(0.3)) * 255.0))
    signs = dropped[0, :, :96, :160].numpy()
    assert set(np.unique(np.abs(signs))) == {1.0}
    assert np.array_equal(signs > 0, keep)
