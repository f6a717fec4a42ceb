// synchronisation between lanes, warps and blocks: try-locks with the section inside, last-block reduction, named-barrier producer and consumer, barrier reductions, flags between blocks, votes on barriers
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
__global__ void try_lock(int* lock, volatile int* sum, volatile int* order) {
  bool done = false; while (!done) { if (atomicCAS(lock, 0, 1) == 0) { *sum = *sum + (int)threadIdx.x; *order = *order + 1; __threadfence(); atomicExch(lock, 0); done = true; } }
}
__device__ unsigned ticket = 0;
__global__ void last_block(const int* in, int* part, int* out, int n) {
  __shared__ int s[8]; __shared__ bool last; int t = threadIdx.x, v = 0; for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += in[i]; for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o); if (t % 32 == 0) s[t / 32] = v; __syncthreads();
  if (t == 0) { int b = 0; for (int i = 0; i < (int)blockDim.x / 32; ++i) b += s[i]; part[blockIdx.x] = b; __threadfence(); last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1; } __syncthreads();
  if (last && t < 32) { int x = 0; for (int i = t; i < (int)gridDim.x; i += 32) x += ((volatile int*)part)[i]; for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(~0u, x, o); if (t == 0) out[0] = x; }
}
__device__ __forceinline__ void bar_sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ __forceinline__ void bar_arrive(int id, int n) { asm volatile("barrier.cta.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void producer_consumer(int* out) {   // 64 producers fill a ring of two buffers, 128 consumers drain it; barriers: full 1,2; empty 3,4
  __shared__ int ring[2][64]; int t = threadIdx.x; const int steps = 7;
  if (t < 64) { for (int i = 0; i < steps; ++i) { int k = i & 1; if (i >= 2) bar_sync(3 + k, 192); ring[k][t] = i * 1000 + t * 3; bar_arrive(1 + k, 192); } out[t] = -1; }
  else { int c = t - 64, acc = 0; for (int i = 0; i < steps; ++i) { int k = i & 1; bar_sync(1 + k, 192); acc = acc * 3 + ring[k][(c * 5 + i) & 63]; if (i + 2 < steps) bar_arrive(3 + k, 192); } out[t] = acc; }
}
__global__ void barrier_votes(int* out) {
  int t = threadIdx.x, n = blockDim.x, r; asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 40; bar.red.popc.u32 %0, 0, p; }" : "=r"(r) : "r"(t) : "memory"); out[t] = r; int a; asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 1000; bar.red.and.pred q, 0, p; selp.s32 %0, 1, 0, q; }" : "=r"(a) : "r"(t) : "memory");
  int o; asm volatile("{ .reg .pred p, q; setp.eq.s32 p, %1, 77; barrier.cta.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q; }" : "=r"(o) : "r"(t) : "memory"); out[n + t] = a * 10 + o + __syncthreads_count(t & 1) * 100 + __syncthreads_or(t == 5) * 100000 + __syncthreads_and(t >= 0) * 1000000;
}
__global__ void chain(volatile int* flag, volatile int* value) {   // block i waits for block i - 1; one thread waits
  if (threadIdx.x == 0) { while (flag[blockIdx.x] == 0) __nanosleep(100); value[blockIdx.x + 1] = value[blockIdx.x] * 2 + (int)blockIdx.x; asm volatile("fence.acq_rel.gpu;" ::: "memory"); flag[blockIdx.x + 1] = 1; }
}
__global__ void release_acquire(int* flag, int* data, int* out) {
  int t = threadIdx.x; if (blockIdx.x == 0) { data[t] = t * t; __syncthreads(); if (t == 0) { __threadfence(); asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory"); } }
  else { if (t == 0) { int f; do { asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(f) : "l"(flag) : "memory"); } while (f == 0); } __syncthreads(); out[t] = ((volatile int*)data)[t] + 1; }
}
int main() {
  int *d, *d2; CHECK(cudaMalloc(&d, 8192)); CHECK(cudaMalloc(&d2, 65536)); static int h[2048], in[4096]; CHECK(cudaMemset(d, 0, 8192));
  try_lock<<<3, 70>>>(d, d + 1, d + 2); CHECK(cudaMemcpy(h, d, 12, cudaMemcpyDeviceToHost)); printf("try_lock: %d %d\n", h[1], h[2]);
  long want = 0; for (int i = 0; i < 4096; ++i) want += in[i] = i * 13 % 101; CHECK(cudaMemcpy(d2, in, sizeof in, cudaMemcpyHostToDevice)); for (int k = 0; k < 2; ++k) { last_block<<<9, 96>>>(d2, d + 100, d, 4000 + k); CHECK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost)); long w = 0; for (int i = 0; i < 4000 + k; ++i) w += in[i]; printf("last_block: %d ok %d\n", h[0], h[0] == w); }
  producer_consumer<<<1, 192>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 768, cudaMemcpyDeviceToHost)); int bad = 0; for (int t = 0; t < 192; ++t) { int e = -1; if (t >= 64) { e = 0; for (int i = 0; i < 7; ++i) e = e * 3 + i * 1000 + (((t - 64) * 5 + i) & 63) * 3; } bad += h[t] != e; } printf("ring: bad %d\n", bad);
  barrier_votes<<<1, 96>>>(d); CHECK(cudaMemcpy(h, d, 768, cudaMemcpyDeviceToHost)); bad = 0; for (int t = 0; t < 96; ++t) { bad += h[t] != 55; bad += h[96 + t] != 10 + 1 + 4800 + 100000 + 1000000; } printf("votes: %d bad %d\n", h[96], bad);
  CHECK(cudaMemset(d, 0, 8192)); int one = 1; CHECK(cudaMemcpy(d, &one, 4, cudaMemcpyHostToDevice)); chain<<<6, 32>>>(d, d + 64); CHECK(cudaMemcpy(h, d + 64, 28, cudaMemcpyDeviceToHost)); printf("chain: %d %d\n", h[3], h[6]);
  CHECK(cudaMemset(d, 0, 8192)); release_acquire<<<2, 64>>>(d, d + 1, d + 100); CHECK(cudaMemcpy(h, d + 100, 256, cudaMemcpyDeviceToHost)); bad = 0; for (int t = 0; t < 64; ++t) bad += h[t] != t * t + 1; printf("release: bad %d\n", bad);
  return 0;
}
