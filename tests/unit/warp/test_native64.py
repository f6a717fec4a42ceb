"""The warp model native64: what is rewritten, and near-misses, each of which would change a result."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hipport.core import FileResult, Severity, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

OPTIONS = TranslateOptions(targets=("gfx942", "gfx1100"), warp_model="native64")

SUM = """#include <cuda_runtime.h>
__global__ void k(const int* in, int* out, int n) {
  __shared__ int part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (lane == 0) out[blockIdx.x] = v;
  }
}
void run(const int* in, int* out, int n, int b) { k<<<n, b>>>(in, out, n); }
"""
ATOMIC = """#include <cuda_runtime.h>
__global__ void k(const int* in, int* out, int n) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[blockIdx.x], v);
}
void run(const int* in, int* out, int n) { k<<<n, 256>>>(in, out, n); }
"""
DEVICE = """#include <cuda_runtime.h>
static __device__ int block_sum(int v) {
  static __shared__ int part[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0)
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__global__ void k(const int* in, int* out, int n) {
  int s = block_sum(in[threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}
void run(const int* in, int* out, int n) { k<<<n, 256>>>(in, out, n); }
"""


@pytest.fixture(scope="module")
def book() -> Rulebook:
    everything = load_rulebook()
    return replace(everything, rules=tuple(rule for rule in everything.rules if rule.file.startswith("warp/")))


def translated(book: Rulebook, text: str, options: TranslateOptions = OPTIONS, path: str = "case.cu") -> FileResult:
    result = translate_source(SourceFile(path, text.encode()), book, options)
    assert not [d for d in result.diagnostics if d.severity is Severity.ERROR]
    return result


def is_native(result: FileResult) -> bool:
    return b"hipport::native_reduce" in result.output or b"hipport::native_count" in result.output


def notes(result: FileResult) -> str:
    return "\n".join(d.message for d in result.diagnostics if d.id == "HP219")


@pytest.mark.parametrize("text", [SUM, ATOMIC, DEVICE])
def test_proved(book: Rulebook, text: str) -> None:
    result = translated(book, text)
    assert is_native(result)
    assert notes(result) == ""
    assert not re.search(rb"__shfl", result.output)
    again = translate_source(SourceFile("case.cu", result.output), book, OPTIONS)
    assert again.output == result.output, "a second translation changes nothing"


@pytest.mark.parametrize("text", [SUM, ATOMIC, DEVICE])
def test_other_models_do_not_do_it(book: Rulebook, text: str) -> None:
    assert not is_native(translated(book, text, TranslateOptions()))
    assert notes(translated(book, text, TranslateOptions())) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("threadIdx.x % 32", "(int)threadIdx.x & (warpSize - 1)"),
        ("warp = threadIdx.x / 32", "warp = threadIdx.x >> 5"),
        ("lane == 0) part", "!lane) part"),
        ("o > 0; o >>= 1", "o; o /= 2"),
        ("int o = 16", "int o = warpSize / 2"),
        ("v += __shfl_down_sync(0xffffffff, v, o)", "v = __shfl_down_sync(~0u, v, o, 32) + v"),
        ("blockDim.x / 32", "(blockDim.x + 31) / 32"),
        ("threadIdx.x < blockDim.x / 32 ? part[lane] : 0", "(lane < (int)blockDim.x >> 5) ? part[lane] : 0"),
        ("if (warp == 0) {", "if (threadIdx.x < 32) {"),
        ("int n, int b", "int n, dim3 b(64)"),
        ("  __syncthreads", "  if (n > 3) return;\n  __syncthreads"),
    ],
)
def test_spellings(book: Rulebook, old: str, new: str) -> None:
    assert old in SUM
    text = SUM.replace(old, new)
    if "dim3" in new:
        text = SUM.replace("{ k<<<", "{ dim3 b(64); k<<<").replace(", int b", "")
    if old.startswith(("int o", "o >")) or "__shfl" in old:
        assert text.count(new) == 2
    if "blockDim.x >> 5" in new:
        new_text = text.replace("(int)blockDim.x >> 5", "((int)blockDim.x >> 5)")
        text = new_text
    assert is_native(translated(book, text)), notes(translated(book, text))


# What is changed in which program, and the obligation that then fails.
NEAR_MISSES = [
    # the reduction
    (SUM, "int o = 16; o > 0", "int o = 8; o > 0", "no reduction over whole warps"),
    (SUM, "(0xffffffff, v, o)", "(0xffff, v, o)", "no reduction over whole warps"),
    (SUM, "(0xffffffff, v, o)", "(0xffffffff, v, o, 16)", "no reduction over whole warps"),
    (SUM, "v += __shfl_down_sync(0xffffffff, v, o)", "v -= __shfl_down_sync(0xffffffff, v, o)", "no reduction"),
    (SUM, "__shfl_down_sync", "__shfl_up_sync", "no reduction"),
    (SUM.replace("int* ", "float* ").replace("int p", "float p"), "v = in[", "x = 0; float v = in[", "no integer"),
    # everybody gets there
    (SUM, "  for (int o", "  if (v < 0) return;\n  for (int o", "not every thread of the block"),
    (SUM, "  for (int o", "  if (blockIdx.x * blockDim.x + threadIdx.x >= n) return;\n  for (int o", "not every"),
    (SUM, "  for (int o", "  if (out[0]) return;\n  for (int o", "not every thread of the block"),
    # the first lane hands it on, once
    (SUM, "lane == 0) part", "lane == 31) part", "other lanes than the first"),
    (SUM, "lane == 0) part", "lane <= 0) part", "other lanes than the first"),
    (SUM, "part[warp] = v;", "part[warp + 1] = v;", "elsewhere than in an array"),
    (SUM, "part[warp] = v;", "part[warp] = v * 2;", "does something else"),
    (SUM, "part[warp] = v;", "out[warp] = v;", "is no shared array"),
    (SUM, "  __syncthreads", "  out[threadIdx.x] = v;\n  __syncthreads", "in 2 places"),
    (SUM, "int part[32]", "long long part[32]", "is no shared array of int"),
    (SUM, "int part[32]", "int part[32][1]", ""),
    (SUM, "__shared__ int part[32]", "extern __shared__ int part[]; extern __shared__ char x[]", "shares its memory"),
    (SUM, "< blockDim.x / 32", "< SLOTS", "number of warps"),
    (SUM, "  for (int o", "  lane = n;\n  for (int o", "other lanes than the first"),
    (SUM, "  for (int o", "  int& other = v;\n  for (int o", "another name"),
    (SUM, "  for (int o", "  int* other = &v;\n  for (int o", "another name"),
    (SUM, "  for (int o", "  auto f = [&] { out[threadIdx.x] = v; };\n  for (int o", "another name"),
    (SUM, "  for (int o", '  if (v < 0) leave("exit;");\n  for (int o', "PTX exit"),
    # the partial results
    (SUM, "  __syncthreads();\n", "", "no __syncthreads"),
    (SUM, "part[lane] : 0", "part[lane] : 1", "neutral"),
    (SUM, "part[lane] : 0", "part[31 - lane] : 0", "in order"),
    (SUM, "< blockDim.x / 32", "< 4", "number of warps"),
    (SUM, "< blockDim.x / 32", "< blockDim.x / 64", "number of warps"),
    (SUM, "< blockDim.x / 32", "<= blockDim.x / 32", "unknown way"),
    (SUM, "  if (warp == 0) {", "  n += part[1];\n  if (warp == 0) {", "another place"),
    (SUM, "if (warp == 0) {", "if (warp == 1) {", "not the first warp"),
    (SUM, "if (lane == 0) out[blockIdx.x]", "if (lane == 1) out[blockIdx.x]", "get no result"),
    (SUM, "    if (lane == 0) out[blockIdx.x] = v;\n  }", "  }\n  out[threadIdx.x] = v;", "get no result"),
    # the launches
    (SUM, "k<<<n, b>>>", "k<<<n, dim3(b, 2)>>>", "one-dimensional"),
    (SUM, "int n, int b", "int n, dim3 b", "one-dimensional"),
    (SUM, "void run(const int* in, int* out, int n, int b) { k<<<n, b>>>(in, out, n); }", "", "not every launch"),
    (SUM, "{ k<<<", "{ auto f = k; k<<<", "not every launch"),
    (SUM, "#include <cuda_runtime.h>", '#include "kernels.h"', "other files"),
    # atomics
    (ATOMIC, "&out[blockIdx.x], v", "&out[threadIdx.x / 32], v", "one integer for the whole block"),
    (ATOMIC, "&out[blockIdx.x], v", "&out[in[0]], v", "one integer for the whole block"),
    (ATOMIC, "int* out", "float* out", "one integer"),
    (ATOMIC, "int* out", "unsigned long long* out", "wider than the sums"),
    (ATOMIC, "atomicAdd(", "atomicMax(", "the atomic of the same operation"),
    (ATOMIC, "atomicAdd(&out[blockIdx.x], v)", "out[n] = atomicAdd(&out[blockIdx.x], v)", "something else"),
    (ATOMIC, "atomicAdd(&out[blockIdx.x], v);", "{ atomicAdd(&out[blockIdx.x], v); atomicAdd(out, 1); }", "does more"),
    (ATOMIC, "int v = in", "short v = in", "no integer"),
    # callers of a device function
    (DEVICE, "if (threadIdx.x == 0) out", "if (threadIdx.x < 2) out", "get no result"),
    (DEVICE, "  int s = block_sum", "  int s = 0;\n  if (in[0]) s = block_sum", "not every thread of the block calls"),
    (DEVICE, "int s = block_sum(in[threadIdx.x]);", "int s = 1 + block_sum(in[threadIdx.x]);", "used at once"),
    (DEVICE, "void run", "__device__ int again(int v) { return block_sum(v); }\nvoid run", "not followed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "why"), NEAR_MISSES)
def test_near_misses(book: Rulebook, text: str, old: str, new: str, why: str) -> None:
    assert old in text
    result = translated(book, text.replace(old, new))
    assert not is_native(result)
    assert why in notes(result)


@pytest.mark.parametrize("size", ["SLOTS", "SLOTS / 32", "8", "256 / 32"])
def test_a_constant_number_of_warps(book: Rulebook, size: str) -> None:
    text = SUM.replace("part[32]", f"part[{size}]").replace("< blockDim.x / 32", f"< {size}")
    result = translated(book, text)
    assert f"part[hipport::native_warps<int>({size})]" in result.output.decode()


@pytest.mark.parametrize("address", ["out + blockIdx.x", "out /* here */ + blockIdx.x", "&out[n - 1]", "out"])
def test_addresses_of_atomics(book: Rulebook, address: str) -> None:
    assert is_native(translated(book, ATOMIC.replace("&out[blockIdx.x]", address)))


def test_a_header_is_left_alone(book: Rulebook) -> None:
    assert "other files" in notes(translated(book, SUM, path="case.cuh"))


def test_chosen_by_a_comment(book: Rulebook) -> None:
    default = TranslateOptions()
    assert is_native(translated(book, "// hipport: warp-model native64\n\n" + SUM, default))
    above = SUM.replace("__global__", "// hipport: warp-model native64\n__global__")
    assert is_native(translated(book, above, default))
    inside = SUM.replace("  __shared__", "  // hipport: warp-model native64\n  __shared__")
    assert is_native(translated(book, inside, default))
    other = SUM.replace("k<<<", "f(); k<<<") + "// hipport: warp-model native64\n__global__ void other() {}\n"
    assert not is_native(translated(book, other, default))
    assert not is_native(translated(book, above.replace("native64", "logical32"), OPTIONS))
