"""The deep matrix atoms of hipport/cute/atom.h on every target, run on the emulator: who holds which element.

Small integers, so that every product and sum is exact. The expected layout is what `hipport/cute/tile.h` documents, and
follows from the matrix instructions of the CDNA and RDNA ISA guides with A and B exchanged.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from hipport.core.files import include_root
from hipport.emulator import Device
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

# As much of CuTe as the header names.
CUTE = """
#pragma once
#define CUTE_HOST_DEVICE __host__ __device__
namespace cute {
struct half_t {};
struct bfloat16_t {};
template <class A, class B> inline constexpr bool is_same_v = __is_same(A, B);
template <bool, class A, class> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool condition, class A, class B> using conditional_t = typename conditional<condition, A, B>::type;
template <int> struct Int {};
using _1 = Int<1>; using _2 = Int<2>; using _8 = Int<8>; using _16 = Int<16>; using _32 = Int<32>; using _64 = Int<64>;
template <class...> struct Shape {};
template <class...> struct Stride {};
template <class...> struct Layout {};
template <class> struct MMA_Traits;
template <class Element, class Tensor> Tensor recast(Tensor&);
template <class Tensor> Int<1> size(const Tensor&);
}
"""
HEADERS = ("arch/mma.hpp", "atom/mma_traits.hpp", "layout.hpp", "numeric/numeric_types.hpp")

SOURCE = """
#include <hipport/cute/atom.h>
using namespace hipport::tile::detail;
template <class Element, int rows>
__device__ void product(const Deep* a, const Deep* b, Tile<rows>* c) {
  c[threadIdx.x] = multiply_deep<Element>(a[threadIdx.x], b[threadIdx.x], c[threadIdx.x]);
}
#define PRODUCT(name, element, rows) \\
  extern "C" __global__ void name(const Deep* a, const Deep* b, Tile<rows>* c) { \\
    product<cute::element, rows>(a, b, c);                                       \\
  }
PRODUCT(fp16_16, half_t, 16)
PRODUCT(bf16_16, bfloat16_t, 16)
#if __AMDGCN_WAVEFRONT_SIZE == 64
PRODUCT(fp16_32, half_t, 32)
PRODUCT(bf16_32, bfloat16_t, 32)
#endif
"""
TARGETS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
RUN = {"gfx1100": 1, "gfx1201": 8}  # neighbouring columns of a lane; 4 on CDNA


@pytest.mark.parametrize("target", TARGETS)
def test_deep_atom(target: str, tmp_path: Path) -> None:
    sdk = find_sdk()
    for name in HEADERS:
        header = tmp_path / "cute" / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(CUTE if name == HEADERS[0] else "#include <cute/arch/mma.hpp>\n")
    source, image = tmp_path / "atom.hip", tmp_path / "atom.o"
    source.write_text(SOURCE)
    command = [str(sdk.clang), *sdk.device_flags(target), "-O1", "-w", f"-I{tmp_path}", f"-I{include_root()}"]
    done = subprocess.run([*command, str(source), "-o", str(image)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module = Device(target).load(image)

    wave, random = TARGETS[target], np.random.default_rng(3)
    for rows in (16, 32) if wave == 64 else (16,):
        lanes = wave // rows  # that share a row
        lane = np.arange(wave)
        row, turn = lane % rows, lane // rows
        a, b = (random.integers(-8, 9, (rows, 8 * lanes)).astype(np.float32) for _ in range(2))
        k = turn[:, None] * 8 + np.arange(8)
        value, run = np.arange(rows // lanes), RUN.get(target, 4)
        column = value // run * run * lanes + turn[:, None] * run + value % run
        before = random.integers(-8, 9, (rows, rows)).astype(np.float32)
        for kind in ("fp16", "bf16"):
            bits = [
                x.astype(np.float16).view(np.uint16) if kind == "fp16" else (x.view(np.uint32) >> 16).astype(np.uint16)
                for x in (a[row[:, None], k], b[row[:, None], k])
            ]
            c = np.ascontiguousarray(before[row[:, None], column])
            module.launch(f"{kind}_{rows}", 1, wave, [np.ascontiguousarray(bits[0]), np.ascontiguousarray(bits[1]), c])
            np.testing.assert_array_equal(c, (before + a @ b.T)[row[:, None], column], err_msg=f"{kind} {rows}")
