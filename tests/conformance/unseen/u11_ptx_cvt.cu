// Inline PTX conversions: rounding modes, integer saturation, f16x2/bf16x2/tf32/e4m3x2/e5m2x2 packs, relu, 8-bit saturation, sat, f16x2 arithmetic.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("error: %s\n", cudaGetErrorString(e_)); exit(1); } } while (0)
template <class T> inline void put(const char *name, const std::vector<T> &v) {
    uint64_t h = 1469598103934665603ull;
    const unsigned char *p = (const unsigned char *)v.data();
    for (size_t i = 0; i < v.size() * sizeof(T); i++) { h ^= p[i]; h *= 1099511628211ull; }
    printf("%s: %016llx\n", name, (unsigned long long)h);
}
template <class T> struct Dev {
    T *p; size_t n;
    explicit Dev(size_t n_) : n(n_) { CK(cudaMalloc(&p, n * sizeof(T))); CK(cudaMemset(p, 0, n * sizeof(T))); }
    explicit Dev(const std::vector<T> &v) : n(v.size()) { CK(cudaMalloc(&p, n * sizeof(T))); CK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice)); }
    ~Dev() { cudaFree(p); }
    std::vector<T> get() const { std::vector<T> v(n); CK(cudaGetLastError()); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
};
__host__ __device__ inline uint32_t mix(uint32_t x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ (x >> 16); }
#define CV(ins, C, v, T) { T r_; asm(ins " %0, %1;" : C(r_) : "f"(v)); h = mix(h ^ (unsigned)r_); }
#define CV2(ins) { unsigned r_; asm(ins " %0, %1, %2;" : "=r"(r_) : "f"(a), "f"(b)); h = mix(h ^ r_); }
__device__ float value(unsigned i) {  // finite values over the ranges that matter, ties included
    unsigned m = mix(i);
    switch (i % 4) {
    case 0: return ((int)m >> 16) * 0.5f;
    case 1: return ((int)m >> 20) * 0.0078125f;
    case 2: return __uint_as_float((m & 0x807fffffu) | (100 + m % 60) << 23);
    default: return ((int)(m % 1025) - 512) * 0.25f;
    }
}
__global__ void ints(unsigned *o) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0; float a = value(i);
    CV("cvt.rni.s32.f32", "=r", a, int) CV("cvt.rzi.s32.f32", "=r", a, int) CV("cvt.rmi.s32.f32", "=r", a, int) CV("cvt.rpi.u32.f32", "=r", a, unsigned)
    CV("cvt.rni.sat.s8.f32", "=r", a, int) CV("cvt.rni.sat.u8.f32", "=r", a, int)
    float s, t; asm("cvt.sat.f32.f32 %0, %1;" : "=f"(s) : "f"(a)); asm("cvt.rni.f32.f32 %0, %1;" : "=f"(t) : "f"(a));
    h = mix(h ^ __float_as_uint(s)) ^ __float_as_uint(t);
    int q; asm("cvt.sat.s8.s32 %0, %1;" : "=r"(q) : "r"((int)mix(i) >> 22)); h = mix(h ^ (unsigned)q);
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(q) : "r"((int)mix(i) >> 22), "r"((int)mix(i + 1) >> 23), "r"(i)); h = mix(h ^ (unsigned)q);
    o[i] = h;
}
__global__ void rounds(unsigned *o) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0; int m = (int)mix(i); float r; double d = m * 1.0000000123 + 1e-3 * i;
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(r) : "r"(m)); h = mix(h ^ __float_as_uint(r));
    asm("cvt.rz.f32.s32 %0, %1;" : "=f"(r) : "r"(m)); h = mix(h ^ __float_as_uint(r));
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(r) : "d"(d)); h = mix(h ^ __float_as_uint(r));
    asm("cvt.rp.f32.f64 %0, %1;" : "=f"(r) : "d"(d)); h = mix(h ^ __float_as_uint(r));
    asm("add.rz.f32 %0, %1, %2;" : "=f"(r) : "f"(value(i)), "f"(value(i + 1))); h = mix(h ^ __float_as_uint(r));
    asm("fma.rp.f32 %0, %1, %2, %2;" : "=f"(r) : "f"(value(i)), "f"(value(i + 1))); h = mix(h ^ __float_as_uint(r));
    asm("mul.rm.f32 %0, %1, %2;" : "=f"(r) : "f"(value(i)), "f"(value(i + 1))); h = mix(h ^ __float_as_uint(r));
    o[i] = h;
}
__global__ void packs(unsigned *o) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0; float a = value(i), b = value(i + 1);
    CV2("cvt.rn.f16x2.f32") CV2("cvt.rz.f16x2.f32") CV2("cvt.rn.relu.f16x2.f32") CV2("cvt.rn.bf16x2.f32") CV2("cvt.rz.bf16x2.f32") CV2("cvt.rn.relu.bf16x2.f32")
    CV("cvt.rna.tf32.f32", "=r", a, unsigned) CV("cvt.rn.f16.f32", "=h", a, unsigned short) CV("cvt.rn.bf16.f32", "=h", b, unsigned short)
    o[i] = h;
}
__global__ void fp8(unsigned *o) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0, x; float a = value(i), b = value(i + 3); unsigned short p, q;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(p) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(q) : "f"(a), "f"(b));
    h = mix(h ^ p) ^ q;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"(p)); h = mix(h ^ x);
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(x) : "h"(q)); h = mix(h ^ x);
    asm("cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;" : "=h"(p) : "r"(x)); h = mix(h ^ p);
    o[i] = h;
}
__global__ void half_ops(unsigned *o) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0, r, a, b;
    asm("cvt.rn.f16x2.f32 %0, %2, %3; cvt.rn.bf16x2.f32 %1, %3, %2;" : "=&r"(a), "=&r"(b) : "f"(value(4 * i + 1)), "f"(value(4 * i + 3)));
    asm("add.rn.f16x2 %0, %1, %1;" : "=r"(r) : "r"(a)); h = mix(h ^ r);
    asm("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(r) : "r"(a)); h = mix(h ^ r);
    asm("fma.rn.relu.f16x2 %0, %1, %1, %1;" : "=r"(r) : "r"(a)); h = mix(h ^ r);
    asm("fma.rn.bf16x2 %0, %1, %1, %1;" : "=r"(r) : "r"(b)); h = mix(h ^ r);
    asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mul.sat.f16 lo, lo, hi; neg.f16 hi, hi; mov.b32 %0, {hi, lo};}" : "=r"(r) : "r"(a)); h = mix(h ^ r);
    asm("abs.bf16x2 %0, %1;" : "=r"(r) : "r"(b));
    o[i] = h ^ r;
}
int main() {
    Dev<unsigned> o(1024);
    ints<<<8, 128>>>(o.p); put("ints", o.get());
    rounds<<<8, 128>>>(o.p); put("rounds", o.get());
    packs<<<8, 128>>>(o.p); put("packs", o.get());
    fp8<<<8, 128>>>(o.p); put("fp8", o.get());
    half_ops<<<8, 128>>>(o.p); put("half_ops", o.get());
    return 0;
}
