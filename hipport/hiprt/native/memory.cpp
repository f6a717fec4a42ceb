// Allocation: device, host, managed, registered and stream-ordered memory, and what HIP tells about a pointer.
//
// One arena serves every device, and device addresses are host addresses: any pointer may be used anywhere, and
// "mapped", "peer" and "managed" only change what queries answer.
#include "runtime.h"

struct ihipMemPoolHandle_t {
  int device = 0;
  bool is_default = false;
  hipMemPoolProps props{};
  uint64_t release_threshold = 0;
  int reuse_event = 1, reuse_opportunistic = 1, reuse_internal = 1;
  uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  std::map<int, hipMemAccessFlags> access;
  std::multimap<size_t, char*> free_list;  // reserved but unused, by size
};

namespace hiprt {
namespace {

std::map<const char*, Allocation>& allocations() {
  static auto& all = *new std::map<const char*, Allocation>;
  return all;
}

std::set<ihipMemPoolHandle_t*>& live_pools() {
  static auto& all = *new std::set<ihipMemPoolHandle_t*>;
  return all;
}

hipemu_memory_kind kind_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host:
      return HIPEMU_MEMORY_HOST;
    case MemoryKind::managed:
      return HIPEMU_MEMORY_MANAGED;
    case MemoryKind::registered:
      return HIPEMU_MEMORY_REGISTERED;
    default:
      return HIPEMU_MEMORY_DEVICE;
  }
}

ihipMemPoolHandle_t* default_pool(int ordinal) {
  Device& d = *devices()[ordinal];
  if (d.default_pool == nullptr) {
    d.default_pool = new ihipMemPoolHandle_t;
    d.default_pool->device = ordinal;
    d.default_pool->is_default = true;
    d.default_pool->props.allocType = hipMemAllocationTypePinned;
    d.default_pool->props.location = {hipMemLocationTypeDevice, ordinal};
    live_pools().insert(d.default_pool);
  }
  return d.default_pool;
}

void trim(ihipMemPoolHandle_t* pool, uint64_t keep) {
  for (auto entry = pool->free_list.begin(); entry != pool->free_list.end() && pool->reserved > keep;) {
    pool->reserved -= entry->first;
    release(find_allocation(entry->second));
    entry = pool->free_list.erase(entry);
  }
}

hipError_t free_pointer(void* pointer, std::initializer_list<MemoryKind> kinds) {
  if (pointer == nullptr) return hipSuccess;
  Allocation* found = find_allocation(pointer);
  if (found == nullptr || found->base != pointer || found->on_free_list) return hipErrorInvalidValue;
  if (std::find(kinds.begin(), kinds.end(), found->kind) == kinds.end()) return hipErrorInvalidValue;
  HIPRT_TRY(wait_for_device(found->device));
  found = find_allocation(pointer);  // waiting lets other threads in
  if (found == nullptr || found->base != pointer) return hipErrorInvalidValue;
  if (found->pool != nullptr) {
    pool_free(found);
  } else {
    release(found);
  }
  return hipSuccess;
}

hipError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t rows) {
  if (pointer == nullptr || pitch == nullptr) return hipErrorInvalidValue;
  if (width == 0 || rows == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  constexpr size_t alignment = 256;
  const size_t row = (width + alignment - 1) / alignment * alignment;
  size_t bytes = 0;
  if (row < width || __builtin_mul_overflow(row, rows, &bytes)) return hipErrorOutOfMemory;
  *pitch = row;
  return allocate(pointer, bytes, MemoryKind::device, 0, alignment);
}

hipError_t host_allocate(void** pointer, size_t size, unsigned flags) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  *pointer = nullptr;
  constexpr unsigned known = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined |
                             hipHostMallocNumaUser | hipHostMallocCoherent | hipHostMallocNonCoherent
#if HIP_VERSION_MAJOR >= 7
                             | hipHostMallocUncached
#endif
      ;
  if (flags & ~known) return hipErrorInvalidValue;
  if ((flags & hipHostMallocCoherent) && (flags & hipHostMallocNonCoherent)) return hipErrorInvalidValue;
  HIPRT_TRY(forbid_unsafe_while_capturing());
  if (size == 0) return hipSuccess;
  return allocate(pointer, size, MemoryKind::host, flags, 4096);
}

