// Assertions of the runtime's test programs: a failed one prints its place and makes the program exit with 1.
#pragma once

#ifndef __HIPCC__
#define __HIP_PLATFORM_AMD__ 1  // host code of a plain C++ compiler
#endif
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);   \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

#define EXPECT_EQ(got, want)                                                                                  \
  do {                                                                                                        \
    const auto got_ = (got);                                                                                  \
    const auto want_ = (want);                                                                                \
    if (!(got_ == want_)) {                                                                                   \
      std::printf("%s:%d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, #got, (long long)got_, (long long)want_, #want); \
      ++failures;                                                                                             \
    }                                                                                                         \
  } while (0)

// The call returns exactly this code.
#define RETURNS(code, call)                                                                                            \
  do {                                                                                                                 \
    const hipError_t got_ = (call);                                                                                    \
    if (got_ != (code)) {                                                                                              \
      std::printf("%s:%d: %s returned %s, not %s\n", __FILE__, __LINE__, #call, hipGetErrorName(got_), #code);         \
      ++failures;                                                                                                      \
    }                                                                                                                  \
  } while (0)

#define OK(call) RETURNS(hipSuccess, call)

inline int finish() {
  if (failures == 0) std::printf("ok\n");
  return failures != 0;
}
