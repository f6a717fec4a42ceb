// Inline PTX integers: every prmt mode, lop3 tables, bfe/bfi, shf wrap/clamp, mad lo/hi/wide, 128-bit carry chains, sad, bfind.
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
#define PRMT(mode) asm("prmt.b32." mode " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); h = mix(h ^ r)
#define LOP3(tab) asm("lop3.b32 %0, %1, %2, %3, " #tab ";" : "=r"(r) : "r"(a), "r"(b), "r"(c)); h = mix(h ^ r)
__global__ void prmt(unsigned *o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, a = mix(t), b = mix(t + 1000), c = mix(t + 2000), r, h = 0;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c & 0xffff)); h ^= r;
    PRMT("f4e"); PRMT("b4e"); PRMT("rc8"); PRMT("ecl"); PRMT("ecr"); PRMT("rc16");
    o[t] = h;
}
__global__ void lop(unsigned *o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, a = mix(t), b = mix(t + 1000), c = mix(t + 2000), r, h = 0;
    LOP3(0x96); LOP3(0xe8); LOP3(0xca); LOP3(0x1b); LOP3(0xfe); LOP3(0x40); LOP3(0x00); LOP3(0xd8);
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"((0xf0 & 0xcc) | 0xaa));
    o[t] = h + r;
}
__global__ void fields(unsigned *o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, a = mix(t), b = mix(t + 9), p = mix(t + 5) % 40, l = mix(t + 6) % 40, h = 0, r;
    int s; unsigned long long q, w = (unsigned long long)a << 32 | b;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(p), "r"(l)); h = mix(h ^ r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(s) : "r"((int)a), "r"(p), "r"(l)); h = mix(h ^ s);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(p), "r"(l)); h = mix(h ^ r);
    asm("bfe.u64 %0, %1, %2, %3;" : "=l"(q) : "l"(w), "r"(p), "r"(l)); h = mix(h ^ (unsigned)(q ^ q >> 32));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(p)); h = mix(h ^ r);
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(p)); h = mix(h ^ r);
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(p)); h = mix(h ^ r);
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(p)); h = mix(h ^ r);
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(p)); h = mix(h ^ r);
    asm("shr.s32 %0, %1, %2;" : "=r"(s) : "r"((int)a), "r"(p)); h = mix(h ^ s);
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a >> l % 32)); h = mix(h ^ r);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"((int)a >> l % 32)); h = mix(h ^ r);
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(s) : "r"((int)a >> 3), "r"((int)b >> 3), "r"(7)); h = mix(h ^ s);
    o[t] = h;
}
__global__ void wide(unsigned long long *o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, a = mix(t), b = mix(t + 1), c = mix(t + 2), lo, hi;
    long long w; unsigned long long q, x = (unsigned long long)a * b, y = ~x * c;
    asm("mad.lo.s32 %0, %2, %3, %4;\n\tmad.hi.u32 %1, %2, %3, %4;" : "=&r"(lo), "=&r"(hi) : "r"(a), "r"(b), "r"(c));
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(w) : "r"((int)a), "r"((int)b), "l"((long long)y));
    asm("{ .reg .u64 t1; mul.hi.u64 t1, %1, %2; mad.lo.u64 %0, t1, 3, %1; }" : "=l"(q) : "l"(x), "l"(y));
    asm("mad24.lo.u32 %0, %0, %1, 5;" : "+r"(lo) : "r"(c));
    o[t] = (unsigned long long)hi << 32 ^ lo ^ w ^ q;
}
__global__ void carry(unsigned *o) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, a[4], b[4], s[4], d[4], p[4];
    for (int i = 0; i < 4; i++) { a[i] = (t & 1) ? ~0u : mix(t * 4 + i); b[i] = (t & 2) ? (i == 0) : mix(t + i * 77); }
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=&r"(s[0]), "=&r"(s[1]), "=&r"(s[2]), "=&r"(s[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\tsubc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
        : "=&r"(d[0]), "=&r"(d[1]), "=&r"(d[2]), "=&r"(d[3]) : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
    // 64 x 64 -> 128 by 32-bit limbs
    asm("{\n\tmul.lo.u32 %0, %4, %6;\n\tmul.hi.u32 %1, %4, %6;\n\t"
        "mad.lo.cc.u32 %1, %4, %7, %1;\n\tmadc.hi.u32 %2, %4, %7, 0;\n\t"
        "mad.lo.cc.u32 %1, %5, %6, %1;\n\tmadc.hi.cc.u32 %2, %5, %6, %2;\n\taddc.u32 %3, 0, 0;\n\t"
        "mad.lo.cc.u32 %2, %5, %7, %2;\n\tmadc.hi.u32 %3, %5, %7, %3;\n\t}"
        : "=&r"(p[0]), "=&r"(p[1]), "=&r"(p[2]), "=&r"(p[3]) : "r"(a[0]), "r"(a[1]), "r"(b[2]), "r"(b[3]));
    for (int i = 0; i < 4; i++) { o[t * 12 + i] = s[i]; o[t * 12 + 4 + i] = d[i]; o[t * 12 + 8 + i] = p[i]; }
}
int main() {
    Dev<unsigned> o(512), c(512 * 12); Dev<unsigned long long> w(512);
    prmt<<<4, 128>>>(o.p); put("prmt", o.get());
    lop<<<4, 128>>>(o.p); put("lop3", o.get());
    fields<<<4, 128>>>(o.p); put("fields", o.get());
    wide<<<4, 128>>>(w.p); put("wide", w.get());
    carry<<<4, 128>>>(c.p); put("carry", c.get());
    return 0;
}
