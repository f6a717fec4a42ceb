// warp specialisation: roles at different barriers, ping-pong by named barriers between two warps, shared flags, a pipeline of warps, votes inside roles
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
__device__ __forceinline__ void bar(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void roles(int* out) {   // warp 0 loads, warps 1 and 2 compute, all meet at __syncthreads written in two places
  __shared__ int s[32]; int warp = threadIdx.x / 32, lane = threadIdx.x % 32, acc = 0;
  for (int i = 0; i < 4; ++i) {
    if (warp == 0) { s[lane] = i * 100 + lane; __syncthreads(); acc += 1; __syncthreads(); }
    else { __syncthreads(); acc = acc * 2 + s[(lane + warp * 7) & 31]; __syncthreads(); }
  }
  out[threadIdx.x] = acc;
}
__global__ void __launch_bounds__(64) ping_pong(int* out) {   // two warps hand a value back and forth
  __shared__ int ball; int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, mine = 0;
  if (threadIdx.x == 0) ball = 1;
  __syncthreads();
  if (warp == 0) { for (int i = 0; i < 5; ++i) { mine += ball; __syncwarp(); if (lane == 0) { int b = ball; ball = b * 3; } bar(1, 64); bar(2, 64); } }
  else { for (int i = 0; i < 5; ++i) { bar(1, 64); mine += ball; __syncwarp(); if (lane == 0) ball = ball + 1; bar(2, 64); } }
  out[threadIdx.x] = mine;
}
__global__ void flags(int* out) {   // each warp waits for the one before it through a flag in shared memory
  __shared__ volatile int turn; __shared__ int log[8]; int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) turn = 0; __syncthreads();
  while (turn != warp) { }
  if (lane == 0) { log[warp] = warp * warp + (warp ? log[warp - 1] : 1); __threadfence_block(); turn = warp + 1; }
  __syncthreads(); out[threadIdx.x] = log[warp] * 10 + __popc(__ballot_sync(0xffffffff, lane & 1)) + (int)(blockDim.x);
}
__global__ void scale(int* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] *= 2; }   // an ordinary kernel beside them
int main() {
  int* d; CHECK(cudaMalloc(&d, 4096)); static int h[256]; int bad = 0;
  roles<<<1, 96>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 384, cudaMemcpyDeviceToHost)); for (int t = 0; t < 96; ++t) { int w = t / 32, a = 0; if (w == 0) a = 4; else for (int i = 0; i < 4; ++i) a = a * 2 + i * 100 + ((t % 32 + w * 7) & 31); bad += h[t] != a; } printf("roles: %d bad %d\n", h[40], bad);
  dim3 block(64); ping_pong<<<dim3(1), block>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 256, cudaMemcpyDeviceToHost)); int b = 1, m0 = 0, m1 = 0; for (int i = 0; i < 5; ++i) { m0 += b; b *= 3; m1 += b; b += 1; } bad = 0; for (int t = 0; t < 64; ++t) bad += h[t] != (t < 32 ? m0 : m1); printf("ping_pong: %d %d bad %d\n", h[0], h[63], bad);
  flags<<<2, 128>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 512, cudaMemcpyDeviceToHost)); bad = 0; int l = 1; for (int w = 0; w < 4; ++w) { l += w * w; for (int t = 0; t < 32; ++t) bad += h[w * 32 + t] != l * 10 + 16 + 128; } printf("flags: %d bad %d\n", h[127], bad);
  int* in = d; scale<<<3, 40>>>(in, 100); CHECK(cudaGetLastError()); static int g[128]; CHECK(cudaMemcpy(g, d, 512, cudaMemcpyDeviceToHost)); bad = 0; for (int t = 0; t < 128; ++t) bad += g[t] != (t < 100 ? 2 : 1) * h[t]; printf("scale: bad %d\n", bad);
  return 0;
}
