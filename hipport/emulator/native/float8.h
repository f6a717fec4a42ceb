// 8-bit floats: e4m3 and e5m2, in the fnuz flavour of gfx942 and the OCP flavour of gfx950 and gfx12.
// Sources: OCP 8-bit Floating Point Specification 1.0; CDNA3 ISA, section "8-bit floating point".
#pragma once

#include "lanes.h"

namespace hipemu {

template <int E, int M> inline float decode_f8(u32 v, bool fnuz) {
    v &= 0xff;
    int bias = (1 << (E - 1)) - (fnuz ? 0 : 1);
    u32 sign = v >> 7, e = v >> M & ((1 << E) - 1), m = v & ((1 << M) - 1);
    float r;
    if (fnuz && v == 0x80) return std::bit_cast<float>(0x7fc00000u);
    if (!fnuz && E == 5 && e == 31) r = m ? std::bit_cast<float>(0x7fc00000u) : std::bit_cast<float>(0x7f800000u);
    else if (!fnuz && E == 4 && (v & 0x7f) == 0x7f) r = std::bit_cast<float>(0x7fc00000u);
    else if (e == 0) r = std::ldexp(float(m), 1 - bias - M);
    else r = std::ldexp(float(m | (1 << M)), int(e) - bias - M);
    return sign ? -r : r;
}

// `saturate`: MODE.FP16_OVFL. `random`: bits added below the kept mantissa for stochastic rounding, or -1 for nearest even.
template <int E, int M> inline u32 encode_f8(float x, bool fnuz, bool saturate, i64 random = -1) {
    int bias = (1 << (E - 1)) - (fnuz ? 0 : 1);
    u32 bits = std::bit_cast<u32>(x), sign = bits >> 31;
    float a = std::fabs(x);
    float largest = E == 4 ? (fnuz ? 240.0f : 448.0f) : 57344.0f;
    u32 nan = fnuz ? 0x80 : 0x7f, inf = fnuz ? 0x80 : (E == 5 ? 0x7cu : 0x7fu);
    if (a != a) return fnuz ? nan : nan | sign << 7;
    u32 over = E == 5 && !fnuz ? (saturate ? 0x7bu : inf) : fnuz ? (saturate ? 0x7fu : nan) : (saturate ? 0x7eu : nan);
    u32 signed_over = fnuz && !saturate ? over : over | sign << 7;
    if (std::isinf(a)) {
        if (E == 5 && !fnuz) return (saturate ? 0x7bu : 0x7cu) | sign << 7;
        return signed_over;
    }
    if (a == 0) return fnuz ? 0 : sign << 7;
    int e;
    (void)std::frexp(a, &e);
    int exponent = std::max(e - 1, 1 - bias); // of the result's binade
    double scaled = std::ldexp(double(a), M - exponent); // kept bits are the integer part
    double whole;
    if (random >= 0) {
        double fraction = double(random) / double(1ull << 32);
        whole = std::floor(scaled + fraction);
    } else {
        whole = round_even(scaled);
    }
    double value = std::ldexp(whole, exponent - M);
    if (value > largest) return signed_over;
    if (whole == 0) return fnuz ? 0 : sign << 7;
    int e2;
    (void)std::frexp(value, &e2);
    int biased = e2 - 1 + bias;
    u32 r;
    if (biased <= 0) r = u32(std::ldexp(value, M + bias - 1));
    else r = u32(biased) << M | (u32(std::ldexp(value, M - (e2 - 1))) & ((1 << M) - 1));
    return r | sign << 7;
}

} // namespace hipemu
