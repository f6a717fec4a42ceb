// half2 dot products with __hfma2, packed shuffles and a two-level block sum; small integers so that every bit is exact.
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
#include <cuda_fp16.h>
__global__ void dot(const __half2 *a, const __half2 *b, float *out, int n2) {
    __shared__ float part[32];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    __half2 s = __float2half2_rn(0.f);
    for (int i = threadIdx.x; i < n2; i += blockDim.x) s = __hfma2(a[blockIdx.x * n2 + i], b[i], s);
    for (int o = 16; o > 0; o >>= 1) s = __hadd2(s, __shfl_xor_sync(0xffffffffu, s, o));
    if (lane == 0) part[w] = __low2float(s) + __high2float(s);
    __syncthreads();
    if (w == 0) {
        float f = lane < blockDim.x / 32 ? part[lane] : 0.f;
        for (int o = 16; o > 0; o >>= 1) f += __shfl_down_sync(0xffffffffu, f, o);
        if (lane == 0) out[blockIdx.x] = f;
    }
}
int main() {
    const int n2 = 500; std::vector<__half2> a(12 * n2), b(n2);
    for (int i = 0; i < 12 * n2; i++) a[i] = __floats2half2_rn((int)(mix(i) % 5) - 2, (int)(mix(i + 1) % 3) - 1);
    for (int i = 0; i < n2; i++) b[i] = __floats2half2_rn((int)(mix(i + 7) % 3) - 1, (int)(mix(i + 3) % 5) - 2);
    Dev<__half2> da(a), db(b); Dev<float> o(12);
    dot<<<12, 96>>>(da.p, db.p, o.p, n2); put("dot96", o.get());
    dot<<<12, 256>>>(da.p, db.p, o.p, n2); put("dot256", o.get());
    return 0;
}