hipError_t pointer_attribute(hipPointer_attribute attribute, const Allocation* a, void* pointer, void* out) {
  const auto put = [out](auto value) {
    std::memcpy(out, &value, sizeof value);
    return hipSuccess;
  };
  if (out == nullptr) return hipErrorInvalidValue;
  if (a == nullptr) return hipErrorInvalidValue;
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
      return put(primary_context(a->device));
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(a->kind == MemoryKind::managed  ? hipMemoryTypeManaged
                 : a->on_device()               ? hipMemoryTypeDevice
                                                 : hipMemoryTypeHost);
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      if (a->on_device()) {
        (void)put(static_cast<void*>(nullptr));
        return hipErrorInvalidValue;
      }
      return put(pointer);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(static_cast<unsigned>(a->sync_memops));
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(a->id);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(a->kind == MemoryKind::managed);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(a->device);
    case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(false);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(static_cast<void*>(a->base));
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(a->size);
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return put(true);
    case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(static_cast<uint64_t>(0));
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(static_cast<int>(hipMemAccessFlagsProtReadWrite));
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(a->pool);
    default:
      return hipErrorInvalidValue;
  }
}

// Checks [pointer, pointer + count) lies in managed memory; null when not.
Allocation* managed_range(const void* pointer, size_t count) {
  Allocation* a = find_allocation(pointer);
  if (a == nullptr || a->kind != MemoryKind::managed || count == 0) return nullptr;
  return static_cast<const char*>(pointer) + count <= a->base + a->size ? a : nullptr;
}

