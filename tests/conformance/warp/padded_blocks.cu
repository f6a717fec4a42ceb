// Warps that wait for each other, in blocks of one, two and three dimensions: needs a wavefront per warp on CDNA.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int rank_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// Warp after warp adds to a chain: each waits for the flag of the one before.
__global__ void chain(int* out, int* coordinates) {
  __shared__ volatile int turn;
  __shared__ int sum;
  const int rank = rank_in_block(), warp = rank / 32, lane = rank % 32;
  const int warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  if (rank == 0) turn = 0, sum = 1;
  __syncthreads();
  int value = rank * 7 + 1;
  for (int o = 16; o > 0; o >>= 1) value += __shfl_xor_sync(0xffffffff, value, o);
  while (turn != warp) {
  }
  if (lane == 0) {
    sum = sum * 3 + value;
    __threadfence_block();
    turn = warp + 1;
  }
  __syncthreads();
  const int block = blockIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + rank] = sum + warps * 1000 + rank;
  coordinates[rank] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
}

// Pairs of warps meet at their own named barrier, so often as the pair's number says.
__global__ void pairs(int* out) {
  __shared__ int s[8][64];
  const int rank = rank_in_block(), pair = rank / 64, at = rank % 64;
  int value = rank;
  for (int round = 0; round <= pair; ++round) {
    s[pair][at] = value;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    value = value * 5 + s[pair][(at + 33) & 63];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
  }
  out[rank] = value;
}

int main() {
  int *out, *coordinates, bad = 0;
  cudaMallocManaged(&out, 4096 * 4);
  cudaMallocManaged(&coordinates, 4096 * 4);
  const dim3 blocks[] = {dim3(256), dim3(96), dim3(32, 4), dim3(64, 2), dim3(96, 2), dim3(16, 8),
                         dim3(8, 4, 2), dim3(4, 4, 4), dim3(2, 32, 2), dim3(32, 2, 3), dim3(1, 64)};
  for (const dim3& block : blocks) {
    const int n = block.x * block.y * block.z;
    chain<<<2, block>>>(out, coordinates);
    if (cudaDeviceSynchronize() != cudaSuccess) ++bad;
    int sum = 1;
    for (int w = 0; w < n / 32; ++w) {
      int value = 0;
      for (int lane = 0; lane < 32; ++lane) value += (w * 32 + lane) * 7 + 1;
      sum = sum * 3 + value;
    }
    for (int i = 0; i < 2 * n; ++i) bad += out[i] != sum + n / 32 * 1000 + i % n;
    for (unsigned i = 0; i < (unsigned)n; ++i)
      bad += coordinates[i] != (int)(i % block.x | i / block.x % block.y << 8 | i / block.x / block.y << 16);
    printf("chain %u %u %u: %d\n", block.x, block.y, block.z, out[0]);
    if (n % 64) continue;
    pairs<<<1, block>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess) ++bad;
    static int value[512], next[512];
    for (int i = 0; i < n; ++i) value[i] = i;
    for (int p = 0; p < n / 64; ++p)
      for (int round = 0; round <= p; ++round) {
        for (int i = 0; i < 64; ++i) next[i] = value[p * 64 + i] * 5 + value[p * 64 + ((i + 33) & 63)];
        for (int i = 0; i < 64; ++i) value[p * 64 + i] = next[i];
      }
    unsigned hash = 0;
    for (int i = 0; i < n; ++i) bad += out[i] != value[i], hash = hash * 31 + (unsigned)out[i];
    printf("pairs %d: %u\n", n, hash);
  }
  printf("bad %d\n", bad);
  return bad != 0;
}
