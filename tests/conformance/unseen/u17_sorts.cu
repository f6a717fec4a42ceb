// Warp bitonic sort by shuffles and a block radix sort that ranks digits with warp ballots.
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
__global__ void bitonic(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = in[i];
    for (int k = 2; k <= 32; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            int o = __shfl_xor_sync(0xffffffff, v, j);
            bool up = (lane & k) == 0, low = (lane & j) == 0;
            v = up == low ? min(v, o) : max(v, o);
        }
    out[i] = v;
}
__global__ void radix(unsigned *keys) {
    __shared__ unsigned k[256]; __shared__ int cnt[2][8];
    int t = threadIdx.x, lane = t & 31, w = t >> 5, nw = blockDim.x >> 5;
    unsigned v = keys[blockIdx.x * blockDim.x + t];
    for (int b = 0; b < 32; b++) {
        bool bit = v >> b & 1;
        unsigned m = __ballot_sync(0xffffffffu, bit), lt = (1u << lane) - 1;
        if (lane == 0) { cnt[1][w] = __popc(m); cnt[0][w] = __popc(~m); }
        __syncthreads();
        int pos = __popc((bit ? m : ~m) & lt);
        for (int i = 0; i < nw; i++) { if (bit) pos += cnt[0][i]; if (i < w) pos += cnt[bit][i]; }
        k[pos] = v;
        __syncthreads();
        v = k[t];
    }
    keys[blockIdx.x * blockDim.x + t] = v;
}
int main() {
    std::vector<int> h(960); for (int i = 0; i < 960; i++) h[i] = (int)mix(i) >> 16;
    Dev<int> in(h), out(960);
    bitonic<<<10, 96>>>(in.p, out.p); put("bitonic", out.get());
    Dev<unsigned> k(std::vector<unsigned>(h.begin(), h.end()));
    radix<<<6, 160>>>(k.p); put("radix160", k.get());
    radix<<<4, 224>>>(k.p); put("radix224", k.get());
    return 0;
}
