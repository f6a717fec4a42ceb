// PTX floating-point instructions. Exactly rounded operations give the same bits as on NVIDIA GPUs, NaN payloads apart;
// `approx` functions are AMD's own approximations.
// Source: PTX ISA 9.7.3, 9.7.4, 9.7.5.
#pragma once

#include <hipport/ptx_convert.h>

namespace hipport {
namespace ptx {

// -- modifiers --------------------------------------------------------------------------------------------------------
/// .ftz: a subnormal becomes a zero of its sign.
HIPPORT_PTX float ftz(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}
/// .sat: clamp to [0, 1]; NaN becomes +0.
HIPPORT_PTX float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
HIPPORT_PTX double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }
/// .relu: negative values become +0, NaN the canonical NaN.
HIPPORT_PTX float relu(float x) { return x != x ? __builtin_nanf("") : x > 0.0f ? x : 0.0f; }

namespace detail {
// Contraction would fuse an operation with a neighbour and lose its own rounding.
#define HIPPORT_ROUNDED(name, type, expression)      \
  HIPPORT_PTX type name(type a, type b) {            \
    _Pragma("clang fp contract(off)") return expression; \
  }
HIPPORT_ROUNDED(plain_add, float, a + b)
HIPPORT_ROUNDED(plain_add, double, a + b)
HIPPORT_ROUNDED(plain_sub, float, a - b)
HIPPORT_ROUNDED(plain_sub, double, a - b)
HIPPORT_ROUNDED(plain_mul, float, a* b)
HIPPORT_ROUNDED(plain_mul, double, a* b)
HIPPORT_ROUNDED(plain_div, float, a / b)
HIPPORT_ROUNDED(plain_div, double, a / b)
#undef HIPPORT_ROUNDED

HIPPORT_PTX double next_after(double x, bool up) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  if (x == 0.0) return __builtin_bit_cast(double, up ? 1ull : 0x8000000000000001ull);
  return __builtin_bit_cast(double, (x > 0.0) == up ? bits + 1 : bits - 1);
}
/// A double that rounds to any shorter format as `nearest + rest` does (rest: the exact error of nearest, or its sign).
HIPPORT_PTX double odd(double nearest, double rest) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, nearest);
  if (rest == 0.0 || (bits & 1ull) || nearest - nearest != 0.0) return nearest;
  return next_after(nearest, rest > 0.0);
}
HIPPORT_PTX double two_sum_error(double a, double b, double sum) {
#pragma clang fp contract(off)
  const double virtual_b = sum - a;
  return (a - (sum - virtual_b)) + (b - virtual_b);
}
HIPPORT_PTX double sum_odd(double a, double b) {
  const double sum = plain_add(a, b);
  return odd(sum, two_sum_error(a, b, sum));
}
HIPPORT_PTX double quotient_odd(float a, float b) {
  const double q = plain_div(double(a), double(b));
  if (q - q != 0.0 || b - b != 0.0f) return q;
  const double rest = __builtin_fma(-q, double(b), double(a));
  return odd(q, b < 0.0f ? -rest : rest);
}
HIPPORT_PTX double root_odd(float x) {
  const double root = __builtin_sqrt(double(x));
  return x > 0.0f && x - x == 0.0f ? odd(root, __builtin_fma(-root, root, double(x))) : root;
}
}  // namespace detail

// -- f32 and f64 arithmetic, IEEE rounding ------------------------------------------------------------------------------
template <class T> HIPPORT_PTX T add_rn(T a, T b) { return detail::plain_add(a, b); }
template <class T> HIPPORT_PTX T sub_rn(T a, T b) { return detail::plain_sub(a, b); }
template <class T> HIPPORT_PTX T mul_rn(T a, T b) { return detail::plain_mul(a, b); }
template <class T> HIPPORT_PTX T div_rn(T a, T b) { return detail::plain_div(a, b); }
HIPPORT_PTX float fma_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HIPPORT_PTX double fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
HIPPORT_PTX float rcp_rn(float x) { return detail::plain_div(1.0f, x); }
HIPPORT_PTX double rcp_rn(double x) { return detail::plain_div(1.0, x); }
HIPPORT_PTX float sqrt_rn(float x) { return static_cast<float>(detail::root_odd(x)); }
HIPPORT_PTX double sqrt_rn(double x) { return __builtin_sqrt(x); }

