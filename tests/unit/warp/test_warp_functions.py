"""hipport/warp.h on the emulator against a model of CUDA's warp functions: random masks, widths, types and divergence.

The model follows the CUDA C++ Programming Guide ("Warp Vote", "Match", "Reduce", "Shuffle Functions") and the
pseudocode of PTX shfl.sync. It knows 32 lanes per warp and nothing of wavefronts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.core.files import include_root
from hipport.emulator import Device, Module
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

THREADS = 224  # three and a half wavefronts of 64: the last upper half does not exist

SOURCE = r"""
#include <hip/hip_fp16.h>
#include <hipport/warp.h>
using namespace hipport;
#define KERNEL(name, T, ...)                                                                                       \
  extern "C" __global__ void name(const unsigned* mask, const T* value, const int* arg, const int* width,          \
                                  const int* branch, T* out) {                                                     \
    const int t = threadIdx.x;                                                                                     \
    const unsigned m = mask[t]; const T v = value[t]; const int a = arg[t], w = width[t];                          \
    if (branch[t] == 1) out[t] = __VA_ARGS__;                                                                      \
    else if (branch[t] == 2) { T r = __VA_ARGS__; out[t] = r; }                                                    \
  }
#define SHUFFLES(n, T)                                  \
  KERNEL(idx_##n, T, shfl_sync(m, v, a, w))             \
  KERNEL(up_##n, T, shfl_up_sync(m, v, a, w))           \
  KERNEL(down_##n, T, shfl_down_sync(m, v, a, w))       \
  KERNEL(xor_##n, T, shfl_xor_sync(m, v, a, w))
SHUFFLES(int32, int) SHUFFLES(uint32, unsigned) SHUFFLES(float64, double) SHUFFLES(int64, long long)
SHUFFLES(int8, signed char)
KERNEL(ballot, unsigned, ballot_sync(m, v & 1))
KERNEL(any, unsigned, any_sync(m, v & 1))
KERNEL(all, unsigned, all_sync(m, v & 1))
KERNEL(uni, unsigned, uni_sync(m, v & 1))
KERNEL(active, unsigned, activemask())
KERNEL(match_any32, unsigned, match_any_sync(m, v))
KERNEL(match_any64, unsigned, match_any_sync(m, (unsigned long long)v << 33 | 5))
KERNEL(match_all, unsigned, [&] { int p; unsigned r = match_all_sync(m, v, &p); return r ^ (p ? 0x10000u : 0u); }())
KERNEL(add_u, unsigned, reduce_add_sync(m, v))
KERNEL(min_u, unsigned, reduce_min_sync(m, v))
KERNEL(max_u, unsigned, reduce_max_sync(m, v))
KERNEL(and_u, unsigned, reduce_and_sync(m, v))
KERNEL(or_u, unsigned, reduce_or_sync(m, v))
KERNEL(xor_u, unsigned, reduce_xor_sync(m, v))
KERNEL(add_s, int, reduce_add_sync(m, v))
KERNEL(min_s, int, reduce_min_sync(m, v))
KERNEL(max_s, int, reduce_max_sync(m, v))
KERNEL(special, unsigned, lane_id() | warp_id() << 8 | n_warps() << 16)
KERNEL(lt, unsigned, lanemask_lt())
KERNEL(le, unsigned, lanemask_le())
KERNEL(eq, unsigned, lanemask_eq())
KERNEL(ge, unsigned, lanemask_ge())
KERNEL(gt, unsigned, lanemask_gt())
"""

Array = NDArray[np.generic]
FULL = 0xFFFFFFFF


@pytest.fixture(scope="module", params=["gfx942", "gfx90a", "gfx1201"])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Module:
    sdk = find_sdk()
    folder = tmp_path_factory.mktemp("warp")
    source, compiled = folder / "warp.hip", folder / "warp.co"
    source.write_text(SOURCE)
    command = [sdk.clang, *sdk.device_flags(request.param), f"-I{include_root()}", "-O3", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Device(request.param).load(compiled)


def groups(branch: Array) -> list[list[int]]:
    """Threads of one warp that are in one branch: they execute together."""
    found = []
    for base in range(0, THREADS, 32):
        for side in (1, 2):
            members = [t for t in range(base, min(base + 32, THREADS)) if branch[t] == side]
            if members:
                found.append(members)
    return found


def bits(members: list[int]) -> int:
    return sum(1 << (t & 31) for t in members)


def run(module: Module, name: str, mask: Array, value: Array, arg: Array, width: Array, branch: Array) -> Array:
    out = np.zeros(THREADS, value.dtype)
    module.launch(name, grid=1, block=THREADS, args=[mask, value, arg, width, branch, out])
    return out


def shuffle_source(kind: str, lane: int, arg: int, width: int) -> int:
    """PTX ISA, shfl.sync: source lane; the lane itself when it is out of range."""
    segment = (32 - width) & 31
    b = arg & 31
    last = (lane & segment) | (31 & ~segment)
    if kind == "up":
        source, ok = lane - b, lane - b >= (lane & segment)
    elif kind == "down":
        source, ok = lane + b, lane + b <= last
    elif kind == "xor":
        source, ok = lane ^ b, lane ^ b <= last
    else:
        source = (lane & segment) | (b & ~segment & 31)
        ok = source <= last
    return source if ok else lane


@pytest.mark.parametrize("kind", ["idx", "up", "down", "xor"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "float64", "int64", "int8"])
def test_shuffles(module: Module, kind: str, dtype: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind + dtype)))
    for _ in range(3):
        value = rng.integers(-100, 100, THREADS).astype(dtype)
        branch = rng.choice([0, 1, 1, 2, 2], THREADS).astype(np.int32)
        if rng.random() < 0.5:
            branch[:] = 1
        arg = rng.integers(-40, 80, THREADS).astype(np.int32)
        width = rng.choice([2, 4, 8, 16, 32], THREADS).astype(np.int32)
        mask = np.zeros(THREADS, np.uint32)
        for members in groups(branch):
            mask[members] = bits(members)
        got = run(module, f"{kind}_{dtype}", mask, value, arg, width, branch)
        for members in groups(branch):
            for t in members:
                source = (t & ~31) + shuffle_source(kind, t & 31, int(arg[t]), int(width[t]))
                if source in members:  # CUDA leaves the value of a lane that does not take part undefined
                    assert got[t] == value[source], (kind, dtype, t, arg[t], width[t])


def collective(
    module: Module, name: str, dtype: str, model: Callable[[list[int], Array, int], int], *, split: bool
) -> None:
    """Random values, divergence and, with ``split``, several masks that share one instruction."""
    rng = np.random.default_rng(sum(map(ord, name)))
    for trial in range(6):
        low = -5 if dtype == "int32" else 0
        value = rng.integers(low, rng.choice([2, 6, 2**31 - 1]), THREADS).astype(dtype)
        branch = (np.ones(THREADS) if trial % 3 == 0 else rng.choice([0, 1, 1, 2], THREADS)).astype(np.int32)
        mask = np.zeros(THREADS, np.uint32)
        parts: list[list[int]] = []
        for members in groups(branch):
            pieces = rng.integers(0, 3, len(members)) if split and trial % 2 else np.zeros(len(members), int)
            for piece in range(3):
                chosen = [t for t, p in zip(members, pieces, strict=True) if p == piece]
                if chosen:
                    parts.append(chosen)
                    mask[chosen] = bits(chosen)
        zero = np.zeros(THREADS, np.int32)
        got = run(module, name, mask, value, zero, zero, branch)
        for members in parts:
            for t in members:
                assert int(got[t]) == model(members, value, t), (name, trial, t)


def test_votes(module: Module) -> None:
    def ballot(members: list[int], value: Array, t: int) -> int:
        return bits([m for m in members if value[m] & 1])

    collective(module, "ballot", "uint32", ballot, split=True)
    collective(module, "any", "uint32", lambda m, v, t: int(ballot(m, v, t) != 0), split=True)
    collective(module, "all", "uint32", lambda m, v, t: int(ballot(m, v, t) == bits(m)), split=True)
    collective(module, "uni", "uint32", lambda m, v, t: int(ballot(m, v, t) in (0, bits(m))), split=True)
    collective(module, "active", "uint32", lambda m, v, t: bits(m), split=False)


def test_matches(module: Module) -> None:
    def same(members: list[int], value: Array, t: int) -> int:
        return bits([m for m in members if value[m] == value[t]])

    collective(module, "match_any32", "uint32", same, split=True)
    collective(module, "match_any64", "uint32", same, split=True)

    def all_same(members: list[int], value: Array, t: int) -> int:
        equal = len({int(value[m]) for m in members}) == 1
        return (bits(members) if equal else 0) ^ (0x10000 if equal else 0)

    collective(module, "match_all", "uint32", all_same, split=True)


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions(module: Module, name: str) -> None:
    def fold(members: list[int], value: Array, t: int) -> int:
        numbers = [int(value[m]) for m in members]
        if name == "add":
            return sum(numbers) & FULL
        if name in ("min", "max"):
            return min(numbers) if name == "min" else max(numbers)
        result = numbers[0]
        for number in numbers[1:]:
            result = {"and": result & number, "or": result | number, "xor": result ^ number}[name]
        return result

    collective(module, f"{name}_u", "uint32", fold, split=True)
    if name in ("add", "min", "max"):

        def signed(members: list[int], value: Array, t: int) -> int:
            result = fold(members, value, t)
            return result - (1 << 32) if name == "add" and result >> 31 else result

        collective(module, f"{name}_s", "int32", signed, split=True)


def test_special_registers(module: Module) -> None:
    zero, one = np.zeros(THREADS, np.int32), np.ones(THREADS, np.int32)
    empty = np.zeros(THREADS, np.uint32)
    lanes = np.arange(THREADS) & 31
    warps = np.arange(THREADS) >> 5
    n_warps = (THREADS + 31) // 32
    got = run(module, "special", empty, empty, zero, zero, one)
    assert np.array_equal(got, (lanes | warps << 8 | n_warps << 16).astype(np.uint32))
    for name, model in {
        "lt": (1 << lanes) - 1, "le": (2 << lanes) - 1, "eq": 1 << lanes,
        "ge": FULL & ~((1 << lanes) - 1), "gt": FULL & ~((2 << lanes) - 1),
    }.items():  # fmt: skip
        assert np.array_equal(run(module, name, empty, empty, zero, zero, one), model.astype(np.uint32)), name
