// CUDA warp semantics on AMD wavefronts, model `logical32`.
//
// A CUDA warp is 32 consecutive threads of a block. AMD runs wavefronts of 64 lanes (CDNA) or 32 (RDNA), filled with
// threads in the same order, so a CUDA warp is one aligned half of a 64-lane wavefront, or a whole 32-lane one. All
// functions here see only that half: masks are the 32-bit slice that belongs to it and lane numbers are 0..31. The same
// source is right for both wavefront sizes.
//
// Masks name lanes of the calling warp. AMD lanes have no program counter of their own: lanes that took different
// branches cannot meet in one instruction, so a mask that names lanes of another branch cannot be honoured. Such code
// is reported at translation; define HIPPORT_CHECK_MASKS to trap at run time as well.
#pragma once

#include <hip/hip_runtime.h>

namespace hipport {

/// Threads of a CUDA warp. Not the wavefront size of the device.
inline constexpr int warp_size = 32;
inline constexpr unsigned full_mask = 0xffffffffu;

/// Lane of the wavefront where the calling warp starts: 0, or 32 in the upper half of a 64-lane wavefront.
__device__ inline unsigned warp_base() { return __lane_id() & 32u; }

/// PTX %laneid: 0..31.
__device__ inline unsigned lane_id() { return __lane_id() & 31u; }

// Model `padded`, chosen for a file by `#define HIPPORT_PADDED` before its includes: every CUDA warp has a wavefront of its
// own. On 64-lane wavefronts the block is launched with twice the threads (`padded_block`), lanes 32-63 leave the kernel at
// its start (`is_padding`), and thread numbers count the rest. The first dimension is doubled that lets 64 neighbouring
// threads hold one CUDA warp and 32 idle lanes: x when its rows are whole warps or the only row, y when a warp is several
// whole rows, z when it is several whole planes. Other blocks of several dimensions are refused at the launch.

namespace detail {
/// Dimension that the launch doubled: 0, 1 or 2.
__device__ inline int doubled_dimension() {
  if (blockDim.y * blockDim.z == 1 || blockDim.x % 64u == 0) return 0;
  return blockDim.x * blockDim.y % 64u == 0 ? 1 : 2;
}
/// Number along the doubled dimension without idle ones; 64 lanes are `step` of it.
__device__ inline unsigned unpadded(unsigned number, unsigned step) { return number / step * (step / 2u) + number % step; }
}  // namespace detail

/// CUDA's threadIdx and blockDim in a padded kernel.
__device__ inline uint3 padded_thread_index() {
  uint3 index = make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);
  if (__builtin_amdgcn_wavefrontsize() == 32) return index;
  switch (detail::doubled_dimension()) {
    case 0: index.x = detail::unpadded(index.x, 64u); break;
    case 1: index.y = detail::unpadded(index.y, 64u / blockDim.x); break;
    default: index.z = detail::unpadded(index.z, 64u / (blockDim.x * blockDim.y));
  }
  return index;
}
__device__ inline uint3 padded_block_dim() {
  uint3 size = make_uint3(blockDim.x, blockDim.y, blockDim.z);
  if (__builtin_amdgcn_wavefrontsize() == 32) return size;
  switch (detail::doubled_dimension()) {
    case 0: size.x = size.x / 64u * 32u + (size.x % 64u < 32u ? size.x % 64u : 32u); break;
    case 1: size.y /= 2u; break;
    default: size.z /= 2u;
  }
  return size;
}

/// CUDA's threadIdx and blockDim.
#ifdef HIPPORT_PADDED
__device__ inline uint3 thread_index() { return padded_thread_index(); }
__device__ inline uint3 block_dim() { return padded_block_dim(); }
#else
__device__ inline uint3 thread_index() { return make_uint3(threadIdx.x, threadIdx.y, threadIdx.z); }
__device__ inline uint3 block_dim() { return make_uint3(blockDim.x, blockDim.y, blockDim.z); }
#endif

/// In a padded kernel: a lane that only fills up the wavefront.
__device__ inline bool is_padding() { return __lane_id() >= 32u; }

