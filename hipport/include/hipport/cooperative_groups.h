// Cooperative groups with CUDA's meaning: warps of 32 threads, masks of 32 bits, on wavefronts of 32 and 64 lanes.
//
// HIP's own header lacks partitions by value, reductions and scans, and its tiles answer in bits of the wavefront. Everything
// here lies in `hipport::cg`, so that both can be used in one program.
// Source: CUDA C++ Programming Guide, "Cooperative Groups".
#pragma once

#include <hipport/warp.h>

namespace hipport {
namespace cg {

// -- the block ----------------------------------------------------------------------------------------------------------
class thread_block {
 public:
  struct arrival_token {};

  __device__ static void sync() { __syncthreads(); }
  __device__ static unsigned thread_rank() { return hipport::thread_rank(); }
  __device__ static unsigned num_threads() { return block_threads(); }
  __device__ static unsigned size() { return num_threads(); }
  __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ static dim3 thread_index() {
    const auto i = hipport::thread_index();
    return dim3(i.x, i.y, i.z);
  }
  __device__ static dim3 group_dim() {
    const auto d = hipport::block_dim();
    return dim3(d.x, d.y, d.z);
  }
  __device__ static dim3 dim_threads() { return group_dim(); }
  // The workgroup barrier is one instruction: the arrival is part of the wait.
  __device__ static arrival_token barrier_arrive() { return {}; }
  __device__ static void barrier_wait(arrival_token&&) { __syncthreads(); }
};

__device__ inline thread_block this_thread_block() { return {}; }
template <unsigned... Sizes> struct block_tile_memory {};  // LDS of the tiles is in their own functions
template <unsigned... Sizes> __device__ inline thread_block this_thread_block(block_tile_memory<Sizes...>&) { return {}; }

// -- the grid, in a cooperative launch ------------------------------------------------------------------------------------
class grid_group {
 public:
  struct arrival_token {};

  __device__ static bool is_valid() { return __ockl_grid_is_valid() != 0; }
  __device__ static void sync() { __ockl_grid_sync(); }
  __device__ static arrival_token barrier_arrive() { return {}; }
  __device__ static void barrier_wait(arrival_token&&) { sync(); }
  __device__ static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  __device__ static unsigned long long block_rank() {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                            (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
  }
  __device__ static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  __device__ static unsigned long long size() { return num_threads(); }
  __device__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + hipport::thread_rank();
  }
  __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  __device__ static dim3 dim_blocks() { return group_dim(); }
  __device__ static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};

__device__ inline grid_group this_grid() { return {}; }

// -- groups inside a warp ---------------------------------------------------------------------------------------------------
namespace detail {

/// Lane number of the member of `mask` with rank `rank`.
__device__ inline unsigned lane_of_rank(unsigned mask, unsigned rank) {
  unsigned lane = 0;
#pragma unroll
  for (unsigned width = 16; width; width >>= 1) {  // binary search by counting members of the lower part
    const unsigned below = static_cast<unsigned>(__builtin_popcount((mask >> lane) & ((1u << width) - 1u)));
    if (rank >= below) {
      rank -= below;
      lane += width;
    }
  }
  return lane;
}

/// Bits of `lanes` at the members of `mask`, closed up: bit r is that of rank r.
__device__ inline unsigned packed(unsigned mask, unsigned lanes) {
  if (mask == full_mask) return lanes;
  unsigned result = 0;
  for (unsigned rank = 0; mask; mask &= mask - 1, ++rank)
    if (lanes & mask & (0u - mask)) result |= 1u << rank;
  return result;
}

template <class T> struct is_word { static constexpr bool value = sizeof(T) == 4 || sizeof(T) == 8; };
/// A value for `match`, which compares 32 or 64 bits.
template <class T> __device__ inline auto matched(T value) {
  if constexpr (is_word<T>::value) return value;
  else return static_cast<int>(value);
}

/// Inclusive scan over the lanes of `mask` in rank order. T: what `op` returns.
template <class T, class Op> __device__ inline T scan_members(unsigned mask, T value, Op op) {
  const unsigned members = mask & activemask(), below = members & lanemask_lt();
  unsigned previous = below ? 31u - static_cast<unsigned>(__builtin_clz(below)) : 32u;
#pragma unroll
  for (int round = 0; round < 5; ++round) {  // pointer doubling: `value` covers 2^round members up to this one
    const T other = hipport::detail::from_lane(value, previous & 31u);
    const unsigned before = hipport::detail::from_lane(previous, previous & 31u);
    if (previous < 32u) {
      value = op(other, value);
      previous = before;
    }
  }
  return value;
}

/// A group of lanes of one warp, by mask.
class lanes {
 public:
  __device__ explicit lanes(unsigned mask) : mask_(mask) {}
  __device__ unsigned get_mask() const { return mask_; }
  __device__ unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  __device__ unsigned size() const { return num_threads(); }
  __device__ unsigned thread_rank() const { return static_cast<unsigned>(__builtin_popcount(mask_ & lanemask_lt())); }
  __device__ void sync() const { syncwarp(mask_); }
  __device__ int any(int predicate) const { return any_sync(mask_, predicate); }
  __device__ int all(int predicate) const { return all_sync(mask_, predicate); }
  __device__ unsigned ballot(int predicate) const { return packed(mask_, ballot_sync(mask_, predicate)); }
  template <class T> __device__ unsigned match_any(T value) const {
    return packed(mask_, match_any_sync(mask_, matched(value)));
  }
  template <class T> __device__ unsigned match_all(T value, int& all) const {
    return packed(mask_, match_all_sync(mask_, matched(value), &all));
  }
  template <class T> __device__ T shfl(T value, unsigned rank) const {
    return hipport::detail::from_lane(value, lane_of_rank(mask_, rank));
  }
  template <class T> __device__ T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return hipport::detail::from_lane(value, lane_of_rank(mask_, rank < delta ? rank : rank - delta));
  }
  template <class T> __device__ T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank(), source = rank + delta;
    return hipport::detail::from_lane(value, lane_of_rank(mask_, source < size() ? source : rank));
  }

