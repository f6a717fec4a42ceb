// Device intrinsics of CUDA that HIP lacks: directed rounding, scoped atomics, traps, address-space tests.
//
// Source: CUDA Math API Reference Manual, "Single/Double Precision Intrinsics"; CUDA C++ Programming Guide, "Atomic
// Functions", "Address Space Predicate Functions". Directed adds, multiplies and fmas are the device library's; a directed
// quotient or root is the nearest one moved by the sign of its exact remainder (one fma).
#pragma once

#include <hip/hip_runtime.h>

extern "C" {
#define HIPPORT_OCML(T, suffix)                                     \
  __device__ T __ocml_add_rtn_##suffix(T, T);                       \
  __device__ T __ocml_add_rtp_##suffix(T, T);                       \
  __device__ T __ocml_add_rtz_##suffix(T, T);                       \
  __device__ T __ocml_sub_rtn_##suffix(T, T);                       \
  __device__ T __ocml_sub_rtp_##suffix(T, T);                       \
  __device__ T __ocml_sub_rtz_##suffix(T, T);                       \
  __device__ T __ocml_mul_rtn_##suffix(T, T);                       \
  __device__ T __ocml_mul_rtp_##suffix(T, T);                       \
  __device__ T __ocml_mul_rtz_##suffix(T, T);                       \
  __device__ T __ocml_fma_rtn_##suffix(T, T, T);                    \
  __device__ T __ocml_fma_rtp_##suffix(T, T, T);                    \
  __device__ T __ocml_fma_rtz_##suffix(T, T, T);
HIPPORT_OCML(float, f32)
HIPPORT_OCML(double, f64)
#undef HIPPORT_OCML
}

