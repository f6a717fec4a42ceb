// PTX warp instructions with PTX's own operands, timers, and control. C++ warp functions are in hipport/warp.h.
// Source: PTX ISA 9.7.12 (shfl.sync, elect.sync, redux.sync), 10 (special registers).
#pragma once

#include <hipport/ptx_float.h>
#include <hipport/warp.h>

namespace hipport {
namespace ptx {

namespace detail {
/// Element 0 is the value, element 1 tells whether the source lane was in range.
__device__ inline vec<unsigned, 2> shuffled(unsigned value, unsigned source, bool in_range) {
  return {{hipport::detail::from_lane(value, in_range ? source : lane_id()), in_range}};
}
}  // namespace detail

// `clamp` is PTX's operand c: clamp in bits 0-4, segment mask in bits 8-12.
__device__ inline vec<unsigned, 2> shfl_up(unsigned value, unsigned delta, unsigned clamp, unsigned mask) {
  check_mask(mask);
  const unsigned segment = (clamp >> 8) & 31u, lane = lane_id();
  const int source = static_cast<int>(lane) - static_cast<int>(delta & 31u);
  const int limit = static_cast<int>((lane & segment) | (clamp & 31u & ~segment));
  return detail::shuffled(value, static_cast<unsigned>(source), source >= limit);
}
__device__ inline vec<unsigned, 2> shfl_down(unsigned value, unsigned delta, unsigned clamp, unsigned mask) {
  check_mask(mask);
  const unsigned segment = (clamp >> 8) & 31u, lane = lane_id(), source = lane + (delta & 31u);
  return detail::shuffled(value, source, source <= ((lane & segment) | (clamp & 31u & ~segment)));
}
__device__ inline vec<unsigned, 2> shfl_bfly(unsigned value, unsigned lanes, unsigned clamp, unsigned mask) {
  check_mask(mask);
  const unsigned segment = (clamp >> 8) & 31u, lane = lane_id(), source = lane ^ (lanes & 31u);
  return detail::shuffled(value, source, source <= ((lane & segment) | (clamp & 31u & ~segment)));
}
__device__ inline vec<unsigned, 2> shfl_idx(unsigned value, unsigned index, unsigned clamp, unsigned mask) {
  check_mask(mask);
  const unsigned segment = (clamp >> 8) & 31u, lane = lane_id(), source = (lane & segment) | (index & 31u & ~segment);
  return detail::shuffled(value, source, source <= ((lane & segment) | (clamp & 31u & ~segment)));
}

/// elect.sync: the leader, the lowest lane of `mask` that is here.
__device__ inline unsigned elect(unsigned mask) {
  return static_cast<unsigned>(__builtin_ctz(mask & activemask()));
}

#define HIPPORT_REDUX(name, prepare, fold)                                                          \
  __device__ inline float redux_##name(unsigned mask, float value) {                                \
    check_mask(mask);                                                                               \
    return reduce_members(mask, prepare, [](float a, float b) { return fold; });                    \
  }
HIPPORT_REDUX(min, value, fmin(a, b))
HIPPORT_REDUX(max, value, fmax(a, b))
HIPPORT_REDUX(min_nan, value, fmin_nan(a, b))
HIPPORT_REDUX(max_nan, value, fmax_nan(a, b))
HIPPORT_REDUX(min_abs, __builtin_fabsf(value), fmin(a, b))
HIPPORT_REDUX(max_abs, __builtin_fabsf(value), fmax(a, b))
HIPPORT_REDUX(min_abs_nan, __builtin_fabsf(value), fmin_nan(a, b))
HIPPORT_REDUX(max_abs_nan, __builtin_fabsf(value), fmax_nan(a, b))
#undef HIPPORT_REDUX

/// %smid: a hardware number of the compute unit; numbers have gaps. Below `nsmid()`.
__device__ inline unsigned smid() { return __smid(); }
/// %nsmid: one above the largest `smid()`, which HIP packs into 11 bits: die 4, shader engine 3, compute unit 4 on CDNA.
__device__ inline unsigned nsmid() { return 2048u; }

/// %dynamic_smem_size and %total_smem_size: LDS of the workgroup in bytes.
__device__ inline unsigned dynamic_smem_size() {
  // Hidden kernel argument of code object version 5 and later: LLVM AMDGPUUsage, hidden_dynamic_lds_size, offset 120.
  return ((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[30];
}
__device__ inline unsigned total_smem_size() { return __builtin_amdgcn_groupstaticsize() + dynamic_smem_size(); }

/// %globaltimer: nanoseconds of a constant-rate counter. Resolution 10 ns.
__device__ inline unsigned long long globaltimer() { return static_cast<unsigned long long>(wall_clock64()) * 10ull; }

/// nanosleep: wait about `ns` nanoseconds, at most twice as long. One unit of s_sleep is 64 clocks, about 32 ns.
__device__ inline void nanosleep(unsigned ns) {
  for (unsigned left = ns < 1000000u ? ns : 1000000u; left >= 32u; left -= 32u) __builtin_amdgcn_s_sleep(1);
}

}  // namespace ptx
}  // namespace hipport
