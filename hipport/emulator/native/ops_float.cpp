// Single-precision vector opcodes. Source: CDNA3 and RDNA3 instruction set manuals; transcendentals are within 1 ulp and flush
// denormals as the manuals state.
#include <array>
#include <limits>

#include "float_math.h"

namespace hipemu {

namespace {

void v_div_scale_f32(LaneArgs &x) {
    u64 m = 0;
    for (int l = 0; l < kLanes; ++l) {
        bool c;
        f32::store(x.out, l, div_scale(f32::load(x.src[0], l), f32::load(x.src[1], l), f32::load(x.src[2], l), c));
        m |= u64(c) << l;
    }
    x.mask_out = m;
}
// The last step of a division undoes the scaling of v_div_scale: by 2^64 when the denominator was scaled (a big quotient), by
// 2^-64 when the numerator was. The manuals print 2^32, which would not invert v_div_scale; the result is rounded once.
void v_div_fmas_f32(LaneArgs &x) {
    u64 vcc = x.wave->vcc();
    for (int l = 0; l < kLanes; ++l) {
        float a = f32::load(x.src[0], l), b = f32::load(x.src[1], l), c = f32::load(x.src[2], l);
        float r = std::fma(a, b, c);
        if (vcc >> l & 1) {
            double p = double(a) * double(b), s = p + c, bb = s - p, error = (p - (s - bb)) + (c - bb);
            u64 bits = std::bit_cast<u64>(s);
            if (error != 0 && s - s == 0) {
                if ((error < 0) == (s > 0)) --bits;
                bits |= 1;
            }
            r = float(std::bit_cast<double>(bits) * (exponent_of(c) > 127 ? 0x1p64 : 0x1p-64));
        }
        f32::store(x.out, l, r);
    }
}

constexpr auto exp_f32 = [](float a) {
    float r = float(exp2_float(choose(std::fabs(a) < 0x1p-126f, 0.0f, a)));
    r = choose(a > 128.0f, std::numeric_limits<float>::infinity(), r);
    r = choose(a < -126.0f, 0.0f, r);
    return choose(a != a, a, r);
};
constexpr auto log_f32 = [](float a) {
    a = flush(a);
    float r = float(log2_double(double(a > 0 ? a : 1.0f)));
    r = a == 0 ? -std::numeric_limits<float>::infinity() : r;
    r = a < 0 ? std::numeric_limits<float>::quiet_NaN() : r;
    r = a == std::numeric_limits<float>::infinity() ? a : r;
    return a != a ? a : r;
};
constexpr auto rcp_f32 = [](float a) { return flush(1.0f / flush(a)); };
constexpr auto rsq_f32 = [](float a) { a = flush(a); return flush(float(1.0 / std::sqrt(double(a)))); };
constexpr auto sqrt_f32 = [](float a) { return std::sqrt(flush(a)); };
// The input counts turns; beyond 256 the hardware gives 0 (sin) and 1 (cos).
constexpr auto sin_f32 = [](float a) {
    float r = std::fabs(a) > 256.0f ? 0.0f : flush(float(sin_turns(double(flush(a)), 0)));
    r = a == 0 ? a : r;
    return a - a == 0 ? r : std::numeric_limits<float>::quiet_NaN();
};
constexpr auto cos_f32 = [](float a) {
    float r = std::fabs(a) > 256.0f ? 1.0f : flush(float(sin_turns(double(flush(a)), 0.25)));
    return a - a == 0 ? r : std::numeric_limits<float>::quiet_NaN();
};

float fract(float a) {
    float r = a - std::floor(a);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
}
constexpr auto legacy_mul = [](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; };

float ldexp_f32(float a, i32 e) {
    e = e > 400 ? 400 : e < -400 ? -400 : e;
    return std::ldexp(a, e);
}

constexpr auto cube_id = [](float x, float y, float z) -> float {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    if (az >= ax && az >= ay) return z < 0 ? 5 : 4;
    if (ay >= ax) return y < 0 ? 3 : 2;
    return x < 0 ? 1 : 0;
};
constexpr auto cube_sc = [](float x, float y, float z) -> float {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    if (az >= ax && az >= ay) return z < 0 ? -x : x;
    if (ay >= ax) return x;
    return x < 0 ? z : -z;
};
constexpr auto cube_tc = [](float x, float y, float z) -> float {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    if (az >= ax && az >= ay) return -y;
    if (ay >= ax) return y < 0 ? -z : z;
    return -y;
};
constexpr auto cube_ma = [](float x, float y, float z) -> float {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    return 2 * (az >= ax && az >= ay ? z : ay >= ax ? y : x);
};

// gfx12: the same functions on scalar registers.
template <class L, class F> const Inst *on_scalar(Wave &w, const Inst *i) {
    float x = L::load(std::array<u32, 1>{read32(w, i->o[1])}.data(), 0);
    if (i->o[1].modifiers & kAbs) x = std::fabs(x);
    if (i->o[1].modifiers & kNeg) x = -x;
    float r = F{}(x);
    if (r != r) r = x != x ? quiet(x) : std::bit_cast<float>(0x7fc00000u);
    if (i->omod) r *= i->omod == 1 ? 2.0f : i->omod == 2 ? 4.0f : 0.5f;
    if (i->flags & kClamp) r = r != r || r < 0 ? 0.0f : r > 1 ? 1.0f : r;
    u32 bits;
    L::store(&bits, 0, r);
    write32(w, i->o[0], bits);
    return i + 1;
}
template <class L, class F> Op scalar_function(const char *name, F) {
    return {name, Unit::valu, on_scalar<L, F>, nullptr, {L::type, L::type}, kOwnModifiers | kAlwaysRuns, "1 ulp"};
}
constexpr auto exp_f16 = [](float a) { return a != a ? a : float(exp2_float(a)); };
constexpr auto log_f16 = [](float a) {
    if (a == 0) return -std::numeric_limits<float>::infinity();
    if (!(a > 0)) return std::numeric_limits<float>::quiet_NaN();
    return std::isinf(a) ? a : float(log2_double(double(a)));
};
constexpr auto rcp_f16 = [](float a) { return 1.0f / a; };
constexpr auto rsq_f16 = [](float a) { return float(1.0 / std::sqrt(double(a))); };
constexpr auto sqrt_f16 = [](float a) { return std::sqrt(a); };

// Minimum and maximum without a look at NaNs and signed zeros, unless a lane has one.
template <bool Max, int N> void select_f32(LaneArgs &x) {
    const float *__restrict a = reinterpret_cast<const float *>(x.src[0]), *__restrict b = reinterpret_cast<const float *>(x.src[1]);
    const float *__restrict c = reinterpret_cast<const float *>(x.src[N - 1]);
    float *__restrict out = reinterpret_cast<float *>(x.out);
    int special = 0;
    for (int l = 0; l < kLanes; ++l) {
        float r = Max ? (a[l] > b[l] ? a[l] : b[l]) : (a[l] < b[l] ? a[l] : b[l]);
        special |= (a[l] != a[l]) | (b[l] != b[l]) | (r == 0);
        if constexpr (N == 3) {
            r = Max ? (r > c[l] ? r : c[l]) : (r < c[l] ? r : c[l]);
            special |= (c[l] != c[l]) | (r == 0);
        }
        out[l] = r;
    }
    if (!special) return;
    bool on = ieee(x);
    for (int l = 0; l < kLanes; ++l) {
        float r = Max ? fmax_ieee(on, a[l], b[l]) : fmin_ieee(on, a[l], b[l]);
        if constexpr (N == 3) r = Max ? fmax_ieee(on, r, c[l]) : fmin_ieee(on, r, c[l]);
        out[l] = r;
    }
}

} // namespace

Table float_opcodes() {
    const char *ulp = "1 ulp";
    Table t = {
        arith<f32(f32, f32)>("v_add_f32", [](float a, float b) { return a + b; }),
        arith<f32(f32, f32)>("v_sub_f32", [](float a, float b) { return a - b; }),
        arith<f32(f32, f32)>("v_subrev_f32", [](float a, float b) { return b - a; }),
        arith<f32(f32, f32)>("v_mul_f32", [](float a, float b) { return a * b; }),
        arith<f32(f32, f32)>("v_mul_legacy_f32", legacy_mul),
        arith<f32(f32, f32)>("v_mul_dx9_zero_f32", legacy_mul),
        arith<f32(f32, f32, f32)>("v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
        arith<f32(f32, f32, f32)>("v_fmac_f32", [](float a, float b, float c) { return std::fma(a, b, c); }, kReadsDst),
        arith<f32(f32, f32, f32)>("v_fmamk_f32", [](float a, float k, float c) { return std::fma(a, k, c); }),
        arith<f32(f32, f32, f32)>("v_fmaak_f32", [](float a, float b, float k) { return std::fma(a, b, k); }),
        arith<f32(f32, f32, f32)>("v_mad_f32", [](float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }),
        arith<f32(f32, f32, f32)>("v_mac_f32", [](float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }, kReadsDst),
        arith<f32(f32, f32, f32)>("v_madmk_f32", [](float a, float k, float c) { return flush(flush(flush(a) * flush(k)) + flush(c)); }),
        arith<f32(f32, f32, f32)>("v_madak_f32", [](float a, float b, float k) { return flush(flush(flush(a) * flush(b)) + flush(k)); }),
        arith<f32(f32, f32, f32)>("v_fma_legacy_f32", [](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); }),
        arith<f32(f32, f32, f32)>("v_fma_dx9_zero_f32", [](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); }),
        lanes("v_min_f32", select_f32<false, 2>, {Type::f32, Type::f32, Type::f32}),
        lanes("v_max_f32", select_f32<true, 2>, {Type::f32, Type::f32, Type::f32}),
        op<f32(f32, f32)>("v_min_num_f32", [](float a, float b) { return fmin_num(a, b); }),
        op<f32(f32, f32)>("v_max_num_f32", [](float a, float b) { return fmax_num(a, b); }),
        lanes("v_min3_f32", select_f32<false, 3>, {Type::f32, Type::f32, Type::f32, Type::f32}),
        lanes("v_max3_f32", select_f32<true, 3>, {Type::f32, Type::f32, Type::f32, Type::f32}),
        op<f32(f32, f32, f32)>("v_med3_f32", [](const LaneArgs &x, float a, float b, float c) { return fmed3(ieee(x), a, b, c); }),
        op<f32(f32, f32, f32)>("v_min3_num_f32", [](float a, float b, float c) { return fmin_num(fmin_num(a, b), c); }),
        op<f32(f32, f32, f32)>("v_max3_num_f32", [](float a, float b, float c) { return fmax_num(fmax_num(a, b), c); }),
        op<f32(f32, f32, f32)>("v_med3_num_f32", [](float a, float b, float c) { return fmed3_num(a, b, c); }),
        op<f32(f32, f32, f32)>("v_maxmin_f32", [](const LaneArgs &x, float a, float b, float c) { return fmin_ieee(ieee(x), fmax_ieee(ieee(x), a, b), c); }),
        op<f32(f32, f32, f32)>("v_minmax_f32", [](const LaneArgs &x, float a, float b, float c) { return fmax_ieee(ieee(x), fmin_ieee(ieee(x), a, b), c); }),
        op<f32(f32, f32, f32)>("v_maxmin_num_f32", [](float a, float b, float c) { return fmin_num(fmax_num(a, b), c); }),
        op<f32(f32, f32, f32)>("v_minmax_num_f32", [](float a, float b, float c) { return fmax_num(fmin_num(a, b), c); }),
        op<f32(f32, f32)>("v_minimum_f32", [](float a, float b) { return fminimum(a, b); }),
        op<f32(f32, f32)>("v_maximum_f32", [](float a, float b) { return fmaximum(a, b); }),
        op<f32(f32, f32, f32)>("v_minimum3_f32", [](float a, float b, float c) { return fminimum(fminimum(a, b), c); }),
        op<f32(f32, f32, f32)>("v_maximum3_f32", [](float a, float b, float c) { return fmaximum(fmaximum(a, b), c); }),
        op<f32(f32, f32, f32)>("v_maximumminimum_f32", [](float a, float b, float c) { return fminimum(fmaximum(a, b), c); }),
        op<f32(f32, f32, f32)>("v_minimummaximum_f32", [](float a, float b, float c) { return fmaximum(fminimum(a, b), c); }),
        arith<f32(f32)>("v_fract_f32", [](float a) { return fract(a); }),
        arith<f32(f32)>("v_trunc_f32", [](float a) { return std::trunc(a); }),
        arith<f32(f32)>("v_ceil_f32", [](float a) { return std::ceil(a); }),
        arith<f32(f32)>("v_rndne_f32", [](float a) { return round_even(a); }),
        arith<f32(f32)>("v_floor_f32", [](float a) { return std::floor(a); }),
        arith<f32(f32)>("v_exp_f32", exp_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_log_f32", log_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_rcp_f32", rcp_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_rcp_iflag_f32", rcp_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_rsq_f32", rsq_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_sqrt_f32", sqrt_f32, kScalarFlush, ulp),
        arith<f32(f32)>("v_sin_f32", sin_f32, kScalarFlush, "2^-22 absolute"),
        arith<f32(f32)>("v_cos_f32", cos_f32, kScalarFlush, "2^-22 absolute"),
        op<I32(f32)>("v_frexp_exp_i32_f32", [](float a) {
            u32 m = std::bit_cast<u32>(a) & 0x7fffffffu;
            i32 e = i32(m >> 23);
            i32 tiny = 31 - __builtin_clz(m | 1) - 149 + 1;
            return m == 0 || e == 255 ? 0 : e ? e - 126 : tiny;
        }),
        op<f32(f32)>("v_frexp_mant_f32", [](float a) {
            u32 x = std::bit_cast<u32>(a), m = x & 0x7fffffffu;
            if (m == 0 || m >= 0x7f800000u) return a != a ? quiet(a) : a;
            int e;
            return std::frexp(a, &e);
        }),
        arith<f32(f32, I32)>("v_ldexp_f32", [](float a, i32 e) { return ldexp_f32(a, e); }),
        lanes("v_div_scale_f32", v_div_scale_f32, {Type::f32, Type::mask, Type::f32, Type::f32, Type::f32}, kKeepsDenormals),
        lanes("v_div_fmas_f32", v_div_fmas_f32, {Type::f32, Type::f32, Type::f32, Type::f32}),
        op<f32(f32, f32, f32)>("v_div_fixup_f32", [](float a, float b, float c) {
            return div_fixup(a, b, c, -150);
        }),
        scalar_function<f32>("v_s_exp_f32", exp_f32), scalar_function<f32>("v_s_log_f32", log_f32),
        scalar_function<f32>("v_s_rcp_f32", rcp_f32), scalar_function<f32>("v_s_rsq_f32", rsq_f32),
        scalar_function<f32>("v_s_sqrt_f32", sqrt_f32), scalar_function<f16>("v_s_exp_f16", exp_f16),
        scalar_function<f16>("v_s_log_f16", log_f16), scalar_function<f16>("v_s_rcp_f16", rcp_f16),
        scalar_function<f16>("v_s_rsq_f16", rsq_f16), scalar_function<f16>("v_s_sqrt_f16", sqrt_f16),
        arith<f32(f32, f32, f32)>("v_fmac_dx9_zero_f32", [](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); }, kReadsDst),
        arith<f32(f32, f32, f32)>("v_cubeid_f32", cube_id),
        arith<f32(f32, f32, f32)>("v_cubesc_f32", cube_sc),
        arith<f32(f32, f32, f32)>("v_cubetc_f32", cube_tc),
        arith<f32(f32, f32, f32)>("v_cubema_f32", cube_ma),
    };
    return t;
}

} // namespace hipemu
