// Warp scans whose lane and warp ids come from 2D/3D thread ids, macros, enums, template parameters and constexpr.
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
enum { kLog = 5, kWarp = 1 << kLog };
#define LANE(t) ((t) & (kWarp - 1))
#define WARP(t) ((t) >> kLog)
constexpr int WARP_THREADS = 32;
__host__ __device__ constexpr int warpSizeConst() { return WARP_THREADS; }

__device__ __forceinline__ int linear() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

template <int W = WARP_THREADS> __device__ int scan_incl(int v, int lane) {
#pragma unroll
    for (int o = 1; o < W; o *= 2) {
        int u = __shfl_up_sync(0xffffffff, v, o, W);
        if (lane % W >= o) v += u;
    }
    return v;
}

__global__ void scan3d(const int *in, int *out) {
    __shared__ int part[1024 / kWarp];
    int t = linear(), lane = LANE(t), w = WARP(t), n = blockDim.x * blockDim.y * blockDim.z;
    int v = in[blockIdx.x * n + t];
    int s = scan_incl(v, lane);
    if (lane == kWarp - 1) part[w] = s;
    __syncthreads();
    if (w == 0) {
        int p = lane < n / kWarp ? part[lane] : 0;
        part[lane] = scan_incl(p, lane) - p;
    }
    __syncthreads();
    out[blockIdx.x * n + t] = s + part[w];
}

template <int BX, int BY> __global__ void rows2d(const int *in, int *out) {
    static_assert(BX == 32, "one warp per row");
    constexpr int kWarps = BX * BY / warpSizeConst();
    __shared__ int best[kWarps];
    int v = in[threadIdx.y * BX + threadIdx.x];
    for (int m = WARP_THREADS >> 1; m > 0; m >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, m));
    if (threadIdx.x == 0) best[threadIdx.y] = v;
    __syncthreads();
    if (threadIdx.y == 0 && threadIdx.x < kWarps) out[threadIdx.x] = best[threadIdx.x];
}

template <int SUB> __global__ void subs(const int *in, int *out) {
    int tid = threadIdx.x + threadIdx.y * blockDim.x;
    int lane = tid % warpSize, warp = tid / warpSize;
    int s = scan_incl<SUB>(in[tid], lane);
    out[tid] = s * 64 + warp * 8 + lane / SUB;
}

__global__ void hwlane(unsigned *out) {
    int t = linear();
    unsigned l, lt;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    out[t] = l * 1000 + __popc(lt) + ((unsigned)t / 32u << 20);
}

int main() {
    std::vector<int> h(2048);
    for (int i = 0; i < 2048; i++) h[i] = (int)(mix(i) % 1000) - 300;
    Dev<int> in(h), out(2048);
    scan3d<<<4, dim3(8, 4, 8)>>>(in.p, out.p); put("scan_8x4x8", out.get());
    scan3d<<<2, dim3(16, 16, 4)>>>(in.p, out.p); put("scan_16x16x4", out.get());
    Dev<int> o3(3 * 96);
    scan3d<<<3, dim3(6, 4, 4)>>>(in.p, o3.p); put("scan_6x4x4", o3.get());
    Dev<int> r(12);
    rows2d<32, 12><<<1, dim3(32, 12)>>>(in.p, r.p); put("rows2d", r.get());
    Dev<int> s(192);
    subs<4><<<1, dim3(24, 8)>>>(in.p, s.p); put("sub4", s.get());
    subs<16><<<1, dim3(24, 8)>>>(in.p, s.p); put("sub16", s.get());
    Dev<unsigned> hl(160);
    hwlane<<<1, dim3(5, 4, 8)>>>(hl.p); put("hwlane", hl.get());
    return 0;
}