/// Block size of a launch of a padded kernel. A block that cannot be padded gives an invalid configuration.
__host__ inline dim3 padded_block(dim3 block) {
  int device = 0, lanes = 64;
  if (hipGetDevice(&device) != hipSuccess) return block;
  if (hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device) != hipSuccess || lanes == 32) return block;
  if (block.y * block.z == 1) return dim3(block.x / 32u * 64u + block.x % 32u);
  if (block.x % 32u == 0) return dim3(block.x * 2u, block.y, block.z);
  const unsigned plane = block.x * block.y;
  if (32u % block.x == 0 && plane % 32u == 0) return dim3(block.x, block.y * 2u, block.z);
  if (32u % plane == 0 && plane * block.z % 32u == 0) return dim3(block.x, block.y, block.z * 2u);
  return dim3(0, 0, 0);
}
/// The bound of __launch_bounds__ for a padded kernel.
__host__ __device__ constexpr unsigned padded_threads(unsigned threads) {
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
  return threads;
#else
  return (threads + 31u) / 32u * 64u;
#endif
}

/// Threads of the block.
__device__ inline unsigned block_threads() {
  const uint3 size = block_dim();
  return size.x * size.y * size.z;
}
/// Position of the calling thread in its block, x fastest.
__device__ inline unsigned thread_rank() {
  const uint3 index = thread_index(), size = block_dim();
  return index.x + size.x * (index.y + size.y * index.z);
}

/// Warp of the block that the thread belongs to (PTX %warpid, which CUDA calls volatile).
__device__ inline unsigned warp_id() { return thread_rank() >> 5; }

/// Warps of the block, the last one perhaps partial (PTX %nwarpid).
__device__ inline unsigned n_warps() { return (block_threads() + 31u) >> 5; }

__device__ inline unsigned lanemask_eq() { return 1u << lane_id(); }
__device__ inline unsigned lanemask_lt() { return (1u << lane_id()) - 1u; }
__device__ inline unsigned lanemask_le() { return 0xffffffffu >> (31u - lane_id()); }
__device__ inline unsigned lanemask_gt() { return 0xfffffffeu << lane_id(); }
__device__ inline unsigned lanemask_ge() { return 0xffffffffu << lane_id(); }

/// The calling warp's part of a mask over the wavefront.
__device__ inline unsigned warp_slice(unsigned long long wavefront_mask) {
  return static_cast<unsigned>(wavefront_mask >> warp_base());
}

/// Lanes of the calling warp that execute this together (CUDA __activemask).
__device__ inline unsigned activemask() { return warp_slice(__ballot(1)); }

/// Lanes of the calling warp that the block has: all of them but in a partial last warp.
__device__ inline unsigned existing_lanes() {
  const unsigned left = block_threads() - (thread_rank() & ~31u);
  return left >= 32u ? full_mask : (1u << left) - 1u;
}

namespace detail {
/// A trap that the emulator knows as one of a wrong mask (HP858): it finds the mask in VCC and "MASK" in M0.
__device__ inline void mask_trap([[maybe_unused]] unsigned mask) {
#ifdef __HIP_DEVICE_COMPILE__
  asm volatile("v_readfirstlane_b32 vcc_lo, %0\n\ts_mov_b32 m0, 0x4b53414d\n\ts_trap 2" : : "v"(mask) : "vcc", "m0");
#endif
  __builtin_trap();
}
}  // namespace detail

/// Traps, with HIPPORT_CHECK_MASKS defined, where CUDA leaves the result undefined or AMD cannot honour the mask: the
/// caller is not in its own mask, or a named lane of the block is not here (it took another branch, or has exited).
__device__ inline void check_mask([[maybe_unused]] unsigned mask) {
#ifdef HIPPORT_CHECK_MASKS
  if (!(mask & lanemask_eq()) || (mask & existing_lanes() & ~activemask())) detail::mask_trap(mask);
#endif
}

