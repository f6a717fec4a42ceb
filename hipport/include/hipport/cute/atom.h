// Matrix atoms for CuTe: D = A * B + C on 16x16 tiles, K = 16, held as `hipport/cute/tile.h` says.
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

__device__ inline Accumulator multiply_fp16(Operand a, Operand b, Accumulator c) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  using Halves = _Float16 __attribute__((vector_size(8)));
  return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c, 0, 0, 0);
#elif defined(__gfx1200__) || defined(__gfx1201__)
  using Halves = _Float16 __attribute__((vector_size(16)));
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(Halves, b), __builtin_bit_cast(Halves, a), c);
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
#else
  __builtin_trap();
  return c;
#endif
}

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
  // (lane, value) -> row + 16 * column.
  using Held = Layout<Shape<Shape<_16, Int<hipport::tile::lanes_per_row>>, Int<hipport::tile::values>>,
                      Stride<Stride<_1, Int<16 * hipport::tile::values>>, _16>>;
  using ALayout = Held;
  using BLayout = Held;
  using CLayout = Held;
};

}  // namespace cute
