// Reductions of the warp model `native64`: over a whole wavefront, without shuffles.
//
// Code that the model rewrites hands one partial result per warp on, to shared memory or an atomic. Here a "native" warp is
// the wavefront: 64 lanes on CDNA, 32 elsewhere. Only integers are reduced over 64 lanes: the order of their sums (modulo
// 2^n), extremes and bit operations does not matter. Every other type keeps 32 lanes and the order of CUDA's tree. Blocks
// are one-dimensional.
#pragma once

#include <hipport/warp.h>

namespace hipport {
namespace native_detail {

/// Integers whose reduction may be done in any order.
template <class T> inline constexpr bool any_order = __is_integral(T) && (sizeof(T) == 4 || sizeof(T) == 8);

template <int Bytes> struct bits_of { using type = unsigned; };
template <> struct bits_of<8> { using type = unsigned long long; };

struct add {
  template <class T> static constexpr T neutral() { return T(0); }
  template <class T> __device__ T operator()(T a, T b) const {
    if constexpr (any_order<T>) {
      using U = typename bits_of<sizeof(T)>::type;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
struct bit_and {
  template <class T> static constexpr T neutral() { return static_cast<T>(~T(0)); }
  template <class T> __device__ T operator()(T a, T b) const { return a & b; }
};
struct bit_or {
  template <class T> static constexpr T neutral() { return T(0); }
  template <class T> __device__ T operator()(T a, T b) const { return a | b; }
};
struct bit_xor {
  template <class T> static constexpr T neutral() { return T(0); }
  template <class T> __device__ T operator()(T a, T b) const { return a ^ b; }
};
template <class T> constexpr T lowest() { return T(-1) < T(0) ? static_cast<T>(T(1) << (8 * sizeof(T) - 1)) : T(0); }
struct minimum {
  template <class T> static constexpr T neutral() { return static_cast<T>(~lowest<T>()); }
  template <class T> __device__ T operator()(T a, T b) const { return min(a, b); }
};
struct maximum {
  template <class T> static constexpr T neutral() { return lowest<T>(); }
  template <class T> __device__ T operator()(T a, T b) const { return max(a, b); }
};

/// Apply a function of 32 bits to each word of a value.
template <class T, class F> __device__ inline T by_words(T value, T old, F f) {
  int words[sizeof(T) / 4], others[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  __builtin_memcpy(others, &old, sizeof(T));
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) words[i] = f(words[i], others[i]);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}

template <int Control, int Rows = 0xf, class T> __device__ inline T moved(T value, T old) {
  return by_words(value, old, [](int word, int other) {
    return __builtin_amdgcn_update_dpp(other, word, Control, Rows, 0xf, Rows == 0xf);
  });
}

/// Every lane gets the result of its row of 16 lanes.
template <class Op, class T> __device__ inline T row_reduce(T value, Op op) {
  value = op(value, moved<0xb1>(value, value));     // quad_perm: lane ^ 1
  value = op(value, moved<0x4e>(value, value));     // quad_perm: lane ^ 2
  value = op(value, moved<0x141>(value, value));    // row_half_mirror: the other four of eight, all alike
  return op(value, moved<0x140>(value, value));     // row_mirror: the other eight of the row
}

/// `value` of the other row of the lane's half wavefront, when each row holds one value.
template <class T> __device__ inline T other_row(T value) {
  return by_words(value, value, [](int word, int) {
#ifdef __GFX9__
    return __builtin_amdgcn_ds_swizzle(word, 0x401f);  // lane ^ 16
#else
    return __builtin_amdgcn_permlanex16(word, word, 0x76543210, 0xfedcba98, false, false);
#endif
  });
}

/// Result of the wavefront of 64 lanes whose rows hold one value each.
template <class Op, class T> __device__ inline T wavefront_reduce(T value, Op op) {
#ifdef __GFX9__
  value = op(value, moved<0x142, 0xa>(value, Op::template neutral<T>()));  // row_bcast:15 into rows 1 and 3
  value = op(value, moved<0x143, 0xc>(value, Op::template neutral<T>()));  // row_bcast:31 into rows 2 and 3
  return by_words(value, value, [](int word, int) { return __builtin_amdgcn_readlane(word, 63); });
#else
  return value;
#endif
}

/// CUDA's butterfly over 32 lanes, from 16 down to 1: for types whose order matters.
template <class Op, class T> __device__ inline T ordered_reduce(T value, Op op) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) value = op(value, static_cast<T>(shfl_xor_sync(full_mask, value, step)));
  return value;
}

template <class Op, class T> __device__ inline T warp_reduce(T value, Op op) {
  if constexpr (any_order<T>) {
    value = row_reduce(value, op);
    return op(value, other_row(value));
  } else {
    return ordered_reduce(value, op);
  }
}

}  // namespace native_detail

/// Lanes of the native warp for values of type T.
#if defined(__GFX9__) && !defined(HIPPORT_PADDED)
template <class T> inline constexpr unsigned native_lanes = native_detail::any_order<T> ? 64u : 32u;
#else
template <class T> inline constexpr unsigned native_lanes = 32u;
#endif

/// Lane of the native warp, and its number in the block.
template <class T> __device__ inline unsigned native_lane() { return thread_index().x % native_lanes<T>; }
template <class T> __device__ inline unsigned native_warp() { return thread_index().x / native_lanes<T>; }

/// Native warps that `warps` CUDA warps are.
template <class T> __host__ __device__ constexpr int native_warps(int warps) {
  return native_lanes<T> == 64u ? (warps + 1) / 2 : warps;
}

namespace native_detail {

template <class Op, class T> __device__ inline T native_reduce(T value, Op op) {
  if constexpr (native_lanes<T> == 64u) {
    if (__ballot(1) == ~0ull) return wavefront_reduce(row_reduce(value, op), op);
    // The last wavefront of a block that is no multiple of 64: lanes are missing.
    const T half = reduce_members(full_mask, value, op);
    const auto of_lane = [half](int lane) {
      return by_words(half, half, [lane](int word, int) { return __builtin_amdgcn_readlane(word, lane); });
    };
    return __ballot(1) >> 32 ? op(of_lane(0), of_lane(32)) : of_lane(0);
  } else {
    return warp_reduce(value, op);
  }
}

}  // namespace native_detail

// Every lane of the native warp gets the result.
template <class T> __device__ inline T native_reduce_add(T value) { return native_detail::native_reduce(value, native_detail::add()); }
template <class T> __device__ inline T native_reduce_and(T value) { return native_detail::native_reduce(value, native_detail::bit_and()); }
template <class T> __device__ inline T native_reduce_or(T value) { return native_detail::native_reduce(value, native_detail::bit_or()); }
template <class T> __device__ inline T native_reduce_xor(T value) { return native_detail::native_reduce(value, native_detail::bit_xor()); }
template <class T> __device__ inline T native_reduce_min(T value) { return native_detail::native_reduce(value, native_detail::minimum()); }
template <class T> __device__ inline T native_reduce_max(T value) { return native_detail::native_reduce(value, native_detail::maximum()); }

/// Lanes of the native warp with a true predicate.
template <class T> __device__ inline T native_count(bool predicate) {
  if constexpr (native_lanes<T> == 64u) return static_cast<T>(__builtin_popcountll(__ballot(predicate)));
  else return static_cast<T>(__builtin_popcount(warp_slice(__ballot(predicate))));
}

// Every lane of the calling CUDA warp gets the result of its 32 lanes.
template <class T> __device__ inline T warp_reduce_add(T value) { return native_detail::warp_reduce(value, native_detail::add()); }
template <class T> __device__ inline T warp_reduce_and(T value) { return native_detail::warp_reduce(value, native_detail::bit_and()); }
template <class T> __device__ inline T warp_reduce_or(T value) { return native_detail::warp_reduce(value, native_detail::bit_or()); }
template <class T> __device__ inline T warp_reduce_xor(T value) { return native_detail::warp_reduce(value, native_detail::bit_xor()); }
template <class T> __device__ inline T warp_reduce_min(T value) { return native_detail::warp_reduce(value, native_detail::minimum()); }
template <class T> __device__ inline T warp_reduce_max(T value) { return native_detail::warp_reduce(value, native_detail::maximum()); }

}  // namespace hipport
