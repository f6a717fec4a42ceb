// FlashAttention-2's ported forward kernels from C: one function per instantiation, in a library that `hipport.flash` builds.
//
// The functions are named for upstream's kernel, its head dimension and type, and the template parameters that are on:
//   hipport_fwd_hd64_fp16_causal_even_k         flash_fwd_kernel
//   hipport_split_hd128_bf16_even_k_splits4     flash_fwd_splitkv_kernel, up to 4 splits, ...
//   hipport_combine_hd128_bf16_even_k_splits4   ... and flash_fwd_splitkv_combine_kernel, which puts them together
// hipport_flash_entries.h beside a library declares those that are in it.
//
// An entry launches its kernel on a stream, with the grid that upstream's launch template would choose, and does not wait. It
// returns hipErrorInvalidValue, and launches nothing, for parameters that its instantiation was not compiled for: another head
// dimension or type, a mask or option that is not its own, uneven lengths where it is even.
#pragma once

#include <hip/hip_runtime_api.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stdint.h>

#ifdef __cplusplus
#define HIPPORT_FLASH_ENTRY extern "C" __attribute__((visibility("default"))) hipError_t
#else
#define HIPPORT_FLASH_ENTRY extern hipError_t
#endif

// Upstream's Flash_fwd_params by the same names: addresses in device memory, strides in elements. What a call does not use
// stays zero. hipport/flash/library.py reads the fields from here, one a line.
struct hipport_flash_params {
  void* q_ptr;
  void* k_ptr;
  void* v_ptr;
  int64_t q_batch_stride;
  int64_t k_batch_stride;
  int64_t v_batch_stride;
  int64_t q_row_stride;
  int64_t k_row_stride;
  int64_t v_row_stride;
  int64_t q_head_stride;
  int64_t k_head_stride;
  int64_t v_head_stride;
  int h;            // heads of queries
  int h_k;          // heads of keys
  int h_h_k_ratio;  // h / h_k
  void* o_ptr;
  void* oaccum_ptr;  // float, of the splits: num_splits x b x h x seqlen_q x d_rounded
  int64_t o_batch_stride;
  int64_t o_row_stride;
  int64_t o_head_stride;
  void* p_ptr;                 // dropped scores: b x h x seqlen_q_rounded x seqlen_k_rounded
  void* softmax_lse_ptr;       // float: b x h x seqlen_q, with unpadded_lse h x total_q
  void* softmax_lseaccum_ptr;  // float, of the splits: num_splits x b x h x seqlen_q
  int b;
  int seqlen_q;
  int seqlen_k;
  int seqlen_knew;
  int d;
  int seqlen_q_rounded;  // to 128
  int seqlen_k_rounded;  // to 128
  int d_rounded;         // to 32, above 128 to 64
  int rotary_dim;
  int total_q;
  float scale_softmax;       // of the scores, usually d^-0.5; with softcap, the softcap
  float scale_softmax_log2;  // the same times log2(e)
  int* cu_seqlens_q;         // b + 1 starts of packed sequences
  int* cu_seqlens_k;         // b + 1 starts, or b lengths where is_seqlens_k_cumulative is off
  int* leftpad_k;
  int* seqused_k;
  void* knew_ptr;
  void* vnew_ptr;
  int64_t knew_batch_stride;
  int64_t vnew_batch_stride;
  int64_t knew_row_stride;
  int64_t vnew_row_stride;
  int64_t knew_head_stride;
  int64_t vnew_head_stride;
  void* rotary_cos_ptr;
  void* rotary_sin_ptr;
  int* cache_batch_idx;
  int* block_table;
  int64_t block_table_batch_stride;
  int page_block_size;           // 1 without block_table
  float p_dropout;               // probability of keeping: 1 without dropout
  uint8_t p_dropout_in_uint8_t;  // floor(p_dropout * 255)
  float rp_dropout;              // 1 / p_dropout
  float scale_softmax_rp_dropout;
  int window_size_left;   // -1: no limit
  int window_size_right;  // -1: no limit; 0 when causal
  float softcap;          // scale of the scores / softcap; 0 for none
  uint64_t philox_seed;
  uint64_t philox_offset;
  uint64_t* rng_state;  // two words, written by the kernel when there is dropout
  bool is_bf16;
  bool is_causal;
  bool is_seqlens_k_cumulative;  // on, unless cu_seqlens_k holds lengths
  bool is_rotary_interleaved;
  int num_splits;
  void* alibi_slopes_ptr;  // float: h, or b x h with a batch stride
  int64_t alibi_slopes_batch_stride;
  bool unpadded_lse;
  bool seqlenq_ngroups_swapped;
};
