"""Which headers belong together: one family is one table.

A family names the headers to include on both sides, the header files whose declarations it owns, which of those names
are API (the rest is internal), and the diagnostic ids of its rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One table.

    Attributes:
        table: path below ``rules/``.
        title: first line of the table.
        cuda: CUDA headers to include, in order; those an old toolkit lacks are left out.
        hip: HIP headers to include, in order; likewise.
        owns: pattern of the CUDA header paths whose declarations become rows.
        names: pattern that a name must match to be API.
        missing: diagnostic of names without counterpart.
        differs: diagnostic of names whose HIP declaration differs.
        nvcc: read with the macros nvcc defines (templates, device functions).
        device: implies nvcc; functions become ``device_function``.
        skip: pattern of names that are internal after all.
    """

    table: str
    title: str
    cuda: tuple[str, ...]
    hip: tuple[str, ...]
    owns: str
    names: str
    missing: str
    differs: str
    nvcc: bool = False
    device: bool = False
    skip: str = r"$^"

    def is_api(self, name: str) -> bool:
        """True when a name of the owned headers is meant for users."""
        return name.isidentifier() and re.match(self.names, name) is not None and re.match(self.skip, name) is None


# Names that only CUDA code uses. Other device names get a row only when HIP has them: a row "no counterpart" for a word
# like `all` or `saturate` would accuse identifiers of the user.
DISTINCTIVE = (
    r"__|atomic[A-Z]|make_\w|(u?long|double)\w*\d_(16|32)a|tex|surf|cyl_bessel|(r?norm\dd|normcdf|erfc?inv)"
    r"|CUDA|cu|h\w+"
)

_INTERNAL = r".*(_H|_H_|_H__|_ptsz|_ptds|_DEPRECATED|__)$|CUDA_CB$|CUDAAPI$|CUDARTAPI|CUDART_(CB|DEVICE)$"

FAMILIES: tuple[Family, ...] = (
    Family(
        "api/runtime.tsv",
        "CUDA runtime API",
        ("cuda_runtime.h", "cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"),
        ("hip/hip_runtime_api.h", "hip/hip_ext.h", "hip/hip_gl_interop.h", "hip/channel_descriptor.h"),
        r"(cuda_runtime(_api)?|driver_types|device_types|texture_types|surface_types|channel_descriptor|library_types"
        r"|cuda_profiler_api|cuda_device_runtime_api|cuda_(gl|egl|vdpau)_interop|texture_fetch_functions)\.h$",
        r"(cuda|CUDA|CUDART_|libraryPropertyType|texture)",
        "HP100",
        "HP102",
        nvcc=True,
        skip=_INTERNAL,
    ),
    Family(
        "api/driver.tsv",
        "CUDA driver API",
        ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"),
        ("hip/hip_runtime_api.h", "hip/hip_gl_interop.h"),
        r"(cuda|cudaProfiler|cudaGL|cudaEGL|cudaVDPAU)\.h$",
        r"(cu[A-Z]|CU[A-Za-z]|CUDA_|CU_)",
        "HP101",
        "HP102",
        skip=_INTERNAL,
    ),
    Family(
        "api/complex.tsv",
        "Complex numbers (cuComplex.h)",
        ("cuComplex.h",),
        ("hip/hip_complex.h",),
        r"cuComplex\.h$",
        r"(cu[A-Z]|make_cu)",
        "HP107",
        "HP102",
        device=True,
    ),
    Family(
        "api/constants.tsv",
        "Floating-point constants (math_constants.h)",
        ("math_constants.h",),
        ("hip/hip_math_constants.h",),
        r"math_constants\.h$",
        r"CUDART_",
        "HP107",
        "HP102",
    ),
    Family(
        "api/device.tsv",
        "Device functions: math, intrinsics, atomics, warp primitives, textures",
        ("cuda_runtime.h", "cuda_pipeline_primitives.h", "cuda_awbarrier_primitives.h"),
        ("hip/hip_runtime.h", "hip/hip_texture_types.h", "hip/math_functions.h", "hip/hip_fp16.h", "hip/hip_bf16.h"),
        r"(crt/(math_functions|device_functions|device_double_functions|sm_\w+|common_functions)|device_atomic_functions"
        r"|sm_\d+_\w+|texture_(indirect|fetch)_functions|surface_(indirect_)?functions|vector_functions|vector_types"
        r"|cuda_pipeline_primitives|cuda_awbarrier_primitives)\.hp?p?$",
        r"\w",
        "HP107",
        "HP102",
        device=True,
        skip=r".*(_H|_H_|_H__|__)$|__nv_|__internal|__nvvm|__cuda|EXCLUDE|__SM_|__DEVICE|__DEF_|_Pow|_NVHPC|_LIBCPP|__THROW"
        r"|__MATH|__CUDA_(?!FP)|std::|__gnu|__func__|__device_builtin|signbit$|_(?!_)|NV_|STD$|THROWBAD"
        r"|__[a-z0-9]*Atomic[A-Z]|__NV_|__pm\d|___|\w+_impl$|\w+_internal$|__local_|__PTR|__WSB|__\w+_PTR|__DELETE",
    ),
    Family(
        "libraries/curand_device.tsv",
        "cuRAND device API (curand_kernel.h)",
        ("curand_kernel.h",),
        ("hip/hip_runtime.h", "hiprand/hiprand_kernel.h"),
        r"curand_\w+\.h$",
        r"(curand|CURAND_)",
        "HP702",
        "HP701",
        device=True,
        skip=r".*(_H|_H_|__)$|curand(Create|Destroy|Generate|Set|Get)",
    ),
    Family(
        "api/half.tsv",
        "Half precision and bfloat16 types and intrinsics",
        ("cuda_fp16.h", "cuda_bf16.h"),
        ("hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bf16.h"),
        r"cuda_(fp16|bf16)\.hp?p?$",
        r"(__?[a-z]|[a-z]|CUDART_|make_)",
        "HP107",
        "HP102",
        device=True,
        skip=r"__internal|__CUDA|__nv_half2?_raw_|std::|__cuda|__align__$|__float_simpl|__h(cos|sin)_internal",
    ),
    Family(
        "api/fp8.tsv",
        "fp8, fp6 and fp4 types",
        ("cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h"),
        ("hip/hip_runtime.h", "hip/hip_fp8.h", "hip/hip_fp6.h", "hip/hip_fp4.h"),
        r"cuda_(fp8|fp6|fp4)\.hp?p?$",
        r"(__nv_|__NV_|nv_)",
        "HP108",
        "HP102",
        device=True,
        skip=r"__internal",
    ),
)
"""API families. Library families follow in `LIBRARIES`."""


