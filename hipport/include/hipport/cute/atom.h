// Matrix atoms for CuTe, held as `hipport/cute/tile.h` says: `MatrixAtom`, 16x16 tiles and K = 16, whose operands are held
// like its accumulator; `DeepAtom`, whose lanes hold eight neighbours along K, so that one 128-bit read of LDS fills an
// operand. gfx950 has such instructions; gfx90a and gfx942 issue two of half the depth, which take any order along K.
//
// Read by the overlay of cute/atom/mma_traits_sm80.hpp, inside CuTe's own headers.
#pragma once

#include <cute/arch/mma.hpp>
#include <cute/atom/mma_traits.hpp>
#include <cute/layout.hpp>
#include <cute/numeric/numeric_types.hpp>
#include <hipport/cute/tile.h>

namespace hipport::tile {
namespace detail {

template <class T, int N>
using vector = T __attribute__((ext_vector_type(N)));

// Operands of a lane: 16x16 halves over the lanes, as 32-bit registers.
inline constexpr int operand_registers = rows * columns / wave_size / 2;
using Operand = vector<unsigned, operand_registers>;
using Accumulator = vector<float, values>;

#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__)
// gfx11 wants all of K in every lane: a lane's half and that of the lane 16 away, in the same order in both.
__device__ inline vector<unsigned, 8> all_of_k(Operand own) {
  const bool upper = __builtin_amdgcn_mbcnt_lo(~0u, 0) >= 16;
  vector<unsigned, 8> all;
  for (int i = 0; i < 4; ++i) {
    const unsigned other = __builtin_amdgcn_permlanex16(own[i], own[i], 0x76543210, 0xfedcba98, false, false);
    all[i] = upper ? other : own[i];
    all[i + 4] = upper ? own[i] : other;
  }
  return all;
}
#endif

__device__ inline Accumulator multiply_fp16(Operand a, Operand b, Accumulator c) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  using Halves = _Float16 __attribute__((vector_size(8)));
  return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
#elif defined(__gfx1200__) || defined(__gfx1201__)
  using Halves = _Float16 __attribute__((vector_size(16)));
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c);
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__)
  using Halves = _Float16 __attribute__((vector_size(32)));
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(Halves, all_of_k(b)),
                                                    __builtin_bit_cast(Halves, all_of_k(a)), c);
#else
  __builtin_trap();
  return c;
#endif
}

__device__ inline Accumulator multiply_bf16(Operand a, Operand b, Accumulator c) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  using Shorts = short __attribute__((vector_size(8)));
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(Shorts, b), __builtin_bit_cast(Shorts, a), c, 0, 0, 0);
#elif defined(__gfx1200__) || defined(__gfx1201__)
  using Shorts = short __attribute__((vector_size(16)));
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(Shorts, b), __builtin_bit_cast(Shorts, a), c);
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__)
  using Shorts = short __attribute__((vector_size(32)));
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(Shorts, all_of_k(b)),
                                                     __builtin_bit_cast(Shorts, all_of_k(a)), c);
#else
  __builtin_trap();
  return c;
#endif
}

// Operand of a deep atom: eight halves.
using Deep = vector<unsigned, 4>;

template <int Rows>
using Tile = vector<float, Rows * Rows / wave_size>;

#if defined(__gfx90a__) || defined(__gfx942__)
// A half of the depth. Not `.lo` and `.hi`: clang 22 bit-casts both from the start of the vector.
__device__ inline Operand low(Deep x) { return Operand{x[0], x[1]}; }
__device__ inline Operand high(Deep x) { return Operand{x[2], x[3]}; }

template <class Element>
__device__ inline Tile<16> multiply_deep(Deep a, Deep b, Tile<16> c) {
  if constexpr (::cute::is_same_v<Element, ::cute::half_t>)
    return multiply_fp16(high(a), high(b), multiply_fp16(low(a), low(b), c));
  else
    return multiply_bf16(high(a), high(b), multiply_bf16(low(a), low(b), c));
}

template <class Element>
__device__ inline Tile<32> multiply_deep(Deep a, Deep b, Tile<32> c) {
  if constexpr (::cute::is_same_v<Element, ::cute::half_t>) {
    using Halves = _Float16 __attribute__((vector_size(8)));
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(Halves, low(b)), __builtin_bit_cast(Halves, low(a)), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(Halves, high(b)), __builtin_bit_cast(Halves, high(a)), c, 0, 0, 0);
  } else {
    using Shorts = short __attribute__((vector_size(8)));
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Shorts, low(b)), __builtin_bit_cast(Shorts, low(a)), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Shorts, high(b)), __builtin_bit_cast(Shorts, high(a)), c, 0, 0, 0);
  }
}
#elif defined(__gfx950__)
template <class Element>
__device__ inline Tile<16> multiply_deep(Deep a, Deep b, Tile<16> c) {
  if constexpr (::cute::is_same_v<Element, ::cute::half_t>) {
    using Halves = vector<_Float16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
  } else {
    using Halves = vector<__bf16, 8>;
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
  }
}

