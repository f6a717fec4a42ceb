// Virtual memory management: reserve addresses, create physical memory, map one into the other.
//
// The arena hands out addresses together with memory, so a reservation owns the bytes; a physical handle keeps its contents
// while it is not mapped. A handle cannot be mapped at two addresses at once: refused, not faked.
#include "runtime.h"

struct ihipMemGenericAllocationHandle {
  size_t size = 0;
  hipMemAllocationProp prop{};
  unsigned references = 1;
  char* mapped_at = nullptr;
  std::vector<char> contents;  // while unmapped, once it has been mapped
};

namespace hiprt {
namespace {

constexpr size_t kGranule = 4096;
constexpr size_t kRecommendedGranule = 2 << 20;

struct Mapping {
  size_t size;
  hipMemGenericAllocationHandle_t handle;
  std::map<int, hipMemAccessFlags> access;
};

std::map<char*, Mapping>& mappings() {
  static auto& all = *new std::map<char*, Mapping>;
  return all;
}
std::set<hipMemGenericAllocationHandle_t>& live_handles() {
  static auto& all = *new std::set<hipMemGenericAllocationHandle_t>;
  return all;
}

void drop_if_unused(hipMemGenericAllocationHandle_t handle) {
  if (handle->references != 0 || handle->mapped_at != nullptr) return;
  live_handles().erase(handle);
  delete handle;
}

bool valid(const hipMemAllocationProp* prop) {
  return prop != nullptr && prop->type == hipMemAllocationTypePinned && prop->location.type == hipMemLocationTypeDevice &&
         valid_device(prop->location.id);
}

std::map<char*, Mapping>::iterator mapping_of(const void* pointer) {
  auto after = mappings().upper_bound(const_cast<char*>(static_cast<const char*>(pointer)));
  if (after == mappings().begin()) return mappings().end();
  auto found = std::prev(after);
  return static_cast<const char*>(pointer) < found->first + found->second.size ? found : mappings().end();
}

// Every byte of [pointer, pointer + size) is mapped.
bool all_mapped(char* pointer, size_t size) {
  char* const end = pointer + size;
  while (pointer < end) {
    const auto found = mapping_of(pointer);
    if (found == mappings().end()) return false;
    pointer = found->first + found->second.size;
  }
  return true;
}

}  // namespace
}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipMemGetAllocationGranularity(size_t* out, const hipMemAllocationProp* prop, hipMemAllocationGranularity_flags option) {
  return api([&] {
    if (out == nullptr || !valid(prop)) return hipErrorInvalidValue;
    if (option != hipMemAllocationGranularityMinimum && option != hipMemAllocationGranularityRecommended) return hipErrorInvalidValue;
    *out = option == hipMemAllocationGranularityMinimum ? kGranule : kRecommendedGranule;
    return hipSuccess;
  });
}

hipError_t hipMemAddressReserve(void** out, size_t size, size_t alignment, void*, unsigned long long flags) {
  return device_api([&] {
    if (out == nullptr || size == 0 || size % kGranule != 0 || flags != 0) return hipErrorInvalidValue;
    if (alignment != 0 && (alignment & (alignment - 1)) != 0) return hipErrorInvalidValue;
    return allocate(out, size, MemoryKind::virtual_range, 0, std::max(alignment, kGranule));
  });
}

hipError_t hipMemAddressFree(void* pointer, size_t size) {
  return device_api([&] {
    Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->kind != MemoryKind::virtual_range || a->base != pointer || a->size != size) return hipErrorInvalidValue;
    const auto first = mappings().lower_bound(a->base);
    if (first != mappings().end() && first->first < a->base + a->size) return hipErrorInvalidValue;  // still mapped
    HIPRT_TRY(wait_for_device(current_device()));
    release(find_allocation(pointer));
    return hipSuccess;
  });
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* out, size_t size, const hipMemAllocationProp* prop, unsigned long long flags) {
  return device_api([&] {
    if (out == nullptr || size == 0 || size % kGranule != 0 || flags != 0 || !valid(prop)) return hipErrorInvalidValue;
    if (prop->requestedHandleType != hipMemHandleTypeNone) return hipErrorNotSupported;  // no sharing between processes
    auto* handle = new ihipMemGenericAllocationHandle;
    handle->size = size;
    handle->prop = *prop;
    live_handles().insert(handle);
    *out = handle;
    return hipSuccess;
  });
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return device_api([&] {
    if (live_handles().count(handle) == 0 || handle->references == 0) return hipErrorInvalidValue;
    --handle->references;
    drop_if_unused(handle);
    return hipSuccess;
  });
}

