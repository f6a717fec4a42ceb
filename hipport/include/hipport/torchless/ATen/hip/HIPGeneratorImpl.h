// Stands for PyTorch's generator state where a kernel is built without PyTorch: a seed and an offset.
#pragma once

#include <cstdint>
#include <tuple>

namespace at {

struct PhiloxCudaState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

namespace cuda::philox {
__host__ __device__ inline std::tuple<std::uint64_t, std::uint64_t> unpack(PhiloxCudaState state) {
  return {state.seed, state.offset};
}
}  // namespace cuda::philox
namespace hip::philox {
using cuda::philox::unpack;
}

}  // namespace at
