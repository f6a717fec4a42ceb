// PTX cvt in every rounding mode. Plain C++, the same on host and device.
// Source: PTX ISA 9.7.9, "cvt".
#pragma once

#include <hipport/ptx_integer.h>
#include <hipport/small_float.h>

namespace hipport {
namespace ptx {

namespace detail {
using Fp32Format = Format<8, 23, 127>;
using Fp64Format = Format<11, 52, 1023>;
using hipport::detail::exact;
using hipport::detail::real_to_ieee16;

/// Bits of an f32 or f64 for an exact value; overflow as IEEE 754 has it for the mode.
template <class F> HIPPORT_PTX unsigned long long to_ieee(Exact value, Rounding mode) {
  constexpr unsigned long long infinity = ((1ull << F::exponent_bits) - 1) << F::mantissa_bits;
  unsigned long long magnitude = hipport::detail::pack<F>(value, mode);
  if (magnitude >= infinity) {
    const bool away = mode == Rounding::nearest_even || (mode == Rounding::up && !value.negative) ||
                      (mode == Rounding::down && value.negative);
    magnitude = away ? infinity : infinity - 1;
  }
  return magnitude | (static_cast<unsigned long long>(value.negative) << (F::exponent_bits + F::mantissa_bits));
}
HIPPORT_PTX float f64_to_f32(double x, Rounding mode) {
  if (x - x != 0.0) return static_cast<float>(x);
  return __builtin_bit_cast(float, static_cast<unsigned>(to_ieee<Fp32Format>(exact(x), mode)));
}
template <class I> HIPPORT_PTX Exact exact_integer(I x) {
  if constexpr (is_signed<I>) return exact(static_cast<long long>(x));
  else return exact(static_cast<unsigned long long>(x));
}
}  // namespace detail

// -- half-precision bits and their values ---------------------------------------------------------------------------------
HIPPORT_PTX _Float16 as_f16(unsigned short bits) { return __builtin_bit_cast(_Float16, bits); }
HIPPORT_PTX unsigned short f16_bits(_Float16 x) { return __builtin_bit_cast(unsigned short, x); }
HIPPORT_PTX float f16_value(unsigned short bits) { return static_cast<float>(as_f16(bits)); }
HIPPORT_PTX float bf16_value(unsigned short bits) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
}

// -- to fp16 and bfloat16. NaN gives the canonical 0x7fff. ----------------------------------------------------------------
HIPPORT_PTX unsigned short cvt_rn_f16(float x) { return x != x ? 0x7fff : f16_bits(static_cast<_Float16>(x)); }
HIPPORT_PTX unsigned short cvt_rn_bf16(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  if (x != x) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
HIPPORT_PTX unsigned short cvt_rn_f16(double x) { return detail::real_to_ieee16<Fp16Format>(x, Rounding::nearest_even); }
HIPPORT_PTX unsigned short cvt_rn_bf16(double x) { return detail::real_to_ieee16<Bf16Format>(x, Rounding::nearest_even); }

#define HIPPORT_CVT(suffix, mode)                                                                              \
  template <class R> HIPPORT_PTX unsigned short cvt_##suffix##_f16(R x) {                                      \
    return detail::real_to_ieee16<Fp16Format>(x, mode);                                                        \
  }                                                                                                            \
  template <class R> HIPPORT_PTX unsigned short cvt_##suffix##_bf16(R x) {                                     \
    return detail::real_to_ieee16<Bf16Format>(x, mode);                                                        \
  }                                                                                                            \
  HIPPORT_PTX float cvt_##suffix##_f32(double x) { return detail::f64_to_f32(x, mode); }
HIPPORT_CVT(rz, Rounding::toward_zero)
HIPPORT_CVT(rm, Rounding::down)
HIPPORT_CVT(rp, Rounding::up)
#undef HIPPORT_CVT
HIPPORT_PTX float cvt_rn_f32(double x) { return static_cast<float>(x); }

// Both halves of one register: `low` to bits 0-15.
HIPPORT_PTX unsigned cvt_rn_f16x2(float low, float high) { return pack(cvt_rn_f16(low), cvt_rn_f16(high)); }
HIPPORT_PTX unsigned cvt_rn_bf16x2(float low, float high) { return pack(cvt_rn_bf16(low), cvt_rn_bf16(high)); }
HIPPORT_PTX unsigned cvt_rz_f16x2(float low, float high) {
  return pack(cvt_rz_f16<float>(low), cvt_rz_f16<float>(high));
}
HIPPORT_PTX unsigned cvt_rz_bf16x2(float low, float high) {
  return pack(cvt_rz_bf16<float>(low), cvt_rz_bf16<float>(high));
}
namespace detail {
HIPPORT_PTX unsigned short finite16(unsigned short x, unsigned short infinity) {
  return (x & 0x7fffu) == infinity ? x - 1 : x;
}
}  // namespace detail
/// .satfinite of one result: infinity becomes the largest number.
HIPPORT_PTX unsigned short finite_f16(unsigned short x) { return detail::finite16(x, 0x7c00); }
HIPPORT_PTX unsigned short finite_bf16(unsigned short x) { return detail::finite16(x, 0x7f80); }
#define HIPPORT_SATFINITE(mode)                                                                                     \
  HIPPORT_PTX unsigned cvt_##mode##_satfinite_f16x2(float low, float high) {                                        \
    const unsigned x = cvt_##mode##_f16x2(low, high);                                                               \
    return pack(detail::finite16(static_cast<unsigned short>(x), 0x7c00),                                           \
                detail::finite16(static_cast<unsigned short>(x >> 16), 0x7c00));                                    \
  }                                                                                                                 \
  HIPPORT_PTX unsigned cvt_##mode##_satfinite_bf16x2(float low, float high) {                                       \
    const unsigned x = cvt_##mode##_bf16x2(low, high);                                                              \
    return pack(detail::finite16(static_cast<unsigned short>(x), 0x7f80),                                           \
                detail::finite16(static_cast<unsigned short>(x >> 16), 0x7f80));                                    \
  }
