"""Values worth trying, by operand type."""
# ruff: noqa: RUF005 (the lists are clearer as sums)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EDGES = {
    16: [0, 0x8000, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7C00, 0xFC00, 0x7E00, 0x7D55]
    + [0xFE01, 0xFFFF, 0x7FFF, 0x3800, 0xB800, 0x3E00, 0x4100, 0x6400, 0x0010, 0x000F, 0x0020, 0x001F, 0x00FF, 0x0100],
    32: [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 1, 0x80000001, 0x007FFFFF, 0x00800000]
    + [0x7F800000, 0xFF800000, 0x7FC00000, 0x7FA12345, 0xFFC54321, 0xFFFFFFFF, 0x7FFFFFFF, 0x3F000000, 0xBF000000]
    + [0x3FC00000, 0x40200000, 0x4B000000, 0x4F000000, 0x4F800000, 0xCF000000, 31, 32, 33, 63, 64, 0xFF, 0x100, 0x7FFF]
    + [0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x477FE000, 0x477FF000, 0x33800000, 0x38800000],
    64: [0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 1]
    + [0x8000000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FF0000000000000, 0xFFF0000000000000]
    + [0x7FF8000000000000, 0x7FF4000000012345, 0xFFF8000000054321, 0xFFFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF]
    + [0x3FE0000000000000, 0x4004000000000000, 0x41DFFFFFFFC00000, 0x41EFFFFFFFE00000, 0xC1E0000000000000]
    + [0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x3690000000000000, 0x36A0000000000000, 0x380FFFFFE0000000, 63, 64]
    + [0x4330000000000000, 0xFFFFFFFF, 0x100000000, 0x80000000],
}


def _pick(rng: np.random.Generator, width: int, count: int) -> NDArray[np.uint64]:
    edges = np.array(EDGES[width], np.uint64)
    values = edges[rng.integers(0, len(edges), count)]
    # A third random bits, a sixth small or moderate floats.
    noise = rng.integers(0, 1 << 63, count, dtype=np.uint64) * np.uint64(2) + rng.integers(0, 2, count, dtype=np.uint64)
    noise &= np.uint64((1 << width) - 1)
    floats = rng.normal(0, 3, count)
    kind = {16: np.float16, 32: np.float32, 64: np.float64}[width]
    raw = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
    moderate = floats.astype(kind).view(raw).astype(np.uint64)
    chance = rng.random(count)
    return np.where(chance < 0.33, noise, np.where(chance < 0.5, moderate, values))


def sample(rng: np.random.Generator, kind: str, count: int) -> NDArray[np.uint64]:
    """``(count,)`` patterns of 64 bits; narrow types have junk above them."""
    if kind in ("b64", "f64", "u64", "i64"):
        return _pick(rng, 64, count)
    if kind == "pkf32":
        return _pick(rng, 32, count) | _pick(rng, 32, count) << np.uint64(32)
    if kind in ("f16", "b16", "u16", "i16", "bf16", "pk16", "pkf16"):
        return _pick(rng, 16, count) | _pick(rng, 16, count) << np.uint64(16)
    return _pick(rng, 32, count)
