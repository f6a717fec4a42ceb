// What the expressions of differential.hip do not reach: lanes, LDS, atomics, calls, scratch, synchronisation, output.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <stdio.h>

typedef unsigned u32;
typedef unsigned long long u64;

// ---- lanes ----
extern "C" __global__ void lanes(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    int *o = out + t * 16;
    o[0] = __shfl(v, 7);
    o[1] = __shfl_xor(v, 5);
    o[2] = __shfl_up(v, 3);
    o[3] = __shfl_down(v, 9);
    o[4] = __shfl(v, t * 3, 16);
    o[5] = (int)__ballot(v & 1);
    o[6] = (int)(__ballot(v & 1) >> 32);
    o[7] = __any(v == 12345) | __all(v > -1000) << 1;
    o[8] = __builtin_amdgcn_readfirstlane(v);
    o[9] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    o[10] = __builtin_amdgcn_ds_swizzle(v, 0x041f);           // swap neighbours
    o[11] = __builtin_amdgcn_ds_bpermute((t ^ 17) * 4, v);
    o[12] = __builtin_amdgcn_ds_permute((t ^ 9) * 4, v);
    o[13] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, false); // row_shr:1, out of range keeps -1
    o[14] = __builtin_amdgcn_update_dpp(-1, v, 0x4e, 0xf, 0xf, false);  // quad_perm:[2,3,0,1]
    o[15] = __builtin_amdgcn_update_dpp(0, v, 0x141, 0xf, 0xf, true);   // row_half_mirror
}
extern "C" __global__ void lanes_divergent(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t % 3 == 0) {
        out[t] = __shfl(v, (t + 6) % warpSize) + __popcll(__ballot(1)) * 1000;
    } else {
        out[t] = -(int)__builtin_amdgcn_readfirstlane(v);
    }
}

