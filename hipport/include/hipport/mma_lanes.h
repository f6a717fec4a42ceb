// mma.sync lane by lane, with shuffles and dot products: for wavefronts with missing lanes and types that the matrix unit does
// not have. Also what both ways of hipport/mma.h share: element types, and values that move between lanes.
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

/// f(word) for the 32-bit words of a value.
template <class T, class F> __device__ inline T each_word(T value, F f) {
  if constexpr (sizeof(T) == 8) {
    const auto words = __builtin_bit_cast(vec<int, 2>, value);
    return __builtin_bit_cast(T, (vec<int, 2>{{f(words[0]), f(words[1])}}));
  } else {
    return __builtin_bit_cast(T, f(__builtin_bit_cast(int, value)));
  }
}
/// `value` of `lane` of the wavefront.
template <class T> __device__ inline T from_wave(T value, unsigned lane) {
  const int address = static_cast<int>(lane << 2);
  return each_word(value, [=](int word) { return __builtin_amdgcn_ds_bpermute(address, word); });
}
/// `value` of the lane two away in its group of four.
template <class T> __device__ inline T from_pair(T value) {
  return each_word(value, [](int word) { return __builtin_amdgcn_mov_dpp(word, 0x4e, 0xf, 0xf, true); });
}
template <class R> __device__ inline R flipped(R x, [[maybe_unused]] R mask) {
  if constexpr (sizeof(R) == 4) x ^= mask;
  return x;
}
/// Rows g (`even`) and g + 8 (`odd`) of a group of four lanes, so that lanes 0, 1 have the one and lanes 2, 3 the other: k of
/// lanes 0, 1 in `pair[0]`, of lanes 2, 3 in `pair[1]`.
template <class R> __device__ inline void gather_rows(R even, R odd, R (&pair)[2]) {
  const bool second = __lane_id() & 2u;
  const R low = from_pair(odd), high = from_pair(even);
  pair[0] = second ? low : even;
  pair[1] = second ? odd : high;
}
/// The reverse for results: lanes 0, 1 bring columns 2 q, 2 q + 1 and 2 q + 4, 2 q + 5 of row g, lanes 2, 3 of row g + 8.
template <class S> __device__ inline void add_rows(vec<S, 4>& c, const S (&d)[4]) {
  const bool second = __lane_id() & 2u;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const S low = from_pair(d[e + 2]), high = from_pair(d[e]);
    c[e] += second ? low : d[e];
    c[e + 2] += second ? d[e + 2] : high;
  }
}

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

/// An instruction of the matrix unit: D^T += B^T A^T for `chunks` registers of A and B; 0 where there is none.
template <Element A, Element B> struct MatrixStep {
  static constexpr int chunks = 0;
};
/// The product by it. Defined where there is one.
template <Element A, Element B, int Chunks, int Halves, class R, class S>
__device__ inline vec<S, 2 * Halves> mma_by_matrix(vec<R, Chunks * Halves> a, vec<R, Chunks> b, vec<S, 2 * Halves> c);

/// Whether the matrix unit can be used now: on CDNA both warps of the wavefront must be here. On RDNA a warp is a wavefront.
__device__ inline bool matrix_ready() {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  return __builtin_expect(__ballot(1) == ~0ull, 1);
#else
  return true;
#endif
}

}  // namespace detail
}  // namespace hipport
