// Faults of kernels: the launch succeeds, the next wait reports, everything after returns the same error until a reset.
#include <cassert>

#include "check.h"

__global__ void wild_store(int* p) { p[0] = 1; }
__global__ void give_up() { __builtin_trap(); }
__global__ void claim(int x) { assert(x > 0); }
__global__ void fine(int* p) { p[0] = 7; }

int main(int argc, char** argv) {
  int *p = nullptr, value = 0;
  OK(hipMalloc((void**)&p, 4));
  wild_store<<<1, 1>>>((int*)0x1000);
  OK(hipGetLastError());
  RETURNS(hipErrorIllegalAddress, hipDeviceSynchronize());
  RETURNS(hipErrorIllegalAddress, hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
  RETURNS(hipErrorIllegalAddress, hipMalloc((void**)&p, 4));
  fine<<<1, 1>>>(p);
  EXPECT_EQ(hipGetLastError(), hipErrorIllegalAddress);
  RETURNS(hipErrorIllegalAddress, hipStreamSynchronize(nullptr));
  OK(hipDeviceReset());
  OK(hipMalloc((void**)&p, 4));
  fine<<<1, 1>>>(p);
  OK(hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 7);

  give_up<<<1, 1>>>();
  RETURNS(hipErrorLaunchFailure, hipDeviceSynchronize());
  OK(hipDeviceReset());
  claim<<<1, 1>>>(1);
  OK(hipDeviceSynchronize());
  std::fflush(stdout);
  claim<<<1, 1>>>(-1);
  RETURNS(hipErrorAssert, hipDeviceSynchronize());
  OK(hipDeviceReset());
  OK(hipDeviceSynchronize());
  return finish();
}
