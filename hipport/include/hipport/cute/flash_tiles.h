// Tiles of the FlashAttention-2 forward kernels, per target and head dimension.
//
// Upstream chooses for 100 to 228 KiB of shared memory; here a workgroup has the LDS of its target. With `share_q_k`, Q
// moves to registers first and its LDS is used again for K. LDS in bytes, of 16-bit elements:
//
//   forward   2 * rows * head_dim + 4 * columns * head_dim; the larger of both terms with share_q_k
//   split     2 *   64 * head_dim + 4 * columns * head_dim, and no less than 4 * 64 * head_dim (its fp32 result)
//
// The rows of `any` fit every target. A build for one target says which, to host and device alike
// (-DHIPPORT_BUILD_TARGET=gfx950; `hipport build` and `hipport.flash` do), and takes the rows of that target where there are
// some. Tile and wavefront are in a kernel's name: a host side compiled otherwise finds no kernel to launch.
#pragma once

#include <hip/hip_runtime.h>
#include <hipport/cute/tile.h>

namespace hipport::flash {

enum Target { any, gfx90a, gfx942, gfx950, gfx1100, gfx1101 = gfx1100, gfx1102 = gfx1100, gfx1103 = gfx1100, gfx1201, gfx1200 = gfx1201 };

#if defined(HIPPORT_BUILD_TARGET)
inline constexpr Target target = HIPPORT_BUILD_TARGET;
#else
inline constexpr Target target = any;
#endif

struct Tile {
  int block_m;
  int block_n;
  int warps;
  bool share_q_k;
};

struct Row {
  Target target;
  int head_dim;
  Tile forward;
  int split_block_n;  // columns of the split-KV kernel, which has 64 rows, 4 wavefronts, and cannot share
};

inline constexpr Row rows[] = {
    // target  head dim  forward: rows, columns, wavefronts, share_q_k   split: columns
    {any, 32, {128, 128, 4, false}, 256},
    {any, 64, {128, 64, 4, true}, 128},
    {any, 96, {128, 64, 4, true}, 64},
    {any, 128, {128, 64, 4, true}, 64},
    {any, 192, {128, 32, 4, true}, 32},
    {any, 256, {64, 64, 4, true}, 32},
    // gfx950 has LDS for two workgroups of these. Larger forward tiles take more than 256 registers: one wave per SIMD.
    {gfx950, 128, {128, 64, 4, true}, 128},
    // RDNA: 16 rows to a wavefront of 32 lanes, or accumulators and Q do not fit its registers.
    {gfx1100, 32, {128, 128, 8, false}, 128},
    {gfx1100, 64, {128, 64, 8, true}, 64},
    {gfx1100, 96, {128, 64, 8, true}, 64},
    {gfx1100, 128, {128, 64, 8, true}, 64},
    {gfx1100, 192, {64, 32, 4, false}, 32},
    {gfx1100, 256, {64, 32, 4, false}, 32},
    {gfx1201, 32, {128, 128, 8, false}, 128},
    {gfx1201, 64, {128, 64, 8, true}, 64},
    {gfx1201, 96, {128, 64, 8, true}, 64},
    {gfx1201, 128, {128, 64, 8, true}, 64},
    {gfx1201, 192, {128, 32, 8, true}, 32},
    {gfx1201, 256, {64, 32, 4, false}, 32},
};

// The row for an instantiated head dimension. The build's target decides, else `any`.
constexpr Row row_for(int head_dim, Target wanted = target) {
  for (const Row& row : rows)
    if (row.target == wanted && row.head_dim == head_dim) return row;
  return row_for(head_dim, any);
}

// Instantiated head dimension that serves `head_dim`.
constexpr int padded(int head_dim) {
  for (const Row& row : rows)
    if (row.target == any && head_dim <= row.head_dim) return row.head_dim;
  return 256;
}

constexpr Tile forward_tile(int head_dim) { return row_for(head_dim).forward; }

// The host divides the keys by it.
constexpr int split_block_n(int head_dim) { return row_for(padded(head_dim)).split_block_n; }

// LDS of a workgroup: of the target that is compiled for, in the host pass of the one that the build is for.
#if defined(__gfx950__)
inline constexpr int lds_bytes = 163840;
#else
inline constexpr int lds_bytes = target == gfx950 ? 163840 : 65536;
#endif

#if defined(__amdgcn_processor__) && defined(HIPPORT_BUILD_TARGET)
#define HIPPORT_TEXT_OF(x) #x
#define HIPPORT_TEXT(x) HIPPORT_TEXT_OF(x)
static_assert(__builtin_strcmp(HIPPORT_TEXT(HIPPORT_BUILD_TARGET), __amdgcn_processor__) == 0,
              "HIPPORT_BUILD_TARGET names another target than the one that is compiled for");
#undef HIPPORT_TEXT
#undef HIPPORT_TEXT_OF
#endif

// Kernel traits that name the lanes of a wavefront, so that the kernels that are made of them do.
template <class Traits, int wave = tile::wave_size>
struct Waves : Traits {};

// Element type that upstream's traits were made for: their own `Element` is fp16 in the host pass.
template <class Traits>
struct element;
template <template <int, int, int, int, bool, bool, class, class> class Traits, int D, int M, int N, int W, bool Q, bool S,
          class Element, class Base>
struct element<Traits<D, M, N, W, Q, S, Element, Base>> {
  using type = Element;
};

}  // namespace hipport::flash