// Directed modes of f32: exact in double up to a sticky last bit, then one rounding. A zero sum of opposite signs is -0 in
// mode rm only.
#define HIPPORT_DIRECTED(suffix, mode)                                                                                  \
  HIPPORT_PTX float add_##suffix(float a, float b) {                                                                    \
    const double sum = detail::sum_odd(a, b);                                                                           \
    if (sum == 0.0 && a != 0.0f && mode == Rounding::down) return -0.0f;                                                \
    if (sum == 0.0 && a == 0.0f && mode == Rounding::down) return __builtin_signbit(a) | __builtin_signbit(b) ? -0.0f : 0.0f; \
    return cvt_##suffix##_f32(sum);                                                                                     \
  }                                                                                                                     \
  HIPPORT_PTX float sub_##suffix(float a, float b) { return add_##suffix(a, -b); }                                      \
  HIPPORT_PTX float mul_##suffix(float a, float b) { return cvt_##suffix##_f32(double(a) * double(b)); }                \
  HIPPORT_PTX float fma_##suffix(float a, float b, float c) {                                                           \
    const double product = double(a) * double(b), sum = detail::sum_odd(product, c);                                    \
    if (sum == 0.0 && mode == Rounding::down && (product != 0.0 || __builtin_signbit(product) != __builtin_signbit(c))) \
      return -0.0f;                                                                                                     \
    return cvt_##suffix##_f32(sum);                                                                                     \
  }                                                                                                                     \
  HIPPORT_PTX float div_##suffix(float a, float b) { return cvt_##suffix##_f32(detail::quotient_odd(a, b)); }           \
  HIPPORT_PTX float rcp_##suffix(float x) { return div_##suffix(1.0f, x); }                                             \
  HIPPORT_PTX float sqrt_##suffix(float x) { return cvt_##suffix##_f32(detail::root_odd(x)); }
HIPPORT_DIRECTED(rz, Rounding::toward_zero)
HIPPORT_DIRECTED(rm, Rounding::down)
HIPPORT_DIRECTED(rp, Rounding::up)
#undef HIPPORT_DIRECTED

// Directed modes of f64: AMD's device library changes the rounding mode of the hardware around the operation.
#define HIPPORT_DIRECTED(suffix, ocml)                                                                             \
  __device__ inline double add_##suffix(double a, double b) { return __ocml_add_##ocml##_f64(a, b); }              \
  __device__ inline double sub_##suffix(double a, double b) { return __ocml_sub_##ocml##_f64(a, b); }              \
  __device__ inline double mul_##suffix(double a, double b) { return __ocml_mul_##ocml##_f64(a, b); }              \
  __device__ inline double fma_##suffix(double a, double b, double c) { return __ocml_fma_##ocml##_f64(a, b, c); } \
  double div_##suffix(double a, double b) = delete; /* the library has none; never fall back to float */           \
  double rcp_##suffix(double x) = delete;                                                                          \
  double sqrt_##suffix(double x) = delete;
HIPPORT_DIRECTED(rz, rtz)
HIPPORT_DIRECTED(rm, rtn)
HIPPORT_DIRECTED(rp, rtp)
#undef HIPPORT_DIRECTED

// -- minimum, maximum, sign ---------------------------------------------------------------------------------------------
namespace detail {
/// PTX's canonical NaN, which instructions give when no operand is a number.
HIPPORT_PTX float canonical_nan(float) { return __builtin_bit_cast(float, 0x7fffffffu); }
HIPPORT_PTX double canonical_nan(double) { return __builtin_bit_cast(double, 0x7fffffffffffffffull); }
}  // namespace detail
#define HIPPORT_MIN_MAX(name, type, first)                                              \
  HIPPORT_PTX type f##name(type a, type b) { /* a NaN loses; -0 is less than +0 */      \
    if (a != a && b != b) return detail::canonical_nan(type());                         \
    if (a != a) return b;                                                               \
    if (b != b) return a;                                                               \
    if (a == b) return (__builtin_signbit(a) != 0) == first ? a : b;                    \
    return (a < b) == first ? a : b;                                                    \
  }                                                                                     \
  HIPPORT_PTX type f##name##_nan(type a, type b) { return a != a || b != b ? detail::canonical_nan(type()) : f##name(a, b); }
