// Stable stream compaction with ballot/popc/ffs/clz/brev in ragged blocks (48, 80, 100 threads), early exit before partial-mask votes.
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
// one block compacts its slice: the last warp may be partial, so the mask names only threads that exist
__global__ void compact(const int *in, int n, int *out, int *count) {
    __shared__ int wsum[32];
    const int t = threadIdx.x, lane = t & 31, w = t >> 5, nw = (blockDim.x + 31) >> 5;
    const int live = min(32, (int)blockDim.x - w * 32);
    const unsigned full = live == 32 ? 0xffffffffu : (1u << live) - 1u;
    int base = 0;
    for (int s = 0; s < n; s += blockDim.x) {
        int i = s + t;
        bool keep = i < n && in[i] % 3 == 0;
        unsigned b = __ballot_sync(full, keep);
        int rank = __popc(b & ~(~0u << lane));
        if (lane == 0) wsum[w] = __popc(b);
        __syncthreads();
        int before = 0, all = 0;
        for (int k = 0; k < nw; k++) { if (k < w) before += wsum[k]; all += wsum[k]; }
        if (keep) out[base + before + rank] = in[i];
        base += all;
        __syncthreads();
    }
    if (t == 0) *count = base;
}

__global__ void bits(const int *in, int n, unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned act = __ballot_sync(__activemask(), i < n);
    if (i >= n) return;  // the rest votes with the mask of those that stay
    unsigned lane = threadIdx.x % 32u;
    unsigned b = __ballot_sync(act, in[i] & 1);
    unsigned r = __brev(b);
    unsigned next = lane == 31 ? 0 : b & (0xfffffffeu << lane);
    unsigned prev = b & ((1u << lane) - 1);
    int nx = __ffs(next) - 1, pv = 31 - __clz(prev);
    out[i] = (nx & 63) | (pv & 63) << 6 | (unsigned)__clz(r) << 12 | (unsigned)__popc(r) << 18 | (__any_sync(act, in[i] > 90) ? 1u << 30 : 0) | (__all_sync(act, in[i] >= 0) ? 1u << 31 : 0);
}

// the n-th set bit of a mask, by the loop that clears the lowest one
__global__ void nth(unsigned *out) {
    unsigned m = __ballot_sync(0xffffffffu, (mix(threadIdx.x) & 3) != 1);
    int want = threadIdx.x & 31, pos = -1;
    unsigned x = m;
    while (x) { int p = __ffs(x) - 1; if (want-- == 0) { pos = p; break; } x &= x - 1; }
    out[threadIdx.x] = pos * 256 + __fns(m, 0, (threadIdx.x & 7) + 1) % 256;
}

int main() {
    std::vector<int> h(1237);
    for (int i = 0; i < 1237; i++) h[i] = mix(i * 3 + 1) % 100;
    Dev<int> in(h);
    for (int bs : {48, 80, 100, 256}) {
        Dev<int> out(1237), c(1);
        compact<<<1, bs>>>(in.p, 1237, out.p, c.p);
        char nm[32]; snprintf(nm, sizeof nm, "compact_%d", bs);
        put(nm, out.get());
        printf("count_%d: %d\n", bs, c.get()[0]);
    }
    Dev<unsigned> o(1237);
    bits<<<13, 96>>>(in.p, 1237, o.p); put("bits", o.get());
    Dev<unsigned> q(96);
    nth<<<1, 96>>>(q.p); put("nth", q.get());
    return 0;
}
