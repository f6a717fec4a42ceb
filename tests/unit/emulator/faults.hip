// Kernels with one planted fault each, next to the correct form. Compiled with -g: findings must name the marked line.
#include <hip/hip_runtime.h>

extern "C" __global__ void store_past_end(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i; // FAULT HP850 (n is smaller than the grid)
    (void)n;
}
extern "C" __global__ void store_inside(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

extern "C" __global__ void load_before_start(const float *in, float *out) {
    out[threadIdx.x] = in[(int)threadIdx.x - 100]; // FAULT HP850
}

extern "C" __global__ void wild_store(float *out) {
    float *nowhere = (float *)0x1234567800ull;
    nowhere[threadIdx.x] = 1.0f; // FAULT HP862
    out[threadIdx.x] = 1.0f;
}

extern "C" __global__ void missing_barrier(const int *in, int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[255 - threadIdx.x]; // FAULT HP855
}
extern "C" __global__ void with_barrier(const int *in, int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[255 - threadIdx.x];
}

extern "C" __global__ void overwrite_too_early(const int *in, int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = s[(threadIdx.x + 64) & 255];
    s[threadIdx.x] = v; // FAULT HP855 (others may still be reading)
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void divergent_barrier(const int *in, int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 128) {
        __builtin_amdgcn_s_barrier(); // FAULT HP856
        out[threadIdx.x] = s[threadIdx.x];
    } else {
        s[threadIdx.x] += 1;
        __builtin_amdgcn_s_barrier(); // FAULT HP856
        out[threadIdx.x] = s[threadIdx.x] * 2;
    }
}

extern "C" __global__ void early_exit(const int *in, int *out) {
    __shared__ int s[256];
    if (threadIdx.x >= 192) return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // FAULT HP856
    out[threadIdx.x] = s[191 - threadIdx.x];
}

extern "C" __global__ void uninitialised_lds(const int *in, int *out) {
    __shared__ int s[256];
    if (threadIdx.x < 100) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1; // FAULT HP854
}
extern "C" __global__ void masked_lds(const int *in, int *out) { // reads the same tail, but it cannot reach the output
    __shared__ int s[256];
    if (threadIdx.x < 100) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = s[threadIdx.x];
    out[threadIdx.x] = threadIdx.x < 100 ? v + 1 : -1;
}

extern "C" __global__ void packed_lds(const int *in, int *out) { // one half of each packed product depends on the tail, the other not
    typedef float pair __attribute__((ext_vector_type(2)));
    __shared__ float s[256];
    if (threadIdx.x < 128) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    pair v = {s[threadIdx.x & 127], s[128 + (threadIdx.x & 127)]};
    v = v * v + v;
    out[threadIdx.x] = (int)v.x;
    if (in[0] == -1) out[threadIdx.x] = (int)v.y; // not taken, but the compiler must compute both
}

extern "C" __global__ void uninitialised_register(int *out, int n) {
    int v;
    asm volatile("" : "=v"(v)); // whatever the register held
    out[threadIdx.x] = v; // FAULT HP854
    (void)n;
}

extern "C" __global__ void lds_past_end(int *out, int n) {
    extern __shared__ int s[];
    s[threadIdx.x + n] = 5; // FAULT HP852
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void endless(volatile int *flag) {
    while (*flag == 0) {}
}

extern "C" __global__ void barrier_in_half(int *out) { // half of the waves wait for ever
    if (threadIdx.x < 64) {
        __builtin_amdgcn_s_barrier();
        while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
    } else {
        while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
        __builtin_amdgcn_s_barrier();
    }
}

extern "C" __global__ void traps(int *out) {
    if (threadIdx.x == 3) __builtin_trap(); // FAULT HP861
    out[threadIdx.x] = 1;
}

extern "C" __global__ void use_after_free(int *out, const int *freed) {
    out[threadIdx.x] = freed[threadIdx.x]; // FAULT HP851
}

extern "C" __global__ void lds_load_past_end(int *out, int n) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + n]; // FAULT HP852
}

extern "C" __global__ void scratch_past_end(int *out, int n) {
    int local[600]; // too big for registers and LDS
    for (int k = 0; k < 600; ++k) local[k] = k * n;
    local[n + threadIdx.x] = 5; // FAULT HP853
    out[threadIdx.x] = local[threadIdx.x & 15];
}
extern "C" __global__ void scratch_inside(int *out, int n) {
    int local[600];
    for (int k = 0; k < 600; ++k) local[k] = k * n;
    local[(n + threadIdx.x) & 511] = 5;
    out[threadIdx.x] = local[threadIdx.x & 15];
}

extern "C" __global__ void sleeps_for_ever(volatile int *flag) {
    while (*flag == 0) __builtin_amdgcn_s_sleep(1);
}
extern "C" __global__ void lds_flag_never_set(int *out) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    while (flag == 0) {}
    out[threadIdx.x] = 1;
}
extern "C" __global__ void lds_flag_set_late(int *out) { // by the last wave, after a long time
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        float x = out[0];
        for (int k = 0; k < 300000; ++k) x = x * 0.5f + 1.0f;
        flag = x > 0.0f ? 1 : 2;
    }
    while (flag == 0) {}
    out[threadIdx.x] = flag;
}
extern "C" __global__ void waits_for_later_block(int *flag, int *out) { // the last block runs after all others
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    }
    if (threadIdx.x == 0) out[blockIdx.x] = 7;
}
extern "C" __global__ void blocks_take_turns(int *turn, int *out) { // in descending order, with a lock that sleeps
    if (threadIdx.x == 0) {
        while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != (int)blockIdx.x) __builtin_amdgcn_s_sleep(2);
        out[blockIdx.x] = *turn;
        __hip_atomic_store(turn, (int)blockIdx.x - 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

extern "C" __global__ void needs_waits(const int *in, int *out, const int *more) {
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[255 - threadIdx.x] + more[0];
}

// The first workgroup stores to every dword of half a megabyte behind the array: other allocations, code, nothing.
extern "C" __global__ void stores_everywhere(int *out, int n) {
    if (blockIdx.x == 0)
        for (int k = n + threadIdx.x; k < 1 << 17; k += blockDim.x) out[k] = -1; // FAULT HP850
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

// The compiler must not know what the address is of: arguments are constants to it.
template <class T> __device__ int *behind(T *pointer) {
    auto address = (unsigned long)pointer;
    asm volatile("" : "+v"(address));
    return (int *)address;
}
extern "C" __global__ void store_to_arguments(int *out) {
    behind(__builtin_amdgcn_kernarg_segment_ptr())[threadIdx.x & 1] = 0; // FAULT HP862
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
extern "C" __global__ void store_to_packet(int *out) {
    behind(__builtin_amdgcn_dispatch_ptr())[threadIdx.x & 1] = 0; // FAULT HP862
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
extern "C" __global__ void loads_of_arguments(int *out, int n) { // by pointer: what a dynamic index into them becomes
    int *arguments = behind(__builtin_amdgcn_kernarg_segment_ptr()), *packet = behind(__builtin_amdgcn_dispatch_ptr());
    out[2 * threadIdx.x] = arguments[threadIdx.x % 3]; // both halves of out, then n
    out[2 * threadIdx.x + 1] = packet[3 + threadIdx.x % 3] + n; // work-items of the grid
}
