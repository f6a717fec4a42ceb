// PTX named barriers (bar.sync id, count and bar.arrive) on GPUs with one barrier per workgroup: arrivals are counted in
// LDS, in threads, a warp counting as 32 whatever lanes take part, as in CUDA.
//
// A wavefront that waits does not execute anything else. Two warps of one 64-lane wavefront may therefore meet at the same
// call, also with different barrier numbers, but one must not wait for what the other does later.
//
// LDS starts with unknown contents: every kernel that uses named barriers calls `named_barrier_init` first.
#pragma once

#include <hipport/warp.h>

namespace hipport {
namespace detail {

struct NamedBarrier {
  unsigned arrived;     // threads, since the last release
  unsigned generation;  // releases so far
};

__device__ inline NamedBarrier& named_barrier(unsigned number) {
  static __shared__ NamedBarrier barriers[16];
  return barriers[number & 15u];
}

/// Count the calling warps as arrived; the generation that ends when all have.
__device__ inline unsigned named_barrier_count(unsigned number, unsigned n_threads) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  unsigned generation = 0;
  bool done = false;
  while (!done) {  // one round per barrier number among the lanes of the wavefront
    const unsigned chosen = __builtin_amdgcn_readfirstlane(number);
    if (chosen != number) continue;
    NamedBarrier& barrier = named_barrier(chosen);
    const unsigned long long here = __ballot(1);
    const unsigned arriving = 32u * ((static_cast<unsigned>(here) != 0) + (static_cast<unsigned>(here >> 32) != 0));
    unsigned seen = 0;
    if (__lane_id() == static_cast<unsigned>(__builtin_ctzll(here))) {
      seen = __hip_atomic_load(&barrier.generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
      const unsigned before = __hip_atomic_fetch_add(&barrier.arrived, arriving, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
      if (before + arriving >= n_threads) {
        __hip_atomic_store(&barrier.arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
        __hip_atomic_store(&barrier.generation, seen + 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      }
    }
    generation = __builtin_amdgcn_readfirstlane(seen);
    done = true;
  }
  return generation;
}

__device__ inline unsigned threads_of_block() { return n_warps() * 32u; }

}  // namespace detail

/// Prepare the workgroup's named barriers. All threads of the block call it, before any of them uses one.
__device__ inline void named_barrier_init() {
  if (thread_rank() < 16u) detail::named_barrier(thread_rank()) = {0u, 0u};
  __syncthreads();
}

/// bar.sync number, n_threads: arrive, and wait until `n_threads` threads have.
__device__ inline void named_barrier_sync(unsigned number, unsigned n_threads = detail::threads_of_block()) {
  const unsigned generation = detail::named_barrier_count(number, n_threads);
  detail::NamedBarrier& barrier = detail::named_barrier(number);
  while (__hip_atomic_load(&barrier.generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == generation)
    __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/// bar.arrive number, n_threads: arrive without waiting.
__device__ inline void named_barrier_arrive(unsigned number, unsigned n_threads) {
  detail::named_barrier_count(number, n_threads);
}

}  // namespace hipport