HIPPORT_SATFINITE(rn)
HIPPORT_SATFINITE(rz)
#undef HIPPORT_SATFINITE

// -- tf32: f32 with 10 mantissa bits ------------------------------------------------------------------------------------
HIPPORT_PTX unsigned cvt_rna_tf32(float x) {  // ties away from zero
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return x - x != 0.0f ? (x != x ? 0x7fffffffu : bits) : (bits + 0x1000u) & 0xffffe000u;
}
HIPPORT_PTX unsigned cvt_rn_tf32(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return x - x != 0.0f ? (x != x ? 0x7fffffffu : bits) : (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;
}
HIPPORT_PTX unsigned cvt_rz_tf32(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return x != x ? 0x7fffffffu : bits & 0xffffe000u;
}
HIPPORT_PTX unsigned finite_tf32(unsigned x) {
  return (x & 0x7fffffffu) == 0x7f800000u ? (x & 0x80000000u) | 0x7f7fe000u : x;
}
HIPPORT_PTX unsigned relu_tf32(unsigned x) { return (x & 0x7fffffffu) > 0x7f800000u ? x : x >> 31 ? 0u : x; }

// -- 8-, 6- and 4-bit formats, those of OCP on every target; two in a register, `low` in the lower bits ---------------------
#define HIPPORT_SMALL(name, format, type, width)                                                               \
  HIPPORT_PTX type cvt_rn_satfinite_##name##x2(float low, float high) {                                        \
    return static_cast<type>(hipport::detail::real_to_small<format>(low) |                                     \
                             (hipport::detail::real_to_small<format>(high) << width));                         \
  }                                                                                                            \
  HIPPORT_PTX type cvt_rn_satfinite_relu_##name##x2(float low, float high) {                                   \
    /* -0 becomes +0, NaN stays */                                                                             \
    return cvt_rn_satfinite_##name##x2(low <= 0.0f ? 0.0f : low, high <= 0.0f ? 0.0f : high);                  \
  }                                                                                                            \
  HIPPORT_PTX unsigned cvt_rn_f16x2_##name##x2(type x) {                                                       \
    return pack(hipport::detail::small_to_half_bits<format>(x), hipport::detail::small_to_half_bits<format>(x >> width)); \
  }
HIPPORT_SMALL(e4m3, E4m3Format, unsigned short, 8)
HIPPORT_SMALL(e5m2, E5m2Format, unsigned short, 8)
HIPPORT_SMALL(e2m3, E2m3Format, unsigned short, 8)
HIPPORT_SMALL(e3m2, E3m2Format, unsigned short, 8)
HIPPORT_SMALL(e2m1, E2m1Format, unsigned char, 4)
#undef HIPPORT_SMALL

namespace detail {
/// Exponent of |x| as ue8m0, a power of two from 2^-127; `up` rounds to the next one. NaN is 0xff, overflow too unless `finite`.
HIPPORT_PTX unsigned to_ue8m0(float x, bool up, bool finite) {
  const unsigned magnitude = __builtin_bit_cast(unsigned, x) & 0x7fffffffu;
  unsigned exponent = magnitude >> 23;
  if (up && (magnitude & 0x7fffffu) != 0 && magnitude > 0x400000u && magnitude < 0x7f800000u) ++exponent;
  return finite && exponent == 0xff && magnitude <= 0x7f800000u ? 0xfeu : exponent;
}
HIPPORT_PTX unsigned short ue8m0_to_bf16(unsigned x) {
  return x == 0xff ? 0x7fff : x == 0 ? 0x0040 : static_cast<unsigned short>(x << 7);
}
}  // namespace detail
/// cvt.rz and .rp to ue8m0x2.
template <bool Up, bool Finite> HIPPORT_PTX unsigned short cvt_ue8m0x2(float low, float high) {
  return static_cast<unsigned short>(detail::to_ue8m0(low, Up, Finite) | (detail::to_ue8m0(high, Up, Finite) << 8));
}
HIPPORT_PTX unsigned cvt_rn_bf16x2_ue8m0x2(unsigned short x) {
  return pack(detail::ue8m0_to_bf16(x & 0xffu), detail::ue8m0_to_bf16(x >> 8));
}