hipError_t advise(Allocation* a, hipMemoryAdvise advice, int ordinal) {
  if (ordinal != hipCpuDeviceId && !valid_device(ordinal)) return hipErrorInvalidDevice;
  auto& by = a->accessed_by;
  switch (advice) {
    case hipMemAdviseSetReadMostly:
    case hipMemAdviseUnsetReadMostly:
      a->read_mostly = advice == hipMemAdviseSetReadMostly;
      return hipSuccess;
    case hipMemAdviseSetPreferredLocation:
      a->preferred_location = ordinal;
      return hipSuccess;
    case hipMemAdviseUnsetPreferredLocation:
      a->preferred_location = hipInvalidDeviceId;
      return hipSuccess;
    case hipMemAdviseSetAccessedBy:
      if (std::find(by.begin(), by.end(), ordinal) == by.end()) by.push_back(ordinal);
      return hipSuccess;
    case hipMemAdviseUnsetAccessedBy:
      by.erase(std::remove(by.begin(), by.end(), ordinal), by.end());
      return hipSuccess;
    case hipMemAdviseSetCoarseGrain:
    case hipMemAdviseUnsetCoarseGrain:
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

hipError_t range_attribute(void* data, size_t bytes, hipMemRangeAttribute attribute, const Allocation* a) {
  if (data == nullptr || bytes < sizeof(int)) return hipErrorInvalidValue;
  int* out = static_cast<int*>(data);
  switch (attribute) {
    case hipMemRangeAttributeReadMostly:
      *out = a->read_mostly;
      return hipSuccess;
    case hipMemRangeAttributePreferredLocation:
      *out = a->preferred_location;
      return hipSuccess;
    case hipMemRangeAttributeAccessedBy:
      for (size_t i = 0; i < bytes / sizeof(int); ++i) {
        out[i] = i < a->accessed_by.size() ? a->accessed_by[i] : hipInvalidDeviceId;
      }
      return hipSuccess;
    case hipMemRangeAttributeLastPrefetchLocation:
      *out = a->last_prefetch;
      return hipSuccess;
    case hipMemRangeAttributeCoherencyMode:
      *out = hipMemRangeCoherencyModeFineGrain;
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

}  // namespace

Allocation* find_allocation(const void* pointer) {
  auto after = allocations().upper_bound(static_cast<const char*>(pointer));
  if (after == allocations().begin()) return nullptr;
  Allocation& a = std::prev(after)->second;
  return static_cast<const char*>(pointer) < a.base + a.size ? &a : nullptr;
}

namespace {
// Every address that the emulator has given out so far lies between these.
const char* lowest_address = nullptr;
const char* highest_address = nullptr;
}  // namespace

bool is_freed_memory(const void* pointer) {
  const char* p = static_cast<const char*>(pointer);
  if (lowest_address == nullptr || p < lowest_address || p >= highest_address || find_allocation(p) != nullptr) return false;
  hipemu_allocation found{};
  return hipemu_find_allocation(machine(), p, &found) != HIPEMU_OK;
}

hipError_t allocate(void** pointer, size_t size, MemoryKind kind, unsigned flags, size_t alignment) {
  static uint64_t next_id = 0;
  void* base = nullptr;
  const hipemu_status status = hipemu_alloc(machine(), size, alignment, kind_of(kind), flags, &base);
  if (status != HIPEMU_OK) {
    *pointer = nullptr;
    return hipErrorOutOfMemory;
  }
  Allocation a;
  a.base = static_cast<char*>(base);
  a.size = size;
  a.kind = kind;
  a.flags = flags;
  a.device = current_device();
  a.id = ++next_id;
  allocations()[a.base] = a;
  if (lowest_address == nullptr || a.base < lowest_address) lowest_address = a.base;
  highest_address = std::max<const char*>(highest_address, a.base + size);
  *pointer = base;
  return hipSuccess;
}

void release(Allocation* a) {
  char* base = a->base;
  if (a->kind == MemoryKind::registered) {
    hipemu_unregister_host(machine(), base);
  } else {
    hipemu_free(machine(), base);
  }
  allocations().erase(base);
}

bool is_device_side(const void* pointer) {
  if (find_allocation(pointer) != nullptr) return true;
  hipemu_allocation found{};  // variables of code objects
  return hipemu_find_allocation(machine(), pointer, &found) == HIPEMU_OK;
}

ihipMemPoolHandle_t* current_pool(int ordinal) {
  Device& d = *devices()[ordinal];
  return d.pool != nullptr ? d.pool : default_pool(ordinal);
}

hipError_t pool_allocate(ihipMemPoolHandle_t* pool, void** pointer, size_t size) {
  if (size == 0) {
    *pointer = nullptr;
    return hipSuccess;
  }
  // Reuse only exact sizes: checks then see exactly what the program asked for.
  const auto kept = pool->free_list.find(size);
  if (kept != pool->free_list.end()) {
    *pointer = kept->second;
    find_allocation(*pointer)->on_free_list = false;
    pool->free_list.erase(kept);
  } else {
    if (pool->props.maxSize != 0 && pool->reserved + size > pool->props.maxSize) return hipErrorOutOfMemory;
    HIPRT_TRY(allocate(pointer, size, MemoryKind::device, 0));
    Allocation* a = find_allocation(*pointer);
    a->pool = pool;
    a->device = pool->device;
    pool->reserved += size;
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  }
  pool->used += size;
  pool->used_high = std::max(pool->used_high, pool->used);
  return hipSuccess;
}

void pool_free(Allocation* a) {
  ihipMemPoolHandle_t* pool = a->pool;
  pool->used -= a->size;
  a->on_free_list = true;
  pool->free_list.emplace(a->size, a->base);
  trim(pool, std::max(pool->release_threshold, pool->used));
}

void free_device_memory(int ordinal) {
  for (ihipMemPoolHandle_t* pool : live_pools()) {
    if (pool->device == ordinal) {
      pool->free_list.clear();
      pool->used = pool->reserved = 0;
    }
  }
  for (auto entry = allocations().begin(); entry != allocations().end();) {
    Allocation* a = &(entry++)->second;
    if (a->device != ordinal || a->kind != MemoryKind::device) continue;
    forget_array(a->base);
    forget_image_object(a->base);
    release(a);
  }
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipMalloc(void** pointer, size_t size) {
  return device_api([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(forbid_unsafe_while_capturing());
    *pointer = nullptr;
    return size == 0 ? hipSuccess : allocate(pointer, size, MemoryKind::device, 0);
  });
}

hipError_t hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return device_api([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    if (flags > hipDeviceMallocContiguous) return hipErrorInvalidValue;
    if (flags == hipMallocSignalMemory && size != 8) return hipErrorInvalidValue;
    HIPRT_TRY(forbid_unsafe_while_capturing());
    *pointer = nullptr;
    return size == 0 ? hipSuccess : allocate(pointer, size, MemoryKind::device, flags);
  });
}

hipError_t hipFree(void* pointer) {
  return device_api([&] {
    HIPRT_TRY(forbid_unsafe_while_capturing());
    return free_pointer(pointer, {MemoryKind::device, MemoryKind::managed});
  });
}

hipError_t hipHostMalloc(void** pointer, size_t size, unsigned flags) {
  return device_api([&] { return host_allocate(pointer, size, flags); });
}
hipError_t hipHostAlloc(void** pointer, size_t size, unsigned flags) {
  return device_api([&] { return host_allocate(pointer, size, flags); });
}
hipError_t hipMallocHost(void** pointer, size_t size) {
  return device_api([&] { return host_allocate(pointer, size, 0); });
}
hipError_t hipMemAllocHost(void** pointer, size_t size) {
  return device_api([&] { return host_allocate(pointer, size, 0); });
}
hipError_t hipHostFree(void* pointer) {
  return device_api([&] {
    HIPRT_TRY(forbid_unsafe_while_capturing());
    return free_pointer(pointer, {MemoryKind::host});
  });
}
hipError_t hipFreeHost(void* pointer) { return hipHostFree(pointer); }

hipError_t hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  return device_api([&] {
    if (pointer == nullptr || size == 0) return hipErrorInvalidValue;
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost && flags != hipMemAttachSingle) {
      return hipErrorInvalidValue;
    }
    HIPRT_TRY(forbid_unsafe_while_capturing());
    return allocate(pointer, size, MemoryKind::managed, flags, 4096);
  });
}

hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return device_api([&] {
    HIPRT_TRY(forbid_unsafe_while_capturing());
    return allocate_pitched(pointer, pitch, width, height);
  });
}

hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  return device_api([&] {
    if (element != 4 && element != 8 && element != 16) return hipErrorInvalidValue;
    HIPRT_TRY(forbid_unsafe_while_capturing());
    return allocate_pitched(pointer, pitch, width, height);
  });
}

hipError_t hipMalloc3D(hipPitchedPtr* out, hipExtent extent) {
  return device_api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(forbid_unsafe_while_capturing());
    size_t rows = 0;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return hipErrorOutOfMemory;
    hipPitchedPtr result{nullptr, 0, extent.width, extent.height};
    HIPRT_TRY(allocate_pitched(&result.ptr, &result.pitch, extent.width, rows));
    *out = result;
    return hipSuccess;
  });
}

hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags) {
  return device_api([&] {
    constexpr unsigned known = hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterIoMemory |
                               hipHostRegisterReadOnly | 0x80000000u;
    if (pointer == nullptr || size == 0 || (flags & ~known)) return hipErrorInvalidValue;
    char* begin = static_cast<char*>(pointer);
    for (const auto& [base, a] : allocations()) {
      if (begin < a.base + a.size && a.base < begin + size) return hipErrorHostMemoryAlreadyRegistered;
    }
    if (hipemu_register_host(machine(), pointer, size, flags) != HIPEMU_OK) return hipErrorInvalidValue;
    Allocation a;
    a.base = begin;
    a.size = size;
    a.kind = MemoryKind::registered;
    a.flags = flags;
    a.device = current_device();
    allocations()[a.base] = a;
    return hipSuccess;
  });
}

hipError_t hipHostUnregister(void* pointer) {
  return device_api([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->kind != MemoryKind::registered || a->base != pointer) {
      return hipErrorHostMemoryNotRegistered;
    }
    HIPRT_TRY(wait_for_device(a->device));
    release(find_allocation(pointer));
    return hipSuccess;
  });
}

hipError_t hipHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  return api([&] {
    if (out == nullptr || pointer == nullptr || flags != 0) return hipErrorInvalidValue;
    const Allocation* a = find_allocation(pointer);
    *out = nullptr;
    if (a == nullptr || a->on_device()) return hipErrorInvalidValue;
    *out = pointer;
    return hipSuccess;
  });
}

