"""Small CUDA programs, written for each interface, translate without a finding and compile with both HIP versions.

What a program uses is what the test is about: every name in it must be renamed to something that the headers of that
version declare with a fitting signature, or the compiler says so.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipport.core import HipportError, SourceFile, TranslateOptions
from hipport.core.files import include_root
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

BOOK = load_rulebook()

RUNTIME = r"""
#include <cstdio>
#include <cuda_runtime.h>
#define CHECK(call)                                                                 \
  do {                                                                              \
    cudaError_t status = (call);                                                    \
    if (status != cudaSuccess) std::printf("%s\n", cudaGetErrorString(status));     \
  } while (0)
__constant__ float weights[4];
__device__ int counter;
__global__ void scale(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= weights[i & 3];
  atomicAdd(&counter, 1);
}
template <class T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }
int main() {
  int devices = 0, device = 0, value = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(0));
  CHECK(cudaGetDevice(&device));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, device));
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  float *p, *managed, *pinned, *mapped, *typed, host[4] = {1, 2, 3, 4};
  CHECK(cudaMalloc(&p, 1024));
  CHECK(cudaMalloc((void**)&typed, 1024));
  CHECK(cudaMallocManaged(&managed, 1024));
  CHECK(cudaMallocHost(&pinned, 1024));
  CHECK(cudaHostAlloc(&mapped, 1024, cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK(cudaHostGetDevicePointer(&typed, mapped, 0));
  CHECK(cudaMemcpyToSymbol(weights, host, sizeof(host)));
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&stop, cudaEventDisableTiming));
  CHECK(cudaEventRecord(start, stream));
  CHECK(cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(p, 0, 1024, stream));
  scale<<<4, 64, 0, stream>>>(p, 256);
  fill<float><<<1, 32>>>(p, 2.f);
  CHECK(cudaGetLastError());
  CHECK(cudaPeekAtLastError());
  CHECK(cudaEventSynchronize(start));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaStreamWaitEvent(stream, start, 0));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaThreadSynchronize());
  void* args[] = {&p, &value};
  CHECK(cudaLaunchKernel((const void*)scale, dim3(1), dim3(64), args, 0, stream));
  CHECK(cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale, 64, 0));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, fill<float>));
  int grid, block;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
  CHECK(cudaMallocAsync(&p, 64, stream));
  CHECK(cudaFreeAsync(p, stream));
  cudaPointerAttributes where;
  CHECK(cudaPointerGetAttributes(&where, managed));
  CHECK(cudaMemPrefetchAsync(managed, 1024, device, stream));
  CHECK(cudaMemAdvise(managed, 1024, cudaMemAdviseSetReadMostly, device));
  int canAccess;
  CHECK(cudaDeviceCanAccessPeer(&canAccess, 0, 1));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaStreamDestroy(stream));
  return cudaDeviceReset() == cudaErrorMemoryAllocation;
}
"""

GRAPHS = r"""
#include <cuda_runtime.h>
cudaError_t build(cudaStream_t stream, cudaGraphExec_t* exec) {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t node;
  cudaKernelNodeParams params = {};
  cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
  cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
  cudaGraphInstantiate(exec, graph, 0);
  cudaGraphLaunch(*exec, stream);
  cudaGraphExecDestroy(*exec);
  return cudaGraphDestroy(graph);
}
"""

DRIVER = r"""
#include <cuda.h>
CUresult load(const void* image, const char* name, void** args) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUevent event;
  int count, value;
  size_t bytes;
  cuInit(0);
  cuDeviceGetCount(&count);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  cuModuleLoadData(&module, image);
  cuModuleGetFunction(&function, module, name);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&event, CU_EVENT_DEFAULT);
  cuEventRecord(event, stream);
  cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, args, nullptr);
  cuStreamSynchronize(stream);
  cuCtxSynchronize();
  cuMemGetInfo(&bytes, &bytes);
  const float weights[4] = {1, 2, 3, 4};
  cuMemcpyHtoD(0, weights, sizeof(weights));
  auto copy = &cuMemcpyHtoDAsync;
  copy(0, static_cast<const void*>(weights), sizeof(weights), stream);
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  CUmipmappedArray levels;
  cuMipmappedArrayCreate(&levels, &descriptor, 1);
  const char* text;
  cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text);
  cuModuleUnload(module);
  return CUDA_SUCCESS;
}
"""

NUMBERS = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
__global__ void mix(__half* h, __nv_bfloat16* b, float* f, double* d, unsigned* u) {
  int i = threadIdx.x;
  h[i] = __hadd(h[i], __float2half_rn(f[i]));
  b[i] = __float2bfloat16(__bfloat162float(b[i]) + 1.f);
  __half2 pair = __halves2half2(h[0], h[1]);
  f[i] = __low2float(__hfma2(pair, pair, pair)) + CUDART_INF_F + __expf(f[i]) + __fdividef(f[i], 3.f) + rsqrtf(f[i]);
  d[i] = fma(d[i], 2.0, CUDART_PI) + sinpi(d[i]);
  u[i] = __popc(u[i]) + __clz(u[i]) + __brev(u[i]) + __ffs(u[i]) + __byte_perm(u[i], u[0], 0x5410);
  u[i] += __float_as_uint(f[i]);
  atomicMax(&u[0], u[i]);
  atomicCAS(&u[1], 0u, 1u);
  atomicExch(&f[0], 1.f);
  __threadfence();
  __syncthreads();
}
"""

