// fp16 names of <cuda_fp16.h> that <hip/hip_fp16.h> lacks.
//
// A missing name is declared here as a template with a defaulted parameter: should a later HIP declare it as a plain
// function, overload resolution prefers HIP's and nothing clashes.
//
// Source: CUDA Math API Reference Manual, "Half Precision Intrinsics" (NaN results are the canonical 0x7fff; *_sat clamps
// to [0, 1] with NaN -> +0; *_relu clamps negative results to +0 and keeps NaN).
#pragma once

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <hipport/rounding.h>

#define HIPPORT_FALLBACK template <int = 0> __host__ __device__ inline
#define HIPPORT_DEVICE_FALLBACK template <int = 0> __device__ inline

namespace hipport::detail {

__host__ __device__ inline __half half_of_bits(unsigned short bits) {
  __half_raw raw;
  raw.x = bits;
  return raw;
}
__host__ __device__ inline unsigned short bits_of(__half h) { return static_cast<__half_raw>(h).x; }
__host__ __device__ inline float to_float(__half h) { return (float)__builtin_bit_cast(_Float16, bits_of(h)); }
__host__ __device__ inline __half low(__half2 v) { return __low2half(v); }
__host__ __device__ inline __half high(__half2 v) { return __high2half(v); }
__host__ __device__ inline __half2 pair(__half x, __half y) { return __halves2half2(x, y); }
__host__ __device__ inline unsigned word_of(__half2 v) { return bits_of(low(v)) | (unsigned)bits_of(high(v)) << 16; }
__host__ __device__ inline __half2 half2_of(unsigned word) {
  return pair(half_of_bits((unsigned short)word), half_of_bits((unsigned short)(word >> 16)));
}

// The rest works on the bits of a 16-bit format F, alone or two in a word, and so serves bfloat16 as well.

template <class F>
__host__ __device__ inline bool is_nan16(unsigned bits) {
  return (bits & 0x7fff) > ((1u << F::exponent_bits) - 1) << F::mantissa_bits;
}

// Total order of non-NaN values with -0 below +0: the sign-magnitude pattern as a two's complement integer.
__host__ __device__ inline int order16(unsigned bits) { return bits & 0x8000 ? -(int)(bits & 0x7fff) - 1 : (int)(bits & 0x7fff); }

// The larger (or smaller) value; a NaN operand is ignored, or wins when `propagate_nan`.
template <class F>
__host__ __device__ inline unsigned select16(unsigned a, unsigned b, bool larger, bool propagate_nan) {
  const bool nan_a = is_nan16<F>(a), nan_b = is_nan16<F>(b);
  if ((nan_a && nan_b) || ((nan_a || nan_b) && propagate_nan)) return 0x7fff;
  if (nan_a) return b;
  if (nan_b) return a;
  return (order16(a) > order16(b)) == larger ? a : b;
}

template <class F>
__host__ __device__ inline unsigned relu16(unsigned bits) {
  return is_nan16<F>(bits) ? 0x7fff : bits & 0x8000 ? 0 : bits;
}

// Apply a function of 16-bit patterns to both halves of words.
template <class Function>
__host__ __device__ inline unsigned each_half(unsigned a, unsigned b, Function f) {
  return (f(a & 0xffff, b & 0xffff) & 0xffff) | f(a >> 16, b >> 16) << 16;
}

enum class Compare { eq, ne, le, ge, lt, gt };

template <class F>
__host__ __device__ inline bool holds16(Compare c, unsigned a, unsigned b, bool unordered) {
  if (is_nan16<F>(a) || is_nan16<F>(b)) return unordered;
  // Zeros of both signs are equal here.
  const int x = (a & 0x7fff) ? order16(a) : 0, y = (b & 0x7fff) ? order16(b) : 0;
  switch (c) {
    case Compare::eq: return x == y;
    case Compare::ne: return x != y;
    case Compare::le: return x <= y;
    case Compare::ge: return x >= y;
    case Compare::lt: return x < y;
    case Compare::gt: return x > y;
  }
  return false;
}

// 0xffff in each half where the comparison holds; unordered forms also hold when an operand is NaN.
template <class F>
__host__ __device__ inline unsigned mask2(Compare c, unsigned a, unsigned b, bool unordered) {
  return each_half(a, b, [=](unsigned x, unsigned y) { return holds16<F>(c, x, y, unordered) ? 0xffffu : 0u; });
}

// Replace a word by `next(word)` atomically; returns the word before.
template <class Next>
__device__ inline unsigned atomic_update(unsigned* word, Next next) {
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next(seen), __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __HIP_MEMORY_SCOPE_AGENT)) {
  }
  return seen;
}

// The same for a 16-bit value, through the aligned word that holds it.
template <class Next>
__device__ inline unsigned short atomic_update16(void* address, Next next) {
  const auto where = reinterpret_cast<unsigned long long>(address);
  const unsigned shift = (where & 2) ? 16 : 0;
  const unsigned before = atomic_update(reinterpret_cast<unsigned*>(where & ~3ull), [=](unsigned word) {
    return (word & ~(0xffffu << shift)) | ((unsigned)next((unsigned short)(word >> shift)) << shift);
  });
  return (unsigned short)(before >> shift);
}

}  // namespace hipport::detail

