// Allocation of every kind, and what queries say about a pointer.
#include "check.h"

int main() {
  char* p = nullptr;
  // Device memory.
  OK(hipMalloc((void**)&p, 1000));
  EXPECT_EQ((size_t)p % 256, 0u);
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  OK(hipMemGetAddressRange(&base, &size, p + 999));
  EXPECT(base == p);
  EXPECT_EQ(size, 1000u);
  RETURNS(hipErrorNotFound, hipMemGetAddressRange(&base, &size, &size));
  OK(hipMemPtrGetInfo(p, &size));
  EXPECT_EQ(size, 1000u);
  hipPointerAttribute_t a;
  OK(hipPointerGetAttributes(&a, p + 10));
  EXPECT_EQ(a.type, hipMemoryTypeDevice);
  EXPECT(a.devicePointer == p + 10);
  EXPECT(a.hostPointer == nullptr);
  EXPECT_EQ(a.isManaged, 0);
  int on_stack = 0;
#if HIP_VERSION_MAJOR >= 7
  OK(hipPointerGetAttributes(&a, &on_stack));  // "HIP API 7.0 changes": as CUDA 11
#else
  RETURNS(hipErrorInvalidValue, hipPointerGetAttributes(&a, &on_stack));
#endif
  EXPECT_EQ(a.type, hipMemoryTypeUnregistered);
  unsigned kind = 0;
  OK(hipPointerGetAttribute(&kind, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  EXPECT_EQ(kind, (unsigned)hipMemoryTypeDevice);
  OK(hipPointerGetAttribute(&size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, p + 5));
  EXPECT_EQ(size, 1000u);
  unsigned on = 1;
  OK(hipPointerSetAttribute(&on, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
  on = 0;
  hipPointer_attribute which[] = {HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* start = nullptr;
  void* answers[] = {&on, &start};
  OK(hipDrvPointerGetAttributes(2, which, answers, p + 1));
  EXPECT_EQ(on, 1u);
  EXPECT(start == p);
  OK(hipFree(p));
  OK(hipFree(nullptr));
  RETURNS(hipErrorInvalidValue, hipFree(p));
  RETURNS(hipErrorInvalidValue, hipFree(&on_stack));
  char byte = 1;
  RETURNS(hipErrorInvalidValue, hipMemcpy(&byte, p, 1, hipMemcpyDeviceToHost));  // freed
  RETURNS(hipErrorInvalidValue, hipMemcpy(p, &byte, 1, hipMemcpyHostToDevice));
  RETURNS(hipErrorInvalidValue, hipMemcpyAsync(&byte, p, 1, hipMemcpyDefault, nullptr));
  OK(hipMemcpy(&byte, &on_stack, 1, hipMemcpyDefault));
  RETURNS(hipErrorInvalidValue, hipMalloc(nullptr, 8));
  p = (char*)1;
  OK(hipMalloc((void**)&p, 0));
  EXPECT(p == nullptr);
  RETURNS(hipErrorOutOfMemory, hipMalloc((void**)&p, (size_t)1 << 60));
  OK(hipExtMallocWithFlags((void**)&p, 64, hipDeviceMallocFinegrained));
  RETURNS(hipErrorInvalidValue, hipHostFree(p));  // not host memory
  OK(hipFree(p));
  RETURNS(hipErrorInvalidValue, hipExtMallocWithFlags((void**)&p, 64, 0x100));

  // Host memory.
  OK(hipHostMalloc((void**)&p, 4096, hipHostMallocMapped));
  p[4095] = 7;
  unsigned flags = 0;
  OK(hipHostGetFlags(&flags, p));
  EXPECT_EQ(flags, (unsigned)hipHostMallocMapped);
  void* mapped = nullptr;
  OK(hipHostGetDevicePointer(&mapped, p, 0));
  EXPECT(mapped != nullptr);
  OK(hipPointerGetAttributes(&a, p));
  EXPECT_EQ(a.type, hipMemoryTypeHost);
  EXPECT(a.hostPointer == p);
  RETURNS(hipErrorInvalidValue, hipFree(p));
  OK(hipHostFree(p));
  RETURNS(hipErrorInvalidValue, hipHostMalloc((void**)&p, 64, hipHostMallocCoherent | hipHostMallocNonCoherent));
  OK(hipHostAlloc((void**)&p, 64, hipHostAllocDefault));
  OK(hipFreeHost(p));
  OK(hipMallocHost((void**)&p, 64));
  OK(hipHostFree(p));
  OK(hipMemAllocHost((void**)&p, 64));
  OK(hipHostFree(p));

  std::vector<char> own(8192);
  OK(hipHostRegister(own.data(), own.size(), hipHostRegisterDefault));
  RETURNS(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(own.data() + 100, 10, 0));
  OK(hipHostGetDevicePointer(&mapped, own.data(), 0));
  OK(hipHostUnregister(own.data()));
  RETURNS(hipErrorHostMemoryNotRegistered, hipHostUnregister(own.data()));
  RETURNS(hipErrorInvalidValue, hipHostRegister(nullptr, 10, 0));

  // Pitched and three-dimensional memory.
  size_t pitch = 0;
  OK(hipMallocPitch((void**)&p, &pitch, 100, 10));
  EXPECT(pitch >= 100 && pitch % 64 == 0);
  OK(hipMemPtrGetInfo(p, &size));
  EXPECT(size >= pitch * 10);
  OK(hipFree(p));
  OK(hipMemAllocPitch((hipDeviceptr_t*)&p, &pitch, 100, 10, 4));
  OK(hipFree(p));
  RETURNS(hipErrorInvalidValue, hipMemAllocPitch((hipDeviceptr_t*)&p, &pitch, 100, 10, 3));
  hipPitchedPtr box;
  OK(hipMalloc3D(&box, make_hipExtent(30, 4, 5)));
  EXPECT(box.pitch >= 30);
  EXPECT_EQ(box.xsize, 30u);
  EXPECT_EQ(box.ysize, 4u);
  OK(hipMemPtrGetInfo(box.ptr, &size));
  EXPECT(size >= box.pitch * 4 * 5);
  OK(hipFree(box.ptr));

  // Managed memory.
  OK(hipMallocManaged((void**)&p, 4096, hipMemAttachGlobal));
  p[0] = 1;
  OK(hipPointerGetAttributes(&a, p));
  EXPECT_EQ(a.type, hipMemoryTypeManaged);
  EXPECT_EQ(a.isManaged, 1);
  OK(hipMemAdvise(p, 4096, hipMemAdviseSetReadMostly, 0));
  OK(hipMemAdvise(p, 4096, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
  OK(hipMemAdvise(p, 4096, hipMemAdviseSetAccessedBy, 0));
  OK(hipMemPrefetchAsync(p, 4096, 0, nullptr));
  int answer = -9;
  OK(hipMemRangeGetAttribute(&answer, 4, hipMemRangeAttributeReadMostly, p, 4096));
  EXPECT_EQ(answer, 1);
  OK(hipMemRangeGetAttribute(&answer, 4, hipMemRangeAttributePreferredLocation, p, 4096));
  EXPECT_EQ(answer, hipCpuDeviceId);
  int by[2] = {7, 7}, last = 7;
  void* data[] = {by, &last};
  size_t sizes[] = {8, 4};
  hipMemRangeAttribute asked[] = {hipMemRangeAttributeAccessedBy, hipMemRangeAttributeLastPrefetchLocation};
  OK(hipMemRangeGetAttributes(data, sizes, asked, 2, p, 4096));
  EXPECT_EQ(by[0], 0);
  EXPECT_EQ(by[1], hipInvalidDeviceId);
  EXPECT_EQ(last, 0);
#if HIP_VERSION_MAJOR >= 7
  hipMemLocation here{hipMemLocationTypeDevice, 0};
  OK(hipMemAdvise_v2(p, 4096, hipMemAdviseUnsetReadMostly, here));
  OK(hipMemPrefetchAsync_v2(p, 4096, here, 0, nullptr));
#endif
  OK(hipStreamAttachMemAsync(nullptr, p, 0, hipMemAttachHost));
  RETURNS(hipErrorInvalidValue, hipMemAdvise(p, 1 << 20, hipMemAdviseSetReadMostly, 0));
  OK(hipFree(p));
  RETURNS(hipErrorInvalidValue, hipMallocManaged((void**)&p, 16, 99));

  // Stream-ordered memory.
  hipMemPool_t pool = nullptr, other = nullptr;
  uint64_t used = 1, threshold = 1 << 20;
  OK(hipDeviceGetDefaultMemPool(&pool, 0));
  OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  OK(hipMallocAsync((void**)&p, 512, nullptr));
  OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 512u);
  char* first = p;
  OK(hipFreeAsync(p, nullptr));
  RETURNS(hipErrorInvalidValue, hipFreeAsync(p, nullptr));
  OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 0u);
  OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &used));
  EXPECT_EQ(used, 512u);  // below the threshold: kept
  OK(hipMallocAsync((void**)&p, 512, nullptr));
  EXPECT(p == first);  // and reused
  OK(hipFree(p));
  OK(hipMemPoolTrimTo(pool, 0));
  OK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &used));
  EXPECT_EQ(used, 0u);
  hipMemPoolProps props{};
  props.allocType = hipMemAllocationTypePinned;
  props.location = {hipMemLocationTypeDevice, 0};
  OK(hipMemPoolCreate(&other, &props));
  OK(hipDeviceSetMemPool(0, other));
  hipMemPool_t now = nullptr;
  OK(hipDeviceGetMemPool(&now, 0));
  EXPECT(now == other);
  OK(hipMallocFromPoolAsync((void**)&p, 64, other, nullptr));
  hipMemAccessFlags access;
  hipMemLocation where{hipMemLocationTypeDevice, 0};
  OK(hipMemPoolGetAccess(&access, other, &where));
  EXPECT_EQ(access, hipMemAccessFlagsProtReadWrite);
  hipMemAccessDesc wish{where, hipMemAccessFlagsProtReadWrite};
  OK(hipMemPoolSetAccess(other, &wish, 1));
  OK(hipFreeAsync(p, nullptr));
  OK(hipMemPoolDestroy(other));
  RETURNS(hipErrorInvalidValue, hipMemPoolDestroy(pool));  // the default pool stays
  size_t free_bytes = 0, total = 0;
  OK(hipMemGetInfo(&free_bytes, &total));
  EXPECT(free_bytes <= total && total > 0);
  return finish();
}
