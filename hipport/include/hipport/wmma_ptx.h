// PTX wmma instructions: the fragments of hipport/wmma.h in as many registers as PTX gives them.
// Source: PTX ISA 9.7.14.4, "Matrix Data-types" and "Matrix Fragments for WMMA"; the order of elements is open there.
#pragma once

#include <hipport/wmma.h>

namespace hipport {
namespace detail {

/// A fragment as registers R. Where each lane of gfx11 holds all k and PTX has no room for it, lanes 0-15 keep the lower half of k
/// and lanes 16-31 the upper one.
template <class R, int Count, class F> __device__ inline vec<R, Count> registers_of(const F& fragment) {
  vec<R, Count> result{};
  if constexpr (sizeof(fragment.x) > sizeof(result)) {
    const auto words = __builtin_bit_cast(vec<R, 2 * Count>, fragment.x);
    const bool upper = lane_id() >= 16u;
    for (int i = 0; i < Count; ++i) result[i] = upper ? words[Count + i] : words[i];
  } else {
    __builtin_memcpy(&result, fragment.x, sizeof(fragment.x));
  }
  return result;
}
template <class F, class R, int Count> __device__ inline F fragment_of(vec<R, Count> registers) {
  F fragment;
  if constexpr (sizeof(fragment.x) > sizeof(registers)) {
    vec<R, 2 * Count> words;
    const bool upper = lane_id() >= 16u;
    for (int i = 0; i < Count; ++i) {
      const R other = from_lane(registers[i], lane_id() ^ 16u);
      words[i] = upper ? other : registers[i];
      words[Count + i] = upper ? registers[i] : other;
    }
    __builtin_memcpy(fragment.x, &words, sizeof(fragment.x));
  } else {
    __builtin_memcpy(fragment.x, &registers, sizeof(fragment.x));
  }
  return fragment;
}

}  // namespace detail

/// wmma.load.a and .b. F: fragment type, V: element type in memory, R: register type.
template <class F, class V, class R, int Count, class P> __device__ inline vec<R, Count> wmma_load(P address, unsigned stride) {
  F fragment;
  tensor::wmma::load_matrix_sync(fragment, (const V*)address, stride);
  return detail::registers_of<R, Count>(fragment);
}
/// wmma.load.c.
template <class F, class V, class R, int Count, class P>
__device__ inline vec<R, Count> wmma_load(P address, unsigned stride, tensor::wmma::layout_t layout) {
  F fragment;
  tensor::wmma::load_matrix_sync(fragment, (const V*)address, stride, layout);
  return detail::registers_of<R, Count>(fragment);
}
/// wmma.store.d.
template <class F, class V, class R, int Count, class P>
__device__ inline void wmma_store(P address, vec<R, Count> registers, unsigned stride, tensor::wmma::layout_t layout) {
  tensor::wmma::store_matrix_sync((V*)address, detail::fragment_of<F>(registers), stride, layout);
}
/// wmma.mma. D, A, B, C: fragment types; saturate: .satfinite of integers.
template <class D, class A, class B, class C, class R, int Count, class RO, int NA, int NB, class RC, int NC>
__device__ inline vec<R, Count> wmma_mma(vec<RO, NA> a, vec<RO, NB> b, vec<RC, NC> c, bool saturate) {
  D result;
  tensor::wmma::mma_sync(result, detail::fragment_of<A>(a), detail::fragment_of<B>(b), detail::fragment_of<C>(c), saturate);
  return detail::registers_of<R, Count>(result);
}

}  // namespace hipport
