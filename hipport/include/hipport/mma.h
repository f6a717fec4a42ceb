// CUDA's warp matrix instructions: ldmatrix, stmatrix, movmatrix and mma.sync, with the register layouts that CUDA documents.
//
// Layouts (PTX ISA 9.7.14.5): lane = 4 g + q. A register holds p neighbours along k (32 bits of them). Chunk c of A holds
// row g (and g + 8) at k = 4 p c + p q ...; chunk c of B the same k of column g; C holds row g (and g + 8), columns 2 q, 2 q + 1.
//
// On CDNA two CUDA warps share a wavefront and one pair of matrix instructions serves both: columns 0-7 of the 16 x 16
// result belong to the lower warp, 8-15 to the upper. The order of k does not matter to a sum of products as long as A and B
// agree, so k is permuted to what lies in one lane already; rows and columns move with ds_bpermute. A wavefront with missing
// lanes, and RDNA, use `detail::mma_by_lanes`: shuffles and dot products, the same result.
//
// Products are exact, sums are kept in 32 bits; their order is not specified, as on NVIDIA GPUs.
#pragma once

#include <hipport/ptx_memory.h>
#include <hipport/warp.h>

namespace hipport {

enum class Element { f16, bf16, tf32, e4m3, e5m2, s8, u8, s4, u4, b1, f64 };

using ptx::vec;

namespace detail {

constexpr int element_bits(Element e) {
  switch (e) {
    case Element::f16: case Element::bf16: return 16;
    case Element::s8: case Element::u8: case Element::e4m3: case Element::e5m2: return 8;
    case Element::s4: case Element::u4: return 4;
    case Element::b1: return 1;
    case Element::tf32: return 32;
    case Element::f64: return 64;
  }
  return 0;
}
/// Registers (32 bits, or one double) per lane of an operand of `n` elements.
constexpr int n_registers(int n, Element e) { return e == Element::f64 ? n / 32 : n * element_bits(e) / 1024; }

/// c + the products of the neighbours in two registers.
template <Element A, Element B> __device__ inline float dot(unsigned a, unsigned b, float c) {
  if constexpr (A == Element::f16) {
    c = __builtin_fmaf(ptx::f16_value(a & 0xffffu), ptx::f16_value(b & 0xffffu), c);
    return __builtin_fmaf(ptx::f16_value(a >> 16), ptx::f16_value(b >> 16), c);
  } else if constexpr (A == Element::bf16) {
    c = __builtin_fmaf(ptx::bf16_value(a & 0xffffu), ptx::bf16_value(b & 0xffffu), c);
    return __builtin_fmaf(ptx::bf16_value(a >> 16), ptx::bf16_value(b >> 16), c);
  } else {  // tf32: the hardware ignores the low 13 bits
    return __builtin_fmaf(__uint_as_float(a & 0xffffe000u), __uint_as_float(b & 0xffffe000u), c);
  }
}
template <Element A, Element B> __device__ inline int dot(unsigned a, unsigned b, int c) {
  constexpr bool signed_a = A == Element::s8, signed_b = B == Element::s8;
  const int x = static_cast<int>(a), y = static_cast<int>(b);
#if defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_sudot4(signed_a, x, signed_b, y, c, false);
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  if constexpr (signed_a && signed_b) return __builtin_amdgcn_sdot4(x, y, c, false);
  if constexpr (!signed_a && !signed_b) return static_cast<int>(__builtin_amdgcn_udot4(a, b, static_cast<unsigned>(c), false));
#endif
  return static_cast<int>(ptx::dp4a<signed_a, signed_b>(a, b, static_cast<unsigned>(c)));
}
template <Element, Element> __device__ inline double dot(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// The product for one warp, from its 32 lanes only. R: register type, S: type of the sum.
template <Element A, Element B, int Chunks, int Halves, class R, class S>
__device__ inline vec<S, 2 * Halves> mma_by_lanes(vec<R, Chunks * Halves> a, vec<R, Chunks> b, vec<S, 2 * Halves> c) {
  const unsigned lane = lane_id(), row = lane & ~3u, column = (lane & 3u) * 8u;
#pragma unroll
  for (int chunk = 0; chunk < Chunks; ++chunk) {
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      const R b0 = from_lane(b[chunk], column + q), b1 = from_lane(b[chunk], column + 4u + q);
#pragma unroll
      for (int half = 0; half < Halves; ++half) {
        const R x = from_lane(a[chunk * Halves + half], row + q);
        c[2 * half] = dot<A, B>(x, b0, c[2 * half]);
        c[2 * half + 1] = dot<A, B>(x, b1, c[2 * half + 1]);
      }
    }
  }
  return c;
}

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define HIPPORT_MFMA 1

typedef float float4_t __attribute__((ext_vector_type(4)));
typedef int int4_t __attribute__((ext_vector_type(4)));
typedef _Float16 half4_t __attribute__((ext_vector_type(4)));
typedef short short4_t __attribute__((ext_vector_type(4)));

__device__ inline unsigned wave_lane(unsigned value, unsigned lane) {
  return static_cast<unsigned>(__builtin_amdgcn_ds_bpermute(static_cast<int>(lane << 2), static_cast<int>(value)));
}

template <class S> __device__ inline S from_wave(S value, unsigned lane) {
  return __builtin_bit_cast(S, wave_lane(__builtin_bit_cast(unsigned, value), lane));
}

/// D^T += B^T A^T for two chunks (half, bfloat16), one chunk (tf32) or as many as the integer instruction takes.
template <Element E> struct matrix_step;
template <> struct matrix_step<Element::f16> {
  static constexpr int chunks = 2;
  using sum = float4_t;
  __device__ static sum run(const unsigned (&a)[2], const unsigned (&b)[2], sum d) {
    const ptx::vec<unsigned, 2> x{{a[0], a[1]}}, y{{b[0], b[1]}};
    return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(half4_t, y), __builtin_bit_cast(half4_t, x), d, 0, 0, 0);
  }
};
template <> struct matrix_step<Element::bf16> {
  static constexpr int chunks = 2;
  using sum = float4_t;
  __device__ static sum run(const unsigned (&a)[2], const unsigned (&b)[2], sum d) {
    const ptx::vec<unsigned, 2> x{{a[0], a[1]}}, y{{b[0], b[1]}};
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(short4_t, y), __builtin_bit_cast(short4_t, x), d, 0, 0, 0);
  }
};
template <> struct matrix_step<Element::tf32> {
  static constexpr int chunks = 1;
  using sum = float4_t;
  __device__ static sum run(const unsigned (&a)[1], const unsigned (&b)[1], sum d) {
    return __builtin_amdgcn_mfma_f32_16x16x4f32(__uint_as_float(b[0] & 0xffffe000u), __uint_as_float(a[0] & 0xffffe000u), d, 0, 0, 0);
  }
};
template <> struct matrix_step<Element::s8> {
  using sum = int4_t;
#if defined(__gfx90a__)
  static constexpr int chunks = 1;
  __device__ static sum run(const unsigned (&a)[1], const unsigned (&b)[1], sum d) {
    return __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(b[0]), static_cast<int>(a[0]), d, 0, 0, 0);
  }
