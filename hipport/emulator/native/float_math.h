// Floating-point rules of the target that differ from the host's: min/max and NaNs, transcendentals, division steps.
#pragma once

#include "lanes.h"

namespace hipemu {

inline bool ieee(const LaneArgs &x) {
    return (x.wave->mode & kIeee) || x.wave->group->target->generation >= Generation::gfx12;
}

// min/max: a NaN operand loses against a number, -0 < +0. With IEEE on, a signalling NaN wins and becomes quiet.
template <class V> inline V bits_or(V a, V b) {
    if constexpr (sizeof(V) == 8) return std::bit_cast<V>(std::bit_cast<u64>(a) | std::bit_cast<u64>(b));
    else return std::bit_cast<V>(std::bit_cast<u32>(a) | std::bit_cast<u32>(b));
}
template <class V> inline V bits_and(V a, V b) {
    if constexpr (sizeof(V) == 8) return std::bit_cast<V>(std::bit_cast<u64>(a) & std::bit_cast<u64>(b));
    else return std::bit_cast<V>(std::bit_cast<u32>(a) & std::bit_cast<u32>(b));
}
template <class V> inline V fmin_number(V a, V b) {
    V r = a < b ? a : b;
    r = a == b ? bits_or(a, b) : r;
    r = a != a ? b : r;
    return b != b ? a : r;
}
template <class V> inline V fmax_number(V a, V b) {
    V r = a > b ? a : b;
    r = a == b ? bits_and(a, b) : r;
    r = a != a ? b : r;
    return b != b ? a : r;
}
template <class V> inline V quiet_first(bool on, V a, V b, V r) {
    r = on && is_signalling(b) ? quiet(b) : r;
    return on && is_signalling(a) ? quiet(a) : r;
}
template <class V> inline V fmin_ieee(bool on, V a, V b) { return quiet_first(on, a, b, fmin_number(a, b)); }
template <class V> inline V fmax_ieee(bool on, V a, V b) { return quiet_first(on, a, b, fmax_number(a, b)); }
template <class V> inline V fmed3(bool on, V a, V b, V c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return fmin_ieee(on, fmin_ieee(on, a, b), c);
    V m = fmax_number(fmax_number(a, b), c);
    return m == a ? fmax_number(b, c) : m == b ? fmax_number(a, c) : fmax_number(a, b);
}
// gfx12's min_num/max_num are IEEE 754-2019 minimumNumber/maximumNumber: a number wins over any NaN, signalling or not; of two
// NaNs the first, made quiet.
template <class V> inline V fmin_num(V a, V b) { return is_nan(a) && is_nan(b) ? quiet(a) : fmin_number(a, b); }
template <class V> inline V fmax_num(V a, V b) { return is_nan(a) && is_nan(b) ? quiet(a) : fmax_number(a, b); }
template <class V> inline V fmed3_num(V a, V b, V c) {
    return is_nan(a) || is_nan(b) || is_nan(c) ? fmin_num(fmin_num(a, b), c) : fmed3(false, a, b, c);
}
// IEEE 754-2019 minimum/maximum: NaN propagates.
template <class V> inline V fminimum(V a, V b) { return a != a ? quiet(a) : b != b ? quiet(b) : fmin_number(a, b); }
template <class V> inline V fmaximum(V a, V b) { return a != a ? quiet(a) : b != b ? quiet(b) : fmax_number(a, b); }

inline float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

// a or b, without a branch: the compiler then turns loops over lanes into vector code.
inline float choose(bool c, float a, float b) {
    u32 mask = 0u - u32(c);
    return std::bit_cast<float>((std::bit_cast<u32>(a) & mask) | (std::bit_cast<u32>(b) & ~mask));
}

// 2^x in double for |x| up to 200, error below 2^-45: well inside the 1 ulp of v_exp_f32.
inline double exp2_double(double x) {
    double shifted = x + 0x1.8p52; // its low bits are the nearest integer
    double n = shifted - 0x1.8p52, r = (x - n) * 0.69314718055994530942;
    double p = 1.0 + r * (1.0 + r * (1 / 2.0 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * (1 / 5040.0 + r * (1 / 40320.0 + r * (1 / 362880.0 + r * (1 / 3628800.0))))))))));
    double scale = std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52);
    return p * scale;
}
inline double exp2_float(float x) { // any x; NaN is the caller's business
    return exp2_double(double(choose(x > 200.0f, 200.0f, choose(x >= -200.0f, x, -200.0f))));
}
// log2 of a positive normal double.
inline double log2_double(double x) {
    u64 bits = std::bit_cast<u64>(x);
    i64 e = i64(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    bool big = m > 1.41421356237309504880;
    m = big ? m * 0.5 : m;
    double n = double(e + (big ? 1 : 0));
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 + z * (1 / 3.0 + z * (1 / 5.0 + z * (1 / 7.0 + z * (1 / 9.0 + z * (1 / 11.0 + z * (1 / 13.0 + z * (1 / 15.0 + z * (1 / 17.0))))))));
    return n + 2 * s * p * 1.44269504088896340736;
}
// sin(2 pi x) for |x| up to 2^20 or so, by reduction to a quarter turn.
inline double sin_turns(double x, double quarter) {
    double f = x - round_even(x); // [-0.5, 0.5]
    f = f + quarter;
    f = f - round_even(f);
    f = f > 0.25 ? 0.5 - f : f;
    f = f < -0.25 ? -0.5 - f : f;
    double r = f * 6.28318530717958647692, z = r * r;
    return r * (1 + z * (-1 / 6.0 + z * (1 / 120.0 + z * (-1 / 5040.0 + z * (1 / 362880.0 + z * (-1 / 39916800.0 + z * (1 / 6227020800.0 + z * (-1 / 1307674368000.0))))))));
}

inline i32 exponent_of(float x) { return i32(std::bit_cast<u32>(x) >> 23 & 255); }
inline i32 exponent_of(double x) { return i32(std::bit_cast<u64>(x) >> 52 & 2047); }
inline bool negative(float x) { return std::bit_cast<u32>(x) >> 31; }
inline bool negative(double x) { return std::bit_cast<u64>(x) >> 63; }
inline bool is_inf(float x) { return (std::bit_cast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
inline bool is_inf(double x) { return (std::bit_cast<u64>(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }

// v_div_fixup: special cases of numerator c / denominator b, otherwise quotient a with the right sign.
template <class V> inline V div_fixup(V a, V b, V c, int underflow) {
    bool minus = negative(b) != negative(c);
    V zero = 0, inf = std::numeric_limits<V>::infinity();
    if (is_nan(c)) return quiet(c);
    if (is_nan(b)) return quiet(b);
    if ((b == 0 && c == 0) || (is_inf(b) && is_inf(c))) return -std::numeric_limits<V>::quiet_NaN();
    if (b == 0 || is_inf(c)) return minus ? -inf : inf;
    if (is_inf(b) || c == 0) return minus ? -zero : zero;
    if (underflow && exponent_of(c) - exponent_of(b) < underflow) return minus ? -zero : zero; // below half of the least denormal
    if (!(std::fabs(a) < inf)) return minus ? -inf : inf; // the steps overflowed
    return minus ? -std::fabs(a) : std::fabs(a);
}

template <class V> inline bool is_denormal(V x) { return x != 0 && exponent_of(x) == 0; }

// v_div_scale: scales numerator or denominator (a is one of them) so that the steps in between stay in range.
template <class V> inline V div_scale(V a, V b, V c, bool &vcc) {
    constexpr bool wide = sizeof(V) == 8;
    const int k = wide ? 128 : 64, far = wide ? 768 : 96, tiny = wide ? 53 : 23;
    vcc = false;
    V r = a;
    if (c == 0 || b == 0) return std::numeric_limits<V>::quiet_NaN();
    bool recip_denormal, quotient_denormal;
    if constexpr (wide) {
        recip_denormal = is_denormal(1.0 / b);
        quotient_denormal = is_denormal(c / b);
    } else {
        recip_denormal = is_denormal(float(1.0 / double(b)));
        quotient_denormal = is_denormal(float(double(c) / double(b)));
    }
    if (exponent_of(c) - exponent_of(b) >= far) {
        vcc = true;
        if (std::bit_cast<std::conditional_t<wide, u64, u32>>(a) == std::bit_cast<std::conditional_t<wide, u64, u32>>(b)) r = std::ldexp(a, k);
    } else if (is_denormal(b)) {
        r = std::ldexp(a, k);
    } else if (recip_denormal && quotient_denormal) {
        vcc = true; // the manuals scale up here, which overflows; scaling down is what v_div_fmas undoes
        if (a == b) r = std::ldexp(a, -k);
    } else if (recip_denormal) {
        r = std::ldexp(a, -k);
    } else if (quotient_denormal) {
        vcc = true;
        if (a == c) r = std::ldexp(a, k);
    } else if (exponent_of(c) <= tiny) {
        r = std::ldexp(a, k);
    }
    return r;
}

} // namespace hipemu
