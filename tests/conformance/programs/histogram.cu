// A histogram in shared memory, weights in constant memory, device code in a header of its own, two streams and an event.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "bins.cuh"

#define CHECK(call)                                                                  \
  do {                                                                               \
    cudaError_t error = (call);                                                      \
    if (error != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

__constant__ unsigned weights[kBins];
__device__ unsigned n_blocks;

__global__ void histogram(const unsigned* in, int n, unsigned* out) {
  extern __shared__ unsigned bins[];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) add_to(bins, in[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) atomicAdd(&out[i], bins[i]);
  if (threadIdx.x == 0) atomicAdd(&n_blocks, 1u);
}

__global__ void weigh(unsigned* bins) { bins[threadIdx.x] *= weights[threadIdx.x]; }

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5000;
  if (n == -1) return 3;  // for the tests of exit codes
  if (n == -2) abort();
  unsigned *host = new unsigned[n], w[kBins], got[kBins], blocks = 0;
  for (int i = 0; i < n; ++i) host[i] = (unsigned)i * 2654435761u >> 16;
  for (int i = 0; i < kBins; ++i) w[i] = i + 1;
  unsigned *in, *out;
  cudaStream_t first, second;
  cudaEvent_t counted;
  CHECK(cudaMalloc(&in, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, sizeof got));
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaEventCreateWithFlags(&counted, cudaEventDisableTiming));
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
  CHECK(cudaMemcpyAsync(in, host, n * sizeof(unsigned), cudaMemcpyHostToDevice, first));
  CHECK(cudaMemsetAsync(out, 0, sizeof got, first));
  histogram<<<6, 128, kBins * sizeof(unsigned), first>>>(in, n, out);
  CHECK(cudaEventRecord(counted, first));
  CHECK(cudaStreamWaitEvent(second, counted, 0));
  weigh<<<1, kBins, 0, second>>>(out);
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(&blocks, n_blocks, sizeof blocks));
  for (int i = 0; i < kBins; ++i) printf("%u%c", got[i], i + 1 < kBins ? ' ' : '\n');
  printf("blocks %u\n", blocks);
  delete[] host;
  return 0;
}
