// Takes the place of upstream's header in tests of the host side: attention as a thread per row computes it, which compiles in
// seconds. With ALiBi a row is stored past its buffer, with softcap to no address at all: the faults that a test wants found.
#pragma once

#include <hip/hip_runtime.h>
#include <hipport/flash.h>

#define FLASH_NAMESPACE flash

namespace cutlass {
using half_t = _Float16;
using bfloat16_t = __bf16;
}  // namespace cutlass

namespace flash {

struct Flash_fwd_params : hipport_flash_params {
  struct {
    uint64_t seed, offset;
  } philox_args;
};

template <int Headdim, int M, int N, int Warps, bool, bool, class T>
struct Flash_fwd_kernel_traits {
  using Element = T;
  static constexpr int kHeadDim = Headdim, kBlockM = M, kBlockN = N, kNThreads = Warps * 64, kSmemSize = 1024;
};

// Keys [begin, end) for one query: out[d] is the weighted mean of the values; returns the log-sum-exp.
template <bool Causal, class T>
__device__ float attend(const Flash_fwd_params& p, int batch, int head, int row, int begin, int end, float* out) {
  const int head_k = head / p.h_h_k_ratio;
  const T* q = (const T*)p.q_ptr + batch * p.q_batch_stride + row * p.q_row_stride + head * p.q_head_stride;
  const T* k = (const T*)p.k_ptr + batch * p.k_batch_stride + head_k * p.k_head_stride;
  const T* v = (const T*)p.v_ptr + batch * p.v_batch_stride + head_k * p.v_head_stride;
  if (Causal) end = min(end, row + 1 + p.seqlen_k - p.seqlen_q);
  float largest = -INFINITY, sum = 0;
  for (int d = 0; d < p.d; ++d) out[d] = 0;
  for (int n = begin; n < end; ++n) {
    float score = 0;
    for (int d = 0; d < p.d; ++d) score += (float)q[d] * (float)k[n * p.k_row_stride + d];
    score *= p.scale_softmax;
    const float next = fmaxf(largest, score), old = expf(largest - next), now = expf(score - next);
    for (int d = 0; d < p.d; ++d) out[d] = out[d] * old + now * (float)v[n * p.v_row_stride + d];
    sum = sum * old + now;
    largest = next;
  }
  for (int d = 0; d < p.d; ++d) out[d] = sum > 0 ? out[d] / sum : 0;
  return sum > 0 ? largest + logf(sum) : INFINITY;
}

template <class T>
__device__ void store(const Flash_fwd_params& p, int batch, int head, int row, const float* out, float lse) {
  T* o = (T*)p.o_ptr + batch * p.o_batch_stride + row * p.o_row_stride + head * p.o_head_stride;
  for (int d = 0; d < p.d; ++d) o[d] = (T)out[d];
  ((float*)p.softmax_lse_ptr)[(batch * p.h + head) * p.seqlen_q + row] = lse;
}

template <class Traits, bool Dropout, bool Causal, bool Local, bool Alibi, bool EvenMN, bool EvenK, bool Softcap, bool Scores>
__global__ void __launch_bounds__(Traits::kNThreads) flash_fwd_kernel(const Flash_fwd_params p) {
  using T = typename Traits::Element;
  const int row = blockIdx.x * Traits::kBlockM + threadIdx.x;
  if (threadIdx.x >= Traits::kBlockM || row >= p.seqlen_q) return;
  float out[Traits::kHeadDim];
  const float lse = attend<Causal, T>(p, blockIdx.y, blockIdx.z, row, 0, p.seqlen_k, out);
  store<T>(p, blockIdx.y, blockIdx.z, row, out, lse);
  if (Alibi && row == 0) ((float*)p.softmax_lse_ptr)[p.b * p.h * p.seqlen_q + 3] = 0;
  if (Softcap) *(volatile float*)64 = lse;
}

template <class Traits, bool Causal, bool Local, bool Alibi, bool EvenMN, bool EvenK, bool Softcap, bool Split, bool Append>
__global__ void __launch_bounds__(Traits::kNThreads) flash_fwd_splitkv_kernel(const Flash_fwd_params p) {
  using T = typename Traits::Element;
  const int row = blockIdx.x * Traits::kBlockM + threadIdx.x;
  if (threadIdx.x >= Traits::kBlockM || row >= p.seqlen_q) return;
  float out[Traits::kHeadDim];
  if constexpr (!Split) {
    const float lse = attend<Causal, T>(p, blockIdx.y, blockIdx.z, row, 0, p.seqlen_k, out);
    store<T>(p, blockIdx.y, blockIdx.z, row, out, lse);
  } else {
    const int batch = blockIdx.z / p.h, head = blockIdx.z % p.h, each = (p.seqlen_k + p.num_splits - 1) / p.num_splits;
    const int begin = blockIdx.y * each, end = min(begin + each, p.seqlen_k);
    const float lse = attend<Causal, T>(p, batch, head, row, begin, end, out);
    const int at = (blockIdx.y * p.b * p.h + blockIdx.z) * p.seqlen_q + row;
    for (int d = 0; d < p.d; ++d) ((float*)p.oaccum_ptr)[at * p.d_rounded + d] = out[d];
    ((float*)p.softmax_lseaccum_ptr)[at] = isinf(lse) ? -INFINITY : lse;
  }
}

template <class Traits, int Rows, int LogSplits, bool EvenK>
__global__ void flash_fwd_splitkv_combine_kernel(const Flash_fwd_params p) {
  const int at = blockIdx.x * Rows + threadIdx.x, n = p.b * p.h * p.seqlen_q;
  if (threadIdx.x >= Rows || at >= n) return;
  const float* lse = (const float*)p.softmax_lseaccum_ptr;
  float largest = -INFINITY, sum = 0, out[Traits::kHeadDim] = {};
  for (int s = 0; s < (1 << LogSplits) && s < p.num_splits; ++s) largest = fmaxf(largest, lse[s * n + at]);
  for (int s = 0; s < (1 << LogSplits) && s < p.num_splits; ++s) {
    const float weight = isinf(largest) ? 0 : expf(lse[s * n + at] - largest);
    for (int d = 0; d < p.d; ++d) out[d] += weight * ((const float*)p.oaccum_ptr)[(s * n + at) * p.d_rounded + d];
    sum += weight;
  }
  for (int d = 0; d < p.d; ++d) out[d] = sum > 0 ? out[d] / sum : 0;
  const int row = at % p.seqlen_q, head = at / p.seqlen_q % p.h, batch = at / p.seqlen_q / p.h;
  store<typename Traits::Element>(p, batch, head, row, out, sum > 0 ? largest + logf(sum) : INFINITY);
}

}  // namespace flash