template <class Element>
__device__ inline Tile<32> multiply_deep(Deep a, Deep b, Tile<32> c) {
  if constexpr (::cute::is_same_v<Element, ::cute::half_t>) {
    using Halves = vector<_Float16, 8>;
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
  } else {
    using Halves = vector<__bf16, 8>;
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
  }
}
#elif defined(__HIP_DEVICE_COMPILE__)  // wave32: the instruction has that depth
template <class Element>
__device__ inline Accumulator multiply_deep(Deep a, Deep b, Accumulator c) {
  if constexpr (::cute::is_same_v<Element, ::cute::half_t>)
    return multiply_fp16(__builtin_bit_cast(Operand, a), __builtin_bit_cast(Operand, b), c);
  else
    return multiply_bf16(__builtin_bit_cast(Operand, a), __builtin_bit_cast(Operand, b), c);
}
#endif

}  // namespace detail

// CuTe's operation: it passes register arrays of one packed element each.
template <class Element>
struct MatrixAtom {
  using DRegisters = detail::Accumulator[1];
  using ARegisters = detail::Operand[1];
  using BRegisters = detail::Operand[1];
  using CRegisters = detail::Accumulator[1];

  CUTE_HOST_DEVICE static void fma(detail::Accumulator& d, detail::Operand const& a, detail::Operand const& b,
                                   detail::Accumulator const& c) {
#if defined(__HIP_DEVICE_COMPILE__)
    if constexpr (::cute::is_same_v<Element, ::cute::half_t>)
      d = detail::multiply_fp16(a, b, c);
    else
      d = detail::multiply_bf16(a, b, c);
#else
    d = c;
    (void)a;
    (void)b;
#endif
  }
};

template <class Element, int Rows>
struct DeepAtom {
  using DRegisters = detail::Tile<Rows>[1];
  using ARegisters = detail::Deep[1];
  using BRegisters = detail::Deep[1];
  using CRegisters = detail::Tile<Rows>[1];

  CUTE_HOST_DEVICE static void fma(detail::Tile<Rows>& d, detail::Deep const& a, detail::Deep const& b,
                                   detail::Tile<Rows> const& c) {
#if defined(__HIP_DEVICE_COMPILE__)
    d = detail::multiply_deep<Element>(a, b, c);
#else
    d = c;
    (void)a;
    (void)b;
#endif
  }
};

// The accumulators of a product are computed here. On wave32 the compiler otherwise moves the instructions behind the next
// barrier, to where the result is used, and the operands that were read before it fill the registers.
template <class Tensor>
__device__ __forceinline__ void settle([[maybe_unused]] Tensor& accumulators) {
#if defined(__HIP_DEVICE_COMPILE__)
  if constexpr (wave_size == 32) {
    auto tiles = ::cute::recast<detail::Accumulator>(accumulators);
#pragma unroll
    for (int i = 0; i < int(decltype(::cute::size(tiles))::value); ++i) asm volatile("" : "+v"(tiles(i)));
  }
#endif
}

}  // namespace hipport::tile

namespace cute {

template <class Element>
struct MMA_Traits<hipport::tile::MatrixAtom<Element>> {
  using ValTypeD = float;
  using ValTypeA = Element;
  using ValTypeB = Element;
  using ValTypeC = float;

  using Shape_MNK = Shape<_16, _16, _16>;
  using ThrID = Layout<Int<hipport::tile::wave_size>>;
  // (lane, value) -> row + 16 * column; on gfx11 the lanes of a row take turns in D, column by column.
  using Held = Layout<Shape<Shape<_16, Int<hipport::tile::lanes_per_row>>, Int<hipport::tile::values>>,
                      Stride<Stride<_1, Int<16 * hipport::tile::values>>, _16>>;
  using ALayout = Held;
  using BLayout = Held;
  using CLayout = conditional_t<hipport::tile::run == 1, Layout<Shape<Shape<_16, _2>, _8>, Stride<Stride<_1, _16>, _32>>, Held>;
};

template <class Element, int Rows>
struct MMA_Traits<hipport::tile::DeepAtom<Element, Rows>> {
  using ValTypeD = float;
  using ValTypeA = Element;
  using ValTypeB = Element;
  using ValTypeC = float;

  static constexpr int lanes = hipport::tile::wave_size / Rows;  // that share a row
  static constexpr int run = hipport::tile::run;
  using Shape_MNK = Shape<Int<Rows>, Int<Rows>, Int<8 * lanes>>;
  using ThrID = Layout<Int<hipport::tile::wave_size>>;
  // (lane, value) -> row + Rows * column.
  using ALayout = Layout<Shape<Shape<Int<Rows>, Int<lanes>>, _8>, Stride<Stride<_1, Int<8 * Rows>>, Int<Rows>>>;
  using BLayout = ALayout;
  using CLayout = Layout<Shape<Shape<Int<Rows>, Int<lanes>>, Shape<Int<run>, Int<Rows / lanes / run>>>,
                         Stride<Stride<_1, Int<run * Rows>>, Stride<Int<Rows>, Int<run * lanes * Rows>>>>;
};

}  // namespace cute
