// Tiles of 64 to 512 threads: reductions, scans, votes, shuffles, and a different number of rounds per tile.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
namespace cg = cooperative_groups;

template <int Size> __device__ void of_size(int* out) {
  auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
  int t = threadIdx.x, v = t * 37 % 101;
  out += t * 12;
  out[0] = tile.thread_rank() | tile.meta_group_rank() << 10 | tile.meta_group_size() << 20;
  out[1] = cg::reduce(tile, v, cg::plus<int>());
  out[2] = cg::reduce(tile, v, cg::less<int>());
  out[3] = cg::inclusive_scan(tile, v, cg::plus<int>());
  out[4] = cg::exclusive_scan(tile, v);
  out[5] = tile.any(t == 77) | tile.all(t < 256) << 1;
  out[6] = tile.shfl(v, Size - 3);
  auto warp = cg::tiled_partition<32>(tile);
  out[7] = warp.meta_group_rank() | warp.meta_group_size() << 8 | warp.shfl(v, 5) << 16;
  // tiles run a different number of rounds
  int sum = 0;
  for (unsigned round = 0; round <= tile.meta_group_rank(); ++round) {
    sum = sum * 3 + cg::reduce(tile, v + (int)round, cg::plus<int>());
    tile.sync();
  }
  out[8] = sum;
}
__global__ void wide(int* out) {
  of_size<64>(out);
  of_size<128>(out + 512 * 12);
  of_size<256>(out + 2 * 512 * 12);
  of_size<512>(out + 3 * 512 * 12);
}
int main() {
  int *out, bad = 0;
  cudaMallocManaged(&out, 4 * 512 * 12 * 4);
  wide<<<1, 512>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) ++bad;
  for (int k = 0; k < 4; ++k)
    for (int t = 0; t < 512; ++t) {
      const int size = 64 << k, first = t / size * size, rank = t % size, tile = t / size, *got = out + (k * 512 + t) * 12;
      int sum = 0, least = 1000, below = 0;
      for (int i = first; i < first + size; ++i) {
        int v = i * 37 % 101;
        sum += v, least = v < least ? v : least, below += i < t ? v : 0;
      }
      int v = t * 37 % 101, rounds = 0;
      for (int r = 0; r <= tile; ++r) rounds = rounds * 3 + sum + size * r;
      bad += got[0] != (rank | tile << 10 | 512 / size << 20);
      bad += (got[1] != sum) + (got[2] != least) + (got[3] != below + v) + (got[4] != below);
      bad += got[5] != ((77 >= first && 77 < first + size) | (first + size <= 256) << 1);
      bad += got[6] != (first + size - 3) * 37 % 101;
      bad += got[7] != (rank / 32 | size / 32 << 8 | (t / 32 * 32 + 5) * 37 % 101 << 16);
      bad += got[8] != rounds;
    }
  printf("tiles of 64 to 512: bad %d\n", bad);
  return bad != 0;
}
