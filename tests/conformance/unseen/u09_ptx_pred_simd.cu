// Inline PTX predicates (setp/selp/@p/set/slct), dp4a/dp2a, SIMD words, float min/max with NaN, approximations behind tolerance flags.
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
#include <cmath>
__global__ void preds(int *o) {
    int t = threadIdx.x, a = (int)mix(t) >> 20, b = (int)mix(t + 64) >> 20, r, s = 5; unsigned m;
    asm("{\n\t.reg .pred p, q;\n\tsetp.lt.s32 p, %1, %2;\n\tselp.s32 %0, %1, %2, p;\n\t}" : "=r"(r) : "r"(a), "r"(b));
    asm("{ .reg .pred p, q; // two predicates\n\t setp.gt.and.s32 p|q, %1, 0, 1; @p add.s32 %0, %0, 100; @!p sub.s32 %0, %0, %1; @q mul.lo.s32 %0, %0, 3; }" : "+r"(s) : "r"(b));
    asm("set.le.u32.s32 %0, %1, %2;" : "=r"(m) : "r"(a), "r"(b));
    asm("slct.s32.s32 %0, %0, %1, %2;" : "+r"(r) : "r"(a * 7), "r"(b));
    unsigned ge, eq; asm("mov.u32 %0, %%lanemask_ge; mov.u32 %1, %%lanemask_eq;" : "=r"(ge), "=r"(eq));
    unsigned v; asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(v) : "r"(a & 1));
    o[t] = r * 31 + s * 7 + (int)m + __popc(v & ge) * 1000 + (v & eq ? 1 << 20 : 0);
}
__global__ void dots(int *o) {
    unsigned t = threadIdx.x, a = mix(t), b = mix(t + 300), u; int c = t, s;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c)); c = s;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c)); c ^= s;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(u) : "r"(a), "r"(b), "r"(t)); c ^= u << 3;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c)); c ^= s;
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c));
    o[t] = c + s * 3 + __dp4a((int)a, (int)b, 1) + __dp2a_hi((int)a, (int)b, 2);
}
__global__ void simd(unsigned *o) {
    unsigned t = threadIdx.x, a = mix(t), b = t % 3 ? mix(t + 300) : a, h = 0, r;
    h = mix(h ^ __vadd4(a, b)); h = mix(h ^ __vsubss4(a, b)); h = mix(h ^ __vaddus2(a, b)); h = mix(h ^ __vabsdiffu4(a, b));
    h = mix(h ^ __vcmpeq4(a, b)); h = mix(h ^ __vcmpgts2(a, b)); h = mix(h ^ __vsetltu4(a, b)); h = mix(h ^ __vmaxs2(a, b)); h = mix(h ^ __vavgu4(a, b));
    h = mix(h ^ __vsadu4(a, b)); h = mix(h ^ __vneg2(a));
    asm("vadd4.u32.u32.u32.sat %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); h = mix(h ^ r);
    asm("vset4.u32.u32.ge %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0)); h = mix(h ^ r);
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(t)); h = mix(h ^ r);
    o[t] = h;
}
__global__ void nans(const float *x, unsigned *o) {
    int i = threadIdx.x; float a = x[i / 8], b = x[i % 8], r; unsigned h;
    asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); h = __float_as_uint(r);
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); h = mix(h) ^ (r != r ? 0x7fffffffu : __float_as_uint(r));
    asm("max.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); h = mix(h) ^ __float_as_uint(r);
    asm("{ .reg .pred p; setp.ltu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }" : "=r"(i) : "f"(a), "f"(b)); h = mix(h) ^ i;
    asm("{ .reg .pred p; setp.num.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }" : "=r"(i) : "f"(a), "f"(b)); h = mix(h) ^ i;
    o[threadIdx.x] = h;
}
__global__ void approx(const float *x, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    float v = x[i];
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(o[i]) : "f"(v));
    asm("lg2.approx.f32 %0, %1;" : "=f"(o[n + i]) : "f"(v));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(o[2 * n + i]) : "f"(v));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(o[3 * n + i]) : "f"(v));
    asm("tanh.approx.f32 %0, %1;" : "=f"(o[4 * n + i]) : "f"(v));
    asm("rcp.rn.f32 %0, %1;" : "=f"(o[5 * n + i]) : "f"(v));
    asm("sqrt.rn.f32 %0, %1;" : "=f"(o[6 * n + i]) : "f"(v));
}
int main() {
    Dev<int> p(128); Dev<unsigned> s(256); Dev<int> d(256);
    preds<<<1, 128>>>(p.p); put("preds", p.get());
    dots<<<1, 256>>>(d.p); put("dots", d.get());
    simd<<<1, 256>>>(s.p); put("simd", s.get());
    std::vector<float> f = {0.f, -0.f, 1.5f, -3.f, NAN, INFINITY, -INFINITY, 1e-40f};
    Dev<float> df(f); Dev<unsigned> nn(64);
    nans<<<1, 64>>>(df.p, nn.p);
    auto nv = nn.get(); for (int i = 0; i < 64; i++) if (i / 8 < 2 && i % 8 < 2) nv[i] = 0;  // signed zero pairs aside
    put("nans", nv);
    const int n = 1000; std::vector<float> x(n);
    for (int i = 0; i < n; i++) x[i] = 0.01f + i * 0.013f;
    Dev<float> dx(x), o(7 * n);
    approx<<<8, 128>>>(dx.p, o.p, n);
    auto y = o.get(); bool ok[5] = {1, 1, 1, 1, 1};
    for (int i = 0; i < n; i++) {
        double v = x[i], ref[5] = {exp2(v), log2(v), 1 / v, 1 / sqrt(v), tanh(v)}, tol[5] = {1e-5, 1e-5, 1e-5, 1e-5, 2e-3};
        for (int k = 0; k < 5; k++) ok[k] &= fabs(y[k * n + i] - ref[k]) <= tol[k] * (fabs(ref[k]) + (k == 1));
    }
    printf("ex2_ok: %d\nlg2_ok: %d\nrcp_ok: %d\nrsqrt_ok: %d\ntanh_ok: %d\n", ok[0], ok[1], ok[2], ok[3], ok[4]);
    put("rcp_sqrt_rn", std::vector<float>(y.begin() + 5 * n, y.end()));
    return 0;
}
