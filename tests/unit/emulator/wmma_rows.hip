#include <hip/hip_runtime.h>
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

// A 16 x 16 product of which row `missing` of A was never written; stores all rows of the result but `skipped`.
extern "C" __global__ void product(const _Float16 *b, float *out, int missing, int skipped) {
    __shared__ _Float16 a[16][16];
    int lane = threadIdx.x, half = lane / 16, m = lane % 16;
    if (m != missing)
        for (int k = 0; k < 8; ++k) a[m][8 * half + k] = _Float16(m);
    __syncthreads();
    float8 d = {};
#if defined(__gfx1201__)
    half8 left, right;
    for (int k = 0; k < 8; ++k) left[k] = a[m][8 * half + k], right[k] = b[16 * (8 * half + k) + m];
    d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(left, right, d);
#elif defined(__gfx1100__)
    half16 left, right;
    for (int k = 0; k < 16; ++k) left[k] = a[m][k], right[k] = b[16 * k + m];
    d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, d);
#endif
    for (int r = 0; r < 8; ++r) {
#if defined(__gfx1201__)
        int row = r + 8 * half;
#else
        int row = 2 * r + half;
#endif
        if (row != skipped) out[16 * row + m] = d[r];
    }
}