hipError_t hipHostGetFlags(unsigned* flags, void* pointer) {
  return api([&] {
    if (flags == nullptr || pointer == nullptr) return hipErrorInvalidValue;
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->base != pointer || (a->kind != MemoryKind::host && a->kind != MemoryKind::registered)) {
      return hipErrorInvalidValue;
    }
    *flags = a->flags;
    return hipSuccess;
  });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api([&] {
    uint64_t total = 0, available = 0;
    hipemu_memory_info(machine(), &total, &available);
    if (free_bytes != nullptr) *free_bytes = available;
    if (total_bytes != nullptr) *total_bytes = total;
    return hipSuccess;
  });
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* size) {
  return api([&] {
    if (size == nullptr) return hipErrorInvalidValue;
    *size = 0;
    if (pointer == nullptr) return hipSuccess;
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr) return hipErrorInvalidValue;
    *size = a->size;
    return hipSuccess;
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t pointer) {
  return api([&] {
    if (pointer == nullptr || (base == nullptr && size == nullptr)) return hipErrorInvalidValue;
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr) return hipErrorNotFound;
    if (base != nullptr) *base = a->base;
    if (size != nullptr) *size = a->size;
    return hipSuccess;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* pointer) {
  return api([&] {
#if HIP_VERSION_MAJOR >= 7
    if (out == nullptr) return hipSuccess;
#else
    if (out == nullptr || pointer == nullptr) return hipErrorInvalidValue;
#endif
    *out = {};
    out->type = hipMemoryTypeUnregistered;
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr) {
      hipemu_allocation code{};
      if (pointer != nullptr && hipemu_find_allocation(machine(), pointer, &code) == HIPEMU_OK) {
        out->type = hipMemoryTypeDevice;  // a variable of a code object
        out->devicePointer = const_cast<void*>(pointer);
        return hipSuccess;
      }
      out->device = hipInvalidDeviceId;
#if HIP_VERSION_MAJOR >= 7
      return hipSuccess;
#else
      return hipErrorInvalidValue;
#endif
    }
    out->device = a->device;
    out->devicePointer = const_cast<void*>(pointer);
    out->allocationFlags = a->flags;
    out->isManaged = a->kind == MemoryKind::managed;
    if (!a->on_device()) out->hostPointer = const_cast<void*>(pointer);
    out->type = a->kind == MemoryKind::managed  ? hipMemoryTypeManaged
                : a->on_device()               ? hipMemoryTypeDevice
                                                : hipMemoryTypeHost;
    return hipSuccess;
  });
}

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
  return api([&] { return pointer_attribute(attribute, find_allocation(pointer), pointer, data); });
}

hipError_t hipDrvPointerGetAttributes(unsigned n, hipPointer_attribute* attributes, void** data, hipDeviceptr_t pointer) {
  return api([&] {
    if (n == 0 || attributes == nullptr || data == nullptr) return hipErrorInvalidValue;
    for (unsigned i = 0; i < n; ++i) (void)pointer_attribute(attributes[i], find_allocation(pointer), pointer, data[i]);
    return hipSuccess;
  });
}

hipError_t hipPointerSetAttribute(const void* value, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
  return api([&] {
    if (value == nullptr || attribute != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS) return hipErrorInvalidValue;
    Allocation* a = find_allocation(pointer);
    if (a == nullptr || !a->on_device()) return hipErrorInvalidDevicePointer;
    a->sync_memops = *static_cast<const unsigned*>(value) != 0;
    return hipSuccess;
  });
}

// ------------------------------------------------------------------------------------------------ managed memory

hipError_t hipMemAdvise(const void* pointer, size_t count, hipMemoryAdvise advice, int ordinal) {
  return api([&] {
    Allocation* a = managed_range(pointer, count);
    return a == nullptr ? hipErrorInvalidValue : advise(a, advice, ordinal);
  });
}

hipError_t hipMemPrefetchAsync(const void* pointer, size_t count, int ordinal, hipStream_t stream) {
  return device_api([&] {
    HIPRT_TRY(resolve_stream(stream));
    if (ordinal != hipCpuDeviceId && !valid_device(ordinal)) return hipErrorInvalidDevice;
    Allocation* a = managed_range(pointer, count);
    if (a == nullptr) return hipErrorInvalidValue;
    a->last_prefetch = ordinal;
    return hipSuccess;
  });
}

#if HIP_VERSION_MAJOR >= 7
static int ordinal_of(const hipMemLocation& location) {
  return location.type == hipMemLocationTypeDevice ? location.id : hipCpuDeviceId;
}
hipError_t hipMemAdvise_v2(const void* pointer, size_t count, hipMemoryAdvise advice, hipMemLocation location) {
  return hipMemAdvise(pointer, count, advice, ordinal_of(location));
}
hipError_t hipMemPrefetchAsync_v2(const void* pointer, size_t count, hipMemLocation location, unsigned flags,
                                  hipStream_t stream) {
  return flags != 0 ? record(hipErrorInvalidValue)
                    : hipMemPrefetchAsync(pointer, count, ordinal_of(location), stream);
}
#endif

