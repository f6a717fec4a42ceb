// Devices: what the emulated target looks like to a HIP program, contexts, limits, peers.
//
// Sources of the figures: AMD CDNA2, CDNA3, CDNA4 white papers and RDNA3, RDNA4 ISA guides (units, LDS, registers), product
// pages (clocks, memory buses). RDNA counts workgroup processors as multiprocessors, as HIP does.
#include "runtime.h"

struct ihipCtx_t {
  int device = 0;
  unsigned flags = 0;
  bool primary = false;
};

namespace hiprt {
namespace {

struct TargetFacts {
  const char* target;
  const char* arch_name;  // with the feature modes that the hardware boots with
  const char* product;
  int major, minor, stepping;
  int wave_size;
  int multiprocessors;
  size_t lds_per_block;
  size_t lds_per_multiprocessor;
  int simds, waves_per_simd, vgprs_per_lane, vgpr_granule;
  int clock_khz, memory_clock_khz, bus_bits;
  int l2_bytes;
  bool images;
};

constexpr size_t kKiB = 1024;
constexpr int kMiB = 1024 * 1024;

constexpr TargetFacts kTargets[] = {
    {"gfx90a", "gfx90a:sramecc+:xnack-", "AMD Instinct MI250X", 9, 0, 10, 64, 110, 64 * kKiB, 64 * kKiB, 4, 8, 512, 8,
     1700000, 1600000, 4096, 8 * kMiB, true},
    {"gfx942", "gfx942:sramecc+:xnack-", "AMD Instinct MI300X", 9, 4, 2, 64, 304, 64 * kKiB, 64 * kKiB, 4, 8, 512, 8,
     2100000, 1300000, 8192, 4 * kMiB, false},
    {"gfx950", "gfx950:sramecc+:xnack-", "AMD Instinct MI355X", 9, 5, 0, 64, 256, 160 * kKiB, 160 * kKiB, 4, 8, 512, 8,
     2400000, 2000000, 8192, 4 * kMiB, false},
    {"gfx1100", "gfx1100", "AMD Radeon RX 7900 XTX", 11, 0, 0, 32, 48, 64 * kKiB, 128 * kKiB, 4, 16, 1536, 24, 2500000,
     1250000, 384, 6 * kMiB, true},
    {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT", 12, 0, 1, 32, 32, 64 * kKiB, 128 * kKiB, 4, 16, 1536, 24, 2970000,
     1258000, 256, 8 * kMiB, true},
};

const TargetFacts* facts_of(const std::string& target) {
  const std::string processor = target.substr(0, target.find(':'));
  for (const TargetFacts& row : kTargets) {
    if (processor == row.target) return &row;
  }
  return nullptr;
}

hipDeviceProp_tR0600 properties_of(const TargetFacts& facts, int ordinal) {
  hipDeviceProp_tR0600 p{};
  uint64_t total = 0, available = 0;
  hipemu_memory_info(machine(), &total, &available);
  std::snprintf(p.name, sizeof p.name, "%s (emulated)", facts.product);
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", facts.arch_name);
  std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "hipport%08x", ordinal);
  p.totalGlobalMem = total;
  p.sharedMemPerBlock = p.sharedMemPerBlockOptin = facts.lds_per_block;
  p.sharedMemPerMultiprocessor = p.maxSharedMemoryPerMultiProcessor = facts.lds_per_multiprocessor;
  p.regsPerBlock = p.regsPerMultiprocessor = facts.vgprs_per_lane * facts.wave_size * facts.simds;
  p.warpSize = facts.wave_size;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = 1024;
  for (int& extent : p.maxThreadsDim) extent = 1024;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.clockRate = facts.clock_khz;
  p.memoryClockRate = facts.memory_clock_khz;
  p.memoryBusWidth = facts.bus_bits;
  p.clockInstructionRate = 100000;  // the constant 100 MHz counter of s_memrealtime
  p.totalConstMem = 2147483647;
  p.major = facts.major;
  p.minor = facts.minor;
  p.textureAlignment = p.surfaceAlignment = p.texturePitchAlignment = 256;
  p.deviceOverlap = p.asyncEngineCount = 1;
  p.multiProcessorCount = facts.multiprocessors;
  p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = p.concurrentManagedAccess = 1;
  p.concurrentKernels = p.cooperativeLaunch = p.streamPrioritiesSupported = 1;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = p.memoryPoolsSupported = 1;
  p.unifiedFunctionPointers = p.isLargeBar = p.hostNativeAtomicSupported = 1;
  p.directManagedMemAccessFromHost = 1;
  p.l2CacheSize = facts.l2_bytes;
  p.maxThreadsPerMultiProcessor = facts.waves_per_simd * facts.simds * facts.wave_size;
  p.maxBlocksPerMultiProcessor = facts.waves_per_simd * facts.simds;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.pciDomainID = 0;
  p.pciBusID = ordinal + 1;
  p.pciDeviceID = 0;
  p.multiGpuBoardGroupID = ordinal;
  p.ipcEventSupported = 0;
  if (facts.images) {
    p.maxTexture1D = p.maxSurface1D = 16384;
    p.maxTexture1DLinear = 134217728;
    for (int& extent : p.maxTexture2D) extent = 16384;
    for (int& extent : p.maxSurface2D) extent = 16384;
    for (int& extent : p.maxTexture3D) extent = 8192;
    for (int& extent : p.maxSurface3D) extent = 8192;
  }
  hipDeviceArch_t& arch = p.arch;
  arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = arch.hasDoubles = arch.hasWarpVote = arch.hasWarpBallot = 1;
  arch.hasWarpShuffle = arch.hasThreadFenceSystem = arch.has3dGrid = 1;
  arch.hasSurfaceFuncs = facts.images;
  return p;
}

struct ContextState {
  std::vector<ihipCtx_t*> stack;
};
thread_local ContextState contexts;
std::set<ihipCtx_t*>& live_contexts() {
  static std::set<ihipCtx_t*>& all = *new std::set<ihipCtx_t*>;
  return all;
}

hipError_t attribute(const Device& d, hipDeviceAttribute_t attr, int* out) {
  const hipDeviceProp_tR0600& p = d.properties;
  const auto clamp = [](size_t value) { return static_cast<int>(std::min<size_t>(value, 2147483647)); };
  switch (static_cast<int>(attr)) {
#define IS(name, value)           \
  case hipDeviceAttribute##name:  \
    *out = static_cast<int>(value); \
    break
    IS(EccEnabled, p.ECCEnabled);
    IS(AccessPolicyMaxWindowSize, p.accessPolicyMaxWindowSize);
    IS(AsyncEngineCount, p.asyncEngineCount);
    IS(CanMapHostMemory, p.canMapHostMemory);
    IS(CanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem);
    IS(ClockRate, p.clockRate);
    IS(ComputeMode, p.computeMode);
    IS(ComputePreemptionSupported, p.computePreemptionSupported);
    IS(ConcurrentKernels, p.concurrentKernels);
    IS(ConcurrentManagedAccess, p.concurrentManagedAccess);
    IS(CooperativeLaunch, p.cooperativeLaunch);
    IS(CooperativeMultiDeviceLaunch, p.cooperativeMultiDeviceLaunch);
    IS(DeviceOverlap, p.deviceOverlap);
    IS(DirectManagedMemAccessFromHost, p.directManagedMemAccessFromHost);
    IS(GlobalL1CacheSupported, p.globalL1CacheSupported);
    IS(HostNativeAtomicSupported, p.hostNativeAtomicSupported);
    IS(Integrated, p.integrated);
    IS(IsMultiGpuBoard, p.isMultiGpuBoard);
    IS(KernelExecTimeout, p.kernelExecTimeoutEnabled);
    IS(L2CacheSize, p.l2CacheSize);
    IS(LocalL1CacheSupported, p.localL1CacheSupported);
    IS(ComputeCapabilityMajor, p.major);
    IS(ManagedMemory, p.managedMemory);
    IS(MaxBlocksPerMultiProcessor, p.maxBlocksPerMultiProcessor);
    IS(MaxBlockDimX, p.maxThreadsDim[0]);
    IS(MaxBlockDimY, p.maxThreadsDim[1]);
    IS(MaxBlockDimZ, p.maxThreadsDim[2]);
    IS(MaxGridDimX, p.maxGridSize[0]);
    IS(MaxGridDimY, p.maxGridSize[1]);
    IS(MaxGridDimZ, p.maxGridSize[2]);
    IS(MaxSurface1D, p.maxSurface1D);
    IS(MaxSurface2D, p.maxSurface2D[0]);
    IS(MaxSurface3D, p.maxSurface3D[0]);
    IS(MaxTexture1DWidth, p.maxTexture1D);
    IS(MaxTexture1DLinear, p.maxTexture1DLinear);
    IS(MaxTexture2DWidth, p.maxTexture2D[0]);
    IS(MaxTexture2DHeight, p.maxTexture2D[1]);
    IS(MaxTexture3DWidth, p.maxTexture3D[0]);
    IS(MaxTexture3DHeight, p.maxTexture3D[1]);
    IS(MaxTexture3DDepth, p.maxTexture3D[2]);
    IS(MaxThreadsDim, p.maxThreadsDim[0]);
    IS(MaxThreadsPerBlock, p.maxThreadsPerBlock);
    IS(MaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor);
    IS(MaxPitch, clamp(p.memPitch));
    IS(MemoryBusWidth, p.memoryBusWidth);
    IS(MemoryClockRate, p.memoryClockRate);
    IS(ComputeCapabilityMinor, p.minor);
    IS(MultiGpuBoardGroupID, p.multiGpuBoardGroupID);
    IS(MultiprocessorCount, p.multiProcessorCount);
    IS(PageableMemoryAccess, p.pageableMemoryAccess);
    IS(PageableMemoryAccessUsesHostPageTables, p.pageableMemoryAccessUsesHostPageTables);
    IS(PciBusId, p.pciBusID);
    IS(PciDeviceId, p.pciDeviceID);
    IS(PciDomainID, p.pciDomainID);
    IS(PersistingL2CacheMaxSize, p.persistingL2CacheMaxSize);
    IS(MaxRegistersPerBlock, p.regsPerBlock);
    IS(MaxRegistersPerMultiprocessor, p.regsPerMultiprocessor);
    IS(ReservedSharedMemPerBlock, p.reservedSharedMemPerBlock);
    IS(MaxSharedMemoryPerBlock, p.sharedMemPerBlock);
    IS(SharedMemPerBlockOptin, p.sharedMemPerBlockOptin);
    IS(SharedMemPerMultiprocessor, p.sharedMemPerMultiprocessor);
    IS(SingleToDoublePrecisionPerfRatio, p.singleToDoublePrecisionPerfRatio);
    IS(StreamPrioritiesSupported, p.streamPrioritiesSupported);
    IS(SurfaceAlignment, p.surfaceAlignment);
    IS(TccDriver, p.tccDriver);
    IS(TextureAlignment, p.textureAlignment);
    IS(TexturePitchAlignment, p.texturePitchAlignment);
    IS(TotalConstantMemory, clamp(p.totalConstMem));
    IS(TotalGlobalMem, clamp(p.totalGlobalMem));
    IS(UnifiedAddressing, p.unifiedAddressing);
    IS(WarpSize, p.warpSize);
    IS(MemoryPoolsSupported, p.memoryPoolsSupported);
    IS(VirtualMemoryManagementSupported, 1);
    IS(HostRegisterSupported, p.hostRegisterSupported);
    IS(MemoryPoolSupportedHandleTypes, p.memoryPoolSupportedHandleTypes);
    IS(ClockInstructionRate, p.clockInstructionRate);
    IS(MaxSharedMemoryPerMultiprocessor, clamp(p.maxSharedMemoryPerMultiProcessor));
    IS(CooperativeMultiDeviceUnmatchedFunc, 0);
    IS(CooperativeMultiDeviceUnmatchedGridDim, 0);
    IS(CooperativeMultiDeviceUnmatchedBlockDim, 0);
    IS(CooperativeMultiDeviceUnmatchedSharedMem, 0);
    IS(IsLargeBar, p.isLargeBar);
    IS(AsicRevision, p.asicRevision);
    IS(CanUseStreamWaitValue, 1);
    IS(ImageSupport, d.images);
    IS(PhysicalMultiProcessorCount, p.multiProcessorCount);
    IS(FineGrainSupport, 1);
    IS(WallClockRate, p.clockInstructionRate);
#if HIP_VERSION_MAJOR >= 7
    IS(HostNumaId, 0);
    IS(NumberOfXccs, 1);
    IS(MaxAvailableVgprsPerThread, d.vgprs_per_lane == 512 ? 512 : 256);
#endif
#undef IS
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

void copy_legacy(const hipDeviceProp_tR0600& from, hipDeviceProp_tR0000* to) {
  *to = {};
  std::memcpy(to->name, from.name, sizeof to->name);
  std::memcpy(to->gcnArchName, from.gcnArchName, sizeof to->gcnArchName);
  std::memcpy(to->maxThreadsDim, from.maxThreadsDim, sizeof to->maxThreadsDim);
  std::memcpy(to->maxGridSize, from.maxGridSize, sizeof to->maxGridSize);
  std::memcpy(to->maxTexture2D, from.maxTexture2D, sizeof to->maxTexture2D);
  std::memcpy(to->maxTexture3D, from.maxTexture3D, sizeof to->maxTexture3D);
#define SAME(field) to->field = from.field
  SAME(totalGlobalMem);
  SAME(sharedMemPerBlock);
  SAME(regsPerBlock);
  SAME(warpSize);
  SAME(maxThreadsPerBlock);
  SAME(clockRate);
  SAME(memoryClockRate);
  SAME(memoryBusWidth);
  SAME(totalConstMem);
  SAME(major);
  SAME(minor);
  SAME(multiProcessorCount);
  SAME(l2CacheSize);
  SAME(maxThreadsPerMultiProcessor);
  SAME(computeMode);
  SAME(clockInstructionRate);
  SAME(arch);
  SAME(concurrentKernels);
  SAME(pciDomainID);
  SAME(pciBusID);
  SAME(pciDeviceID);
  SAME(maxSharedMemoryPerMultiProcessor);
  SAME(canMapHostMemory);
  SAME(cooperativeLaunch);
  SAME(maxTexture1DLinear);
  SAME(maxTexture1D);
  SAME(memPitch);
  SAME(textureAlignment);
  SAME(texturePitchAlignment);
  SAME(isLargeBar);
  SAME(managedMemory);
  SAME(directManagedMemAccessFromHost);
  SAME(concurrentManagedAccess);
#undef SAME
}

hipError_t choose(int* out) {
  if (out == nullptr) return hipErrorInvalidValue;
  *out = 0;  // all emulated devices are alike
  return hipSuccess;
}

}  // namespace

std::vector<std::unique_ptr<Device>>& devices() {
  static std::vector<std::unique_ptr<Device>>& all = *new std::vector<std::unique_ptr<Device>>;
  return all;
}

bool make_devices() {
  const TargetFacts* facts = facts_of(settings().target);
  if (facts == nullptr) {
    report_once("HIPPORT_TARGET=" + settings().target + " is not a target that the emulator describes");
    return false;
  }
  for (int ordinal = 0; ordinal < settings().devices; ++ordinal) {
    auto d = std::make_unique<Device>();
    d->ordinal = ordinal;
    d->properties = properties_of(*facts, ordinal);
    d->simds_per_cu = facts->simds;
    d->waves_per_simd = facts->waves_per_simd;
    d->vgprs_per_lane = facts->vgprs_per_lane;
    d->vgpr_granule = facts->vgpr_granule;
    d->images = facts->images;
    devices().push_back(std::move(d));
  }
  return true;
}

bool valid_device(int ordinal) { return ordinal >= 0 && ordinal < static_cast<int>(devices().size()); }
Device& device() { return *devices()[current_device()]; }

ihipCtx_t* primary_context(int ordinal) {
  static std::vector<std::unique_ptr<ihipCtx_t>>& all = *new std::vector<std::unique_ptr<ihipCtx_t>>;
  while (static_cast<int>(all.size()) <= ordinal) {
    all.push_back(std::make_unique<ihipCtx_t>());
    all.back()->device = static_cast<int>(all.size()) - 1;
    all.back()->primary = true;
  }
  return all[ordinal].get();
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return record(hipErrorInvalidValue);
  *count = 0;
  return api([&] {
    *count = static_cast<int>(devices().size());
    return *count > 0 ? hipSuccess : hipErrorNoDevice;
  });
}

hipError_t hipSetDevice(int ordinal) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    set_current_device(ordinal);
    return hipSuccess;
  });
}

