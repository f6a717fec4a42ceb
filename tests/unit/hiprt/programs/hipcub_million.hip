// hipcub's device-wide reduce, scan and radix sort of a million elements: exact.
#include <hipcub/hipcub.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "check.h"

static unsigned hash32(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

template <class Call>
static void with_storage(Call call) {
  void* storage = nullptr;
  size_t bytes = 0;
  OK(call(storage, bytes));
  OK(hipMalloc(&storage, bytes));
  const auto start = std::chrono::steady_clock::now();
  OK(call(storage, bytes));
  OK(hipDeviceSynchronize());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "%.2f s\n", seconds.count());
  OK(hipFree(storage));
}

int main() {
  const int n = 1 << 20;
  std::vector<unsigned> in(n), out(n), want(n);
  for (int i = 0; i < n; ++i) in[i] = hash32(i);
  unsigned *keys, *result, *values, *values_out;
  OK(hipMalloc((void**)&keys, n * 4));
  OK(hipMalloc((void**)&result, n * 4));
  OK(hipMalloc((void**)&values, n * 4));
  OK(hipMalloc((void**)&values_out, n * 4));
  OK(hipMemcpy(keys, in.data(), n * 4, hipMemcpyHostToDevice));

  with_storage([&](void* s, size_t& b) { return hipcub::DeviceReduce::Sum(s, b, keys, result, n); });
  OK(hipMemcpy(out.data(), result, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(out[0], std::accumulate(in.begin(), in.end(), 0u));
  with_storage([&](void* s, size_t& b) { return hipcub::DeviceReduce::Max(s, b, keys, result, n); });
  OK(hipMemcpy(out.data(), result, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(out[0], *std::max_element(in.begin(), in.end()));

  with_storage([&](void* s, size_t& b) { return hipcub::DeviceScan::ExclusiveSum(s, b, keys, result, n); });
  OK(hipMemcpy(out.data(), result, n * 4, hipMemcpyDeviceToHost));
  std::exclusive_scan(in.begin(), in.end(), want.begin(), 0u);
  EXPECT(out == want);

  with_storage([&](void* s, size_t& b) { return hipcub::DeviceRadixSort::SortKeys(s, b, keys, result, n); });
  OK(hipMemcpy(out.data(), result, n * 4, hipMemcpyDeviceToHost));
  want = in;
  std::sort(want.begin(), want.end());
  EXPECT(out == want);

  std::vector<unsigned> order(n), got(n);
  std::iota(order.begin(), order.end(), 0u);
  OK(hipMemcpy(values, order.data(), n * 4, hipMemcpyHostToDevice));
  with_storage([&](void* s, size_t& b) { return hipcub::DeviceRadixSort::SortPairs(s, b, keys, result, values, values_out, n, 0, 16); });
  OK(hipMemcpy(got.data(), values_out, n * 4, hipMemcpyDeviceToHost));
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return (in[a] & 0xffff) < (in[b] & 0xffff); });
  EXPECT(got == order);  // by the low 16 bits, equal keys in their old order
  return finish();
}
