// Two emulated gfx942. Properties, attributes, limits, contexts, peers.
#include "check.h"
#include <hip/hip_deprecated.h>

// The unversioned symbols that programs built before HIP 6 import.
#undef hipGetDeviceProperties
#undef hipChooseDevice
extern "C" hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000*, int);
extern "C" hipError_t hipChooseDevice(int*, const hipDeviceProp_tR0000*);

static int attribute(hipDeviceAttribute_t which) {
  int value = -1;
  OK(hipDeviceGetAttribute(&value, which, 0));
  return value;
}

int main() {
  int count = 0, ordinal = -1;
  OK(hipGetDeviceCount(&count));
  EXPECT_EQ(count, 2);
  RETURNS(hipErrorInvalidValue, hipGetDeviceCount(nullptr));
  OK(hipGetDevice(&ordinal));
  EXPECT_EQ(ordinal, 0);
  RETURNS(hipErrorInvalidDevice, hipSetDevice(2));
  OK(hipSetDevice(1));
  OK(hipGetDevice(&ordinal));
  EXPECT_EQ(ordinal, 1);
  OK(hipSetDevice(0));
  int wanted[] = {0, 1, 2};
  OK(hipSetValidDevices(wanted, 2));
  RETURNS(hipErrorInvalidValue, hipSetValidDevices(wanted, 3));

  // MI300X: CDNA3 ISA guide (64 lanes, 64 KiB LDS, 512 registers per lane and SIMD), product page (304 units).
  hipDeviceProp_tR0600 p;
  OK(hipGetDevicePropertiesR0600(&p, 0));
  EXPECT(std::strncmp(p.gcnArchName, "gfx942", 6) == 0);
  EXPECT_EQ(p.warpSize, 64);
  EXPECT_EQ(p.sharedMemPerBlock, 65536u);
  EXPECT_EQ(p.regsPerBlock, 512 * 64 * 4);
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(p.maxThreadsPerMultiProcessor, 2048);
  EXPECT_EQ(p.multiProcessorCount, 304);
  EXPECT_EQ(p.major, 9);
  EXPECT_EQ(p.minor, 4);
  EXPECT(p.totalGlobalMem > 0);
  RETURNS(hipErrorInvalidDevice, hipGetDevicePropertiesR0600(&p, 9));
  hipDeviceProp_tR0000 old_form;
  OK(hipGetDevicePropertiesR0000(&old_form, 0));
  EXPECT_EQ(old_form.warpSize, 64);
  EXPECT_EQ(old_form.multiProcessorCount, 304);
  EXPECT(std::strcmp(old_form.gcnArchName, p.gcnArchName) == 0);
  OK(hipGetDeviceProperties(&old_form, 1));
  EXPECT_EQ(old_form.warpSize, 64);
  OK(hipChooseDevice(&ordinal, &old_form));
  OK(hipChooseDeviceR0000(&ordinal, &old_form));
  OK(hipChooseDeviceR0600(&ordinal, &p));
  EXPECT_EQ(ordinal, 0);

  EXPECT_EQ(attribute(hipDeviceAttributeWarpSize), 64);
  EXPECT_EQ(attribute(hipDeviceAttributeMaxThreadsPerBlock), 1024);
  EXPECT_EQ(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock), 65536);
  EXPECT_EQ(attribute(hipDeviceAttributeMultiprocessorCount), 304);
  EXPECT_EQ(attribute(hipDeviceAttributeComputeCapabilityMajor), 9);
  EXPECT_EQ(attribute(hipDeviceAttributeImageSupport), 0);  // CDNA3 has no image instructions
  EXPECT_EQ(attribute(hipDeviceAttributeWallClockRate), 100000);
  int value = 0;
  RETURNS(hipErrorInvalidValue, hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)9000, 0));

  hipDevice_t device = -1;
  OK(hipDeviceGet(&device, 1));
  EXPECT_EQ(device, 1);
  char name[64], bus[32];
  OK(hipDeviceGetName(name, sizeof name, 0));
  EXPECT(std::strncmp(name, "AMD Instinct MI300X", 19) == 0);
  int major = 0, minor = 0;
  OK(hipDeviceComputeCapability(&major, &minor, 0));
  EXPECT_EQ(major * 10 + minor, 94);
  size_t bytes = 0;
  OK(hipDeviceTotalMem(&bytes, 0));
  EXPECT_EQ(bytes, p.totalGlobalMem);
  hipUUID first, second;
  OK(hipDeviceGetUuid(&first, 0));
  OK(hipDeviceGetUuid(&second, 1));
  EXPECT(std::memcmp(&first, &second, sizeof first) != 0);
  OK(hipDeviceGetPCIBusId(bus, sizeof bus, 1));
  OK(hipDeviceGetByPCIBusId(&ordinal, bus));
  EXPECT_EQ(ordinal, 1);
  RETURNS(hipErrorInvalidValue, hipDeviceGetByPCIBusId(&ordinal, "nonsense"));

