// _sync calls whose mask is, and is not, the lanes that execute them. Launched with 48 threads: one whole warp, one of 16 lanes.
#include <hip/hip_runtime.h>
#include <hipport/warp.h>

#define ARGUMENTS const int *in, int *out, const unsigned long long *mask

extern "C" __global__ void hip_full_mask_in_branch(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v += __shfl_xor_sync(~0ull, v, 1);
    out[threadIdx.x] = v;
}
extern "C" __global__ void hip_exact_mask_in_branch(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffull, v, 1);
    out[threadIdx.x] = v;
}
extern "C" __global__ void hip_mask_from_memory(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v = (int)__ballot_sync(mask[threadIdx.x & 1], v);
    out[threadIdx.x] = v;
}
extern "C" __global__ void warp_full_mask_in_branch(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v += hipport::shfl_xor_sync((unsigned)mask[0], v, 1);
    out[threadIdx.x] = v;
}
extern "C" __global__ void warp_mask_without_caller(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v += hipport::shfl_xor_sync((unsigned)mask[0] << 1, v, 1);
    out[threadIdx.x] = v;
}
extern "C" __global__ void warp_exact_mask_in_branch(ARGUMENTS) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v += hipport::shfl_xor_sync((unsigned)mask[0] >> 16, v, 1);
    out[threadIdx.x] = v;
}
extern "C" __global__ void warp_full_mask_last_partial_warp(ARGUMENTS) { // CUDA's masks name lanes that do not exist
    out[threadIdx.x] = hipport::shfl_xor_sync((unsigned)mask[0], in[threadIdx.x], 1);
}
extern "C" __global__ void trap_of_its_own(ARGUMENTS) {
    if (!__all(in[threadIdx.x] >= 0)) out[0] = 1;
    if (threadIdx.x == 3) __builtin_trap();
    out[threadIdx.x] = 1;
}
