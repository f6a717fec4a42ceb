// OCP fp8 (e4m3 and e5m2) with the interface of <cuda_fp8.h>, exact on every target.
//
// NVIDIA's e4m3 is the OCP format: bias 7, largest 448, no infinity, NaN 0x7f/0xff. gfx942 converts in hardware to another
// format of the same name (fnuz: bias 8, largest 240, NaN 0x80), so the same byte means another number there, and HIP's
// __hip_fp8_e4m3 asserts on it. Bytes that come from or go to a checkpoint must keep their meaning: the types below are OCP
// everywhere. gfx950 and gfx12 convert in hardware; elsewhere a few integer instructions do it.
//
// NaN results are 0x7f, as PTX cvt gives them. e8m0 scale factors are not here.
//
// Sources: OCP 8-bit Floating Point Specification (OFP8) 1.0; CUDA Math API Reference Manual, "FP8 Intrinsics"; PTX ISA, cvt.
#pragma once

#include <hipport/bf16.h>
#include <hipport/small_float.h>

namespace hipport {

using fp8_storage = unsigned char;
using fp8x2_storage = unsigned short;
using fp8x4_storage = unsigned int;

enum class fp8_saturation { nosat, satfinite };
enum class fp8_interpretation { e4m3, e5m2 };

namespace detail {

template <class Real>
__host__ __device__ inline fp8_storage to_fp8(Real x, fp8_saturation saturation, fp8_interpretation kind) {
  const bool saturate = saturation == fp8_saturation::satfinite;
  return static_cast<fp8_storage>(kind == fp8_interpretation::e4m3 ? real_to_small<E4m3Format>(x, saturate)
                                                                   : real_to_small<E5m2Format>(x, saturate));
}

__host__ __device__ inline unsigned short fp8_to_half_bits(fp8_storage x, fp8_interpretation kind) {
  return kind == fp8_interpretation::e4m3 ? small_to_half_bits<E4m3Format>(x) : small_to_half_bits<E5m2Format>(x);
}

__host__ __device__ inline float fp8_to_float(fp8_storage x, fp8_interpretation kind) {
#if defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
  return kind == fp8_interpretation::e4m3 ? __builtin_amdgcn_cvt_f32_fp8(x, 0) : __builtin_amdgcn_cvt_f32_bf8(x, 0);
#else
  return (float)__builtin_bit_cast(_Float16, fp8_to_half_bits(x, kind));
#endif
}

// Spelled out because float4 has no constructor that host and device share.
__host__ __device__ inline float4 four_floats(fp8x4_storage x, fp8_interpretation kind) {
  float4 r;
  r.x = fp8_to_float((fp8_storage)x, kind);
  r.y = fp8_to_float((fp8_storage)(x >> 8), kind);
  r.z = fp8_to_float((fp8_storage)(x >> 16), kind);
  r.w = fp8_to_float((fp8_storage)(x >> 24), kind);
  return r;
}

}  // namespace detail

__host__ __device__ inline fp8_storage cvt_double_to_fp8(double x, fp8_saturation s, fp8_interpretation k) {
  return detail::to_fp8(x, s, k);
}
__host__ __device__ inline fp8_storage cvt_float_to_fp8(float x, fp8_saturation s, fp8_interpretation k) {
  return detail::to_fp8(x, s, k);
}
__host__ __device__ inline fp8_storage cvt_halfraw_to_fp8(__half_raw x, fp8_saturation s, fp8_interpretation k) {
  return detail::to_fp8(detail::to_float(__half(x)), s, k);
}
__host__ __device__ inline fp8_storage cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, fp8_saturation s, fp8_interpretation k) {
  return detail::to_fp8(detail::to_float(__hip_bfloat16(x)), s, k);
}
// Two at a time: the first component is the low byte.
__host__ __device__ inline fp8x2_storage cvt_double2_to_fp8x2(double2 x, fp8_saturation s, fp8_interpretation k) {
  return (fp8x2_storage)(detail::to_fp8(x.x, s, k) | detail::to_fp8(x.y, s, k) << 8);
}
__host__ __device__ inline fp8x2_storage cvt_float2_to_fp8x2(float2 x, fp8_saturation s, fp8_interpretation k) {
  return (fp8x2_storage)(detail::to_fp8(x.x, s, k) | detail::to_fp8(x.y, s, k) << 8);
}
__host__ __device__ inline fp8x2_storage cvt_halfraw2_to_fp8x2(__half2_raw x, fp8_saturation s, fp8_interpretation k) {
  const __half2 h = x;
  return (fp8x2_storage)(detail::to_fp8(detail::to_float(detail::low(h)), s, k) |
                         detail::to_fp8(detail::to_float(detail::high(h)), s, k) << 8);
}
__host__ __device__ inline fp8x2_storage cvt_bfloat16raw2_to_fp8x2(__hip_bfloat162_raw x, fp8_saturation s,
                                                                   fp8_interpretation k) {
  return (fp8x2_storage)(detail::to_fp8(detail::to_float(detail::bf16_of_bits(x.x)), s, k) |
                         detail::to_fp8(detail::to_float(detail::bf16_of_bits(x.y)), s, k) << 8);
}
__host__ __device__ inline __half_raw cvt_fp8_to_halfraw(fp8_storage x, fp8_interpretation k) {
  return detail::half_of_bits(detail::fp8_to_half_bits(x, k));
}
__host__ __device__ inline __half2_raw cvt_fp8x2_to_halfraw2(fp8x2_storage x, fp8_interpretation k) {
  return detail::pair(detail::half_of_bits(detail::fp8_to_half_bits((fp8_storage)x, k)),
                      detail::half_of_bits(detail::fp8_to_half_bits((fp8_storage)(x >> 8), k)));
}

