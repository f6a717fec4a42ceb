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

// How the tile lies in LDS: a row has the keys of a dimension in chunks of eight, what a lane reads at once, 64 or 32 keys
// side by side. A chunk's number is exclusive-ored with the row's, so that the rows that lanes read together lie in
// different banks; and with the row's eighth, because a thread writes to every fourth row.
//
// chunks: of a row. unit: log2 of a chunk's elements, as the tensor is addressed.
template <int chunks, int unit = 3>
struct Spread {
  template <class Offset>
  CUTE_HOST_DEVICE constexpr int operator()(Offset const& offset) const {
    const int at = offset;
    if constexpr (chunks == 8)
      return at ^ (at >> 3 & 7 << unit) ^ (at >> 6 & 3 << unit);
    else  // rows lie in pairs side by side, as far as banks go
      return at ^ (at >> 3 & 3 << unit) ^ (at >> 5 & 1 << unit);
  }
};

// (dims, keys)
template <int dims, int keys, int width = keys % 64 == 0 ? 64 : 32>
using TransposedLayout = cute::ComposedLayout<
    Spread<width / 8>, cute::Int<0>,
    decltype(cute::tile_to_shape(
        cute::Layout<cute::Shape<cute::_8, cute::Int<width>>, cute::Stride<cute::Int<width>, cute::_1>>{},
        cute::Shape<cute::Int<dims>, cute::Int<keys>>{}))>;

// What CuTe asks of a swizzle, found by argument-dependent lookup.
template <int chunks, int unit, class Offset, class Rows>
using SpreadLayout = cute::ComposedLayout<Spread<chunks, unit>, Offset, Rows>;

template <int N, int chunks, int unit, class Offset, class Rows>
CUTE_HOST_DEVICE constexpr auto upcast(SpreadLayout<chunks, unit, Offset, Rows> const& layout) {
  static_assert(N == 1 << unit, "read by chunks");
  const auto rows = cute::upcast<N>(layout.layout_b());
  return cute::make_composed_layout(Spread<chunks, 0>{}, layout.offset() / cute::Int<N>{}, rows);
}

template <int chunks, int unit, class Offset, class Rows>
CUTE_HOST_DEVICE constexpr auto get_nonswizzle_portion(SpreadLayout<chunks, unit, Offset, Rows> const& layout) {
  return layout.layout_b();
}

template <class Element, int threads, int keys, int dims, int tile>
struct Transposed {
  static constexpr int keys_of_thread = keys * dims / 16 % threads == 0 ? 4 : 2;
  static constexpr int thread_rows = keys / keys_of_thread;
  static constexpr int thread_columns = threads / thread_rows;
  static_assert(threads % thread_rows == 0 && dims % (4 * thread_columns) == 0);
  // Keys of a thread are neighbours in LDS: every second key on gfx11, whose lanes take turns.
  static constexpr int step = run == 1 ? 2 : 1;
  static constexpr int width = keys_of_thread;
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

  // The key at a position.
  CUTE_HOST_DEVICE static constexpr int key(int position) {
    constexpr int turn = depth / 8 * run;
    return position / depth * depth + position % 8 / run * turn + position % depth / 8 * run + position % run;
  }

  // Threads are arranged in rows, of keys, and columns, of dims. Eight neighbouring lanes have neighbouring columns, the next
  // ones the rows of other keys in the same chunks: so they write to different banks, and still read whole lines of memory.
  static constexpr int low_columns = thread_columns < 8 ? thread_columns : 8;
  static constexpr int rows_of_chunk = 8 / keys_of_thread;

  CUTE_HOST_DEVICE static constexpr int column(int thread) {
    return thread / (low_columns * rows_of_chunk) % (thread_columns / low_columns) * low_columns + thread % low_columns;
  }

  CUTE_HOST_DEVICE static constexpr int row(int thread) {
    const int at = thread / (rows_of_chunk * thread_columns) * rows_of_chunk + thread / low_columns % rows_of_chunk;
    return key(at * keys_of_thread) / (step * keys_of_thread) * step + key(at * keys_of_thread) % step;  // by position
  }

  // A thread's part of (keys, dims, ...): (4 dims, its keys, rest of dims, ...).
  template <class Tensor>
  CUTE_DEVICE static auto partition(Tensor const& v, int thread) {
    using namespace cute;
    using Rows = conditional_t<
        step == 1, Layout<Shape<Int<thread_rows>, Int<keys_of_thread>>, Stride<Int<keys_of_thread>, _1>>,
        Layout<Shape<Shape<_2, Int<thread_rows / 2>>, Int<keys_of_thread>>,
               Stride<Stride<_1, Int<2 * keys_of_thread>>, _2>>>;
    const auto tiler = replace<0>(repeat<Tensor::rank>(_), Rows{});
    const auto slice = Copy{}.get_thread_slice(row(thread) * thread_columns + column(thread));
    auto part = slice.partition_S(make_tensor(v.data(), composition(v.layout(), tiler)));
    if constexpr (is_gmem<Tensor>::value) part.data() = make_gmem_ptr(one_address(part.data().get()));
    return part;
  }

  // Registers for that part of one tile.
  CUTE_DEVICE static auto fragment() {
    using namespace cute;
    return make_tensor<Element>(Shape<_4, Int<keys_of_thread>, Int<dims / (4 * thread_columns)>>{});
  }

  // fragment: as above. tile_: (dims, keys) in LDS.
  template <class Fragment, class Tensor>
  CUTE_DEVICE static void store(Fragment const& fragment, Tensor const& v, int thread) {
    const int first = row(thread) / step * step * keys_of_thread + row(thread) % step, dim = column(thread) * 4;
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
          auto* to = &v(dim + part * 4 * thread_columns + i, position(first + k));
          const auto pair = [&](int key) {
            return halves(words(i / 2, key, part), words(i / 2, key + 1, part), i % 2 != 0);
          };
          if constexpr (width == 2)
            *reinterpret_cast<unsigned*>(to) = pair(k);
          else
            *reinterpret_cast<uint2*>(to) = make_uint2(pair(k), pair(k + 2));
        }
  }

 private:
  // A pointer whose parts the compiler cannot tell: otherwise it adds some of them anew in every iteration.
  template <class T>
  CUTE_DEVICE static T* one_address(T* pointer) {
#if defined(__HIP_DEVICE_COMPILE__)
    auto global = (T __attribute__((address_space(1)))*)pointer;
    asm("" : "+v"(global));
    return (T*)global;
#else
    return pointer;
#endif
  }

  CUTE_DEVICE static unsigned halves(unsigned low, unsigned high, bool upper) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_perm(high, low, upper ? 0x07060302 : 0x05040100);
#else
    return low + high + upper;
#endif
  }
};

}  // namespace hipport::tile