HIPPORT_MIN_MAX(min, float, true)
HIPPORT_MIN_MAX(min, double, true)
HIPPORT_MIN_MAX(max, float, false)
HIPPORT_MIN_MAX(max, double, false)
#undef HIPPORT_MIN_MAX
HIPPORT_PTX float xorsign(float a, float b, float magnitude) {
  const unsigned sign = (__builtin_bit_cast(unsigned, a) ^ __builtin_bit_cast(unsigned, b)) & 0x80000000u;
  return __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, magnitude) & 0x7fffffffu) | sign);
}
HIPPORT_PTX float fabs(float x) { return __builtin_fabsf(x); }
HIPPORT_PTX double fabs(double x) { return __builtin_fabs(x); }
HIPPORT_PTX float fneg(float x) { return -x; }
HIPPORT_PTX double fneg(double x) { return -x; }

template <class T> HIPPORT_PTX bool is_finite(T x) { return x - x == 0; }
template <class T> HIPPORT_PTX bool is_infinite(T x) { return x == x && x - x != 0; }
template <class T> HIPPORT_PTX bool is_number(T x) { return x == x; }
template <class T> HIPPORT_PTX bool is_notanumber(T x) { return x != x; }
HIPPORT_PTX bool is_normal(float x) { return is_finite(x) && __builtin_fabsf(x) >= 0x1p-126f; }
HIPPORT_PTX bool is_normal(double x) { return is_finite(x) && __builtin_fabs(x) >= 0x1p-1022; }
template <class T> HIPPORT_PTX bool is_subnormal(T x) { return is_finite(x) && !is_normal(x) && x != 0; }

// -- half and bfloat16, one and two per register ----------------------------------------------------------------------------
// bfloat16 operations go through wider types that hold the exact result or a value that rounds like it.
#define HIPPORT_HALVES(name, parameters, arguments_low, arguments_high)                                          \
  HIPPORT_PTX unsigned name##_f16x2 parameters {                                                                 \
    return pack(name##_f16 arguments_low, name##_f16 arguments_high);                                            \
  }                                                                                                              \
  HIPPORT_PTX unsigned name##_bf16x2 parameters {                                                                \
    return pack(name##_bf16 arguments_low, name##_bf16 arguments_high);                                          \
  }
#define HIPPORT_HALVES1(name) HIPPORT_HALVES(name, (unsigned a), (low16(a)), (high16(a)))
#define HIPPORT_HALVES2(name) HIPPORT_HALVES(name, (unsigned a, unsigned b), (low16(a), low16(b)), (high16(a), high16(b)))
#define HIPPORT_HALVES3(name)                                                                        \
  HIPPORT_HALVES(name, (unsigned a, unsigned b, unsigned c), (low16(a), low16(b), low16(c)),         \
                 (high16(a), high16(b), high16(c)))

HIPPORT_PTX unsigned short low16(unsigned x) { return static_cast<unsigned short>(x); }
HIPPORT_PTX unsigned short high16(unsigned x) { return static_cast<unsigned short>(x >> 16); }

#define HIPPORT_HALF_OP(name, operation)                                                               \
  HIPPORT_PTX unsigned short name##_f16(unsigned short a, unsigned short b) {                          \
    _Pragma("clang fp contract(off)") return f16_bits(as_f16(a) operation as_f16(b));                  \
  }                                                                                                    \
  HIPPORT_PTX unsigned short name##_bf16(unsigned short a, unsigned short b) {                         \
    _Pragma("clang fp contract(off)") return cvt_rn_bf16(bf16_value(a) operation bf16_value(b));       \
  }                                                                                                    \
  HIPPORT_HALVES2(name)
HIPPORT_HALF_OP(add, +)
HIPPORT_HALF_OP(sub, -)
HIPPORT_HALF_OP(mul, *)
#undef HIPPORT_HALF_OP

