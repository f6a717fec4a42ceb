// CUDA names that CUTLASS headers use and HIP spells otherwise. Global, because CUTLASS qualifies them so.
#pragma once

#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>
#include <hipport/bf16.h>
#include <hipport/simd.h>
#include <hipport/warp.h>

using cudaError_t = hipError_t;
using cudaStream_t = hipStream_t;
inline constexpr hipError_t cudaSuccess = hipSuccess;
inline const char* cudaGetErrorString(hipError_t error) { return hipGetErrorString(error); }

using __nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;
using __nv_bfloat16_raw = __hip_bfloat16_raw;
using __nv_bfloat162_raw = __hip_bfloat162_raw;

template <int = 0>
__host__ __device__ inline int __dp4a(int a, int b, int c) { return hipport::dp4a(a, b, c); }
template <int = 0>
__host__ __device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return hipport::dp4a(a, b, c); }

using cuFloatComplex = hipFloatComplex;
using cuDoubleComplex = hipDoubleComplex;
__host__ __device__ inline cuFloatComplex make_cuFloatComplex(float re, float im) { return make_hipFloatComplex(re, im); }
__host__ __device__ inline cuDoubleComplex make_cuDoubleComplex(double re, double im) { return make_hipDoubleComplex(re, im); }
__host__ __device__ inline float cuCrealf(cuFloatComplex z) { return hipCrealf(z); }
__host__ __device__ inline float cuCimagf(cuFloatComplex z) { return hipCimagf(z); }
__host__ __device__ inline double cuCreal(cuDoubleComplex z) { return hipCreal(z); }
__host__ __device__ inline double cuCimag(cuDoubleComplex z) { return hipCimag(z); }

// Warp functions of a 32-lane warp, for CUTLASS helpers that a kernel may or may not use.
template <class T>
__device__ inline T __shfl_sync(unsigned, T value, int lane, int width = 32) { return __shfl(value, lane, width); }
template <class T>
__device__ inline T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) { return __shfl_up(value, delta, width); }
template <class T>
__device__ inline T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) { return __shfl_down(value, delta, width); }
template <class T>
__device__ inline T __shfl_xor_sync(unsigned, T value, int mask, int width = 32) { return __shfl_xor(value, mask, width); }
template <int = 0>
__device__ inline void __syncwarp(unsigned = ~0u) { hipport::syncwarp(); }
template <int = 0>
__device__ inline unsigned __cvta_generic_to_shared(const void* pointer) {
  return (unsigned)(unsigned long long)(const __attribute__((address_space(3))) void*)pointer;
}
template <int = 0>
__device__ inline void __brkpt() { __builtin_trap(); }
#ifndef __grid_constant__
#define __grid_constant__
#endif