 private:
  unsigned mask_;
};

}  // namespace detail

class coalesced_group : public detail::lanes {
 public:
  __device__ explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned n_groups = 1)
      : lanes(mask), rank_(rank), n_groups_(n_groups) {}
  __device__ unsigned meta_group_rank() const { return rank_; }
  __device__ unsigned meta_group_size() const { return n_groups_; }

 private:
  unsigned rank_, n_groups_;
};

/// The lanes of the calling warp that are here together.
__device__ inline coalesced_group coalesced_threads() { return coalesced_group(activemask()); }

template <unsigned Size, class Parent = void, bool IsWide = (Size > 32)> class thread_block_tile {
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

 public:
  __device__ explicit thread_block_tile(unsigned rank = thread_block::thread_rank() / Size,
                                        unsigned n_tiles = (thread_block::num_threads() + Size - 1) / Size)
      : rank_(rank), n_tiles_(n_tiles) {}
  template <class Other> __device__ thread_block_tile(const thread_block_tile<Size, Other>& other)
      : rank_(other.meta_group_rank()), n_tiles_(other.meta_group_size()) {}

  __device__ static unsigned first_lane() { return lane_id() & ~(Size - 1u); }
  __device__ static unsigned get_mask() { return (full_mask >> (32u - Size)) << first_lane(); }
  __device__ static constexpr unsigned num_threads() { return Size; }
  __device__ static constexpr unsigned size() { return Size; }
  __device__ static unsigned thread_rank() { return lane_id() & (Size - 1u); }
  __device__ unsigned meta_group_rank() const { return rank_; }
  __device__ unsigned meta_group_size() const { return n_tiles_; }
  __device__ void sync() const { syncwarp(get_mask()); }
  __device__ int any(int predicate) const { return any_sync(get_mask(), predicate); }
  __device__ int all(int predicate) const { return all_sync(get_mask(), predicate); }
  __device__ unsigned ballot(int predicate) const { return ballot_sync(get_mask(), predicate) >> first_lane(); }
  template <class T> __device__ unsigned match_any(T value) const {
    return match_any_sync(get_mask(), detail::matched(value)) >> first_lane();
  }
  template <class T> __device__ unsigned match_all(T value, int& all) const {
    return match_all_sync(get_mask(), detail::matched(value), &all) >> first_lane();
  }
  template <class T> __device__ shuffled_t<T> shfl(T value, int rank) const {
    return shfl_sync(get_mask(), value, rank, Size);
  }
  template <class T> __device__ shuffled_t<T> shfl_up(T value, unsigned delta) const {
    return shfl_up_sync(get_mask(), value, delta, Size);
  }
  template <class T> __device__ shuffled_t<T> shfl_down(T value, unsigned delta) const {
    return shfl_down_sync(get_mask(), value, delta, Size);
  }
  template <class T> __device__ shuffled_t<T> shfl_xor(T value, unsigned lanes) const {
    return shfl_xor_sync(get_mask(), value, static_cast<int>(lanes), Size);
  }

 private:
  unsigned rank_, n_tiles_;
};

