"""Speed of the emulator core: wave-instructions per second of CPU time, with checks off and on, one thread and two.

    python benchmarks/emulator_speed.py [--rounds 5] [--json FILE] [--check]

Kernels are compiled from HIP here (hipport sdk install). ``--check`` exits with 1 when a limit below is missed. CPU
time, not wall clock, so that other processes on the machine do not show; the scaling row needs two idle cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hipport.emulator import Checks, Device, Module, Options
from hipport.sdk import find_sdk

TARGET = "gfx942"
LIMITS = {
    "median_off": 20.0,  # million wave-instructions per second, checks off
    "median_on": 10.0,  # the same with every check on
    "load_seconds": 0.3,  # load and decode of 5,000 instructions, disassembly cached
    "two_threads": 1.7,  # times one thread, wall clock
}

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
#define MFMA __builtin_amdgcn_mfma_f32_16x16x16f16

extern "C" __global__ void block_reduce(const float* in, float* out, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 128; k; k >>= 1) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
// One row per block: mean and variance by shuffles, as a layer norm has them.
extern "C" __global__ void layer_norm(const float* x, float* y, int columns) {
  const float* row = x + (size_t)blockIdx.x * columns;
  float sum = 0, square = 0;
  for (int c = threadIdx.x; c < columns; c += 64) { sum += row[c]; square += row[c] * row[c]; }
  for (int k = 32; k; k >>= 1) { sum += __shfl_xor(sum, k); square += __shfl_xor(square, k); }
  float mean = sum / columns, scale = rsqrtf(square / columns - mean * mean + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += 64) y[(size_t)blockIdx.x * columns + c] = (row[c] - mean) * scale;
}
// Rank of each key among its block's by one bit at a time: the inner part of a radix sort.
extern "C" __global__ void block_sort(unsigned* keys) {
  __shared__ unsigned s[256], counts[4];
  unsigned key = keys[blockIdx.x * 256 + threadIdx.x];
  for (int bit = 0; bit < 32; ++bit) {
    unsigned long long zeros = __ballot(!(key >> bit & 1));
    int lane = threadIdx.x & 63, wave = threadIdx.x >> 6;
    if (lane == 0) counts[wave] = __popcll(zeros);
    __syncthreads();
    unsigned before = 0, total = 0;
    for (int w = 0; w < 4; ++w) { if (w < wave) before += counts[w]; total += counts[w]; }
    unsigned rank = before + __popcll(zeros & ((1ull << lane) - 1));
    unsigned to = key >> bit & 1 ? total + threadIdx.x - rank : rank;
    s[to] = key;
    __syncthreads();
    key = s[threadIdx.x];
    __syncthreads();
  }
  keys[blockIdx.x * 256 + threadIdx.x] = key;
}
// Scores and values of one head, 16 rows per wavefront: the shape of an attention loop.
extern "C" __global__ void attention(const half4* q, const half4* k, const half4* v, float* o, int keys) {
  int lane = threadIdx.x;
  half4 query[4];
  for (int d = 0; d < 4; ++d) query[d] = q[blockIdx.x * 256 + d * 64 + lane];
  float4v out[4] = {};
  float peak = -1e30f, sum = 0;
  for (int j = 0; j < keys; j += 16) {
    float4v score = {};
    for (int d = 0; d < 4; ++d) score = MFMA(k[j * 16 + d * 64 + lane], query[d], score, 0, 0, 0);
    float top = fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3]));
    top = fmaxf(top, __shfl_xor(top, 16));
    top = fmaxf(top, __shfl_xor(top, 32));
    float now = fmaxf(peak, top), shrink = __builtin_amdgcn_exp2f(peak - now), add = 0;
    half4 p;
    for (int e = 0; e < 4; ++e) { float x = __builtin_amdgcn_exp2f(score[e] - now); add += x; p[e] = (_Float16)x; }
    sum = sum * shrink + add;
    peak = now;
    for (int d = 0; d < 4; ++d) out[d] = MFMA(v[j * 16 + d * 64 + lane], p, out[d] * shrink, 0, 0, 0);
  }
  sum += __shfl_xor(sum, 16);
  sum += __shfl_xor(sum, 32);
  for (int d = 0; d < 4; ++d)
    for (int e = 0; e < 4; ++e) o[((size_t)blockIdx.x * 4 + d) * 256 + e * 64 + lane] = out[d][e] / sum;
}
// Nothing but many instructions.
extern "C" __global__ void long_code(float* x) {
  float v = x[threadIdx.x];
#pragma unroll
  for (int k = 0; k < 5000; ++k) v = v * v + 0.25f * (k + 1);
  x[threadIdx.x] = v;
}
"""


