// Exact conversions between binary floating-point formats and integers, in every rounding mode.
//
// Everything here is integer arithmetic on bit patterns, so host and device give the same bits whatever the floating-point
// state is, and one algorithm serves fp16, bfloat16 and fp8: a value is a sign, a 64-bit significand and a binary exponent,
// and `pack` rounds it once into the wanted format.
//
// Sources: IEEE 754-2019, sections 4.3 and 5.4; OCP 8-bit Floating Point Specification (OFP8) 1.0, section 5.
#pragma once

#include <hip/hip_runtime.h>

namespace hipport {

enum class Rounding { nearest_even, toward_zero, down, up };

// A finite value: (-1)^negative * significand * 2^exponent, plus `sticky`: nonzero bits below the significand were dropped.
struct Exact {
  bool negative;
  unsigned long long significand;
  int exponent;
};

// A binary format: exponent and mantissa field widths and bias.
template <int ExponentBits, int MantissaBits, int Bias>
struct Format {
  static constexpr int exponent_bits = ExponentBits;
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr int bias = Bias;
};

using Fp16Format = Format<5, 10, 15>;
using Bf16Format = Format<8, 7, 127>;
using E4m3Format = Format<4, 3, 7>;
using E5m2Format = Format<5, 2, 15>;

namespace detail {

__host__ __device__ inline int leading_zeros(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }

// Whether to add one unit in the last place, given the dropped part compared with half a unit.
__host__ __device__ inline bool rounds_away(Rounding mode, bool negative, bool odd, unsigned long long dropped,
                                            unsigned long long half) {
  if (dropped == 0) return false;
  switch (mode) {
    case Rounding::nearest_even: return dropped > half || (dropped == half && odd);
    case Rounding::toward_zero: return false;
    case Rounding::down: return negative;
    case Rounding::up: return !negative;
  }
  return false;
}

// Magnitude bits (no sign) of `value` rounded once into format F with an unbounded top: exponents past the format's range
// still count on, so that the caller decides about overflow by comparing with its largest finite pattern.
template <class F>
__host__ __device__ inline unsigned long long pack(Exact value, Rounding mode) {
  if (value.significand == 0) return 0;
  const int shift_up = leading_zeros(value.significand);
  const unsigned long long s = value.significand << shift_up;  // 1.xxx with 63 fraction bits
  const int e = value.exponent - shift_up + 63;                // exponent of the leading one
  int biased = e + F::bias;
  int drop = 63 - F::mantissa_bits;
  if (biased < 1) {  // subnormal: fewer significand bits remain
    drop += 1 - biased;
    biased = 0;
  }
  unsigned long long kept, dropped, half;
  if (drop >= 65) {  // below half of the smallest subnormal
    kept = 0;
    dropped = 1;
    half = 2;
  } else if (drop == 64) {
    kept = 0;
    dropped = s;
    half = 1ull << 63;
  } else {
    kept = s >> drop;
    dropped = s & ((1ull << drop) - 1);
    half = 1ull << (drop - 1);
  }
  if (rounds_away(mode, value.negative, kept & 1, dropped, half)) ++kept;
  // A normal's leading one sits at bit mantissa_bits and adds one to the exponent field; a carry moves on by itself.
  return biased == 0 ? kept : ((unsigned long long)(biased - 1) << F::mantissa_bits) + kept;
}

__host__ __device__ inline Exact exact_of_bits(unsigned long long bits, int exponent_bits, int mantissa_bits, int bias) {
  const unsigned long long mantissa = bits & ((1ull << mantissa_bits) - 1);
  const int field = (int)((bits >> mantissa_bits) & ((1ull << exponent_bits) - 1));
  const bool negative = (bits >> (exponent_bits + mantissa_bits)) & 1;
  if (field == 0) return {negative, mantissa, 1 - bias - mantissa_bits};
  return {negative, mantissa | (1ull << mantissa_bits), field - bias - mantissa_bits};
}

__host__ __device__ inline unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
__host__ __device__ inline unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }
__host__ __device__ inline bool is_nan(float x) { return (bits_of(x) & 0x7fffffffu) > 0x7f800000u; }
__host__ __device__ inline bool is_nan(double x) { return (bits_of(x) & ~(1ull << 63)) > (0x7ffull << 52); }
__host__ __device__ inline bool is_inf(float x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
__host__ __device__ inline bool is_inf(double x) { return (bits_of(x) & ~(1ull << 63)) == (0x7ffull << 52); }
__host__ __device__ inline bool is_negative(float x) { return bits_of(x) >> 31; }
__host__ __device__ inline bool is_negative(double x) { return bits_of(x) >> 63; }

__host__ __device__ inline Exact exact(float x) { return exact_of_bits(bits_of(x), 8, 23, 127); }
__host__ __device__ inline Exact exact(double x) { return exact_of_bits(bits_of(x), 11, 52, 1023); }
__host__ __device__ inline Exact exact(unsigned long long x) { return {false, x, 0}; }
__host__ __device__ inline Exact exact(long long x) {
  return {x < 0, x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x, 0};
}

// Bits of a 16-bit IEEE format (fp16 or bfloat16): overflow gives infinity or, when rounding toward zero from there, the
// largest finite value; NaN is the canonical 0x7fff, as CUDA returns it.
template <class F>
__host__ __device__ inline unsigned short to_ieee16(Exact value, Rounding mode) {
  constexpr unsigned infinity = ((1u << F::exponent_bits) - 1) << F::mantissa_bits;
  unsigned long long magnitude = pack<F>(value, mode);
  if (magnitude >= infinity) {
    const bool away = mode == Rounding::nearest_even || (mode == Rounding::up && !value.negative) ||
                      (mode == Rounding::down && value.negative);
    magnitude = away ? infinity : infinity - 1;
  }
  return (unsigned short)(magnitude | (value.negative ? 0x8000u : 0u));
}

template <class F, class Real>
__host__ __device__ inline unsigned short real_to_ieee16(Real x, Rounding mode) {
  constexpr unsigned infinity = ((1u << F::exponent_bits) - 1) << F::mantissa_bits;
  if (is_nan(x)) return 0x7fff;
  if (is_inf(x)) return (unsigned short)(infinity | (is_negative(x) ? 0x8000u : 0u));
  return to_ieee16<F>(exact(x), mode);
}

// Integer of type I nearest to x in the given mode. Out of range saturates; NaN gives 0, or only the top bit set for the
// 64-bit types, as PTX cvt does.
// Source: PTX ISA, instruction cvt, "Notes on integer conversion".
template <class I>
__host__ __device__ inline I to_integer(float x, Rounding mode) {
  constexpr bool is_signed = I(-1) < I(0);
  constexpr int bits = sizeof(I) * 8;
  constexpr unsigned long long largest = is_signed ? (1ull << (bits - 1)) - 1 : ~0ull >> (64 - bits);
  if (is_nan(x)) return sizeof(I) == 8 ? (I)(1ull << 63) : I(0);
  const bool negative = is_negative(x);
  unsigned long long magnitude;
  if (is_inf(x)) {
    magnitude = ~0ull;
  } else {
    const Exact e = exact(x);
    if (e.exponent >= 0) {
      magnitude = e.exponent > leading_zeros(e.significand) ? ~0ull : e.significand << e.exponent;
      if (e.significand == 0) magnitude = 0;
    } else if (e.exponent <= -64) {
      magnitude = rounds_away(mode, negative, false, e.significand, ~0ull) ? 1 : 0;
    } else {
      const int drop = -e.exponent;
      magnitude = e.significand >> drop;
      const unsigned long long dropped = e.significand & ((1ull << drop) - 1);
      if (rounds_away(mode, negative, magnitude & 1, dropped, 1ull << (drop - 1))) ++magnitude;
    }
  }
  if (!negative) return (I)(magnitude > largest ? largest : magnitude);
  if (!is_signed) return I(0);
  return magnitude > largest ? (I)(-(long long)largest - 1) : (I)(-(long long)magnitude);
}

}  // namespace detail
}  // namespace hipport