def _library(
    name: str, title: str, cuda: tuple[str, ...], hip: tuple[str, ...], owns: str, names: str, diag: str, differs: str
) -> Family:
    return Family(f"libraries/{name}.tsv", title, cuda, hip, owns, names, diag, differs, skip=_INTERNAL)


LIBRARIES: tuple[Family, ...] = (
    _library(
        "cublas",
        "cuBLAS and cuBLASXt",
        ("cublas_v2.h", "cublasXt.h"),
        ("hipblas/hipblas.h",),
        r"cublas(_v2|_api|Xt)\.h$",
        r"(cublas|CUBLAS_)",
        "HP700",
        "HP701",
    ),
    _library(
        "cublaslt",
        "cuBLASLt",
        ("cublasLt.h",),
        ("hipblaslt/hipblaslt.h",),
        r"cublasLt\.h$",
        r"(cublasLt|CUBLASLT_|CUBLAS_LT)",
        "HP700",
        "HP701",
    ),
    _library(
        "curand",
        "cuRAND host API",
        ("curand.h",),
        ("hiprand/hiprand.h",),
        r"curand\.h$",
        r"(curand|CURAND_)",
        "HP702",
        "HP701",
    ),
    _library(
        "cufft",
        "cuFFT",
        ("cufft.h", "cufftXt.h"),
        ("hipfft/hipfft.h", "hipfft/hipfftXt.h"),
        r"(cufft|cufftXt|cudalibxt)\.h$",
        r"(cufft|CUFFT_|cudaXt|cudaLib|CUDA_XT|LIB_FORMAT)",
        "HP703",
        "HP701",
    ),
    _library(
        "cusparse",
        "cuSPARSE",
        ("cusparse.h",),
        ("hipsparse/hipsparse.h",),
        r"cusparse(_v2)?\.h$",
        r"(cusparse|CUSPARSE_)",
        "HP704",
        "HP701",
    ),
    _library(
        "cusolver",
        "cuSOLVER",
        ("cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "cusolverMg.h", "cusolverSp_LOWLEVEL_PREVIEW.h"),
        ("hipsolver/hipsolver.h",),
        r"cusolver\w*\.h$",
        r"(cusolver|CUSOLVER_|cudaLibMg|CUDALIBMG|syevjInfo|gesvdjInfo|csr\w+Info)",
        "HP705",
        "HP701",
    ),
    _library(
        "cudnn", "cuDNN", ("cudnn.h",), ("miopen/miopen.h",), r"cudnn\w*\.h$", r"(cudnn|CUDNN_)", "HP706", "HP701"
    ),
    _library("nccl", "NCCL", ("nccl.h",), ("rccl/rccl.h",), r"nccl\.h$", r"(p?nccl|NCCL_)", "HP707", "HP701"),
    _library("nvrtc", "NVRTC", ("nvrtc.h",), ("hip/hiprtc.h",), r"nvrtc\.h$", r"(nvrtc|NVRTC_)", "HP708", "HP701"),
    _library(
        "nvtx",
        "NVTX",
        ("nvtx3/nvToolsExt.h",),
        ("roctracer/roctx.h",),
        r"nvtx3/.*\.h$",
        r"(nvtx[A-Z]|NVTX_[A-Z])",
        "HP709",
        "HP701",
    ),
)
