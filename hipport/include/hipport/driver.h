// Driver API calls whose HIP counterparts are less const than CUDA's. C and C++: host code of this API is often C.
//
// HIP 6.4 declares the source of hipMemcpyHtoD and hipMemcpyHtoDAsync, and every HIP the descriptor of
// hipMipmappedArrayCreate, as pointers to what is not const, though it is only read.
//
// Sources: CUDA driver API, cuMemcpyHtoD, cuMemcpyHtoDAsync, cuMipmappedArrayCreate; hip/hip_runtime_api.h (HIP 6.4 and
// 7.2), the functions above.
#pragma once

#include <hip/hip_runtime_api.h>

static inline hipError_t hipport_memcpy_htod(hipDeviceptr_t destination, const void* source, size_t bytes) {
  return hipMemcpyHtoD(destination, (void*)source, bytes);
}

static inline hipError_t hipport_memcpy_htod_async(hipDeviceptr_t destination, const void* source, size_t bytes,
                                                   hipStream_t stream) {
  return hipMemcpyHtoDAsync(destination, (void*)source, bytes, stream);
}

static inline hipError_t hipport_mipmapped_array_create(hipMipmappedArray_t* array,
                                                        const HIP_ARRAY3D_DESCRIPTOR* descriptor, unsigned int levels) {
  return hipMipmappedArrayCreate(array, (HIP_ARRAY3D_DESCRIPTOR*)descriptor, levels);
}
