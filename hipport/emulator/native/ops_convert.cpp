// Conversions. Float to integer truncates towards zero, saturates, and turns NaN into 0.
#include <limits>

#include "float8.h"
#include "float_math.h"

namespace hipemu {

i32 float_to_i32(float x) {
    double d = x;
    d = d != d ? 0 : d < -2147483648.0 ? -2147483648.0 : d > 2147483647.0 ? 2147483647.0 : d;
    return i32(d);
}
u32 float_to_u32(float x) {
    double d = x;
    d = d != d ? 0 : d < 0 ? 0 : d > 4294967295.0 ? 4294967295.0 : d;
    return u32(i64(d));
}

namespace {

i32 to_i32(double d) { return i32(d != d ? 0 : d < -2147483648.0 ? -2147483648.0 : d > 2147483647.0 ? 2147483647.0 : d); }
u32 to_u32(double d) { return u32(i64(d != d ? 0 : d < 0 ? 0 : d > 4294967295.0 ? 4294967295.0 : d)); }
u32 to_u8(float f) { return u32(f != f ? 0 : f < 0 ? 0 : f > 255 ? 255 : f); }
i16 to_i16(float f) { return i16(f != f ? 0 : f < -32768.0f ? -32768.0f : f > 32767.0f ? 32767.0f : f); }
u16 to_u16(float f) { return u16(f != f ? 0 : f < 0 ? 0 : f > 65535.0f ? 65535.0f : f); }
u32 snorm(float f) { f = f != f ? 0 : f < -1 ? -1 : f > 1 ? 1 : f; return u32(i32(round_even(f * 32767.0f))) & 0xffff; }
u32 unorm(float f) { f = f != f ? 0 : f < 0 ? 0 : f > 1 ? 1 : f; return u32(round_even(f * 65535.0f)); }

void v_cvt_off_f32_i4(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l) f32::store(x.out, l, float(i32(x.src[0][l] << 28) >> 28) / 16.0f);
}

// Two halves, denormals flushed where MODE says.
u32 kept_halves(u32 mode, u32 v) {
    if (mode & 0x80) return v;
    return v & ((v & 0x7c00 ? 0xffffu : 0x8000u) | (v & 0x7c000000u ? 0xffff0000u : 0x80000000u));
}
constexpr auto pk_rtz = [](const LaneArgs &x, float a, float b) {
    return kept_halves(x.wave->mode, float_to_half_rtz(a) | float_to_half_rtz(b) << 16);
};

bool fnuz(const LaneArgs &x) { return x.wave->group->target->fp8_fnuz; }
bool overflow_saturates(const LaneArgs &x) { return x.wave->mode & kFp16Overflow; }

template <int E, int M> void cvt_f32_f8(LaneArgs &x) {
    u32 shift = x.inst->a * 8;
    for (int l = 0; l < kLanes; ++l) f32::store(x.out, l, decode_f8<E, M>(x.src[0][l] >> shift, fnuz(x)));
}
template <int E, int M> void cvt_pk_f32_f8(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l) {
        u32 v = x.src[0][l];
        f32::store(x.out, l, decode_f8<E, M>(v, fnuz(x)));
        f32::store(x.out, l + kLanes, decode_f8<E, M>(v >> 8, fnuz(x)));
    }
}
template <int E, int M> void cvt_pk_f8_f32(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l)
        x.out[l] = encode_f8<E, M>(f32::load(x.src[0], l), fnuz(x), overflow_saturates(x)) |
                   encode_f8<E, M>(f32::load(x.src[1], l), fnuz(x), overflow_saturates(x)) << 8;
}
template <int E, int M> void cvt_sr_f8_f32(LaneArgs &x) {
    u32 byte = x.inst->a ? x.inst->a : x.inst->op_sel >> 2 & 3;
    const u32 *old = x.wave->v[x.inst->o[0].index].lane;
    for (int l = 0; l < kLanes; ++l) {
        float f = f32::load(x.src[0], l);
        u32 v = encode_f8<E, M>(f, fnuz(x), overflow_saturates(x), x.src[1][l]);
        x.out[l] = (old[l] & ~(0xffu << (8 * byte))) | v << (8 * byte);
    }
}

