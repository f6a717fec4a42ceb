// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 hipport developers
//
// Normalises each row of a matrix to mean 0 and variance 1; one warp per row.

#include <hipport/half.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "row_norm.cuh"

namespace row_norm {

constexpr int kThreads = 128;

// Sum over a warp. __shfl_xor_sync in this comment must stay.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) {
    value += __shfl_xor(value, offset, 32);
  }
  return value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) row_norm_kernel(const T *in, T *out, int n_rows, int n_columns, float epsilon) {
  const int row = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= n_rows) return;
  float sum = 0.f, squares = 0.f;
  for (int c = lane; c < n_columns; c += 32) {
    const float x = to_float(in[row * n_columns + c]);
    sum += x;
    squares += x * x;
  }
  sum = warp_sum(sum);
  squares = warp_sum(squares);
  const float mean = sum / n_columns;
  const float scale = rsqrtf(squares / n_columns - mean * mean + epsilon);
  for (int c = lane; c < n_columns; c += 32) {
    const int at = row * n_columns + c;
    out[at] = from_float<T>((to_float(in[at]) - mean) * scale);
  }
}

template <typename T>
void launch(const T *in, T *out, int n_rows, int n_columns, float epsilon, hipStream_t stream) {
  const int rows_per_block = kThreads / 32;
  const dim3 grid((n_rows + rows_per_block - 1) / rows_per_block);
  row_norm_kernel<T><<<grid, kThreads, 0, stream>>>(in, out, n_rows, n_columns, epsilon);
  ROW_NORM_CHECK(hipGetLastError());
}

template void launch<float>(const float *, float *, int, int, float, hipStream_t);
template void launch<__half>(const __half *, __half *, int, int, float, hipStream_t);

}  // namespace row_norm
