// SIMD-in-a-word and integer dot-product intrinsics of CUDA, which HIP lacks: two 16-bit or four 8-bit lanes in 32 bits.
//
// Each is a lane loop over one scalar function; clang turns what it can into packed instructions.
//
// Source: CUDA Math API Reference Manual, "SIMD Intrinsics" and "Integer Intrinsics"; PTX ISA, dp4a and dp2a.
#pragma once

#include <hip/hip_runtime.h>

namespace hipport {
namespace detail {

// Lane i of a word with lanes of `Bits` bits, zero or sign extended.
template <int Bits>
__host__ __device__ constexpr unsigned lane_u(unsigned word, int i) {
  return (word >> (i * Bits)) & ((1u << Bits) - 1);
}
template <int Bits>
__host__ __device__ constexpr int lane_s(unsigned word, int i) {
  return (int)(lane_u<Bits>(word, i) << (32 - Bits)) >> (32 - Bits);
}

// f(lane of a, lane of b) in every lane, results cut to the lane width.
template <int Bits, class F>
__host__ __device__ constexpr unsigned lanes_u(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (int i = 0; i < 32 / Bits; ++i) r |= ((unsigned)f(lane_u<Bits>(a, i), lane_u<Bits>(b, i)) & ((1u << Bits) - 1)) << (i * Bits);
  return r;
}
template <int Bits, class F>
__host__ __device__ constexpr unsigned lanes_s(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (int i = 0; i < 32 / Bits; ++i) r |= ((unsigned)f(lane_s<Bits>(a, i), lane_s<Bits>(b, i)) & ((1u << Bits) - 1)) << (i * Bits);
  return r;
}
template <int Bits, class F>
__host__ __device__ constexpr unsigned sum_u(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (int i = 0; i < 32 / Bits; ++i) r += f(lane_u<Bits>(a, i), lane_u<Bits>(b, i));
  return r;
}
template <int Bits, class F>
__host__ __device__ constexpr unsigned sum_s(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (int i = 0; i < 32 / Bits; ++i) r += (unsigned)f(lane_s<Bits>(a, i), lane_s<Bits>(b, i));
  return r;
}

template <int Bits>
__host__ __device__ constexpr int clamp_s(int v) {
  constexpr int largest = (1 << (Bits - 1)) - 1;
  return v > largest ? largest : v < -largest - 1 ? -largest - 1 : v;
}
template <int Bits>
__host__ __device__ constexpr int clamp_u(int v) {
  constexpr int largest = (1 << Bits) - 1;
  return v > largest ? largest : v < 0 ? 0 : v;
}

}  // namespace detail

// name, lanes (unsigned or signed), expression of the lane values x and y.
#define HIPPORT_SIMD2(name, sign, expression)                                                                      \
  __host__ __device__ inline unsigned name##2(unsigned a, unsigned b) {                                            \
    constexpr int bits [[maybe_unused]] = 16;                                                                      \
    return detail::lanes_##sign<16>(a, b, [](auto x, auto y) { (void)y; return expression; });                     \
  }                                                                                                                \
  __host__ __device__ inline unsigned name##4(unsigned a, unsigned b) {                                            \
    constexpr int bits [[maybe_unused]] = 8;                                                                       \
    return detail::lanes_##sign<8>(a, b, [](auto x, auto y) { (void)y; return expression; });                      \
  }
#define HIPPORT_SIMD1(name, sign, expression)                                                                      \
  __host__ __device__ inline unsigned name##2(unsigned a) {                                                        \
    constexpr int bits [[maybe_unused]] = 16;                                                                      \
    return detail::lanes_##sign<16>(a, 0, [](auto x, auto) { return expression; });                                \
  }                                                                                                                \
  __host__ __device__ inline unsigned name##4(unsigned a) {                                                        \
    constexpr int bits [[maybe_unused]] = 8;                                                                       \
    return detail::lanes_##sign<8>(a, 0, [](auto x, auto) { return expression; });                                 \
  }

HIPPORT_SIMD1(vabs, s, x < 0 ? -x : x)
HIPPORT_SIMD1(vabsss, s, detail::clamp_s<bits>(x < 0 ? -x : x))
HIPPORT_SIMD1(vneg, s, -x)
HIPPORT_SIMD1(vnegss, s, detail::clamp_s<bits>(-x))

