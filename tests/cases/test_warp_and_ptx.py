"""Field cases of warps, masks, PTX, tensor cores and cooperative groups: the whole rulebook on small inputs.

Each case has its near-miss, which must not be flagged. Titles name where the case was reported.
"""

from __future__ import annotations

import pytest

from hipport.core import FileResult, Severity, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

OPTIONS = TranslateOptions(targets=("gfx942", "gfx1100"))


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return load_rulebook()


def translated(book: Rulebook, text: str) -> FileResult:
    result = translate_source(SourceFile("case.cu", text.encode()), book, OPTIONS)
    again = translate_source(SourceFile("case.cu", result.output), book, OPTIONS)
    assert again.output == result.output, "a second translation changes nothing"
    return result


def output(book: Rulebook, text: str) -> str:
    return translated(book, text).output.decode()


def ids(book: Rulebook, text: str, *, notes: bool = False) -> set[str]:
    found = translated(book, text).diagnostics
    return {d.id for d in found if notes or d.severity is not Severity.NOTE}


def test_mask32(book: Rulebook) -> None:
    """ROCm/hip#3667: "mask must be a 64-bit integer"."""
    text = "__device__ int pair_sum(int v) { return v + __shfl_xor_sync(0xffffffff, v, 1); }\n"
    assert "return v + __shfl_xor(v, 1, 32);" in output(book, text)
    assert ids(book, text) == set()


def test_xor_below_32_is_safe(book: Rulebook) -> None:
    """vllm-project/vllm#28500: a false alarm that must not be repeated."""
    text = """__global__ void swap_halves(float* q) {
  int t = threadIdx.x, lane = t & 31;
  float mine = q[t];
  float other = __shfl_xor_sync(0xffffffffu, mine, 16);
  q[t] = lane < 16 ? -other : other;
}
"""
    assert "__shfl_xor(mine, 16, 32)" in output(book, text)
    assert ids(book, text, notes=True) == set()


def test_broadcast(book: Rulebook) -> None:
    """ORNL/HeCBench#177: lanes 32 to 63 must read lane 63."""
    text = "__device__ float last_lane(float x) { return __shfl_sync(0xffffffffu, x, 31); }\n"
    assert "__shfl(x, 31, 32)" in output(book, text)


def test_reduction_depth(book: Rulebook) -> None:
    """cupy/cupy#9977: a loop from 16 beside warpSize: all 32, and said so."""
    text = """__global__ void sum_rows(const float* in, float* out) {
  __shared__ float part[8];
  float v = in[threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if ((threadIdx.x & (warpSize - 1)) == 0) part[threadIdx.x / warpSize] = v;
}
"""
    result = output(book, text)
    assert "__shfl_down(v, o, 32)" in result
    assert "threadIdx.x / hipport::warp_size" in result
    assert "HP218" in ids(book, text, notes=True)
    consistent = text.replace("o = 16", "o = warpSize / 2")
    assert "HP218" not in ids(book, consistent, notes=True)


def test_ballot_in_an_int(book: Rulebook) -> None:
    """ORNL/HeCBench#177: 32 bits hold the vote of a logical warp."""
    text = "__device__ int votes(bool p) { int m = __ballot_sync(0xffffffffu, p); return __popc(m); }\n"
    assert "int m = hipport::ballot_sync(0xffffffffu, p);" in output(book, text)
    assert ids(book, text) == set()


def test_narrow_shift(book: Rulebook) -> None:
    """GPUOpen HIPRT#68: shifted in 32 bits, then widened."""
    text = (
        "__device__ unsigned long long group_bits(int g, int w) {\n"
        "  return (unsigned long long)(((1 << w) - 1) << (g * w));\n}\n"
    )
    assert ids(book, text) == {"HP217"}
    assert ids(book, text.replace("1 << w", "1ull << w")) == set()


