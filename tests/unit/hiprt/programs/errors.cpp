// Error codes: names, texts, and which of them hipGetLastError keeps.
#include "check.h"

int main() {
  EXPECT(std::strcmp(hipGetErrorName(hipSuccess), "hipSuccess") == 0);
  EXPECT(std::strcmp(hipGetErrorString(hipSuccess), "no error") == 0);
  EXPECT(std::strcmp(hipGetErrorName(hipErrorInvalidValue), "hipErrorInvalidValue") == 0);
  EXPECT(std::strcmp(hipGetErrorString(hipErrorInvalidValue), "invalid argument") == 0);
  EXPECT(std::strcmp(hipGetErrorString(hipErrorIllegalAddress), "an illegal memory access was encountered") == 0);
  EXPECT(std::strcmp(hipGetErrorName((hipError_t)12345), "hipErrorUnknown") == 0);
  const char* text = nullptr;
  OK(hipDrvGetErrorName(hipErrorOutOfMemory, &text));
  EXPECT(std::strcmp(text, "hipErrorOutOfMemory") == 0);
  OK(hipDrvGetErrorString(hipErrorNotReady, &text));
  EXPECT(std::strcmp(text, "device not ready") == 0);
  EXPECT_EQ(hipDrvGetErrorName((hipError_t)12345, &text), hipErrorInvalidValue);
  EXPECT_EQ(hipDrvGetErrorString(hipSuccess, nullptr), hipErrorInvalidValue);

  OK(hipInit(0));
  EXPECT_EQ(hipInit(1), hipErrorInvalidValue);
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidValue);  // peeking does not clear
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);     // getting does
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_EQ(hipExtGetLastError(), hipErrorInvalidValue);  // the result of the last call that has one
  EXPECT_EQ(hipExtGetLastError(), hipSuccess);

  // What HIP 7 changed: a success no longer erases an earlier error.
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
  OK(hipSetDevice(0));
#if HIP_VERSION_MAJOR >= 7
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
#else
  EXPECT_EQ(hipGetLastError(), hipSuccess);
#endif
  int driver = 0, runtime = 0;
  OK(hipDriverGetVersion(&driver));
  OK(hipRuntimeGetVersion(&runtime));
  EXPECT_EQ(driver, HIP_VERSION);
  EXPECT_EQ(runtime, HIP_VERSION);
  RETURNS(hipErrorInvalidValue, hipRuntimeGetVersion(nullptr));
  OK(hipProfilerStart());
  OK(hipProfilerStop());
  return finish();
}
