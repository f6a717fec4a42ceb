// mma.sync m16n8k16 f16/bf16, m16n8k8 tf32, m16n8k32 s8/u8, m8n8k4 f64 with hand-built fragments against host products; small integers, exact.
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
#include <cuda_bf16.h>
template <class T> __device__ unsigned pack2(T a, T b) { unsigned r; T v[2] = {a, b}; memcpy(&r, v, 4); return r; }
#define FRAG16(T) int l = threadIdx.x % 32, g = l >> 2, q = (l & 3) * 2; \
    auto A2 = [&](int r, int c) { return pack2<T>((T)(float)A[r * 16 + c], (T)(float)A[r * 16 + c + 1]); }; \
    auto B2 = [&](int k, int n) { return pack2<T>((T)(float)B[k * 8 + n], (T)(float)B[(k + 1) * 8 + n]); }; \
    unsigned a[4] = {A2(g, q), A2(g + 8, q), A2(g, q + 8), A2(g + 8, q + 8)}, b[2] = {B2(q, g), B2(q + 8, g)};
#define ST(c) C[g * 8 + q] = (c)[0]; C[g * 8 + q + 1] = (c)[1]; C[(g + 8) * 8 + q] = (c)[2]; C[(g + 8) * 8 + q + 1] = (c)[3]
#define MMA4(ins, D, K) asm volatile(ins " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : D(c[0]), D(c[1]), D(c[2]), D(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
__global__ void f16k(const int *A, const int *B, int *C) {
    FRAG16(__half) float c[4] = {1, 2, 3, 4};
    MMA4("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "+f", 16); ST(c);
}
__global__ void bf16k(const int *A, const int *B, int *C) {
    FRAG16(__nv_bfloat16) float c[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    MMA4("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "+f", 16);
    for (float &x : c) x *= 2; ST(c);
}
__global__ void f16acc(const int *A, const int *B, int *C) {
    FRAG16(__half) unsigned d[2] = {0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    __half c[4]; memcpy(c, d, 8);
    float f[4]; for (int i = 0; i < 4; i++) f[i] = __half2float(c[i]);
    ST(f);
}
__global__ void tf32k(const int *A, const int *B, int *C) {
    int l = threadIdx.x & 31, g = l >> 2, k = l & 3, q = k * 2; float c[4] = {0, 0, 0, 0};
    for (int s = 0; s < 16; s += 8) {
        auto T = [](int v) { unsigned r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"((float)v)); return r; };
        unsigned a[4] = {T(A[g * 16 + s + k]), T(A[(g + 8) * 16 + s + k]), T(A[g * 16 + s + k + 4]), T(A[(g + 8) * 16 + s + k + 4])}, b[2] = {T(B[(s + k) * 8 + g]), T(B[(s + k + 4) * 8 + g])};
        MMA4("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "+f", 8);
    }
    ST(c);
}
template <bool S> __global__ void i8k(const int *A, const int *B, int *C) {  // K = 32: A and B used twice
    int l = threadIdx.x & 31, g = l >> 2, q = (l & 3) * 2, k = (l & 3) * 4, c[4] = {7, 7, 7, 7};
    auto PA = [&](int r, int k0) { unsigned v = 0; for (int j = 0; j < 4; j++) v |= (A[r * 16 + (k0 + j) % 16] & 255u) << 8 * j; return v; };
    auto PB = [&](int n, int k0) { unsigned v = 0; for (int j = 0; j < 4; j++) v |= (B[(k0 + j) % 16 * 8 + n] & 255u) << 8 * j; return v; };
    unsigned a[4] = {PA(g, k), PA(g + 8, k), PA(g, k + 16), PA(g + 8, k + 16)}, b[2] = {PB(g, k), PB(g, k + 16)};
    if (S) MMA4("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "+r", 32);
    else MMA4("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", "+r", 32);
    ST(c);
}
__global__ void f64k(const int *A, const int *B, int *C) {
    int l = threadIdx.x & 31, g = l >> 2, k = l & 3; double c0 = 0, c1 = 0;
    for (int s = 0; s < 16; s += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c0), "+d"(c1) : "d"((double)A[g * 16 + s + k]), "d"((double)B[(s + k) * 8 + g]));
    C[g * 8 + k * 2] = (int)c0; C[g * 8 + k * 2 + 1] = (int)c1;
}
int main() {
    std::vector<int> a(256), b(128), ref(128, 0);
    for (int i = 0; i < 256; i++) a[i] = (int)(mix(i) % 15) - 7;
    for (int i = 0; i < 128; i++) b[i] = (int)(mix(i + 999) % 13) - 6;
    for (int i = 0; i < 16; i++) for (int j = 0; j < 8; j++) for (int k = 0; k < 16; k++) ref[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
    put("reference", ref);
    Dev<int> A(a), B(b), C(128);
    f16k<<<1, 32>>>(A.p, B.p, C.p); put("f16", C.get());
    bf16k<<<1, 32>>>(A.p, B.p, C.p); put("bf16", C.get());
    f16acc<<<1, 32>>>(A.p, B.p, C.p); put("f16acc", C.get());
    tf32k<<<1, 32>>>(A.p, B.p, C.p); put("tf32", C.get());
    i8k<true><<<1, 32>>>(A.p, B.p, C.p); put("s8", C.get());
    i8k<false><<<1, 32>>>(A.p, B.p, C.p); put("u8", C.get());
    f64k<<<1, 32>>>(A.p, B.p, C.p); put("f64", C.get());
    return 0;
}