// Stochastic rounding: random bits below the kept mantissa, then truncation.
template <int Dropped> u32 add_noise(float f, u32 noise) {
    u32 x = std::bit_cast<u32>(f);
    if ((x & 0x7f800000u) == 0x7f800000u) return x;
    return x + (noise >> (32 - Dropped));
}
constexpr auto sr_f16 = [](float f, u32 noise) { return u16(float_to_half_rtz(std::bit_cast<float>(add_noise<13>(f, noise)))); };
constexpr auto sr_bf16 = [](float f, u32 noise) { return f != f ? u16(float_to_bf16(f)) : u16(add_noise<16>(f, noise) >> 16); };

void v_cvt_pk_bf16_f32(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l)
        x.out[l] = float_to_bf16(f32::load(x.src[0], l)) | float_to_bf16(f32::load(x.src[1], l)) << 16;
}

} // namespace

Table convert_opcodes() {
    const Type F = Type::f32, I = Type::b32;
    Table t = {
        op<I32(f64)>("v_cvt_i32_f64", [](double a) { return to_i32(a); }),
        op<f64(I32)>("v_cvt_f64_i32", [](i32 a) { return double(a); }),
        op<U32(f64)>("v_cvt_u32_f64", [](double a) { return to_u32(a); }),
        op<f64(U32)>("v_cvt_f64_u32", [](u32 a) { return double(a); }),
        op<f32(I32)>("v_cvt_f32_i32", [](i32 a) { return float(a); }),
        op<f32(U32)>("v_cvt_f32_u32", [](u32 a) { return float(i64(a)); }),
        op<U32(f32)>("v_cvt_u32_f32", [](float a) { return float_to_u32(a); }),
        op<I32(f32)>("v_cvt_i32_f32", [](float a) { return float_to_i32(a); }),
        op<f16(f32)>("v_cvt_f16_f32", [](float a) { return a; }),
        op<f32(f16)>("v_cvt_f32_f16", [](float a) { return a; }),
        op<I32(f32)>("v_cvt_rpi_i32_f32", [](float a) { return float_to_i32(std::floor(a + 0.5f)); }),
        op<I32(f32)>("v_cvt_nearest_i32_f32", [](float a) { return float_to_i32(std::floor(a + 0.5f)); }),
        op<I32(f32)>("v_cvt_flr_i32_f32", [](float a) { return float_to_i32(std::floor(a)); }),
        op<I32(f32)>("v_cvt_floor_i32_f32", [](float a) { return float_to_i32(std::floor(a)); }),
        lanes("v_cvt_off_f32_i4", v_cvt_off_f32_i4, {F, I}),
        arith<f32(f64)>("v_cvt_f32_f64", [](double a) { return float(a); }),
        arith<f64(f32)>("v_cvt_f64_f32", [](float a) { return double(a); }),
        op<f32(b32)>("v_cvt_f32_ubyte0", [](u32 a) { return float(i32(a & 255)); }),
        op<f32(b32)>("v_cvt_f32_ubyte1", [](u32 a) { return float(i32(a >> 8 & 255)); }),
        op<f32(b32)>("v_cvt_f32_ubyte2", [](u32 a) { return float(i32(a >> 16 & 255)); }),
        op<f32(b32)>("v_cvt_f32_ubyte3", [](u32 a) { return float(i32(a >> 24)); }),
        op<f16(U16)>("v_cvt_f16_u16", [](u16 a) { return float(a); }),
        op<f16(I16)>("v_cvt_f16_i16", [](i16 a) { return float(a); }),
        op<U16(f16)>("v_cvt_u16_f16", [](float a) { return to_u16(a); }),
        op<I16(f16)>("v_cvt_i16_f16", [](float a) { return to_i16(a); }),
        op<b16(f16)>("v_cvt_norm_i16_f16", [](float a) { return u16(snorm(a)); }),
        op<b16(f16)>("v_cvt_norm_u16_f16", [](float a) { return u16(unorm(a)); }),
        op<b32(f32, f32)>("v_cvt_pknorm_i16_f32", [](float a, float b) { return snorm(a) | snorm(b) << 16; }),
        op<b32(f32, f32)>("v_cvt_pknorm_u16_f32", [](float a, float b) { return unorm(a) | unorm(b) << 16; }),
        op<b32(f32, f32)>("v_cvt_pk_norm_i16_f32", [](float a, float b) { return snorm(a) | snorm(b) << 16; }),
        op<b32(f32, f32)>("v_cvt_pk_norm_u16_f32", [](float a, float b) { return unorm(a) | unorm(b) << 16; }),
        op<b32(f16, f16)>("v_cvt_pknorm_i16_f16", [](float a, float b) { return snorm(a) | snorm(b) << 16; }),
        op<b32(f16, f16)>("v_cvt_pknorm_u16_f16", [](float a, float b) { return unorm(a) | unorm(b) << 16; }),
        op<b32(f16, f16)>("v_cvt_pk_norm_i16_f16", [](float a, float b) { return snorm(a) | snorm(b) << 16; }),
        op<b32(f16, f16)>("v_cvt_pk_norm_u16_f16", [](float a, float b) { return unorm(a) | unorm(b) << 16; }),
        op<b32(f32, f32)>("v_cvt_pkrtz_f16_f32", pk_rtz),
        op<b32(f32, f32)>("v_cvt_pk_rtz_f16_f32", pk_rtz),
        op<b32(f32, f32)>("v_cvt_pk_f16_f32", [](const LaneArgs &x, float a, float b) {
            u32 round = x.wave->mode >> 2 & 3;
            return kept_halves(x.wave->mode, float_to_half_in_mode(a, round) | float_to_half_in_mode(b, round) << 16);
        }),
        lanes("v_cvt_pk_bf16_f32", v_cvt_pk_bf16_f32, {I, F, F}),
        op<b32(U32, U32)>("v_cvt_pk_u16_u32", [](u32 a, u32 b) { return (a > 0xffff ? 0xffff : a) | (b > 0xffff ? 0xffff : b) << 16; }),
        op<b32(I32, I32)>("v_cvt_pk_i16_i32", [](i32 a, i32 b) {
            auto sat = [](i32 v) { return u32(v < -32768 ? -32768 : v > 32767 ? 32767 : v) & 0xffff; };
            return sat(a) | sat(b) << 16;
        }),
        op<b32(f32, f32)>("v_cvt_pk_i16_f32", [](float a, float b) { return u32(u16(to_i16(a))) | u32(u16(to_i16(b))) << 16; }),
        op<b32(f32, f32)>("v_cvt_pk_u16_f32", [](float a, float b) { return u32(to_u16(a)) | u32(to_u16(b)) << 16; }),
        op<I32(I16)>("v_cvt_i32_i16", [](i16 a) { return i32(a); }),
        op<U32(U16)>("v_cvt_u32_u16", [](u16 a) { return u32(a); }),
        op<b32(f32, b32, b32)>("v_cvt_pk_u8_f32", [](float a, u32 s, u32 c) { u32 k = (s & 3) * 8; return (c & ~(0xffu << k)) | to_u8(a) << k; }),
        op<b16(b32)>("v_sat_pk_u8_i16", [](u32 a) {
            auto sat = [](i32 v) { return u16(v < 0 ? 0 : v > 255 ? 255 : v); };
            return u16(sat(i16(a)) | sat(i16(a >> 16)) << 8);
        }),
        op<b32(h16, h16)>("v_pack_b32_f16", [](u16 a, u16 b) { return u32(a) | u32(b) << 16; }, kKeepsDenormals),
        op<b16(f32, b32)>("v_cvt_sr_f16_f32", sr_f16, kKeepHigh, "f16 denormals truncated"),
        op<b16(f32, b32)>("v_cvt_sr_bf16_f32", sr_bf16, kKeepHigh),
        op<f32(bf16)>("v_cvt_f32_bf16", [](float a) { return a; }),
        lanes("v_cvt_f32_fp8", cvt_f32_f8<4, 3>, {F, I}),
        lanes("v_cvt_f32_bf8", cvt_f32_f8<5, 2>, {F, I}),
        lanes("v_cvt_pk_f32_fp8", cvt_pk_f32_f8<4, 3>, {Type::b64, I}),
        lanes("v_cvt_pk_f32_bf8", cvt_pk_f32_f8<5, 2>, {Type::b64, I}),
        lanes("v_cvt_pk_fp8_f32", cvt_pk_f8_f32<4, 3>, {Type::b16, F, F}, kKeepHigh),
        lanes("v_cvt_pk_bf8_f32", cvt_pk_f8_f32<5, 2>, {Type::b16, F, F}, kKeepHigh),
        lanes("v_cvt_sr_fp8_f32", cvt_sr_f8_f32<4, 3>, {I, F, I}, kOwnModifiers),
        lanes("v_cvt_sr_bf8_f32", cvt_sr_f8_f32<5, 2>, {I, F, I}, kOwnModifiers),
    };
    return t;
}

} // namespace hipemu
