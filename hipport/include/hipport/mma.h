// CUDA's mma.sync, with the register layouts that CUDA documents. ldmatrix and its kin are in matrix_moves.h.
//
// Layouts (PTX ISA 9.7.14.5): lane = 4 g + q. A register holds p neighbours along k (32 bits of them). Chunk c of A holds
// row g (and g + 8) at k = 4 p c + p q ...; chunk c of B the same k of column g; C holds row g (and g + 8), columns 2 q, 2 q + 1.
//
// Products run on the matrix unit (mma_cdna.h, mma_rdna.h) where it has the type, else lane by lane (mma_lanes.h); the result is
// the same; HIPPORT_MMA_BY_LANES, defined for a file, leaves the matrix unit out. Products are exact, sums are kept in 32 bits;
// their order is not specified, as on NVIDIA GPUs.
#pragma once

#include <hipport/matrix_moves.h>
#include <hipport/mma_cdna.h>
#include <hipport/mma_lanes.h>
#include <hipport/mma_rdna.h>

namespace hipport {
namespace detail {

/// Whether the matrix unit is worth its moves: not for doubles with 8 rows.
template <Element A, Element B, int M> inline constexpr bool on_matrix = MatrixStep<A, B>::chunks != 0 && !(A == Element::f64 && M == 8);

template <Element A, Element B, int M, int N, int K, class R, class S>
__device__ inline vec<S, M / 4> mma(vec<R, n_registers(M * K, A)> a, vec<R, n_registers(N * K, B)> b, vec<S, M / 4> c) {
  constexpr int halves = M / 8, chunks = n_registers(N * K, B);
  if constexpr (on_matrix<A, B, M>) {
    if (matrix_ready()) return mma_by_matrix<A, B, chunks, halves>(a, b, c);
  }
  return mma_by_lanes<A, B, chunks, halves>(a, b, c);
}

constexpr bool is_fp8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }

typedef _Float16 half2_t __attribute__((ext_vector_type(2)));

/// Two fp8 numbers in the upper bytes of 16 bits as fp16, which holds every value of them.
template <Element E> __device__ inline unsigned widened_pair(unsigned placed) {
  if constexpr (E == Element::e5m2) return placed;  // fp16's upper byte
  // Magnitudes shifted into place are too small by 2^8. NaN, all ones, gets fp16's exponent of NaN.
  const unsigned magnitude = (placed >> 1) & 0x3fff3fffu, nan = (magnitude + 0x00800080u) & 0x40004000u;
  const half2_t scaled = __builtin_bit_cast(half2_t, magnitude) * half2_t{256, 256};
  return __builtin_bit_cast(unsigned, scaled) | (placed & 0x80008000u) | ((nan << 1) - (nan >> 5));
}
/// fp8 registers as twice as many of fp16. Register `i` of `Halves` row halves becomes chunks 2 c and 2 c + 1: k is permuted, the
/// same way in A and B.
template <Element E, int Halves, int N> __device__ inline vec<unsigned, 2 * N> widened(vec<unsigned, N> x) {
  vec<unsigned, 2 * N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int chunk = i / Halves, half = i % Halves;
    result[2 * chunk * Halves + half] = widened_pair<E>(__builtin_amdgcn_perm(x[i], 0, 0x050c040cu));
    result[(2 * chunk + 1) * Halves + half] = widened_pair<E>(__builtin_amdgcn_perm(x[i], 0, 0x070c060cu));
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

namespace detail {
/// Four halves (two registers) of a row that the lanes of a group of four hold as a column: lane t, element k -> lane k, element t.
__device__ inline vec<unsigned, 2> transposed_quad(vec<unsigned, 2> x) {
  const unsigned lane = __lane_id(), first = lane & ~3u, at = lane & 3u;
  unsigned short halves[4];
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned low = from_wave(x[0], first + k), high = from_wave(x[1], first + k);
    halves[k] = static_cast<unsigned short>((at & 2u ? high : low) >> (16u * (at & 1u)));
  }
  return {{ptx::pack(halves[0], halves[1]), ptx::pack(halves[2], halves[3])}};
}
}  // namespace detail

namespace detail {
template <bool ARow, bool BRow, bool Wide>
__device__ inline vec<float, 8> mma_quads(vec<unsigned, 2> a, vec<unsigned, 2> b, vec<float, 8> c) {
  const unsigned lane = __lane_id(), first = lane & ~3u, quad = lane & ~0x13u;
  if constexpr (!ARow) a = transposed_quad(a);
  if constexpr (BRow) b = transposed_quad(b);
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    // With f32 results a lane has two rows and four columns of the 8 x 8, with f16 results its own row.
    const unsigned row = Wide ? (lane & 1u) + (i & 2u) : lane & 3u;
    const unsigned column = Wide ? (i & 4u) + (lane & 2u) + (i & 1u) : i;
    const unsigned from_a = first + row, from_b = quad + (column & 3u) + 4u * (column & 4u);
#pragma unroll
    for (int k = 0; k < 2; ++k) c[i] = dot<Element::f16, Element::f16>(from_wave(a[k], from_a), from_wave(b[k], from_b), c[i]);
  }
  return c;
}
}  // namespace detail

/// mma.sync.m8n8k4 of halves, Volta's: four products at once, one for each lanes 4 i ... 4 i + 3 and 4 i + 16 ... 4 i + 19. Lane t
/// of those eight holds row t of A and column t of B; where a matrix is stored the other way, four lanes hold the columns of
/// four rows. Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16".
template <bool ARow, bool BRow>
__device__ inline vec<float, 8> mma_quads_f32(vec<unsigned, 2> a, vec<unsigned, 2> b, vec<float, 8> c) {
  return detail::mma_quads<ARow, BRow, true>(a, b, c);
}
/// The same with f16 sums: kept in f32, rounded once.
template <bool ARow, bool BRow>
__device__ inline vec<unsigned, 4> mma_quads_f16(vec<unsigned, 2> a, vec<unsigned, 2> b, vec<unsigned, 4> c) {
  vec<float, 8> wide;
#pragma unroll
  for (int i = 0; i < 8; ++i) wide[i] = ptx::f16_value(static_cast<unsigned short>(c[i / 2] >> (16 * (i % 2))));
  wide = detail::mma_quads<ARow, BRow, false>(a, b, wide);
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] = ptx::cvt_rn_f16x2(wide[2 * i], wide[2 * i + 1]);
  return c;
}

}  // namespace hipport
