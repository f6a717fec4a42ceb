// Integer reductions over blocks in the spellings that the warp model native64 rewrites, and floats, which it must leave.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <class T> __inline__ __device__ T warp_sum(T v) {
#pragma unroll
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

template <class T> __device__ T block_sum(T v) {
  static __shared__ T part[32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / warpSize ? part[lane] : T(0);
  if (warp == 0) v = warp_sum(v);
  return v;
}

template <class T> __global__ void sums(const T* in, T* out, int n) {
  T v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  T total = block_sum(v);
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

__global__ void extremes(const int* in, int* low, int* high) {
  __shared__ int least[32], most[32];
  int t = threadIdx.x, a = in[blockIdx.x * blockDim.x + t], b = a;
  int warps = (blockDim.x + 31) / 32;
  for (int o = 16; o; o >>= 1) a = min(a, __shfl_xor_sync(~0u, a, o));
  for (int o = 16; o >= 1; o >>= 1) b = max(__shfl_xor_sync(~0u, b, o, 32), b);
  if ((t & 31) == 0) least[t >> 5] = a;
  if (!(t & 31)) most[t >> 5] = b;
  __syncthreads();
  if (t < 32) {
    a = t < warps ? least[t] : INT_MAX;
    for (int o = 16; o; o >>= 1) a = min(a, __shfl_xor_sync(~0u, a, o));
    if (t == 0) low[blockIdx.x] = a;
  }
  if (t == 0) {
    int all = most[0];
    for (int w = 1; w < warps; ++w) all = max(all, most[w]);
    high[blockIdx.x] = all;
  }
}

__global__ void bits(const unsigned long long* in, unsigned long long* every, unsigned long long* some,
                     unsigned long long* odd, int rounds) {
  __shared__ unsigned long long part[32];
  for (int r = 0; r < rounds; ++r) {
    unsigned long long x = in[(r * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
    unsigned long long v = x, w = x;
    for (int o = 16; o; o >>= 1) v &= __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned long long all = ~0ull;
      for (int i = 0; i < (blockDim.x + 31) / 32; i++) all &= part[i];
      every[r * gridDim.x + blockIdx.x] = all;
    }
    __syncthreads();
    for (int o = 16; o; o >>= 1) w |= __shfl_down_sync(~0u, w, o);
    if (threadIdx.x % 32 == 0) atomicOr(&some[blockIdx.x], w);
    unsigned long long y = x;
    y ^= __shfl_xor_sync(~0u, y, 16);
    y ^= __shfl_xor_sync(~0u, y, 8);
    y ^= __shfl_xor_sync(~0u, y, 4);
    y ^= __shfl_xor_sync(~0u, y, 2);
    y ^= __shfl_xor_sync(~0u, y, 1);
    if (threadIdx.x % 32 == 0) atomicXor(odd, y);
  }
}

__global__ void votes(const int* in, unsigned* count, int* sum, int* most, int limit) {
  int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
  unsigned here = __ballot_sync(0xffffffffu, v > limit);
  if (t % 32 == 0) atomicAdd(count + blockIdx.x, __popc(here));
  int s = __reduce_add_sync(0xffffffffu, v);
  if (t % 32 == 0) atomicAdd(sum, s);
  int m = __reduce_max_sync(0xffffffffu, v);
  if (t % 32 == 0) atomicMax(&most[blockIdx.x], m);
}

static unsigned mixed(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

int main() {
  const int n = 8192, grid = 4;
  int *in, *out;
  float *fin, *fout;
  unsigned long long *lin, *lout;
  cudaMallocManaged(&in, n * 4), cudaMallocManaged(&out, 64 * 4);
  cudaMallocManaged(&fin, n * 4), cudaMallocManaged(&fout, 64 * 4);
  cudaMallocManaged(&lin, n * 8), cudaMallocManaged(&lout, 64 * 8);
  for (int i = 0; i < n; ++i) {
    in[i] = (int)mixed(i) >> 3;
    fin[i] = (float)in[i] * 1e-3f;
    lin[i] = (unsigned long long)mixed(i) << 32 | mixed(~i) | 0x1000;
  }
  const int sizes[] = {32, 64, 96, 256, 320, 1024};
  int bad = 0;
  for (int k = 0; k < 6; ++k) {
    int b = sizes[k];
    sums<int><<<grid, b>>>(in, out, n);
    sums<float><<<grid, b>>>(fin, fout, n);
    sums<unsigned long long><<<grid, b>>>(lin, lout, n);
    cudaDeviceSynchronize();
    unsigned total = 0, want = 0;
    unsigned long long ltotal = 0, lwant = 0;
    for (int i = 0; i < n; ++i) want += (unsigned)in[i], lwant += lin[i];
    for (int i = 0; i < grid; ++i) total += (unsigned)out[i], ltotal += lout[i];
    bad += (total != want) + (ltotal != lwant);
    unsigned hash = 0;
    for (int i = 0; i < grid; ++i) hash = hash * 31 + __builtin_bit_cast(unsigned, fout[i]);
    printf("sums_%d: %u %llu float %08x\n", b, total, ltotal, hash);

    extremes<<<grid, b>>>(in, out, out + 8);
    cudaDeviceSynchronize();
    for (int g = 0; g < grid; ++g) {
      int low = INT_MAX, high = INT_MIN;
      for (int i = g * b; i < (g + 1) * b; ++i) low = in[i] < low ? in[i] : low, high = in[i] > high ? in[i] : high;
      bad += (out[g] != low) + (out[8 + g] != high);
    }
    const int rounds = 2;
    for (int i = 0; i < 64; ++i) lout[i] = 0;
    bits<<<grid, b>>>(lin, lout, lout + 16, lout + 32, rounds);
    cudaDeviceSynchronize();
    unsigned long long odd = 0;
    for (int g = 0; g < grid; ++g) {
      unsigned long long some = 0;
      for (int r = 0; r < rounds; ++r) {
        unsigned long long every = ~0ull;
        for (int i = (r * grid + g) * b; i < (r * grid + g + 1) * b; ++i) every &= lin[i], some |= lin[i], odd ^= lin[i];
        bad += lout[r * grid + g] != every;
      }
      bad += lout[16 + g] != some;
    }
    bad += lout[32] != odd;

    for (int i = 0; i < 64; ++i) out[i] = i < 16 ? 0 : INT_MIN;
    out[8] = 0;
    votes<<<grid, b>>>(in, (unsigned*)out, out + 8, out + 16, 1000);
    cudaDeviceSynchronize();
    unsigned sum = 0;
    for (int g = 0; g < grid; ++g) {
      int count = 0, high = INT_MIN;
      for (int i = g * b; i < (g + 1) * b; ++i) count += in[i] > 1000, high = in[i] > high ? in[i] : high, sum += in[i];
      bad += (out[g] != count) + (out[16 + g] != high);
    }
    bad += (unsigned)out[8] != sum;
  }
  printf("bad %d\n", bad);
  return bad != 0;
}
