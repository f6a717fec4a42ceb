// warp collectives written in PTX: vote, match, redux, elect, activemask, bar.warp, in divergent halves
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
__device__ __forceinline__ unsigned lane_id() { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ __forceinline__ unsigned ballot(unsigned mask, bool p) {
  unsigned r; asm volatile("{ .reg .pred %%p1; setp.ne.b32 %%p1, %1, 0; vote.sync.ballot.b32 %0, %%p1, %2; }" : "=r"(r) : "r"((unsigned)p), "r"(mask)); return r;
}
__device__ __forceinline__ bool vote_any(unsigned mask, bool p) {
  int r; asm volatile("{\n\t.reg .pred a, b;\n\tsetp.ne.s32 a, %1, 0;\n\tvote.sync.any.pred b, a, %2;\n\tselp.s32 %0, 1, 0, b;\n\t}" : "=r"(r) : "r"((int)p), "r"(mask)); return r;
}
__device__ __forceinline__ bool vote_all(unsigned mask, bool p) {
  int r; asm volatile("{ .reg .pred a, b; setp.ne.s32 a, %1, 0; vote.sync.all.pred b, a, %2; selp.s32 %0, 1, 0, b; }" : "=r"(r) : "r"((int)p), "r"(mask)); return r;
}
__global__ void collect(unsigned* out) {
  int t = threadIdx.x, n = blockDim.x; unsigned lane = lane_id();
  unsigned key = (t * 7 + 3) % 5, r;
  unsigned mask = lane < 20 ? 0x000fffffu : 0xfff00000u;
  if (lane < 20) {
    out[t] = ballot(mask, key & 1); out[n + t] = vote_any(mask, key == 4 && t < 32) | vote_all(mask, key < 5) << 1 | vote_all(mask, key != 2) << 2;
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(key), "r"(mask)); out[2 * n + t] = r;
    asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(r) : "r"(key), "r"(mask)); out[3 * n + t] = r;
    asm volatile("redux.sync.xor.b32 %0, %1, %2;" : "=r"(r) : "r"(1u << key), "r"(mask)); out[4 * n + t] = r;
  } else {
    out[t] = ~ballot(mask, key & 2); out[n + t] = vote_any(mask, key == 4) << 4;
    unsigned long long wide = (unsigned long long)key << 35;
    asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(r) : "l"(wide), "r"(mask)); out[2 * n + t] = r;
    asm volatile("redux.sync.max.s32 %0, %1, %2;" : "=r"(r) : "r"((int)key - 2), "r"(mask)); out[3 * n + t] = r;
    asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(r) : "r"(1u << (lane & 15)), "r"(mask)); out[4 * n + t] = r;
  }
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  unsigned all; asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %1, 0xffffffff; @!p xor.b32 %0, %0, 0x80; }" : "=r"(all) : "r"(t / 32)); out[5 * n + t] = all;
  asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %1, 0xffffffff; @!p xor.b32 %0, %0, 0x80; }" : "=r"(all) : "r"(t)); out[6 * n + t] = all;
  asm volatile("activemask.b32 %0;" : "=r"(all)); out[7 * n + t] = all;
}
__global__ void leader(int* count, int* who) {
  unsigned l; int is;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.s32 %1, 1, 0, p; }" : "=r"(l), "=r"(is));
  if (is) { atomicAdd(count, 1); who[threadIdx.x / 32] = (int)l; }
}
int main() {
  const int n = 160; unsigned* d; CHECK(cudaMalloc(&d, 8 * n * 4)); static unsigned h[8 * n];
  collect<<<1, n>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  int bad[8] = {0};
  for (int t = 0; t < n; ++t) {
    int base = t & ~31, lane = t & 31, lo = lane < 20 ? 0 : 20, hi = lane < 20 ? 20 : 32; auto key = [](int x) { return (unsigned)((x * 7 + 3) % 5); };
    unsigned b = 0, m = 0, any4 = 0, all2 = 1, sum = 0, x = 0, o = 0; int mx = -9;
    for (int l = lo; l < hi; ++l) { unsigned k = key(base + l); if (k & (lane < 20 ? 1 : 2)) b |= 1u << l; if (k == key(t)) m |= 1u << l; any4 |= k == 4; all2 &= k != 2; sum += k; x ^= 1u << k; o |= 1u << (l & 15); if ((int)k - 2 > mx) mx = (int)k - 2; }
    bad[0] += h[t] != (lane < 20 ? b : ~b); bad[1] += h[n + t] != (lane < 20 ? (any4 && base == 0) | 2 | all2 << 2 : any4 << 4); bad[2] += h[2 * n + t] != m;
    bad[3] += h[3 * n + t] != (lane < 20 ? sum : (unsigned)mx); bad[4] += h[4 * n + t] != (lane < 20 ? x : o); bad[5] += h[5 * n + t] != 0xffffffffu; bad[6] += h[6 * n + t] != 0x80u; bad[7] += h[7 * n + t] != 0xffffffffu;
  }
  for (int i = 0; i < 8; ++i) printf("collect%d: %08x %08x bad %d\n", i, h[i * n + 33], h[i * n + 159], bad[i]);
  int *c, hc[6]; CHECK(cudaMalloc(&c, 24)); CHECK(cudaMemset(c, 0xff, 24)); CHECK(cudaMemset(c, 0, 4)); leader<<<1, n>>>(c, c + 1); CHECK(cudaMemcpy(hc, c, 24, cudaMemcpyDeviceToHost));
  printf("leaders: %d lanes %d %d\n", hc[0], hc[1], hc[5]);
  return 0;
}
