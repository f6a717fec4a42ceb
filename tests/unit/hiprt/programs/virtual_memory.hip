// Virtual memory management: addresses and memory apart, contents that move with their handle.
#include "check.h"

__global__ void fill(int* p, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = value + i;
}

int main() {
  hipMemAllocationProp prop{};
  prop.type = hipMemAllocationTypePinned;
  prop.location = {hipMemLocationTypeDevice, 0};
  size_t granule = 0, recommended = 0;
  OK(hipMemGetAllocationGranularity(&granule, &prop, hipMemAllocationGranularityMinimum));
  OK(hipMemGetAllocationGranularity(&recommended, &prop, hipMemAllocationGranularityRecommended));
  EXPECT(granule > 0 && recommended % granule == 0);
  char *range = nullptr, *other = nullptr;
  OK(hipMemAddressReserve((void**)&range, 4 * recommended, 0, nullptr, 0));
  OK(hipMemAddressReserve((void**)&other, recommended, 0, nullptr, 0));
  RETURNS(hipErrorInvalidValue, hipMemAddressReserve((void**)&other, 100, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t a = nullptr, b = nullptr, again = nullptr;
  OK(hipMemCreate(&a, recommended, &prop, 0));
  OK(hipMemCreate(&b, recommended, &prop, 0));
  OK(hipMemMap(range, recommended, 0, a, 0));
  OK(hipMemMap(range + recommended, recommended, 0, b, 0));
  RETURNS(hipErrorInvalidValue, hipMemMap(range, recommended, 0, b, 0));        // taken
  RETURNS(hipErrorNotSupported, hipMemMap(other, recommended, 0, a, 0));        // one handle at two addresses
  hipMemAccessDesc wish{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  OK(hipMemSetAccess(range, 2 * recommended, &wish, 1));
  RETURNS(hipErrorInvalidValue, hipMemSetAccess(range, 3 * recommended, &wish, 1));  // the third piece is not mapped
  unsigned long long flags = 0;
  OK(hipMemGetAccess(&flags, &wish.location, range + recommended + 5));
  EXPECT_EQ(flags, (unsigned long long)hipMemAccessFlagsProtReadWrite);

  // One kernel over both pieces: the addresses are contiguous.
  const int n = (int)(2 * recommended / 4);
  fill<<<1, 256>>>((int*)range, n, 7);
  int value = 0;
  OK(hipMemcpy(&value, range + 2 * recommended - 4, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 7 + n - 1);

  hipMemAllocationProp got{};
  OK(hipMemGetAllocationPropertiesFromHandle(&got, a));
  EXPECT_EQ(got.location.id, 0);
  OK(hipMemRetainAllocationHandle(&again, range + 10));
  EXPECT(again == a);
  OK(hipMemRelease(again));

  // Contents go where the handle goes.
  OK(hipMemUnmap(range, recommended));
  RETURNS(hipErrorInvalidValue, hipMemUnmap(range, recommended));
  OK(hipMemMap(other, recommended, 0, a, 0));
  OK(hipMemSetAccess(other, recommended, &wish, 1));
  OK(hipMemcpy(&value, other + 400, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 107);

  RETURNS(hipErrorInvalidValue, hipFree(range));                       // not hipMalloc's
  RETURNS(hipErrorInvalidValue, hipMemAddressFree(other, recommended));  // still mapped
  OK(hipMemRelease(a));
  OK(hipMemUnmap(other, recommended));
  RETURNS(hipErrorInvalidValue, hipMemRelease(a));
  OK(hipMemAddressFree(other, recommended));
  OK(hipMemUnmap(range + recommended, recommended));
  OK(hipMemAddressFree(range, 4 * recommended));
  OK(hipMemRelease(b));
  return finish();
}