// ---- LDS and barriers ----
extern "C" __global__ void block_reduce(const float *in, float *out, int n) {
    extern __shared__ float s[];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = blockDim.x / 2; k; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void transpose(const u64 *in, u64 *out, int n) {
    __shared__ u64 tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void lds_bytes(const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char b[256];
    __shared__ short h[256];
    __shared__ uint4 q[64];
    int t = threadIdx.x;
    b[t] = in[t];
    h[255 - t] = (short)(in[t] * 3);
    if (t < 64) q[t] = make_uint4(t, t + 1, t + 2, t + 3);
    __syncthreads();
    uint4 w = q[(t * 7) & 63];
    out[t] = b[t ^ 1] + (unsigned char)h[t] + (unsigned char)(w.x + w.y * 2 + w.z * 3 + w.w * 5);
}

// ---- atomics ----
extern "C" __global__ void atomics(u32 *u, int *i, u64 *l, float *f, double *d, u32 *old) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    old[t] = atomicAdd(&u[0], 1u);
    atomicSub(&u[1], 2u);
    atomicMin(&u[2], (u32)(1000 - t));
    atomicMax(&u[3], (u32)t);
    atomicAnd(&u[4], ~(1u << (t & 31)));
    atomicOr(&u[5], 1u << (t & 31));
    atomicXor(&u[6], (u32)t);
    atomicInc(&u[7], 9u);
    atomicDec(&u[8], 9u);
    atomicExch(&u[9], 77u);
    atomicMin(&i[0], 50 - t);
    atomicMax(&i[1], t - 50);
    atomicAdd(&l[0], 1ull << 33);
    atomicMax(&l[1], (u64)t << 40);
    atomicOr(&l[2], 1ull << (t & 63));
    u32 seen = u[10], want;
    do { want = seen; seen = atomicCAS(&u[10], want, want + 3); } while (seen != want);
    u64 seen64 = l[3], want64;
    do { want64 = seen64; seen64 = atomicCAS(&l[3], want64, want64 * 2 + 1); } while (seen64 != want64);
    atomicAdd(&f[0], 0.5f);
    atomicAdd(&d[0], 0.25);
    unsafeAtomicAdd(&f[1], 1.0f);
    unsafeAtomicAdd(&d[1], 1.0);
}
extern "C" __global__ void lds_atomics(u32 *out) {
    __shared__ u32 u[8];
    __shared__ u64 l[2];
    __shared__ float f[2];
    int t = threadIdx.x;
    if (t < 8) u[t] = t == 2 ? 10000 : 0;
    if (t < 2) { l[t] = 0; f[t] = 0; }
    __syncthreads();
    u32 before = atomicAdd(&u[0], 1u);
    atomicMax(&u[1], (u32)t);
    atomicMin(&u[2], (u32)(t + 3));
    atomicOr(&u[3], 1u << (t & 31));
    atomicXor(&u[4], (u32)t);
    atomicCAS(&u[5], 0u, (u32)t + 1);
    atomicExch(&u[6], 5u);
    atomicInc(&u[7], 6u);
    atomicAdd(&l[0], (u64)t << 32);
    atomicAdd(&f[0], 0.5f);
    __syncthreads();
    if (t < 8) out[t] = u[t];
    if (t == 8) { out[8] = (u32)(l[0] >> 32); out[9] = __float_as_uint(f[0]); }
    out[16 + t] = before;
}
extern "C" __global__ void float_sum(const float *in, float *out) { // the order of additions shows in the bits
    atomicAdd(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

// ---- calls, scratch ----
static __device__ __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fib(threadIdx.x % 12); }
typedef int (*op)(int, int);
static __device__ int add(int a, int b) { return a + b; }
static __device__ int mul(int a, int b) { return a * b; }
static __device__ int sub(int a, int b) { return a - b; }
__device__ op table[3] = {add, mul, sub};
extern "C" __global__ void pointers(const int *in, int *out) { out[threadIdx.x] = table[in[threadIdx.x] % 3](threadIdx.x, 7); }
extern "C" __global__ void scratch(const int *in, int *out) {
    int a[40];
    short h[40];
    unsigned char b[40];
    for (int k = 0; k < 40; ++k) { a[k] = in[(threadIdx.x + k) & 63]; h[k] = (short)(a[k] * 3); b[k] = (unsigned char)a[k]; }
    int s = 0;
    for (int k = 0; k < 40; ++k) s += a[(k * 7 + in[k]) % 40] * 3 + h[(k * 3 + in[k]) % 40] + b[(in[threadIdx.x & 63] + k) % 40];
    out[threadIdx.x] = s;
}
__device__ int counter = 5;
__constant__ int weights[4] = {1, 20, 300, 4000};
extern "C" __global__ void variables(int *out) {
    out[threadIdx.x] = weights[threadIdx.x & 3] + counter;
    __syncthreads();
    if (threadIdx.x == 0) counter = 9;
}

// ---- geometry ----
extern "C" __global__ void geometry(u32 *out) {
    u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    u32 w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
    out[(z * h + y) * w + x] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20;
}

// ---- between workgroups ----
extern "C" __global__ void grid_barrier(int *count, int *out) { // every workgroup waits for all others
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < (int)gridDim.x) {}
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *count;
}
extern "C" __global__ void cooperative(int *data, int *out) {
    auto grid = cooperative_groups::this_grid();
    int t = grid.thread_rank(), n = grid.size();
    data[t] = t;
    grid.sync();
    out[t] = data[n - 1 - t];
    grid.sync();
    data[t] = out[n - 1 - t];
}

// ---- output ----
extern "C" __global__ void prints(int n) {
    if (threadIdx.x % 32 == 1) printf("lane %d of %s: %5.2f %x %lld\n", threadIdx.x, "block", threadIdx.x / 4.0, n, 1ll << 40);
}
extern "C" __global__ void asserts(int n) {
    if (n != 4) __assert_fail("n == 4", "file.h", 12, "asserts");
}

// ---- floating-point state ----
extern "C" __global__ void rounding(const float *a, const float *b, float *out) {
    int t = threadIdx.x;
    out[t * 4] = a[t] + b[t];
    __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 1); // round f32 towards +inf
    float up = a[t] + b[t];
    asm volatile("" : "+v"(up));
    __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 2);
    float down = a[t] + b[t];
    asm volatile("" : "+v"(down));
    __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 3);
    float zero = a[t] + b[t];
    asm volatile("" : "+v"(zero));
    __builtin_amdgcn_s_setreg(1 | 0 << 6 | 1 << 11, 0);
    out[t * 4 + 1] = up;
    out[t * 4 + 2] = down;
    out[t * 4 + 3] = zero;
}
extern "C" __global__ void transcendental(const float *in, float *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[t];
    out[t] = __builtin_amdgcn_exp2f(x);
    out[n + t] = __builtin_amdgcn_logf(x);
    out[2 * n + t] = __builtin_amdgcn_rcpf(x);
    out[3 * n + t] = __builtin_amdgcn_rsqf(x);
    out[4 * n + t] = __builtin_amdgcn_sinf(x);
    out[5 * n + t] = __builtin_amdgcn_cosf(x);
    out[6 * n + t] = __builtin_amdgcn_sqrtf(x);
}
extern "C" __global__ void library(const float *in, float *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[t];
    float r[8] = {expf(x), logf(fabsf(x)), sinf(x), cosf(x), tanhf(x), erff(x), powf(fabsf(x), 1.7f), tgammaf(x * 0.1f + 2)};
    for (int k = 0; k < 8; ++k) out[k * n + t] = r[k];
}
extern "C" __global__ void library64(const double *in, double *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[t];
    double r[6] = {exp(x), log(fabs(x)), sin(x * 1e6), cos(x), erf(x), pow(fabs(x), 1.7)};
    for (int k = 0; k < 6; ++k) out[k * n + t] = r[k];
}
