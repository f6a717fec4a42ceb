// What the code may take for granted where CUDA code asks for a compute capability or a toolkit version.
//
// Translated code behaves like code for compute capability 8.0 built by CUDA 11.8: warp-level primitives, half and
// bfloat16 arithmetic and asynchronous copies exist; Hopper's TMA and wgmma do not. AMD's own numbers (9.0 for gfx90a,
// 11.0 for gfx1100) collide with NVIDIA's and mean something else. HIP's API follows CUDA 11 where 12 changed a
// signature. Define a macro before this header to choose another level.
#pragma once

#ifndef HIPPORT_COMPUTE_CAPABILITY
#define HIPPORT_COMPUTE_CAPABILITY 800
#endif

#ifndef HIPPORT_TOOLKIT_VERSION
#define HIPPORT_TOOLKIT_VERSION 11080
#endif

// Stands for __CUDA_ARCH__: defined in the device pass only.
#if defined(__HIP_DEVICE_COMPILE__) && !defined(HIPPORT_CUDA_ARCH)
#define HIPPORT_CUDA_ARCH HIPPORT_COMPUTE_CAPABILITY
#endif

#define HIPPORT_TOOLKIT_MAJOR (HIPPORT_TOOLKIT_VERSION / 1000)
#define HIPPORT_TOOLKIT_MINOR (HIPPORT_TOOLKIT_VERSION % 1000 / 10)
