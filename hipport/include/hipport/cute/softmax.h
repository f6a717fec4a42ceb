// Softmax over rows of a CuTe tensor (rows, columns) in registers, two columns at a time.
//
// CDNA has packed fp32 arithmetic (v_pk_fma_f32, v_pk_mul_f32, v_pk_add_f32: CDNA2 ISA guide, "VOP3P"); the compiler
// forms it from vectors of two. Each function does the work of columns `column` and `column + 1` when `column` is even and
// nothing when it is odd, so that it stands inside a loop over all columns.
#pragma once

#include <cute/tensor.hpp>
#include <hipport/cute/tile.h>

namespace hipport::tile {

using Pair = float __attribute__((ext_vector_type(2)));

// 2^x by the hardware's instruction alone: results below the smallest normal number become zero.
__device__ __forceinline__ float exp2_flushed(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_exp2f(x);
#else
  return x;
#endif
}

// x = 2^(x * scale - offset)
template <class Tensor>
__device__ __forceinline__ void exp2_pair(Tensor& x, int row, int column, float scale, float offset) {
  if (column % 2 != 0) return;
  const Pair power = __builtin_elementwise_fma(Pair{x(row, column), x(row, column + 1)}, Pair{scale, scale}, Pair{-offset, -offset});
  x(row, column) = exp2_flushed(power.x);
  x(row, column + 1) = exp2_flushed(power.y);
}

// x = x * factor
template <class Tensor>
__device__ __forceinline__ void scale_pair(Tensor& x, int row, int column, float factor) {
  if (column % 2 != 0) return;
  const Pair scaled = Pair{x(row, column), x(row, column + 1)} * Pair{factor, factor};
  x(row, column) = scaled.x;
  x(row, column + 1) = scaled.y;
}

// Add the columns of each row to its sum, or set the sum when `zero_init`.
template <bool zero_init, class Tensor, class Sums>
__device__ __forceinline__ void add_columns(Tensor const& x, Sums& sums) {
#pragma unroll
  for (int row = 0; row < int(decltype(cute::size<0>(x))::value); ++row) {
    // Two chains, so that no addition waits for the one before.
    Pair even{x(row, 0), x(row, 1)}, odd{x(row, 2), x(row, 3)};
#pragma unroll
    for (int column = 4; column < int(decltype(cute::size<1>(x))::value); column += 4) {
      even += Pair{x(row, column), x(row, column + 1)};
      odd += Pair{x(row, column + 2), x(row, column + 3)};
    }
    const Pair sum = even + odd;
    sums(row) = zero_init ? sum.x + sum.y : sums(row) + (sum.x + sum.y);
  }
}

// How far a row's largest score may rise, as a power of two, before what was summed so far is rescaled. Any reference of
// the exponentials gives the same result, as rows are divided by their sums in the end. Probabilities stay below 2^8,
// which fp16 holds as well.
inline constexpr float rise_allowed = 8;

// Put the old maximum back where it is near enough; false when a row of the wavefront needs another. Rescaling the output
// is a quarter of an iteration's vector instructions, and seldom needed after the first tiles. What happens to a row does
// not depend on other rows.
//
// exact: keep only what has not changed (the scores are returned, relative to their maximum so far).
template <class Rows>
__device__ __forceinline__ bool keep_maximum(Rows& maximum, Rows const& before, float scale, bool exact) {
  bool any = false;
#pragma unroll
  for (int row = 0; row < int(decltype(cute::size(maximum))::value); ++row) {
    const float rise = __builtin_fabsf((maximum(row) - before(row)) * scale);
    const bool near = rise <= (exact ? 0 : rise_allowed);  // not if both are -infinity: NaN
    if (near) maximum(row) = before(row);
    any |= !near;
  }
#if defined(__HIP_DEVICE_COMPILE__) && __AMDGCN_WAVEFRONT_SIZE == 64
  return __builtin_amdgcn_ballot_w64(any) == 0;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_ballot_w32(any) == 0;
#else
  return !any;
#endif
}

// Reduce each row's value over the lanes that share it; `values` is what a lane holds of a tile, an integral constant.
template <class Values, class Rows, class Operator>
__device__ __forceinline__ void reduce_rows(Values, Rows& x, Operator& op) {
#pragma unroll
  for (int row = 0; row < int(decltype(cute::size(x))::value); ++row) x(row) = reduce_row(x(row), op, rows_held<Values>);
}

}  // namespace hipport::tile
