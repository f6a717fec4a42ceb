// PTX mbarrier objects in shared memory, counted in threads. Transaction counts (expect_tx) belong to copy engines that AMD
// does not have and are refused at translation.
//
// One 64-bit word: pending arrivals in bits 0-30, expected arrivals in bits 32-62, the phase's parity in bit 63.
// A lane that waits for lanes of its own wavefront to arrive later waits forever: they advance together.
// Source: PTX ISA 9.7.13.15, "mbarrier".
#pragma once

#include <hipport/ptx_memory.h>

namespace hipport {
namespace ptx {
namespace detail {
inline constexpr unsigned long long mbarrier_phase = 1ull << 63;
inline constexpr unsigned long long mbarrier_pending = 0x7fffffffull;

/// Take `count` arrivals, and `dropped` from the expected number; the state before.
template <class P> __device__ inline unsigned long long mbarrier_take(P p, unsigned count, unsigned dropped) {
  return update<__ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP>(p, [=](unsigned long long old) {
    unsigned long long state = old - count - (static_cast<unsigned long long>(dropped) << 32);
    if ((state & mbarrier_pending) == 0) state = (state ^ mbarrier_phase) | ((state >> 32) & mbarrier_pending);
    return state;
  });
}
}  // namespace detail

template <class P> __device__ inline void mbarrier_init(P p, unsigned count) {
  *p = count | (static_cast<unsigned long long>(count) << 32);
}
template <class P> __device__ inline void mbarrier_inval(P p) { *p = 0; }
template <class P> __device__ inline unsigned long long mbarrier_arrive(P p, unsigned count) {
  return detail::mbarrier_take(p, count, 0u);
}
template <class P> __device__ inline unsigned long long mbarrier_arrive_drop(P p, unsigned count) {
  return detail::mbarrier_take(p, count, count);
}
/// Whether the phase of parity `parity` is complete.
template <class P> __device__ inline bool mbarrier_test_wait_parity(P p, unsigned parity) {
  const unsigned long long now = __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
  return static_cast<unsigned>(now >> 63) != (parity & 1u);
}
/// Whether the phase that was current when `state` was returned is complete.
template <class P> __device__ inline bool mbarrier_test_wait(P p, unsigned long long state) {
  return mbarrier_test_wait_parity(p, static_cast<unsigned>(state >> 63));
}
template <class P> __device__ inline bool mbarrier_try_wait_parity(P p, unsigned parity) {
  const bool done = mbarrier_test_wait_parity(p, parity);
  if (!done) __builtin_amdgcn_s_sleep(1);
  return done;
}
template <class P> __device__ inline bool mbarrier_try_wait(P p, unsigned long long state) {
  return mbarrier_try_wait_parity(p, static_cast<unsigned>(state >> 63));
}
/// cp.async.mbarrier.arrive: copies are complete when they are issued. Without `noinc` the barrier first expects one
/// arrival more, which then comes: nothing is left to do.
template <class P> __device__ inline void cp_async_mbarrier_arrive(P) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
}
template <class P> __device__ inline void cp_async_mbarrier_arrive_noinc(P p) { detail::mbarrier_take(p, 1u, 0u); }

}  // namespace ptx
}  // namespace hipport