hipError_t hipGetDevice(int* ordinal) {
  return api([&] {
    if (ordinal == nullptr) return hipErrorInvalidValue;
    *ordinal = current_device();
    return hipSuccess;
  });
}

hipError_t hipSetValidDevices(int* list, int length) {
  return api([&] {
    if (length < 0 || (length > 0 && list == nullptr) || length > static_cast<int>(devices().size())) {
      return hipErrorInvalidValue;
    }
    for (int i = 0; i < length; ++i) {
      if (!valid_device(list[i])) return hipErrorInvalidDevice;
    }
    return hipSuccess;
  });
}

hipError_t hipDeviceSynchronize() {
  return api([&] {
    HIPRT_TRY(forbid_while_capturing(hipErrorStreamCaptureUnsupported));
    HIPRT_TRY(wait_for_device(current_device()));
    return sticky_error();
  });
}

hipError_t hipDeviceReset() {
  return api([&] {
    reset_device(current_device());
    return hipSuccess;
  });
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* out, int ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *out = devices()[ordinal]->properties;
    return hipSuccess;
  });
}

hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* out, int ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    copy_legacy(devices()[ordinal]->properties, out);
    return hipSuccess;
  });
}

// The unversioned names are what programs built before HIP 6 import: they expect the old layout.
#undef hipGetDeviceProperties
#undef hipChooseDevice
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* out, int ordinal) {
  return hipGetDevicePropertiesR0000(out, ordinal);
}
hipError_t hipChooseDevice(int* out, const hipDeviceProp_tR0000* wanted) {
  return api([&] { return wanted == nullptr ? hipErrorInvalidValue : choose(out); });
}
hipError_t hipChooseDeviceR0000(int* out, const hipDeviceProp_tR0000* wanted) {
  return api([&] { return wanted == nullptr ? hipErrorInvalidValue : choose(out); });
}
hipError_t hipChooseDeviceR0600(int* out, const hipDeviceProp_tR0600* wanted) {
  return api([&] { return wanted == nullptr ? hipErrorInvalidValue : choose(out); });
}

