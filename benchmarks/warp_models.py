"""Instructions of block reductions in the warp models logical32 and native64, counted by the emulator.

    python benchmarks/warp_models.py [--target gfx942] [--check]

Each kernel reduces blocks of 256 threads; figures are instructions per wavefront of the whole kernel. ``--check`` exits
with 1 when native64 saves less than LIMIT on one of the kernels.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

LIMIT = 0.1  # share of the instructions that native64 must save
PROGRAM = """#include <cstdio>
#include <cuda_runtime.h>
__global__ void k(const {type}* in, {type}* out) {{
  __shared__ {type} part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  {type} v = in[blockIdx.x * blockDim.x + threadIdx.x];
  {body}
}}
int main() {{
  {type} *in, *out;
  cudaMallocManaged(&in, sizeof(*in) << 14);
  cudaMallocManaged(&out, sizeof(*out) * 64);
  for (int i = 0; i < 1 << 14; ++i) in[i] = i * 7919 % 1000;
  k<<<64, 256>>>(in, out);
  cudaDeviceSynchronize();
  unsigned long long hash = 0;
  for (int i = 0; i < 64; ++i) hash = hash * 31 + out[i];
  printf("%llu\\n", hash);
}}
"""
STAGES = """{tree}
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0) {{
    {tree}
    if (lane == 0) out[blockIdx.x] = v;
  }}"""
ADD = "for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(~0u, v, o);"
OR = "for (int o = 16; o > 0; o >>= 1) v |= __shfl_xor_sync(~0u, v, o);"
MAX = "for (int o = 16; o > 0; o >>= 1) v = max(v, __shfl_xor_sync(~0u, v, o));"
COUNT = """unsigned votes = __ballot_sync(~0u, v > 500);
  if (lane == 0) atomicAdd(&out[blockIdx.x], __popc(votes));"""
REDUCE = """int s = __reduce_add_sync(~0u, v);
  if (lane == 0) atomicAdd(&out[blockIdx.x], s);"""
KERNELS = {
    "sum of int": ("int", STAGES.format(tree=ADD)),
    "maximum of unsigned": ("unsigned", STAGES.format(tree=MAX)),
    "sum of long long": ("long long", STAGES.format(tree=ADD)),
    "or of unsigned long long": ("unsigned long long", STAGES.format(tree=OR)),
    "count of votes, atomic": ("unsigned", COUNT),
    "__reduce_add_sync, atomic": ("int", REDUCE),
}


def measured(source: Path, target: str, model: str) -> tuple[str, float]:
    """What the program prints, and its instructions per wavefront."""
    how = ["--target", target, "--warp-model", model, "--stats"]
    command = [sys.executable, "-m", "hipport", "run", str(source), *how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    total, waves = (re.search(rf"([\d,]+) {word}", done.stderr) for word in ("wave-instructions", "wavefronts"))
    assert total is not None
    assert waves is not None
    return done.stdout, int(total[1].replace(",", "")) / int(waves[1].replace(",", ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 when --check finds too little saved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    missed = False
    print("| kernel | logical32 | native64 | saved |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (kind, body) in KERNELS.items():
            source = Path(folder) / "kernel.cu"
            source.write_text(PROGRAM.format(type=kind, body=body), encoding="utf-8")
            (expected, before), (got, after) = (measured(source, given.target, m) for m in ("logical32", "native64"))
            assert got == expected, f"{name}: {got} instead of {expected}"
            saved = 1 - after / before
            missed |= saved < LIMIT
            print(f"| {name} | {before:.1f} | {after:.1f} | {saved:.0%} |")
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
