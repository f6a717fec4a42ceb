"""Field cases of headers, types, fp8, numerics, graphs and intrinsics; and the output of all cases in AMD's compiler.

Each text is a variation of a field case: other names, in templates, macros and namespaces. Numbers as in the other
files of this folder.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from hipport.core import FileResult, SourceFile, TranslateOptions
from hipport.core.files import include_root
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook
from hipport.sdk import find_sdk

TARGETS = ("gfx90a", "gfx942", "gfx1100")

# Name -> CUDA text whose translation compiles on every target; what has to change on some target is left out here.
COMPILED = {
    "07 guard": "bool ok() { cudaDeviceProp p; (void)cudaGetDeviceProperties(&p, 0); return p.warpSize == 32; }",
    "08 sized by warp": "#define SLOTS (1024 / warpSize)\n"
    "template <class T> __global__ void norm(T* o) { __shared__ T s[SLOTS]; s[threadIdx.x / 32] = 0; o[0] = s[0]; }\n"
    "template __global__ void norm<float>(float*);",
    "11 bounds": "#define BOUNDS __launch_bounds__(128, 4)\n"
    "template <int N> __global__ void __launch_bounds__(N * 2, 8) a(float* y) { y[0] = N; }\n"
    "template __global__ void a<64>(float*);\n__global__ BOUNDS void b(float* y) { y[0] = 1; }",
    "12 opt-in": "template <int D> __global__ void tile(float* o) { extern __shared__ char raw[]; o[0] = raw[D]; }\n"
    "void run(float* p) { auto k = &tile<64>;\n"
    "  (void)cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024);\n"
    "  k<<<1, 128, 48 * 1024>>>(p); tile<(3 > 2)><<<dim3(1, 2), dim3(128), 1024, 0>>>(p); }",
    "21 bf16": "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\nusing bf = nv_bfloat16;\n"
    "template <class T> __device__ float up(T v) { return __bfloat162float(v); }\n"
    "__global__ void k(bf* a, __nv_bfloat162* b, half2* c) { a[0] = __float2bfloat16(up(a[1])); "
    " b[0] = __hmul2(b[1], b[2]); c[0] = __hadd2(c[1], c[2]); }",
    "22 bf16 missing": "#include <cuda_bf16.h>\n"
    "__device__ __nv_bfloat16 a(long long v) { return __ll2bfloat16_rn(v); }\n"
    "__device__ __nv_bfloat162 b(float v) { return __float2bfloat162_rn(v); }\n"
    "__device__ __nv_bfloat16 c(unsigned v) { return __uint2bfloat16_rn(v); }",
    "23 fp8": "#include <cuda_fp8.h>\n#define LOAD(p, i) float((p)[i])\n"
    "__global__ void k(const __nv_fp8_e4m3* s, const __nv_fp8_e5m2* u, float* o, __nv_fp8_e4m3* w) {\n"
    "  o[0] = LOAD(s, 0) + LOAD(u, 1); w[0] = __nv_fp8_e4m3(o[1]); }",
    "25 capability": "bool hopper() { cudaDeviceProp p; (void)cudaGetDeviceProperties(&p, 0); return p.major >= 9; }\n"
    "int level() { int v = 0; (void)cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0); return v; }",
    "26 contraction": "__global__ void lerp(float* o, float a, float b, float t) {"
    " float d = b - a; o[0] = a + d * t; }",
    "28 words": 'const char* m = "cudaMalloc failed"; // cudaMalloc\n',
    "29 trap": '__device__ void chk(bool ok) { if (!ok) asm volatile("trap;"); }\n'
    '#define CHECK(x) do { if (!(x)) asm("trap;"); } while (0)\n__global__ void k(int* p) { CHECK(p[0]); }',
    "31 graph": "cudaError_t cap(cudaStream_t s, cudaHostFn_t f, cudaGraph_t* g, cudaGraphExec_t* e) {\n"
    "  cudaError_t r = cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);\n"
    "  if (r == cudaSuccess) r = cudaLaunchHostFunc(s, f, nullptr);\n"
    "  if (r == cudaSuccess) r = cudaStreamEndCapture(s, g);\n"
    "  return r == cudaSuccess ? cudaGraphInstantiate(e, *g, nullptr, nullptr, 0) : r; }",
    "32 simd": "template <class T> __device__ T d(T a, T b) { return __vminu2(a, b) + __vabsdiffu4(a, b); }\n"
    "__global__ void k(unsigned* p) { p[0] = d(p[1], p[2]) ^ __vaddss2(p[0], p[1]) ^ __vcmpgts4(p[3], p[4]); }",
    "33 include": "__global__ void ball(float* p) { p[threadIdx.x] = 1; }\nvoid go(float* p) { ball<<<1, 32>>>(p); }",
    "cub width": "#include <cub/cub.cuh>\n__global__ void w(int* p) { using W = cub::WarpReduce<int>;\n"
    "  __shared__ W::TempStorage t[4]; p[0] = W(t[threadIdx.x / 32]).Sum(p[threadIdx.x]); }\n"
    "__global__ void l(int* p) { using L = cub::WarpLoad<int, 4>; __shared__ typename L::TempStorage t; int v[4];\n"
    "  L(t).Load(p, v); p[0] = v[3]; }",
    "pipeline": "#include <cuda_pipeline.h>\n__global__ void p(float4* g) { __shared__ float4 s[32];\n"
    "  __pipeline_memcpy_async(&s[threadIdx.x], &g[threadIdx.x], 16); __pipeline_commit(); __pipeline_wait_prior(0);\n"
    "  __syncthreads(); g[threadIdx.x] = s[31 - threadIdx.x]; }",
    "atomic": "#include <cuda/atomic>\n__device__ cuda::atomic<int, cuda::thread_scope_device> total{0};\n"
    "__global__ void at(int* p, float* f) { cuda::atomic_ref<int, cuda::thread_scope_device> r(*p);\n"
    "  r++; r.fetch_max(3);\n"
    "  cuda::atomic_ref<float, cuda::thread_scope_block> g(*f); g.fetch_sub(2.f); g.store(g.load() + 1);\n"
    "  int e = 1; while (!r.compare_exchange_weak(e, e + 1, cuda::std::memory_order_acq_rel)) {}\n"
    "  total += 2; p[1] = total.load(cuda::memory_order_acquire); }",
    "cuda::std": "#include <cuda/std/tuple>\n#include <cuda/std/limits>\n__global__ void t(float* p) {\n"
    "  cuda::std::tuple<int, float> v{1, 2.f}; "
    "  p[0] = cuda::std::get<1>(v) * cuda::std::numeric_limits<float>::max(); }",
    "cache hints": "__global__ void h(float4* p) {"
    " p[0] = __ldcg(p + 1); __stcs(p + 2, __ldcs(p + 3)); p[4] = __ldca(p + 5); }",
}


@cache
def book() -> Rulebook:
    return load_rulebook()


def port(text: str, **options: object) -> FileResult:
    given = TranslateOptions(**options)  # type: ignore[arg-type]
    result = translate_source(SourceFile("case.cu", text.encode()), book(), given)
    assert translate_source(SourceFile("case.cu", result.output), book(), given).output == result.output
    return result


def ids(result: FileResult) -> set[str]:
    return {d.id for d in result.diagnostics}


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_comments_do_not_matter(name: str, end: str) -> None:
    plain = port(COMPILED[name] + "\n")
    other = port((COMPILED[name] + "\n").replace("\n", end))
    assert other.output == plain.output.replace(b"\n", end.encode())
    assert ids(other) == ids(plain)
    assert "HP900" not in ids(plain)


def test_bf16_header_and_type() -> None:
    """Case 21 (HIPIFY#2087)."""
    output = port(COMPILED["21 bf16"]).output.decode()
    assert "#include <hip/hip_bf16.h>" in output
    assert "using bf = __hip_bfloat16;" in output


def test_fp8_formats_are_never_confused() -> None:
    """Case 23 (llama.cpp#21040): e4m3 stays OCP on every target, also where the hardware is fnuz."""
    output = port(COMPILED["23 fp8"]).output.decode()
    assert "fnuz" not in output
    assert "const hipport::fp8_e4m3* s, const hipport::fp8_e5m2* u" in output


def test_capture_is_reported() -> None:
    """Case 31 (hip#3876)."""
    (first, *_) = [d for d in port(COMPILED["31 graph"]).diagnostics if d.id == "HP113"]
    assert "7.0" in first.message


def test_contraction_is_that_of_nvcc() -> None:
    """Case 26: within an expression, not across statements."""
    assert port(COMPILED["26 contraction"]).output.decode() == COMPILED["26 contraction"]


@pytest.mark.sdk
@pytest.mark.parametrize("target", TARGETS)
def test_every_output_compiles(tmp_path: Path, target: str) -> None:
    include = re.compile(r"^[ \t]*#[ \t]*include[^\n]*\n?", re.MULTILINE)
    includes = {"#include <hip/hip_runtime.h>": None}
    bodies = []
    for number, (name, text) in enumerate(COMPILED.items()):
        output = port(text + "\n", targets=TARGETS).output.decode()
        includes.update((line.strip(), None) for line in include.findall(output))
        macros = re.findall(r"#define (\w+)", output)
        bodies.append(f'namespace case_{number} {{\n#line 1 "{name}"\n{include.sub("", output)}}}\n')
        bodies += [f"#undef {macro}\n" for macro in macros]
    (tmp_path / "cases.hip").write_text("\n".join([*includes, *bodies]))
    sdk = find_sdk()
    flags = sdk.device_flags(target)
    assert "-ffp-contract=on" in flags
    command = [str(sdk.clang), *flags, "-O1", "-w", "-ferror-limit=0", f"-I{include_root()}", "-c", "cases.hip"]
    done = subprocess.run([*command, "-o", "cases.o"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error" in line)