hipError_t hipDeviceGetAttribute(int* out, hipDeviceAttribute_t attr, int ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    return attribute(*devices()[ordinal], attr, out);
  });
}

hipError_t hipDeviceGet(hipDevice_t* out, int ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *out = ordinal;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t ordinal) {
  return api([&] {
    if (name == nullptr || length <= 0) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    std::snprintf(name, length, "%s", devices()[ordinal]->properties.name);
    return hipSuccess;
  });
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t ordinal) {
  return api([&] {
    if (major == nullptr || minor == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *major = devices()[ordinal]->properties.major;
    *minor = devices()[ordinal]->properties.minor;
    return hipSuccess;
  });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t ordinal) {
  return api([&] {
    if (bytes == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *bytes = devices()[ordinal]->properties.totalGlobalMem;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t ordinal) {
  return api([&] {
    if (uuid == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *uuid = devices()[ordinal]->properties.uuid;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetPCIBusId(char* text, int length, int ordinal) {
  return api([&] {
    if (text == nullptr || length <= 0) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    const hipDeviceProp_tR0600& p = devices()[ordinal]->properties;
    std::snprintf(text, length, "%04x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetByPCIBusId(int* ordinal, const char* text) {
  return api([&] {
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (ordinal == nullptr || text == nullptr) return hipErrorInvalidValue;
    if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) return hipErrorInvalidValue;
    for (const auto& d : devices()) {
      const hipDeviceProp_tR0600& p = d->properties;
      if (p.pciDomainID == int(domain) && p.pciBusID == int(bus) && p.pciDeviceID == int(slot)) {
        *ordinal = d->ordinal;
        return hipSuccess;
      }
    }
    return hipErrorInvalidValue;
  });
}

hipError_t hipSetDeviceFlags(unsigned flags) {
  return api([&] {
    constexpr unsigned known = hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax;
    if (flags & ~known) return hipErrorInvalidValue;
    device().flags = flags;
    return hipSuccess;
  });
}

hipError_t hipGetDeviceFlags(unsigned* flags) {
  return api([&] {
    if (flags == nullptr) return hipErrorInvalidValue;
    *flags = device().flags;
    return hipSuccess;
  });
}

hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
  return api([&] {
    if (config < hipFuncCachePreferNone || config > hipFuncCachePreferEqual) return hipErrorInvalidValue;
    return hipSuccess;  // AMD hardware has no such choice
  });
}

hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  return api([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = hipFuncCachePreferNone;
    return hipSuccess;
  });
}

hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config) {
  return api([&] {
    if (config < hipSharedMemBankSizeDefault || config > hipSharedMemBankSizeEightByte) return hipErrorInvalidValue;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  return api([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = hipSharedMemBankSizeFourByte;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetLimit(size_t* value, enum hipLimit_t limit) {
  return api([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (limit < 0 || limit > hipLimitMallocHeapSize) return hipErrorUnsupportedLimit;
    *value = device().limits[limit];
    return hipSuccess;
  });
}

hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value) {
  return api([&] {
    if (limit < 0 || limit > hipLimitMallocHeapSize) return hipErrorUnsupportedLimit;
    if (limit == hipLimitStackSize && value > 131056) return hipErrorInvalidValue;
    device().limits[limit] = value;
    return hipSuccess;
  });
}

#if HIP_VERSION_MAJOR >= 7
hipError_t hipDeviceGetTexture1DLinearMaxWidth(size_t* out, const hipChannelFormatDesc* desc, int ordinal) {
  return api([&] {
    if (out == nullptr || desc == nullptr || element_bytes(*desc) == 0) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *out = static_cast<size_t>(devices()[ordinal]->properties.maxTexture1DLinear) / element_bytes(*desc);
    return hipSuccess;
  });
}
#endif

// ------------------------------------------------------------------------------------------------------- peers

hipError_t hipDeviceCanAccessPeer(int* out, int ordinal, int peer) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal) || !valid_device(peer)) return hipErrorInvalidDevice;
    *out = ordinal != peer;
    return hipSuccess;
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api([&] {
    if (flags != 0) return hipErrorInvalidValue;
    if (!valid_device(peer) || peer == current_device()) return hipErrorInvalidDevice;
    return device().peers.insert(peer).second ? hipSuccess : hipErrorPeerAccessAlreadyEnabled;
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return api([&] {
    if (!valid_device(peer)) return hipErrorInvalidDevice;
    return device().peers.erase(peer) ? hipSuccess : hipErrorPeerAccessNotEnabled;
  });
}

hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attr, int from, int to) {
  return api([&] {
    if (value == nullptr || attr < hipDevP2PAttrPerformanceRank || attr > hipDevP2PAttrHipArrayAccessSupported) {
      return hipErrorInvalidValue;
    }
    if (!valid_device(from) || !valid_device(to) || from == to) return hipErrorInvalidDevice;
    *value = attr == hipDevP2PAttrAccessSupported || attr == hipDevP2PAttrNativeAtomicSupported;
    return hipSuccess;
  });
}

hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t* type, uint32_t* hops) {
  return api([&] {
    if (type == nullptr || hops == nullptr) return hipErrorInvalidValue;
    if (!valid_device(from) || !valid_device(to)) return hipErrorInvalidDevice;
    if (from == to) return hipErrorInvalidValue;
    *type = 4;  // HSA_AMD_LINK_INFO_TYPE_XGMI
    *hops = 1;
    return hipSuccess;
  });
}

// ------------------------------------------------------------------------------------------------------- contexts

hipError_t hipCtxCreate(hipCtx_t* out, unsigned flags, hipDevice_t ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    auto* context = new ihipCtx_t{ordinal, flags, false};
    live_contexts().insert(context);
    contexts.stack.push_back(context);
    set_current_device(ordinal);
    *out = context;
    return hipSuccess;
  });
}

hipError_t hipCtxDestroy(hipCtx_t context) {
  return api([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    if (context->primary) return hipSuccess;
    if (live_contexts().erase(context) == 0) return hipErrorInvalidContext;
    auto& stack = contexts.stack;
    for (size_t i = stack.size(); i-- > 0;) {
      if (stack[i] == context) stack.erase(stack.begin() + i);
    }
    if (!stack.empty()) set_current_device(stack.back()->device);
    delete context;
    return hipSuccess;
  });
}

hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return api([&] {
    if (context == nullptr) return hipErrorInvalidContext;
    contexts.stack.push_back(context);
    set_current_device(context->device);
    return hipSuccess;
  });
}

hipError_t hipCtxPopCurrent(hipCtx_t* out) {
  return api([&] {
    if (contexts.stack.empty()) return hipErrorInvalidContext;
    if (out != nullptr) *out = contexts.stack.back();
    contexts.stack.pop_back();
    if (!contexts.stack.empty()) set_current_device(contexts.stack.back()->device);
    return hipSuccess;
  });
}

hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return api([&] {
    if (!contexts.stack.empty()) contexts.stack.pop_back();
    if (context != nullptr) {
      contexts.stack.push_back(context);
      set_current_device(context->device);
    }
    return hipSuccess;
  });
}

hipError_t hipCtxGetCurrent(hipCtx_t* out) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    *out = contexts.stack.empty() ? primary_context(current_device()) : contexts.stack.back();
    return hipSuccess;
  });
}

hipError_t hipCtxGetDevice(hipDevice_t* out) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    *out = current_device();
    return hipSuccess;
  });
}