HIPPORT_FALLBACK __half __double2half(double a) {
  return hipport::detail::half_of_bits(
      hipport::detail::real_to_ieee16<hipport::Fp16Format>(a, hipport::Rounding::nearest_even));
}
HIPPORT_FALLBACK signed char __half2char_rz(__half h) {
  return hipport::detail::to_integer<signed char>(hipport::detail::to_float(h), hipport::Rounding::toward_zero);
}
HIPPORT_FALLBACK unsigned char __half2uchar_rz(__half h) {
  return hipport::detail::to_integer<unsigned char>(hipport::detail::to_float(h), hipport::Rounding::toward_zero);
}

#define HIPPORT_EXTREME2(name, suffix, larger, propagate, T2, F, of)                                         \
  HIPPORT_FALLBACK T2 __h##name##2##suffix(T2 a, T2 b) {                                                     \
    using namespace hipport::detail;                                                                         \
    return of(each_half(word_of(a), word_of(b),                                                              \
                        [](unsigned x, unsigned y) { return select16<F>(x, y, larger, propagate); }));       \
  }
HIPPORT_EXTREME2(max, , true, false, __half2, hipport::Fp16Format, half2_of)
HIPPORT_EXTREME2(min, , false, false, __half2, hipport::Fp16Format, half2_of)
HIPPORT_EXTREME2(max, _nan, true, true, __half2, hipport::Fp16Format, half2_of)
HIPPORT_EXTREME2(min, _nan, false, true, __half2, hipport::Fp16Format, half2_of)

#define HIPPORT_MASK2(name, T2, F)                                                                           \
  HIPPORT_FALLBACK unsigned __h##name##2_mask(T2 a, T2 b) {                                                  \
    using namespace hipport::detail;                                                                         \
    return mask2<F>(Compare::name, word_of(a), word_of(b), false);                                           \
  }                                                                                                          \
  HIPPORT_FALLBACK unsigned __h##name##u2_mask(T2 a, T2 b) {                                                 \
    using namespace hipport::detail;                                                                         \
    return mask2<F>(Compare::name, word_of(a), word_of(b), true);                                            \
  }
HIPPORT_MASK2(eq, __half2, hipport::Fp16Format)
HIPPORT_MASK2(ne, __half2, hipport::Fp16Format)
HIPPORT_MASK2(le, __half2, hipport::Fp16Format)
HIPPORT_MASK2(ge, __half2, hipport::Fp16Format)
HIPPORT_MASK2(lt, __half2, hipport::Fp16Format)
HIPPORT_MASK2(gt, __half2, hipport::Fp16Format)

// The *_rn forms forbid contraction with a neighbouring operation.
#define HIPPORT_NO_CONTRACTION _Pragma("clang fp contract(off)")
HIPPORT_DEVICE_FALLBACK __half __hadd_rn(__half a, __half b) { HIPPORT_NO_CONTRACTION return __hadd(a, b); }
HIPPORT_DEVICE_FALLBACK __half __hsub_rn(__half a, __half b) { HIPPORT_NO_CONTRACTION return __hsub(a, b); }
HIPPORT_DEVICE_FALLBACK __half __hmul_rn(__half a, __half b) { HIPPORT_NO_CONTRACTION return __hmul(a, b); }
HIPPORT_DEVICE_FALLBACK __half2 __hadd2_rn(__half2 a, __half2 b) { HIPPORT_NO_CONTRACTION return __hadd2(a, b); }
HIPPORT_DEVICE_FALLBACK __half2 __hsub2_rn(__half2 a, __half2 b) { HIPPORT_NO_CONTRACTION return __hsub2(a, b); }
HIPPORT_DEVICE_FALLBACK __half2 __hmul2_rn(__half2 a, __half2 b) { HIPPORT_NO_CONTRACTION return __hmul2(a, b); }

HIPPORT_DEVICE_FALLBACK __half __hfma_relu(__half a, __half b, __half c) {
  using namespace hipport::detail;
  return half_of_bits((unsigned short)relu16<hipport::Fp16Format>(bits_of(__hfma(a, b, c))));
}
HIPPORT_DEVICE_FALLBACK __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  using namespace hipport::detail;
  return half2_of(each_half(word_of(__hfma2(a, b, c)), 0,
                            [](unsigned x, unsigned) { return relu16<hipport::Fp16Format>(x); }));
}
// Complex multiply-add: (a.x + i a.y) * (b.x + i b.y) + c.
HIPPORT_DEVICE_FALLBACK __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
  using namespace hipport::detail;
  const __half re = __hfma(__hneg(high(a)), high(b), __hfma(low(a), low(b), low(c)));
  const __half im = __hfma(high(a), low(b), __hfma(low(a), high(b), high(c)));
  return pair(re, im);
}

