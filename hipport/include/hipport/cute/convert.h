// Conversion of accumulators to 16 bits, rounded to nearest, in general to even.
#pragma once

#include <cute/tensor.hpp>

namespace hipport::tile {

// Two fp16 in one register: v_cvt_f16_f32, and v_fma_mixhi_f16, which rounds and places the second half where a conversion
// would need a third instruction to pack. `one` must be 1 and unknown to the compiler, or it takes the product away.
__device__ __forceinline__ unsigned pack_fp16(float low, float high, float one) {
  using Halves = _Float16 __attribute__((ext_vector_type(2)));
  const Halves halves{(_Float16)low, (_Float16)(high * one)};
  return __builtin_bit_cast(unsigned, halves);
}

// Two bf16 in one register. NaN stays NaN unless its payload is all ones, which no arithmetic produces.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
#if defined(__HIP_DEVICE_COMPILE__) && defined(__gfx950__)
  using Floats = float __attribute__((ext_vector_type(2)));
  using Halves = __bf16 __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(unsigned, __builtin_convertvector(Floats{low, high}, Halves));
#elif defined(__HIP_DEVICE_COMPILE__)
  const unsigned a = __builtin_bit_cast(unsigned, low), b = __builtin_bit_cast(unsigned, high);
  return __builtin_amdgcn_perm(b + 0x7fff + (b >> 16 & 1), a + 0x7fff + (a >> 16 & 1), 0x07060302);
#else
  return 0;
#endif
}

// The same with ties away from zero: one 64-bit addition rounds both (v_lshl_add_u64 on gfx942). The lower cannot carry
// into the upper unless it is a NaN of that kind.
__device__ __forceinline__ unsigned pack_bf16_ties_away(float low, float high) {
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx950__)
  using Floats = float __attribute__((ext_vector_type(2)));
  const unsigned long rounded = __builtin_bit_cast(unsigned long, Floats{low, high}) + 0x0000800000008000ul;
  return __builtin_amdgcn_perm(unsigned(rounded >> 32), unsigned(rounded), 0x07060302);
#else
  return pack_bf16(low, high);
#endif
}

enum class Ties { even, away };

// `count` accumulators, contiguous; `to` has room for them. Ties, of bf16, may go away from zero where that is cheaper.
template <class To, int count, Ties ties = Ties::even>
__device__ __forceinline__ void convert(const float* from, To* to) {
  static_assert(sizeof(To) == 2 && count % 2 == 0);
  float one = 1.0f;
#if defined(__HIP_DEVICE_COMPILE__)
  asm("" : "+s"(one));
#endif
#pragma unroll
  for (int i = 0; i < count; i += 2) {
    unsigned packed;
    if constexpr (__is_same(To, cute::half_t))
      packed = pack_fp16(from[i], from[i + 1], one);
    else if constexpr (ties == Ties::even)
      packed = pack_bf16(from[i], from[i + 1]);
    else
      packed = pack_bf16_ties_away(from[i], from[i + 1]);
    reinterpret_cast<unsigned*>(to)[i / 2] = packed;
  }
}

// Probabilities, the A operand of the second product. They are 2^x rounded to fp32: ties are as good as never met.
template <class To, class Tensor>
__device__ __forceinline__ auto convert_probabilities(Tensor const& probabilities) {
  auto out = cute::make_tensor<To>(probabilities.layout());
  convert<To, decltype(cute::size(probabilities))::value, Ties::away>(probabilities.data(), out.data());
  return out;
}

}  // namespace hipport::tile
