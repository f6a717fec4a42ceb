// mma.sync on the matrix unit of CDNA (MFMA), for both CUDA warps of a full wavefront together. Included by hipport/mma.h.
//
// The instruction computes D^T = B^T A^T on 16 x 16 tiles: lane l holds row l % 16 of both operands and row l % 16 of D. The
// order of k does not matter as long as A and B agree, and the columns of D may stand anywhere, so both are permuted to what
// costs least to move: columns of the lower warp in lanes 0-31 of D, of the upper warp in lanes 32-63, a pair of columns
// where a pair of lanes wants it. With 8 rows each, the warps share the rows of one instruction and each uses its quarter of the
// result; with 16 rows they share its k.
#pragma once

#include <hipport/mma_lanes.h>

#if (defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)) && !defined(HIPPORT_MMA_BY_LANES)

namespace hipport {
namespace detail {

typedef float float4_t __attribute__((ext_vector_type(4)));
typedef double double4_t __attribute__((ext_vector_type(4)));
typedef int int4_t __attribute__((ext_vector_type(4)));
typedef _Float16 half4_t __attribute__((ext_vector_type(4)));
typedef short short4_t __attribute__((ext_vector_type(4)));

/// One instruction: D^T += B^T A^T for `chunks` registers of A and B, R each. Products of unsigned bytes are not here: they run
/// as signed ones less 128. Source: CDNA 3 ISA, "Matrix Arithmetic Instructions".
template <> struct MatrixStep<Element::f16, Element::f16> {
  static constexpr int chunks = 2;
  using sum = float4_t;
  __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {
    return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(half4_t, ptx::pack(b[0], b[1])),
                                                 __builtin_bit_cast(half4_t, ptx::pack(a[0], a[1])), d, 0, 0, 0);
  }
};
template <> struct MatrixStep<Element::bf16, Element::bf16> {
  static constexpr int chunks = 2;
  using sum = float4_t;
  __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(short4_t, ptx::pack(b[0], b[1])),
                                                     __builtin_bit_cast(short4_t, ptx::pack(a[0], a[1])), d, 0, 0, 0);
  }
};
template <> struct MatrixStep<Element::tf32, Element::tf32> {  // the low 13 bits of a tf32 register are ignored
  static constexpr int chunks = 1;
  using sum = float4_t;
  __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {
    return __builtin_amdgcn_mfma_f32_16x16x4f32(__uint_as_float(b[0] & 0xffffe000u), __uint_as_float(a[0] & 0xffffe000u), d, 0, 0, 0);
  }
};
template <> struct MatrixStep<Element::f64, Element::f64> {
  static constexpr int chunks = 1;
  using sum = double4_t;
  __device__ static sum run(const double* a, const double* b, sum d) {
    return __builtin_amdgcn_mfma_f64_16x16x4f64(b[0], a[0], d, 0, 0, 0);
  }
};
template <> struct MatrixStep<Element::s8, Element::s8> {
  using sum = int4_t;
#if defined(__gfx90a__)
  static constexpr int chunks = 1;
  __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {
    return __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(b[0]), static_cast<int>(a[0]), d, 0, 0, 0);
  }
#else
  static constexpr int chunks = 2;
  __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(static_cast<long>(ptx::pack(b[0], b[1])),
                                                static_cast<long>(ptx::pack(a[0], a[1])), d, 0, 0, 0);
  }
#endif
};
template <> struct MatrixStep<Element::s8, Element::u8> : MatrixStep<Element::s8, Element::s8> {};
template <> struct MatrixStep<Element::u8, Element::s8> : MatrixStep<Element::s8, Element::s8> {};
template <> struct MatrixStep<Element::u8, Element::u8> : MatrixStep<Element::s8, Element::s8> {};
#if defined(__gfx950__)  // gfx942 multiplies fp8 too, but of another format
#define HIPPORT_STEP(A, B, first, second)                                                                                  \
  template <> struct MatrixStep<Element::A, Element::B> {                                                                  \
    static constexpr int chunks = 2;                                                                                       \
    using sum = float4_t;                                                                                                  \
    __device__ static sum run(const unsigned* a, const unsigned* b, sum d) {                                     \
      return __builtin_amdgcn_mfma_f32_16x16x32_##second##_##first(static_cast<long>(ptx::pack(b[0], b[1])),               \
                                                                   static_cast<long>(ptx::pack(a[0], a[1])), d, 0, 0, 0);  \
    }                                                                                                                      \
  };
