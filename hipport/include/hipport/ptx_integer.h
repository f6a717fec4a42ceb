// PTX integer, bit and logic instructions. Plain C++, the same on host and device.
// Source: PTX ISA 9.7.1, 9.7.2, 9.7.7, 9.7.8, 9.7.17.
#pragma once

#include <hip/hip_runtime.h>

namespace hipport {
namespace ptx {

#define HIPPORT_PTX __host__ __device__ inline

namespace detail {

template <class T> struct traits;
template <> struct traits<unsigned char> { using u = unsigned char; using wide = unsigned short; };
template <> struct traits<signed char> { using u = unsigned char; using wide = short; };
template <> struct traits<unsigned short> { using u = unsigned short; using wide = unsigned; };
template <> struct traits<short> { using u = unsigned short; using wide = int; };
template <> struct traits<unsigned> { using u = unsigned; using wide = unsigned long long; };
template <> struct traits<int> { using u = unsigned; using wide = long long; };
template <> struct traits<unsigned long long> { using u = unsigned long long; using wide = unsigned __int128; };
template <> struct traits<long long> { using u = unsigned long long; using wide = __int128; };

template <class T> using u_of = typename traits<T>::u;
template <class T> using wide_of = typename traits<T>::wide;
template <class T> inline constexpr int bits = sizeof(T) * 8;
template <class T> inline constexpr bool is_signed = T(-1) < T(0);
template <class T> inline constexpr T lowest = is_signed<T> ? T(u_of<T>(1) << (bits<T> - 1)) : T(0);
template <class T> inline constexpr T highest = T(~lowest<T>);

template <class T, class W> HIPPORT_PTX T clamp_to(W value) {
  if (value < W(lowest<T>)) return lowest<T>;
  if (value > W(highest<T>)) return highest<T>;
  return static_cast<T>(value);
}

}  // namespace detail

/// A few registers as one value: what vector loads, unpacking and matrix instructions give.
template <class T, int N> struct vec {
  T v[N];
  __host__ __device__ constexpr T& operator[](int i) { return v[i]; }
  __host__ __device__ constexpr const T& operator[](int i) const { return v[i]; }
};

// Registers hold bits: a 64-bit operand may be a pointer in C++.
template <class T> HIPPORT_PTX unsigned long long bits64(T* pointer) {
  return static_cast<unsigned long long>(reinterpret_cast<__UINTPTR_TYPE__>(pointer));
}
template <class T> HIPPORT_PTX unsigned long long bits64(T value) { return static_cast<unsigned long long>(value); }
template <class T> HIPPORT_PTX void assign(T*& pointer, unsigned long long bits) {
  pointer = reinterpret_cast<T*>(static_cast<__UINTPTR_TYPE__>(bits));
}
template <class T> HIPPORT_PTX void assign(T& value, unsigned long long bits) { value = static_cast<T>(bits); }

// -- arithmetic modulo 2^n ------------------------------------------------------------------------------------------
template <class T> HIPPORT_PTX T add(T a, T b) { return T(detail::u_of<T>(a) + detail::u_of<T>(b)); }
template <class T> HIPPORT_PTX T sub(T a, T b) { return T(detail::u_of<T>(a) - detail::u_of<T>(b)); }
template <class T> HIPPORT_PTX T add_sat(T a, T b) {
  return detail::clamp_to<T>(detail::wide_of<T>(a) + detail::wide_of<T>(b));
}
template <class T> HIPPORT_PTX T sub_sat(T a, T b) {
  return detail::clamp_to<T>(detail::wide_of<T>(a) - detail::wide_of<T>(b));
}
template <class T> HIPPORT_PTX detail::wide_of<T> mul_wide(T a, T b) {
  return detail::wide_of<T>(a) * detail::wide_of<T>(b);
}
template <class T> HIPPORT_PTX T mul_lo(T a, T b) {
  using W = detail::wide_of<detail::u_of<T>>;  // of short operands the product would be a signed int
  return T(detail::u_of<T>(W(detail::u_of<T>(a)) * W(detail::u_of<T>(b))));
}
template <class T> HIPPORT_PTX T mul_hi(T a, T b) { return T(mul_wide(a, b) >> detail::bits<T>); }
template <class T> HIPPORT_PTX T mad_lo(T a, T b, T c) { return add<T>(mul_lo(a, b), c); }
template <class T> HIPPORT_PTX T mad_hi(T a, T b, T c) { return add<T>(mul_hi(a, b), c); }
template <class T> HIPPORT_PTX T mad_hi_sat(T a, T b, T c) { return add_sat<T>(mul_hi(a, b), c); }
template <class T> HIPPORT_PTX detail::wide_of<T> mad_wide(T a, T b, detail::wide_of<T> c) {
  return add<detail::wide_of<T>>(mul_wide(a, b), c);
}
template <class T> HIPPORT_PTX T extend24(T a) { return T(T(detail::u_of<T>(a) << 8) >> 8); }
template <class T> HIPPORT_PTX T mul24_lo(T a, T b) { return mul_lo(extend24(a), extend24(b)); }
template <class T> HIPPORT_PTX T mul24_hi(T a, T b) { return T(mul_wide(extend24(a), extend24(b)) >> 16); }
template <class T> HIPPORT_PTX T mad24_lo(T a, T b, T c) { return add<T>(mul24_lo(a, b), c); }
template <class T> HIPPORT_PTX T mad24_hi(T a, T b, T c) { return add<T>(mul24_hi(a, b), c); }
template <class T> HIPPORT_PTX T div(T a, T b) { return T(a / b); }
template <class T> HIPPORT_PTX T rem(T a, T b) { return T(a % b); }
template <class T> HIPPORT_PTX T neg(T a) { return T(detail::u_of<T>(0) - detail::u_of<T>(a)); }
template <class T> HIPPORT_PTX T abs(T a) { return a < 0 ? neg(a) : a; }
template <class T> HIPPORT_PTX T min(T a, T b) { return b < a ? b : a; }
template <class T> HIPPORT_PTX T max(T a, T b) { return a < b ? b : a; }
template <class T> HIPPORT_PTX T sad(T a, T b, T c) {
  return add<T>(c, a < b ? sub<T>(b, a) : sub<T>(a, b));
}

// -- carry chains: `carry` is PTX's CC.CF, 0 or 1. A subtraction sets it to the borrow. -------------------------------
template <class T> HIPPORT_PTX T add_cc(T a, T b, unsigned& carry) {
  using U = detail::u_of<T>;
  const U sum = U(a) + U(b);
  carry = sum < U(a);
  return T(sum);
}
template <class T> HIPPORT_PTX T addc(T a, T b, unsigned carry) {
  using U = detail::u_of<T>;
  return T(U(a) + U(b) + U(carry));
}
template <class T> HIPPORT_PTX T addc_cc(T a, T b, unsigned& carry) {
  using U = detail::u_of<T>;
  const U partial = U(a) + U(b), sum = partial + U(carry);
  carry = (partial < U(a)) | (sum < partial);
  return T(sum);
}
template <class T> HIPPORT_PTX T sub_cc(T a, T b, unsigned& borrow) {
  using U = detail::u_of<T>;
  borrow = U(a) < U(b);
  return T(U(a) - U(b));
}
template <class T> HIPPORT_PTX T subc(T a, T b, unsigned borrow) {
  using U = detail::u_of<T>;
  return T(U(a) - U(b) - U(borrow));
}
template <class T> HIPPORT_PTX T subc_cc(T a, T b, unsigned& borrow) {
  using U = detail::u_of<T>;
  const U partial = U(a) - U(b), difference = partial - U(borrow);
  borrow = (U(a) < U(b)) | (partial < U(borrow));
  return T(difference);
}
template <class T> HIPPORT_PTX T mad_lo_cc(T a, T b, T c, unsigned& carry) { return add_cc<T>(mul_lo(a, b), c, carry); }
template <class T> HIPPORT_PTX T mad_hi_cc(T a, T b, T c, unsigned& carry) { return add_cc<T>(mul_hi(a, b), c, carry); }
template <class T> HIPPORT_PTX T madc_lo(T a, T b, T c, unsigned carry) { return addc<T>(mul_lo(a, b), c, carry); }
template <class T> HIPPORT_PTX T madc_hi(T a, T b, T c, unsigned carry) { return addc<T>(mul_hi(a, b), c, carry); }
template <class T> HIPPORT_PTX T madc_lo_cc(T a, T b, T c, unsigned& carry) {
  return addc_cc<T>(mul_lo(a, b), c, carry);
}
template <class T> HIPPORT_PTX T madc_hi_cc(T a, T b, T c, unsigned& carry) {
  return addc_cc<T>(mul_hi(a, b), c, carry);
}

// -- comparison -------------------------------------------------------------------------------------------------------
template <class T> HIPPORT_PTX bool eq(T a, T b) { return a == b; }
template <class T> HIPPORT_PTX bool ne(T a, T b) {  // ordered: false for NaN, unlike C++
  if constexpr (T(0.5) != T(0)) return a < b || a > b;
  else return a != b;
}
template <class T> HIPPORT_PTX bool lt(T a, T b) { return a < b; }
template <class T> HIPPORT_PTX bool le(T a, T b) { return a <= b; }
template <class T> HIPPORT_PTX bool gt(T a, T b) { return a > b; }
template <class T> HIPPORT_PTX bool ge(T a, T b) { return a >= b; }
template <class T> HIPPORT_PTX bool num(T a, T b) { return a == a && b == b; }
template <class T> HIPPORT_PTX bool nan(T a, T b) { return a != a || b != b; }
template <class T> HIPPORT_PTX bool equ(T a, T b) { return !(a < b || a > b); }
template <class T> HIPPORT_PTX bool neu(T a, T b) { return !(a == b); }
template <class T> HIPPORT_PTX bool ltu(T a, T b) { return !(a >= b); }
template <class T> HIPPORT_PTX bool leu(T a, T b) { return !(a > b); }
template <class T> HIPPORT_PTX bool gtu(T a, T b) { return !(a <= b); }
template <class T> HIPPORT_PTX bool geu(T a, T b) { return !(a < b); }

// -- bits -------------------------------------------------------------------------------------------------------------
template <class T> HIPPORT_PTX T bit_and(T a, T b) { return T(a & b); }
template <class T> HIPPORT_PTX T bit_or(T a, T b) { return T(a | b); }
template <class T> HIPPORT_PTX T bit_xor(T a, T b) { return T(a ^ b); }
template <class T> HIPPORT_PTX T bit_not(T a) { return T(~a); }
template <class T> HIPPORT_PTX T cnot(T a) { return a == 0 ? T(1) : T(0); }

/// Any function of three bits: bit i of `Table` is the result for inputs (a, b, c) = binary digits of i.
template <unsigned Table> HIPPORT_PTX unsigned lop3(unsigned a, unsigned b, unsigned c) {
  static_assert(Table < 256, "lop3 takes a table of 8 bits");
  unsigned result = 0;
  if constexpr (Table & 0x01) result |= ~a & ~b & ~c;
  if constexpr (Table & 0x02) result |= ~a & ~b & c;
  if constexpr (Table & 0x04) result |= ~a & b & ~c;
  if constexpr (Table & 0x08) result |= ~a & b & c;
  if constexpr (Table & 0x10) result |= a & ~b & ~c;
  if constexpr (Table & 0x20) result |= a & ~b & c;
  if constexpr (Table & 0x40) result |= a & b & ~c;
  if constexpr (Table & 0x80) result |= a & b & c;
  return result;
}

/// Shifts clamp the amount at the width, unlike C++.
template <class T> HIPPORT_PTX T shl(T a, unsigned amount) {
  return amount >= unsigned(detail::bits<T>) ? T(0) : T(detail::u_of<T>(a) << amount);
}
template <class T> HIPPORT_PTX T shr(T a, unsigned amount) {
  const unsigned last = detail::bits<T> - 1;
  if (amount > last) return detail::is_signed<T> ? T(a >> last) : T(0);
  return T(a >> amount);
}
HIPPORT_PTX unsigned shf_l_clamp(unsigned a, unsigned b, unsigned c) {
  const unsigned n = c < 32 ? c : 32;
  return static_cast<unsigned>((((static_cast<unsigned long long>(b) << 32) | a) << n) >> 32);
}
HIPPORT_PTX unsigned shf_l_wrap(unsigned a, unsigned b, unsigned c) { return shf_l_clamp(a, b, c & 31u); }
HIPPORT_PTX unsigned shf_r_clamp(unsigned a, unsigned b, unsigned c) {
  const unsigned n = c < 32 ? c : 32;
  return static_cast<unsigned>(((static_cast<unsigned long long>(b) << 32) | a) >> n);
}
HIPPORT_PTX unsigned shf_r_wrap(unsigned a, unsigned b, unsigned c) { return shf_r_clamp(a, b, c & 31u); }

template <class T> HIPPORT_PTX unsigned popc(T a) { return __builtin_popcountll(a); }
template <class T> HIPPORT_PTX unsigned clz(T a) {
  return a == 0 ? detail::bits<T> : __builtin_clzll(a) - (64 - detail::bits<T>);
}
/// Position of the leading significant bit: of a 1, or for negative numbers of a 0. All ones when there is none.
template <class T> HIPPORT_PTX unsigned bfind(T a) {
  const detail::u_of<T> x = a < 0 ? ~a : a;
  return x == 0 ? 0xffffffffu : detail::bits<T> - 1 - clz<detail::u_of<T>>(x);
}
template <class T> HIPPORT_PTX unsigned bfind_shiftamt(T a) {
  const unsigned position = bfind(a);
  return position == 0xffffffffu ? position : detail::bits<T> - 1 - position;
}
template <class T> HIPPORT_PTX T brev(T a) {
  if constexpr (sizeof(T) == 8) return __builtin_bitreverse64(a);
  else return __builtin_bitreverse32(a);
}

/// Bit field of `length` bits at `position` (both modulo 256), sign-extended for signed T.
template <class T> HIPPORT_PTX T bfe(T a, unsigned position, unsigned length) {
  constexpr unsigned width = detail::bits<T>;
  const unsigned at = position & 255u, n = length & 255u;
  if (n == 0) return T(0);
  if (at >= width) return detail::is_signed<T> ? T(a >> (width - 1)) : T(0);
  const T moved = T(a >> at);  // brings in the sign
  if (n >= width - at) return moved;
  const unsigned unused = width - n;
  return T(T(detail::u_of<T>(moved) << unused) >> unused);
}
/// `into` with `length` bits at `position` replaced by the low bits of `field`.
template <class T> HIPPORT_PTX T bfi(T field, T into, unsigned position, unsigned length) {
  constexpr unsigned width = detail::bits<T>;
  const unsigned at = position & 255u, n = length & 255u;
  if (n == 0 || at >= width) return into;
  const T mask = (n >= width ? ~T(0) : T((T(1) << n) - 1)) << at;
  return (into & ~mask) | ((field << at) & mask);
}
HIPPORT_PTX unsigned bmsk_clamp(unsigned position, unsigned length) {
  const unsigned at = position < 32 ? position : 32, n = length < 32 ? length : 32;
  return shl<unsigned>(n == 32 ? ~0u : (1u << n) - 1u, at);
}
HIPPORT_PTX unsigned bmsk_wrap(unsigned position, unsigned length) {
  return ((1u << (length & 31u)) - 1u) << (position & 31u);
}
template <class T> HIPPORT_PTX T szext_clamp(T a, unsigned length) {
  return length >= 32 ? a : length == 0 ? T(0) : bfe<T>(a, 0, length);
}
template <class T> HIPPORT_PTX T szext_wrap(T a, unsigned length) { return szext_clamp<T>(a, length & 31u); }
/// Find the n-th set bit of `mask` from `base` on, upward for positive `offset`.
HIPPORT_PTX unsigned fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return (mask >> (base & 31u)) & 1u ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
    if ((mask >> i) & 1u && --left == 0) return i;
  return 0xffffffffu;
}

namespace detail {
HIPPORT_PTX unsigned permute(unsigned a, unsigned b, unsigned index) {  // one byte number (0..7) per byte of index
#ifdef __HIP_DEVICE_COMPILE__
  return __builtin_amdgcn_perm(b, a, index);
#else
  const unsigned long long bytes = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>((bytes >> (8 * ((index >> (8 * i)) & 7u))) & 0xffu) << (8 * i);
  return result;
#endif
}
}  // namespace detail

/// Bytes of {b, a} chosen by the nibbles of `selector`; bit 3 of a nibble replicates the byte's sign instead.
HIPPORT_PTX unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  unsigned s = selector & 0xffffu;
  s = (s | (s << 8)) & 0x00ff00ffu;
  s = (s | (s << 4)) & 0x0f0f0f0fu;
  const unsigned bytes = detail::permute(a, b, s & 0x07070707u);
  const unsigned replicate = ((s >> 3) & 0x01010101u) * 0xffu, signs = ((bytes >> 7) & 0x01010101u) * 0xffu;
  return (bytes & ~replicate) | (signs & replicate);
}
HIPPORT_PTX unsigned prmt_f4e(unsigned a, unsigned b, unsigned c) { return prmt(a, b, 0x3210u + 0x1111u * (c & 3u)); }
HIPPORT_PTX unsigned prmt_b4e(unsigned a, unsigned b, unsigned c) {
  const unsigned n = c & 3u;
  return prmt(a, b, n | (((n + 7u) & 7u) << 4) | (((n + 6u) & 7u) << 8) | (((n + 5u) & 7u) << 12));
}
HIPPORT_PTX unsigned prmt_rc8(unsigned a, unsigned b, unsigned c) { return prmt(a, b, 0x1111u * (c & 3u)); }
HIPPORT_PTX unsigned prmt_ecl(unsigned a, unsigned b, unsigned c) {
  const unsigned n = c & 3u;
  unsigned s = 0;
  for (unsigned i = 0; i < 4; ++i) s |= (i > n ? i : n) << (4 * i);
  return prmt(a, b, s);
}
HIPPORT_PTX unsigned prmt_ecr(unsigned a, unsigned b, unsigned c) {
  const unsigned n = c & 3u;
  unsigned s = 0;
  for (unsigned i = 0; i < 4; ++i) s |= (i < n ? i : n) << (4 * i);
  return prmt(a, b, s);
}
HIPPORT_PTX unsigned prmt_rc16(unsigned a, unsigned b, unsigned c) { return prmt(a, b, c & 1u ? 0x3232u : 0x1010u); }

