// C = A * B^T with CuTe, as one writes it for SM80: cp.async into a ring of swizzled tiles in shared memory, ldmatrix
// into registers one step ahead, mma.sync with fp32 accumulators. A is (m, k), B is (n, k), C is (m, n) in fp32, all with
// the last index contiguous; m and n are multiples of 64, k of 64.
//
// Reads from standard input: int32 bf16, m, n, k; A; B. Writes C to standard output.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include <cute/tensor.hpp>

using namespace cute;

template <class Element>
struct Traits {
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kStages = 3;

  using BlockM = _64;
  using BlockN = _64;
  using BlockK = _64;

  using Atom = std::conditional_t<std::is_same_v<Element, half_t>, SM80_16x8x16_F32F16F16F32_TN, SM80_16x8x16_F32BF16BF16F32_TN>;
  using Mma = TiledMMA<MMA_Atom<Atom>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;

  // Rows of 128 bytes, their 16-byte parts exchanged by row.
  using SmemAtom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using SmemA = decltype(tile_to_shape(SmemAtom{}, Shape<BlockM, BlockK, Int<kStages>>{}));
  using SmemB = decltype(tile_to_shape(SmemAtom{}, Shape<BlockN, BlockK, Int<kStages>>{}));

  using GmemCopy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, Element>{},
                                            Layout<Shape<Int<kThreads / 8>, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  using SmemCopy = Copy_Atom<SM75_U32x4_LDSM_N, Element>;

  static constexpr int kSmemBytes = (cosize_v<SmemA> + cosize_v<SmemB>) * sizeof(Element);
};

template <class Element>
__global__ void __launch_bounds__(Traits<Element>::kThreads)
gemm_kernel(const Element* a, const Element* b, float* c, int m, int n, int k) {
  using T = Traits<Element>;
  extern __shared__ __align__(16) unsigned char shared[];

  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<typename T::BlockM, typename T::BlockK>{}, make_coord(blockIdx.x, _));  // (m, k, tiles)
  Tensor gB = local_tile(mB, Shape<typename T::BlockN, typename T::BlockK>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(mC, Shape<typename T::BlockM, typename T::BlockN>{}, make_coord(blockIdx.x, blockIdx.y));

  Tensor sA = make_tensor(make_smem_ptr(reinterpret_cast<Element*>(shared)), typename T::SmemA{});  // (m, k, stages)
  Tensor sB = make_tensor(sA.data() + cosize_v<typename T::SmemA>, typename T::SmemB{});

  typename T::GmemCopy gmem_copy;
  auto thread_copy = gmem_copy.get_slice(threadIdx.x);
  Tensor from_a = thread_copy.partition_S(gA);
  Tensor from_b = thread_copy.partition_S(gB);
  Tensor to_a = thread_copy.partition_D(sA);
  Tensor to_b = thread_copy.partition_D(sB);

  typename T::Mma mma;
  auto thread_mma = mma.get_slice(threadIdx.x);
  Tensor rA = thread_mma.partition_fragment_A(sA(_, _, 0));  // (values, m, k)
  Tensor rB = thread_mma.partition_fragment_B(sB(_, _, 0));
  Tensor tC = thread_mma.partition_C(gC);
  Tensor acc = thread_mma.make_fragment_C(tC);
  clear(acc);

  auto copy_a = make_tiled_copy_A(typename T::SmemCopy{}, mma);
  auto copy_b = make_tiled_copy_B(typename T::SmemCopy{}, mma);
  Tensor tA = copy_a.get_slice(threadIdx.x).partition_S(sA);
  Tensor tB = copy_b.get_slice(threadIdx.x).partition_S(sB);
  Tensor rA_view = copy_a.get_slice(threadIdx.x).retile_D(rA);
  Tensor rB_view = copy_b.get_slice(threadIdx.x).retile_D(rB);

  const int tiles = size<2>(gA);
  for (int tile = 0; tile < T::kStages - 1; ++tile) {
    if (tile < tiles) {
      copy(gmem_copy, from_a(_, _, _, tile), to_a(_, _, _, tile));
      copy(gmem_copy, from_b(_, _, _, tile), to_b(_, _, _, tile));
    }
    cp_async_fence();
  }

  constexpr int steps = decltype(size<2>(rA))::value;
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile % T::kStages;
    cp_async_wait<T::kStages - 2>();
    __syncthreads();
    const int next = tile + T::kStages - 1;
    if (next < tiles) {
      copy(gmem_copy, from_a(_, _, _, next), to_a(_, _, _, next % T::kStages));
      copy(gmem_copy, from_b(_, _, _, next), to_b(_, _, _, next % T::kStages));
    }
    cp_async_fence();

    copy(copy_a, tA(_, _, _0{}, stage), rA_view(_, _, _0{}));
    copy(copy_b, tB(_, _, _0{}, stage), rB_view(_, _, _0{}));
    CUTE_UNROLL
    for (int step = 0; step < steps; ++step) {
      if (step + 1 < steps) {
        copy(copy_a, tA(_, _, step + 1, stage), rA_view(_, _, step + 1));
        copy(copy_b, tB(_, _, step + 1, stage), rB_view(_, _, step + 1));
      }
      cute::gemm(mma, rA(_, _, step), rB(_, _, step), acc);
    }
  }
  copy(acc, tC);
}

static bool check(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}

template <class Element>
static int run(int m, int n, int k) {
  using T = Traits<Element>;
  std::vector<std::uint16_t> a(std::size_t(m) * k), b(std::size_t(n) * k);
  std::vector<float> c(std::size_t(m) * n);
  if (std::fread(a.data(), 2, a.size(), stdin) != a.size() || std::fread(b.data(), 2, b.size(), stdin) != b.size()) return 2;
  Element *device_a = nullptr, *device_b = nullptr;
  float* device_c = nullptr;
  if (!check(cudaMalloc(&device_a, a.size() * 2)) || !check(cudaMalloc(&device_b, b.size() * 2)) ||
      !check(cudaMalloc(&device_c, c.size() * 4)))
    return 1;
  if (!check(cudaMemcpy(device_a, a.data(), a.size() * 2, cudaMemcpyHostToDevice)) ||
      !check(cudaMemcpy(device_b, b.data(), b.size() * 2, cudaMemcpyHostToDevice)))
    return 1;
  if (!check(cudaFuncSetAttribute(gemm_kernel<Element>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kSmemBytes))) return 1;
  gemm_kernel<Element><<<dim3(m / 64, n / 64), T::kThreads, T::kSmemBytes>>>(device_a, device_b, device_c, m, n, k);
  if (!check(cudaGetLastError()) || !check(cudaMemcpy(c.data(), device_c, c.size() * 4, cudaMemcpyDeviceToHost))) return 1;
  std::fwrite(c.data(), 4, c.size(), stdout);
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return 0;
}

int main() {
  std::int32_t header[4];
  if (std::fread(header, 4, 4, stdin) != 4 || header[1] % 64 || header[2] % 64 || header[3] % 64) return 2;
  return header[0] ? run<bfloat16_t>(header[1], header[2], header[3]) : run<half_t>(header[1], header[2], header[3]);
}