// -- integers ---------------------------------------------------------------------------------------------------------------
template <class To, class From> HIPPORT_PTX To cvt(From x) { return static_cast<To>(x); }
template <class To, class From> HIPPORT_PTX To cvt_sat(From x) {
  constexpr unsigned long long high = static_cast<unsigned long long>(detail::highest<To>);
  if constexpr (!detail::is_signed<From>) {
    return static_cast<unsigned long long>(x) > high ? detail::highest<To> : static_cast<To>(x);
  } else if constexpr (!detail::is_signed<To>) {
    return x < 0 ? To(0) : static_cast<unsigned long long>(x) > high ? detail::highest<To> : static_cast<To>(x);
  } else {
    return detail::clamp_to<To, long long>(x);
  }
}
/// cvt.pack.sat: two saturated integers of `Bits` bits, `a` above `b`; for small ones `c` moves up to make room.
template <int Bits, bool Signed> HIPPORT_PTX unsigned cvt_pack_sat(int a, int b, unsigned c) {
  constexpr int low = Signed ? -(1 << (Bits - 1)) : 0, high = Signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
  constexpr unsigned mask = (1u << Bits) - 1;
  const unsigned x = static_cast<unsigned>(a < low ? low : a > high ? high : a) & mask;
  const unsigned y = static_cast<unsigned>(b < low ? low : b > high ? high : b) & mask;
  const unsigned both = (x << Bits) | y;
  if constexpr (Bits == 16) return both;
  else return (c << (2 * Bits)) | both;
}

template <class I> HIPPORT_PTX float cvt_rn_f32(I x) { return static_cast<float>(x); }
template <class I> HIPPORT_PTX double cvt_rn_f64(I x) { return static_cast<double>(x); }
template <class I> HIPPORT_PTX unsigned short cvt_rn_f16(I x) {
  return hipport::detail::to_ieee16<Fp16Format>(detail::exact_integer(x), Rounding::nearest_even);
}
template <class I> HIPPORT_PTX unsigned short cvt_rn_bf16(I x) {
  return hipport::detail::to_ieee16<Bf16Format>(detail::exact_integer(x), Rounding::nearest_even);
}
namespace detail {
template <class T> inline constexpr bool is_real = T(0.5) != T(0);
}
#define HIPPORT_CVT(suffix, mode)                                                                             \
  template <class I> HIPPORT_PTX float cvt_##suffix##_f32(I x) {                                              \
    return __builtin_bit_cast(float, static_cast<unsigned>(detail::to_ieee<detail::Fp32Format>(detail::exact_integer(x), mode))); \
  }                                                                                                           \
  template <class I> HIPPORT_PTX double cvt_##suffix##_f64(I x) {                                             \
    return __builtin_bit_cast(double, detail::to_ieee<detail::Fp64Format>(detail::exact_integer(x), mode));   \
  }
HIPPORT_CVT(rz, Rounding::toward_zero)
HIPPORT_CVT(rm, Rounding::down)
HIPPORT_CVT(rp, Rounding::up)
#undef HIPPORT_CVT

// -- to integers: out of range saturates; NaN gives 0, or only the top bit set from f64 or to 64 bits ----------------------
HIPPORT_PTX float round_rni(float x) { return __builtin_rintf(x); }
HIPPORT_PTX double round_rni(double x) { return __builtin_rint(x); }
HIPPORT_PTX float round_rzi(float x) { return __builtin_truncf(x); }
HIPPORT_PTX double round_rzi(double x) { return __builtin_trunc(x); }
HIPPORT_PTX float round_rmi(float x) { return __builtin_floorf(x); }
HIPPORT_PTX double round_rmi(double x) { return __builtin_floor(x); }
HIPPORT_PTX float round_rpi(float x) { return __builtin_ceilf(x); }
HIPPORT_PTX double round_rpi(double x) { return __builtin_ceil(x); }

namespace detail {
template <class I, class R> HIPPORT_PTX I integral(R x) {
  constexpr bool keeps_top = sizeof(R) == 8 || sizeof(I) == 8;
  if (x != x) return keeps_top ? I(u_of<I>(1) << (bits<I> - 1)) : I(0);
  constexpr R limit = R(u_of<I>(1) << (bits<I> - 1)) * (is_signed<I> ? R(1) : R(2));  // one above the highest
  if (x >= limit) return highest<I>;
  if (x < R(lowest<I>)) return lowest<I>;
  return static_cast<I>(x);
}
}  // namespace detail
template <class I, class R> HIPPORT_PTX I cvt_rni(R x) { return detail::integral<I>(round_rni(x)); }
template <class I, class R> HIPPORT_PTX I cvt_rzi(R x) { return detail::integral<I>(round_rzi(x)); }
template <class I, class R> HIPPORT_PTX I cvt_rmi(R x) { return detail::integral<I>(round_rmi(x)); }
template <class I, class R> HIPPORT_PTX I cvt_rpi(R x) { return detail::integral<I>(round_rpi(x)); }

}  // namespace ptx
}  // namespace hipport
