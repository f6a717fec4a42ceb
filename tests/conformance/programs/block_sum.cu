// Sums of integers over blocks of 96 threads: 32-lane shuffles, one shared slot per warp, a ragged tail.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    cudaError_t error = (call);                                                      \
    if (error != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

__global__ void block_sum(const int* in, int n, long long* out) {
  __shared__ long long warps[3];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long v = i < n ? in[i] : 0;
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = warps[0] + warps[1] + warps[2];
}

__global__ void positive(const int* in, int n, unsigned* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned votes = __ballot_sync(0xffffffff, i < n && in[i] > 0);
  if (threadIdx.x % 32 == 0) atomicAdd(out, __popc(votes));
}

int main() {
  const int n = 1000, blocks = (n + 95) / 96;
  int host[n];
  for (int i = 0; i < n; ++i) host[i] = (i * 7919) % 2003 - 1001;
  int* in;
  long long* out;
  unsigned* count;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, blocks * sizeof(long long)));
  CHECK(cudaMalloc(&count, sizeof(unsigned)));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(count, 0, sizeof(unsigned)));
  block_sum<<<blocks, 96>>>(in, n, out);
  positive<<<blocks, 96>>>(in, n, count);
  CHECK(cudaGetLastError());
  long long sums[16];
  unsigned n_positive = 0;
  CHECK(cudaMemcpy(sums, out, blocks * sizeof(long long), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&n_positive, count, sizeof n_positive, cudaMemcpyDeviceToHost));
  long long total = 0;
  for (int b = 0; b < blocks; ++b) total += sums[b];
  printf("blocks %d first %lld last %lld total %lld\n", blocks, sums[0], sums[blocks - 1], total);
  printf("positive %u\n", n_positive);
  return 0;
}
