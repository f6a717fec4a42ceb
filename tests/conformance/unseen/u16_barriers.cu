// Named barriers between warp pairs, arrive/sync producer-consumer, bar.red popc/and/or, __syncthreads_count and elect-like leaders.
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
__device__ void bar(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void pairs(int *out) {
    __shared__ int s[4][64];
    int p = threadIdx.x / 64, l = threadIdx.x % 64, v = threadIdx.x;
    for (int r = 0; r <= p * 2; r++) { s[p][l] = v; bar(p + 1, 64); v = v * 3 + s[p][(l + 33) & 63]; bar(p + 1, 64); }
    out[threadIdx.x] = v;
}
__global__ void prodcons(int *out) {  // warp 0 produces, warp 1 consumes, through full/empty barriers
    __shared__ int buf[32];
    int l = threadIdx.x & 31, acc = 0;
    if (threadIdx.x < 32) for (int i = 0; i < 9; i++) { if (i) bar(2, 64); buf[l] = mix(i * 32 + l) & 1023; __threadfence_block(); arrive(1, 64); }
    else { for (int i = 0; i < 9; i++) { bar(1, 64); acc = acc * 5 + buf[31 - l]; if (i < 8) arrive(2, 64); } out[l] = acc; }
}
__global__ void red(int *out) {
    int t = threadIdx.x, c, a, o; bool p = mix(t) % 3 == 0;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p;}" : "=r"(c) : "r"((int)p) : "memory");
    asm volatile("{.reg .pred p, q; setp.lt.s32 p, %1, 1000; bar.red.and.pred q, 0, p; selp.s32 %0, 1, 0, q;}" : "=r"(a) : "r"(t) : "memory");
    asm volatile("{.reg .pred p, q; setp.eq.s32 p, %1, 70; bar.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q;}" : "=r"(o) : "r"(t) : "memory");
    int n = __syncthreads_count(t & 1) + __syncthreads_or(t == 500) + __syncthreads_and(t < 96);
    unsigned e; asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(e));
    unsigned leaders = __popc(__ballot_sync(~0u, e));
    out[t] = c + a * 1000 + o * 2000 + n * 10000 + leaders * 7;
}
int main() {
    Dev<int> a(256), b(32), c(96);
    pairs<<<1, 256>>>(a.p); put("pairs", a.get());
    prodcons<<<1, 64>>>(b.p); put("prodcons", b.get());
    red<<<1, 96>>>(c.p); put("red", c.get());
    return 0;
}
