// Double-precision vector opcodes. Source: CDNA3 and RDNA3 instruction set manuals.
#include <limits>

#include "float_math.h"

namespace hipemu {

namespace {

void v_div_scale_f64(LaneArgs &x) {
    u64 m = 0;
    for (int l = 0; l < kLanes; ++l) {
        bool c;
        f64::store(x.out, l, div_scale(f64::load(x.src[0], l), f64::load(x.src[1], l), f64::load(x.src[2], l), c));
        m |= u64(c) << l;
    }
    x.mask_out = m;
}
// As v_div_fmas_f32, with 2^128.
void v_div_fmas_f64(LaneArgs &x) {
    u64 vcc = x.wave->vcc();
    for (int l = 0; l < kLanes; ++l) {
        double a = f64::load(x.src[0], l), b = f64::load(x.src[1], l), c = f64::load(x.src[2], l);
        double r = std::fma(a, b, c);
        if (vcc >> l & 1) {
            __extension__ using Quad = __float128;
            Quad scale = exponent_of(c) > 1023 ? 0x1p128 : 0x1p-128;
            r = double((Quad(a) * Quad(b) + Quad(c)) * scale);
        }
        f64::store(x.out, l, r);
    }
}

// 1201 fractional bits of 2/pi, most significant first.
const u32 kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0,
                          0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4,
                          0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
                          0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20};

double trig_preop(double a, u32 segment) {
    int shift = int(segment & 31) * 53, e = exponent_of(a);
    if (e > 1077) shift += e - 1077;
    // 53 bits of 2/pi starting at bit `shift` of the fraction.
    u64 value = 0;
    for (int b = 0; b < 53; ++b) {
        int at = shift + b;
        u32 bit = at < 1200 ? kTwoOverPi[at / 32] >> (31 - at % 32) & 1 : 0;
        value = value << 1 | bit;
    }
    int scale = -53 - shift;
    if (e >= 1968) scale += 128;
    return std::ldexp(double(value), scale);
}

} // namespace

Table double_opcodes() {
    Table t = {
        arith<f64(f64, f64)>("v_add_f64", [](double a, double b) { return a + b; }),
        arith<f64(f64, f64)>("v_mul_f64", [](double a, double b) { return a * b; }),
        arith<f64(f64, f64, f64)>("v_fma_f64", [](double a, double b, double c) { return std::fma(a, b, c); }),
        arith<f64(f64, f64, f64)>("v_fmac_f64", [](double a, double b, double c) { return std::fma(a, b, c); }, kReadsDst),
        op<f64(f64, f64)>("v_min_f64", [](const LaneArgs &x, double a, double b) { return fmin_ieee(ieee(x), a, b); }),
        op<f64(f64, f64)>("v_max_f64", [](const LaneArgs &x, double a, double b) { return fmax_ieee(ieee(x), a, b); }),
        op<f64(f64, f64)>("v_min_num_f64", [](double a, double b) { return fmin_num(a, b); }),
        op<f64(f64, f64)>("v_max_num_f64", [](double a, double b) { return fmax_num(a, b); }),
        op<f64(f64, f64)>("v_minimum_f64", [](double a, double b) { return fminimum(a, b); }),
        op<f64(f64, f64)>("v_maximum_f64", [](double a, double b) { return fmaximum(a, b); }),
        arith<f64(f64)>("v_trunc_f64", [](double a) { return std::trunc(a); }),
        arith<f64(f64)>("v_ceil_f64", [](double a) { return std::ceil(a); }),
        arith<f64(f64)>("v_rndne_f64", [](double a) { return round_even(a); }),
        arith<f64(f64)>("v_floor_f64", [](double a) { return std::floor(a); }),
        arith<f64(f64)>("v_fract_f64", [](double a) {
            double r = a - std::floor(a);
            return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
        }),
        arith<f64(f64)>("v_rcp_f64", [](double a) { return 1.0 / a; }, 0, "2^-20 relative (exact here)"),
        arith<f64(f64)>("v_rsq_f64", [](double a) { return 1.0 / std::sqrt(a); }, 0, "2^-20 relative (exact here)"),
        arith<f64(f64)>("v_sqrt_f64", [](double a) { return std::sqrt(a); }, 0, "2^-20 relative (exact here)"),
        op<I32(f64)>("v_frexp_exp_i32_f64", [](double a) {
            int e = 0;
            if (a - a == 0 && a != 0) (void)std::frexp(a, &e);
            return i32(e);
        }),
        op<f64(f64)>("v_frexp_mant_f64", [](double a) {
            if (a != a) return quiet(a);
            int e;
            return a - a == 0 ? std::frexp(a, &e) : a;
        }),
        arith<f64(f64, I32)>("v_ldexp_f64", [](double a, i32 e) { return std::ldexp(a, e > 3000 ? 3000 : e < -3000 ? -3000 : e); }),
        lanes("v_div_scale_f64", v_div_scale_f64, {Type::f64, Type::mask, Type::f64, Type::f64, Type::f64}, kKeepsDenormals),
        lanes("v_div_fmas_f64", v_div_fmas_f64, {Type::f64, Type::f64, Type::f64, Type::f64}),
        op<f64(f64, f64, f64)>("v_div_fixup_f64", [](double a, double b, double c) {
            return div_fixup(a, b, c, -1075);
        }),
        op<f64(f64, b32)>("v_trig_preop_f64", [](double a, u32 s) { return trig_preop(a, s); }),
    };
    return t;
}

} // namespace hipemu
