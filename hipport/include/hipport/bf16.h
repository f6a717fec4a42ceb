// bfloat16 names of <cuda_bf16.h> that <hip/hip_bf16.h> lacks, on HIP's __hip_bfloat16.
//
// Declared as low-ranked templates like the fp16 ones (see half.h), so that a HIP that has the name wins.
//
// Source: CUDA Math API Reference Manual, "Bfloat16 Precision Intrinsics".
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <hipport/half.h>

namespace hipport::detail {

__host__ __device__ inline __hip_bfloat16 bf16_of_bits(unsigned short bits) {
  __hip_bfloat16_raw raw;
  raw.x = bits;
  return raw;
}
__host__ __device__ inline unsigned short bits_of(__hip_bfloat16 h) { return static_cast<__hip_bfloat16_raw>(h).x; }
__host__ __device__ inline float to_float(__hip_bfloat16 h) {
  return __builtin_bit_cast(float, (unsigned)bits_of(h) << 16);
}
__host__ __device__ inline __hip_bfloat16 low(__hip_bfloat162 v) { return v.x; }
__host__ __device__ inline __hip_bfloat16 high(__hip_bfloat162 v) { return v.y; }
__host__ __device__ inline __hip_bfloat162 pair(__hip_bfloat16 x, __hip_bfloat16 y) { return __hip_bfloat162(x, y); }
__host__ __device__ inline unsigned word_of(__hip_bfloat162 v) { return bits_of(v.x) | (unsigned)bits_of(v.y) << 16; }
__host__ __device__ inline __hip_bfloat162 bf162_of(unsigned word) {
  return pair(bf16_of_bits((unsigned short)word), bf16_of_bits((unsigned short)(word >> 16)));
}

template <class Number>
__host__ __device__ inline __hip_bfloat16 to_bf16(Number x, Rounding mode) {
  if constexpr (Number(1) / Number(2) != Number(0))
    return bf16_of_bits(real_to_ieee16<Bf16Format>(x, mode));
  else
    return bf16_of_bits(to_ieee16<Bf16Format>(exact(x), mode));
}

// Clamp to [0, 1]; NaN gives +0.
__host__ __device__ inline __hip_bfloat16 saturate(__hip_bfloat16 v) {
  const float f = to_float(v);
  if (!(f > 0.0f)) return bf16_of_bits(0);
  return f > 1.0f ? bf16_of_bits(0x3f80) : v;
}

// fma rounded once: the product is exact in double, and rounding the double sum to odd keeps the final rounding right
// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
__host__ __device__ inline __hip_bfloat16 fma_rn(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  const double product = (double)to_float(a) * (double)to_float(b);
  const double addend = (double)to_float(c);
  const double sum = product + addend;
  if (is_nan(sum) || is_inf(sum)) return to_bf16(sum, Rounding::nearest_even);
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);  // Knuth's two-sum: exact error of `sum`
  unsigned long long bits = bits_of(sum);
  // Step toward the exact value when it lies nearer zero, then set the last bit.
  if (lost != 0.0) {
    if ((lost < 0.0) != is_negative(sum)) bits -= 1;
    bits |= 1;
  }
  return to_bf16(__builtin_bit_cast(double, bits), Rounding::nearest_even);
}

__host__ __device__ inline __hip_bfloat162 fma_rn(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return pair(fma_rn(a.x, b.x, c.x), fma_rn(a.y, b.y, c.y));
}

}  // namespace hipport::detail

// Conversions from numbers, one rounding in the named mode.
#define HIPPORT_BF16_FROM(name, T, Wide)                                                               \
  HIPPORT_FALLBACK __hip_bfloat16 __##name##2bfloat16_rn(T x) {                                        \
    return hipport::detail::to_bf16((Wide)x, hipport::Rounding::nearest_even);                         \
  }                                                                                                    \
  HIPPORT_FALLBACK __hip_bfloat16 __##name##2bfloat16_rz(T x) {                                        \
    return hipport::detail::to_bf16((Wide)x, hipport::Rounding::toward_zero);                          \
  }                                                                                                    \
  HIPPORT_FALLBACK __hip_bfloat16 __##name##2bfloat16_rd(T x) {                                        \
    return hipport::detail::to_bf16((Wide)x, hipport::Rounding::down);                                 \
  }                                                                                                    \
  HIPPORT_FALLBACK __hip_bfloat16 __##name##2bfloat16_ru(T x) {                                        \
    return hipport::detail::to_bf16((Wide)x, hipport::Rounding::up);                                   \
  }
HIPPORT_BF16_FROM(float, float, float)
HIPPORT_BF16_FROM(int, int, long long)
HIPPORT_BF16_FROM(uint, unsigned, unsigned long long)
HIPPORT_BF16_FROM(short, short, long long)
HIPPORT_BF16_FROM(ushort, unsigned short, unsigned long long)
HIPPORT_BF16_FROM(ll, long long, long long)
HIPPORT_BF16_FROM(ull, unsigned long long, unsigned long long)