// -- tiles of several warps: 64 to 512 threads ---------------------------------------------------------------------------
namespace detail {

/// What the tiles of several warps of a block share, in LDS: a barrier per tile and size, and a slot per warp.
struct wide_memory {
  struct barrier { unsigned arrived, generation; };
  barrier barriers[4][16];
  unsigned long long slots[32][4];
};
__device__ inline wide_memory& wide() {
  static __shared__ wide_memory memory;
  return memory;
}
/// All threads of the block: LDS starts with unknown contents.
__device__ inline void wide_init() {
  __syncthreads();
  if (hipport::thread_rank() < 16u)
    for (auto& of_size : wide().barriers) of_size[hipport::thread_rank()] = {0u, 0u};
  __syncthreads();
}

}  // namespace detail

/// A tile of 64, 128, 256 or 512 threads. Its warps meet at a barrier in LDS; all of its threads take part in every call.
template <unsigned Size, class Parent> class thread_block_tile<Size, Parent, true> {
  static_assert(Size == 64 || Size == 128 || Size == 256 || Size == 512, "a tile has 1 to 512 threads, a power of two");

 public:
  __device__ explicit thread_block_tile(unsigned rank = thread_block::thread_rank() / Size,
                                        unsigned n_tiles = (thread_block::num_threads() + Size - 1) / Size)
      : rank_(rank), n_tiles_(n_tiles) {}
  template <class Other> __device__ thread_block_tile(const thread_block_tile<Size, Other, true>& other)
      : rank_(other.meta_group_rank()), n_tiles_(other.meta_group_size()) {}

  __device__ static constexpr unsigned num_threads() { return Size; }
  __device__ static constexpr unsigned size() { return Size; }
  __device__ static unsigned thread_rank() { return hipport::thread_rank() & (Size - 1u); }
  __device__ unsigned meta_group_rank() const { return rank_; }
  __device__ unsigned meta_group_size() const { return n_tiles_; }

  __device__ static void sync() {
    const unsigned lanes = __builtin_popcountll(__ballot(1));  // 64, or 32: a wavefront's share of the tile
    if (lanes == Size) return syncwarp();
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    constexpr unsigned of_size = Size == 64 ? 0 : Size == 128 ? 1 : Size == 256 ? 2 : 3;
    auto& barrier = detail::wide().barriers[of_size][hipport::thread_rank() / Size];
    unsigned seen = 0;
    if (__lane_id() == static_cast<unsigned>(__builtin_ctzll(__ballot(1)))) {
      seen = __hip_atomic_load(&barrier.generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
      const unsigned before = __hip_atomic_fetch_add(&barrier.arrived, lanes, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
      if (before + lanes >= Size) {
        __hip_atomic_store(&barrier.arrived, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
        __hip_atomic_store(&barrier.generation, seen + 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      }
    }
    seen = __builtin_amdgcn_readfirstlane(seen);
    while (__hip_atomic_load(&barrier.generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == seen)
      __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  __device__ static int any(int predicate) {
    return folded(any_sync(full_mask, predicate), true, [](int a, int b) { return a | b; });
  }
  __device__ static int all(int predicate) {
    return folded(all_sync(full_mask, predicate), true, [](int a, int b) { return a & b; });
  }
  template <class T> __device__ static T shfl(T value, int rank) {
    if (thread_rank() == static_cast<unsigned>(rank)) slot<T>(first_warp()) = value;
    sync();
    const T result = slot<T>(first_warp());
    sync();
    return result;
  }
  /// The warps' values combined in order; `mine`: this lane holds its warp's.
  template <class T, class Op> __device__ static T folded(T value, bool mine, Op op) {
    if (mine) slot<T>(warp_id()) = value;
    sync();
    T result = slot<T>(first_warp());
    for (unsigned warp = 1; warp < Size / 32; ++warp) result = op(result, slot<T>(first_warp() + warp));
    sync();
    return result;
  }
  /// An inclusive scan: `value` combined with everything below it.
  template <class T, class Op> __device__ static T scanned(T value, Op op) {
    value = detail::scan_members(full_mask, value, op);
    if (lane_id() == 31u) slot<T>(warp_id()) = value;
    sync();
    if (warp_id() > first_warp()) {
      T below = slot<T>(first_warp());
      for (unsigned warp = first_warp() + 1; warp < warp_id(); ++warp) below = op(below, slot<T>(warp));
      value = op(below, value);
    }
    sync();
    return value;
  }
  /// `value` of the thread of the rank below.
  template <class T> __device__ static T shifted(T value) {
    if (lane_id() == 31u) slot<T>(warp_id()) = value;
    sync();
    const T inside = hipport::detail::from_lane(value, lane_id() - (lane_id() > 0u));
    const T result = lane_id() == 0u && warp_id() > first_warp() ? slot<T>(warp_id() - 1u) : inside;
    sync();
    return result;
  }

 private:
  __device__ static unsigned first_warp() { return hipport::thread_rank() / Size * (Size / 32u); }
  template <class T> __device__ static T& slot(unsigned warp) {
    static_assert(sizeof(T) <= sizeof(detail::wide_memory::slots[0]), "values of a tile have up to 32 bytes");
    return *reinterpret_cast<T*>(detail::wide().slots[warp]);
  }

  unsigned rank_, n_tiles_;
};

template <unsigned Size> __device__ inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  if constexpr (Size > 32) detail::wide_init();
  return thread_block_tile<Size, thread_block>();
}
template <unsigned Size, unsigned ParentSize, class Grandparent, bool IsWide>
__device__ inline auto tiled_partition(const thread_block_tile<ParentSize, Grandparent, IsWide>& parent) {
  static_assert(Size <= ParentSize, "a tile is part of its parent");
  using parent_tile = thread_block_tile<ParentSize, Grandparent, IsWide>;
  return thread_block_tile<Size, parent_tile>(parent.thread_rank() / Size, ParentSize / Size);
}
__device__ inline thread_block_tile<1> this_thread() { return thread_block_tile<1>(0, 1); }

/// Part of a coalesced group: `size` threads with neighbouring ranks.
__device__ inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  if (parent.size() <= size) return parent;
  const unsigned first = parent.thread_rank() / size * size;
  unsigned mask = parent.get_mask(), skipped = 0, taken = 0, result = 0;
  for (; mask && taken < size; mask &= mask - 1) {
    if (skipped++ < first) continue;
    result |= mask & (0u - mask);
    ++taken;
  }
  return coalesced_group(result, parent.thread_rank() / size, (parent.size() + size - 1) / size);
}

/// Any of the groups above, when only a run-time size is known.
class thread_group {
 public:
  __device__ thread_group(const thread_block&) : block_(true), mask_(0) {}
  __device__ thread_group(const coalesced_group& group) : block_(false), mask_(group.get_mask()) {}
  template <unsigned Size, class Parent> __device__ thread_group(const thread_block_tile<Size, Parent, false>& tile)
      : block_(false), mask_(tile.get_mask()) {}
  __device__ unsigned long long size() const {
    return block_ ? thread_block::size() : static_cast<unsigned>(__builtin_popcount(mask_));
  }
  __device__ unsigned long long num_threads() const { return size(); }
  __device__ unsigned long long thread_rank() const {
    return block_ ? thread_block::thread_rank() : static_cast<unsigned>(__builtin_popcount(mask_ & lanemask_lt()));
  }
  __device__ void sync() const {
    if (block_) thread_block::sync();
    else syncwarp(mask_);
  }
  __device__ bool is_block() const { return block_; }
  __device__ unsigned get_mask() const { return mask_; }

 private:
  bool block_;
  unsigned mask_;
};

/// Parts of `size` threads, a power of two up to 32.
__device__ inline thread_group tiled_partition(const thread_block&, unsigned size) {
  return coalesced_group((full_mask >> (32u - size)) << (lane_id() & ~(size - 1u)));
}
__device__ inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.is_block()) return tiled_partition(this_thread_block(), size);
  return tiled_partition(coalesced_group(parent.get_mask()), size);
}

// -- partitions by value ----------------------------------------------------------------------------------------------------
template <class Group> __device__ inline coalesced_group binary_partition(const Group& group, bool predicate) {
  const unsigned mask = group.get_mask(), set = ballot_sync(mask, predicate);
  if (set == mask || set == 0) return coalesced_group(mask);
  return coalesced_group(predicate ? set : mask & ~set, predicate, 2);
}
template <class Group, class Label> __device__ inline coalesced_group labeled_partition(const Group& group, Label label) {
  const unsigned mask = group.get_mask(), same = match_any_sync(mask, detail::matched(label));
  const unsigned leader = static_cast<unsigned>(__builtin_ctz(same));
  const unsigned leaders = ballot_sync(mask, leader == lane_id());
  return coalesced_group(same, static_cast<unsigned>(__builtin_popcount(leaders & ((1u << leader) - 1u))),
                         static_cast<unsigned>(__builtin_popcount(leaders)));
}
template <class Group> __device__ inline coalesced_group labeled_partition(const Group& group, bool label) {
  return binary_partition(group, label);
}

// -- operators, reductions, scans ----------------------------------------------------------------------------------------
template <class T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };     // the smaller
template <class T> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };  // the larger
template <class T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Op> __device__ inline auto reduce(const Group& group, T value, Op op) {
  using R = decltype(op(value, value));
  return reduce_members(group.get_mask(), static_cast<R>(value), op);
}
template <unsigned Size, class Parent, class T, class Op>
__device__ inline auto reduce(const thread_block_tile<Size, Parent, true>& tile, T value, Op op) {
  using R = decltype(op(value, value));
  return tile.folded(reduce_members(full_mask, static_cast<R>(value), op), lane_id() == 0u, op);
}
template <class Group, class T, class Op> __device__ inline auto inclusive_scan(const Group& group, T value, Op op) {
  using R = decltype(op(value, value));
  return detail::scan_members(group.get_mask(), static_cast<R>(value), op);
}
template <unsigned Size, class Parent, class T, class Op>
__device__ inline auto inclusive_scan(const thread_block_tile<Size, Parent, true>& tile, T value, Op op) {
  using R = decltype(op(value, value));
  return tile.scanned(static_cast<R>(value), op);
}
template <class Group, class T> __device__ inline T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
/// The first thread of the group gets a value-initialised result.
template <class Group, class T, class Op> __device__ inline auto exclusive_scan(const Group& group, T value, Op op) {
  using R = decltype(op(value, value));
  const R inclusive = detail::scan_members(group.get_mask(), static_cast<R>(value), op);
  const unsigned below = group.get_mask() & activemask() & lanemask_lt();
  const R before = hipport::detail::from_lane(inclusive, below ? 31u - static_cast<unsigned>(__builtin_clz(below)) : lane_id());
  return below ? before : R{};
}
template <unsigned Size, class Parent, class T, class Op>
__device__ inline auto exclusive_scan(const thread_block_tile<Size, Parent, true>& tile, T value, Op op) {
  using R = decltype(op(value, value));
  const R before = tile.shifted(tile.scanned(static_cast<R>(value), op));
  return tile.thread_rank() ? before : R{};
}
template <class Group, class T> __device__ inline T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

