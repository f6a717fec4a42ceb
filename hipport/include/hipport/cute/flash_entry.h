// What the C entry points of FlashAttention kernels do beside naming them (hipport/flash.h): see that the parameters are those
// an instantiation was compiled for, choose the grid as upstream's launch template does, launch.
#pragma once

#include <hip/hip_runtime.h>
#include <hipport/flash.h>

#include <hipport/cute/flash_tiles.h>

namespace hipport::flash {

// Template parameters of an instantiation.
struct Made {
  bool bf16;
  bool dropout;
  bool causal;
  bool local;
  bool alibi;
  bool even_mn;
  bool even_k;
  bool softcap;
  bool return_softmax;
  bool append_kv;
  int most_splits;  // 1 for a kernel that does not split
};

// Upstream's conditions for this instantiation; the even kernels leave tests out that uneven sizes need.
template <class Traits, class Params>
bool fits(const Made& made, const Params& p) {
  const bool whole = p.cu_seqlens_q == nullptr && p.cu_seqlens_k == nullptr && p.seqlen_q % Traits::kBlockM == 0 &&
                     p.seqlen_k % Traits::kBlockN == 0;
  const bool local = !p.is_causal && (p.window_size_left >= 0 || p.window_size_right >= 0);
  const bool dropout = p.p_dropout < 1.f && p.softcap <= 0.f;
  return p.is_bf16 == made.bf16 && (made.even_k ? p.d == Traits::kHeadDim : p.d <= Traits::kHeadDim) &&
         (whole || !made.even_mn) && p.is_causal == made.causal && local == made.local &&
         (p.alibi_slopes_ptr != nullptr) == made.alibi && (p.softcap > 0.f) == made.softcap && dropout == made.dropout &&
         (p.p_ptr != nullptr && dropout) == made.return_softmax && (p.knew_ptr == nullptr || made.append_kv) &&
         (p.num_splits > 1) == (made.most_splits > 1) && p.num_splits <= made.most_splits;
}

template <class Traits, class Params>
dim3 forward_grid(const Params& p) {
  return dim3((p.seqlen_q + Traits::kBlockM - 1) / Traits::kBlockM, p.b, p.h);
}

template <class Traits, class Params>
dim3 split_grid(const Params& p) {
  const dim3 whole = forward_grid<Traits>(p);
  return p.num_splits > 1 ? dim3(whole.x, p.num_splits, p.b * p.h) : whole;
}

template <class Params>
dim3 combine_grid(const Params& p, int rows) {
  return dim3((p.b * p.h * p.seqlen_q + rows - 1) / rows);
}

// Like `<<<>>>`, but for the error, which is this launch's own.
template <class Params>
hipError_t launch(void (*kernel)(Params), dim3 grid, unsigned threads, unsigned lds_bytes, hipStream_t stream, Params& params) {
  const void* function = reinterpret_cast<const void*>(kernel);
  if (lds_bytes > 48 * 1024)
    if (const hipError_t error = hipFuncSetAttribute(function, hipFuncAttributeMaxDynamicSharedMemorySize, (int)lds_bytes))
      return error;
  void* arguments[] = {&params};
  return hipLaunchKernel(function, grid, dim3(threads), arguments, lds_bytes, stream);
}

}  // namespace hipport::flash
