// CSR SpMV with one warp (or a sub-warp of run-time template size) per row, and a segmented scan by head flags.
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
template <int TPR> __global__ void spmv(int rows, const int *ptr, const int *col, const float *val, const float *x, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / TPR, lane = threadIdx.x & (TPR - 1);
    if (row >= rows) return;
    unsigned mask = TPR == 32 ? 0xffffffffu : ((1u << (TPR & 31)) - 1) << (threadIdx.x % 32 / TPR * TPR);
    float s = 0;
    for (int i = ptr[row] + lane; i < ptr[row + 1]; i += TPR) s += val[i] * x[col[i]];
    for (int o = TPR / 2; o > 0; o /= 2) s += __shfl_down_sync(mask, s, o, TPR);
    if (lane == 0) y[row] = s;
}
__global__ void segscan(const int *v, const int *head, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, x = v[i];
    unsigned h = __ballot_sync(~0u, head[i] || lane == 0);
    int start = 31 - __clz(h & (0xffffffffu >> (31 - lane)));
    for (int o = 1; o < 32; o <<= 1) { int u = __shfl_up_sync(~0u, x, o); if (lane - o >= start) x += u; }
    out[i] = x;
}
int main() {
    const int R = 333; std::vector<int> ptr(R + 1), col; std::vector<float> val, x(R);
    for (int r = 0; r < R; r++) { int n = mix(r) % 70; for (int i = 0; i < n; i++) { col.push_back(mix(r * 91 + i) % R); val.push_back((float)(mix(i + r) % 17) - 8); } ptr[r + 1] = col.size(); x[r] = (float)(r % 23) - 11; }
    Dev<int> p(ptr), c(col); Dev<float> v(val), dx(x), y(R);
    spmv<32><<<(R * 32 + 95) / 96, 96>>>(R, p.p, c.p, v.p, dx.p, y.p); put("spmv32", y.get());
    spmv<8><<<(R * 8 + 127) / 128, 128>>>(R, p.p, c.p, v.p, dx.p, y.p); put("spmv8", y.get());
    std::vector<int> a(960), h(960); for (int i = 0; i < 960; i++) { a[i] = mix(i) % 100; h[i] = mix(i + 5) % 6 == 0; }
    Dev<int> da(a), dh(h), o(960);
    segscan<<<10, 96>>>(da.p, dh.p, o.p); put("segscan", o.get());
    return 0;
}