#if HIP_VERSION_MAJOR >= 7
  hipChannelFormatDesc four = hipCreateChannelDesc(32, 32, 32, 32, hipChannelFormatKindFloat);
  OK(hipDeviceGetTexture1DLinearMaxWidth(&bytes, &four, 0));
  EXPECT_EQ(bytes, 0u);  // no image instructions
#endif
  unsigned flags = 99;
  OK(hipSetDeviceFlags(hipDeviceScheduleSpin));
  OK(hipGetDeviceFlags(&flags));
  EXPECT_EQ(flags, (unsigned)hipDeviceScheduleSpin);
  RETURNS(hipErrorInvalidValue, hipSetDeviceFlags(0x4000));
  hipFuncCache_t cache;
  OK(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
  OK(hipDeviceGetCacheConfig(&cache));
  EXPECT_EQ(cache, hipFuncCachePreferNone);  // AMD has no such choice
  hipSharedMemConfig bank;
  OK(hipDeviceSetSharedMemConfig(hipSharedMemBankSizeFourByte));
  OK(hipDeviceGetSharedMemConfig(&bank));
  EXPECT_EQ(bank, hipSharedMemBankSizeFourByte);
  OK(hipDeviceSetLimit(hipLimitMallocHeapSize, 1 << 20));
  OK(hipDeviceGetLimit(&bytes, hipLimitMallocHeapSize));
  EXPECT_EQ(bytes, 1u << 20);
  RETURNS(hipErrorUnsupportedLimit, hipDeviceGetLimit(&bytes, (hipLimit_t)77));

  // Peers.
  int can = -1;
  OK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  OK(hipDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  OK(hipDeviceEnablePeerAccess(1, 0));
  RETURNS(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
  OK(hipDeviceDisablePeerAccess(1));
  RETURNS(hipErrorPeerAccessNotEnabled, hipDeviceDisablePeerAccess(1));
  RETURNS(hipErrorInvalidDevice, hipDeviceEnablePeerAccess(7, 0));
  OK(hipDeviceGetP2PAttribute(&value, hipDevP2PAttrAccessSupported, 0, 1));
  EXPECT_EQ(value, 1);
  uint32_t link = 0, hops = 0;
  OK(hipExtGetLinkTypeAndHopCount(0, 1, &link, &hops));
  EXPECT_EQ(hops, 1u);

  // Contexts.
  hipCtx_t context = nullptr, current = nullptr, popped = nullptr;
  OK(hipCtxCreate(&context, 0, 1));
  OK(hipCtxGetCurrent(&current));
  EXPECT(current == context);
  OK(hipCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  OK(hipCtxGetFlags(&flags));
  EXPECT_EQ(flags, 0u);
#if HIP_VERSION_MAJOR >= 7
  unsigned version = 0;
#else
  int version = 0;
#endif
  OK(hipCtxGetApiVersion(context, &version));
  OK(hipCtxSynchronize());
  OK(hipCtxSetCacheConfig(hipFuncCachePreferNone));
  OK(hipCtxGetCacheConfig(&cache));
  OK(hipCtxSetSharedMemConfig(hipSharedMemBankSizeDefault));
  OK(hipCtxGetSharedMemConfig(&bank));
  OK(hipCtxPopCurrent(&popped));
  EXPECT(popped == context);
  OK(hipCtxPushCurrent(context));
  OK(hipCtxSetCurrent(nullptr));
  OK(hipSetDevice(0));
  OK(hipCtxEnablePeerAccess(context, 0));
  OK(hipCtxDisablePeerAccess(context));
  OK(hipCtxDestroy(context));
  RETURNS(hipErrorInvalidContext, hipCtxPopCurrent(&popped));
  int active = -1;
  OK(hipDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  OK(hipDevicePrimaryCtxRetain(&context, 0));
  OK(hipDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  OK(hipDevicePrimaryCtxSetFlags(0, hipDeviceScheduleYield));
  OK(hipDevicePrimaryCtxRelease(0));
  OK(hipDevicePrimaryCtxReset(0));

  // Reset frees what the program allocated.
  void* memory = nullptr;
  size_t before = 0, during = 0, after = 0, total = 0;
  OK(hipMemGetInfo(&before, &total));
  OK(hipMalloc(&memory, 1 << 20));
  OK(hipMemGetInfo(&during, &total));
  EXPECT(during <= before - (1 << 20));
  OK(hipDeviceReset());
  OK(hipMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  RETURNS(hipErrorInvalidValue, hipFree(memory));
  OK(hipDeviceSynchronize());
  return finish();
}
