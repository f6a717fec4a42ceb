// Bits of 8-, 6- and 4-bit floating-point formats: rounding into them and widening to fp16, which holds every value of them.
//
// Sources: OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX) Specification 1.0, section 5.3;
// PTX ISA, cvt, for what NaN and overflow give.
#pragma once

#include <hipport/rounding.h>

namespace hipport {

using E2m3Format = Format<2, 3, 1>;
using E3m2Format = Format<3, 2, 3>;
using E2m1Format = Format<2, 1, 1>;

namespace detail {

/// Magnitudes: the largest finite one, what overflow gives without saturation, and NaN. 6- and 4-bit formats have no NaN and no
/// infinity: everything saturates, NaN to the largest number.
template <class F> struct SmallFloat {
  static constexpr unsigned sign = 1u << (F::exponent_bits + F::mantissa_bits);
  static constexpr unsigned largest = sign - 1, overflow = sign - 1, nan = sign - 1;
};
template <> struct SmallFloat<E4m3Format> {
  static constexpr unsigned sign = 0x80, largest = 0x7e, overflow = 0x7f, nan = 0x7f;
};
template <> struct SmallFloat<E5m2Format> {
  static constexpr unsigned sign = 0x80, largest = 0x7b, overflow = 0x7c, nan = 0x7f;
};

/// Bits of x rounded to nearest even. Past the largest finite value: that value when `saturate`, else the format's overflow.
template <class F, class Real> __host__ __device__ inline unsigned real_to_small(Real x, bool saturate = true) {
  using S = SmallFloat<F>;
  if (is_nan(x)) return S::nan;
  unsigned long long magnitude = is_inf(x) ? ~0ull : pack<F>(exact(x), Rounding::nearest_even);
  if (magnitude > S::largest) magnitude = saturate ? S::largest : S::overflow;
  return static_cast<unsigned>(magnitude) | (is_negative(x) ? S::sign : 0u);
}

/// fp16 bits of a small number; NaN gives the canonical 0x7fff. e5m2 is fp16's upper byte, any other format shifted into place is
/// too small by the difference of the biases.
template <class F> __host__ __device__ inline unsigned short small_to_half_bits(unsigned bits) {
  using S = SmallFloat<F>;
  const unsigned magnitude = bits & (S::sign - 1), sign = bits & S::sign ? 0x8000u : 0u;
  if constexpr (F::bias == Fp16Format::bias) {
    return magnitude > S::overflow ? 0x7fff : static_cast<unsigned short>(magnitude << 8 | sign);
  } else {
    if (S::nan != S::largest && magnitude == S::nan) return 0x7fff;
    constexpr _Float16 scale = static_cast<_Float16>(1 << (Fp16Format::bias - F::bias));
    const auto shifted = static_cast<unsigned short>(magnitude << (Fp16Format::mantissa_bits - F::mantissa_bits));
    const _Float16 value = __builtin_bit_cast(_Float16, shifted) * scale;
    return static_cast<unsigned short>(__builtin_bit_cast(unsigned short, value) | sign);
  }
}

}  // namespace detail
}  // namespace hipport
