// cooperative launch and grid groups: grid sync between phases, ranks, grid-stride partition, barrier arrive and wait
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
namespace cg = cooperative_groups;
__global__ void phases(int* a, int* b, int n, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int r = 0; r < rounds; ++r) {
    for (unsigned long long i = grid.thread_rank(); i < (unsigned long long)n; i += grid.size()) b[i] = a[i] + a[(i + 1) % n];
    grid.sync(); int* c = a; a = b; b = c;
  }
  if (grid.thread_rank() == 0) a[n] = (int)grid.num_blocks() * 1000 + (int)grid.block_rank() + grid.is_valid();
}
__global__ void block_split(int* out) {
  cg::thread_block b = cg::this_thread_block(); __shared__ int s[128]; s[b.thread_rank()] = (int)b.thread_rank() * 3; auto token = b.barrier_arrive(); int mine = (int)b.thread_rank() * 7; b.barrier_wait(std::move(token));
  out[b.group_index().x * b.num_threads() + b.thread_rank()] = s[(b.thread_rank() + 33) % b.num_threads()] + mine + (int)b.dim_threads().x;
}
int main() {
  const int n = 1000; static int h[n + 1], w[n], v[n]; for (int i = 0; i < n; ++i) h[i] = w[i] = i * i % 17; int *a, *b; CHECK(cudaMalloc(&a, sizeof h)); CHECK(cudaMalloc(&b, sizeof h)); CHECK(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice)); int nn = n, rounds = 4; void* args[] = {&a, &b, &nn, &rounds};
  CHECK(cudaLaunchCooperativeKernel((void*)phases, dim3(4), dim3(96), args, 0, 0)); CHECK(cudaDeviceSynchronize()); CHECK(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost)); for (int r = 0; r < rounds; ++r) { for (int i = 0; i < n; ++i) v[i] = w[i] + w[(i + 1) % n]; for (int i = 0; i < n; ++i) w[i] = v[i]; } int bad = 0; for (int i = 0; i < n; ++i) bad += h[i] != w[i]; printf("grid: %d %d bad %d\n", h[5], h[n], bad);
  block_split<<<3, 96>>>(a); CHECK(cudaMemcpy(h, a, 288 * 4, cudaMemcpyDeviceToHost)); bad = 0; for (int t = 0; t < 288; ++t) bad += h[t] != (t % 96 + 33) % 96 * 3 + t % 96 * 7 + 96; printf("split: bad %d\n", bad); return 0;
}
