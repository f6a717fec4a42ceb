// nvcuda::wmma shapes m16n16k16, m8n32k16, m32n8k16 in half and int8, four warps per block, col and row layouts; exact.
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
#include <mma.h>
using namespace nvcuda;
template <int M, int N, int K, class T, class A, class LB> __global__ void gemm(const T *a, const T *b, A *c, int k) {
    int w = threadIdx.x / warpSize;
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, A> fc;
    wmma::fill_fragment(fc, (A)w);
    constexpr bool col = std::is_same<LB, wmma::col_major>::value;
    for (int i = 0; i < k; i += sizeof(T) == 1 ? 2 * K : K) {  // 32-byte aligned tiles
        wmma::load_matrix_sync(fa, a + w * M * k + i, k);
        wmma::load_matrix_sync(fb, col ? b + i : b + i * N, col ? k : N);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * (A)2;
    wmma::store_matrix_sync(c + w * M * N, fc, N, wmma::mem_row_major);
}
template <int M, int N, class T, class A> void go(const char *name, const std::vector<T> &h) {
    Dev<T> a(h), b(h); Dev<A> c(4 * M * N);
    gemm<M, N, 16, T, A, wmma::row_major><<<1, 128>>>(a.p, b.p, c.p, 48); put(name, c.get());
    gemm<M, N, 16, T, A, wmma::col_major><<<1, 128>>>(a.p, b.p, c.p, 48); put("col", c.get());
}
int main() {
    std::vector<__half> h(8192); std::vector<signed char> s(8192); std::vector<unsigned char> u(8192);
    for (int i = 0; i < 8192; i++) { int v = (int)(mix(i) % 9) - 4; h[i] = __float2half((float)v); s[i] = v * 20; u[i] = mix(i) & 255; }
    go<16, 16, __half, float>("half_16x16", h);
    go<8, 32, __half, float>("half_8x32", h);
    go<32, 8, __half, float>("half_32x8", h);
    go<16, 16, signed char, int>("s8_16x16", s);
    go<32, 8, unsigned char, int>("u8_32x8", u);
    return 0;
}
