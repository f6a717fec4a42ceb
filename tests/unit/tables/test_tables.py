"""Rename tables: well formed, no name twice, and right where the vendors' headers or documentation say so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hipport.core.files import rules_root
from hipport.rulebook import Row, Rulebook, load_rulebook
from hipport.rulebook.tables import HEADER, read_table

TABLES = sorted(p for folder in ("api", "libraries", "torch") for p in (rules_root() / folder).glob("*.tsv"))
BOOK: Rulebook = load_rulebook()


def rows_of(path: Path) -> list[Row]:
    return read_table(path, path.name)


def row(name: str) -> Row:
    (found,) = [r for r in BOOK.all_rows() if r.cuda == name]
    return found


def test_there_are_thousands() -> None:
    assert len(TABLES) >= 20
    assert sum(len(rows_of(path)) for path in TABLES) > 11_000


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_table_is_well_formed(path: Path) -> None:
    text = path.read_bytes()
    assert text.endswith(b"\n")
    assert not any(wrong in text for wrong in (b"\r", b" \t", b"\t "))
    lines = [line for line in text.decode("ascii").splitlines() if not line.startswith("#")]
    assert lines[0].split("\t") == list(HEADER)
    assert all(line.count("\t") == len(HEADER) - 1 for line in lines)
    rows = rows_of(path)
    assert [r.cuda for r in rows] == sorted(r.cuda for r in rows), "rows are sorted, so that diffs stay small"


def test_no_name_has_two_meanings() -> None:
    """One row per name and kind over all tables; rows for different HIP versions do not overlap."""
    seen = Counter((r.cuda, r.kind) for path in TABLES for r in rows_of(path))
    assert [key for key, n in seen.items() if n > 1] == []


def test_refusals_say_why_and_are_documented() -> None:
    for r in BOOK.all_rows():
        if r.state in ("none", "review"):
            assert r.note, r
            assert BOOK.explain(r.diag) is not None, r


def test_nothing_names_this_machine() -> None:
    for path in TABLES:
        text = path.read_text()
        assert not any(word in text for word in ("/usr/", "/opt/", "/home/", "/tmp"))


# What the vendors say, each with where: (CUDA, HIP, state).
FACTS = [
    # HIP porting guide: prefix rule of the runtime API.
    ("cudaMalloc", "hipMalloc", "ok"),
    ("cudaMemcpyAsync", "hipMemcpyAsync", "ok"),
    ("cudaMemcpyHostToDevice", "hipMemcpyHostToDevice", "ok"),
    ("cudaDeviceSynchronize", "hipDeviceSynchronize", "ok"),
    ("cudaError_t", "hipError_t", "ok"),
    ("cudaSuccess", "hipSuccess", "ok"),
    ("cudaStream_t", "hipStream_t", "ok"),
    ("cudaDeviceProp", "hipDeviceProp_t", "ok"),
    ("cudaDeviceAttr", "hipDeviceAttribute_t", "ok"),
    ("cudaPointerAttributes", "hipPointerAttribute_t", "ok"),
    # hip_runtime_api.h: hipMallocHost and hipFreeHost are marked deprecated in favour of these.
    ("cudaMallocHost", "hipHostMalloc", "ok"),
    ("cudaFreeHost", "hipHostFree", "ok"),
    # hip_runtime_api.h: error 2 is hipErrorOutOfMemory, error 3 hipErrorNotInitialized, as in driver_types.h.
    ("cudaErrorMemoryAllocation", "hipErrorOutOfMemory", "ok"),
    ("CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "ok"),
    ("CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized", "ok"),
    # Removed in CUDA 13, still in old code (cuda_runtime_api.h of 11.8).
    ("cudaThreadSynchronize", "hipDeviceSynchronize", "ok"),
    ("textureReference", "textureReference", "same"),
    # Driver API: HIP has one memory API, and module functions under hipModule.
    ("cuMemAlloc", "hipMalloc", "ok"),
    ("cuMemAlloc_v2", "hipMalloc", "ok"),
    ("cuMemcpyHtoD", "hipport_memcpy_htod", "ok"),
    ("cuLaunchKernel", "hipModuleLaunchKernel", "ok"),
    ("cuModuleLoadData", "hipModuleLoadData", "ok"),
    ("cuGetErrorString", "hipDrvGetErrorString", "ok"),
    ("cuStreamCreate", "hipStreamCreateWithFlags", "ok"),
    ("CUcontext", "hipCtx_t", "ok"),
    ("CUstream", "hipStream_t", "ok"),
    ("CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", "hipDeviceAttributeMultiprocessorCount", "ok"),
    # An integer in CUDA, a pointer in HIP: driver_types.h against cuda.h.
    ("CUdeviceptr", "hipDeviceptr_t", "review"),
    # No tensor memory accelerator on AMD.
    ("cuTensorMapEncodeTiled", "", "none"),
    # library_types.h has both sets of names.
    ("CUDA_R_16F", "HIP_R_16F", "ok"),
    ("cudaDataType", "hipDataType", "ok"),
    ("cudaDataType_t", "hipDataType", "ok"),
    # hipblas.h; matrix cores need no flag on AMD.
    ("cublasCreate", "hipblasCreate", "ok"),
    ("cublasCreate_v2", "hipblasCreate", "ok"),
    ("cublasSgemm", "hipblasSgemm", "ok"),
    ("CUBLAS_COMPUTE_32F", "HIPBLAS_COMPUTE_32F", "ok"),
    ("CUBLAS_GEMM_DEFAULT_TENSOR_OP", "HIPBLAS_GEMM_DEFAULT", "ok"),
    ("cublasLtMatmul", "hipblasLtMatmul", "ok"),
    # hiprand_kernel.h, hipfft.h, hipsparse.h, hipsolver.h, rccl.h, hiprtc.h.
    ("curand_init", "hiprand_init", "ok"),
    ("curandStatePhilox4_32_10_t", "hiprandStatePhilox4_32_10_t", "ok"),
    ("cufftExecC2C", "hipfftExecC2C", "ok"),
    ("cusparseSpMM", "hipsparseSpMM", "ok"),
    ("cusolverDnSgetrf", "hipsolverDnSgetrf", "ok"),
    ("ncclAllReduce", "ncclAllReduce", "same"),
    ("nvrtcCompileProgram", "hiprtcCompileProgram", "ok"),
    ("nvrtcGetPTX", "hiprtcGetCode", "review"),
    # Program text in a string is no source of ours, and hipGetProcAddress looks up HIP's names by HIP's version number.
    ("nvrtcCreateProgram", "hiprtcCreateProgram", "review"),
    ("cuGetProcAddress", "hipGetProcAddress", "review"),
    ("cudnnCreate", "", "none"),
    ("nvtxRangePushA", "roctxRangePushA", "ok"),
    # Field cases 21, 28, 31: bfloat16 type and header, real CUDA headers, stream capture.
    ("cuda_bf16.h", "hip/hip_bf16.h", "ok"),
    ("__nv_bfloat16", "__hip_bfloat16", "ok"),
    ("cuda_runtime.h", "hip/hip_runtime.h", "ok"),
    ("cudaStreamBeginCapture", "hipStreamBeginCapture", "review"),
    ("cub", "hipcub", "namespace-ok"),
    # PyTorch 2.11 and later: files are renamed, names stay (pytorch/pytorch#174087).
    ("ATen/cuda/CUDAContext.h", "ATen/hip/HIPContext.h", "ok"),
    ("c10/cuda/CUDAGuard.h", "c10/hip/HIPGuard.h", "ok"),
    ("c10::cuda::CUDAGuard", "c10::cuda::CUDAGuard", "same"),
    ("C10_CUDA_CHECK", "C10_CUDA_CHECK", "same"),
]


@pytest.mark.parametrize(("cuda", "hip", "state"), FACTS, ids=[f[0] for f in FACTS])
def test_known_fact(cuda: str, hip: str, state: str) -> None:
    found = row(cuda)
    assert (found.hip, found.state) == (hip, state.removeprefix("namespace-"))
    assert (found.kind == "namespace") == state.startswith("namespace-")


# Signatures that differ between the vendors, counted in their headers (cuda_runtime_api.h 13.0, hip_runtime_api.h).
DIFFERENCES = [
    ("cudaGraphGetEdges", "5 parameters in CUDA, 4 in HIP"),
    ("cudaStreamUpdateCaptureDependencies", "5 parameters in CUDA, 3 to 4 in HIP"),
    ("cublasLtGetVersion", "0 parameters in CUDA, 2 in HIP"),
    ("cusparseSpSM_solve", "10 parameters in CUDA, 11 in HIP"),
]


@pytest.mark.parametrize(("cuda", "words"), DIFFERENCES)
def test_difference_is_spelled(cuda: str, words: str) -> None:
    found = row(cuda)
    assert found.state == "review"
    assert words in found.note


def test_names_that_only_new_hip_has_carry_the_version() -> None:
    """Declared in the headers of HIP 7.2, not in those of 6.4."""
    assert row("cudaMemcpyBatchAsync").rocm_min == "7.2"
    assert row("cudaLaunchKernelExC").rocm_min == "7.2"
    assert row("cudaMalloc").rocm_min == ""
