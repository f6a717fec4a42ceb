// Device printf: conversions, strings, order within a wave, and device malloc behind it. The output is the test.
#include "check.h"

__global__ void words(const char* name) {
  printf("%d|%5d|%-5d|%05d|%+d|%i\n", -7, 42, 43, 44, 45, 46);
  printf("%u|%x|%X|%#x|%o|%c|%%\n", 4000000000u, 0xbeef, 0xbeef, 255, 8, 'q');
  printf("%lld|%llu|%ld|%hd|%hhu\n", -5000000000ll, 18000000000000000000ull, -3l, (short)-2, (unsigned char)250);
  printf("%f|%.3f|%8.2f|%e|%g|%a\n", 1.5, 2.0 / 3.0, -3.14159, 12345.678, 0.0001, 1.0);
  printf("%s|%10s|%.3s|%*d|%-*d|\n", "text", "right", "cut this", 6, 7, 6, 8);
  printf("a string of more than fifty-six characters takes several packets: %s\n", "and so does its argument, which is also long enough");
  printf("no arguments\n");
}
__global__ void lanes() {
  if (threadIdx.x % 16 == 3) printf("lane %d of block %d\n", threadIdx.x, blockIdx.x);
}
__global__ void heap(int* out) {
  int* memory = (int*)malloc(64);
  memory[3] = threadIdx.x * 2;
  int* large = (int*)malloc(10000);
  large[2000] = memory[3] + 1;
  out[threadIdx.x] = large[2000];
  free(memory);
  free(large);
}

int main() {
  std::printf("host before\n");
  words<<<1, 1>>>(nullptr);
  OK(hipDeviceSynchronize());
  lanes<<<1, 64>>>();
  OK(hipDeviceSynchronize());
  int *p = nullptr, host[64];
  OK(hipMalloc((void**)&p, 256));
  heap<<<1, 64>>>(p);
  OK(hipMemcpy(host, p, 256, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(host[i], i * 2 + 1);
  std::printf("host after\n");
  return finish();
}
