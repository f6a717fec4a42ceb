// Typed access to lanes and the builders of table rows for vector opcodes:
//
//     op<f32(f32, f32)>("v_add_f32", [](float a, float b) { return a + b; })
//
// makes the row whose lane function loops over all 64 lanes; the compiler vectorises the loop. `arith` rows also replace the
// host's default NaN (negative) by the target's (positive) and keep the payload of the first NaN operand.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "machine.h"

namespace hipemu {

// ---- half precision, in integer arithmetic so that loops vectorise on every host ---------------------------------

inline float half_to_float(u32 h) {
    u32 sign = (h & 0x8000u) << 16, em = h & 0x7fffu;
    u32 bits = (em << 13) + (112u << 23);
    bits += em >= 0x7c00u ? (112u << 23) : 0;
    bits |= em > 0x7c00u ? 0x400000u : 0;
    float tiny = float(i32(em)) * 0x1p-24f;
    u32 small = std::bit_cast<u32>(tiny);
    return std::bit_cast<float>((em < 0x400u ? small : bits) | sign);
}

// Round to nearest even.
inline u32 float_to_half(float f) {
    u32 x = std::bit_cast<u32>(f), sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
    u32 normal = (a + 0xfffu + ((a >> 13) & 1) - (112u << 23)) >> 13;
    // Adding 0.5 aligns the binade so that the addition rounds to multiples of 2^-24.
    u32 tiny = std::bit_cast<u32>(std::bit_cast<float>(a) + 0.5f) - std::bit_cast<u32>(0.5f);
    u32 r = a < (113u << 23) ? tiny : normal;
    r = a >= 0x477ff000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? (0x7e00u | ((a >> 13) & 0x3ffu)) : r;
    return r | sign;
}

// Round towards zero.
inline u32 float_to_half_rtz(float f) {
    u32 x = std::bit_cast<u32>(f), sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
    u32 normal = (a - (112u << 23)) >> 13;
    u32 exponent = a >> 23;
    u32 shift = 126u - exponent; // denormal result: mantissa >> shift
    u32 mantissa = (a & 0x7fffffu) | 0x800000u;
    u32 tiny = shift > 31 ? 0 : mantissa >> shift;
    u32 r = a < (113u << 23) ? tiny : normal;
    r = a >= 0x47800000u ? 0x7bffu : r;
    r = a == 0x7f800000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? (0x7e00u | ((a >> 13) & 0x3ffu)) : r;
    return r | sign;
}

// In MODE's rounding: 0 nearest even, 1 towards +inf, 2 towards -inf, 3 towards zero. A float that was itself rounded must have
// been rounded in the same direction, or to odd.
inline u32 float_to_half_in_mode(float f, u32 round) {
    if (round == 0) return float_to_half(f);
    u32 r = float_to_half_rtz(f);
    if (round == 3 || f - f != 0) return r;
    bool away = half_to_float(r) != f && (f > 0) == (round == 1);
    return away ? r + 1 : r;
}

// double -> float so that a further rounding to half is as if rounded once (round to odd).
inline float double_to_float_odd(double d) {
    float f = float(d);
    u32 x = std::bit_cast<u32>(f);
    bool inexact = double(f) != d && d == d;
    bool above = std::fabs(double(f)) > std::fabs(d);
    u32 truncated = inexact && above ? x - 1 : x;
    return std::bit_cast<float>(inexact ? (truncated | 1u) : x);
}

// a * b + c for halves given as floats, rounded once to half by a following float_to_half.
inline float half_fma(float a, float b, float c) {
    double p = double(a) * double(b), dc = c; // exact product
    double s = p + dc;
    double bb = s - p;
    double error = (p - (s - bb)) + (dc - bb);
    u64 x = std::bit_cast<u64>(s);
    bool inexact = error != 0 && s - s == 0;
    bool above = (error < 0) == (s > 0);
    u64 truncated = inexact && above ? x - 1 : x;
    double odd = std::bit_cast<double>(inexact ? (truncated | 1ull) : x);
    return double_to_float_odd(odd);
}

inline float bf16_to_float(u32 h) { return std::bit_cast<float>(h << 16); }
inline u32 float_to_bf16(float f) {
    u32 x = std::bit_cast<u32>(f);
    u32 r = (x + 0x7fffu + ((x >> 16) & 1)) >> 16;
    return (x & 0x7fffffffu) > 0x7f800000u ? ((x >> 16) | 0x40u) : r;
}

// ---- lane types ---------------------------------------------------------------------------------------------------

template <class T, Type K> struct Word {
    using value = T;
    static constexpr Type type = K;
    static T load(const u32 *p, int l) { return std::bit_cast<T>(p[l]); }
    static void store(u32 *p, int l, T x) { p[l] = std::bit_cast<u32>(x); }
};
template <class T, Type K> struct Short { // a 16-bit value in the low half
    using value = T;
    static constexpr Type type = K;
    static T load(const u32 *p, int l) { return T(p[l]); }
    static void store(u32 *p, int l, T x) { p[l] = u16(x); }
};
template <class T, Type K> struct Pair {
    using value = T;
    static constexpr Type type = K;
    static T load(const u32 *p, int l) { return std::bit_cast<T>(u64(p[l]) | u64(p[l + kLanes]) << 32); }
    static void store(u32 *p, int l, T x) { u64 b = std::bit_cast<u64>(x); p[l] = u32(b); p[l + kLanes] = u32(b >> 32); }
};
using b32 = Word<u32, Type::b32>;
using U32 = Word<u32, Type::u32>;
using I32 = Word<i32, Type::i32>;
using f32 = Word<float, Type::f32>;
using b16 = Short<u16, Type::b16>;
using U16 = Short<u16, Type::u16>;
using I16 = Short<i16, Type::i16>;
using b64 = Pair<u64, Type::b64>;
using U64 = Pair<u64, Type::u64>;
using I64 = Pair<i64, Type::i64>;
using f64 = Pair<double, Type::f64>;
using pk16 = Word<u32, Type::pk16>;   // two 16-bit integers
using pkf16 = Word<u32, Type::pkf16>; // two halves
struct f16 { // held as float
    using value = float;
    static constexpr Type type = Type::f16;
    static float load(const u32 *p, int l) { return half_to_float(p[l] & 0xffff); }
    static void store(u32 *p, int l, float x) { p[l] = float_to_half(x); }
};
struct h16 { // a half as its bits
    using value = u16;
    static constexpr Type type = Type::f16;
    static u16 load(const u32 *p, int l) { return u16(p[l]); }
    static void store(u32 *p, int l, u16 x) { p[l] = x; }
};
struct bf16 {
    using value = float;
    static constexpr Type type = Type::bf16;
    static float load(const u32 *p, int l) { return bf16_to_float(p[l] & 0xffff); }
    static void store(u32 *p, int l, float x) { p[l] = float_to_bf16(x); }
};
struct mask { // destination: one bit per lane; source: carry in
    using value = bool;
    static constexpr Type type = Type::mask;
};

// Nearest even, whatever the rounding mode of the host is at the moment.
inline float round_even(float x) { return __builtin_roundevenf(x); }
inline double round_even(double x) { return __builtin_roundeven(x); }

template <class T> constexpr bool is_float_type = T::type == Type::f32 || T::type == Type::f16 || T::type == Type::f64;

template <class V> inline bool is_nan(V x) { return x != x; }
inline float quiet(float x) { return std::bit_cast<float>(std::bit_cast<u32>(x) | 0x400000u); }
inline double quiet(double x) { return std::bit_cast<double>(std::bit_cast<u64>(x) | 0x8000000000000ull); }
inline bool is_signalling(float x) { return is_nan(x) && !(std::bit_cast<u32>(x) & 0x400000u); }
inline bool is_signalling(double x) { return is_nan(x) && !(std::bit_cast<u64>(x) & 0x8000000000000ull); }

// ---- row builders -------------------------------------------------------------------------------------------------

template <class Sig> struct Signature;
template <class D, class... S> struct Signature<D(S...)> {
    // Loops: f(sources...) or f(context, sources...).
    template <class F> static void lanes(LaneArgs &x) {
        run<F>(x, std::index_sequence_for<S...>{});
    }
    template <class F, size_t... I> static void run(LaneArgs &x, std::index_sequence<I...>) {
        u32 *__restrict out = x.out;
        const u32 *__restrict p[] = {x.src[I]..., nullptr};
        (void)p;
        for (int l = 0; l < kLanes; ++l) {
            if constexpr (std::is_invocable_v<F, const LaneArgs &, typename S::value...>)
                D::store(out, l, F{}(x, S::load(p[I], l)...));
            else
                D::store(out, l, F{}(S::load(p[I], l)...));
        }
    }
    // As lanes, then NaNs as the target makes them.
    template <class F> static void arith_lanes(LaneArgs &x) {
        arith_run<F>(x, std::index_sequence_for<S...>{});
    }
    template <class F, size_t... I> static void arith_run(LaneArgs &x, std::index_sequence<I...>) {
        u32 *__restrict out = x.out;
        const u32 *__restrict p[] = {x.src[I]..., nullptr};
        int nans = 0;
        for (int l = 0; l < kLanes; ++l) {
            typename D::value r;
            if constexpr (std::is_invocable_v<F, const LaneArgs &, typename S::value...>)
                r = F{}(x, S::load(p[I], l)...);
            else
                r = F{}(S::load(p[I], l)...);
            nans |= r != r;
            D::store(out, l, r);
        }
        if (__builtin_expect(nans, 0)) fix_nans(x, out, std::index_sequence<I...>{});
    }
    template <size_t... I>
    [[gnu::noinline]] static void fix_nans(LaneArgs &x, u32 *out, std::index_sequence<I...>) {
        for (int l = 0; l < kLanes; ++l) {
            auto r = D::load(out, l);
            if (r == r) continue;
            using V = typename D::value;
            V nan = std::is_same_v<V, double> ? V(std::bit_cast<double>(0x7ff8000000000000ull)) : V(std::bit_cast<float>(0x7fc00000u));
            bool found = false;
            auto take = [&](auto value) {
                if constexpr (std::is_floating_point_v<decltype(value)>)
                    if (!found && value != value) { found = true; nan = V(quiet(value)); }
            };
            (take(S::load(x.src[I], l)), ...);
            D::store(out, l, nan);
        }
    }
    // Half-precision results in MODE's rounding.
    template <class F, bool Arithmetic> static void lanes_in_mode(LaneArgs &x) {
        if constexpr (D::type == Type::f16 && std::is_same_v<typename D::value, float>) run_in_mode<F, Arithmetic>(x, std::index_sequence_for<S...>{});
        else lanes<F>(x); // no rounding
    }
    template <class F, bool Arithmetic, size_t... I> static void run_in_mode(LaneArgs &x, std::index_sequence<I...> all) {
        u32 round = x.wave->mode >> 2 & 3;
        bool nans = false;
        for (int l = 0; l < kLanes; ++l) {
            float r;
            if constexpr (std::is_invocable_v<F, const LaneArgs &, typename S::value...>) r = F{}(x, S::load(x.src[I], l)...);
            else r = F{}(S::load(x.src[I], l)...);
            nans |= r != r;
            x.out[l] = float_to_half_in_mode(r, round);
        }
        if (Arithmetic && nans) fix_nans(x, x.out, all);
    }
    template <class F, bool Arithmetic> static constexpr Lane in_mode() {
        if constexpr (D::type == Type::f16) return &lanes_in_mode<F, Arithmetic>;
        else return nullptr;
    }
    static std::vector<Type> types() { return {D::type, S::type...}; }
};

// A row whose result is f(sources).
// F is called as F{}: a lambda without captures, not the name of a function.
template <class Sig, class F> Op op(const char *name, F, u32 flags = 0, const char *exactness = "exact") {
    static_assert(std::is_empty_v<F>); // F is made anew in the loop: a lambda without captures
    Op row{name, Unit::valu, run_vector, &Signature<Sig>::template lanes<F>, Signature<Sig>::types(), flags, exactness};
    row.in_mode = Signature<Sig>::template in_mode<F, false>();
    return row;
}
template <class Sig, class F> Op arith(const char *name, F, u32 flags = 0, const char *exactness = "exact") {
    static_assert(std::is_empty_v<F>);
    Op row{name, Unit::valu, run_vector, &Signature<Sig>::template arith_lanes<F>, Signature<Sig>::types(), flags, exactness};
    row.in_mode = Signature<Sig>::template in_mode<F, true>();
    return row;
}
// A row with a lane function of its own.
inline Op lanes(const char *name, Lane lane, std::vector<Type> types, u32 flags = 0, const char *exactness = "exact") {
    return {name, Unit::valu, run_vector, lane, std::move(types), flags, exactness};
}
// The same opcode under another generation's name.
inline Op alias(const char *name, Op row) { row.name = name; return row; }

inline void append(Table &table, Table rows) { for (Op &r : rows) table.push_back(std::move(r)); }

}  // namespace hipemu