/// One thread of the group runs `f`.
template <class Group, class F, class... A> __device__ inline void invoke_one(const Group& group, F&& f, A&&... arguments) {
  if (group.thread_rank() == 0) f(static_cast<A&&>(arguments)...);
}
template <class Group, class F, class... A>
__device__ inline auto invoke_one_broadcast(const Group& group, F&& f, A&&... arguments) {
  decltype(f(static_cast<A&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = f(static_cast<A&&>(arguments)...);
  return group.shfl(result, 0);
}

// -- copies by a group: done when issued -----------------------------------------------------------------------------------
template <class Group> __device__ inline void memcpy_async(const Group& group, void* to, const void* from, size_t n_bytes) {
  auto* target = static_cast<char*>(to);
  auto* source = static_cast<const char*>(from);
  const size_t step = group.size(), rank = group.thread_rank();
  const bool words = ((reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)) & 3u) == 0;
  const size_t n_words = words ? n_bytes / 4 : 0;
  for (size_t i = rank; i < n_words; i += step)
    reinterpret_cast<unsigned*>(target)[i] = reinterpret_cast<const unsigned*>(source)[i];
  for (size_t i = 4 * n_words + rank; i < n_bytes; i += step) target[i] = source[i];
}
template <class Group, class T>
__device__ inline void memcpy_async(const Group& group, T* to, size_t n_to, const T* from, size_t n_from) {
  memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from), sizeof(T) * (n_to < n_from ? n_to : n_from));
}
template <class Group> __device__ inline void wait(const Group& group) { group.sync(); }
template <unsigned N, class Group> __device__ inline void wait_prior(const Group& group) { group.sync(); }

/// CUDA 11's name for what tiles of several warps needed.
namespace experimental {
using namespace cg;  // NOLINT
}

template <class Group> __device__ inline void sync(const Group& group) { group.sync(); }
template <class Group> __device__ inline auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> __device__ inline auto group_size(const Group& group) { return group.num_threads(); }

}  // namespace cg
}  // namespace hipport