#else
  static constexpr int chunks = 2;
  __device__ static sum run(const unsigned (&a)[2], const unsigned (&b)[2], sum d) {
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(static_cast<long>(ptx::pack(b[0], b[1])),
                                                static_cast<long>(ptx::pack(a[0], a[1])), d, 0, 0, 0);
  }
#endif
};

/// The products of both warps of a full wavefront, for 16 rows. S: float or int. Unsigned bytes run as signed ones less
/// 128; a step with the constant -128 takes the difference away again.
template <Element A, Element B, int Chunks, class S>
__device__ inline vec<S, 4> mma_by_matrix(vec<unsigned, Chunks * 2> a, vec<unsigned, Chunks> b, vec<S, 4> c) {
  constexpr bool bytes = element_bits(A) == 8, offset_a = A == Element::u8, offset_b = B == Element::u8;
  using Step = matrix_step<bytes ? Element::s8 : A>;
  const unsigned lane = __lane_id(), upper = lane >> 5;      // warp of this lane, as a source
  const unsigned m = lane & 15u, half = m >> 3, k = lane >> 4;  // position in the matrix operands
  typename Step::sum d = {0, 0, 0, 0};
  [[maybe_unused]] typename Step::sum correction = {0, 0, 0, 0};
  [[maybe_unused]] unsigned a_offset[Step::chunks];
#pragma unroll
  for (int chunk = 0; chunk < Chunks; chunk += Step::chunks) {
    unsigned a_low[Step::chunks], a_high[Step::chunks], b_low[Step::chunks], b_high[Step::chunks];
#pragma unroll
    for (int i = 0; i < Step::chunks; ++i) {
      const int at = chunk + i;
      if (at >= Chunks) {
        a_low[i] = a_high[i] = b_low[i] = b_high[i] = 0;
        continue;
      }
      // Two rounds bring both warps' rows: in round t the lanes of row half h hear warp h ^ t, which sends its half h.
      const unsigned even = a[2 * at] ^ (offset_a ? 0x80808080u : 0u), odd = a[2 * at + 1] ^ (offset_a ? 0x80808080u : 0u);
      const unsigned source = (m & 7u) * 4u + k;
      const unsigned first = wave_lane(upper ? odd : even, 32u * half + source);
      const unsigned second = wave_lane(upper ? even : odd, 32u * (half ^ 1u) + source);
      a_low[i] = half ? second : first;
      a_high[i] = half ? first : second;
      // Columns 8-15 are the upper warp's.
      const unsigned column = wave_lane(b[at] ^ (offset_b ? 0x80808080u : 0u), 32u * half + source);
      b_low[i] = half ? 0u : column;
      b_high[i] = half ? column : 0u;
    }
    d = Step::run(a_low, b_low, d);
    d = Step::run(a_high, b_high, d);
    if constexpr (offset_a || offset_b) {
      unsigned low[Step::chunks], high[Step::chunks];
#pragma unroll
      for (int i = 0; i < Step::chunks; ++i) {
        const unsigned constant = chunk + i < Chunks ? 0x80808080u : 0u;
        low[i] = half ? 0u : constant;
        high[i] = half ? constant : 0u;
        if constexpr (offset_a) a_offset[i] = constant;
      }
      if constexpr (offset_a) {
        correction = Step::run(a_offset, b_low, correction);
        correction = Step::run(a_offset, b_high, correction);
      }
      if constexpr (offset_b) {
        correction = Step::run(a_low, low, correction);
        correction = Step::run(a_high, high, correction);
      }
    }
  }
  if constexpr (offset_a || offset_b) d -= correction;
  if constexpr (offset_a && offset_b) d += 128 * 128 * 16 * Chunks;
  // Lane m + 16 (n / 4) holds row m, columns n = 4 (n / 4) ... + 3. In round t its row half h serves the columns' parity h ^ t.
  const unsigned g = (lane >> 2) & 7u, q = lane & 3u, parity = q & 1u;
  const unsigned base = g + 16u * (2u * upper + (q >> 1));
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S low = d[e], high = d[2 + e];
    const S first = from_wave<S>(half ? high : low, base + 8u * parity);
    const S second = from_wave<S>(half ? low : high, base + 8u * (parity ^ 1u));
    c[e] += parity ? second : first;
    c[2 + e] += parity ? first : second;
  }
  return c;
}
#endif

