// Compute capability at run time, for host code that chooses kernels by it. See hipport/arch.h for why the device's own
// numbers cannot be used.
#pragma once

#include <hip/hip_runtime.h>
#include <hipport/arch.h>

namespace hipport {

// Instead of a device's reported major number: the level that the translated code provides.
constexpr int capability_major(int /*reported*/) { return HIPPORT_COMPUTE_CAPABILITY / 100; }

// Instead of a device's reported minor number.
constexpr int capability_minor(int /*reported*/) { return HIPPORT_COMPUTE_CAPABILITY % 100 / 10; }

// hipDeviceGetAttribute with the two capability attributes answered by the level above.
inline hipError_t device_get_attribute(int* value, hipDeviceAttribute_t attribute, int device) {
  const hipError_t status = hipDeviceGetAttribute(value, attribute, device);
  if (status == hipSuccess && value != nullptr) {
    if (attribute == hipDeviceAttributeComputeCapabilityMajor) *value = capability_major(*value);
    if (attribute == hipDeviceAttributeComputeCapabilityMinor) *value = capability_minor(*value);
  }
  return status;
}

}  // namespace hipport
