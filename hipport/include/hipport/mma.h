// CUDA's warp matrix instructions: ldmatrix, stmatrix, movmatrix and mma.sync, with the register layouts that CUDA documents.
//
// Layouts (PTX ISA 9.7.14.5): lane = 4 g + q. A register holds p neighbours along k (32 bits of them). Chunk c of A holds
// row g (and g + 8) at k = 4 p c + p q ...; chunk c of B the same k of column g; C holds row g (and g + 8), columns 2 q, 2 q + 1.
//
// Products run on the matrix unit (mma_cdna.h, mma_rdna.h) where it has the type, else lane by lane (mma_lanes.h); the result is
// the same. Products are exact, sums are kept in 32 bits; their order is not specified, as on NVIDIA GPUs.
#pragma once

#include <hipport/mma_cdna.h>
#include <hipport/mma_lanes.h>
#include <hipport/mma_rdna.h>

namespace hipport {
namespace detail {

template <Element A, Element B, int M, int N, int K, class R, class S>
__device__ inline vec<S, M / 4> mma(vec<R, n_registers(M * K, A)> a, vec<R, n_registers(N * K, B)> b, vec<S, M / 4> c) {
  constexpr int halves = M / 8, chunks = n_registers(N * K, B);
  if constexpr (MatrixStep<A, B>::chunks != 0) {
    if (matrix_ready()) return mma_by_matrix<A, B, chunks, halves>(a, b, c);
  }
  return mma_by_lanes<A, B, chunks, halves>(a, b, c);
}

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
  if constexpr (element_bits(A) == 4 && MatrixStep<A, B>::chunks == 0) {
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
    if constexpr (MatrixStep<A, B>::chunks != 0) {
      if (matrix_ready()) return mma_by_matrix<A, B, n_registers(N * K, B), M / 8>(a, b, c);
    }
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
