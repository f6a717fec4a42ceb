// Launches of every kind, their error codes, function attributes, occupancy.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_ext.h>

#include "check.h"

__global__ void where(int* out) {
  int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[b * blockDim.x * blockDim.y * blockDim.z + t] = blockIdx.z * 1000 + threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
}
struct Mixed {
  char c;
  double d;
  short s;
};
__global__ void arguments(char c, Mixed m, const float* in, long long big, float* out) {
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = c + (float)m.d + m.s + in[1] + (float)big;
}
__global__ void dynamic_lds(int* out, int words) {
  extern __shared__ int words_of_block[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) words_of_block[i] = i * 3;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = words_of_block[words - 1];
}
__global__ void __launch_bounds__(64) small_blocks(int* out) { out[threadIdx.x] = blockDim.x; }
__global__ void static_lds(int* out) {
  __shared__ int buffer[1000];
  buffer[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
__global__ void whole_grid(int* sum, int* out) {
  if (threadIdx.x == 0) atomicAdd(sum, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *sum;
}
__global__ void count_items(int* out) { atomicAdd(out, 1); }
__global__ void nothing() {}

// hip_ext.h declares these two with C++ linkage; the library also exports them with C linkage.
hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                    hipStream_t s, void** p, void** e, hipEvent_t start, hipEvent_t stop);

int main() {
  int *p = nullptr, host[1024];
  float* f = nullptr;
  OK(hipMalloc((void**)&p, 1 << 16));
  OK(hipMalloc((void**)&f, 64));
  hipStream_t s;
  OK(hipStreamCreate(&s));
  const auto fetch = [&](int n) { OK(hipMemcpy(host, p, n * 4, hipMemcpyDeviceToHost)); };

  where<<<dim3(2, 2, 2), dim3(4, 3, 2)>>>(p);
  OK(hipGetLastError());
  fetch(192);
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(host[191], 1000 + 100 + 20 + 3);
  EXPECT_EQ(host[24 * 3 + 12 + 4], 0 + 100 + 10);

  float in[2] = {0.5f, 2.25f}, out = 0;
  OK(hipMemcpy(f, in, 8, hipMemcpyHostToDevice));
  Mixed m{1, 100.5, -7};
  char c = 3;
  long long big = 1000;
  float *source = f, *target = f + 4;
  void* list[] = {&c, &m, &source, &big, &target};
  OK(hipLaunchKernel((const void*)arguments, dim3(1), dim3(64), list, 0, s));
  OK(hipStreamSynchronize(s));
  OK(hipMemcpy(&out, f + 4, 4, hipMemcpyDeviceToHost));
  EXPECT(out == 3 + 100.5f - 7 + 2.25f + 1000);
  big = 0;
  OK(hipLaunchKernel_spt((const void*)arguments, dim3(1), dim3(64), list, 0, nullptr));
  OK(hipStreamSynchronize(hipStreamPerThread));
  OK(hipMemcpy(&out, f + 4, 4, hipMemcpyDeviceToHost));
  EXPECT(out == 3 + 100.5f - 7 + 2.25f);

  // The same launch in its old spelling.
  int words = 16000;  // 62.5 KiB
  OK(hipConfigureCall(dim3(1), dim3(64), words * 4, nullptr));
  OK(hipSetupArgument(&p, 8, 0));
  OK(hipSetupArgument(&words, 4, 8));
  OK(hipLaunchByPtr((const void*)dynamic_lds));
  fetch(1);
  EXPECT_EQ(host[0], (words - 1) * 3);
  RETURNS(hipErrorMissingConfiguration, hipLaunchByPtr((const void*)dynamic_lds));
  RETURNS(hipErrorMissingConfiguration, hipSetupArgument(&p, 8, 0));

  // Events around a launch, modules' function handles, sizes in work-items.
  hipEvent_t start, stop;
  OK(hipEventCreate(&start));
  OK(hipEventCreate(&stop));
  void* one[] = {&p};
  OK(hipExtLaunchKernel((const void*)count_items, dim3(3), dim3(50), one, 0, s, start, stop, 0));
  float ms = -1;
  OK(hipEventSynchronize(stop));
  OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT(ms >= 0);
  hipFunction_t counter = nullptr;
  OK(hipGetFuncBySymbol(&counter, (const void*)count_items));
  EXPECT(std::strcmp(hipKernelNameRef(counter), "_Z11count_itemsPi") == 0);
  EXPECT(std::strcmp(hipKernelNameRefByPtr((const void*)count_items, nullptr), "_Z11count_itemsPi") == 0);
  OK(hipMemset(p, 0, 4));
  OK(hipModuleLaunchKernel(counter, 2, 2, 1, 30, 1, 1, 0, s, one, nullptr));
  OK(hipStreamSynchronize(s));
  fetch(1);
  EXPECT_EQ(host[0], 120);
  size_t bytes = 8;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &p, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  OK(hipModuleLaunchKernel(counter, 1, 1, 1, 7, 1, 1, 0, nullptr, nullptr, extra));
  OK(hipExtModuleLaunchKernel(counter, 100, 1, 1, 64, 1, 1, 0, nullptr, one, nullptr, start, stop, 0));  // a partial block
  OK(hipHccModuleLaunchKernel(counter, 128, 1, 1, 64, 1, 1, 0, nullptr, one, nullptr, nullptr, nullptr));
  fetch(1);
  EXPECT_EQ(host[0], 120 + 7 + 100 + 128);
  RETURNS(hipErrorInvalidValue, hipModuleLaunchKernel(counter, 1, 1, 1, 7, 1, 1, 0, nullptr, one, extra));
  RETURNS(hipErrorInvalidHandle, hipModuleLaunchKernel(nullptr, 1, 1, 1, 7, 1, 1, 0, nullptr, one, nullptr));

  // Cooperative: every block sees every block's arrival.
  int blocks = 40, *flag = p, *seen = p + 1;
  void* both[] = {&flag, &seen};
  OK(hipMemset(p, 0, 4));
  OK(hipLaunchCooperativeKernel((const void*)whole_grid, dim3(blocks), dim3(64), both, 0, s));
  OK(hipStreamSynchronize(s));
  fetch(blocks + 1);
  for (int i = 1; i <= blocks; ++i) EXPECT_EQ(host[i], blocks);
  OK(hipMemset(p, 0, 4));
  OK(hipLaunchCooperativeKernel_spt((const void*)whole_grid, dim3(8), dim3(64), both, 0, nullptr));
  OK(hipStreamSynchronize(hipStreamPerThread));
  fetch(2);
  EXPECT_EQ(host[1], 8);
  hipFunction_t grid_function = nullptr;
  OK(hipGetFuncBySymbol(&grid_function, (const void*)whole_grid));
  OK(hipMemset(p, 0, 4));
  OK(hipModuleLaunchCooperativeKernel(grid_function, 5, 1, 1, 64, 1, 1, 0, s, both));
  OK(hipStreamSynchronize(s));
  fetch(2);
  EXPECT_EQ(host[1], 5);
  RETURNS(hipErrorCooperativeLaunchTooLarge, hipLaunchCooperativeKernel((const void*)whole_grid, dim3(1 << 20), dim3(64), both, 0, s));
  hipLaunchParams many{(void*)count_items, dim3(2), dim3(5), one, 0, s};
  OK(hipMemset(p, 0, 4));
  OK(hipLaunchCooperativeKernelMultiDevice(&many, 1, 0));
  OK(hipExtLaunchMultiKernelMultiDevice(&many, 1, 0));
  hipFunctionLaunchParams module_many{counter, 3, 1, 1, 4, 1, 1, 0, s, one};
  OK(hipModuleLaunchCooperativeKernelMultiDevice(&module_many, 1, 0));
  OK(hipStreamSynchronize(s));
  fetch(1);
  EXPECT_EQ(host[0], 10 + 10 + 12);
  many.stream = nullptr;
  RETURNS(hipErrorInvalidHandle, hipLaunchCooperativeKernelMultiDevice(&many, 1, 0));
#if HIP_VERSION_MAJOR >= 7
  hipLaunchConfig_t config{dim3(2), dim3(9), 0, s, nullptr, 0};
  OK(hipMemset(p, 0, 4));
  OK(hipLaunchKernelExC(&config, (const void*)count_items, one));
  HIP_LAUNCH_CONFIG driver{1, 1, 1, 5, 1, 1, 0, s, nullptr, 0};
  OK(hipDrvLaunchKernelEx(&driver, counter, one, nullptr));
  OK(hipStreamSynchronize(s));
  fetch(1);
  EXPECT_EQ(host[0], 23);
#endif

  // Launches that must not happen. HIP 7 tells "too many threads" from other bad values.
#if HIP_VERSION_MAJOR >= 7
  const hipError_t too_many = hipErrorInvalidConfiguration;
#else
  const hipError_t too_many = hipErrorInvalidValue;
#endif
  nothing<<<1, 1025>>>();
  EXPECT_EQ(hipPeekAtLastError(), too_many);
  EXPECT_EQ(hipGetLastError(), too_many);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  nothing<<<0, 64>>>();
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  nothing<<<1, 0>>>();
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
  nothing<<<1, 64, 65537>>>();  // LDS of a workgroup: 64 KiB
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  small_blocks<<<1, 128>>>(p);  // beyond its launch bounds
  EXPECT_EQ(hipGetLastError(), hipErrorLaunchFailure);
  RETURNS(hipErrorInvalidDeviceFunction, hipLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr));
  RETURNS(hipErrorInvalidDeviceFunction, hipLaunchKernel((const void*)main, dim3(1), dim3(1), nullptr, 0, nullptr));
  RETURNS(hipErrorInvalidValue, hipLaunchKernel((const void*)count_items, dim3(1), dim3(1), nullptr, 0, nullptr));
  OK(hipStreamDestroy(s));
  RETURNS(hipErrorContextIsDestroyed, hipLaunchKernel((const void*)count_items, dim3(1), dim3(1), one, 0, s));
  nothing<<<1, 64>>>();  // none of it left the device broken
  OK(hipDeviceSynchronize());

  // Attributes.
  hipFuncAttributes a;
  OK(hipFuncGetAttributes(&a, (const void*)static_lds));
  EXPECT_EQ(a.sharedSizeBytes, 4000u);
  EXPECT_EQ(a.maxThreadsPerBlock, 1024);
  EXPECT_EQ(a.maxDynamicSharedSizeBytes, 65536 - 4000);
  EXPECT(a.numRegs > 0);
  OK(hipFuncGetAttributes(&a, (const void*)small_blocks));
  EXPECT_EQ(a.maxThreadsPerBlock, 64);
  hipFunction_t handle = nullptr;
  OK(hipGetFuncBySymbol(&handle, (const void*)static_lds));
  int value = 0;
  OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle));
  EXPECT_EQ(value, 4000);
  RETURNS(hipErrorInvalidDeviceFunction, hipFuncGetAttributes(&a, nullptr));
  OK(hipFuncSetAttribute((const void*)static_lds, hipFuncAttributeMaxDynamicSharedMemorySize, 1000));
  OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, handle));
  EXPECT_EQ(value, 1000);
  RETURNS(hipErrorInvalidValue, hipFuncSetAttribute((const void*)static_lds, hipFuncAttributeMaxDynamicSharedMemorySize, 65536));
  OK(hipFuncSetCacheConfig((const void*)static_lds, hipFuncCachePreferL1));
  OK(hipFuncSetSharedMemConfig((const void*)static_lds, hipSharedMemBankSizeFourByte));

  // Occupancy of small kernels: 8 waves per SIMD and 4 SIMDs hold 8 blocks of 256; 64 KiB of LDS holds 2 blocks of 30000 bytes.
  int active = 0, grid = 0, block = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&active, (const void*)where, 256, 0));
  EXPECT_EQ(active, 8);
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&active, (const void*)where, 256, 30000, hipOccupancyDefault));
  EXPECT_EQ(active, 2);
  OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&active, handle, 64, 0));
  EXPECT_EQ(active, 16);  // 65536 / 4000
  OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&active, handle, 64, 0, 0));
  EXPECT_EQ(active, 16);
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, (const void*)where, 0, 0));
  EXPECT_EQ(block, 1024);
  int units = 0;
  OK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
  EXPECT_EQ(grid, 2 * units);
  OK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, handle, 0, 512));
  EXPECT_EQ(block, 512);
  OK(hipModuleOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, handle, 0, 0, 0));
  EXPECT_EQ(block, 1024);
  RETURNS(hipErrorInvalidValue, hipOccupancyMaxActiveBlocksPerMultiprocessor(&active, (const void*)where, 0, 0));
#if HIP_VERSION_MAJOR >= 7
  OK(hipOccupancyAvailableDynamicSMemPerBlock(&bytes, (const void*)where, 2, 256));
  EXPECT_EQ(bytes, 32768u);
#endif
  return finish();
}
