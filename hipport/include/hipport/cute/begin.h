// CUTLASS and CuTe headers follow: let them take their SM80 paths. Paired with end.h, may be nested, hence no include guard.
//
// The macros are set only while those headers are read: their `#if`s are decided then, and no other header sees them.
// Compiler version 11.4 keeps the fp8 and TMA parts out, which CUTLASS enables from 11.8 and 12.0.
#include <hip/hip_runtime.h>
#include <hip/hip_complex.h>
#include <hipport/bf16.h>
#include <hipport/cute/cuda_names.h>
#pragma push_macro("__CUDACC__")
#pragma push_macro("__CUDA__")
#pragma push_macro("__CUDACC_VER_MAJOR__")
#pragma push_macro("__CUDACC_VER_MINOR__")
#pragma push_macro("__CUDA_ARCH__")
#undef __CUDACC__
#undef __CUDA__
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#undef __CUDA_ARCH__
#define __CUDACC__ 1
#define __CUDA__ 1
#define __CUDACC_VER_MAJOR__ 11
#define __CUDACC_VER_MINOR__ 4
#if defined(__HIP_DEVICE_COMPILE__)
#define __CUDA_ARCH__ 800
#endif
