// Copyright 2026 hipport developers
#include "scale.cuh"

#ifdef USE_ROCM
#include <hip/hip_runtime.h>
constexpr int kThreads = 256;
#else
#include <cuda_fp16.h>
constexpr int kThreads = 128;
static_assert(sizeof(cudaEvent_t) > 0, "only CUDA builds see this line");
#endif

namespace {
template <int kThreadsPerBlock, typename T>
__global__ void scale_kernel(T *values, T factor, int n) {
  const int i = blockIdx.x * kThreadsPerBlock + threadIdx.x;
  if (i < n) values[i] *= factor;
}
}  // namespace

void scale(float *values, float factor, int n, cudaStream_t stream) {
  scale_kernel<kThreads, float><<<dim3((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(values, factor, n);
}