/// Order memory accesses of the warp's lanes and keep the compiler from moving code across (CUDA __syncwarp). Lanes of a
/// wavefront advance together, so nothing has to wait; the fence and the scheduling barrier are what is left, and they
/// are needed: without them LDS accesses are reordered.
__device__ inline void syncwarp(unsigned mask = full_mask) {
  check_mask(mask);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/// Keep the lanes of a loop together. Without it the compiler may move what a lane does in its last round behind the loop,
/// where it waits for all others: a lock taken in the loop would then never be given back.
__device__ inline void converge() { __builtin_amdgcn_wave_barrier(); }

namespace detail {

template <class T> struct shuffled { using type = T; };  // CUDA promotes small integers to int
template <> struct shuffled<bool> { using type = int; };
template <> struct shuffled<char> { using type = int; };
template <> struct shuffled<signed char> { using type = int; };
template <> struct shuffled<unsigned char> { using type = int; };
template <> struct shuffled<short> { using type = int; };
template <> struct shuffled<unsigned short> { using type = int; };

/// `value` of `lane` (0..31) of the calling warp; 0 when that lane is not active. T: trivially copyable.
template <class T> __device__ inline T from_lane(T value, unsigned lane) {
  constexpr int n_words = (sizeof(T) + 3) / 4;
  int words[n_words] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  const int address = static_cast<int>((warp_base() + lane) << 2);
#pragma unroll
  for (int i = 0; i < n_words; ++i) words[i] = __builtin_amdgcn_ds_bpermute(address, words[i]);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}

/// Segment bits of a shuffle of `width` lanes, as CUDA passes them to the hardware.
__device__ inline unsigned segment_mask(int width) { return static_cast<unsigned>(warp_size - width) & 31u; }

}  // namespace detail

template <class T> using shuffled_t = typename detail::shuffled<T>::type;

// The four shuffles follow the PTX shfl pseudocode: lane numbers and offsets count modulo 32, a source outside the
// segment gives the caller's own value, and `bfly` may read lower segments.

/// CUDA __shfl_sync: `value` of lane `source` modulo `width` of the caller's segment.
template <class T>
__device__ inline shuffled_t<T> shfl_sync(unsigned mask, T value, int source, int width = warp_size) {
  check_mask(mask);
  const unsigned segment = detail::segment_mask(width);
  return detail::from_lane<shuffled_t<T>>(value, (lane_id() & segment) | (static_cast<unsigned>(source) & 31u & ~segment));
}

/// CUDA __shfl_up_sync: `value` of the lane `delta` below, the caller's own at the start of the segment.
template <class T>
__device__ inline shuffled_t<T> shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warp_size) {
  check_mask(mask);
  const int lane = static_cast<int>(lane_id());
  const int source = lane - static_cast<int>(delta & 31u);
  const int first = lane & static_cast<int>(detail::segment_mask(width));
  return detail::from_lane<shuffled_t<T>>(value, source >= first ? source : lane);
}

/// CUDA __shfl_down_sync: `value` of the lane `delta` above, the caller's own at the end of the segment.
template <class T>
__device__ inline shuffled_t<T> shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warp_size) {
  check_mask(mask);
  const unsigned lane = lane_id(), segment = detail::segment_mask(width);
  const unsigned source = lane + (delta & 31u), last = (lane & segment) | (31u & ~segment);
  return detail::from_lane<shuffled_t<T>>(value, source <= last ? source : lane);
}

/// CUDA __shfl_xor_sync: `value` of lane `lane ^ lane_mask`, the caller's own beyond the segment's end.
template <class T>
__device__ inline shuffled_t<T> shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warp_size) {
  check_mask(mask);
  const unsigned lane = lane_id(), segment = detail::segment_mask(width);
  const unsigned source = lane ^ (static_cast<unsigned>(lane_mask) & 31u), last = (lane & segment) | (31u & ~segment);
  return detail::from_lane<shuffled_t<T>>(value, source <= last ? source : lane);
}

/// CUDA __ballot_sync: bit per lane of the warp in `mask` whose `predicate` is not 0.
__device__ inline unsigned ballot_sync(unsigned mask, int predicate) {
  check_mask(mask);
  return warp_slice(__ballot(predicate)) & mask;
}

/// CUDA __any_sync.
__device__ inline int any_sync(unsigned mask, int predicate) { return ballot_sync(mask, predicate) != 0; }

/// CUDA __all_sync: lanes that have exited or do not exist do not count.
__device__ inline int all_sync(unsigned mask, int predicate) { return ballot_sync(mask, !predicate) == 0; }

/// CUDA __uni_sync: all lanes of `mask` agree whether `predicate` is 0.
__device__ inline int uni_sync(unsigned mask, int predicate) {
  const unsigned yes = ballot_sync(mask, predicate);
  return yes == 0 || yes == (mask & activemask());
}