// -- dot products -----------------------------------------------------------------------------------------------------
namespace detail {
template <bool Signed> HIPPORT_PTX int byte_of(unsigned word, int i) {
  const unsigned byte = (word >> (8 * i)) & 0xffu;
  return Signed ? static_cast<signed char>(byte) : static_cast<int>(byte);
}
template <bool Signed> HIPPORT_PTX int half_of(unsigned word, int i) {
  const unsigned half = (word >> (16 * i)) & 0xffffu;
  return Signed ? static_cast<short>(half) : static_cast<int>(half);
}
}  // namespace detail

template <bool SignedA, bool SignedB> HIPPORT_PTX unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<unsigned>(detail::byte_of<SignedA>(a, i) * detail::byte_of<SignedB>(b, i));
  return c;
}
template <bool SignedA, bool SignedB> HIPPORT_PTX unsigned dp2a_lo(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<unsigned>(detail::half_of<SignedA>(a, i) * detail::byte_of<SignedB>(b, i));
  return c;
}
template <bool SignedA, bool SignedB> HIPPORT_PTX unsigned dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return dp2a_lo<SignedA, SignedB>(a, b >> 16, c);
}

// -- packed halves and bytes ------------------------------------------------------------------------------------------
HIPPORT_PTX unsigned short pack(unsigned char low, unsigned char high) {
  return static_cast<unsigned short>(low | (high << 8));
}
HIPPORT_PTX unsigned pack(unsigned short low, unsigned short high) { return low | (static_cast<unsigned>(high) << 16); }
HIPPORT_PTX unsigned long long pack(unsigned low, unsigned high) {
  return low | (static_cast<unsigned long long>(high) << 32);
}
HIPPORT_PTX unsigned pack(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  return a | (b << 8) | (c << 16) | (static_cast<unsigned>(d) << 24);
}
HIPPORT_PTX unsigned long long pack(unsigned short a, unsigned short b, unsigned short c, unsigned short d) {
  return pack(pack(a, b), pack(c, d));
}
template <class Part, class Whole> HIPPORT_PTX vec<Part, sizeof(Whole) / sizeof(Part)> unpack(Whole whole) {
  vec<Part, sizeof(Whole) / sizeof(Part)> parts;
  __builtin_memcpy(&parts, &whole, sizeof(Whole));
  return parts;
}

