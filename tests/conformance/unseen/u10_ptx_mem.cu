// Inline PTX memory: v2/v4 loads and stores with cache operators, shared vectors, red/atom with scopes and semantics, predicated loads.
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
__device__ __forceinline__ unsigned sptr(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void vec(const uint4 *in, uint4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    uint4 v, w; uint2 x;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(in + i));
    asm volatile("ld.global.cg.v2.u32 {%0,%1}, [%2+8];" : "=r"(x.x), "=r"(x.y) : "l"(in + i) : "memory");
    asm("ld.global.nc.L1::no_allocate.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(in + (n - 1 - i)));
    v.x += w.w; v.y ^= w.z; v.z -= x.y; v.w += x.x;
    asm volatile("st.global.wt.v2.b32 [%0], {%1, %2};" ::"l"(out + i), "r"(v.x), "r"(v.y) : "memory");
    asm volatile("st.global.cs.v2.b32 [%0 + 8], {%1, %2};" ::"l"(&out[i]), "r"(v.z), "r"(v.w) : "memory");
}
__global__ void guarded(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float f = -1.f; unsigned short h; unsigned b;
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n mov.f32 %0, 0f3F800000;\n @p ld.global.f32 %0, [%1];\n}" : "=f"(f) : "l"(in + i), "r"((int)(i < n)));
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(h) : "l"((const char *)in + i % n * 2));
    asm volatile("ld.global.s8 %0, [%1];" : "=r"(b) : "l"((const char *)in + i % n));
    out[i] = f + (float)h * 0.5f + (float)(int)b;
}
__global__ void shared(unsigned *out) {
    __shared__ __align__(16) unsigned s[256];
    unsigned t = threadIdx.x, a, b, c, d, old;
    unsigned base = sptr(s);
    if (t < 64) asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(base + t * 16), "r"(t), "r"(t * 3), "r"(t * 5), "r"(t * 7) : "memory");
    __syncthreads();
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(base + (t * 29 % 64) * 16));
    __syncthreads();
    if (t < 256) s[t] = 0;
    __syncthreads();
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(base + (t & 15) * 4), "r"(a + b) : "memory");
    asm volatile("atom.shared.max.s32 %0, [%1], %2;" : "=r"(old) : "r"(base + 64 + (t & 7) * 4), "r"(c) : "memory");
    asm volatile("red.relaxed.cta.shared::cta.xor.b32 [%0], %1;" ::"r"(base + 128 + (t & 3) * 4), "r"(d) : "memory");
    __syncthreads();
    out[t] = s[t] + a - (old > 100000u);
}
__global__ void atoms(unsigned *w, unsigned long long *q, float *f, unsigned *slots) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, old, v = mix(i); unsigned long long o64;
    asm volatile("red.global.gpu.add.u32 [%0], %1;" ::"l"(w), "r"(v) : "memory");
    asm volatile("red.relaxed.gpu.global.min.u32 [%0], %1;" ::"l"(w + 1), "r"(v) : "memory");
    asm volatile("atom.global.acq_rel.gpu.max.u32 %0, [%1], %2;" : "=r"(old) : "l"(w + 2), "r"(v) : "memory");
    asm volatile("atom.add.release.sys.global.u64 %0, [%1], %2;" : "=l"(o64) : "l"(q), "l"((unsigned long long)v << 8) : "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f), "f"((float)(v & 7)) : "memory");
    asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(w + 3), "r"(999u) : "memory");
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(slots + old) : "memory");
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(slots + 1000 + i % 100), "r"(0u), "r"(5u) : "memory");
    if (old == 0) atomicAdd(w + 4, 1u);
    asm volatile("fence.acq_rel.gpu; membar.cta;" ::: "memory");
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(slots + 1100 + i), "r"(v) : "memory");
}
int main() {
    std::vector<uint4> h(777); unsigned *u = (unsigned *)h.data();
    for (int i = 0; i < 777 * 4; i++) u[i] = mix(i);
    Dev<uint4> in(h), out(777);
    vec<<<7, 112>>>(in.p, out.p, 777); put("vec", out.get());
    std::vector<float> g(300); for (int i = 0; i < 300; i++) g[i] = (float)(i * 3 - 100);
    Dev<float> gi(g), go(384);
    guarded<<<3, 128>>>(gi.p, go.p, 300); put("guarded", go.get());
    Dev<unsigned> s(256); shared<<<1, 256>>>(s.p); put("shared", s.get());
    Dev<unsigned> w(std::vector<unsigned>{0, ~0u, 0, 0, 0}), sl(1100 + 2000); Dev<unsigned long long> q(1); Dev<float> f(1);
    atoms<<<20, 100>>>(w.p, q.p, f.p, sl.p);
    put("atoms", w.get()); put("slots", sl.get());
    printf("u64: %016llx\nf32: %08x\n", q.get()[0], (unsigned)f.get()[0]);
    return 0;
}