HIPPORT_SIMD2(vadd, u, x + y)
HIPPORT_SIMD2(vaddss, s, detail::clamp_s<bits>(x + y))
HIPPORT_SIMD2(vaddus, u, detail::clamp_u<bits>((int)(x + y)))
HIPPORT_SIMD2(vsub, u, x - y)
HIPPORT_SIMD2(vsubss, s, detail::clamp_s<bits>(x - y))
HIPPORT_SIMD2(vsubus, u, detail::clamp_u<bits>((int)x - (int)y))
// Rounded averages: signed ones round a half away from zero, unsigned ones up; vhaddu rounds down.
HIPPORT_SIMD2(vavgs, s, (x + y + (x + y >= 0)) >> 1)
HIPPORT_SIMD2(vavgu, u, (x + y + 1) >> 1)
HIPPORT_SIMD2(vhaddu, u, (x + y) >> 1)
HIPPORT_SIMD2(vabsdiffs, s, x > y ? x - y : y - x)
HIPPORT_SIMD2(vabsdiffu, u, x > y ? x - y : y - x)
HIPPORT_SIMD2(vmaxs, s, x > y ? x : y)
HIPPORT_SIMD2(vmaxu, u, x > y ? x : y)
HIPPORT_SIMD2(vmins, s, x < y ? x : y)
HIPPORT_SIMD2(vminu, u, x < y ? x : y)

// Comparisons: vcmp gives all ones in a true lane, vset gives 1.
#define HIPPORT_SIMD_COMPARE(name, sign, op)            \
  HIPPORT_SIMD2(vcmp##name, sign, x op y ? ~0u : 0u)    \
  HIPPORT_SIMD2(vset##name, sign, x op y ? 1u : 0u)
HIPPORT_SIMD_COMPARE(eq, u, ==)
HIPPORT_SIMD_COMPARE(ne, u, !=)
HIPPORT_SIMD_COMPARE(ges, s, >=)
HIPPORT_SIMD_COMPARE(geu, u, >=)
HIPPORT_SIMD_COMPARE(gts, s, >)
HIPPORT_SIMD_COMPARE(gtu, u, >)
HIPPORT_SIMD_COMPARE(les, s, <=)
HIPPORT_SIMD_COMPARE(leu, u, <=)
HIPPORT_SIMD_COMPARE(lts, s, <)
HIPPORT_SIMD_COMPARE(ltu, u, <)

// Sums of absolute differences over all lanes.
#define HIPPORT_SIMD_SAD(width, bits)                                                                              \
  __host__ __device__ inline unsigned vsads##width(unsigned a, unsigned b) {                                       \
    return detail::sum_s<bits>(a, b, [](int x, int y) { return x > y ? x - y : y - x; });                          \
  }                                                                                                                \
  __host__ __device__ inline unsigned vsadu##width(unsigned a, unsigned b) {                                       \
    return detail::sum_u<bits>(a, b, [](unsigned x, unsigned y) { return x > y ? x - y : y - x; });                \
  }
HIPPORT_SIMD_SAD(2, 16)
HIPPORT_SIMD_SAD(4, 8)

// Three-operand and clamped forms (the names with a type suffix).
#define HIPPORT_DPX(suffix, T)                                                                       \
  __host__ __device__ inline T vimax3_##suffix(T a, T b, T c) { return max(max(a, b), c); }          \
  __host__ __device__ inline T vimin3_##suffix(T a, T b, T c) { return min(min(a, b), c); }          \
  __host__ __device__ inline T viaddmax_##suffix(T a, T b, T c) { return max((T)((unsigned)a + (unsigned)b), c); } \
  __host__ __device__ inline T viaddmin_##suffix(T a, T b, T c) { return min((T)((unsigned)a + (unsigned)b), c); } \
  __host__ __device__ inline T vibmax_##suffix(T a, T b, bool* pred) { return (*pred = a >= b) ? a : b; }          \
  __host__ __device__ inline T vibmin_##suffix(T a, T b, bool* pred) { return (*pred = a <= b) ? a : b; }
HIPPORT_DPX(s32, int)
HIPPORT_DPX(u32, unsigned)
__host__ __device__ inline int vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
__host__ __device__ inline int vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
__host__ __device__ inline int vimax3_s32_relu(int a, int b, int c) { return max(vimax3_s32(a, b, c), 0); }
__host__ __device__ inline int vimin3_s32_relu(int a, int b, int c) { return max(vimin3_s32(a, b, c), 0); }
__host__ __device__ inline int viaddmax_s32_relu(int a, int b, int c) { return max(viaddmax_s32(a, b, c), 0); }
__host__ __device__ inline int viaddmin_s32_relu(int a, int b, int c) { return max(viaddmin_s32(a, b, c), 0); }

