// Several host threads, each with its own stream, memory and last error; one that waits for another's kernel.
#include <mutex>
#include <thread>

#include "check.h"

__global__ void add(int* p, int k) { p[threadIdx.x] += k; }
__global__ void wait_for(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  *out = *flag + 1;
}

int main() {
  std::mutex lock;
  std::vector<std::thread> threads;
  for (int k = 1; k <= 4; ++k) {
    threads.emplace_back([&, k] {
      hipStream_t s;
      int *p = nullptr, host[64];
      bool good = hipStreamCreate(&s) == hipSuccess && hipMalloc((void**)&p, 256) == hipSuccess;
      good = good && hipMemsetAsync(p, 0, 256, s) == hipSuccess;
      for (int i = 0; i < 50; ++i) add<<<1, 64, 0, s>>>(p, k);
      if (k == 2) good = good && hipSetDevice(99) == hipErrorInvalidDevice && hipGetLastError() == hipErrorInvalidDevice;
      good = good && hipGetLastError() == hipSuccess;  // the other threads' errors are not ours
      good = good && hipMemcpyAsync(host, p, 256, hipMemcpyDeviceToHost, s) == hipSuccess && hipStreamSynchronize(s) == hipSuccess;
      for (int value : host) good = good && value == 50 * k;
      std::lock_guard<std::mutex> guard(lock);
      EXPECT(good);
    });
  }
  for (std::thread& thread : threads) thread.join();

  // A kernel that spins on host memory ends when another thread writes it, and that thread may call HIP meanwhile.
  int *flag = nullptr, *out = nullptr;
  OK(hipHostMalloc((void**)&flag, 8, hipHostMallocMapped));
  out = flag + 1;
  flag[0] = flag[1] = 0;
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    int device = -1;
    if (hipGetDevice(&device) == hipSuccess) __atomic_store_n(flag, 41, __ATOMIC_RELEASE);
  });
  wait_for<<<1, 1>>>(flag, out);
  OK(hipDeviceSynchronize());
  writer.join();
  EXPECT_EQ(*out, 42);
  return finish();
}