hipError_t hipMemRangeGetAttribute(void* data, size_t bytes, hipMemRangeAttribute attribute, const void* pointer,
                                   size_t count) {
  return api([&] {
    const Allocation* a = managed_range(pointer, count);
    return a == nullptr ? hipErrorInvalidValue : range_attribute(data, bytes, attribute, a);
  });
}

hipError_t hipMemRangeGetAttributes(void** data, size_t* sizes, hipMemRangeAttribute* attributes, size_t n,
                                    const void* pointer, size_t count) {
  return api([&] {
    const Allocation* a = managed_range(pointer, count);
    if (a == nullptr || data == nullptr || sizes == nullptr || attributes == nullptr || n == 0) {
      return hipErrorInvalidValue;
    }
    for (size_t i = 0; i < n; ++i) HIPRT_TRY(range_attribute(data[i], sizes[i], attributes[i], a));
    return hipSuccess;
  });
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t length, unsigned flags) {
  return api([&] {
    HIPRT_TRY(resolve_stream(stream));
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->kind != MemoryKind::managed) return hipErrorInvalidValue;
    if (length != 0 && length != a->size) return hipErrorInvalidValue;
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost && flags != hipMemAttachSingle) {
      return hipErrorInvalidValue;
    }
    return hipSuccess;
  });
}

// ------------------------------------------------------------------------------------------------ stream-ordered

hipError_t hipMallocAsync(void** pointer, size_t size, hipStream_t stream) {
  return hipMallocFromPoolAsync(pointer, size, nullptr, stream);
}

