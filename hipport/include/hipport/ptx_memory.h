// PTX loads, stores, atomics, address conversions, cp.async, prefetch and fences.
// Source: PTX ISA 8 (Memory consistency model), 9.7.9, 9.7.13.
#pragma once

#include <hipport/ptx_float.h>

namespace hipport {
namespace ptx {

#define HIPPORT_SPACE(n) __attribute__((address_space(n)))

// -- addresses: pointers from what registers hold. `offset` counts bytes. ---------------------------------------------
/// LDS address (32 bits) of a generic pointer into shared memory, as __cvta_generic_to_shared.
template <class A> __device__ inline unsigned generic_to_shared(A address) {
  const auto* pointer = reinterpret_cast<const char*>(static_cast<__UINTPTR_TYPE__>(bits64(address)));
  return static_cast<unsigned>(reinterpret_cast<__UINTPTR_TYPE__>((const HIPPORT_SPACE(3) char*)pointer));
}
/// The same for a pointer that may be in the LDS address space already.
__device__ inline unsigned lds_address(HIPPORT_SPACE(3) const void* pointer) {
  return static_cast<unsigned>(reinterpret_cast<__UINTPTR_TYPE__>(pointer));
}
__device__ inline unsigned lds_address(const void* pointer) { return generic_to_shared(pointer); }
/// Generic pointer for an LDS address, as __cvta_shared_to_generic.
template <class A> __device__ inline unsigned long long shared_to_generic(A address) {
  auto* local = (HIPPORT_SPACE(3) char*)(static_cast<unsigned>(bits64(address)));
  return bits64((char*)local);
}
template <class T, class A> __device__ inline T* generic(A address, int offset = 0) {
  return (T*)(reinterpret_cast<char*>(static_cast<__UINTPTR_TYPE__>(bits64(address))) + offset);
}
template <class T, class A> __device__ inline HIPPORT_SPACE(1) T* global(A address, int offset = 0) {
  return (HIPPORT_SPACE(1) T*)(reinterpret_cast<char*>(static_cast<__UINTPTR_TYPE__>(bits64(address))) + offset);
}
template <class T, class A> __device__ inline HIPPORT_SPACE(3) T* shared(A address, int offset = 0) {
  return (HIPPORT_SPACE(3) T*)(static_cast<unsigned>(bits64(address)) + static_cast<unsigned>(offset));
}
template <class A> __device__ inline bool is_shared(A address) {
  return __builtin_amdgcn_is_shared((const void*)static_cast<__UINTPTR_TYPE__>(bits64(address)));
}
template <class A> __device__ inline bool is_local(A address) {
  return __builtin_amdgcn_is_private((const void*)static_cast<__UINTPTR_TYPE__>(bits64(address)));
}
template <class A> __device__ inline bool is_global(A address) { return !is_shared(address) && !is_local(address); }

namespace detail {
template <class P> struct target;
template <class T> struct target<T*> { using type = T; };
template <class T> struct target<HIPPORT_SPACE(1) T*> { using type = T; };
template <class T> struct target<HIPPORT_SPACE(3) T*> { using type = T; };
template <class P> using target_of = typename target<P>::type;

template <class T, int N> using block = T __attribute__((ext_vector_type(N)));

template <class P, int N> struct wide_pointer;
template <class T, int N> struct wide_pointer<T*, N> { using type = block<T, N>*; };
template <class T, int N> struct wide_pointer<HIPPORT_SPACE(1) T*, N> { using type = HIPPORT_SPACE(1) block<T, N>*; };
template <class T, int N> struct wide_pointer<HIPPORT_SPACE(3) T*, N> { using type = HIPPORT_SPACE(3) block<T, N>*; };
template <class P, int N> __device__ inline vec<target_of<P>, N> elements(block<target_of<P>, N> values) {
  vec<target_of<P>, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = values[i];
  return result;
}
}  // namespace detail

// -- loads and stores. Vector forms move all elements in one access, which must be aligned to its size. -----------------
template <class P> __device__ inline detail::target_of<P> load(P p) { return *p; }
template <class P> __device__ inline detail::target_of<P> load_streaming(P p) { return __builtin_nontemporal_load(p); }
template <class P> __device__ inline detail::target_of<P> load_volatile(P p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <int Order, int Scope, class P> __device__ inline detail::target_of<P> load(P p) {
  return __hip_atomic_load(p, Order, Scope);
}
template <int N, class P> __device__ inline vec<detail::target_of<P>, N> load(P p) {
  const auto block = *(typename detail::wide_pointer<P, N>::type)p;
  return detail::elements<P, N>(block);
}
template <int N, class P> __device__ inline vec<detail::target_of<P>, N> load_streaming(P p) {
  const auto block = __builtin_nontemporal_load((typename detail::wide_pointer<P, N>::type)p);
  return detail::elements<P, N>(block);
}
template <int N, class P> __device__ inline vec<detail::target_of<P>, N> load_volatile(P p) {
  vec<detail::target_of<P>, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = load_volatile(p + i);
  return result;
}

template <class P, class... V> __device__ inline void store(P p, V... values) {
  using T = detail::target_of<P>;
  if constexpr (sizeof...(V) == 1) *p = (static_cast<T>(values), ...);
  else *(typename detail::wide_pointer<P, sizeof...(V)>::type)p = detail::block<T, sizeof...(V)>{static_cast<T>(values)...};
}
template <class P, class... V> __device__ inline void store_streaming(P p, V... values) {
  using T = detail::target_of<P>;
  if constexpr (sizeof...(V) == 1)
    __builtin_nontemporal_store((static_cast<T>(values), ...), p);
  else
    __builtin_nontemporal_store(detail::block<T, sizeof...(V)>{static_cast<T>(values)...},
                                (typename detail::wide_pointer<P, sizeof...(V)>::type)p);
}
template <class P, class... V> __device__ inline void store_volatile(P p, V... values) {
  using T = detail::target_of<P>;
  int i = 0;
  (__hip_atomic_store(p + i++, static_cast<T>(values), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM), ...);
}
template <int Order, int Scope, class P, class V> __device__ inline void store(P p, V value) {
  __hip_atomic_store(p, static_cast<detail::target_of<P>>(value), Order, Scope);
}

// -- atomics: the old value comes back; `red` forms throw it away ------------------------------------------------------
#define HIPPORT_ATOMIC(name, builtin)                                                                          \
  template <int Order, int Scope, class P> __device__ inline detail::target_of<P> atomic_##name(               \
      P p, detail::target_of<P> value) {                                                                       \
    return builtin(p, value, Order, Scope);                                                                    \
  }
HIPPORT_ATOMIC(add, __hip_atomic_fetch_add)
HIPPORT_ATOMIC(and, __hip_atomic_fetch_and)
HIPPORT_ATOMIC(or, __hip_atomic_fetch_or)
HIPPORT_ATOMIC(xor, __hip_atomic_fetch_xor)
HIPPORT_ATOMIC(min, __hip_atomic_fetch_min)
HIPPORT_ATOMIC(max, __hip_atomic_fetch_max)
HIPPORT_ATOMIC(exch, __hip_atomic_exchange)
#undef HIPPORT_ATOMIC

namespace detail {
constexpr int failure_order(int order) {  // a failed exchange writes nothing, so it cannot release
  return order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order;
}
/// Replace *p by next(*p) atomically; the old value.
template <int Order, int Scope, class P, class F> __device__ inline target_of<P> update(P p, F next) {
  target_of<P> old = __hip_atomic_load(p, __ATOMIC_RELAXED, Scope);
  while (!__hip_atomic_compare_exchange_weak(p, &old, next(old), Order, failure_order(Order), Scope)) {
  }
  return old;
}
/// The same for one 16-bit value, through the aligned word that holds it.
template <int Order, int Scope, class P, class F> __device__ inline unsigned short update16(P p, F next) {
  const unsigned long long address = bits64((const void*)(const char*)p);
  auto* word = reinterpret_cast<unsigned*>(address & ~3ull);
  const unsigned shift = (address & 2ull) ? 16u : 0u;
  const unsigned old = update<Order, Scope>(word, [=](unsigned bits) {
    return (bits & ~(0xffffu << shift)) | (static_cast<unsigned>(next(static_cast<unsigned short>(bits >> shift))) << shift);
  });
  return static_cast<unsigned short>(old >> shift);
}
}  // namespace detail

template <int Order, int Scope, class P>
__device__ inline detail::target_of<P> atomic_cas(P p, detail::target_of<P> expected, detail::target_of<P> value) {
  if constexpr (sizeof(expected) == 2) {
    return detail::update16<Order, Scope>(p, [=](unsigned short old) { return old == expected ? value : old; });
  } else {
    __hip_atomic_compare_exchange_strong(p, &expected, value, Order, detail::failure_order(Order), Scope);
    return expected;
  }
}
template <int Order, int Scope, class P> __device__ inline unsigned atomic_inc(P p, unsigned limit) {
  return detail::update<Order, Scope>(p, [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
template <int Order, int Scope, class P> __device__ inline unsigned atomic_dec(P p, unsigned limit) {
  return detail::update<Order, Scope>(p, [=](unsigned old) { return old == 0u || old > limit ? limit : old - 1u; });
}
#define HIPPORT_ATOMIC_HALF(op, kind)                                                                             \
  template <int Order, int Scope, class P> __device__ inline unsigned short atomic_##op##_##kind(                 \
      P p, unsigned short value) {                                                                                \
    return detail::update16<Order, Scope>(p, [=](unsigned short old) { return op##_##kind(old, value); });        \
  }                                                                                                               \
  template <int Order, int Scope, class P> __device__ inline unsigned atomic_##op##_##kind##x2(P p, unsigned value) { \
    return detail::update<Order, Scope>(p, [=](unsigned old) { return op##_##kind##x2(old, value); });            \
  }
HIPPORT_ATOMIC_HALF(add, f16)
HIPPORT_ATOMIC_HALF(min, f16)
HIPPORT_ATOMIC_HALF(max, f16)
HIPPORT_ATOMIC_HALF(add, bf16)
HIPPORT_ATOMIC_HALF(min, bf16)
HIPPORT_ATOMIC_HALF(max, bf16)
#undef HIPPORT_ATOMIC_HALF

template <class P> __device__ inline void prefetch(P p) { __builtin_prefetch((const void*)(const char*)p); }

// -- fences ---------------------------------------------------------------------------------------------------------------
__device__ inline void fence_cta() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); }
__device__ inline void fence_gpu() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
__device__ inline void fence_sys() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }
__device__ inline void fence_sc_cta() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ inline void fence_sc_gpu() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ inline void fence_sc_sys() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// -- cp.async: the copy happens at once, through registers, which is one of the orders that CUDA allows ---------------
template <int Bytes> __device__ inline void cp_async(HIPPORT_SPACE(3) void* to, HIPPORT_SPACE(1) const void* from) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  using Block = detail::block<unsigned, Bytes / 4>;
  *(HIPPORT_SPACE(3) Block*)to = *(HIPPORT_SPACE(1) const Block*)from;
}
/// The first `count` bytes come from `from`, the rest of the block is zero. Nothing beyond `count` is read.
template <int Bytes>
__device__ inline void cp_async_zfill(HIPPORT_SPACE(3) void* to, HIPPORT_SPACE(1) const void* from, int count) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  using Block = detail::block<unsigned, Bytes / 4>;
  Block block = 0;
  if (count >= Bytes) {
    block = *(HIPPORT_SPACE(1) const Block*)from;
  } else if (count > 0) {
    auto* bytes = (HIPPORT_SPACE(1) const unsigned char*)from;
#pragma unroll
    for (int i = 0; i < Bytes; ++i)
      if (i < count) block[i / 4] |= static_cast<unsigned>(bytes[i]) << (8 * (i % 4));
  }
  *(HIPPORT_SPACE(3) Block*)to = block;
}
__device__ inline void cp_async_commit_group() {}
template <int N> __device__ inline void cp_async_wait_group() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); }
__device__ inline void cp_async_wait_all() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); }

}  // namespace ptx
}  // namespace hipport