namespace detail {
/// f(element of a, element of b) for each element of two packed words.
template <class E, class F> HIPPORT_PTX unsigned each(unsigned a, unsigned b, F f) {
  constexpr int n = 4 / sizeof(E), width = bits<E>;
  unsigned result = 0;
  for (int i = 0; i < n; ++i)
    result |= static_cast<unsigned>(u_of<E>(f(E(a >> (width * i)), E(b >> (width * i))))) << (width * i);
  return result;
}
}  // namespace detail

/// Two halves or four bytes at once.
template <class E, bool Saturate> HIPPORT_PTX unsigned add_packed(unsigned a, unsigned b) {
  return detail::each<E>(a, b, [](int x, int y) { return Saturate ? int(detail::clamp_to<E>(x + y)) : x + y; });
}
template <class E, bool Saturate> HIPPORT_PTX unsigned sub_packed(unsigned a, unsigned b) {
  return detail::each<E>(a, b, [](int x, int y) { return Saturate ? int(detail::clamp_to<E>(x - y)) : x - y; });
}
template <class E> HIPPORT_PTX unsigned min_16x2(unsigned a, unsigned b) {
  return detail::each<E>(a, b, [](int x, int y) { return x < y ? x : y; });
}
template <class E> HIPPORT_PTX unsigned max_16x2(unsigned a, unsigned b) {
  return detail::each<E>(a, b, [](int x, int y) { return x > y ? x : y; });
}

}  // namespace ptx
}  // namespace hipport
