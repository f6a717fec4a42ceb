// lane and warp arithmetic in many spellings: 2D and 3D blocks, enum, constexpr, template and macro warp sizes, ragged blocks, volatile tails, ranks
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
enum { WARP_SIZE_LOG2 = 5, WARP_SIZE = 1 << WARP_SIZE_LOG2 };
constexpr unsigned kLaneMask = WARP_SIZE - 1; static constexpr int kMaxWarps = 1024 / WARP_SIZE;
#define WARP_ID (threadIdx.x >> WARP_SIZE_LOG2)
#define DIV_UP(a, b) (((a) + (b)-1) / (b))
template <int kWarpSize = 32> struct WarpReduce { __device__ static int sum(int v) { for (int m = kWarpSize >> 1; m; m >>= 1) v += __shfl_xor_sync(0xffffffff, v, m, kWarpSize); return v; } };
__global__ void dims(int* out) {
  int tid = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), lane = tid & kLaneMask, warp = tid / warpSize;
  __shared__ int part[kMaxWarps]; int v = tid * 3 + 1; int s = WarpReduce<>::sum(v); if (lane == 0) part[warp] = s; __syncthreads();
  int n = blockDim.x * blockDim.y * blockDim.z, total = 0; for (int i = 0; i < DIV_UP(n, WARP_SIZE); ++i) total += part[i];
  unsigned b = __ballot_sync(0xffffffff, threadIdx.x == 0), a = __activemask();
  out[tid] = total * 1000 + s % 1000; out[n + tid] = b; out[2 * n + tid] = a;
}
__global__ void ragged(int* out, int n) {   // the last warp of the block is partial
  int t = threadIdx.x, lane = t & 31; bool p = t % 3 == 1;
  unsigned b = __ballot_sync(__activemask(), p); out[t] = __popc(b & ((1u << lane) - 1)) * 100 + __popc(b); unsigned live = __activemask(); out[n + t] = __popc(live); out[2 * n + t] = __reduce_add_sync(live, t); out[3 * n + t] = 31 - __clz(live) + __ffs(live) * 64; out[4 * n + t] = __all_sync(live, t >= 0) + 2 * __any_sync(live, t == n - 1);
}
template <unsigned B> __device__ void last_warp(volatile int* s, unsigned t) { if (B >= 64) s[t] += s[t + 32]; if (B >= 32) s[t] += s[t + 16]; if (B >= 16) s[t] += s[t + 8]; if (B >= 8) s[t] += s[t + 4]; if (B >= 4) s[t] += s[t + 2]; if (B >= 2) s[t] += s[t + 1]; }
template <unsigned B> __global__ void reduce6(const int* in, int* out) {
  __shared__ int s[B + 32]; unsigned t = threadIdx.x; s[t] = in[t] + in[t + B]; __syncthreads(); if (B >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); } if (B >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); } if (B >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); } if (t < 32) last_warp<B>(s, t); if (t == 0) out[0] = s[0];
}
__global__ void compact(const int* in, int* out, int* count, int n) {  // block-wide compaction by warp ballots and a scan of warp totals
  __shared__ int totals[32], base; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, lane = t & 31, warp = WARP_ID; bool keep = i < n && in[i] % 5 < 2; unsigned m = __ballot_sync(0xffffffffu, keep); if (lane == 0) totals[warp] = __popc(m); __syncthreads();
  if (warp == 0) { int v = lane < (int)blockDim.x / 32 ? totals[lane] : 0, x = v; for (int d = 1; d < 32; d <<= 1) { int y = __shfl_up_sync(0xffffffffu, x, d); if (lane >= d) x += y; } totals[lane] = x - v; if (lane == 31) base = atomicAdd(count, x); }
  __syncthreads(); if (keep) out[base + totals[warp] + __popc(m & ~(~0u << lane))] = in[i];
}
__global__ void broadcast_loop(int* out) {  // work shared by the warp: lanes take turns as the source
  int t = threadIdx.x, acc = 0, len = t * 7 % 5; unsigned todo = __ballot_sync(0xffffffff, len > 0);
  while (todo) { int src = __ffs(todo) - 1; int l = __shfl_sync(0xffffffff, len, src), v = __shfl_sync(0xffffffff, t, src); for (int i = t & 31; i < l * 32; i += 32) acc += v + i; todo &= todo - 1; }
  out[t] = acc;
}
int main() {
  static int h[8192]; int *d, *di, *c; CHECK(cudaMalloc(&d, sizeof h)); CHECK(cudaMalloc(&di, 4096 * 4)); CHECK(cudaMalloc(&c, 4));
  dim3 shapes[4] = {dim3(8, 8, 2), dim3(96), dim3(16, 12), dim3(4, 4, 10)};
  for (int k = 0; k < 4; ++k) { dim3 s = shapes[k]; int n = s.x * s.y * s.z, bad = 0; dims<<<1, s>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 3 * n * 4, cudaMemcpyDeviceToHost)); int total = 0; for (int t = 0; t < n; ++t) total += t * 3 + 1;
    for (int t = 0; t < n; ++t) { int b = t & ~31, sum = 0; unsigned bal = 0; for (int l = 0; l < 32; ++l) { sum += (b + l) * 3 + 1; if ((b + l) % s.x == 0) bal |= 1u << l; } bad += h[t] != total * 1000 + sum % 1000; bad += (unsigned)h[n + t] != bal; bad += h[2 * n + t] != -1; } printf("dims%d: bad %d\n", k, bad); }
  for (int n : {1, 20, 33, 50, 70, 100}) { ragged<<<1, n>>>(d, n); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 5 * n * 4, cudaMemcpyDeviceToHost)); int bad = 0; for (int t = 0; t < n; ++t) { int b = t & ~31, e = b + 32 < n ? b + 32 : n, r = 0, all = 0, sum = 0; for (int x = b; x < e; ++x) { if (x % 3 == 1) { ++all; r += x < t; } sum += x; } bad += h[t] != r * 100 + all; bad += h[n + t] != e - b; bad += h[2 * n + t] != sum; bad += h[3 * n + t] != e - b - 1 + 64; bad += h[4 * n + t] != 1 + 2 * (e == n); } printf("ragged%d: bad %d\n", n, bad); }
  static int in[4096]; for (int i = 0; i < 4096; ++i) in[i] = i * 31 % 1009; CHECK(cudaMemcpy(di, in, sizeof in, cudaMemcpyHostToDevice));
  reduce6<512><<<1, 512>>>(di, d); CHECK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost)); int r5 = h[0]; reduce6<64><<<1, 64>>>(di, d); CHECK(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost)); int w5 = 0, w6 = 0; for (int i = 0; i < 1024; ++i) { w5 += in[i]; if (i < 128) w6 += in[i]; } printf("reduce6: %d %d ok %d\n", r5, h[0], r5 == w5 && h[0] == w6);
  CHECK(cudaMemset(c, 0, 4)); compact<<<20, 192>>>(di, d, c, 3777); int cnt; CHECK(cudaMemcpy(&cnt, c, 4, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(h, d, cnt * 4, cudaMemcpyDeviceToHost)); long sum = 0, want = 0; int wc = 0; for (int i = 0; i < cnt; ++i) sum += h[i]; for (int i = 0; i < 3777; ++i) if (in[i] % 5 < 2) { want += in[i]; ++wc; } printf("compact: %d ok %d\n", cnt, cnt == wc && sum == want);
  broadcast_loop<<<1, 96>>>(d); CHECK(cudaMemcpy(h, d, 384, cudaMemcpyDeviceToHost)); int bad = 0; for (int t = 0; t < 96; ++t) { int a = 0, b = t & ~31; for (int l = 0; l < 32; ++l) { int len = (b + l) * 7 % 5; for (int i = t & 31; i < len * 32; i += 32) a += b + l + i; } bad += h[t] != a; } printf("broadcast: bad %d\n", bad);
  return 0;
}