HIPPORT_DEVICE_FALLBACK __half htanh(__half a) { return __float2half(tanhf(hipport::detail::to_float(a))); }
HIPPORT_DEVICE_FALLBACK __half htanh_approx(__half a) { return __float2half(tanhf(hipport::detail::to_float(a))); }
HIPPORT_DEVICE_FALLBACK __half2 h2tanh(__half2 a) {
  return hipport::detail::pair(htanh(hipport::detail::low(a)), htanh(hipport::detail::high(a)));
}
HIPPORT_DEVICE_FALLBACK __half2 h2tanh_approx(__half2 a) { return h2tanh(a); }

HIPPORT_DEVICE_FALLBACK __half atomicAdd(__half* address, __half value) {
  using namespace hipport::detail;
  return half_of_bits(atomic_update16(
      address, [value](unsigned short before) { return bits_of(__hadd(half_of_bits(before), value)); }));
}
// CUDA adds the two halves atomically one by one; the pair as a whole need not be one access, and here it is.
HIPPORT_DEVICE_FALLBACK __half2 atomicAdd(__half2* address, __half2 value) {
  using namespace hipport::detail;
  return half2_of(atomic_update(reinterpret_cast<unsigned*>(address),
                                [value](unsigned before) { return word_of(__hadd2(half2_of(before), value)); }));
}

// Conversions whose rounding mode HIP's own functions ignore: to integers they truncate, from integers (and from float on
// the host) they round to nearest. Under hipport's name, because HIP has CUDA's.
namespace hipport {
#define HIPPORT_HALF_MODES(apply) \
  apply(rn, Rounding::nearest_even) apply(rz, Rounding::toward_zero) apply(rd, Rounding::down) apply(ru, Rounding::up)
#define HIPPORT_HALF_INTEGER(name, I, Wide, suffix, mode)                                                  \
  __host__ __device__ inline I half2##name##_##suffix(__half h) {                                          \
    return detail::to_integer<I>(detail::to_float(h), mode);                                               \
  }                                                                                                        \
  __host__ __device__ inline __half name##2half_##suffix(I i) {                                            \
    return detail::half_of_bits(detail::to_ieee16<Fp16Format>(detail::exact((Wide)i), mode));              \
  }
#define HIPPORT_HALF_ALL(suffix, mode)                                                                     \
  HIPPORT_HALF_INTEGER(int, int, long long, suffix, mode)                                                  \
  HIPPORT_HALF_INTEGER(uint, unsigned, unsigned long long, suffix, mode)                                   \
  HIPPORT_HALF_INTEGER(short, short, long long, suffix, mode)                                              \
  HIPPORT_HALF_INTEGER(ushort, unsigned short, unsigned long long, suffix, mode)                           \
  HIPPORT_HALF_INTEGER(ll, long long, long long, suffix, mode)                                             \
  HIPPORT_HALF_INTEGER(ull, unsigned long long, unsigned long long, suffix, mode)                          \
  __host__ __device__ inline __half float2half_##suffix(float x) {                                         \
    return detail::half_of_bits(detail::real_to_ieee16<Fp16Format>(x, mode));                              \
  }
HIPPORT_HALF_MODES(HIPPORT_HALF_ALL)
#undef HIPPORT_HALF_ALL
#undef HIPPORT_HALF_INTEGER
#undef HIPPORT_HALF_MODES
}  // namespace hipport

// Cache-hinted loads and stores. The hint is about speed only: plain accesses are right, and the non-temporal ones map to
// clang's. __ldcv ("don't cache, fetch again") must not be merged with earlier loads, hence volatile.
// Source: CUDA C++ Programming Guide, "Load Functions Using Cache Hints".
#define HIPPORT_CACHE_HINTS(T, Bits, of, bits)                                                               \
  HIPPORT_DEVICE_FALLBACK T __ldlu(const T* p) { return *p; }                                                \
  HIPPORT_DEVICE_FALLBACK T __ldcv(const T* p) {                                                             \
    return hipport::detail::of(*reinterpret_cast<const volatile Bits*>(p));                                  \
  }                                                                                                          \
  HIPPORT_DEVICE_FALLBACK void __stwb(T* p, T value) { *p = value; }                                         \
  HIPPORT_DEVICE_FALLBACK void __stcg(T* p, T value) { *p = value; }                                         \
  HIPPORT_DEVICE_FALLBACK void __stcs(T* p, T value) {                                                       \
    __builtin_nontemporal_store((Bits)hipport::detail::bits(value), reinterpret_cast<Bits*>(p));             \
  }                                                                                                          \
  HIPPORT_DEVICE_FALLBACK void __stwt(T* p, T value) {                                                       \
    *reinterpret_cast<volatile Bits*>(p) = hipport::detail::bits(value);                                     \
  }
HIPPORT_CACHE_HINTS(__half, unsigned short, half_of_bits, bits_of)
HIPPORT_CACHE_HINTS(__half2, unsigned, half2_of, word_of)