__host__ __device__ inline unsigned vimax3_s16x2(unsigned a, unsigned b, unsigned c) { return vmaxs2(vmaxs2(a, b), c); }
__host__ __device__ inline unsigned vimin3_s16x2(unsigned a, unsigned b, unsigned c) { return vmins2(vmins2(a, b), c); }
__host__ __device__ inline unsigned vimax3_u16x2(unsigned a, unsigned b, unsigned c) { return vmaxu2(vmaxu2(a, b), c); }
__host__ __device__ inline unsigned vimin3_u16x2(unsigned a, unsigned b, unsigned c) { return vminu2(vminu2(a, b), c); }
__host__ __device__ inline unsigned viaddmax_s16x2(unsigned a, unsigned b, unsigned c) { return vmaxs2(vadd2(a, b), c); }
__host__ __device__ inline unsigned viaddmin_s16x2(unsigned a, unsigned b, unsigned c) { return vmins2(vadd2(a, b), c); }
__host__ __device__ inline unsigned viaddmax_u16x2(unsigned a, unsigned b, unsigned c) { return vmaxu2(vadd2(a, b), c); }
__host__ __device__ inline unsigned viaddmin_u16x2(unsigned a, unsigned b, unsigned c) { return vminu2(vadd2(a, b), c); }
__host__ __device__ inline unsigned vimax_s16x2_relu(unsigned a, unsigned b) { return vmaxs2(vmaxs2(a, b), 0); }
__host__ __device__ inline unsigned vimin_s16x2_relu(unsigned a, unsigned b) { return vmaxs2(vmins2(a, b), 0); }
__host__ __device__ inline unsigned vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) { return vmaxs2(vimax3_s16x2(a, b, c), 0); }
__host__ __device__ inline unsigned vimin3_s16x2_relu(unsigned a, unsigned b, unsigned c) { return vmaxs2(vimin3_s16x2(a, b, c), 0); }
__host__ __device__ inline unsigned viaddmax_s16x2_relu(unsigned a, unsigned b, unsigned c) { return vmaxs2(viaddmax_s16x2(a, b, c), 0); }
__host__ __device__ inline unsigned viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) { return vmaxs2(viaddmin_s16x2(a, b, c), 0); }

// Dot products of four bytes, or of two 16-bit lanes of `a` with the lower or upper two bytes of `b`, added to c (wrapping).
__host__ __device__ inline int dp4a(int a, int b, int c) {
  return (int)((unsigned)c + detail::sum_s<8>((unsigned)a, (unsigned)b, [](int x, int y) { return x * y; }));
}
__host__ __device__ inline unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  return c + detail::sum_u<8>(a, b, [](unsigned x, unsigned y) { return x * y; });
}
__host__ __device__ inline int dp4a(char4 a, char4 b, int c) {
  return dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);
}
__host__ __device__ inline unsigned dp4a(uchar4 a, uchar4 b, unsigned c) {
  return dp4a(__builtin_bit_cast(unsigned, a), __builtin_bit_cast(unsigned, b), c);
}
#define HIPPORT_DP2A(half, first)                                                                                      \
  __host__ __device__ inline int dp2a_##half(int a, int b, int c) {                                                    \
    const unsigned p = (unsigned)(detail::lane_s<16>((unsigned)a, 0) * detail::lane_s<8>((unsigned)b, first));         \
    const unsigned q = (unsigned)(detail::lane_s<16>((unsigned)a, 1) * detail::lane_s<8>((unsigned)b, first + 1));     \
    return (int)((unsigned)c + p + q);                                                                                 \
  }                                                                                                                    \
  __host__ __device__ inline unsigned dp2a_##half(unsigned a, unsigned b, unsigned c) {                                \
    return c + detail::lane_u<16>(a, 0) * detail::lane_u<8>(b, first) +                                                \
           detail::lane_u<16>(a, 1) * detail::lane_u<8>(b, first + 1);                                                 \
  }                                                                                                                    \
  __host__ __device__ inline int dp2a_##half(short2 a, char4 b, int c) {                                               \
    return dp2a_##half(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);                                     \
  }                                                                                                                    \
  __host__ __device__ inline unsigned dp2a_##half(ushort2 a, uchar4 b, unsigned c) {                                   \
    return dp2a_##half(__builtin_bit_cast(unsigned, a), __builtin_bit_cast(unsigned, b), c);                           \
  }
HIPPORT_DP2A(lo, 0)
HIPPORT_DP2A(hi, 2)

#undef HIPPORT_SIMD2
#undef HIPPORT_SIMD1
#undef HIPPORT_SIMD_COMPARE
#undef HIPPORT_SIMD_SAD
#undef HIPPORT_DPX
#undef HIPPORT_DP2A

}  // namespace hipport
