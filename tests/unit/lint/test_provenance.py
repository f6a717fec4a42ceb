"""Where values come from: macros, constexpr, enums, template parameters, locals, parameters, other files."""

from __future__ import annotations

import pytest

from hipport.core import SourceFile
from hipport.lint import Finding, Verdict, lint


def findings(*texts: str) -> list[Finding]:
    return list(lint([SourceFile(f"f{n}.cuh", text.encode()) for n, text in enumerate(texts)]).findings)


def only(number: str, *texts: str) -> Finding:
    found = [f for f in findings(*texts) if f.id == number]
    assert len(found) == 1, found
    return found[0]


LANE = "__device__ int f(int v) {{ int lane = threadIdx.x {}; return __shfl_sync(~0u, v, lane); }}"


@pytest.mark.parametrize(
    ("before", "operation", "step"),
    [
        ("", "& 0x1f", "0x1f"),
        ("", "% 32u", "32u"),
        ("#define WARP_SIZE 32", "% WARP_SIZE", "#define WARP_SIZE 32"),
        ("#define WARP_SIZE 32", "& (WARP_SIZE - 1)", "#define WARP_SIZE 32"),
        ("#define LOG_WARP 5\n#define WARP_SIZE (1 << LOG_WARP)", "% WARP_SIZE", "#define WARP_SIZE (1 << LOG_WARP)"),
        ("constexpr int kWarpSize = 32;", "% kWarpSize", "kWarpSize = 32"),
        ("enum { THREADS_PER_WARP = 32 };", "% THREADS_PER_WARP", "THREADS_PER_WARP = 32"),
        ("struct Traits { enum { WARP = 32 }; };", "% Traits::WARP", "WARP = 32"),
    ],
)
def test_lane_number_by_a_constant(before: str, operation: str, step: str) -> None:
    found = only("HP221", before + "\n" + LANE.format(operation))
    assert found.verdict is Verdict.LOGICAL32
    assert step in [s.text for s in found.trace]
    assert "threadIdx.x" in [s.text for s in found.trace]


def test_constant_of_another_file() -> None:
    found = only("HP221", "enum { THREADS_PER_WARP = 32 };", LANE.format("% THREADS_PER_WARP"))
    assert (found.path, found.trace[-1].path) == ("f1.cuh", "f0.cuh")


def test_constants_that_contradict_each_other_are_not_guessed() -> None:
    text = "#define WARP_SIZE 32\n#undef WARP_SIZE\n#define WARP_SIZE 16\n" + LANE.format("% WARP_SIZE")
    assert all(f.id != "HP221" or f.verdict is Verdict.UNKNOWN for f in findings(text))


def test_template_parameter_bounded_by_static_assert() -> None:
    text = """template <int THREADS> struct Allreduce {
      static_assert(THREADS == 32 || THREADS == 8);
      template <typename T> static __device__ T run(T x) {
        constexpr int OFFSET = THREADS / 2;
        return x + __shfl_xor_sync(uint32_t(-1), x, OFFSET);
      }
    };"""
    found = only("HP220", text)
    assert found.verdict is Verdict.SAFE
    assert "at most 16" in found.reason


def test_template_parameter_from_its_uses() -> None:
    text = """template <int W> __device__ int part(int v) { return __shfl_up_sync(~0u, v, 1, W); }
    __device__ int all(int v) { return part<8>(v) + part<16>(v); }"""
    found = only("HP220", text)
    assert (found.verdict, "16" in found.reason) == (Verdict.SAFE, True)
    assert [s.text for s in found.trace] == ["part<8>", "part<16>", "template parameter W"]


def test_unknown_width_in_hip_cannot_be_told() -> None:
    text = "#include <hip/hip_runtime.h>\n__device__ int f(int v, int w) { return __shfl_up(v, 1, w); }"
    assert only("HP220", text).verdict is Verdict.UNKNOWN


def test_thread_number_through_a_parameter() -> None:
    text = """__device__ int g(int v, int me) { return __shfl_sync(~0u, v, me & 31); }
    __global__ void k(int* p) { p[0] = g(p[1], threadIdx.x); }"""
    found = only("HP221", text)
    assert next(s.text for s in found.trace) == "threadIdx.x"


def test_linear_number_of_a_two_dimensional_block() -> None:
    text = """__global__ void k(int* p) {
      int t = threadIdx.y * blockDim.x + threadIdx.x;
      p[t] = __shfl_sync(~0u, p[t], (t & 31) ^ 1);
    }"""
    assert only("HP221", text).verdict is Verdict.LOGICAL32


def test_distance_follows_the_loop() -> None:
    rising = "__device__ int f(int v) { for (int d = 1; d < 32; d <<= 1) v += __shfl_xor_sync(~0u, v, d); return v; }"
    assert only("HP220", rising).verdict is Verdict.SAFE
    beyond = "#include <hip/hip_runtime.h>\n" + rising.replace("_sync(~0u, ", "(").replace("32", "64")
    assert only("HP220", beyond).verdict is Verdict.UNKNOWN


def test_lane_bit() -> None:
    wide = "#include <hip/hip_runtime.h>\n__device__ int f(int v) {{ return __any(v) && ({} << __lane_id()); }}"
    assert only("HP223", wide.format("1ull")).verdict is Verdict.SAFE
    assert only("HP223", wide.format("1u")).verdict is Verdict.WRONG


def test_recursion_ends() -> None:
    text = """#define A B
    #define B A
    __device__ int f(int v, int x) { int y = y + x; x = x + y; return __shfl_sync(~0u, v, A + y); }"""
    assert only("HP220", text).verdict is Verdict.LOGICAL32
