// Words of CUDA that HIP has no use for, for device and host code.
//
// Source: CUDA C++ Programming Guide, "__grid_constant__": a promise that a kernel does not write to its parameter, which
// lets nvcc keep its address in constant memory. Kernel arguments of AMD GPUs are read from memory that is constant anyway.
#pragma once

#ifndef __grid_constant__
#define __grid_constant__
#endif

#ifndef __nv_pure__
#define __nv_pure__ __attribute__((pure))
#endif