template <Element A, Element B, int M, int N, int K, class R, class S>
__device__ inline vec<S, M / 4> mma(vec<R, n_registers(M * K, A)> a, vec<R, n_registers(N * K, B)> b, vec<S, M / 4> c) {
  constexpr int halves = M / 8, chunks = n_registers(N * K, B);
#ifdef HIPPORT_MFMA
  constexpr bool has_step = A == Element::f16 || A == Element::bf16 || A == Element::tf32 || element_bits(A) == 8;
  if constexpr (has_step && M == 16) {
    if (__ballot(1) == ~0ull) return mma_by_matrix<A, B, chunks>(a, b, c);
  }
#endif
  return mma_by_lanes<A, B, chunks, halves>(a, b, c);
}

}  // namespace detail

namespace detail {
constexpr bool is_fp8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }

/// fp8 registers as twice as many of fp16, which holds every fp8 value. Register `i` of `Halves` row halves becomes chunks
/// 2 c and 2 c + 1: k is permuted, the same way in A and B.
template <Element E, int Halves, int N> __device__ inline vec<unsigned, 2 * N> widened(vec<unsigned, N> x) {
  vec<unsigned, 2 * N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int chunk = i / Halves, half = i % Halves;
    const unsigned short low = static_cast<unsigned short>(x[i]), high = static_cast<unsigned short>(x[i] >> 16);
    if constexpr (E == Element::e4m3) {
      result[2 * chunk * Halves + half] = ptx::cvt_rn_f16x2_e4m3x2(low);
      result[(2 * chunk + 1) * Halves + half] = ptx::cvt_rn_f16x2_e4m3x2(high);
    } else {
      result[2 * chunk * Halves + half] = ptx::cvt_rn_f16x2_e5m2x2(low);
      result[(2 * chunk + 1) * Halves + half] = ptx::cvt_rn_f16x2_e5m2x2(high);
    }
  }
  return result;
}