#if HIP_VERSION_MAJOR >= 7
hipError_t hipCtxGetApiVersion(hipCtx_t, unsigned* version) {
#else
hipError_t hipCtxGetApiVersion(hipCtx_t, int* version) {
#endif
  return api([&] {
    if (version == nullptr) return hipErrorInvalidValue;
    *version = 4;
    return hipSuccess;
  });
}

hipError_t hipCtxGetFlags(unsigned* flags) {
  return api([&] {
    if (flags == nullptr) return hipErrorInvalidValue;
    *flags = contexts.stack.empty() ? device().flags : contexts.stack.back()->flags;
    return hipSuccess;
  });
}

hipError_t hipCtxSynchronize() {
  return api([&] {
    HIPRT_TRY(forbid_while_capturing(hipErrorStreamCaptureUnsupported));
    HIPRT_TRY(wait_for_device(current_device()));
    return sticky_error();
  });
}

hipError_t hipCtxGetCacheConfig(hipFuncCache_t* config) { return hipDeviceGetCacheConfig(config); }
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) { return hipDeviceSetCacheConfig(config); }
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig* config) { return hipDeviceGetSharedMemConfig(config); }
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) { return hipDeviceSetSharedMemConfig(config); }

hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned flags) {
  return peer == nullptr ? record(hipErrorInvalidContext) : hipDeviceEnablePeerAccess(peer->device, flags);
}
hipError_t hipCtxDisablePeerAccess(hipCtx_t peer) {
  return peer == nullptr ? record(hipErrorInvalidContext) : hipDeviceDisablePeerAccess(peer->device);
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t ordinal, unsigned* flags, int* active) {
  return api([&] {
    if (flags == nullptr || active == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    *flags = devices()[ordinal]->flags;
    *active = devices()[ordinal]->primary_active;
    return hipSuccess;
  });
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* out, hipDevice_t ordinal) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    devices()[ordinal]->primary_active = true;
    *out = primary_context(ordinal);
    return hipSuccess;
  });
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t ordinal) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    devices()[ordinal]->primary_active = false;
    return hipSuccess;
  });
}

hipError_t hipDevicePrimaryCtxReset(hipDevice_t ordinal) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    reset_device(ordinal);
    return hipSuccess;
  });
}

hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t ordinal, unsigned flags) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    devices()[ordinal]->flags = flags;
    return hipSuccess;
  });
}
}
