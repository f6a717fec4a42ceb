// inline PTX memory operations beyond the common ones: sub-word and 64-bit accesses, every atomic, generic and shared forms, cvta, mbarrier
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static unsigned long long fnv(const void* p, size_t n) { unsigned long long h = 1469598103934665603ull; for (size_t i = 0; i < n; ++i) { h ^= ((const unsigned char*)p)[i]; h *= 1099511628211ull; } return h; }
__device__ __forceinline__ uint32_t cast_smem(void const* const ptr) {
  uint32_t a; asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvt.u32.u64 %0, s; }\n" : "=r"(a) : "l"(ptr)); return a;
}
#define LD(type, reg, letter, out, p) asm volatile("ld.global." type " %0, [%1];" : "=" letter(out) : "l"(p))
__global__ void loads(const unsigned char* in, unsigned* out) {
  int t = threadIdx.x, n = blockDim.x; unsigned r; int s; unsigned short h; unsigned long long l; double d; float f;
  LD("u8", 32, "r", r, in + t); out[t] = r; LD("s8", 32, "r", s, in + t + 1); out[n + t] = s; LD("u16", 16, "h", h, in + 2 * t); out[2 * n + t] = h;
  LD("s16", 32, "r", s, in + 2 * t); out[3 * n + t] = s; LD("b64", 64, "l", l, in + 8 * t); out[4 * n + t] = (unsigned)(l ^ l >> 32); LD("f64", 64, "d", d, in + 8 * t); out[5 * n + t] = (unsigned)__double_as_longlong(d);
  asm volatile("ld.volatile.global.f32 %0, [%1+4];" : "=f"(f) : "l"(in + 4 * t)); out[6 * n + t] = __float_as_uint(f);
  unsigned long long a, b; asm volatile("ld.global.nc.L2::256B.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(in + 16 * t)); out[7 * n + t] = (unsigned)(a + b * 3);
  asm volatile("ld.u16 %0, [%1];" : "=h"(h) : "l"(in + 2 * t)); out[8 * n + t] = h + 1;
  unsigned x, y; asm volatile("ld.global.ca.v2.b32 {%0, %1}, [%2+8];" : "=r"(x), "=r"(y) : "l"(in + 8 * t)); out[9 * n + t] = x ^ y;
}
__global__ void stores(unsigned char* out) {
  int t = threadIdx.x; asm volatile("st.global.u8 [%0], %1;" ::"l"(out + t), "r"(t * 3 + 256) : "memory"); asm volatile("st.global.b16 [%0+256], %1;" ::"l"(out + 2 * t), "h"((unsigned short)(t * 700)) : "memory");
  asm volatile("st.global.wt.u64 [%0], %1;" ::"l"(out + 512 + 8 * t), "l"(0x0123456789abcdefull * t) : "memory"); asm volatile("st.global.cg.v2.f32 [%0], {%1, %2};" ::"l"(out + 1280 + 8 * t), "f"(t * 0.5f), "f"(-t * 0.25f) : "memory");
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(out + 2048 + 4 * t), "r"(~t) : "memory"); asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(out + 2432 + 4 * t), "r"(t + 9) : "memory");
}
__global__ void atomics(unsigned* u, unsigned long long* l, int* s, double* d, unsigned* old) {
  int t = threadIdx.x; unsigned r; unsigned long long q; int x; double y;
  asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(r) : "l"(u), "r"(9u) : "memory"); atomicAdd(old + r, 1u);
  asm volatile("atom.global.dec.u32 %0, [%1], %2;" : "=r"(r) : "l"(u + 1), "r"(7u) : "memory"); atomicAdd(old + 16 + r, 1u);
  asm volatile("atom.global.and.b32 %0, [%1], %2;" : "=r"(r) : "l"(u + 2), "r"(~(1u << (t & 31))) : "memory"); asm volatile("atom.global.or.b32 %0, [%1], %2;" : "=r"(r) : "l"(u + 3), "r"(1u << (t % 20)) : "memory");
  asm volatile("atom.global.xor.b32 %0, [%1], %2;" : "=r"(r) : "l"(u + 4), "r"(t * 77u) : "memory"); asm volatile("atom.global.min.s32 %0, [%1], %2;" : "=r"(x) : "l"(s), "r"(50 - t) : "memory"); asm volatile("atom.max.s32 %0, [%1], %2;" : "=r"(x) : "l"(s + 1), "r"(t * 7 % 83 - 40) : "memory");
  asm volatile("atom.add.u64 %0, [%1], %2;" : "=l"(q) : "l"(l), "l"(1ull << (t % 50)) : "memory"); asm volatile("red.global.max.u64 [%0], %1;" ::"l"(l + 1), "l"((unsigned long long)t << 40) : "memory"); asm volatile("atom.add.f64 %0, [%1], %2;" : "=d"(y) : "l"(d), "d"(t * 0.5) : "memory");
  unsigned long long want = l[2], got; for (;;) { asm volatile("atom.cas.b64 %0, [%1], %2, %3;" : "=l"(got) : "l"(l + 2), "l"(want), "l"(want + t) : "memory"); if (got == want) break; want = got; }
  asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(u + 5), "r"((unsigned)t + 1) : "memory"); atomicAdd(u + 6, r);
  asm volatile("{ .reg .b32 o; atom.global.add.noftz.f16x2 o, [%0], %1; }" ::"l"(u + 8), "r"(0x3c004000u) : "memory"); asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(u + 9), "r"(0x3c003c00u) : "memory");
}
__global__ void shared_ops(unsigned* out) {
  __shared__ unsigned s[128]; __shared__ unsigned long long w[4]; int t = threadIdx.x; s[t] = t; if (t < 4) w[t] = t; __syncthreads();
  unsigned a = cast_smem(s), b = cast_smem(w), r; unsigned long long q;
  asm volatile("atom.shared.add.u32 %0, [%1+4], %2;" : "=r"(r) : "r"(a), "r"(2u) : "memory"); asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(a + 8), "r"(1u << (t & 31)) : "memory"); asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "r"(a + 12), "r"(3u), "r"(1000u) : "memory");
  asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(q) : "r"(b + 8), "l"(1ull << 33) : "memory"); asm volatile("red.shared::cta.max.u32 [%0], %1;" ::"r"(a + 16), "r"((unsigned)t) : "memory"); __syncthreads();
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(r) : "r"(a + 4 * t + 1)); out[t] = s[t] * 3 + r + (t < 4 ? (unsigned)(w[t] >> 30) : 0u);
  unsigned* g; asm("{ .reg .u64 x; cvt.u64.u32 x, %1; cvta.shared.u64 %0, x; }" : "=l"(g) : "r"(a + 4 * ((t * 5) % 96))); int in; asm("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(in) : "l"(g)); int gl; asm("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(gl) : "l"(out)); out[blockDim.x + t] = *g + in * 1000 + gl * 10000;
}
__global__ void pipeline(const float* in, float* out) {
  __shared__ __align__(16) float buf[2][128]; __shared__ __align__(8) unsigned long long bar[2]; int t = threadIdx.x; unsigned b = cast_smem(bar);
  if (t == 0) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x)); asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b + 8), "r"(blockDim.x)); }
  __syncthreads(); float acc = 0;
  for (int i = 0; i < 6; ++i) {
    int k = i & 1; unsigned phase = (i >> 1) & 1;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(cast_smem(&buf[k][t])), "l"(in + i * 128 + t) : "memory"); asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b + 8 * k) : "memory");
    asm volatile("{\n .reg .pred P1;\n LAB_WAIT:\n mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n @P1 bra DONE;\n bra LAB_WAIT;\n DONE:\n }" ::"r"(b + 8 * k), "r"(phase) : "memory");
    acc = acc * 0.5f + buf[k][(t * 3 + i) & 127]; __syncthreads();
  }
  unsigned long long st; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(st) : "r"(b)); int done; do { asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(b), "l"(st)); } while (!done);
  out[t] = acc;
}
int main() {
  const int n = 96; static unsigned char raw[2048]; for (int i = 0; i < 2048; ++i) raw[i] = (unsigned char)(i * 37 + i / 7); unsigned char* d; CHECK(cudaMalloc(&d, 8192)); unsigned* o; CHECK(cudaMalloc(&o, 8192)); static unsigned h[2048]; CHECK(cudaMemcpy(d, raw, 2048, cudaMemcpyHostToDevice));
  loads<<<1, n>>>(d, o); CHECK(cudaMemcpy(h, o, 10 * n * 4, cudaMemcpyDeviceToHost)); int bad[10] = {0};
  for (int t = 0; t < n; ++t) { auto u16 = [&](int i) { unsigned short v; memcpy(&v, raw + i, 2); return v; }; auto u32 = [&](int i) { unsigned v; memcpy(&v, raw + i, 4); return v; }; auto u64 = [&](int i) { unsigned long long v; memcpy(&v, raw + i, 8); return v; };
    bad[0] += h[t] != raw[t]; bad[1] += h[n + t] != (unsigned)(int)(signed char)raw[t + 1]; bad[2] += h[2 * n + t] != u16(2 * t); bad[3] += h[3 * n + t] != (unsigned)(int)(short)u16(2 * t); bad[4] += h[4 * n + t] != (unsigned)(u64(8 * t) ^ u64(8 * t) >> 32); bad[5] += h[5 * n + t] != (unsigned)u64(8 * t); bad[6] += h[6 * n + t] != u32(4 * t + 4); bad[7] += h[7 * n + t] != (unsigned)(u64(16 * t) + u64(16 * t + 8) * 3); bad[8] += h[8 * n + t] != u16(2 * t) + 1u; bad[9] += h[9 * n + t] != (u32(8 * t + 8) ^ u32(8 * t + 12)); }
  printf("loads:"); for (int i = 0; i < 10; ++i) printf(" %d", bad[i]); printf("\n");
  CHECK(cudaMemset(d, 0, 4096)); stores<<<1, n>>>(d); static unsigned char got[4096], want[4096]; CHECK(cudaMemcpy(got, d, 2816, cudaMemcpyDeviceToHost));
  for (int t = 0; t < n; ++t) { want[t] = (unsigned char)(t * 3); unsigned short s = (unsigned short)(t * 700); memcpy(want + 256 + 2 * t, &s, 2); unsigned long long l = 0x0123456789abcdefull * t; memcpy(want + 512 + 8 * t, &l, 8); float f[2] = {t * 0.5f, -t * 0.25f}; memcpy(want + 1280 + 8 * t, f, 8); unsigned x = ~t; memcpy(want + 2048 + 4 * t, &x, 4); x = t + 9; memcpy(want + 2432 + 4 * t, &x, 4); }
  printf("stores: %d\n", memcmp(got, want, 2816) == 0);
  static unsigned u[16] = {0, 0, ~0u, 0, 5}, old[32]; unsigned long long l[3] = {0, 0, 11}; int s[2] = {100, -100}; double dd = 1; unsigned *du, *dold; unsigned long long* dl; int* ds; double* ddd; CHECK(cudaMalloc(&du, 64)); CHECK(cudaMalloc(&dold, 128)); CHECK(cudaMalloc(&dl, 24)); CHECK(cudaMalloc(&ds, 8)); CHECK(cudaMalloc(&ddd, 8));
  CHECK(cudaMemcpy(du, u, 64, cudaMemcpyHostToDevice)); CHECK(cudaMemset(dold, 0, 128)); CHECK(cudaMemcpy(dl, l, 24, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(ds, s, 8, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(ddd, &dd, 8, cudaMemcpyHostToDevice));
  atomics<<<1, n>>>(du, dl, ds, ddd, dold); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(u, du, 64, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(old, dold, 128, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(l, dl, 24, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(s, ds, 8, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(&dd, ddd, 8, cudaMemcpyDeviceToHost));
  printf("atomics: %u %u %08x %08x %08x exch %u h2 %08x %08x\n", u[0], u[1], u[2], u[3], u[4], u[5] + u[6], u[8], u[9]); printf("olds:"); for (int i = 0; i < 26; ++i) printf(" %u", old[i]); printf("\nwide: %llu %llu %llu %d %d %.2f\n", l[0], l[1], l[2], s[0], s[1], dd);
  shared_ops<<<1, n>>>(o); CHECK(cudaMemcpy(h, o, 2 * n * 4, cudaMemcpyDeviceToHost)); printf("shared: %u %u %u %u %u %016llx\n", h[1], h[2], h[3], h[4], h[n + 7], fnv(h, 2 * n * 4));
  float *fi, *fo; static float hi[768], ho[128]; for (int i = 0; i < 768; ++i) hi[i] = (float)(i * 13 % 64); CHECK(cudaMalloc(&fi, 3072)); CHECK(cudaMalloc(&fo, 512)); CHECK(cudaMemcpy(fi, hi, 3072, cudaMemcpyHostToDevice)); pipeline<<<1, 128>>>(fi, fo); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(ho, fo, 512, cudaMemcpyDeviceToHost)); int pb = 0;
  for (int t = 0; t < 128; ++t) { float a = 0; for (int i = 0; i < 6; ++i) a = a * 0.5f + hi[i * 128 + ((t * 3 + i) & 127)]; pb += a != ho[t]; } printf("pipeline: bad %d %.5f\n", pb, ho[5]);
  return 0;
}
