// Volatile warp-synchronous idioms with __syncwarp: 64-thread tree reduction with a warp tail, padded matrix transpose, warp-private transposes.
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
__device__ void tail(volatile int *s, unsigned t) {
    int v = s[t];
    v += s[t + 32]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 16]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 8]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 4]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 2]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 1]; __syncwarp(); s[t] = v;
}
template <unsigned BS> __global__ void tree(const int *in, int n, int *out) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x;
    int a = 0;
    for (unsigned i = blockIdx.x * BS * 2 + t; i < (unsigned)n; i += BS * 2 * gridDim.x) {
        a += in[i];
        if (i + BS < (unsigned)n) a += in[i + BS];
    }
    s[t] = a;
    __syncthreads();
    if (BS >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
    if (BS >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
    if (BS >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t < 32) tail(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}

template <class T, int TILE = 32, int ROWS = 8> __global__ void transpose(const T *in, T *out, int w, int h) {
    __shared__ T tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

// each warp owns 32x8 words and transposes 8 values per lane without a block barrier
__global__ void warp_private(const unsigned *in, unsigned *out) {
    __shared__ unsigned buf[5][32 * 8];
    const int lane = threadIdx.x & 0x1f, w = threadIdx.x >> 5;
    unsigned *b = buf[w];
    const unsigned *src = in + threadIdx.x / 32 * 256;
    for (int r = 0; r < 8; r++) b[lane * 8 + ((r + lane) & 7)] = src[r * 32 + lane];
    __syncwarp();
    for (int rep = 0; rep < w + 1; rep++) {  // warps run different trip counts
        unsigned v[8];
        for (int r = 0; r < 8; r++) v[r] = b[r * 32 + lane] + rep;
        __syncwarp(0xffffffff);
        for (int r = 0; r < 8; r++) b[lane * 8 + r] = v[7 - r];
        __syncwarp();
    }
    for (int r = 0; r < 8; r++) out[w * 256 + r * 32 + lane] = b[r * 32 + (lane ^ 1)];
    __syncwarp();
    if (lane < 16) {
        b[lane] = lane * 3;
        __syncwarp(0x0000ffffu);
        out[w * 256 + lane] += b[15 - lane];
    } else {
        b[lane] = lane * 7;
        __syncwarp(0xffff0000u);
        out[w * 256 + lane] += b[16 + (31 - lane)];
    }
}

int main() {
    const int n = 7001;
    std::vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = (int)mix(i) >> 12;
    Dev<int> in(h), o(6);
    tree<64><<<6, 64, 64 * 4>>>(in.p, n, o.p); put("tree64", o.get());
    tree<128><<<6, 128, 128 * 4>>>(in.p, n, o.p); put("tree128", o.get());
    tree<512><<<6, 512, 512 * 4>>>(in.p, n, o.p); put("tree512", o.get());
    Dev<int> ti(7000); CK(cudaMemcpy(ti.p, h.data(), 7000 * 4, cudaMemcpyHostToDevice));
    Dev<int> to(7000);
    transpose<int><<<dim3(4, 3), dim3(32, 8)>>>(ti.p, to.p, 100, 70); put("transpose32", to.get());
    transpose<short, 16, 4><<<dim3(5, 11), dim3(16, 4)>>>((short *)ti.p, (short *)to.p, 70, 166); put("transpose16", to.get());
    std::vector<unsigned> u(5 * 256);
    for (size_t i = 0; i < u.size(); i++) u[i] = mix(i);
    Dev<unsigned> ui(u), uo(u.size());
    warp_private<<<1, 160>>>(ui.p, uo.p); put("warp_private", uo.get());
    return 0;
}
