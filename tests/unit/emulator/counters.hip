// One LDS or global access of a chosen kind per wave, so that what is counted can be worked out by hand.
#include <hip/hip_runtime.h>

#if defined(__GFX11__) || defined(__GFX12__)
#define STORE(bits) "ds_store_b" bits
#define LOAD "global_load_b32"
#else
#define STORE(bits) "ds_write_b" bits
#define LOAD "global_load_dword"
#endif

typedef int int2v __attribute__((ext_vector_type(2)));
typedef int int4v __attribute__((ext_vector_type(4)));

extern "C" __global__ void lds32(const int *offsets) {
    asm volatile(STORE("32") " %0, %1" ::"v"(offsets[threadIdx.x]), "v"(1) : "memory");
}
extern "C" __global__ void lds64(const int *offsets) {
    asm volatile(STORE("64") " %0, %1" ::"v"(offsets[threadIdx.x]), "v"(int2v{}) : "memory");
}
extern "C" __global__ void lds128(const int *offsets) {
    asm volatile(STORE("128") " %0, %1" ::"v"(offsets[threadIdx.x]), "v"(int4v{}) : "memory");
}
extern "C" __global__ void lds32_some(const int *offsets) { // three quarters of the lanes
    if (threadIdx.x & 3) asm volatile(STORE("32") " %0, %1" ::"v"(offsets[threadIdx.x]), "v"(1) : "memory");
}
// One more global access than asked for: the offsets themselves.
extern "C" __global__ void global32(const int *offsets, const char *data) {
    int unused;
    asm volatile(LOAD " %0, %1, %2" : "=v"(unused) : "v"(offsets[threadIdx.x]), "s"(data) : "memory");
}
