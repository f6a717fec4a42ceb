// Cooperative groups: tiles of 4..32, nested tiles, cg::reduce, inclusive/exclusive scans, meta_group_rank, block ranks in 2D blocks.
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
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <unsigned N> __global__ void tiles(const int *in, int *out) {
    auto blk = cg::this_thread_block();
    auto t = cg::tiled_partition<N>(blk);
    int v = in[blk.thread_rank()];
    int s = cg::reduce(t, v, cg::plus<int>()), mx = cg::reduce(t, v, cg::greater<int>());
    int x = cg::inclusive_scan(t, v), e = cg::exclusive_scan(t, v & 15, cg::plus<int>());
    unsigned b = t.ballot(v > 0);
    int k = t.shfl(v, (t.thread_rank() + 3) % t.size()) ^ t.shfl_xor(v, 1);
    out[blk.thread_rank()] = s + mx * 3 + x * 5 + e * 7 + (int)b * 11 + k + (int)(t.meta_group_rank() * 1000 + t.meta_group_size()) + t.num_threads();
}

__global__ void nested(const int *in, int *out) {
    cg::thread_block blk = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(blk);
    auto h = cg::tiled_partition<16>(w);
    auto q = cg::tiled_partition<4>(h);
    int v = in[blk.thread_rank()];
    int a = cg::reduce(q, v, cg::less<int>());
    a = h.shfl_down(a, 4) + q.meta_group_rank() * 100 + h.meta_group_rank() * 10 + q.meta_group_size();
    if (w.meta_group_rank() % 2 == 0) { a += w.any(v > 290) * 10000; w.sync(); }
    if (h.thread_rank() == 0) a -= cg::this_thread_block().group_dim().y;
    out[blk.thread_rank()] = a + w.match_any(v & 3);
}

template <class G> __device__ int tree_sum(const G &g, int v, int *tmp) {
    for (int i = (int)g.size() / 2; i > 0; i /= 2) {
        tmp[g.thread_rank()] = v;
        g.sync();
        if ((int)g.thread_rank() < i) v += tmp[g.thread_rank() + i];
        g.sync();
    }
    return v;
}
__global__ void generic(const int *in, int *out) {
    __shared__ int tmp[128];
    auto blk = cg::this_thread_block();
    int v = in[blk.thread_rank()];
    int r = tree_sum(blk, v, tmp);
    auto t8 = cg::tiled_partition<8>(blk);
    int q = tree_sum(t8, v, tmp + t8.meta_group_rank() * 8);
    auto rt = cg::tiled_partition(blk, 16);  // run-time group type
    int p = tree_sum(rt, v, tmp + blk.thread_rank() / 16 * 16);
    cg::sync(blk);
    out[blk.thread_rank()] = (blk.thread_rank() == 0 ? r : 0) + (t8.thread_rank() == 0 ? q * 3 : 0) + (rt.thread_rank() == 0 ? p * 5 : 0);
}
__global__ void structs(const int *in, double *out) {
    auto t = cg::tiled_partition<16>(cg::this_thread_block());
    double v = in[threadIdx.x] * 0.25;
    double s = cg::reduce(t, v, cg::plus<double>());
    unsigned long long m = cg::reduce(t, (unsigned long long)in[threadIdx.x] << 20, cg::bit_xor<unsigned long long>());
    out[threadIdx.x] = s + (double)(m & 0xfffffffull) + cg::reduce(t, in[threadIdx.x], [](int a, int b) { return a > b ? a : b; });
}

int main() {
    std::vector<int> h(256);
    for (int i = 0; i < 256; i++) h[i] = (int)(mix(i + 5) % 600) - 300;
    Dev<int> in(h), o(256);
    tiles<4><<<1, 256>>>(in.p, o.p); put("tile4", o.get());
    tiles<8><<<1, dim3(16, 16)>>>(in.p, o.p); put("tile8", o.get());
    tiles<16><<<1, dim3(8, 4, 8)>>>(in.p, o.p); put("tile16", o.get());
    tiles<32><<<1, 256>>>(in.p, o.p); put("tile32", o.get());
    Dev<int> o2(160), o3(128); Dev<double> d(96);
    nested<<<1, dim3(10, 16)>>>(in.p, o2.p); put("nested", o2.get());
    generic<<<1, 128>>>(in.p, o3.p); put("generic", o3.get());
    structs<<<1, 96>>>(in.p, d.p); put("double_u64", d.get());
    return 0;
}
