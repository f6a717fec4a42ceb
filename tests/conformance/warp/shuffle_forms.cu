// shuffles in the forms that real code has: small types, run-time widths, wrappers, macros, structs by parts, predicates of PTX
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define FULL 0xffffffffu
#define LANES 32
#define BUTTERFLY(v, m) __shfl_xor_sync(FULL, (v), (m))
enum { kWarp = 32 };
template <typename T> __device__ __forceinline__ T warp_max(T v, unsigned mask = FULL) {
#pragma unroll
  for (int o = LANES >> 1; o > 0; o >>= 1) { T w = __shfl_down_sync(mask, v, o); v = w > v ? w : v; }
  return __shfl_sync(mask, v, 0);
}
template <int W> __device__ int group_sum(int v) {
  for (int o = W / 2; o; o >>= 1) v += __shfl_xor_sync(FULL, v, o, W);
  return v;
}
struct Pair { float key; int index; };
__device__ Pair warp_argmax(Pair p) {
  for (int o = 1; o < kWarp; o *= 2) {
    Pair q; q.key = __shfl_xor_sync(FULL, p.key, o); q.index = __shfl_xor_sync(FULL, p.index, o);
    if (q.key > p.key || (q.key == p.key && q.index < p.index)) p = q;
  }
  return p;
}
__global__ void small_types(int* out) {
  int t = threadIdx.x, lane = t % LANES;
  signed char c = (signed char)(t * 7 - 100); unsigned char u = (unsigned char)(t * 5); short s = (short)(t * -300); unsigned short us = (unsigned short)(t * 900); bool b = t % 3 == 0;
  int r = 0;
  r = r * 31 + __shfl_sync(FULL, c, lane ^ 5); r = r * 31 + __shfl_up_sync(FULL, u, 3); r = r * 31 + __shfl_down_sync(FULL, s, 2);
  r = r * 31 + __shfl_xor_sync(FULL, us, 9); r = r * 31 + __shfl_sync(FULL, b, 31 - lane);
  long l = (long)t << 33; unsigned long ul = ~(unsigned long)t;
  r = r * 31 + (int)(__shfl_xor_sync(FULL, l, 1) >> 30); r = r * 31 + (int)__shfl_up_sync(FULL, ul, 1);
  out[t] = r;
}
__global__ void widths(const int* w, const int* d, int* out, int n) {
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    int v = t * t + i * 1000;
    out[(i * 4 + 0) * blockDim.x + t] = __shfl_sync(FULL, v, d[i], w[i]);
    out[(i * 4 + 1) * blockDim.x + t] = __shfl_up_sync(FULL, v, d[i] & 31, w[i]);
    out[(i * 4 + 2) * blockDim.x + t] = __shfl_down_sync(FULL, v, d[i] & 31, w[i]);
    out[(i * 4 + 3) * blockDim.x + t] = __shfl_xor_sync(FULL, v, d[i] & 31, w[i]);
  }
}
__global__ void reductions(int* out, float* fout) {
  int t = threadIdx.x;
  int v = (t * 37 + 11) % 101;
  out[t] = warp_max(v); out[blockDim.x + t] = group_sum<8>(v) * 1000 + group_sum<32>(v); out[2 * blockDim.x + t] = BUTTERFLY(v, 16) - BUTTERFLY(v, 1);
  Pair p = warp_argmax(Pair{(float)(v % 13), t});
  out[3 * blockDim.x + t] = p.index; fout[t] = p.key;
}
__global__ void predicate(int* out) {
  int t = threadIdx.x, v = t * 3, r; unsigned ok;
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 4, 0x1f, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(ok) : "r"(v));
  out[t] = r * 2 + ok;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0x1800, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(ok) : "r"(v));
  out[blockDim.x + t] = r * 2 + ok;
}
static int src(int kind, int lane, int d, int w) {
  int seg = lane / w * w, last = seg + w - 1, s;
  if (kind == 0) return seg + ((d % w) + w) % w;
  if (kind == 1) { s = lane - (d & 31); return s >= seg ? s : lane; }
  if (kind == 2) { s = lane + (d & 31); return s <= last ? s : lane; }
  s = lane ^ (d & 31); return s <= last ? s : lane;
}
int main() {
  const int n = 96; int *d; CHECK(cudaMalloc(&d, 1 << 16)); float* f; CHECK(cudaMalloc(&f, n * 4));
  static int h[16384]; static float hf[n];
  small_types<<<1, n>>>(d); CHECK(cudaMemcpy(h, d, n * 4, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int t = 0; t < n; ++t) {
    int base = t & ~31, lane = t & 31, r = 0;
    auto up = [&](int k) { return lane >= k ? t - k : t; }; auto down = [&](int k) { return lane + k < 32 ? t + k : t; };
    r = r * 31 + (signed char)((base + (lane ^ 5)) * 7 - 100); r = r * 31 + (unsigned char)(up(3) * 5); r = r * 31 + (short)(down(2) * -300);
    r = r * 31 + (unsigned short)((base + (lane ^ 9)) * 900); r = r * 31 + ((base + 31 - lane) % 3 == 0);
    r = r * 31 + (int)(((long)(t ^ 1) << 33) >> 30); r = r * 31 + (int)~(unsigned long)up(1);
    bad += h[t] != r;
  }
  printf("small: %d %d bad %d\n", h[1], h[95], bad);
  int w[6] = {2, 4, 8, 16, 32, 32}, dd[6] = {1, -1, 5, 35, 31, -7}, *dw, *ddd; CHECK(cudaMalloc(&dw, 24)); CHECK(cudaMalloc(&ddd, 24));
  CHECK(cudaMemcpy(dw, w, 24, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(ddd, dd, 24, cudaMemcpyHostToDevice));
  widths<<<1, n>>>(dw, ddd, d, 6); CHECK(cudaMemcpy(h, d, 24 * n * 4, cudaMemcpyDeviceToHost)); bad = 0;
  for (int i = 0; i < 6; ++i) for (int k = 0; k < 4; ++k) for (int t = 0; t < n; ++t) { int s = (t & ~31) + src(k, t & 31, dd[i], w[i]); bad += h[(i * 4 + k) * n + t] != s * s + i * 1000; }
  printf("widths: bad %d\n", bad);
  reductions<<<1, n>>>(d, f); CHECK(cudaMemcpy(h, d, 4 * n * 4, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(hf, f, sizeof hf, cudaMemcpyDeviceToHost)); bad = 0;
  for (int t = 0; t < n; ++t) {
    auto val = [](int x) { return (x * 37 + 11) % 101; }; int mx = 0, s8 = 0, s32 = 0, base = t & ~31, best = base;
    for (int l = 0; l < 32; ++l) { int v = val(base + l); if (v > mx) mx = v; s32 += v; if (l / 8 == (t & 31) / 8) s8 += v; if (v % 13 > val(best) % 13) best = base + l; }
    bad += h[t] != mx; bad += h[n + t] != s8 * 1000 + s32; bad += h[2 * n + t] != val(t ^ 16) - val(t ^ 1); bad += h[3 * n + t] != best; bad += hf[t] != (float)(val(best) % 13);
  }
  printf("reductions: %d %d bad %d\n", h[0], h[n + 40], bad);
  predicate<<<1, n>>>(d); CHECK(cudaMemcpy(h, d, 2 * n * 4, cudaMemcpyDeviceToHost)); bad = 0;
  for (int t = 0; t < n; ++t) { int lane = t & 31; int ok = lane + 4 < 32; bad += h[t] != (ok ? t + 4 : t) * 3 * 2 + ok; ok = lane % 8 >= 3; bad += h[n + t] != (ok ? t - 3 : t) * 3 * 2 + ok; }
  printf("predicate: bad %d\n", bad);
  return 0;
}
