"""Pieces of the FlashAttention kernels by themselves, on the emulator: V's way to LDS, conversions, the kept maximum.

What is expected follows from the headers' documentation and IEEE 754, not from other output. Needs CuTe (`tree`).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from hipport.core.files import include_root
from hipport.emulator import Checks, Device, Module, Options
from hipport.sdk import find_sdk

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]

SOURCE = """
#include <hipport/cute/convert.h>
#include <hipport/cute/softmax.h>
#include <hipport/cute/transposed.h>
using namespace hipport::tile;
using Element = cute::half_t;

template <int keys, int dims, int rows>
__device__ void transpose(Element* v, uint4* out) {
  using namespace cute;
  constexpr int threads = 4 * wave_size;
  using V = Transposed<Element, threads, keys, dims, rows>;
  __shared__ alignas(16) Element lds[keys * dims];
  auto global = make_tensor(make_gmem_ptr(v), Layout<Shape<Int<keys>, Int<dims>>, Stride<Int<dims>, _1>>{});
  auto tile = make_tensor(make_smem_ptr(lds), TransposedLayout<dims, keys>{});
  auto fragment = V::fragment();
  copy(typename V::Copy{}, V::partition(global, threadIdx.x), fragment);
  V::store(fragment, tile, threadIdx.x);
  __syncthreads();
  if (threadIdx.x >= wave_size) return;
  for (int dim = threadIdx.x % rows; dim < dims; dim += rows)  // as the second product reads
    for (int key = threadIdx.x / rows * 8; key < keys; key += wave_size / rows * 8)
      out[(dim * keys + key) / 8] = *reinterpret_cast<const uint4*>(&tile(dim, key));
}
#define TRANSPOSE(keys, dims, rows)                                                              \\
  extern "C" __global__ void transpose_##keys##_##dims##_##rows(Element* v, uint4* out) {       \\
    transpose<keys, dims, rows>(v, out);                                                         \\
  }
TRANSPOSE(64, 64, 16)
TRANSPOSE(64, 96, 16)
TRANSPOSE(32, 192, 16)
TRANSPOSE(256, 32, 16)
#if __AMDGCN_WAVEFRONT_SIZE == 64
TRANSPOSE(64, 64, 32)
TRANSPOSE(64, 128, 32)
TRANSPOSE(128, 32, 32)
TRANSPOSE(32, 192, 32)
#endif

extern "C" __global__ void round_halves(const float* x, Element* fp16, cute::bfloat16_t* even, cute::bfloat16_t* away) {
  const int at = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  convert<Element, 2>(x + at, fp16 + at);
  convert<cute::bfloat16_t, 2>(x + at, even + at);
  convert<cute::bfloat16_t, 2, Ties::away>(x + at, away + at);
}