HIPPORT_PTX unsigned short fma_f16(unsigned short a, unsigned short b, unsigned short c) {
#ifdef __HIP_DEVICE_COMPILE__
  return f16_bits(__builtin_fmaf16(as_f16(a), as_f16(b), as_f16(c)));
#else
  return cvt_rn_f16(detail::sum_odd(double(f16_value(a)) * double(f16_value(b)), f16_value(c)));
#endif
}
HIPPORT_PTX unsigned short fma_bf16(unsigned short a, unsigned short b, unsigned short c) {
  return cvt_rn_bf16(detail::sum_odd(double(bf16_value(a)) * double(bf16_value(b)), bf16_value(c)));
}
HIPPORT_HALVES3(fma)

#define HIPPORT_HALF_CHOICE(name)                                                                          \
  HIPPORT_PTX unsigned short name##_f16(unsigned short a, unsigned short b) {                              \
    return cvt_rn_f16(f##name(f16_value(a), f16_value(b)));                                                \
  }                                                                                                        \
  HIPPORT_PTX unsigned short name##_bf16(unsigned short a, unsigned short b) {                             \
    return cvt_rn_bf16(f##name(bf16_value(a), bf16_value(b)));                                             \
  }                                                                                                        \
  HIPPORT_HALVES2(name)
HIPPORT_HALF_CHOICE(min)
HIPPORT_HALF_CHOICE(max)
HIPPORT_HALF_CHOICE(min_nan)
HIPPORT_HALF_CHOICE(max_nan)
#undef HIPPORT_HALF_CHOICE
/// .xorsign.abs: the choice among magnitudes, with the product of the signs.
#define HIPPORT_HALF_XORSIGN(name, bits)                                                                     \
  HIPPORT_PTX unsigned short name##_xorsign_##bits(unsigned short a, unsigned short b) {                     \
    return (name##_##bits(a & 0x7fffu, b & 0x7fffu) & 0x7fffu) | ((a ^ b) & 0x8000u);                        \
  }                                                                                                          \
  HIPPORT_PTX unsigned name##_xorsign_##bits##x2(unsigned a, unsigned b) {                                   \
    return pack(name##_xorsign_##bits(low16(a), low16(b)), name##_xorsign_##bits(high16(a), high16(b)));     \
  }
HIPPORT_HALF_XORSIGN(min, f16)
HIPPORT_HALF_XORSIGN(min, bf16)
HIPPORT_HALF_XORSIGN(max, f16)
HIPPORT_HALF_XORSIGN(max, bf16)
HIPPORT_HALF_XORSIGN(min_nan, f16)
HIPPORT_HALF_XORSIGN(min_nan, bf16)
HIPPORT_HALF_XORSIGN(max_nan, f16)
HIPPORT_HALF_XORSIGN(max_nan, bf16)
#undef HIPPORT_HALF_XORSIGN

HIPPORT_PTX unsigned short fneg_f16(unsigned short a) { return a ^ 0x8000u; }
HIPPORT_PTX unsigned short fneg_bf16(unsigned short a) { return a ^ 0x8000u; }
HIPPORT_PTX unsigned short fabs_f16(unsigned short a) { return a & 0x7fffu; }
HIPPORT_PTX unsigned short fabs_bf16(unsigned short a) { return a & 0x7fffu; }
HIPPORT_HALVES1(fneg)
HIPPORT_HALVES1(fabs)

HIPPORT_PTX unsigned short ftz_f16(unsigned short a) { return (a & 0x7c00u) == 0 ? a & 0x8000u : a; }
HIPPORT_PTX unsigned short ftz_bf16(unsigned short a) { return (a & 0x7f80u) == 0 ? a & 0x8000u : a; }
HIPPORT_HALVES1(ftz)
HIPPORT_PTX unsigned short saturate_f16(unsigned short a) { return cvt_rn_f16(saturate(f16_value(a))); }
HIPPORT_PTX unsigned short saturate_bf16(unsigned short a) { return cvt_rn_bf16(saturate(bf16_value(a))); }
HIPPORT_HALVES1(saturate)
HIPPORT_PTX unsigned short relu_f16(unsigned short a) { return cvt_rn_f16(relu(f16_value(a))); }
HIPPORT_PTX unsigned short relu_bf16(unsigned short a) { return cvt_rn_bf16(relu(bf16_value(a))); }
HIPPORT_HALVES1(relu)

