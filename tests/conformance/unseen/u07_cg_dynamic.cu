// Cooperative groups made at run time: coalesced_threads in divergent code, binary and labeled partitions, ranks, reduce and scan in them.
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

__device__ int push(int *ctr) {
    auto g = cg::coalesced_threads();
    int p = 0;
    if (g.thread_rank() == 0) p = atomicAdd(ctr, (int)g.size());
    return g.shfl(p, 0) + g.thread_rank();
}
__global__ void filter(const int *in, int n, int *ctr, int *hit) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        if (in[i] % 7 < 3) atomicAdd(&hit[push(ctr)], 1);
}
__global__ void binary(const int *in, int *out) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int v = in[threadIdx.x];
    auto g = cg::binary_partition(w, v % 3 == 0);
    int s = cg::reduce(g, v, cg::plus<int>());
    int sc = cg::inclusive_scan(g, v, cg::plus<int>());
    unsigned b = g.ballot(v & 1);
    out[threadIdx.x] = s * 3 + sc * 5 + g.thread_rank() * 1000 + g.size() * 64 + (int)b + g.shfl(v, g.size() - 1);
}
__global__ void labeled(const int *in, int *out) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int v = in[threadIdx.x], label = v & 3;
    auto g = cg::labeled_partition(w, label);
    int mx = cg::reduce(g, v, cg::greater<int>());
    int up = g.shfl_up(v, 1);
    if (g.thread_rank() == 0) up = -1;
    out[threadIdx.x] = mx + up * 2 + g.thread_rank() * 10000 + g.size() + (g.all((v & 3) == label) ? 1 << 28 : 0);
}
__global__ void nested(const int *in, int *out) {
    auto t16 = cg::tiled_partition<16>(cg::this_thread_block());
    int v = in[threadIdx.x], r = 0;
    auto g = cg::binary_partition(t16, v > 40);
    r = g.size() * 100 + g.thread_rank();
    auto h = cg::labeled_partition(g, v & 1);
    r = r * 100 + h.size() + cg::reduce(h, v, cg::bit_or<int>()) * 10000;
    out[threadIdx.x] = r;
}
__global__ void ragged(int *out) {
    unsigned t = threadIdx.x;
    out[t] = -1;
    auto w = cg::tiled_partition<4>(cg::this_thread_block());
    if (w.meta_group_rank() & 1) return;
    auto g = cg::binary_partition(w, (t & 3) != 2);
    out[t] = g.size() * 16 + g.thread_rank() + (int)g.any(t == 8) * 256 + cg::exclusive_scan(g, (int)t) * 1024;
}

int main() {
    const int n = 3001;
    std::vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = mix(i * 7) % 101;
    Dev<int> in(h), c(1), hit(n), o(128);
    filter<<<7, 80>>>(in.p, n, c.p, hit.p);
    printf("filtered: %d\n", c.get()[0]);
    put("hit", hit.get());
    binary<<<1, 128>>>(in.p, o.p); put("binary", o.get());
    labeled<<<1, 128>>>(in.p, o.p); put("labeled", o.get());
    nested<<<1, 128>>>(in.p, o.p); put("nested", o.get());
    Dev<int> r(100);
    ragged<<<1, 100>>>(r.p); put("ragged", r.get());
    return 0;
}
