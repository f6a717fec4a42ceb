// ldmatrix and stmatrix .x1/.x2/.x4 with and without .trans, swizzled rows, movmatrix; two warps with their own tiles.
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
__device__ unsigned sa(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void loads(unsigned *o) {
    __shared__ __align__(16) unsigned short s[2][32][8];
    int t = threadIdx.x, l = t & 31, w = t >> 5;
    for (int k = 0; k < 8; k++) s[w][l][k] = (unsigned short)(mix(t * 8 + k));
    __syncwarp();
    unsigned r[4], *d = o + t * 14, a = sa(&s[w][l ^ w][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
    for (int k = 0; k < 4; k++) d[k] = r[k];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
    for (int k = 0; k < 4; k++) d[4 + k] = r[k];
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(d[8]), "=r"(d[9]) : "r"(a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0,%1}, [%2];" : "=r"(d[10]), "=r"(d[11]) : "r"(a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(d[12]) : "r"(a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(d[13]) : "r"(a));
}
__global__ void stores(unsigned short *o) {
    __shared__ __align__(16) unsigned short s[2][32][8];
    int t = threadIdx.x, l = t & 31, w = t >> 5;
    unsigned r0 = mix(t), r1 = mix(t + 100), r2 = mix(t + 200), r3 = mix(t + 300), a = sa(&s[w][l][0]), m;
    auto flush = [&](int slot) { __syncwarp(); for (int k = 0; k < 8; k++) o[slot * 512 + t * 8 + k] = s[w][l][k]; __syncwarp(); for (int k = 0; k < 8; k++) s[w][l][k] = 0; __syncwarp(); };
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory"); flush(0);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory"); flush(1);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(a), "r"(r2), "r"(r1) : "memory"); flush(2);
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(a), "r"(r3) : "memory"); flush(3);
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(r0));
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(a), "r"(m) : "memory"); flush(4);
}
int main() {
    Dev<unsigned> o(64 * 14); loads<<<1, 64>>>(o.p);
    auto v = o.get(); put("loads", v);
    printf("lane5: %08x %08x %08x\n", v[5 * 14], v[5 * 14 + 4], v[5 * 14 + 12]);
    Dev<unsigned short> s(5 * 512); stores<<<1, 64>>>(s.p);
    auto q = s.get();
    for (int k = 0; k < 5; k++) { char nm[16]; snprintf(nm, 16, "store%d", k); put(nm, std::vector<unsigned short>(q.begin() + k * 512, q.begin() + (k + 1) * 512)); }
    return 0;
}