// Conversions to integers: saturating, NaN as `to_integer` says.
#define HIPPORT_BF16_TO(name, I)                                                                                 \
  HIPPORT_FALLBACK I __bfloat162##name##_rn(__hip_bfloat16 h) {                                                  \
    return hipport::detail::to_integer<I>(hipport::detail::to_float(h), hipport::Rounding::nearest_even);        \
  }                                                                                                              \
  HIPPORT_FALLBACK I __bfloat162##name##_rz(__hip_bfloat16 h) {                                                  \
    return hipport::detail::to_integer<I>(hipport::detail::to_float(h), hipport::Rounding::toward_zero);         \
  }                                                                                                              \
  HIPPORT_FALLBACK I __bfloat162##name##_rd(__hip_bfloat16 h) {                                                  \
    return hipport::detail::to_integer<I>(hipport::detail::to_float(h), hipport::Rounding::down);                \
  }                                                                                                              \
  HIPPORT_FALLBACK I __bfloat162##name##_ru(__hip_bfloat16 h) {                                                  \
    return hipport::detail::to_integer<I>(hipport::detail::to_float(h), hipport::Rounding::up);                  \
  }
HIPPORT_BF16_TO(int, int)
HIPPORT_BF16_TO(uint, unsigned)
HIPPORT_BF16_TO(short, short)
HIPPORT_BF16_TO(ushort, unsigned short)
HIPPORT_BF16_TO(ll, long long)
HIPPORT_BF16_TO(ull, unsigned long long)
HIPPORT_FALLBACK signed char __bfloat162char_rz(__hip_bfloat16 h) {
  return hipport::detail::to_integer<signed char>(hipport::detail::to_float(h), hipport::Rounding::toward_zero);
}
HIPPORT_FALLBACK unsigned char __bfloat162uchar_rz(__hip_bfloat16 h) {
  return hipport::detail::to_integer<unsigned char>(hipport::detail::to_float(h), hipport::Rounding::toward_zero);
}

HIPPORT_FALLBACK __hip_bfloat162 __float2bfloat162_rn(float x) {
  const __hip_bfloat16 v = hipport::detail::to_bf16(x, hipport::Rounding::nearest_even);
  return hipport::detail::pair(v, v);
}
HIPPORT_FALLBACK __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return hipport::detail::pair(hipport::detail::to_bf16(x, hipport::Rounding::nearest_even),
                               hipport::detail::to_bf16(y, hipport::Rounding::nearest_even));
}
HIPPORT_FALLBACK __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return hipport::detail::pair(x, y); }

HIPPORT_MASK2(eq, __hip_bfloat162, hipport::Bf16Format)
HIPPORT_MASK2(ne, __hip_bfloat162, hipport::Bf16Format)
HIPPORT_MASK2(le, __hip_bfloat162, hipport::Bf16Format)
HIPPORT_MASK2(ge, __hip_bfloat162, hipport::Bf16Format)
HIPPORT_MASK2(lt, __hip_bfloat162, hipport::Bf16Format)
HIPPORT_MASK2(gt, __hip_bfloat162, hipport::Bf16Format)

// Unordered comparisons that give 1.0 or 0.0 in each half.
#define HIPPORT_BF16_UNORDERED(name)                                                                       \
  HIPPORT_FALLBACK __hip_bfloat162 __h##name##u2(__hip_bfloat162 a, __hip_bfloat162 b) {                   \
    using namespace hipport::detail;                                                                       \
    return bf162_of(mask2<hipport::Bf16Format>(Compare::name, word_of(a), word_of(b), true) & 0x3f803f80u); \
  }
HIPPORT_BF16_UNORDERED(eq)
HIPPORT_BF16_UNORDERED(ne)
HIPPORT_BF16_UNORDERED(le)
HIPPORT_BF16_UNORDERED(ge)
HIPPORT_BF16_UNORDERED(lt)
HIPPORT_BF16_UNORDERED(gt)

#define HIPPORT_BF16_ARITHMETIC(op)                                                                                      \
  HIPPORT_DEVICE_FALLBACK __hip_bfloat16 __h##op##_rn(__hip_bfloat16 a, __hip_bfloat16 b) {                              \
    HIPPORT_NO_CONTRACTION return __h##op(a, b);                                                                         \
  }                                                                                                                      \
  HIPPORT_DEVICE_FALLBACK __hip_bfloat162 __h##op##2_rn(__hip_bfloat162 a, __hip_bfloat162 b) {                          \
    HIPPORT_NO_CONTRACTION return __h##op##2(a, b);                                                                      \
  }                                                                                                                      \
  HIPPORT_DEVICE_FALLBACK __hip_bfloat16 __h##op##_sat(__hip_bfloat16 a, __hip_bfloat16 b) {                             \
    return hipport::detail::saturate(__h##op(a, b));                                                                     \
  }                                                                                                                      \
  HIPPORT_DEVICE_FALLBACK __hip_bfloat162 __h##op##2_sat(__hip_bfloat162 a, __hip_bfloat162 b) {                         \
    const __hip_bfloat162 r = __h##op##2(a, b);                                                                          \
    return hipport::detail::pair(hipport::detail::saturate(r.x), hipport::detail::saturate(r.y));                        \
  }