LIBRARIES = r"""
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nvrtc.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
__global__ void noise(curandStatePhilox4_32_10_t* states, float* out) {
  curand_init(1234ULL, threadIdx.x, 0, &states[threadIdx.x]);
  out[threadIdx.x] = curand_uniform(&states[threadIdx.x]) + curand_normal(&states[threadIdx.x]);
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(out[threadIdx.x]);
  if (threadIdx.x == 0) out[0] = sum;
}
int use(float* a, float* b, float* c, void* temp, size_t bytes, cudaStream_t stream) {
  cub::DeviceScan::ExclusiveSum(temp, bytes, a, b, 100, stream);
  cublasHandle_t blas;
  if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) return 1;
  cublasSetStream(blas, stream);
  const float one = 1.f;
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &one, a, 4, b, 4, &one, c, 4);
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a, CUDA_R_32F, 4, b, CUDA_R_32F, 4, &one, c,
               CUDA_R_32F, 4, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  cublasDestroy(blas);
  cufftHandle plan;
  cufftPlan1d(&plan, 256, CUFFT_C2C, 1);
  cufftExecC2C(plan, (cufftComplex*)a, (cufftComplex*)b, CUFFT_FORWARD);
  cufftDestroy(plan);
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandGenerateUniform(generator, a, 100);
  cusparseHandle_t sparse;
  cusparseCreate(&sparse);
  cusolverDnHandle_t solver;
  cusolverDnCreate(&solver);
  nvrtcProgram program;
  nvrtcDestroyProgram(&program);
  thrust::device_vector<float> v(10);
  thrust::sort(v.begin(), v.end());
  return CUSPARSE_STATUS_SUCCESS + CUSOLVER_STATUS_SUCCESS + NVRTC_SUCCESS;
}
"""

PROGRAMS = {"runtime": RUNTIME, "graphs": GRAPHS, "driver": DRIVER, "numbers": NUMBERS, "libraries": LIBRARIES}


@pytest.mark.parametrize("profile", ["6.4", "7.2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, profile: str, tmp_path: Path) -> None:
    try:
        sdk = find_sdk(profile)
    except HipportError as error:
        pytest.skip(str(error))
    rocm = (sdk.hip_version[0], sdk.hip_version[1])
    result = translate_source(SourceFile(f"{name}.cu", PROGRAMS[name].encode()), BOOK, TranslateOptions(rocm=rocm))
    assert [d.format() for d in result.diagnostics if d.severity.needs_person] == []
    assert b"cuda" not in result.output.replace(b"cuda_", b"").lower() or name == "libraries"
    unit = tmp_path / f"{name}.hip"
    unit.write_bytes(result.output)
    command = [str(sdk.clang), *sdk.host_flags(["gfx942"]), f"-I{include_root()}", "-fsyntax-only", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