HIPPORT_STEP(e4m3, e4m3, fp8, fp8)
HIPPORT_STEP(e4m3, e5m2, fp8, bf8)
HIPPORT_STEP(e5m2, e4m3, bf8, fp8)
HIPPORT_STEP(e5m2, e5m2, bf8, bf8)
#undef HIPPORT_STEP
#endif

template <Element A, Element B, int Chunks, int Halves, class R, class S>
__device__ inline vec<S, 2 * Halves> mma_by_matrix(vec<R, Chunks * Halves> a, vec<R, Chunks> b, vec<S, 2 * Halves> c) {
  using Step = MatrixStep<A, B>;
  using Sum = typename Step::sum;
  constexpr int n = Step::chunks, n_steps = (Chunks * Halves + n - 1) / n;
  constexpr R flip_a = A == Element::u8 ? R(0x80808080u) : R(0), flip_b = B == Element::u8 ? R(0x80808080u) : R(0);
  const unsigned lane = __lane_id(), m = lane & 15u, half = m >> 3, k = lane >> 4;
  const bool upper = lane >= 32u;
  // Column of row m of B^T: D has it in value `v` of lanes 16 i ... 16 i + 15.
  const unsigned i = A == Element::f64 ? m & 3u : m >> 2, v = A == Element::f64 ? m >> 2 : m & 3u, owner = i >> 1;
  const unsigned column = 32u * owner + 4u * (4u * (v >> 1) + 2u * (i & 1u) + (v & 1u)) + k;
  const unsigned row = 32u * half + 4u * (m & 7u) + k;
  // k of the product: chunk by chunk, of the lower and of the upper warp. A column is zero in what is not its warp's.
  R x[n_steps * n] = {}, y[n_steps * n] = {};
  [[maybe_unused]] R all[2] = {R(0x80808080u), R(0x80808080u)}, own[n_steps * n] = {};
#pragma unroll
  for (int chunk = 0; chunk < Chunks; ++chunk) {
    const R moved = flipped(from_wave(b[chunk], column), flip_b);
    if constexpr (Halves == 1) {
      x[chunk] = flipped(from_wave(a[chunk], row), flip_a);
      y[chunk] = moved;
      own[chunk] = R(0x80808080u);
    } else {
      // In round t the lanes of row half h hear warp h ^ t, which sends its half h.
      const R even = a[2 * chunk], odd = a[2 * chunk + 1];
      const R first = from_wave(upper ? odd : even, row), second = from_wave(upper ? even : odd, row ^ 32u);
      x[2 * chunk] = flipped(half ? second : first, flip_a);
      x[2 * chunk + 1] = flipped(half ? first : second, flip_a);
      y[2 * chunk] = owner ? R(0) : moved;
      y[2 * chunk + 1] = owner ? moved : R(0);
      own[2 * chunk] = owner ? R(0) : R(0x80808080u);
      own[2 * chunk + 1] = owner ? R(0x80808080u) : R(0);
    }
  }
  // Unsigned bytes are flipped to x - 128: (x + 128) (y + 128) = x y - (-128 x - 128 y) + 128^2.
  Sum d = {0, 0, 0, 0};
  [[maybe_unused]] Sum excess = {0, 0, 0, 0};
#pragma unroll
  for (int step = 0; step < n_steps; ++step) {
    d = Step::run(x + step * n, y + step * n, d);
    if constexpr (A == Element::u8) excess = Step::run(all, y + step * n, excess);
    if constexpr (B == Element::u8) excess = Step::run(x + step * n, own + step * n, excess);
  }
  if constexpr (A == Element::u8 || B == Element::u8) d -= excess;
  if constexpr (A == Element::u8 && B == Element::u8) d += 128 * 128 * 16 * Chunks;
  const unsigned g = (lane >> 2) & 7u, q = lane & 3u, source = 32u * (lane >> 5) + 16u * (q & 1u) + g;
  S moved[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) moved[e] = from_wave<S>(d[e], source + 8u * (Halves == 1 ? lane >> 5 : q >> 1));
  if constexpr (Halves == 1) {
    c[0] += q >> 1 ? moved[2] : moved[0];
    c[1] += q >> 1 ? moved[3] : moved[1];
  } else {
    add_rows(c, moved);
  }
  return c;
}

}  // namespace detail
}  // namespace hipport
#endif