namespace hipport {
namespace detail {

__device__ inline float next_toward(float x, bool up) {
  unsigned bits = __builtin_bit_cast(unsigned, x);
  if ((bits & 0x7fffffffu) == 0) return __builtin_bit_cast(float, up ? 1u : 0x80000001u);
  return __builtin_bit_cast(float, (bits >> 31 == 0) == up ? bits + 1 : bits - 1);
}
__device__ inline double next_toward(double x, bool up) {
  unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  if ((bits & ~(1ull << 63)) == 0) return __builtin_bit_cast(double, up ? 1ull : 1ull | 1ull << 63);
  return __builtin_bit_cast(double, (bits >> 63 == 0) == up ? bits + 1 : bits - 1);
}

enum class Direction { zero, down, up };

// Move `nearest`, off by something of the sign of `error` (exact - nearest), to the neighbour that the direction asks for.
template <class T>
__device__ inline T directed(T nearest, T error, Direction d) {
  if (error == T(0) || error != error) return nearest;
  const bool exact_is_above = error > T(0);
  const bool wants_up = d == Direction::up || (d == Direction::zero && __builtin_signbit(nearest));
  return exact_is_above == wants_up ? next_toward(nearest, wants_up) : nearest;
}

// Quotient: float in double precision, where the remainder decides; double by its fma remainder. Out of the normal range
// the remainder of a double may itself be rounded; then the nearest quotient is returned unmoved.
__device__ inline float divide(float a, float b, Direction d) {
  const double q = (double)a / (double)b;
  const float f = (float)q;
  double error = q - (double)f;
  // When q is a float exactly, its own rounding error decides.
  if (error == 0.0) error = __builtin_fma(-q, (double)b, (double)a) * (b < 0 ? -1.0 : 1.0);
  if (__builtin_isinf(f)) error = __builtin_isinf(q) ? 0.0 : (f > 0 ? -1.0 : 1.0);
  return directed(f, (float)(error > 0 ? 1 : error < 0 ? -1 : 0), d);
}
__device__ inline double divide(double a, double b, Direction d) {
  const double q = a / b;
  if (__builtin_isinf(q)) return (__builtin_isinf(a) || b == 0.0) ? q : directed(q, q > 0 ? -1.0 : 1.0, d);
  return directed(q, __builtin_fma(-q, b, a) * (b < 0 ? -1.0 : 1.0), d);
}
template <class T>
__device__ inline T square_root(T x, Direction d) {
  const T s = __builtin_sqrt(x);
  if (!(s > T(0)) || __builtin_isinf(s)) return s;
  return directed(s, __builtin_fma(-s, s, x), d);
}
template <>
__device__ inline float square_root(float x, Direction d) {
  const float s = __builtin_sqrtf(x);
  if (!(s > 0.0f) || __builtin_isinf(s)) return s;
  const double error = (double)x - (double)s * (double)s;  // exact: both fit in 53 bits
  return directed(s, (float)(error > 0 ? 1 : error < 0 ? -1 : 0), d);
}

}  // namespace detail

// __fadd_rd and its family; CUDA's suffixes: rd down, ru up, rz toward zero.
#define HIPPORT_DIRECTED(suffix, ocml, direction)                                                                  \
  __device__ inline float fadd_##suffix(float a, float b) { return __ocml_add_##ocml##_f32(a, b); }                \
  __device__ inline float fsub_##suffix(float a, float b) { return __ocml_sub_##ocml##_f32(a, b); }                \
  __device__ inline float fmul_##suffix(float a, float b) { return __ocml_mul_##ocml##_f32(a, b); }                \
  __device__ inline float fmaf_##suffix(float a, float b, float c) { return __ocml_fma_##ocml##_f32(a, b, c); }    \
  __device__ inline float fmaf_ieee_##suffix(float a, float b, float c) { return fmaf_##suffix(a, b, c); }         \
  __device__ inline float fdiv_##suffix(float a, float b) { return detail::divide(a, b, detail::Direction::direction); } \
  __device__ inline float frcp_##suffix(float a) { return fdiv_##suffix(1.0f, a); }                                \
  __device__ inline float fsqrt_##suffix(float a) { return detail::square_root(a, detail::Direction::direction); } \
  __device__ inline double dadd_##suffix(double a, double b) { return __ocml_add_##ocml##_f64(a, b); }             \
  __device__ inline double dsub_##suffix(double a, double b) { return __ocml_sub_##ocml##_f64(a, b); }             \
  __device__ inline double dmul_##suffix(double a, double b) { return __ocml_mul_##ocml##_f64(a, b); }             \
  __device__ inline double fma_##suffix(double a, double b, double c) { return __ocml_fma_##ocml##_f64(a, b, c); } \
  __device__ inline double ddiv_##suffix(double a, double b) { return detail::divide(a, b, detail::Direction::direction); } \
  __device__ inline double drcp_##suffix(double a) { return ddiv_##suffix(1.0, a); }                               \
  __device__ inline double dsqrt_##suffix(double a) { return detail::square_root(a, detail::Direction::direction); }
HIPPORT_DIRECTED(rd, rtn, down)
HIPPORT_DIRECTED(ru, rtp, up)
HIPPORT_DIRECTED(rz, rtz, zero)
__device__ inline float fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Atomics at workgroup scope; the result is the value before.
template <class T>
__device__ inline T atomicAdd_block(T* p, T v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicSub_block(T* p, T v) { return __hip_atomic_fetch_add(p, -v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicExch_block(T* p, T v) { return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicMin_block(T* p, T v) { return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicMax_block(T* p, T v) { return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicAnd_block(T* p, T v) { return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicOr_block(T* p, T v) { return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicXor_block(T* p, T v) { return __hip_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
template <class T>
__device__ inline T atomicCAS_block(T* p, T expected, T desired) {
  __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  return expected;
}
// Wrapping counters: inc goes from `limit` to 0, dec from 0 (or above the limit) to `limit`.
#define HIPPORT_WRAPPING(name, scope, next)                                                                        \
  __device__ inline unsigned name(unsigned* p, unsigned limit) {                                                   \
    unsigned seen = __hip_atomic_load(p, __ATOMIC_RELAXED, scope);                                                 \
    while (!__hip_atomic_compare_exchange_strong(p, &seen, (next), __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope)) {   \
    }                                                                                                              \
    return seen;                                                                                                   \
  }
HIPPORT_WRAPPING(atomicInc_block, __HIP_MEMORY_SCOPE_WORKGROUP, seen >= limit ? 0u : seen + 1)
HIPPORT_WRAPPING(atomicDec_block, __HIP_MEMORY_SCOPE_WORKGROUP, seen == 0 || seen > limit ? limit : seen - 1)
HIPPORT_WRAPPING(atomicInc_system, __HIP_MEMORY_SCOPE_SYSTEM, seen >= limit ? 0u : seen + 1)
HIPPORT_WRAPPING(atomicDec_system, __HIP_MEMORY_SCOPE_SYSTEM, seen == 0 || seen > limit ? limit : seen - 1)

__device__ inline void trap() { __builtin_trap(); }
__device__ inline void brkpt() { __builtin_debugtrap(); }

// Which memory a generic pointer names. Constant memory is global memory here.
__device__ inline bool isShared(const void* p) { return __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void*)p); }
__device__ inline bool isLocal(const void* p) { return __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void*)p); }
__device__ inline bool isGlobal(const void* p) { return !isShared(p) && !isLocal(p); }

// Cache-hinted accesses HIP has no name for. A hint is about speed only; ldcv must fetch again, hence the barrier.
template <class T>
__device__ inline T ldca(const T* p) { return *p; }
template <class T>
__device__ inline T ldcg(const T* p) { return *p; }
template <class T>
__device__ inline T ldcs(const T* p) { return *p; }
template <class T>
__device__ inline T ldlu(const T* p) { return *p; }
template <class T>
__device__ inline T ldcv(const T* p) {
  T r;
  __builtin_memcpy(&r, const_cast<const T*>(p), sizeof(T));
  __asm__ volatile("" ::: "memory");
  return r;
}
template <class T>
__device__ inline void stwb(T* p, T v) { *p = v; }
template <class T>
__device__ inline void stcg(T* p, T v) { *p = v; }
template <class T>
__device__ inline void stcs(T* p, T v) { *p = v; }
template <class T>
__device__ inline void stwt(T* p, T v) { *p = v; }

#undef HIPPORT_DIRECTED
#undef HIPPORT_WRAPPING

}  // namespace hipport
