"""Known porting failures: each is judged as it should be, and its near-miss raises no alarm.

Cases are numbered as in the collection of real ports; expectations follow from CUDA's and HIP's documentation.
"""

from __future__ import annotations

import pytest

from hipport.core import SourceFile
from hipport.lint import Finding, Verdict, lint
from hipport.rulebook import load_rulebook

SAFE, LOGICAL32, WRONG, UNKNOWN = Verdict.SAFE, Verdict.LOGICAL32, Verdict.WRONG, Verdict.UNKNOWN
HIP = "#include <hip/hip_runtime.h>\n"


def findings(text: str, path: str = "a.cu") -> list[Finding]:
    return list(lint([SourceFile(path, text.encode())], load_rulebook()).findings)


def verdicts(text: str, path: str = "a.cu") -> set[tuple[str, Verdict]]:
    return {(f.id, f.verdict) for f in findings(text, path)}


# name, text, what must be found (and nothing else)
CASES = [
    (
        "lane of 64 by a literal, HIP: a 32-bit one is shifted too far",
        HIP
        + """__device__ int rank(unsigned long long m) {
          int lane = threadIdx.x % 64;
          return __popcll(__ballot(m & 1) & ((1u << lane) - 1));
        }""",
        {("HP222", SAFE), ("HP223", WRONG)},
    ),
    (
        "near: a 64-bit one",
        HIP
        + """__device__ int rank(unsigned long long m) {
          int lane = threadIdx.x & 63;
          return __popcll(__ballot(m & 1) & ((1ull << lane) - 1));
        }""",
        {("HP222", SAFE)},
    ),
    (
        "entries by wavefront, read by thread without a bound",
        HIP
        + """__global__ void sum(float* out, float v) {
          __shared__ float s[1024 / 32];
          v += __shfl_xor(v, 1);
          s[threadIdx.x / warpSize] = v;
          __syncthreads();
          if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];
        }""",
        {("HP220", SAFE), ("HP221", SAFE), ("HP224", UNKNOWN)},
    ),
    (
        "near: read below the number of wavefronts",
        HIP
        + """__global__ void sum(float* out, float v) {
          __shared__ float s[1024 / 32];
          v += __shfl_xor(v, 1);
          s[threadIdx.x / warpSize] = v;
          __syncthreads();
          if (threadIdx.x < blockDim.x / warpSize) out[threadIdx.x] = s[threadIdx.x];
        }""",
        {("HP220", SAFE), ("HP221", SAFE), ("HP224", SAFE)},
    ),
    (
        "near: filled by thread before",
        HIP
        + """__global__ void sum(float* out, float v) {
          __shared__ float s[1024 / 32];
          if (threadIdx.x < 32) s[threadIdx.x] = 0;
          __syncthreads();
          v += __shfl_xor(v, 1);
          s[threadIdx.x / warpSize] = v;
          __syncthreads();
          if (threadIdx.x < 32) out[threadIdx.x] = s[threadIdx.x];
        }""",
        {("HP220", SAFE), ("HP221", SAFE), ("HP224", SAFE)},
    ),
    (
        "1 mask of 32 bits, CUDA: xor 1 stays inside",
        "__device__ int pair_sum(int v) { return v + __shfl_xor_sync(0xffffffff, v, 1); }",
        {("HP220", SAFE)},
    ),
    (
        "1 mask of 32 bits, HIP",
        HIP + "__device__ int pair_sum(int v) { return v + __shfl_xor_sync(0xffffffff, v, 1); }",
        {("HP220", SAFE), ("HP230", WRONG)},
    ),
    (
        "1 near: the maskless form with a width",
        HIP + "__device__ int pair_sum(int v) { return v + __shfl_xor(v, 1, 32); }",
        {("HP220", SAFE)},
    ),
    (
        "1 near: a mask of 64 bits",
        HIP + "__device__ int pair_sum(int v) { return v + __shfl_xor_sync(0xffffffffffffffffull, v, 1); }",
        {("HP220", SAFE)},
    ),
    (
        "2 trap: xor 16 does not mix two logical warps",
        """__global__ void swap_halves(float* q) {
          int t = threadIdx.x, lane = t & 31;
          float mine = q[t];
          float other = __shfl_xor_sync(0xffffffffu, mine, 16);
          q[t] = lane < 16 ? -other : other;
        }""",
        {("HP220", SAFE), ("HP221", LOGICAL32)},
    ),
    (
        "2 trap in HIP",
        HIP + "__device__ float f(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor(v, o); return v; }",
        {("HP220", SAFE)},
    ),
    (
        "2 near: up with the same distance does leave it",
        "__device__ float f(float v) { return __shfl_up_sync(0xffffffffu, v, 16); }",
        {("HP220", LOGICAL32)},
    ),
    (
        "3 index without width",
        "__device__ float last_lane(float x) { return __shfl_sync(0xffffffffu, x, 31); }",
        {("HP220", LOGICAL32)},
    ),
    (
        "3 index without width, HIP",
        HIP + "__device__ float last_lane(float x) { return __shfl(x, 31); }",
        {("HP220", WRONG)},
    ),
    (
        "3 near: with width",
        HIP + "__device__ float last_lane(float x) { return __shfl(x, 31, 32); }",
        {("HP220", SAFE)},
    ),
    (
        "4 literal reduction beside warpSize",
        """__global__ void sum_rows(const float* in, float* out) {
          __shared__ float part[8];
          float v = in[threadIdx.x];
          for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
          if ((threadIdx.x & (warpSize - 1)) == 0) part[threadIdx.x / warpSize] = v;
        }""",
        {("HP220", LOGICAL32), ("HP221", SAFE), ("HP224", SAFE), ("HP218", WRONG)},
    ),
    (
        "4 near: warpSize throughout",
        """__global__ void sum_rows(const float* in, float* out) {
          __shared__ float part[32];
          float v = in[threadIdx.x];
          for (int o = warpSize / 2; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
          if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
        }""",
        {("HP220", SAFE), ("HP221", SAFE), ("HP224", SAFE)},
    ),
    (
        "4 near: 32 throughout, HIP with widths",
        HIP
        + """__global__ void sum_rows(const float* in, float* out) {
          __shared__ float part[8];
          float v = in[threadIdx.x];
          for (int o = 16; o; o >>= 1) v += __shfl_down(v, o, 32);
          if ((threadIdx.x & 31) == 0) part[threadIdx.x / 32] = v;
        }""",
        {("HP220", SAFE), ("HP221", LOGICAL32), ("HP224", LOGICAL32)},
    ),
    (
        "5 ballot in an int",
        "__device__ int votes(bool p) { int m = __ballot_sync(0xffffffffu, p); return __popc(m); }",
        {("HP222", LOGICAL32), ("HP223", LOGICAL32)},
    ),
    (
        "5 ballot in an int, HIP",
        HIP + "__device__ int votes(bool p) { int m = __ballot(p); return __popc(m); }",
        {("HP222", WRONG)},
    ),
    (
        "5 popc of 64 bits, HIP",
        HIP + "__device__ int votes(bool p) { unsigned long long m = __ballot(p); return __popc(m); }",
        {("HP222", SAFE), ("HP223", WRONG)},
    ),
    (
        "5 passed on in 32 bits, HIP",
        HIP
        + """__device__ unsigned keep(unsigned mask) { return mask; }
        __device__ unsigned passed(bool p) { return keep(__ballot(p)); }""",
        {("HP222", WRONG)},
    ),
    (
        "5 near: 64 bits, and the slice of a half",
        HIP
        + """__device__ int votes(bool p) { unsigned long long m = __ballot(p); return __popcll(m); }
        __device__ unsigned half(unsigned long long wave) { return (unsigned)(wave >> (__lane_id() & 32)); }
        __device__ unsigned passed(bool p) { return half(__ballot(p)); }
        __device__ unsigned slice(bool p) { return (unsigned)(__ballot(p) >> (__lane_id() & 32)); }""",
        {("HP222", SAFE)},
    ),
    (
        "6 shift in 32 bits",
        """__device__ unsigned long long group_bits(int g, int w) {
          return (unsigned long long)(((1 << w) - 1) << (g * w));
        }""",
        {("HP217", WRONG)},
    ),
    (
        "6 near: 64 bits",
        "__device__ unsigned long long group_bits(int g, int w) { return ((1ULL << w) - 1ULL) << (g * w); }",
        set(),
    ),
    (
        "7 guard",
        """void need32() {
          cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
          if (p.warpSize != 32) { std::puts("warp 32 only"); std::exit(1); }
        }""",
        {("HP226", WRONG)},
    ),
    (
        "7 near: printed, compared with another field",
        """void show() {
          cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
          std::printf("%d\\n", p.warpSize);
          if (p.multiProcessorCount != 32) std::exit(1);
        }""",
        set(),
    ),
    (
        "8 array of warpSize",
        """#define NW (1024 / warpSize)
        __global__ void norm() { __shared__ float s[NW]; s[threadIdx.x / warpSize] = 0.f; }""",
        {("HP224", WRONG), ("HP221", SAFE)},
    ),
    (
        "8 near: smallest warp, and the project's own constant",
        """#define NW (1024 / 32)
        __global__ void norm() { __shared__ float s[NW]; s[threadIdx.x / warpSize] = 0.f; }""",
        {("HP224", SAFE), ("HP221", SAFE)},
    ),
    (
        "9 launch with a macro of the device pass",
        """#ifdef __GFX9__
#define WARP 64
#else
#define WARP 32
#endif
__global__ void q4(float* p) { p[threadIdx.x] = WARP; }
void go(float* p) { q4<<<1, WARP>>>(p); }
""",
        {("HP225", WRONG)},
    ),
    (
        "9 near: the macro in kernels only",
        """#ifdef __GFX9__
#define WARP 64
#else
#define WARP 32
#endif
__global__ void q4(float* p) { p[threadIdx.x] = WARP; }
void go(float* p, int n) { q4<<<1, n>>>(p); q4<<<1, 64>>>(p); }
""",
        set(),
    ),
    (
        "13 partial mask run by all",
        """__global__ void half_vote(int* o) {
          int lane = threadIdx.x & 31;
          unsigned v = __ballot_sync(0x0000ffffu, lane & 1);
          if (lane == 0) o[0] = v;
        }""",
        {("HP212", WRONG), ("HP221", LOGICAL32), ("HP222", LOGICAL32)},
    ),
    (
        "13 near: in the branch of these lanes",
        """__global__ void half_vote(int* o) {
          int lane = threadIdx.x & 31;
          if (lane < 16) { unsigned v = __ballot_sync(0x0000ffffu, lane & 1); if (lane == 0) o[0] = v; }
        }""",
        {("HP221", LOGICAL32), ("HP222", LOGICAL32)},
    ),
    (
        "14 made nothing",
        """#define __syncwarp()
        __device__ float lds_sum(float* s) {
          int l = threadIdx.x & 31;
          if (l < 16) s[l] += s[l + 16]; __syncwarp();
          return s[0];
        }""",
        {("HP229", WRONG), ("HP229", SAFE), ("HP221", LOGICAL32)},
    ),
    (
        "14 near: kept",
        """__device__ float lds_sum(float* s) {
          int l = threadIdx.x & 31;
          if (l < 16) s[l] += s[l + 16]; __syncwarp();
          if (l < 8) s[l] += s[l + 8]; __syncwarp();
          return s[0];
        }""",
        {("HP229", SAFE), ("HP221", LOGICAL32)},
    ),
    (
        "15 implicit synchrony",
        """__device__ void tail(volatile int* s, int t) {
          if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8];
                        s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
        }""",
        {("HP216", UNKNOWN)},
    ),
    (
        "15 near: barriers between the steps",
        """__device__ void tail(volatile int* s, int t) {
          s[t] += s[t + 32]; __syncthreads(); s[t] += s[t + 16]; __syncthreads(); s[t] += s[t + 8];
        }""",
        set(),
    ),
    (
        "16 multiprocessor as index",
        """__device__ unsigned my_sm() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
        __global__ void pool(int* slots) { atomicAdd(&slots[my_sm()], 1); }""",
        {("HP227", UNKNOWN)},
    ),
    (
        "16 near: only printed",
        """__device__ unsigned my_sm() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
        __global__ void show() { printf("%u\\n", my_sm()); }""",
        {("HP227", SAFE)},
    ),
    (
        "24 ballot of a tile",
        """#include <cooperative_groups.h>
        namespace cg = cooperative_groups;
        __global__ void t(unsigned* o) {
          auto tile = cg::tiled_partition<16>(cg::this_thread_block());
          unsigned b = tile.ballot(tile.thread_rank() & 1);
          if (tile.thread_rank() == 0) o[threadIdx.x / 16] = b;
        }""",
        {("HP228", LOGICAL32)},
    ),
    (
        "24 near: shuffle of a tile, and a ballot that is no group's",
        """#include <cooperative_groups.h>
        namespace cg = cooperative_groups;
        __global__ void t(int* o, Election e) {
          auto tile = cg::tiled_partition<16>(cg::this_thread_block());
          int v = tile.shfl_xor(o[0], 8);
          if (tile.thread_rank() == 0) o[threadIdx.x / 16] = v + e.ballot(3);
        }""",
        {("HP228", SAFE)},
    ),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_case(text: str, expected: set[tuple[str, Verdict]]) -> None:
    assert verdicts(text) == expected


# Nothing here has to do with warps, or means the same on any of them.
QUIET = [
    ("hash", "__device__ unsigned h(unsigned x) { x ^= x >> 16; return (x & 31) * (x % 32) + (x >> 5); }"),
    ("bit set of data", "__device__ void put(unsigned* s, int i) { s[i / 32] |= 1u << (i & 31); }"),
    ("popc of data", "__device__ int c(unsigned x) { return __popc(x) + __ffs(x) + __clz(x); }"),
    ("rounding up", "int up(int n) { return (n + 31) / 32 * 32; }"),
    ("comment and string", '// warpSize __ballot(p)\nconst char* s = "threadIdx.x & 31, __shfl(x, 31)";'),
    ("another dimension", "__global__ void k(float* p) { p[threadIdx.y % 32] = __shfl_xor(p[0], 1, 32); }"),
    ("a size that is 32 by chance", "constexpr int D = 128;\n__global__ void k(float* p) { int i = threadIdx.x; "
     "p[i / (D / 4)] = __shfl_xor_sync(~0u, p[i % (D / 4)], 1); }"),
    ("a tile of 32 columns", "constexpr int kTile = 32;\n__global__ void k(float* p) { "
     "p[threadIdx.x % kTile] = __shfl_xor_sync(~0u, p[0], 1); }"),
    ("only CUDA builds see it", "#ifndef USE_ROCM\n"
     "__device__ float f(float x) { return __shfl_sync(~0u, x, 31); }\n#endif\n"),
]  # fmt: skip


@pytest.mark.parametrize("text", [q[1] for q in QUIET], ids=[q[0] for q in QUIET])
def test_no_false_alarm(text: str) -> None:
    assert [f for f in findings(text) if f.verdict is not SAFE] == []


def test_every_place_of_a_hazard_is_found() -> None:
    kernel = "__global__ void k{0}(int* o) {{ o[{0}] = __ballot_sync(0xffu, o[1]); }}\n"
    text = "".join(kernel.format(i) for i in range(3))
    assert [f.line for f in findings(text) if f.id == "HP212"] == [1, 2, 3]


def test_a_finding_that_names_a_line_is_the_same_elsewhere_in_the_file() -> None:
    text = "__global__ void k(int* o) {\n if (threadIdx.x & 1)\n  o[0] = __shfl_sync(~0u, o[1], 2);\n}\n"
    (here,) = (f for f in findings(text) if f.id == "HP210")
    (moved,) = (f for f in findings("\n\n" + text) if f.id == "HP210")
    assert (here.line, moved.line) == (3, 5)
    assert here.reason != moved.reason
    assert here.fingerprint == moved.fingerprint


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        ("== 0xffffffff", WRONG),
        ("!= ~0u", WRONG),
        ("== __activemask()", SAFE),
        ("== __ballot(1)", SAFE),
        ("== expected", Verdict.UNKNOWN),
        ("== ~0ull", Verdict.UNKNOWN),  # right for 64 lanes only
        ("!= 0", SAFE),
    ],
)
def test_vote_of_64_bits_compared(comparison: str, verdict: Verdict) -> None:
    text = f"{HIP}__device__ bool f(int p, int expected) {{ if (__ballot(p) {comparison}) return true; return false; }}"
    assert {f.verdict for f in findings(text) if f.id == "HP222" and f.subject.startswith("__ballot(p)")} == {verdict}


def test_thread_arithmetic_without_warp_operations_is_safe() -> None:
    text = "__global__ void k(float* p) { p[threadIdx.x / 32] = threadIdx.x & 31; }"
    assert verdicts(text) == {("HP221", SAFE)}


def test_ptx_of_a_warp() -> None:
    text = """__device__ void a(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
    __device__ unsigned b() { unsigned l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }"""
    assert [(f.id, f.verdict, f.reason.split()[1]) for f in findings(text)] == [
        ("HP232", LOGICAL32, "bar.sync"),
        ("HP232", LOGICAL32, "%%laneid"),
    ]
    whole_block = 'asm volatile("bar.sync 0;"); asm("add.u32 %0, %0, 1;" : "+r"(x)); asm("cp.async.wait_group 0;");'
    assert findings("__device__ void c(unsigned x) { " + whole_block + " }") == []