/// 4-bit integers as twice as many bytes; unsigned ones fit signed bytes. k is permuted as above.
template <Element E, int Halves, int N> __device__ inline vec<unsigned, 2 * N> bytes_of(vec<unsigned, N> x) {
  vec<unsigned, 2 * N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int chunk = i / Halves, half = i % Halves;
    unsigned low = x[i] & 0x0f0f0f0fu, high = (x[i] >> 4) & 0x0f0f0f0fu;
    if constexpr (E == Element::s4) {  // the sign to bits 4-7
      low |= (low & 0x08080808u) * 0x1eu;
      high |= (high & 0x08080808u) * 0x1eu;
    }
    result[2 * chunk * Halves + half] = low;
    result[(2 * chunk + 1) * Halves + half] = high;
  }
  return result;
}

/// The product with s32 sums, of any integer element.
template <Element A, Element B, int M, int N, int K>
__device__ inline vec<int, M / 4> mma_integer(vec<unsigned, n_registers(M * K, A)> a, vec<unsigned, n_registers(N * K, B)> b,
                                              vec<int, M / 4> c) {
  if constexpr (element_bits(A) == 4) {
    return mma<Element::s8, Element::s8, M, N, K, unsigned, int>(bytes_of<A, M / 8>(a), bytes_of<B, 1>(b), c);
  } else {
    return mma<A, B, M, N, K, unsigned, int>(a, b, c);
  }
}

/// The product with f32 sums, of any floating-point element.
template <Element A, Element B, int M, int N, int K>
__device__ inline vec<float, M / 4> mma_real(vec<unsigned, n_registers(M * K, A)> a, vec<unsigned, n_registers(N * K, B)> b,
                                             vec<float, M / 4> c) {
  if constexpr (is_fp8(A)) {
    return mma<Element::f16, Element::f16, M, N, K, unsigned, float>(widened<A, M / 8>(a), widened<B, 1>(b), c);
  } else {
    return mma<A, B, M, N, K, unsigned, float>(a, b, c);
  }
}
}  // namespace detail

/// mma.sync with f32 accumulators: A (M x K, row) times B (K x N, column) plus c.
template <int M, int N, int K, Element A, Element B>
__device__ inline vec<float, M / 4> mma_f32(vec<unsigned, detail::n_registers(M * K, A)> a,
                                            vec<unsigned, detail::n_registers(N * K, B)> b, vec<float, M / 4> c) {
  return detail::mma_real<A, B, M, N, K>(a, b, c);
}

/// mma.sync with f16 accumulators: summed in f32, rounded once.
template <int M, int N, int K, Element A, Element B>
__device__ inline vec<unsigned, M / 8> mma_f16(vec<unsigned, detail::n_registers(M * K, A)> a,
                                               vec<unsigned, detail::n_registers(N * K, B)> b, vec<unsigned, M / 8> c) {
  vec<float, M / 4> wide;
#pragma unroll
  for (int i = 0; i < M / 8; ++i) {
    wide[2 * i] = ptx::f16_value(static_cast<unsigned short>(c[i]));
    wide[2 * i + 1] = ptx::f16_value(static_cast<unsigned short>(c[i] >> 16));
  }
  wide = detail::mma_real<A, B, M, N, K>(a, b, wide);
#pragma unroll
  for (int i = 0; i < M / 8; ++i) c[i] = ptx::cvt_rn_f16x2(wide[2 * i], wide[2 * i + 1]);
  return c;
}

