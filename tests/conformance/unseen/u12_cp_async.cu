// cp.async: 4/8/16 bytes, zero fill by source size, predicated copies, a three-stage pipeline with wait_group N and a ragged last tile.
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
__device__ __forceinline__ void cp16(void *s, const void *g, int bytes) {
    unsigned a = (unsigned)__cvta_generic_to_shared(s);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(a), "l"(g), "r"(bytes) : "memory");
}
template <int N> __device__ __forceinline__ void cp(void *s, const void *g, int bytes = N) {
    unsigned a = (unsigned)__cvta_generic_to_shared(s);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(a), "l"(g), "n"(N), "r"(bytes) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::: "memory")
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

constexpr int STAGES = 3, TILE = 256;
__global__ void pipe(const int *in, int n, long long *out) {
    __shared__ __align__(16) int buf[STAGES][TILE];
    const int t = threadIdx.x, tiles = (n + TILE - 1) / TILE;
    auto load = [&](int tile) {
        if (tile < tiles) {
            int i = tile * TILE + t * 4, left = max(0, min(16, (n - i) * 4));
            cp16(&buf[tile % STAGES][t * 4], left ? in + i : in, left);
        }
        COMMIT();
    };
    for (int s = 0; s < STAGES - 1; s++) load(s);
    long long acc = 0;
    for (int k = 0; k < tiles; k++) {
        wait<STAGES - 2>();
        __syncthreads();
        load(k + STAGES - 1);
        const int *b = buf[k % STAGES];
        for (int j = 0; j < 4; j++) acc = acc * 3 + b[(t * 4 + j * 65) % TILE];
    }
    wait<0>();
    out[t] = acc;
}
__global__ void small(const unsigned char *in, unsigned *out) {
    __shared__ __align__(16) unsigned s[96 * 2 + 96];
    const int t = threadIdx.x;
    s[t] = s[t + 96] = s[t + 192] = 0xeeeeeeeeu;
    __syncthreads();
    cp<8>(&s[t * 2], in + t * 8, t % 9);
    unsigned a = (unsigned)__cvta_generic_to_shared(&s[192 + t]);
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p cp.async.ca.shared.global [%0], [%1], 4;\n}\n" ::"r"(a), "l"(in + t * 4), "r"((int)((t & 3) != 1)) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int j = 0; j < 3; j++) out[j * 96 + t] = s[j * 96 + (t + 5) % 96];
}
// double buffering inside one warp, no block barrier
__global__ void per_warp(const float4 *in, float4 *out, int rounds) {
    __shared__ float4 b[4][2][32];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const float4 *src = in + w * 32 * rounds;
    cp16(&b[w][0][lane], src + lane, 16); COMMIT();
    float4 acc = {0, 0, 0, 0};
    for (int r = 0; r < rounds; r++) {
        if (r + 1 < rounds) { cp16(&b[w][(r + 1) & 1][lane], src + (r + 1) * 32 + lane, 16); COMMIT(); wait<1>(); } else wait<0>();
        __syncwarp();
        float4 v = b[w][r & 1][31 - lane];
        acc.x += v.x; acc.y += v.y; acc.z -= v.z; acc.w = fmaxf(acc.w, v.w);
        __syncwarp();
    }
    out[threadIdx.x] = acc;
}
int main() {
    for (int n : {2048, 1001, 100}) {
        std::vector<int> h(n);
        for (int i = 0; i < n; i++) h[i] = (int)mix(i) >> 10;
        Dev<int> in(h); Dev<long long> o(64);
        pipe<<<1, 64>>>(in.p, n, o.p);
        char nm[32]; snprintf(nm, sizeof nm, "pipe_%d", n); put(nm, o.get());
    }
    std::vector<unsigned char> c(1024); for (int i = 0; i < 1024; i++) c[i] = mix(i) & 255;
    Dev<unsigned char> dc(c); Dev<unsigned> so(288);
    small<<<1, 96>>>(dc.p, so.p); put("small", so.get());
    std::vector<float> f(4 * 32 * 7 * 4); for (size_t i = 0; i < f.size(); i++) f[i] = (float)(mix(i) % 2000) - 1000;
    Dev<float> df(f), fo(512);
    per_warp<<<1, 128>>>((float4 *)df.p, (float4 *)fo.p, 7); put("per_warp", fo.get());
    return 0;
}