HIPPORT_BF16_ARITHMETIC(add)
HIPPORT_BF16_ARITHMETIC(sub)
HIPPORT_BF16_ARITHMETIC(mul)

HIPPORT_FALLBACK __hip_bfloat16 __hfma_sat(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return hipport::detail::saturate(hipport::detail::fma_rn(a, b, c));
}
HIPPORT_FALLBACK __hip_bfloat162 __hfma2_sat(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  using namespace hipport::detail;
  const __hip_bfloat162 r = fma_rn(a, b, c);
  return pair(saturate(r.x), saturate(r.y));
}
HIPPORT_FALLBACK __hip_bfloat16 __hfma_relu(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  using namespace hipport::detail;
  return bf16_of_bits((unsigned short)relu16<hipport::Bf16Format>(bits_of(fma_rn(a, b, c))));
}
HIPPORT_FALLBACK __hip_bfloat162 __hfma2_relu(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  using namespace hipport::detail;
  return bf162_of(each_half(word_of(fma_rn(a, b, c)), 0,
                            [](unsigned x, unsigned) { return relu16<hipport::Bf16Format>(x); }));
}
// Complex multiply-add: (a.x + i a.y) * (b.x + i b.y) + c.
HIPPORT_FALLBACK __hip_bfloat162 __hcmadd(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  using namespace hipport::detail;
  const __hip_bfloat16 minus_im = bf16_of_bits(bits_of(a.y) ^ 0x8000);
  return pair(fma_rn(minus_im, b.y, fma_rn(a.x, b.x, c.x)), fma_rn(a.y, b.x, fma_rn(a.x, b.y, c.y)));
}

#define HIPPORT_BF16_EXTREME(name, larger)                                                                  \
  HIPPORT_FALLBACK __hip_bfloat16 __h##name##_nan(__hip_bfloat16 a, __hip_bfloat16 b) {                     \
    using namespace hipport::detail;                                                                        \
    return bf16_of_bits((unsigned short)select16<hipport::Bf16Format>(bits_of(a), bits_of(b), larger, true)); \
  }                                                                                                         \
  HIPPORT_EXTREME2(name, , larger, false, __hip_bfloat162, hipport::Bf16Format, bf162_of)                   \
  HIPPORT_EXTREME2(name, _nan, larger, true, __hip_bfloat162, hipport::Bf16Format, bf162_of)
HIPPORT_BF16_EXTREME(max, true)
HIPPORT_BF16_EXTREME(min, false)

HIPPORT_DEVICE_FALLBACK __hip_bfloat16 htanh(__hip_bfloat16 a) {
  return hipport::detail::to_bf16(tanhf(hipport::detail::to_float(a)), hipport::Rounding::nearest_even);
}
HIPPORT_DEVICE_FALLBACK __hip_bfloat16 htanh_approx(__hip_bfloat16 a) { return htanh(a); }
HIPPORT_DEVICE_FALLBACK __hip_bfloat162 h2tanh(__hip_bfloat162 a) { return hipport::detail::pair(htanh(a.x), htanh(a.y)); }
HIPPORT_DEVICE_FALLBACK __hip_bfloat162 h2tanh_approx(__hip_bfloat162 a) { return h2tanh(a); }

HIPPORT_DEVICE_FALLBACK __hip_bfloat16 atomicAdd(__hip_bfloat16* address, __hip_bfloat16 value) {
  using namespace hipport::detail;
  return bf16_of_bits(atomic_update16(
      address, [value](unsigned short before) { return bits_of(__hadd(bf16_of_bits(before), value)); }));
}
HIPPORT_DEVICE_FALLBACK __hip_bfloat162 atomicAdd(__hip_bfloat162* address, __hip_bfloat162 value) {
  using namespace hipport::detail;
  return bf162_of(atomic_update(reinterpret_cast<unsigned*>(address),
                                [value](unsigned before) { return word_of(__hadd2(bf162_of(before), value)); }));
}

HIPPORT_CACHE_HINTS(__hip_bfloat16, unsigned short, bf16_of_bits, bits_of)
HIPPORT_CACHE_HINTS(__hip_bfloat162, unsigned, bf162_of, word_of)
#define HIPPORT_CACHED_LOADS(T)                                   \
  HIPPORT_DEVICE_FALLBACK T __ldg(const T* p) { return *p; }      \
  HIPPORT_DEVICE_FALLBACK T __ldca(const T* p) { return *p; }     \
  HIPPORT_DEVICE_FALLBACK T __ldcg(const T* p) { return *p; }     \
  HIPPORT_DEVICE_FALLBACK T __ldcs(const T* p) { return *p; }
HIPPORT_CACHED_LOADS(__hip_bfloat16)
HIPPORT_CACHED_LOADS(__hip_bfloat162)

#undef HIPPORT_BF16_FROM
#undef HIPPORT_BF16_TO
#undef HIPPORT_BF16_UNORDERED
#undef HIPPORT_BF16_ARITHMETIC
#undef HIPPORT_BF16_EXTREME
#undef HIPPORT_CACHED_LOADS
