"""What cannot be carried over silently: each diagnostic on a program of its kind, and a near-miss that is fine.

The whole rulebook looks at each text; ids other than notes are compared exactly.
"""

from __future__ import annotations

import pytest

from hipport.core import Severity, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

OPTIONS = TranslateOptions(targets=("gfx942", "gfx1100"))
# name: what is reported, the program, and what to replace by what so that it is fine
CASES = {
    "mask of a diverged branch": (
        "HP210",
        """__global__ void k(int* p) {
  int v = p[threadIdx.x];
  if (v > 3) v += __shfl_xor_sync(0xffffffff, v, 1);
  p[threadIdx.x] = v;
}
""",
        ("if (v > 3)", "if (blockIdx.x > 3)"),
    ),
    "mask of a diverged branch, by a helper": (
        "HP210",
        """__device__ int both(int v) { return v + __shfl_xor_sync(0xffffffff, v, 1); }
__global__ void k(int* p) { if (threadIdx.x & 1) p[threadIdx.x] = both(p[0]); }
""",
        ("threadIdx.x & 1", "threadIdx.x < 64"),
    ),
    "early return before a full mask": (
        "HP211",
        """__global__ void k(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = __shfl_down_sync(0xffffffff, p[i], 1);
  p[i] = v;
}
""",
        ("if (i >= n) return;", "if (blockIdx.x >= n) return;"),
    ),
    "mask that leaves out lanes that run": (
        "HP212",
        "__global__ void k(unsigned* p) { p[threadIdx.x] = __ballot_sync(0xff, threadIdx.x & 1); }\n",
        ("{ p[", "{ if (threadIdx.x % 32 < 8) p["),
    ),
    "barrier where warps part": (
        "HP213",
        """#include "other.h"
__global__ void k(int* p) { if (threadIdx.x / 32 == 0) { __syncthreads(); p[0] = 1; } }
""",
        ("threadIdx.x / 32 == 0", "blockIdx.x == 0"),
    ),
    "spin lock between lanes": (
        "HP214",
        "__device__ void lock(int* l) { while (atomicCAS(l, 0, 1) != 0) {} }\n",
        ("while", "if (threadIdx.x == 0) while"),
    ),
    "spin lock that sleeps": (
        "HP214",
        "__device__ void lock(int* l) { while (atomicExch(l, 1) != 0) __nanosleep(100); }\n",
        ("{ while", "{ if (threadIdx.x % 32 == 0) while"),
    ),
    "critical section that leaves the loop": (
        "HP240",
        """__device__ void add(int* l, int* n) {
  while (true) {
    if (atomicCAS(l, 0, 1) == 0) { *n += 1; atomicExch(l, 0); break; }
  }
}
""",
        ("break;", ""),
    ),
    "wait for a shared flag": (
        "HP215",
        """#include "other.h"
__global__ void k(int* p) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 1;
  while (ready == 0) {}
  p[threadIdx.x] = 1;
}
""",
        ("while (ready == 0) {}", "__syncthreads();"),
    ),
    "implicit warp synchrony": (
        "HP216",
        "__device__ void f(volatile int* s, int t) { s[t] += s[t + 2]; s[t] += s[t + 1]; }\n",
        ("s[t + 2];", "s[t + 2]; __syncwarp();"),
    ),
    "shift in 32 bits": (
        "HP217",
        "__device__ unsigned long long f(int n) { unsigned long long m = (1 << n) - 1; return m; }\n",
        ("1 <<", "1ull <<"),
    ),
    "fence for a barrier": (
        "HP245",
        """__global__ void k(int* p) {
  __shared__ float s[128];
  s[threadIdx.x] = p[threadIdx.x];
  __threadfence_block();
  float v = s[127 - threadIdx.x];
  p[threadIdx.x] = v;
}
""",
        ("__threadfence_block", "__syncthreads"),
    ),
    "nanosleep protocol": (
        "HP246",
        "__global__ void k(volatile int* f, int* p) { while (*f != 1) { __nanosleep(64); } p[threadIdx.x] = 1; }\n",
        ("while (*f != 1) { __nanosleep(64); }", "if (threadIdx.x == 0) while (*f != 1) { __nanosleep(64); }\n"
                                                 "  __syncthreads();"),
    ),
    "smid as an index": (
        "HP507",
        '__device__ int f(const int* p) { unsigned s; asm("mov.u32 %0, %%smid;" : "=r"(s)); return p[s]; }\n',
        ("%%smid", "%%warpid"),
    ),
    "cluster group": (
        "HP244",
        """#include <cooperative_groups.h>
__global__ void k() { cooperative_groups::this_cluster().sync(); }
""",
        ("this_cluster", "this_thread_block"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return load_rulebook()


def ids(book: Rulebook, text: str) -> set[str]:
    found = translate_source(SourceFile("case.cu", text.encode()), book, OPTIONS).diagnostics
    return {d.id for d in found if d.severity is not Severity.NOTE}


@pytest.mark.parametrize("name", CASES)
def test_reported(book: Rulebook, name: str) -> None:
    expected, text, _ = CASES[name]
    assert ids(book, text) == {expected}


@pytest.mark.parametrize("name", CASES)
def test_near_miss(book: Rulebook, name: str) -> None:
    _, text, (old, new) = CASES[name]
    assert old in text
    assert ids(book, text.replace(old, new)) == set()