template <bool exact>
__device__ void keep(float* maximum, const float* before, int* kept) {
  auto now = cute::make_tensor<float>(cute::Shape<cute::_1>{}), old = cute::make_tensor<float>(cute::Shape<cute::_1>{});
  now(0) = maximum[threadIdx.x], old(0) = before[threadIdx.x];
  kept[threadIdx.x] = keep_maximum(now, old, 2.0f, exact);
  maximum[threadIdx.x] = now(0);
}
extern "C" __global__ void keep_near(float* now, const float* before, int* kept) { keep<false>(now, before, kept); }
extern "C" __global__ void keep_exact(float* now, const float* before, int* kept) { keep<true>(now, before, kept); }
"""
WAVE = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
RUN = {"gfx1100": 1, "gfx1201": 8}  # neighbouring columns of a lane; 4 on CDNA
CONFLICT_FREE = {(64, 64, 32), (64, 128, 32), (64, 64, 16)}  # on gfx942: what the two common head dimensions use


@pytest.fixture(scope="module", params=WAVE)
def built(request: pytest.FixtureRequest, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Module]:
    target, own, sdk = request.param, include_root(), find_sdk()
    folder = tmp_path_factory.mktemp("pieces")
    source, image = folder / "pieces.hip", folder / "pieces.o"
    source.write_text(SOURCE)
    places = (own / "hipport/cute/overlay", own, tree / "csrc/cutlass/include")
    flags = ["-O3", "-std=c++17", "-w", *(f"-I{place}" for place in places)]
    command = [str(sdk.clang), *sdk.device_flags(target), *flags]
    done = subprocess.run([*command, str(source), "-o", str(image)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target, Device(target, Options(checks=Checks.ALL | Checks.BANKS)).load(image)


def test_transposed(built: tuple[str, Module]) -> None:
    target, module = built
    wave, run = WAVE[target], RUN.get(target, 4)
    tiles = [(64, 64, 16), (64, 96, 16), (32, 192, 16), (256, 32, 16)]
    if wave == 64:
        tiles += [(64, 64, 32), (64, 128, 32), (128, 32, 32), (32, 192, 32)]
    for keys, dims, rows in tiles:
        v = np.arange(keys * dims, dtype=np.uint16).reshape(keys, dims)
        out = np.zeros((dims, keys), np.uint16)
        done = module.try_launch(f"transpose_{keys}_{dims}_{rows}", 1, 4 * wave, [v, out])
        assert not done.findings
        assert not done.error
        # Lane `turn` of a row has its score number `value` in this column; eight scores make an operand.
        lanes, position = wave // rows, np.arange(keys)
        turn, value = position // 8 % lanes, position // (8 * lanes) * 8 + position % 8
        column = value // run * run * lanes + turn * run + value % run
        np.testing.assert_array_equal(out, v[column].T, err_msg=f"{keys} keys, {dims} dims, tiles of {rows} rows")
        if target == "gfx942" and (keys, dims, rows) in CONFLICT_FREE:
            assert done.statistics.lds_accesses > 0
            assert done.statistics.lds_conflict_cycles == 0, (keys, dims, rows)


def test_conversions(built: tuple[str, Module]) -> None:
    target, module = built
    random = np.random.default_rng(5)
    bits = random.integers(0, 1 << 32, 4096, dtype=np.uint64).astype(np.uint32)
    bits[:1024] = bits[:1024] & 0xFFFF0000 | 0x8000  # ties of bf16
    bits[1024:2048] = random.random(1024, dtype=np.float32).view(np.uint32)  # probabilities
    bits[np.isnan(bits.view(np.float32))] = 0x7F800000
    bits[:2] = 0x7F7FFFFF, 0xFF7FFFFF  # largest: to infinity
    x = bits.view(np.float32)
    fp16, even, away = (np.zeros(len(x), np.uint16) for _ in range(3))
    module.launch("round_halves", len(x) // 512, 256, [x, fp16, even, away])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(fp16, x.astype(np.float16).view(np.uint16))
    wide = bits.astype(np.uint64)
    np.testing.assert_array_equal(even, ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16))
    if target == "gfx950":  # one instruction rounds to even
        np.testing.assert_array_equal(away, even)
    else:
        np.testing.assert_array_equal(away, ((wide + 0x8000) >> 16).astype(np.uint16))


@pytest.mark.parametrize(
    ("rise", "near", "exact"), [(0.0, True, True), (3.75, True, False), (4.25, False, False), (np.inf, False, False)]
)
def test_maximum_is_kept_until_one_row_rises_far(
    built: tuple[str, Module], rise: float, near: bool, exact: bool
) -> None:
    target, module = built
    wave = WAVE[target]
    for name, expected in (("keep_near", near), ("keep_exact", exact)):
        before = np.full(wave, -np.inf if rise == np.inf else 1.5, np.float32)
        now = before.copy()
        now[5] = 0.5 if rise == np.inf else 1.5 + rise  # scaled by two: 8 are allowed
        if rise == np.inf:
            before[np.arange(wave) != 5] = now[np.arange(wave) != 5] = 1.0
        elif rise:
            now[7] += 1  # near enough, whatever lane 5 does
        after, kept = now.copy(), np.zeros(wave, np.int32)
        module.launch(name, 1, wave, [after, before, kept])
        assert (kept == int(expected)).all(), name
        wanted = before if expected else now.copy()
        if name == "keep_near":
            wanted[7] = before[7]
        np.testing.assert_array_equal(after, wanted)


def test_rows_without_a_score_do_not_keep_their_maximum(built: tuple[str, Module]) -> None:
    target, module = built
    before = np.full(WAVE[target], -np.inf, np.float32)
    after, kept = before.copy(), np.ones(WAVE[target], np.int32)
    module.launch("keep_near", 1, WAVE[target], [after, before, kept])
    assert not kept.any()
    np.testing.assert_array_equal(after, before)