@pytest.mark.parametrize("divisor", ["warpSize", "32"])
def test_array_sized_by_warps(book: Rulebook, divisor: str) -> None:
    """turboderp-org/exllamav2#807: warpSize is no constant on ROCm 7."""
    kernel = "__global__ void norm() { __shared__ float s[NW]; s[threadIdx.x / DIVISOR] = 0.f; }\n"
    text = ("#define NW (1024 / DIVISOR)\n" + kernel).replace("DIVISOR", divisor)
    result = output(book, text)
    assert "warpSize" not in result
    assert ("hipport::warp_size" in result) == (divisor == "warpSize")


def test_partial_mask(book: Rulebook) -> None:
    """ROCm/legacy-rocm-build#5241: mask != active lanes."""
    text = """__global__ void half_vote(int* o) {
  int lane = threadIdx.x & 31;
  unsigned v = __ballot_sync(0x0000ffffu, lane & 1);
  if (lane == 0) o[0] = v;
}
"""
    assert ids(book, text) == {"HP212"}
    guarded = text.replace("  unsigned v =", "  unsigned v = 0;\n  if (lane < 16) v =")
    assert ids(book, guarded) == set()
    assert "hipport::ballot_sync(0x0000ffffu, lane & 1)" in output(book, guarded)


def test_syncwarp_never_vanishes(book: Rulebook) -> None:
    """tile-ai/tilelang#2872: __syncwarp lowered to nothing."""
    text = """__device__ float lds_sum(float* s) {
  int l = threadIdx.x & 31;
  if (l < 16) s[l] += s[l + 16]; __syncwarp();
  if (l < 8) s[l] += s[l + 8]; __syncwarp();
  return s[0];
}
"""
    assert output(book, text).count("hipport::syncwarp();") == 2
    assert ids(book, text) == set()


def test_volatile_tail(book: Rulebook) -> None:
    """ORNL/HeCBench#263: implicit warp synchrony."""
    text = """__device__ void tail(volatile int* s, int t) {
  if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8];
                s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
}
"""
    assert output(book, text).count("hipport::syncwarp();") == 5
    assert ids(book, text) == {"HP216"}
    separated = text.replace(";", "; __syncwarp();")
    assert "HP216" not in ids(book, separated)


def test_smid(book: Rulebook) -> None:
    """ROCm/HIPIFY#731: the compute unit's number is sparse."""
    text = """__device__ unsigned my_sm() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__global__ void pool(int* slots) { atomicAdd(&slots[my_sm()], 1); }
"""
    assert "s = hipport::ptx::smid();" in output(book, text)
    assert ids(book, text) == {"HP507"}
    assert ids(book, text.replace("%%smid", "%%laneid")) == set()


def test_prmt(book: Rulebook) -> None:
    """ROCm/hip#1363: byte permute with any selector."""
    text = (
        "__device__ unsigned swz(unsigned a, unsigned b, unsigned c) { unsigned r; "
        'asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(a), "r"(b)); '
        'asm("prmt.b32 %0, %0, %1, %2;" : "+r"(r) : "r"(b), "r"(c)); return r; }\n'
    )
    result = output(book, text)
    assert "r = hipport::ptx::prmt(a, b, 0x5410);" in result
    assert "r = hipport::ptx::prmt(r, b, c);" in result
    assert "asm" not in result
    assert ids(book, text) == set()
    named = '__device__ unsigned prmt(unsigned a) { /* asm("prmt.b32 ...") */ return a; }\n'
    assert output(book, named) == named
    assert ids(book, text.replace("prmt.b32 %0, %1", "prmt.b31 %0, %1")) == {"HP502"}


