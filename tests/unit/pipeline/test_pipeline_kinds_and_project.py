from __future__ import annotations

from pathlib import Path

import pytest

from hipport.pipeline.kinds import Kind, copied_with_care, kind_of
from hipport.pipeline.project import declared, folders_above, project_key, without_runtime


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("a.cu", b"", Kind.SOURCE),
        ("A.CU", b"", Kind.SOURCE),
        ("x/y.cuh", b"", Kind.SOURCE),
        ("x.inl", b"", Kind.SOURCE),
        ("setup.py", b"", Kind.PYTHON),
        ("tools/build_ext.py", b"from torch.utils.cpp_extension import load", Kind.PYTHON),
        ("flash_attn/triton.py", b"import triton", Kind.OTHER),
        ("CMakeLists.txt", b"", Kind.CMAKE),
        ("cmake/Find.cmake", b"", Kind.CMAKE),
        ("CMakeLists.txt.orig", b"", Kind.OTHER),
        ("README.md", b"cudaMalloc", Kind.OTHER),
        (".cu", b"", Kind.OTHER),
    ],
)
def test_kind(path: str, data: bytes, kind: Kind) -> None:
    assert kind_of(path, data) is kind


@pytest.mark.parametrize(
    ("path", "data", "ids"),
    [
        ("k.ptx", b".version 8.0", ["HP942"]),
        ("k.cubin", b"\x7fELF", ["HP942"]),
        ("Makefile", b"all:\n\tnvcc x.cu\n", ["HP943"]),
        ("rules.mk", b"CC = gcc\n", []),
        ("src/BUILD", b'deps = ["@cuda//:cudart"]', ["HP943"]),
        ("x.pyx", b'cdef extern from "cuda_runtime.h":', ["HP943"]),
        ("README.md", b"run nvcc", []),
    ],
)
def test_copied_files_that_matter_are_named(path: str, data: bytes, ids: list[str]) -> None:
    assert [d.id for d in copied_with_care(path, data)] == ids


def test_line_of_the_first_mention() -> None:
    assert copied_with_care("Makefile", b"a\nb\nNV=nvcc\n")[0].line == 3


def test_what_a_project_defines_itself() -> None:
    data = b"""
#define CUDA_CHECK(x) check(x)
  # define  CUBLAS_CHECK
#define OTHER 1
struct cudaTimer {
  int cudaMember;
};
struct CUstream_st;                       // CUDA's own, declared to spare an include
typedef struct CUstream_st* cudaStream_t;
enum class cudaMode : int { a };
namespace cute_ext { }
using cuIndex = int;
static inline void cudaSafeCall(cudaError_t e,
                                const char* f) {
  cudaDeviceSynchronize();
}
cudaError_t cudaMalloc(void**, size_t);   // a declaration only
int use() { return cudaGetLastError(); }
"""
    found = declared("x.h", data)
    assert found.macros == ("CUBLAS_CHECK", "CUDA_CHECK")
    assert found.names == ("cuIndex", "cudaMode", "cudaSafeCall", "cudaTimer", "cute_ext")


def test_only_sources_declare() -> None:
    assert declared("x.md", b"#define CUDA_X\n").macros == ()


def test_project_key_depends_on_sets_not_order() -> None:
    assert project_key(["a", "b"], ["m"], []) == project_key(["b", "a"], ["m"], [])
    assert project_key(["a"], ["m"], []) != project_key(["a"], [], ["m"])
    assert project_key(["a"], [], []) != project_key(["a"], [], [], "csrc")


def test_folders_above(tmp_path: Path) -> None:
    inner = tmp_path / "package" / "csrc" / "kernels"
    inner.mkdir(parents=True)
    (tmp_path / "package" / "setup.py").write_text("")
    assert folders_above(inner) == "csrc/kernels"
    assert folders_above(tmp_path / "package") == ""


KERNEL = b"__global__ void k(int* p) { p[threadIdx.x] = 0; }\n"


@pytest.mark.parametrize(
    ("includes", "files", "bare"),
    [
        (b"", {}, True),
        (b"#include <stdio.h>\n#include <vector>\n#include <sys/time.h>\n", {}, True),
        (b"#include <cuda_runtime_api.h>\n", {}, True),  # types and calls, no threadIdx
        (b'#include "own.h"\n', {"own.h": b"#include <cstdint>\n"}, True),
        (b'#include "own.h"\n', {"own.h": b'#include "a.h"\n', "a.h": b'#include "own.h"\n'}, True),
        (b"#include <cuda_runtime.h>\n", {}, False),
        (b"  #  include <cub/cub.cuh>\n", {}, False),
        (b"#include <torch/extension.h>\n", {}, False),
        (b'#include "unknown.h"\n', {}, False),
        (b'#include "own.h"\n', {"own.h": b'#include "sub/a.h"\n', "sub/a.h": b"#include <cuda.h>\n"}, False),
        (b'#include "own.h"\n', {"include/own.h": b"#include <hip/hip_runtime.h>\n"}, False),
    ],
)
def test_who_relies_on_nvcc_for_the_runtime_header(includes: bytes, files: dict[str, bytes], bare: bool) -> None:
    texts = {"k.cu": includes + KERNEL, "k.cpp": includes + KERNEL, "plain.cu": b"int a;\n", **files}
    assert without_runtime(texts, set(texts)) == (frozenset({"k.cu"}) if bare else frozenset())