hipError_t hipMemMap(void* pointer, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  return device_api([&] {
    if (pointer == nullptr || size == 0 || offset != 0 || flags != 0 || live_handles().count(handle) == 0) return hipErrorInvalidValue;
    char* at = static_cast<char*>(pointer);
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->kind != MemoryKind::virtual_range || at + size > a->base + a->size || size != handle->size) {
      return hipErrorInvalidValue;
    }
    if ((at - a->base) % kGranule != 0) return hipErrorInvalidValue;
    const auto next = mappings().lower_bound(at);
    if (mapping_of(at) != mappings().end() || (next != mappings().end() && next->first < at + size)) return hipErrorInvalidValue;
    if (handle->mapped_at != nullptr) {
      report_once("hipMemMap: memory that is mapped at two addresses is not supported");
      return hipErrorNotSupported;
    }
    std::memset(at, 0, size);
    std::copy(handle->contents.begin(), handle->contents.end(), at);
    handle->contents.clear();
    handle->mapped_at = at;
    mappings()[at] = {size, handle, {}};
    return hipSuccess;
  });
}

hipError_t hipMemUnmap(void* pointer, size_t size) {
  return device_api([&] {
    const auto found = mappings().find(static_cast<char*>(pointer));
    if (found == mappings().end() || found->second.size != size) return hipErrorInvalidValue;
    HIPRT_TRY(wait_for_device(current_device()));
    hipMemGenericAllocationHandle_t handle = found->second.handle;
    if (handle->references != 0) handle->contents.assign(found->first, found->first + size);
    handle->mapped_at = nullptr;
    mappings().erase(static_cast<char*>(pointer));
    drop_if_unused(handle);
    return hipSuccess;
  });
}

hipError_t hipMemSetAccess(void* pointer, size_t size, const hipMemAccessDesc* list, size_t count) {
  return device_api([&] {
    if (pointer == nullptr || size == 0 || list == nullptr || count == 0) return hipErrorInvalidValue;
    char* at = static_cast<char*>(pointer);
    if (!all_mapped(at, size)) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != hipMemLocationTypeDevice || !valid_device(list[i].location.id)) return hipErrorInvalidValue;
      for (auto found = mapping_of(at); found != mappings().end() && found->first < at + size; ++found) {
        found->second.access[list[i].location.id] = list[i].flags;
      }
    }
    return hipSuccess;
  });
}

hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location, void* pointer) {
  return api([&] {
    if (flags == nullptr || location == nullptr || location->type != hipMemLocationTypeDevice || !valid_device(location->id)) {
      return hipErrorInvalidValue;
    }
    const auto found = mapping_of(pointer);
    if (found == mappings().end()) return hipErrorInvalidValue;
    const auto access = found->second.access.find(location->id);
    *flags = access == found->second.access.end() ? hipMemAccessFlagsProtNone : access->second;
    return hipSuccess;
  });
}

hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* prop, hipMemGenericAllocationHandle_t handle) {
  return api([&] {
    if (prop == nullptr || live_handles().count(handle) == 0) return hipErrorInvalidValue;
    *prop = handle->prop;
    return hipSuccess;
  });
}

hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* out, void* pointer) {
  return api([&] {
    const auto found = mapping_of(pointer);
    if (out == nullptr || found == mappings().end()) return hipErrorInvalidValue;
    *out = found->second.handle;
    ++(*out)->references;
    return hipSuccess;
  });
}
}
