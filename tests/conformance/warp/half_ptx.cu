// half, bfloat16, fp8 and conversion PTX as libraries use it: packed arithmetic, relu, min and max with NaN, tf32, int to half tricks, saturating packs, rounding modes
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cmath>
#include <cstring>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static unsigned long long fnv(const void* p, size_t n) { unsigned long long h = 1469598103934665603ull; for (size_t i = 0; i < n; ++i) { h ^= ((const unsigned char*)p)[i]; h *= 1099511628211ull; } return h; }
__device__ uint32_t h2(float lo, float hi) { uint32_t r; asm("{ .reg .f16 a, b; cvt.rn.f16.f32 a, %1; cvt.rn.f16.f32 b, %2; mov.b32 %0, {a, b}; }" : "=r"(r) : "f"(lo), "f"(hi)); return r; }
__device__ void dequant_i4(uint32_t q, uint32_t (&out)[4]) {   // the (1024 + x) trick of weight-only kernels
  asm("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(out[0]) : "r"(q), "n"(0x000f000f), "n"(0x64006400), "n"((0xf0 & 0xcc) | 0xaa)); asm("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(out[1]) : "r"(q), "n"(0x00f000f0), "n"(0x64006400), "n"((0xf0 & 0xcc) | 0xaa)); uint32_t top = q >> 8;
  asm("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(out[2]) : "r"(top), "n"(0x000f000f), "n"(0x64006400), "n"((0xf0 & 0xcc) | 0xaa)); asm("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(out[3]) : "r"(top), "n"(0x00f000f0), "n"(0x64006400), "n"((0xf0 & 0xcc) | 0xaa));
  asm("sub.f16x2 %0, %1, %2;\n" : "=r"(out[0]) : "r"(out[0]), "r"(0x64086408)); asm("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(out[1]) : "r"(out[1]), "r"(0x2c002c00), "r"(0xd480d480)); asm("sub.f16x2 %0, %1, %2;\n" : "=r"(out[2]) : "r"(out[2]), "r"(0x64086408)); asm("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(out[3]) : "r"(out[3]), "r"(0x2c002c00), "r"(0xd480d480));
}
__global__ void k(uint32_t* out) {
  int t = threadIdx.x, n = blockDim.x; float x = (t - 40) * 0.37f, y = (t * 7 % 31) * -0.11f + 1.5f, z = t % 5 == 0 ? NAN : x * y; uint32_t r, a = h2(x, y), b = h2(y, z); int o = 0; auto put = [&](uint32_t v) { out[o++ * n + t] = v; };
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(a)); put(r); asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(a), "r"(0xc000c000u)); put(r); asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); put(r); asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); put(r); asm("neg.f16x2 %0, %1;" : "=r"(r) : "r"(a)); put(r); asm("abs.f16x2 %0, %1;" : "=r"(r) : "r"(a)); put(r);
  uint32_t p, q; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p) : "f"(y), "f"(x)); asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(q) : "f"(x), "f"(-y)); put(p); put(q); asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(p), "r"(p), "r"(q)); put(r); asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(q)); put(r); asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(q)); put(r);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x * 1.2345f)); put(r); asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x * 1.01f), "f"(y * 1.001f)); put(r); unsigned short s; asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(s) : "f"(x * 30.f), "f"(y)); put(s); asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(s)); put(r); asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(s) : "f"(x * 3000.f), "f"(y)); put(s); asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(s)); put(r);
  int i; asm("cvt.rni.s32.f32 %0, %1;" : "=r"(i) : "f"(x * 1.5f)); put(i); asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(x)); put(i); asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(i) : "f"(x)); put(i); asm("cvt.rpi.u32.f32 %0, %1;" : "=r"(r) : "f"(x)); put(r);
  float f; asm("cvt.rz.f32.s32 %0, %1;" : "=f"(f) : "r"(0x7fffff81 - t * 1000)); put(__float_as_uint(f)); asm("cvt.rp.f32.u32 %0, %1;" : "=f"(f) : "r"(0xffffff01u - t)); put(__float_as_uint(f)); asm("add.rz.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(1e-7f)); put(__float_as_uint(f)); asm("mul.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y)); put(__float_as_uint(f)); asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(x), "f"(y), "f"(0.1f)); put(__float_as_uint(f)); asm("sqrt.rn.f32 %0, %1;" : "=f"(f) : "f"(fabsf(x))); put(__float_as_uint(f)); asm("div.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(y)); put(__float_as_uint(f)); asm("add.sat.f32 %0, %1, %2;" : "=f"(f) : "f"(x), "f"(0.5f)); put(__float_as_uint(f)); asm("mul.ftz.f32 %0, %1, %2;" : "=f"(f) : "f"(x * 1e-30f), "f"(1e-9f)); put(__float_as_uint(f));
  uint32_t d[4]; dequant_i4(t * 0x01234567u + 0x89abcdefu, d); put(d[0]); put(d[1]); put(d[2]); put(d[3]); asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(t * 5 - 200), "r"(t - 60), "r"(0u)); put(r); double dd; asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(dd) : "d"((double)x), "d"((double)y), "d"(0.3)); put((uint32_t)__double_as_longlong(dd));
}
int main() {
  const int n = 96, rows = 36; static uint32_t h[rows * n]; uint32_t* d; CHECK(cudaMalloc(&d, sizeof h)); CHECK(cudaMemset(d, 0, sizeof h)); k<<<1, n>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < rows; ++i) printf("row%02d: %08x %08x %016llx\n", i, h[i * n + 3], h[i * n + 70], fnv(h + i * n, n * 4)); return 0;
}
