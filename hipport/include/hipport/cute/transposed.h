// A tile of V in LDS, transposed: rows are dimensions of the head, along a row lie keys.
//
// The second product of attention sums over keys, so a lane wants eight keys of one dimension, as one 128-bit read. NVIDIA's
// ldmatrix transposes as it reads. Here a thread loads a few dimensions of two or four neighbouring keys into registers,
// exchanges halves there (v_perm_b32), and writes one short run of keys per dimension: each element is moved once per
// workgroup, not once per wavefront.
//
// Keys lie in the order in which a lane holds its scores (hipport/cute/tile.h), so that the scores, converted to 16 bits,
// are the other operand as they are.
#pragma once

#include <cute/tensor.hpp>
#include <hipport/cute/tile.h>

namespace hipport::tile {

template <class Element, int threads, int keys, int dims, int tile>
struct Transposed {
  static constexpr int keys_of_thread = keys * dims / 16 % threads == 0 ? 4 : 2;
  static constexpr int thread_rows = keys / keys_of_thread;
  static constexpr int thread_columns = threads / thread_rows;
  static_assert(threads % thread_rows == 0 && dims % (4 * thread_columns) == 0);
  // Neighbouring keys that are neighbours in LDS too.
  static constexpr int width = run < keys_of_thread ? run : keys_of_thread;
  static constexpr int depth = 8 * (wave_size / tile);  // keys of one matrix instruction

  using Copy = decltype(cute::make_tiled_copy(
      cute::Copy_Atom<cute::UniversalCopy<cute::uint64_t>, Element>{},
      cute::Layout<cute::Shape<cute::Int<thread_rows>, cute::Int<thread_columns>>,
                   cute::Stride<cute::Int<thread_columns>, cute::_1>>{},
      cute::Layout<cute::Shape<cute::_1, cute::_4>>{}));

  // Where a key lies in its row.
  CUTE_HOST_DEVICE static constexpr int position(int key) {
    constexpr int turn = depth / 8 * run;  // columns until a lane's turn comes again
    return key / depth * depth + key % turn / run * 8 + key % depth / turn * run + key % run;
  }

  // A thread's part of (keys, dims, ...): (4 dims, its keys, rest of dims, ...).
  template <class Tensor>
  CUTE_DEVICE static auto partition(Tensor const& v, int thread) {
    using namespace cute;
    using Rows = Layout<Shape<Int<thread_rows>, Int<keys_of_thread>>, Stride<Int<keys_of_thread>, _1>>;
    const auto tiler = replace<0>(repeat<Tensor::rank>(_), Rows{});
    return Copy{}.get_thread_slice(thread).partition_S(make_tensor(v.data(), composition(v.layout(), tiler)));
  }

  // Registers for that part of one tile.
  CUTE_DEVICE static auto fragment() {
    using namespace cute;
    return make_tensor<Element>(Shape<_4, Int<keys_of_thread>, Int<dims / (4 * thread_columns)>>{});
  }

  // fragment: as above. tile_: (dims, keys) in LDS.
  template <class Fragment, class Tensor>
  CUTE_DEVICE static void store(Fragment const& fragment, Tensor const& v, int thread) {
    const int key = thread / thread_columns * keys_of_thread, dim = thread % thread_columns * 4;
#if defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_sched_barrier(0);  // wait for the loads here, not among the matrix instructions before
#endif
    auto words = cute::recast<unsigned>(fragment);  // two dims each
#pragma unroll
    for (int part = 0; part < dims / (4 * thread_columns); ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int k = 0; k < keys_of_thread; k += width) {
          auto* to = &v(dim + part * 4 * thread_columns + i, position(key + k));
          if constexpr (width == 1) {
            *to = fragment(i, k, part);
          } else {
            const auto pair = [&](int first) {
              return halves(words(i / 2, first, part), words(i / 2, first + 1, part), i % 2 != 0);
            };
            if constexpr (width == 2)
              *reinterpret_cast<unsigned*>(to) = pair(k);
            else
              *reinterpret_cast<uint2*>(to) = make_uint2(pair(k), pair(k + 2));
          }
        }
  }

 private:
  CUTE_DEVICE static unsigned halves(unsigned low, unsigned high, bool upper) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_perm(high, low, upper ? 0x07060302 : 0x05040100);
#else
    return low + high + upper;
#endif
  }
};

}  // namespace hipport::tile