/// Both f32 of a 64-bit register: f(parts of the operands).
template <class F, class... X> HIPPORT_PTX unsigned long long both_f32(F f, X... operands) {
  const float low = f(__builtin_bit_cast(float, static_cast<unsigned>(operands))...);
  const float high = f(__builtin_bit_cast(float, static_cast<unsigned>(operands >> 32))...);
  return pack(__builtin_bit_cast(unsigned, low), __builtin_bit_cast(unsigned, high));
}

// -- approximations ---------------------------------------------------------------------------------------------------------
// ftz forms use the hardware instruction, whose subnormal inputs and results are zeros too; the others keep subnormals.
__device__ inline float ex2_approx_ftz(float x) { return __builtin_amdgcn_exp2f(x); }
__device__ inline float ex2_approx(float x) { return __builtin_exp2f(x); }
__device__ inline float lg2_approx_ftz(float x) { return __builtin_amdgcn_logf(x); }
__device__ inline float lg2_approx(float x) { return __builtin_log2f(x); }
__device__ inline float rcp_approx_ftz(float x) { return __builtin_amdgcn_rcpf(x); }
__device__ inline float rcp_approx(float x) { return 1.0f / x; }
__device__ inline double rcp_approx_ftz(double x) { return 1.0 / x; }
__device__ inline float rsqrt_approx_ftz(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ inline float rsqrt_approx(float x) { return ::rsqrtf(x); }
__device__ inline double rsqrt_approx(double x) { return ::rsqrt(x); }
__device__ inline double rsqrt_approx_ftz(double x) { return ::rsqrt(x); }
__device__ inline float sqrt_approx_ftz(float x) { return __builtin_amdgcn_sqrtf(x); }
__device__ inline float sqrt_approx(float x) { return __builtin_sqrtf(x); }
__device__ inline float sin_approx(float x) { return ::__sinf(x); }
__device__ inline float sin_approx_ftz(float x) { return ::__sinf(ftz(x)); }
__device__ inline float cos_approx(float x) { return ::__cosf(x); }
__device__ inline float cos_approx_ftz(float x) { return ::__cosf(ftz(x)); }
/// Without branches, as a hardware instruction: lanes whose input means nothing must not steer the others. Relative error
/// below 2^-15 (PTX states 2^-11). Near zero 1 - 2 / (e^2x + 1) cancels; it is held between x - x^3/3 and x, which enclose
/// tanh x. A choice by comparison would take a lane mask for every value at hand: scalar registers run out.
__device__ inline float tanh_approx(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float power = __builtin_amdgcn_exp2f(magnitude * 2.885390081777927f);  // e^2|x|
  const float far = __builtin_fmaf(-2.0f, __builtin_amdgcn_rcpf(power + 1.0f), 1.0f);
  const float near = __builtin_fmaf(magnitude * magnitude * magnitude, -1.0f / 3.0f, magnitude);
  return __builtin_copysignf(__builtin_amdgcn_fmed3f(near, far, magnitude), x);
}
__device__ inline float tanh_approx_ftz(float x) { return tanh_approx(ftz(x)); }
__device__ inline float div_approx(float a, float b) { return a / b; }
__device__ inline float div_approx_ftz(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }
#define HIPPORT_HALF_UNARY(name)                                                                                          \
  __device__ inline unsigned short name##_approx_f16(unsigned short a) { return cvt_rn_f16(name##_approx(f16_value(a))); } \
  __device__ inline unsigned short name##_approx_bf16(unsigned short a) {                                                 \
    return cvt_rn_bf16(name##_approx(bf16_value(a)));                                                                     \
  }                                                                                                                       \
  __device__ inline unsigned name##_approx_f16x2(unsigned a) {                                                            \
    return pack(name##_approx_f16(low16(a)), name##_approx_f16(high16(a)));                                               \
  }                                                                                                                       \
  __device__ inline unsigned name##_approx_bf16x2(unsigned a) {                                                           \
    return pack(name##_approx_bf16(low16(a)), name##_approx_bf16(high16(a)));                                             \
  }
HIPPORT_HALF_UNARY(ex2)
HIPPORT_HALF_UNARY(tanh)
#undef HIPPORT_HALF_UNARY
#undef HIPPORT_HALVES1
#undef HIPPORT_HALVES2
#undef HIPPORT_HALVES3
#undef HIPPORT_HALVES

}  // namespace ptx
}  // namespace hipport
