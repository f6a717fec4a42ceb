"""The warp model padded for some kernels of a file: what goes with them, and near-misses that must be refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hipport.core import FileResult, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

OPTIONS = TranslateOptions()

# 'roles' needs its warps apart: one waits at a barrier in a branch. Its launch has 64 threads, 128 when padded. 'plain'
# counts on 64 threads of its own: doubled, or counted as padded, it would print other numbers.
PROGRAM = """#include <cstdio>
#include <cuda_runtime.h>
__device__ int sum(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
__device__ int only_roles() { return threadIdx.x / 32; }
__device__ int only_plain() { return threadIdx.x; }
// hipport: warp-model padded
__global__ void roles(int* p) {
  __shared__ int s;
  if (only_roles() == 0) { s = 7; __syncthreads(); p[threadIdx.x] = sum(1); }
  else { __syncthreads(); p[threadIdx.x] = s * 1000 + blockDim.x; }
}
__global__ void plain(int* p) { p[only_plain()] = sum(threadIdx.x) * 1000 + blockDim.x; }
int main() {
  int* p;
  cudaMallocManaged(&p, 64 * sizeof(int));
  roles<<<1, 64>>>(p);
  printf("%s", cudaDeviceSynchronize() == cudaSuccess ? "" : "failed ");
  for (int i = 0; i < 64; ++i) printf("%d ", p[i]);
  plain<<<1, 64>>>(p);
  printf("%s", cudaDeviceSynchronize() == cudaSuccess ? "" : "failed ");
  for (int i = 0; i < 64; ++i) printf("%d ", p[i]);
}
"""
ASKED = "// hipport: warp-model padded\n"
# From the CUDA model: warp 0 adds 32 ones, warp 1 reads 7; sums of 0..31 and 32..63 are 496 and 1520.
EXPECTED = [32] * 32 + [7064] * 32 + [496064] * 32 + [1520064] * 32


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return load_rulebook()


def port(book: Rulebook, text: str, options: TranslateOptions = OPTIONS) -> FileResult:
    return translate_source(SourceFile("a/x.cu", text.encode()), book, options)


def padded(result: FileResult) -> str:
    """The names in the mark of the output."""
    lines = [line for line in result.output.decode().splitlines() if line.startswith("// hipport: padded: ")]
    return lines[0].removeprefix("// hipport: padded: ") if lines else ""


def test_only_the_chosen_kernel_is_padded(book: Rulebook) -> None:
    result = port(book, PROGRAM)
    output = result.output.decode()
    assert padded(result) == "only_roles, roles"
    assert "HIPPORT_PADDED" not in output
    assert "only_roles() { return hipport::padded_thread_index().x / 32; }" in output
    assert "only_plain() { return threadIdx.x; }" in output
    assert "roles<<<1, hipport::padded_block(64)>>>(p);" in output
    assert "plain<<<1, 64>>>(p);" in output
    assert "void plain(int* p) { p[only_plain()] = sum(threadIdx.x) * 1000 + blockDim.x; }" in output
    assert output.count("hipport::is_padding()") == 1
    assert {d.id for d in result.diagnostics} == {"HP241"}  # no barrier is reported in 'roles': its warps are apart


def test_translating_the_output_changes_nothing(book: Rulebook) -> None:
    output = port(book, PROGRAM).output
    assert translate_source(SourceFile("a/x.cu", output), book, OPTIONS).output == output


def test_chosen_by_name_in_the_settings(book: Rulebook) -> None:
    text = PROGRAM.replace(ASKED, "")
    result = port(book, text, replace(OPTIONS, kernel_warp_models=(("roles", "padded"),)))
    assert result.output == port(book, PROGRAM).output.replace(ASKED.encode(), b"")
    assert padded(port(book, text, replace(OPTIONS, kernel_warp_models=(("role", "padded"),)))) == ""


def test_all_kernels_or_the_file_are_padded_as_a_file(book: Rulebook) -> None:
    text = PROGRAM.replace(ASKED, "")
    both = replace(OPTIONS, kernel_warp_models=(("roles", "padded"), ("plain", "padded")))
    of_file = replace(OPTIONS, file_warp_models=(("a/**", "padded"),))
    for options in (both, of_file):
        output = port(book, text, options).output.decode()
        assert "#define HIPPORT_PADDED" in output
        assert "plain<<<1, hipport::padded_block(64)>>>(p);" in output
    later = replace(OPTIONS, file_warp_models=(("a/**", "padded"), ("*/x.cu", "logical32")))
    assert "padded" not in port(book, text, later).output.decode()


def test_a_file_is_padded_but_for_one_kernel(book: Rulebook) -> None:
    options = replace(OPTIONS, warp_model="padded", kernel_warp_models=(("plain", "logical32"),))
    assert padded(port(book, PROGRAM.replace(ASKED, ""), options)) == "only_roles, roles"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("p[only_plain()]", "p[only_plain() + 0 * only_roles()]", "'only_roles' counts threads for padded kernels and"),
        ("return v;", "return v + 0 * blockDim.x;", "'sum' counts threads for padded kernels and for others (line 5)"),
        ("if (only_roles()", "if (TID / 32", "'threadIdx' stands outside functions or in a macro (line 2)"),
        ("sum(1)", "F()", "a macro names 'only_roles'"),
        ("#include <cstdio>", '#include <cstdio>\n#include "x.cuh"', "it includes files whose functions may count"),
        ("s = 7;", 's = 7; asm volatile("");', "'asm' in 'roles' may count threads (line 12)"),
        ("s = 7;", "s = 7 + far();", "'far', which another file defines, may count threads"),
        ("int only_roles() {", "int operator+(S) {", "'operator+'"),
        ("int* p;", "int* p; auto f = only_roles;", "'only_roles' is handed on"),
        ("int* p;", "int* p; auto f = roles;", "the kernel 'roles' is handed on"),
        (
            "int main",
            "KERNEL void hidden(int* p) { p[only_roles()] = 1; }\nint main",
            "'only_roles' is handed on",
        ),
        ("int main", "__device__ int f() { return only_roles(); }\nint main", "'only_roles' counts threads for padded"),
        ("int* p;", "int* p; auto f = &only_roles;", "'only_roles' is handed on"),
        ("roles<<<1, 64>>>(p)", "cudaLaunchKernelEx(&c, roles, p)", "the kernel 'roles' is handed on"),
        (
            ASKED,
            f"struct S {{ __device__ int f() {{ return threadIdx.x; }} }};\n{ASKED}",
            "'f', whose",
        ),
        ("int* p;", "int* p; auto f = [] __device__ { return threadIdx.x; };", "'main', whose callers are not seen"),
        ("void plain(int* p) {", "void roles(float* p) {", "other kernels have the name 'roles' too"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(book: Rulebook, old: str, new: str, reason: str) -> None:
    first = {"TID": "#define TID threadIdx.x\n", "F()": "#define F() only_roles()\n"}
    head = next((text for key, text in first.items() if key in new), "")
    if "far" in new:
        head = "extern __device__ int far();\n"
    text = PROGRAM.replace("#include <cstdio>\n", f"#include <cstdio>\n{head}").replace(old, new)
    assert text != PROGRAM
    result = port(book, text)
    messages = [d.message for d in result.diagnostics if d.id == "HP241"]
    assert len(messages) == 1
    assert reason in messages[0]
    assert b"padded_" not in result.output


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int* p;", "int* p; cudaLaunchConfig_t c = {}; c.blockDim = 1;"),  # a field
        ("s = 7;", "s = 7; // threadIdx of asm"),
        ("return threadIdx.x; }", 'asm volatile(""); return threadIdx.x; }'),  # asm, but not in a padded kernel
        ("__device__ int only_roles() {", "__device__ int only_roles();\n__device__ int only_roles() {"),
    ],
)
def test_what_only_looks_like_it_is_padded(book: Rulebook, old: str, new: str) -> None:
    assert padded(port(book, PROGRAM.replace(old, new))) == "only_roles, roles"


@pytest.mark.parametrize(
    "call", ["cudaLaunchKernel((void*)plain, 1, 64, 0, 0, 0)", "cudaLaunchKernel((void*)roles_2, 1, 64, 0, 0, 0)"]
)
def test_launches_of_other_kernels_stay(book: Rulebook, call: str) -> None:
    text = PROGRAM.replace("plain<<<1, 64>>>(p)", call)
    output = port(book, text).output.decode()
    assert padded(port(book, text)) == "only_roles, roles"
    assert output.count("padded_block(") == 1


@pytest.mark.sdk
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_a_padded_and_a_plain_kernel_run(tmp_path: Path, target: str) -> None:
    path = tmp_path / "x.cu"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "hipport", "run", str(path), "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [int(word) for word in done.stdout.split()] == EXPECTED
