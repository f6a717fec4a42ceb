// PTX video instructions: arithmetic on bytes and halfwords inside 32-bit registers. Plain C++, the same on host and
// device. Source: PTX ISA 9.7.18 and 9.7.19.
#pragma once

#include <hipport/ptx_integer.h>

namespace hipport {
namespace ptx {

// -- primary operations, on values that were extended to more bits than the sources have ----------------------------
#define HIPPORT_VIDEO(name, expression)                                \
  struct video_##name {                                                \
    template <class I> static HIPPORT_PTX I of(I x, I y) { return expression; } \
  };
HIPPORT_VIDEO(add, x + y)
HIPPORT_VIDEO(sub, x - y)
HIPPORT_VIDEO(absdiff, x < y ? y - x : x - y)
HIPPORT_VIDEO(min, x < y ? x : y)
HIPPORT_VIDEO(max, x > y ? x : y)
HIPPORT_VIDEO(avrg, (x + y + (x + y >= 0)) >> 1)  // halves round away from zero
HIPPORT_VIDEO(set_eq, x == y)
HIPPORT_VIDEO(set_ne, x != y)
HIPPORT_VIDEO(set_lt, x < y)
HIPPORT_VIDEO(set_le, x <= y)
HIPPORT_VIDEO(set_gt, x > y)
HIPPORT_VIDEO(set_ge, x >= y)
HIPPORT_VIDEO(shl_clamp, static_cast<I>(static_cast<unsigned long long>(x) << (y > 32 ? 32 : y)))
HIPPORT_VIDEO(shl_wrap, static_cast<I>(static_cast<unsigned long long>(x) << (y & 31)))
HIPPORT_VIDEO(shr_clamp, x >> (y > 32 ? 32 : y))
HIPPORT_VIDEO(shr_wrap, x >> (y & 31))
#undef HIPPORT_VIDEO

// -- one value (vadd, vsub, ...) -------------------------------------------------------------------------------------
/// Element `I` of type `E` of a register, extended.
template <class E, int I> HIPPORT_PTX long long video_part(unsigned a) {
  return static_cast<E>(a >> (detail::bits<E> * I % 32));
}
/// `Op` on two extended values, clamped to `D` when `Saturate` says so.
template <class Op, class D, bool Saturate> HIPPORT_PTX long long video(long long a, long long b) {
  const long long result = Op::of(a, b);
  return Saturate ? static_cast<long long>(detail::clamp_to<D>(result)) : result;
}
/// The secondary operation, in the destination's type.
template <class Op, class D> HIPPORT_PTX D video_then(long long result, D c) { return D(Op::of(D(result), c)); }
/// `c` with element `I` of type `E` replaced.
template <class E, int I> HIPPORT_PTX unsigned video_merge(long long result, unsigned c) {
  constexpr unsigned mask = static_cast<unsigned>(detail::u_of<E>(~0)) << (detail::bits<E> * I % 32);
  return (c & ~mask) | ((static_cast<unsigned>(result) << (detail::bits<E> * I % 32)) & mask);
}
/// vmad: (product or its negative, plus c or its negative, plus one for `PlusOne`) >> `Shift`.
template <bool Signed, int Shift, bool Saturate, bool PlusOne, bool NegateProduct, bool NegateC>
HIPPORT_PTX unsigned video_mad(long long a, long long b, unsigned c) {
  __int128 sum = static_cast<__int128>(a) * b;
  if (NegateProduct) sum = -sum;
  const unsigned addend = NegateC ? ~c : c;
  sum += Signed ? static_cast<__int128>(static_cast<int>(addend)) : static_cast<__int128>(addend);
  sum += PlusOne || NegateC;
  const __int128 result = sum >> Shift;
  if (!Saturate) return static_cast<unsigned>(result);
  if (Signed) return static_cast<unsigned>(detail::clamp_to<int>(static_cast<long long>(result)));
  return detail::clamp_to<unsigned>(static_cast<unsigned long long>(result));
}

namespace detail {
template <class X, class Y> inline constexpr bool same = false;
template <class X> inline constexpr bool same<X, X> = true;
}  // namespace detail

// -- two halfwords or four bytes (vadd2, vadd4, ...) -----------------------------------------------------------------
/// `Op` for each pair of elements whose bit in `Mask` is set. The others come from `c`, or with `Accumulate` the
/// results are added to `c`.
template <class Op, class D, class A, class B, bool Saturate, bool Accumulate, unsigned Mask>
HIPPORT_PTX unsigned simd(unsigned a, unsigned b, unsigned c) {
  constexpr int n = 4 / sizeof(D), width = detail::bits<D>;
#ifdef __HIP_DEVICE_COMPILE__
  if constexpr (detail::same<Op, video_absdiff> && detail::same<A, unsigned char> && detail::same<B, unsigned char> &&
                Accumulate && Mask == 15)
    return __builtin_amdgcn_sad_u8(a, b, c);
#endif
  unsigned result = Accumulate ? c : 0;
  for (int i = 0; i < n; ++i) {
    const int x = static_cast<A>(a >> (width * i)), y = static_cast<B>(b >> (width * i));
    int value = Op::of(x, y);
    if (Saturate) value = detail::clamp_to<D>(value);
    if (Accumulate) {
      if (Mask >> i & 1u) result += static_cast<unsigned>(value);
    } else {
      const unsigned element = Mask >> i & 1u ? static_cast<unsigned>(value) : c >> (width * i);
      result |= static_cast<unsigned>(static_cast<detail::u_of<D>>(element)) << (width * i);
    }
  }
  return result;
}

}  // namespace ptx
}  // namespace hipport
