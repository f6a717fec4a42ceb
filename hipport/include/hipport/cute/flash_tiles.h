// Tiles of the FlashAttention-2 forward kernels that fit an AMD workgroup's LDS.
//
// Upstream chooses for 100 to 228 KiB of shared memory. Here a workgroup has 64 KiB (gfx950 has more; the tiles fit it too),
// and one that takes more than half of it runs alone on its compute unit. With `share_q_k`, Q moves to registers first
// and its LDS is used again for K.
//
//   head dim   block        LDS of Q, K and V      LDS with share_q_k
//    32        128 x 128     8 + 16 KiB
//    64        128 x 64     16 + 16 KiB            16 KiB
//    96        128 x 64     24 + 24 KiB            24 KiB
//   128        128 x 64     32 + 32 KiB            32 KiB
//   192        128 x 32     48 + 24 KiB            48 KiB
//   256         64 x 64     32 + 64 KiB            64 KiB
#pragma once

#include <hip/hip_runtime.h>

namespace hipport::flash {

inline constexpr int lds_bytes = 65536;

struct Tile {
  int block_m;
  int block_n;
  int warps;
  bool share_q_k;
};

constexpr Tile forward_tile(int head_dim) {
  if (head_dim <= 32) return {128, 128, 4, false};
  if (head_dim <= 128) return {128, 64, 4, true};
  if (head_dim <= 192) return {128, 32, 4, true};
  return {64, 64, 4, true};
}

// Columns of a block of the split-KV kernel, which has 64 rows and cannot share; the host divides the keys by it.
constexpr int split_block_n(int head_dim) {
  if (head_dim <= 32) return 256;
  if (head_dim <= 64) return 128;
  if (head_dim <= 128) return 64;
  return 32;
}

// Element type that upstream's traits were made for: their own `Element` is fp16 in the host pass.
template <class Traits>
struct element;
template <template <int, int, int, int, bool, bool, class, class> class Traits, int D, int M, int N, int W, bool Q, bool S,
          class Element, class Base>
struct element<Traits<D, M, N, W, Q, S, Element, Base>> {
  using type = Element;
};

}  // namespace hipport::flash
