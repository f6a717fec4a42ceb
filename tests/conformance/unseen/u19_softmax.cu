// Online softmax, one warp per row of a ragged length, running max and sum merged by xor shuffles; tolerance flags against double.
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
#include <cmath>
__global__ void softmax(const float *in, float *out, int rows, int n) {
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    float m = -INFINITY, s = 0;
    for (int i = lane; i < n; i += warpSize) { float v = in[row * n + i], k = fmaxf(m, v); s = s * __expf(m - k) + __expf(v - k); m = k; }
    for (int o = 16; o; o >>= 1) {
        float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, s, o), k = fmaxf(m, m2);
        s = (m == -INFINITY ? 0 : s * __expf(m - k)) + (m2 == -INFINITY ? 0 : s2 * __expf(m2 - k)); m = k;
    }
    for (int i = lane; i < n; i += 32) out[row * n + i] = __expf(in[row * n + i] - m) / s;
}
int main() {
    for (int n : {7, 50, 333}) {
        int R = 29; std::vector<float> h(R * n); for (int i = 0; i < R * n; i++) h[i] = (int)(mix(i) % 2000) * 0.01f - 10;
        Dev<float> in(h), out(R * n); softmax<<<10, dim3(32, 3)>>>(in.p, out.p, R, n);
        auto y = out.get(); bool ok = true;
        for (int r = 0; r < R; r++) { double m = -1e9, s = 0; for (int i = 0; i < n; i++) m = fmax(m, h[r * n + i]); for (int i = 0; i < n; i++) s += exp(h[r * n + i] - m);
            for (int i = 0; i < n; i++) ok &= fabs(y[r * n + i] - exp(h[r * n + i] - m) / s) < 1e-5; }
        printf("softmax_%d_ok: %d\n", n, ok);
    }
    return 0;
}
