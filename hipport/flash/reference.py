"""Attention in plain PyTorch, and the random numbers of upstream's dropout, to hold the kernels against.

`attention` computes in the type of its inputs: on float64 it is the reference, on fp16 or bf16 the yardstick that
upstream's own tests use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Tensor = torch.Tensor
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Options:
    """What a call asks for beside its tensors.

    Attributes:
        causal: no key after the query's place; the last query and the last key stand at the same place.
        window: keys before and after a query's place that it sees, -1 for no limit.
        softcap: scores become ``softcap * tanh(score / softcap)``; 0 for none.
        slopes: ``(heads,)`` of ALiBi.
        keep: ``(heads, seqlen_q, seqlen_k)``: which weights dropout keeps.
        p_dropout: kept weights are divided by ``1 - p_dropout``.
    """

    causal: bool = False
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    slopes: Tensor | None = None
    keep: NDArray[np.bool_] | None = None
    p_dropout: float = 0.0


def attention(q: Tensor, k: Tensor, v: Tensor, options: Options) -> tuple[Tensor, Tensor]:
    """Attention of one sequence.

    Args:
        q: ``(seqlen_q, heads, head_dim)``.
        k: ``(seqlen_k, heads_k, head_dim)``; ``heads_k`` divides ``heads``.
        v: like ``k``.
        options: masks and the like.

    Returns:
        ``(seqlen_q, heads, head_dim)`` and the log-sum-exp ``(heads, seqlen_q)``. A row without any key is zero, its
        log-sum-exp infinite, as upstream has it. With causal ALiBi the log-sum-exp is that of upstream's scores, whose
        bias counts from the first key and not from the query.
    """
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.einsum("qhd,khd->hqk", q / math.sqrt(q.shape[-1]), k)
    if options.softcap:
        scores = torch.tanh(scores / options.softcap) * options.softcap
    row = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
    column = torch.arange(k.shape[0])[None, :]
    if options.slopes is not None:
        distance = -column if options.causal else (row - column).abs()
        scores = scores - options.slopes.to(scores.dtype)[:, None, None] * distance
    left, right = options.window[0], 0 if options.causal else options.window[1]
    masked = torch.zeros(row.shape[0], column.shape[1], dtype=torch.bool)
    if left >= 0:
        masked |= column < row - left
    if right >= 0:
        masked |= column > row + right
    scores = scores.masked_fill(masked, -math.inf)
    empty = torch.isneginf(scores).all(-1)
    weights = scores.softmax(-1).masked_fill(empty[..., None], 0.0)
    if options.keep is not None:
        weights = weights * torch.from_numpy(options.keep) / (1 - options.p_dropout)
    lse = scores.logsumexp(-1).masked_fill(empty, math.inf)
    return torch.einsum("hqk,khd->qhd", weights.to(v.dtype), v), lse


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """Rotary embedding of the first ``2 * cos.shape[-1]`` elements of each head.

    Args:
        x: ``(seqlen, heads, head_dim)``.
        cos: ``(seqlen, rotary_dim / 2)`` at the places of the rows; computed in float32 as upstream does.
        sin: like ``cos``.
        interleaved: pairs are neighbours, else half of ``rotary_dim`` apart.
    """
    half = cos.shape[-1]
    turned, rest = x[..., : 2 * half].float(), x[..., 2 * half :]
    cos, sin = cos.float()[:, None], sin.float()[:, None]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    else:
        a, b = turned[..., :half], turned[..., half:]
        pairs = torch.cat((a * cos - b * sin, a * sin + b * cos), -1)
    return torch.cat((pairs.to(x.dtype), rest), -1)


def philox(seed: int, subsequence: NDArray[np.uint64], offset: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Philox 4x32 with 7 rounds (Salmon et al., SC 2011): four words per element, shape ``(..., 4)``."""
    c = [offset & _LOW, offset >> np.uint64(32), subsequence & _LOW, subsequence >> np.uint64(32)]
    key = [np.uint64(seed) & _LOW, np.uint64(seed) >> np.uint64(32)]
    for _ in range(7):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & _LOW, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & _LOW]
        key = [(key[0] + np.uint64(0x9E3779B9)) & _LOW, (key[1] + np.uint64(0xBB67AE85)) & _LOW]
    return np.stack(c, -1).astype("<u4")


def kept(seed: int, offset: int, shape: tuple[int, int, int], p_dropout: float) -> NDArray[np.bool_]:
    """Which weights upstream keeps, ``(heads, seqlen_q, seqlen_k)``.

    A 16 x 32 block of scores asks for one number per lane of a 32-lane warp; the lane uses a byte for each of its 16
    scores, which it holds as mma.sync's m16n8k16 accumulator has them (PTX ISA 8.7, "Matrix Fragments for
    mma.m16n8k16"): two rows 8 apart, two neighbouring columns of each 8.

    Args:
        seed: of the generator.
        offset: of the generator for the first head.
        shape: heads, rows, columns.
        p_dropout: probability of dropping, compared in 255ths rounded down as upstream does.
    """
    head, row, column = (grid.astype(np.uint64) for grid in np.ogrid[: shape[0], : shape[1], : shape[2]])
    block = np.broadcast_to(row // 16 | column // 32 << np.uint64(32), shape)
    lane = row % 8 * 4 + column % 8 // 2
    words = philox(seed, block, np.broadcast_to(np.uint64(offset) + head * 32 + lane, shape))
    byte = np.broadcast_to(column // 16 % 2 * 8 + column // 8 % 2 * 4 + row // 8 % 2 * 2 + column % 2, shape)
    random: Any = np.take_along_axis(words.view(np.uint8), byte[..., None].astype(np.int64), -1)[..., 0]
    threshold = math.floor(float(np.float32(1) - np.float32(p_dropout)) * 255.0)
    return np.asarray(random <= threshold)
