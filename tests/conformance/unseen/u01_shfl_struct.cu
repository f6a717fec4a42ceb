// Shuffles of structs (word by word), double and long long, with run-time widths and masks that come from a ballot.
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
struct __align__(8) Item { double key; int idx; short a; unsigned char b, c; };

template <class T> __device__ T shfl_any(unsigned mask, T v, int src, int width) {
    static_assert(sizeof(T) % sizeof(int) == 0, "words");
    union { T t; int w[sizeof(T) / sizeof(int)]; } in, out;
    in.t = v;
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(int); i++) out.w[i] = __shfl_sync(mask, in.w[i], src, width);
    return out.t;
}

__global__ void structs(Item *out, int width) {
    int t = threadIdx.x;
    Item it{t * 1.25 - 7, t * 3, (short)(t - 40), (unsigned char)t, (unsigned char)(255 - t)};
    out[t] = shfl_any(0xffffffffu, it, t * 5 + 3, width);
}

// argmax over pairs: the largest key wins, the lower index breaks ties
__global__ void argmax(const double *k, int n, double *bk, int *bi, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double key = i < n ? k[i] : -1e300;
    int idx = i;
    for (int o = width / 2; o; o >>= 1) {
        double k2 = __shfl_down_sync(~0u, key, o, width);
        int i2 = __shfl_down_sync(~0u, idx, o, width);
        if (k2 > key || (k2 == key && i2 < idx)) { key = k2; idx = i2; }
    }
    if (threadIdx.x % width == 0) { bk[i / width] = key; bi[i / width] = idx; }
}

__global__ void masked(long long *out, const int *flag) {
    int t = threadIdx.x;
    unsigned m = __ballot_sync(~0u, flag[t] != 0);
    long long v = (long long)t * 0x100000001ll + 17;
    out[t] = -1;
    if (flag[t]) {
        int first = __ffs(m) - 1, last = 31 - __clz(m);
        long long a = __shfl_sync(m, v, first), b = __shfl_sync(m, v, last + 32);
        out[t] = a * 1000 + b + __popc(m & ((1u << (t & 31)) - 1));
    } else {
        unsigned r = ~m;
        out[t] = -__shfl_sync(r, v, __ffs(r) - 1);
    }
}

__global__ void updown(unsigned long long *out, int width, unsigned delta) {
    int t = threadIdx.x;
    unsigned long long v = 0x0123456789abcdefull * (t + 1);
    unsigned long long u = __shfl_up_sync(~0u, v, delta, width);
    unsigned long long d = __shfl_down_sync(~0u, v, delta, width);
    float x = __shfl_xor_sync(~0u, (float)t + 0.5f, delta, width);
    out[t] = u ^ (d << 1) ^ __float_as_uint(x);
}

int main() {
    for (int w : {4, 16, 32}) {
        Dev<Item> d(96);
        structs<<<1, 96>>>(d.p, w);
        char nm[32]; snprintf(nm, sizeof nm, "struct_w%d", w);
        put(nm, d.get());
    }
    const int n = 1000;
    std::vector<double> k(n);
    for (int i = 0; i < n; i++) k[i] = (int)(mix(i) % 50) * 0.5;
    Dev<double> dk(k);
    for (int w : {8, 32}) {
        Dev<double> bk(1024 / w); Dev<int> bi(1024 / w);
        argmax<<<8, 128>>>(dk.p, n, bk.p, bi.p, w);
        printf("argmax_width: %d\n", w);
        put("keys", bk.get()); put("idx", bi.get());
    }
    std::vector<int> f(128);
    for (int i = 0; i < 128; i++) f[i] = (mix(i + 9) & 3) == 0;
    Dev<int> df(f); Dev<long long> o(128);
    masked<<<1, 128>>>(o.p, df.p);
    put("masked", o.get());
    Dev<unsigned long long> ud(64);
    updown<<<1, 64>>>(ud.p, 16, 5); put("updown_16_5", ud.get());
    updown<<<1, 64>>>(ud.p, 32, 31); put("updown_32_31", ud.get());
    return 0;
}