// One fp8 number; conversions into it saturate, conversions out are exact or go through float.
template <fp8_interpretation Kind>
struct alignas(1) fp8 {
  fp8_storage __x;

  fp8() = default;
  __host__ __device__ explicit fp8(float f) : __x(detail::to_fp8(f, fp8_saturation::satfinite, Kind)) {}
  __host__ __device__ explicit fp8(double f) : __x(detail::to_fp8(f, fp8_saturation::satfinite, Kind)) {}
  __host__ __device__ explicit fp8(__half f) : fp8(detail::to_float(f)) {}
  __host__ __device__ explicit fp8(__hip_bfloat16 f) : fp8(detail::to_float(f)) {}
  // 53 bits of a double hold every int exactly; for 64-bit integers the value past 2^53 saturates anyway.
  __host__ __device__ explicit fp8(short i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(unsigned short i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(int i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(unsigned i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(long i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(unsigned long i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(long long i) : fp8((double)i) {}
  __host__ __device__ explicit fp8(unsigned long long i) : fp8((double)i) {}

  __host__ __device__ explicit operator float() const { return detail::fp8_to_float(__x, Kind); }
  __host__ __device__ explicit operator double() const { return (double)(float)*this; }
  __host__ __device__ explicit operator __half() const { return detail::half_of_bits(detail::fp8_to_half_bits(__x, Kind)); }
  __host__ __device__ explicit operator __hip_bfloat16() const {
    return detail::to_bf16((float)*this, Rounding::nearest_even);
  }
  __host__ __device__ explicit operator bool() const { return (__x & 0x7f) != 0; }
  // Integers of every width; C++17 spelling of "I is an integer type".
  template <class I, class = decltype(I() << 1), class = decltype(I() % I(1))>
  __host__ __device__ explicit operator I() const {
    return detail::to_integer<I>((float)*this, Rounding::toward_zero);
  }
};

template <fp8_interpretation Kind>
struct alignas(2) fp8x2 {
  fp8x2_storage __x;

  fp8x2() = default;
  __host__ __device__ explicit fp8x2(float2 f) : __x(cvt_float2_to_fp8x2(f, fp8_saturation::satfinite, Kind)) {}
  __host__ __device__ explicit fp8x2(double2 f) : __x(cvt_double2_to_fp8x2(f, fp8_saturation::satfinite, Kind)) {}
  __host__ __device__ explicit fp8x2(__half2 f)
      : __x(cvt_halfraw2_to_fp8x2(static_cast<__half2_raw>(f), fp8_saturation::satfinite, Kind)) {}
  __host__ __device__ explicit fp8x2(__hip_bfloat162 f)
      : __x(cvt_bfloat16raw2_to_fp8x2(static_cast<__hip_bfloat162_raw>(f), fp8_saturation::satfinite, Kind)) {}

  __host__ __device__ explicit operator __half2() const { return cvt_fp8x2_to_halfraw2(__x, Kind); }
  __host__ __device__ explicit operator float2() const {
    float2 r;
    r.x = detail::fp8_to_float((fp8_storage)__x, Kind);
    r.y = detail::fp8_to_float((fp8_storage)(__x >> 8), Kind);
    return r;
  }
};

template <fp8_interpretation Kind>
struct alignas(4) fp8x4 {
  fp8x4_storage __x;

  fp8x4() = default;
  __host__ __device__ explicit fp8x4(float4 f)
      : __x(join(detail::to_fp8(f.x, fp8_saturation::satfinite, Kind), detail::to_fp8(f.y, fp8_saturation::satfinite, Kind),
                 detail::to_fp8(f.z, fp8_saturation::satfinite, Kind), detail::to_fp8(f.w, fp8_saturation::satfinite, Kind))) {}
  __host__ __device__ explicit fp8x4(double4 f)
      : __x(join(detail::to_fp8(f.x, fp8_saturation::satfinite, Kind), detail::to_fp8(f.y, fp8_saturation::satfinite, Kind),
                 detail::to_fp8(f.z, fp8_saturation::satfinite, Kind), detail::to_fp8(f.w, fp8_saturation::satfinite, Kind))) {}
  template <class Pair>
  __host__ __device__ explicit fp8x4(Pair low, Pair high)
      : __x((fp8x4_storage)fp8x2<Kind>(low).__x | (fp8x4_storage)fp8x2<Kind>(high).__x << 16) {}

  __host__ __device__ explicit operator float4() const { return detail::four_floats(__x, Kind); }

 private:
  __host__ __device__ static fp8x4_storage join(fp8_storage a, fp8_storage b, fp8_storage c, fp8_storage d) {
    return (fp8x4_storage)a | (fp8x4_storage)b << 8 | (fp8x4_storage)c << 16 | (fp8x4_storage)d << 24;
  }
};

using fp8_e4m3 = fp8<fp8_interpretation::e4m3>;
using fp8_e5m2 = fp8<fp8_interpretation::e5m2>;
using fp8x2_e4m3 = fp8x2<fp8_interpretation::e4m3>;
using fp8x2_e5m2 = fp8x2<fp8_interpretation::e5m2>;
using fp8x4_e4m3 = fp8x4<fp8_interpretation::e4m3>;
using fp8x4_e5m2 = fp8x4<fp8_interpretation::e5m2>;

static_assert(sizeof(fp8_e4m3) == 1 && sizeof(fp8x2_e4m3) == 2 && sizeof(fp8x4_e4m3) == 4, "storage is the bytes alone");

}  // namespace hipport