// Votes without a mask, as CUDA had them before version 9: over the lanes that are here.
__device__ inline unsigned ballot(int predicate) { return warp_slice(__ballot(predicate)); }
__device__ inline int any(int predicate) { return ballot(predicate) != 0; }
__device__ inline int all(int predicate) { return ballot(!predicate) == 0; }

/// CUDA __match_any_sync: lanes of `mask` that hold the same bits as the caller. T: 4 or 8 bytes.
template <class T> __device__ inline unsigned match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "match needs a value of 32 or 64 bits");
  check_mask(mask);
  unsigned words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  unsigned same = mask & activemask();
#pragma unroll
  for (unsigned word : words) {
#pragma unroll
    for (int bit = 0; bit < 32; ++bit) {  // uniform control flow: one vote per bit, whatever the number of groups
      const unsigned set = (word >> bit) & 1u;
      same &= warp_slice(__ballot(set)) ^ (set - 1u);
    }
  }
  return same;
}

/// CUDA __match_all_sync: `mask` when all its lanes hold the same bits, else 0; `*all` tells which. T: 4 or 8 bytes.
template <class T> __device__ inline unsigned match_all_sync(unsigned mask, T value, int* all) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "match needs a value of 32 or 64 bits");
  check_mask(mask);
  const unsigned members = mask & activemask();
  unsigned words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  bool differs = false;
#pragma unroll
  for (unsigned word : words) differs |= detail::from_lane(word, static_cast<unsigned>(__builtin_ctz(members))) != word;
  *all = (warp_slice(__ballot(differs)) & members) == 0;
  return *all ? mask : 0u;
}

/// Fold `value` over the lanes of `mask` that are here; every one of them gets the result. `op` must be associative and
/// commutative up to what the caller accepts: lane i is combined with the lanes above it in order. Different masks may
/// be folded by one call as long as they are disjoint, as CUDA allows.
template <class T, class Op> __device__ inline T reduce_members(unsigned mask, T value, Op op) {
  const unsigned members = mask & activemask(), lane = lane_id();
  if (__all(members == full_mask)) {
#pragma unroll
    for (unsigned step = 1; step < 32; step <<= 1) {
      const T other = detail::from_lane(value, lane ^ step);
      value = lane & step ? op(other, value) : op(value, other);
    }
    return value;
  }
  // Pointer doubling over the member list: after k rounds `value` covers 2^k members from this one on.
  const unsigned above = members & lanemask_gt();
  unsigned next = above ? static_cast<unsigned>(__builtin_ctz(above)) : 32u;
#pragma unroll
  for (int round = 0; round < 5; ++round) {
    const T other = detail::from_lane(value, next & 31u);
    const unsigned after = detail::from_lane(next, next & 31u);
    if (next < 32u) {
      value = op(value, other);
      next = after;
    }
  }
  return detail::from_lane(value, static_cast<unsigned>(__builtin_ctz(members)));
}

// CUDA __reduce_*_sync. Integer types of 32 bits.
template <class T> __device__ inline T reduce_add_sync(unsigned mask, T value) {
  check_mask(mask);
  return static_cast<T>(reduce_members(mask, static_cast<unsigned>(value), [](unsigned a, unsigned b) { return a + b; }));
}
template <class T> __device__ inline T reduce_min_sync(unsigned mask, T value) {
  check_mask(mask);
  return reduce_members(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <class T> __device__ inline T reduce_max_sync(unsigned mask, T value) {
  check_mask(mask);
  return reduce_members(mask, value, [](T a, T b) { return a < b ? b : a; });
}
__device__ inline unsigned reduce_and_sync(unsigned mask, unsigned value) {
  check_mask(mask);
  return reduce_members(mask, value, [](unsigned a, unsigned b) { return a & b; });
}
__device__ inline unsigned reduce_or_sync(unsigned mask, unsigned value) {
  check_mask(mask);
  return reduce_members(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
__device__ inline unsigned reduce_xor_sync(unsigned mask, unsigned value) {
  check_mask(mask);
  return reduce_members(mask, value, [](unsigned a, unsigned b) { return a ^ b; });
}

}  // namespace hipport