def test_mma(book: Rulebook) -> None:
    """usyd-fsalab/fp6_llm: mma.sync has no HIP spelling."""
    text = """__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""
    result = output(book, text)
    assert "hipport::mma_f32<16, 8, 16, hipport::Element::f16, hipport::Element::f16>" in result
    assert "#include <hipport/mma.h>" in result
    assert ids(book, text) == set()
    assert ids(book, text.replace("m16n8k16", "m16n8k32")) == {"HP601"}
    assert ids(book, text.replace("mma.sync", "mma.sp.sync")) == {"HP505"}


def test_cp_async(book: Rulebook) -> None:
    """ggml-org/llama.cpp#16631: no direct equivalent on gfx942."""
    text = """__device__ void pull(void* dst, const void* src) {
  unsigned s = (unsigned)__cvta_generic_to_shared(dst);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(s), "l"(src));
  asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;");
}
"""
    result = output(book, text)
    assert "hipport::ptx::cp_async<16>(hipport::ptx::shared<void>(s), hipport::ptx::global<const void>(src));" in result
    assert "hipport::ptx::cp_async_wait_group<0>();" in result
    assert ids(book, text) == set()
    bulk = text.replace("cp.async.commit_group", "cp.async.bulk.commit_group")
    assert ids(book, bulk) == {"HP505"}
    assert output(book, bulk).count("HIPPORT_UNSUPPORTED_PTX") == 1


def test_tile_ballot(book: Rulebook) -> None:
    """ginkgo#443: a tile's vote is in the tile's own bits."""
    text = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void t(unsigned* o) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  unsigned b = tile.ballot(tile.thread_rank() & 1);
  if (tile.thread_rank() == 0) o[threadIdx.x / 16] = b;
}
"""
    result = output(book, text)
    assert "#include <hipport/cooperative_groups.h>" in result
    assert "namespace cg = hipport::cg;" in result
    assert ids(book, text) == set()


def test_trap(book: Rulebook) -> None:
    """pytorch#38943: asm("trap;")."""
    text = '__device__ void chk(bool ok) { if (!ok) asm("trap;"); }\n'
    assert "if (!ok) __builtin_trap();" in output(book, text)
    assert ids(book, text) == set()
    called = "void trap(); __device__ void chk(bool ok) { if (!ok) trap(); }\n"
    assert output(book, called) == called


def test_hopper_is_named(book: Rulebook) -> None:
    text = '__device__ void f() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }\n'
    assert ids(book, text) == {"HP505"}
    assert 'HIPPORT_UNSUPPORTED_PTX("HP505: ' in output(book, text)
    mentioned = '// wgmma.fence.sync.aligned;\nconst char* name = "wgmma.fence.sync.aligned;";\n'
    assert output(book, mentioned) == mentioned
    assert ids(book, mentioned) == set()


def test_what_is_no_asm_statement_is_named_by_its_instruction(book: Rulebook) -> None:
    """A comma is missing between the operands, in code for hardware that AMD does not have."""
    text = '__device__ void f(int a, long b) { asm volatile("tcgen05.cp.128x256b [%0], %1;" :: "r"(a) "l"(b)); }\n'
    assert ids(book, text) == {"HP505"}
    assert ids(book, text.replace("tcgen05.cp.128x256b", "st.shared.b32")) == {"HP504"}


def test_wmma(book: Rulebook) -> None:
    """nvcuda::wmma and its PTX."""
    text = """#include <mma.h>
using namespace nvcuda;
__device__ void f(float* p, const half* q) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::load_matrix_sync(a, q, 16);
  float d[8];
  asm("wmma.load.c.sync.aligned.row.m16n16k16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]) : "l"(p));
}
"""
    result = output(book, text)
    assert "using namespace hipport::tensor;" in result
    assert "#include <hipport/wmma.h>" in result
    assert "#include <hipport/wmma_ptx.h>" in result
    assert "hipport::wmma_load<" in result
    assert ids(book, text) == set()
    assert ids(book, text.replace("m16n16k16.f32", "m16n16k32.f32")) == {"HP601"}


def test_host_assembly_stays(book: Rulebook) -> None:
    text = 'inline void pause() { asm volatile("pause" ::: "memory"); }\n'
    assert output(book, text) == text
