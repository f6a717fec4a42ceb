// mma.sync on the matrix unit of RDNA (WMMA): a CUDA warp is a wavefront of 32 lanes. Included by hipport/mma.h.
//
// The instruction computes D^T = B^T A^T on 16 x 16 tiles; half of the rows of B^T are copies that nobody reads. gfx12 lanes
// hold row l % 16 of both operands, half of the k in lanes 0-15 and the other half in 16-31; gfx11 lanes hold all k of their row,
// twice. The order of k and of columns is free and chosen as in mma_cdna.h. Sources: RDNA 3 and RDNA 4 ISA, "Wave Matrix
// Multiply Accumulate".
#pragma once

#include <hipport/mma_lanes.h>

#if (defined(__GFX11__) || defined(__GFX12__)) && !defined(HIPPORT_MMA_BY_LANES)

namespace hipport {
namespace detail {

#if defined(__GFX11__)
inline constexpr int words_per_chunk = 4;
#define HIPPORT_WMMA(name) __builtin_amdgcn_wmma_##name##_w32
#else
inline constexpr int words_per_chunk = 2;
#define HIPPORT_WMMA(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
#endif

typedef float float8_t __attribute__((ext_vector_type(8)));
typedef int int8_t_ __attribute__((ext_vector_type(8)));
typedef int int2_t __attribute__((ext_vector_type(2)));
typedef _Float16 halves_t __attribute__((ext_vector_type(4 * words_per_chunk)));
typedef short shorts_t __attribute__((ext_vector_type(4 * words_per_chunk)));
typedef int words_t __attribute__((ext_vector_type(words_per_chunk)));

/// One instruction: D^T += B^T A^T for `chunks` registers of A and B. `x` and `y`: words of a row of A and B^T.
template <> struct MatrixStep<Element::f16, Element::f16> {
  static constexpr int chunks = 2;
  using sum = float8_t;
  using Words = vec<unsigned, 2 * words_per_chunk>;
  __device__ static sum run(Words x, Words y, sum d) {
    return HIPPORT_WMMA(f32_16x16x16_f16)(__builtin_bit_cast(halves_t, y), __builtin_bit_cast(halves_t, x), d);
  }
};
template <> struct MatrixStep<Element::bf16, Element::bf16> {
  static constexpr int chunks = 2;
  using sum = float8_t;
  using Words = vec<unsigned, 2 * words_per_chunk>;
  __device__ static sum run(Words x, Words y, sum d) {
    return HIPPORT_WMMA(f32_16x16x16_bf16)(__builtin_bit_cast(shorts_t, y), __builtin_bit_cast(shorts_t, x), d);
  }
};
template <bool SignedA, bool SignedB> struct ByteStep {
  static constexpr int chunks = 1;
  using sum = int8_t_;
  using Words = vec<unsigned, words_per_chunk>;
  __device__ static sum run(Words x, Words y, sum d) {
    return HIPPORT_WMMA(i32_16x16x16_iu8)(SignedB, __builtin_bit_cast(words_t, y), SignedA, __builtin_bit_cast(words_t, x), d, false);
  }
};
template <bool SignedA, bool SignedB> struct NibbleStep {
  static constexpr int chunks = 1;
  using sum = int8_t_;
  using Words = vec<unsigned, words_per_chunk>;
  __device__ static sum run(Words x, Words y, sum d) {
#if defined(__GFX11__)  // 16 of the 32 k at a time
    const int2_t x0 = {static_cast<int>(x[0]), static_cast<int>(x[1])}, x1 = {static_cast<int>(x[2]), static_cast<int>(x[3])};
    const int2_t y0 = {static_cast<int>(y[0]), static_cast<int>(y[1])}, y1 = {static_cast<int>(y[2]), static_cast<int>(y[3])};
    d = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(SignedB, y0, SignedA, x0, d, false);
    return __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(SignedB, y1, SignedA, x1, d, false);
#else
    return HIPPORT_WMMA(i32_16x16x32_iu4)(SignedB, __builtin_bit_cast(int2_t, y), SignedA, __builtin_bit_cast(int2_t, x), d, false);
#endif
  }
};
#define HIPPORT_STEP(A, B) template <> struct MatrixStep<Element::A, Element::B>
HIPPORT_STEP(s8, s8) : ByteStep<true, true> {};
HIPPORT_STEP(s8, u8) : ByteStep<true, false> {};
HIPPORT_STEP(u8, s8) : ByteStep<false, true> {};
HIPPORT_STEP(u8, u8) : ByteStep<false, false> {};
HIPPORT_STEP(s4, s4) : NibbleStep<true, true> {};
HIPPORT_STEP(s4, u4) : NibbleStep<true, false> {};
HIPPORT_STEP(u4, s4) : NibbleStep<false, true> {};
HIPPORT_STEP(u4, u4) : NibbleStep<false, false> {};
#if defined(__GFX12__)
#define HIPPORT_FP8_STEP(A, B, first, second)                                                                      \
  HIPPORT_STEP(A, B) {                                                                                             \
    static constexpr int chunks = 1;                                                                               \
    using sum = float8_t;                                                                                          \
    using Words = vec<unsigned, words_per_chunk>;                                                                  \
    __device__ static sum run(Words x, Words y, sum d) {                                                           \
      return HIPPORT_WMMA(f32_16x16x16_##second##_##first)(__builtin_bit_cast(words_t, y), __builtin_bit_cast(words_t, x), d); \
    }                                                                                                              \
  };
HIPPORT_FP8_STEP(e4m3, e4m3, fp8, fp8)
HIPPORT_FP8_STEP(e4m3, e5m2, fp8, bf8)
HIPPORT_FP8_STEP(e5m2, e4m3, bf8, fp8)
HIPPORT_FP8_STEP(e5m2, e5m2, bf8, bf8)
#undef HIPPORT_FP8_STEP
#endif
#undef HIPPORT_STEP
#undef HIPPORT_WMMA

template <Element A, Element B, int Chunks, int Halves, class R, class S>
__device__ inline vec<S, 2 * Halves> mma_by_matrix(vec<R, Chunks * Halves> a, vec<R, Chunks> b, vec<S, 2 * Halves> c) {
  using Step = MatrixStep<A, B>;
  constexpr int n = Step::chunks;
  const unsigned lane = __lane_id(), m = lane & 15u, upper = lane >> 4;
  // Column of row m of B^T: D has it in value `v` of lanes 16 i ... 16 i + 15. Values 4-7 are the copies.
#if defined(__GFX11__)
  const unsigned i = m & 1u, v = (m >> 1) & 3u;
#else
  const unsigned i = m >> 3, v = m & 3u;
#endif
  const unsigned column = 4u * (4u * (v >> 1) + 2u * i + (v & 1u));
  const unsigned row = 4u * (m & 7u) + (Halves == 2 ? 2u * (m >> 3) : 0u);
  typename Step::sum d = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int chunk = 0; chunk < Chunks; chunk += n) {
    typename Step::Words x{}, y{};
#pragma unroll
    for (int j = 0; j < n && chunk + j < Chunks; ++j) {
      const int at = chunk + j;
      unsigned pair[2];
      if constexpr (Halves == 2) gather_rows(a[2 * at], a[2 * at + 1], pair);
#pragma unroll
      for (unsigned w = 0; w < words_per_chunk; ++w) {
        // Lane q of a group of four has the k of this word.
        const unsigned slot = words_per_chunk == 4 ? w >> 1 : w, side = words_per_chunk == 4 ? w & 1u : upper;
        const unsigned q = 2u * slot + side;
        y[words_per_chunk * j + w] = from_wave(b[at], column + q);
        if constexpr (Halves == 2) {
          x[words_per_chunk * j + w] = from_wave(pair[slot], row + side);
        } else {
          x[words_per_chunk * j + w] = from_wave(a[at], row + q);
        }
      }
    }
    d = Step::run(x, y, d);
  }
  const unsigned g = lane >> 2, q = lane & 3u, source = 16u * (q & 1u) + 8u * (q >> 1) + g;
  if constexpr (Halves == 1) {  // rows 8-15 are copies: they send the other columns
    c[0] += from_wave<S>(m >> 3 ? d[2] : d[0], source);
    c[1] += from_wave<S>(m >> 3 ? d[3] : d[1], source);
  } else {
    S moved[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) moved[e] = from_wave<S>(d[e], source);
    add_rows(c, moved);
  }
  return c;
}

}  // namespace detail
}  // namespace hipport
#endif