hipError_t hipMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  return device_api([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    if (pool == nullptr) pool = current_pool(stream->device);
    if (live_pools().count(pool) == 0) return hipErrorInvalidValue;
    if (stream->capture != nullptr) {
      AllocOperation alloc;
      alloc.parms.poolProps = pool->props;
      alloc.parms.bytesize = size;
      HIPRT_TRY(allocate(pointer, size, MemoryKind::device, 0));
      alloc.parms.dptr = *pointer;
      return submit(stream, alloc);
    }
    return pool_allocate(pool, pointer, size);
  });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return device_api([&] {
    HIPRT_TRY(resolve_stream(stream));
    if (pointer == nullptr) return hipErrorInvalidValue;
    const Allocation* a = find_allocation(pointer);
    if (a == nullptr || a->base != pointer || a->on_free_list || a->kind != MemoryKind::device) {
      return hipErrorInvalidValue;
    }
    if (stream->capture != nullptr) return submit(stream, FreeOperation{pointer});
    return submit(stream, PoolFreeOperation{pointer});
  });
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int ordinal) {
  return api([&] {
    if (pool == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *pool = default_pool(ordinal);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int ordinal) {
  return api([&] {
    if (pool == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *pool = current_pool(ordinal);
    return hipSuccess;
  });
}

hipError_t hipDeviceSetMemPool(int ordinal, hipMemPool_t pool) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    if (pool == nullptr || live_pools().count(pool) == 0) return hipErrorInvalidValue;
    if (pool->device != ordinal) return hipErrorInvalidDevice;
    devices()[ordinal]->pool = pool;
    return hipSuccess;
  });
}

hipError_t hipMemPoolCreate(hipMemPool_t* out, const hipMemPoolProps* props) {
  return api([&] {
    if (out == nullptr || props == nullptr || props->allocType != hipMemAllocationTypePinned) {
      return hipErrorInvalidValue;
    }
    if (props->location.type != hipMemLocationTypeDevice) return hipErrorInvalidValue;
    if (!valid_device(props->location.id)) return hipErrorInvalidValue;
    if (props->handleTypes != hipMemHandleTypeNone) return hipErrorNotSupported;  // no sharing between processes
    auto* pool = new ihipMemPoolHandle_t;
    pool->device = props->location.id;
    pool->props = *props;
    live_pools().insert(pool);
    *out = pool;
    return hipSuccess;
  });
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return api([&] {
    if (pool == nullptr || live_pools().count(pool) == 0 || pool->is_default) return hipErrorInvalidValue;
    HIPRT_TRY(wait_for_device(pool->device));
    for (const auto& d : devices()) {
      if (d->pool == pool) d->pool = nullptr;
    }
    trim(pool, 0);
    for (auto& [base, a] : allocations()) {
      if (a.pool == pool) a.pool = nullptr;  // what is still in use lives on as plain memory
    }
    live_pools().erase(pool);
    delete pool;
    return hipSuccess;
  });
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep) {
  return api([&] {
    if (pool == nullptr || live_pools().count(pool) == 0) return hipErrorInvalidValue;
    trim(pool, keep);
    return hipSuccess;
  });
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return api([&] {
    if (pool == nullptr || value == nullptr || live_pools().count(pool) == 0) return hipErrorInvalidValue;
    int* flag = static_cast<int*>(value);
    uint64_t* number = static_cast<uint64_t*>(value);
    switch (attribute) {
      case hipMemPoolReuseFollowEventDependencies:
        *flag = pool->reuse_event;
        return hipSuccess;
      case hipMemPoolReuseAllowOpportunistic:
        *flag = pool->reuse_opportunistic;
        return hipSuccess;
      case hipMemPoolReuseAllowInternalDependencies:
        *flag = pool->reuse_internal;
        return hipSuccess;
      case hipMemPoolAttrReleaseThreshold:
        *number = pool->release_threshold;
        return hipSuccess;
      case hipMemPoolAttrReservedMemCurrent:
        *number = pool->reserved;
        return hipSuccess;
      case hipMemPoolAttrReservedMemHigh:
        *number = pool->reserved_high;
        return hipSuccess;
      case hipMemPoolAttrUsedMemCurrent:
        *number = pool->used;
        return hipSuccess;
      case hipMemPoolAttrUsedMemHigh:
        *number = pool->used_high;
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return api([&] {
    if (pool == nullptr || value == nullptr || live_pools().count(pool) == 0) return hipErrorInvalidValue;
    const uint64_t number = attribute >= hipMemPoolAttrReleaseThreshold ? *static_cast<uint64_t*>(value) : 0;
    switch (attribute) {
      case hipMemPoolReuseFollowEventDependencies:
        pool->reuse_event = *static_cast<int*>(value);
        return hipSuccess;
      case hipMemPoolReuseAllowOpportunistic:
        pool->reuse_opportunistic = *static_cast<int*>(value);
        return hipSuccess;
      case hipMemPoolReuseAllowInternalDependencies:
        pool->reuse_internal = *static_cast<int*>(value);
        return hipSuccess;
      case hipMemPoolAttrReleaseThreshold:
        pool->release_threshold = number;
        return hipSuccess;
      case hipMemPoolAttrReservedMemHigh:  // may only be reset
        if (number != 0) return hipErrorInvalidValue;
        pool->reserved_high = pool->reserved;
        return hipSuccess;
      case hipMemPoolAttrUsedMemHigh:
        if (number != 0) return hipErrorInvalidValue;
        pool->used_high = pool->used;
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}

hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* list, size_t count) {
  return api([&] {
    if (pool == nullptr || list == nullptr || count == 0 || live_pools().count(pool) == 0) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != hipMemLocationTypeDevice) return hipErrorInvalidValue;
      if (!valid_device(list[i].location.id)) return hipErrorInvalidDevice;
      if (list[i].location.id == pool->device && list[i].flags == hipMemAccessFlagsProtNone) {
        return hipErrorInvalidDevice;  // the owner always has access
      }
      pool->access[list[i].location.id] = list[i].flags;
    }
    return hipSuccess;
  });
}

hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool, hipMemLocation* location) {
  return api([&] {
    if (pool == nullptr || flags == nullptr || location == nullptr || live_pools().count(pool) == 0) {
      return hipErrorInvalidValue;
    }
    if (location->type != hipMemLocationTypeDevice || !valid_device(location->id)) return hipErrorInvalidValue;
    const auto found = pool->access.find(location->id);
    *flags = found != pool->access.end()        ? found->second
             : location->id == pool->device ? hipMemAccessFlagsProtReadWrite
                                            : hipMemAccessFlagsProtNone;
    return hipSuccess;
  });
}
}
