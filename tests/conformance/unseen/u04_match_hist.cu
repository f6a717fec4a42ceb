// match_any histogram with one atomic per distinct key, warp-aggregated counters and __reduce_*_sync with partial masks in divergent code.
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
__global__ void hist(const unsigned char *in, int n, unsigned *bins, unsigned long long *tot) {
    __shared__ unsigned s[64];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned act = __activemask();
        act = __match_any_sync(act, 1);
        unsigned key = in[i] & 63, peers = __match_any_sync(act, key);
        if ((threadIdx.x & 31) == (unsigned)__ffs(peers) - 1) atomicAdd(&s[key], (unsigned)__popc(peers));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        if (s[i]) { atomicAdd(&bins[i], s[i]); atomicAdd(tot, (unsigned long long)s[i]); }
}

__device__ int aggInc(int *ctr) {
    unsigned m = __activemask();
    int leader = __ffs(m) - 1, res = 0;
    unsigned lt; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    if ((m & lt) == 0) res = atomicAdd(ctr, __popc(m));
    res = __shfl_sync(m, res, leader);
    return res + __popc(m & lt);
}
__global__ void agg(const unsigned char *in, int n, int *ctr, unsigned char *seen) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 100) seen[aggInc(ctr)] = 1;  // every slot is taken exactly once
    else if (i < n && in[i] < 20) aggInc(ctr + 1);
}

__global__ void reduces(const int *in, unsigned *out) {
    int t = threadIdx.x, lane = t & 31, v = in[t];
    unsigned m = __ballot_sync(~0u, v & 1), r;
    if (v & 1) {
        int mn = __reduce_min_sync(m, v), mx = __reduce_max_sync(m, v);
        r = __reduce_add_sync(m, (unsigned)v) ^ (unsigned)mn * 3u ^ (unsigned)mx * 5u;
    } else {
        unsigned k = ~m;
        r = __reduce_and_sync(k, (unsigned)v | 0xf0u) + __reduce_or_sync(k, (unsigned)v) * 7u + __reduce_xor_sync(k, (unsigned)v << lane % 3);
    }
    out[t] = r;
}
__global__ void ladder(unsigned *out) {
    int t = threadIdx.x, lane = t % 32;
    unsigned r;
    if (lane < 7) r = __reduce_add_sync(0x7fu, t);
    else if (lane < 20) r = __reduce_max_sync(0xfff80u, (unsigned)(t * 37 % 64));
    else r = __reduce_min_sync(0xfff00000u, -t);
    __syncwarp();
    int same; 
    unsigned long long key = lane < 16 ? 0x100000000ull : 0x200000000ull;
    unsigned g = __match_any_sync(~0u, key), a = __match_all_sync(~0u, t >> 5, &same);
    out[t] = r + g * 3 + (a & 1) + same * 2;
}

int main() {
    const int n = 5003;
    std::vector<unsigned char> h(n);
    for (int i = 0; i < n; i++) h[i] = mix(i) >> (i % 5);
    Dev<unsigned char> in(h), seen(n);
    Dev<unsigned> bins(64); Dev<unsigned long long> tot(1); Dev<int> c(2);
    hist<<<5, 112>>>(in.p, n, bins.p, tot.p);
    put("bins", bins.get());
    printf("total: %llu\n", tot.get()[0]);
    agg<<<(n + 191) / 192, 192>>>(in.p, n, c.p, seen.p);
    printf("agg: %d %d\n", c.get()[0], c.get()[1]);
    put("seen", seen.get());
    std::vector<int> v(128);
    for (int i = 0; i < 128; i++) v[i] = (int)mix(i + 77) >> 8;
    Dev<int> dv(v); Dev<unsigned> o(128);
    reduces<<<1, 128>>>(dv.p, o.p); put("reduces", o.get());
    ladder<<<1, 128>>>(o.p); put("ladder", o.get());
    return 0;
}
