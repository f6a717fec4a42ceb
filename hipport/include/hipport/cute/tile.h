// How a wavefront holds a 16x16 accumulator tile and its operands, per target.
//
// The matrix instruction is issued with A and B exchanged, so that it computes the transposed product and a lane owns one
// row of D: row `lane % 16`, and of that row the columns `first_column(lane) + v * column_stride` for its values v. The
// operands are held the same way over K, so that an accumulator, converted to 16 bits, is the A operand of the next product
// without leaving its registers.
//
// Sources: AMD CDNA2/CDNA3/CDNA4 ISA guides, "Matrix Arithmetic Instructions"; RDNA3/RDNA4 ISA guides, "WMMA".
#pragma once

#include <hip/hip_runtime.h>

namespace hipport::tile {

// Lanes of a wavefront; the host pass is told by the build, which compiles for one family at a time.
inline constexpr int wave_size = __AMDGCN_WAVEFRONT_SIZE;

inline constexpr int rows = 16;
inline constexpr int columns = 16;
inline constexpr int values = rows * columns / wave_size;  // accumulator registers of a lane
inline constexpr int lanes_per_row = wave_size / rows;

#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__)
inline constexpr int column_stride = 2;
__device__ constexpr int first_column(int lane) { return lane / rows; }
#else
inline constexpr int column_stride = 1;
__device__ constexpr int first_column(int lane) { return lane / rows * values; }
#endif

// Row of a thread inside the rows of its block: wavefronts are stacked, 16 rows each.
__device__ constexpr int row_of_thread(int thread) { return thread / wave_size * rows + thread % rows; }

// Columns that a lane holds side by side; the lanes of a row take turns, `run` columns each.
inline constexpr int run = column_stride == 2 ? 1 : wave_size == 64 ? 4 : 8;

// The forward kernels' tile: 32x32 where the target has such an instruction and a wavefront that many rows, because a row
// then lies in two lanes, not four. What follows is told the values that a lane holds of a tile; they imply its rows.
constexpr int tile_rows(int block_rows, int wavefronts) {
  return wave_size == 64 && block_rows / wavefronts % 32 == 0 ? 32 : 16;
}

template <class Values>
inline constexpr int rows_held = Values::value * wave_size == 1024 ? 32 : 16;

// Columns of one tile.
template <class Values>
__device__ constexpr int columns_of(Values) { return rows_held<Values>; }

// First column of a lane.
template <class Values>
__device__ constexpr int first_column_of(Values, int lane) { return lane / rows_held<Values> * run; }

// Column of a lane's value, counted from its first.
template <class Values>
__device__ constexpr int column_step(Values, int value) {
  return value / run * run * (wave_size / rows_held<Values>) + value % run;
}

// Row of a thread inside the rows of its block: wavefronts are stacked.
template <class Values>
__device__ constexpr int row_of(Values, int thread) {
  return thread / wave_size * rows_held<Values> + thread % rows_held<Values>;
}

// Reduce a value over the lanes that share a row.
template <class T, class Operator>
__device__ __forceinline__ T reduce_row(T x, Operator& op, int tile = rows) {
#pragma unroll
  for (int distance = 16; distance < wave_size; distance *= 2)
    if (distance >= tile) x = op(x, __shfl_xor(x, distance, wave_size));
  return x;
}

// FlashAttention's dropout asks one Philox number for a 16x32 block of scores and lane of a 32-lane warp; a lane of that
// warp owns, per 8 columns, two rows 8 apart and two columns. To drop the same scores, a lane here asks for the numbers of
// the lanes whose columns it holds. `warp_lane` is one of them, `random_byte` the byte of a value; the values of a lane
// fall into `random_classes`, each served by one number.
//
// row: of the 16; column: of the 32; value: of a tile's.
__device__ constexpr int warp_lane(int row, int column) { return row % 8 * 4 + column % 8 / 2; }
__device__ constexpr int random_byte(int row, int column) {
  return column / 16 * 8 + column % 16 / 8 * 4 + row / 8 * 2 + column % 2;
}
// A byte of a number, chosen by comparisons: an array that is indexed by lane would lie in scratch.
__device__ inline unsigned char byte_of(uint4 number, int index) {
  const unsigned word = index & 8 ? (index & 4 ? number.w : number.z) : (index & 4 ? number.y : number.x);
  return static_cast<unsigned char>(word >> (8 * (index & 3)));
}
inline constexpr int random_classes = run == 4 ? 2 : 4;
__device__ constexpr int random_class(int value) { return run == 1 ? value % 4 : value % run / 2; }

// From here the compiler does not know what the value was computed from, and keeps nothing for a second use.
__device__ __forceinline__ void opaque([[maybe_unused]] int& value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm volatile("" : "+v"(value));
#endif
}

}  // namespace hipport::tile