/// mma.sync of integers: sums modulo 2^32.
template <int M, int N, int K, Element A, Element B>
__device__ inline vec<int, M / 4> mma_s32(vec<unsigned, detail::n_registers(M * K, A)> a,
                                          vec<unsigned, detail::n_registers(N * K, B)> b, vec<int, M / 4> c) {
  return detail::mma_integer<A, B, M, N, K>(a, b, c);
}
/// The same with .satfinite: c plus the product is clamped to 32 bits.
template <int M, int N, int K, Element A, Element B>
__device__ inline vec<int, M / 4> mma_s32_satfinite(vec<unsigned, detail::n_registers(M * K, A)> a,
                                                    vec<unsigned, detail::n_registers(N * K, B)> b, vec<int, M / 4> c) {
  const vec<int, M / 4> product = detail::mma_integer<A, B, M, N, K>(a, b, vec<int, M / 4>{});
#pragma unroll
  for (int i = 0; i < M / 4; ++i) c[i] = ptx::add_sat<int>(c[i], product[i]);
  return c;
}

/// mma.sync of single bits: c plus the number of ones in a ^ b or a & b.
template <int M, int N, int K, bool Xor>
__device__ inline vec<int, M / 4> mma_b1(vec<unsigned, M * K / 1024> a, vec<unsigned, N * K / 1024> b, vec<int, M / 4> c) {
  constexpr int halves = M / 8, chunks = N * K / 1024;
  const unsigned lane = lane_id(), row = lane & ~3u, column = (lane & 3u) * 8u;
#pragma unroll
  for (int chunk = 0; chunk < chunks; ++chunk) {
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      const unsigned b0 = detail::from_lane(b[chunk], column + q), b1 = detail::from_lane(b[chunk], column + 4u + q);
#pragma unroll
      for (int half = 0; half < halves; ++half) {
        const unsigned x = detail::from_lane(a[chunk * halves + half], row + q);
        c[2 * half] += __builtin_popcount(Xor ? x ^ b0 : x & b0);
        c[2 * half + 1] += __builtin_popcount(Xor ? x ^ b1 : x & b1);
      }
    }
  }
  return c;
}

template <int M, int N, int K, Element A, Element B>
__device__ inline vec<double, M / 4> mma_f64(vec<double, M * K / 32> a, vec<double, N * K / 32> b, vec<double, M / 4> c) {
  return detail::mma<A, B, M, N, K, double, double>(a, b, c);
}

/// ldmatrix: lanes 8 i ... 8 i + 7 give the addresses of the rows of matrix i (8 x 8 elements of 16 bits); lane 4 g + q gets
/// elements 2 q, 2 q + 1 of row g, or of column g for Trans. P: pointer to shared memory or generic.
template <int Count, bool Trans, class P> __device__ inline vec<unsigned, Count> ldmatrix(P row) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u;
  const unsigned address = ptx::lds_address(row);
  vec<unsigned, Count> result;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if constexpr (Trans) {
      const unsigned first = detail::from_lane(address, 8u * i + 2u * q) + 2u * g;
      const unsigned second = detail::from_lane(address, 8u * i + 2u * q + 1u) + 2u * g;
      result[i] = ptx::pack(*ptx::shared<const unsigned short>(first), *ptx::shared<const unsigned short>(second));
    } else {
      result[i] = *ptx::shared<const unsigned>(detail::from_lane(address, 8u * i + g) + 4u * q);
    }
  }
  return result;
}

/// stmatrix: the reverse of ldmatrix.
template <int Count, bool Trans, class P> __device__ inline void stmatrix(P row, vec<unsigned, Count> values) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u;
  const unsigned address = ptx::lds_address(row);
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if constexpr (Trans) {
      const unsigned first = detail::from_lane(address, 8u * i + 2u * q) + 2u * g;
      const unsigned second = detail::from_lane(address, 8u * i + 2u * q + 1u) + 2u * g;
      *ptx::shared<unsigned short>(first) = static_cast<unsigned short>(values[i]);
      *ptx::shared<unsigned short>(second) = static_cast<unsigned short>(values[i] >> 16);
    } else {
      *ptx::shared<unsigned>(detail::from_lane(address, 8u * i + g) + 4u * q) = values[i];
    }
  }
}

/// movmatrix.trans: transpose an 8 x 8 matrix of 16-bit elements that lies in the layout of ldmatrix.
__device__ inline unsigned movmatrix_trans(unsigned value) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u, source = 8u * q + (g >> 1), shift = 16u * (g & 1u);
  const unsigned first = detail::from_lane(value, source), second = detail::from_lane(value, source + 4u);
  return ((first >> shift) & 0xffffu) | (((second >> shift) & 0xffffu) << 16);
}

}  // namespace hipport
