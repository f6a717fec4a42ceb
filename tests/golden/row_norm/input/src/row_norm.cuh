// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 hipport developers
#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#define ROW_NORM_CHECK(call)                                                        \
  do {                                                                              \
    cudaError_t status = (call);                                                    \
    if (status != cudaSuccess) {                                                    \
      std::fprintf(stderr, "cudaError %s at %s:%d\n", cudaGetErrorString(status), __FILE__, __LINE__); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

namespace row_norm {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <typename T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) { return x; }
template <>
__device__ inline __half from_float<__half>(float x) { return __float2half(x); }

template <typename T>
void launch(const T *in, T *out, int n_rows, int n_columns, float epsilon, cudaStream_t stream);

}  // namespace row_norm