@dataclass(frozen=True)
class Row:
    """Million wave-instructions per second of CPU time."""

    kernel: str
    instructions: int
    off: float
    on: float


def kernels(device: Device) -> dict[str, tuple[Any, ...]]:
    """Kernel -> grid, block, arguments."""
    rng = np.random.default_rng(1)
    f32 = device.upload(rng.standard_normal(1 << 20).astype(np.float32))
    out = device.upload(np.zeros(1 << 20, np.float32))
    keys = device.upload(rng.integers(0, 1 << 32, 64 * 256, dtype=np.uint32))
    half = device.upload(rng.standard_normal(1 << 18).astype(np.float16))
    return {
        "block_reduce": (64, 256, [f32, out, np.int32(1 << 20)]),
        "layer_norm": (1024, 64, [f32, out, np.int32(1024)]),
        "block_sort": (64, 256, [keys]),
        "attention": (64, 64, [half, half, half, out, np.int32(1024)]),
    }


def rate(module: Module, name: str, shape: tuple[Any, ...], rounds: int) -> tuple[int, float]:
    best, count = 0.0, 0
    for _ in range(rounds):
        start = time.process_time()
        count = module.launch(name, shape[0], shape[1], shape[2]).statistics.instructions
        best = max(best, count / (time.process_time() - start) / 1e6)
    return count, best


def compile_kernels(folder: Path) -> bytes:
    sdk = find_sdk()
    source, out = folder / "k.hip", folder / "k.co"
    source.write_text(SOURCE)
    subprocess.run([str(sdk.clang), *sdk.device_flags(TARGET), "-O3", "-c", str(source), "-o", str(out)], check=True)
    return out.read_bytes()


def load_seconds(image: bytes) -> float:
    """From nothing to the end of a kernel of 5,000 instructions, its disassembly cached."""
    times = []
    for _ in range(4):
        device = Device(TARGET, Options(threads=1))
        values = np.zeros(64, np.float32)
        start = time.perf_counter()
        count = device.load(image).launch("long_code", 1, 64, [values]).statistics.instructions
        times.append(time.perf_counter() - start)
        assert count > 5000
    return min(times)


def wall(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        image = compile_kernels(Path(folder))
    measured: dict[str, dict[str, tuple[int, float]]] = {}
    for label, checks in (("off", Checks.NONE), ("on", Checks.ALL)):
        device = Device(TARGET, Options(threads=1, checks=checks))
        module = device.load(image)
        for name, shape in kernels(device).items():
            measured.setdefault(name, {})[label] = rate(module, name, shape, arguments.rounds)
    rows = [Row(n, m["off"][0], round(m["off"][1], 1), round(m["on"][1], 1)) for n, m in measured.items()]
    walls = []
    for threads in (1, 2):
        device = Device(TARGET, Options(threads=threads))
        module, shape = device.load(image), kernels(device)["attention"]
        walls.append(wall(lambda m=module, s=shape: m.launch("attention", *s)))  # type: ignore[misc]
    figures = {
        "median_off": statistics.median(r.off for r in rows),
        "median_on": statistics.median(r.on for r in rows),
        "load_seconds": round(load_seconds(image), 3),
        "two_threads": round(walls[0] / walls[1], 2),
    }
    for r in rows:
        print(f"{r.kernel:14} {r.instructions:9,} instructions  {r.off:7.1f} M/s  checks on {r.on:6.1f} M/s")
    print(", ".join(f"{k} {v}" for k, v in figures.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": [asdict(r) for r in rows], "figures": figures}, indent=1))
    low = [k for k in ("median_off", "median_on", "two_threads") if figures[k] < LIMITS[k]]
    high = [k for k in ("load_seconds",) if figures[k] > LIMITS[k]]
    for k in (*low, *high):
        print(f"limit missed: {k} {figures[k]}, want {LIMITS[k]}", file=sys.stderr)
    return 1 if arguments.check and (low or high) else 0


if __name__ == "__main__":
    sys.exit(main())
