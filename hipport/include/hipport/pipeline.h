// cuda_pipeline_primitives.h for AMD GPUs: the copies happen at once, through registers.
//
// A copy that is complete when it is issued satisfies every rule of CUDA's primitives: commit closes an empty batch, and
// waiting makes the thread's own writes to shared memory visible to itself, as on CUDA; others still need a barrier.
// What is lost is the overlap: load early by hand where that matters.
//
// Source: CUDA C++ programming guide, "Pipeline Primitives Interface".
#pragma once

#include <hip/hip_runtime.h>

// Copies `size` bytes (4, 8 or 16, aligned to it), of which the last `zero_fill` are zeros instead.
__device__ inline void __pipeline_memcpy_async(void* __restrict__ shared, const void* __restrict__ global,
                                               size_t size, size_t zero_fill = 0) {
  if (zero_fill == 0 && size == 16) {
    *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
  } else if (zero_fill == 0 && size == 8) {
    *static_cast<uint2*>(shared) = *static_cast<const uint2*>(global);
  } else if (zero_fill == 0 && size == 4) {
    *static_cast<unsigned*>(shared) = *static_cast<const unsigned*>(global);
  } else {
    const size_t kept = zero_fill < size ? size - zero_fill : 0;
    for (size_t i = 0; i < size; ++i) {
      static_cast<unsigned char*>(shared)[i] = i < kept ? static_cast<const unsigned char*>(global)[i] : 0;
    }
  }
}

__device__ inline void __pipeline_commit() {}

__device__ inline void __pipeline_wait_prior(size_t) { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); }
