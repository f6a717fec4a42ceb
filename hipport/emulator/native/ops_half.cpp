// Half-precision vector opcodes. Values are held as float: add, sub, mul, div and sqrt of halves computed in float and rounded
// again are correctly rounded (24 >= 2 * 11 + 2 bits); fma goes through half_fma.
#include <limits>

#include "float8.h"
#include "float_math.h"

namespace hipemu {

namespace {

float half_bits(u16 h) { return half_to_float(h); }
bool h_nan(u16 h) { return (h & 0x7fff) > 0x7c00; }
bool h_snan(u16 h) { return h_nan(h) && !(h & 0x200); }
u16 h_min(u16 a, u16 b) {
    if (h_nan(a)) return b;
    if (h_nan(b)) return a;
    float x = half_bits(a), y = half_bits(b);
    return x == y ? u16(a | b) : x < y ? a : b;
}
u16 h_max(u16 a, u16 b) {
    if (h_nan(a)) return b;
    if (h_nan(b)) return a;
    float x = half_bits(a), y = half_bits(b);
    return x == y ? u16(a & b) : x > y ? a : b;
}
u16 h_quiet(bool on, u16 a, u16 b, u16 r) { return on && h_snan(a) ? u16(a | 0x200) : on && h_snan(b) ? u16(b | 0x200) : r; }
u16 h_min(bool on, u16 a, u16 b) { return h_quiet(on, a, b, h_min(a, b)); }
u16 h_max(bool on, u16 a, u16 b) { return h_quiet(on, a, b, h_max(a, b)); }
u16 h_med3(bool on, u16 a, u16 b, u16 c) {
    if (h_nan(a) || h_nan(b) || h_nan(c)) return h_min(on, h_min(on, a, b), c);
    float m = half_bits(h_max(h_max(a, b), c));
    return m == half_bits(a) ? h_max(b, c) : m == half_bits(b) ? h_max(a, c) : h_max(a, b);
}
u16 h_min_num(u16 a, u16 b) { return h_nan(a) && h_nan(b) ? u16(a | 0x200) : h_min(a, b); }
u16 h_max_num(u16 a, u16 b) { return h_nan(a) && h_nan(b) ? u16(a | 0x200) : h_max(a, b); }
u16 h_med3_num(u16 a, u16 b, u16 c) {
    return h_nan(a) || h_nan(b) || h_nan(c) ? h_min_num(h_min_num(a, b), c) : h_med3(false, a, b, c);
}
u16 h_minimum(u16 a, u16 b) { return h_nan(a) ? u16(a | 0x200) : h_nan(b) ? u16(b | 0x200) : h_min(a, b); }
u16 h_maximum(u16 a, u16 b) { return h_nan(a) ? u16(a | 0x200) : h_nan(b) ? u16(b | 0x200) : h_max(a, b); }

constexpr auto fma16 = [](float a, float b, float c) { return half_fma(a, b, c); };
constexpr auto mad16 = [](const LaneArgs &x, float a, float b, float c) { // rounds the product too
    return half_to_float(float_to_half_in_mode(a * b, x.wave->mode >> 2 & 3)) + c;
};
constexpr auto div_fixup16 = [](float a, float b, float c) { return div_fixup(a, b, c, 0); };

} // namespace

Table half_opcodes() {
    const char *ulp = "1 ulp";
    Table t = {
        arith<f16(f16, f16)>("v_add_f16", [](float a, float b) { return a + b; }),
        arith<f16(f16, f16)>("v_sub_f16", [](float a, float b) { return a - b; }),
        arith<f16(f16, f16)>("v_subrev_f16", [](float a, float b) { return b - a; }),
        arith<f16(f16, f16)>("v_mul_f16", [](float a, float b) { return a * b; }),
        arith<f16(f16, f16, f16)>("v_fma_f16", fma16, kKeepHigh),
        arith<f16(f16, f16, f16)>("v_fma_legacy_f16", fma16),
        arith<f16(f16, f16, f16)>("v_fmac_f16", fma16, kReadsDst),
        arith<f16(f16, f16, f16)>("v_fmamk_f16", fma16),
        arith<f16(f16, f16, f16)>("v_fmaak_f16", fma16),
        arith<f16(f16, f16, f16)>("v_mad_f16", mad16, kKeepHigh),
        arith<f16(f16, f16, f16)>("v_mad_legacy_f16", mad16),
        arith<f16(f16, f16, f16)>("v_mac_f16", mad16, kReadsDst),
        arith<f16(f16, f16, f16)>("v_madmk_f16", mad16),
        arith<f16(f16, f16, f16)>("v_madak_f16", mad16),
        op<h16(h16, h16)>("v_min_f16", [](const LaneArgs &x, u16 a, u16 b) { return h_min(ieee(x), a, b); }),
        op<h16(h16, h16)>("v_max_f16", [](const LaneArgs &x, u16 a, u16 b) { return h_max(ieee(x), a, b); }),
        op<h16(h16, h16)>("v_min_num_f16", [](u16 a, u16 b) { return h_min_num(a, b); }),
        op<h16(h16, h16)>("v_max_num_f16", [](u16 a, u16 b) { return h_max_num(a, b); }),
        op<h16(h16, h16, h16)>("v_min3_f16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { return h_min(ieee(x), h_min(ieee(x), a, b), c); }, kKeepHigh),
        op<h16(h16, h16, h16)>("v_max3_f16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { return h_max(ieee(x), h_max(ieee(x), a, b), c); }, kKeepHigh),
        op<h16(h16, h16, h16)>("v_med3_f16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { return h_med3(ieee(x), a, b, c); }, kKeepHigh),
        op<h16(h16, h16, h16)>("v_min3_num_f16", [](u16 a, u16 b, u16 c) { return h_min_num(h_min_num(a, b), c); }),
        op<h16(h16, h16, h16)>("v_max3_num_f16", [](u16 a, u16 b, u16 c) { return h_max_num(h_max_num(a, b), c); }),
        op<h16(h16, h16, h16)>("v_med3_num_f16", [](u16 a, u16 b, u16 c) { return h_med3_num(a, b, c); }),
        op<h16(h16, h16, h16)>("v_maxmin_f16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { return h_min(ieee(x), h_max(ieee(x), a, b), c); }),
        op<h16(h16, h16, h16)>("v_minmax_f16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { return h_max(ieee(x), h_min(ieee(x), a, b), c); }),
        op<h16(h16, h16, h16)>("v_maxmin_num_f16", [](u16 a, u16 b, u16 c) { return h_min_num(h_max_num(a, b), c); }),
        op<h16(h16, h16, h16)>("v_minmax_num_f16", [](u16 a, u16 b, u16 c) { return h_max_num(h_min_num(a, b), c); }),
        op<h16(h16, h16)>("v_minimum_f16", [](u16 a, u16 b) { return h_minimum(a, b); }),
        op<h16(h16, h16)>("v_maximum_f16", [](u16 a, u16 b) { return h_maximum(a, b); }),
        op<h16(h16, h16, h16)>("v_minimum3_f16", [](u16 a, u16 b, u16 c) { return h_minimum(h_minimum(a, b), c); }),
        op<h16(h16, h16, h16)>("v_maximum3_f16", [](u16 a, u16 b, u16 c) { return h_maximum(h_maximum(a, b), c); }),
        op<h16(h16, h16, h16)>("v_maximumminimum_f16", [](u16 a, u16 b, u16 c) { return h_minimum(h_maximum(a, b), c); }),
        op<h16(h16, h16, h16)>("v_minimummaximum_f16", [](u16 a, u16 b, u16 c) { return h_maximum(h_minimum(a, b), c); }),
        arith<f16(f16)>("v_rcp_f16", [](float a) { return 1.0f / a; }, 0, ulp),
        arith<f16(f16)>("v_sqrt_f16", [](float a) { return std::sqrt(a); }, 0, ulp),
        arith<f16(f16)>("v_rsq_f16", [](float a) { return float(1.0 / std::sqrt(double(a))); }, 0, ulp),
        arith<f16(f16)>("v_log_f16", [](float a) {
            float r = float(log2_double(double(a > 0 ? a : 1.0f)));
            r = a == 0 ? -std::numeric_limits<float>::infinity() : r;
            r = a < 0 ? std::numeric_limits<float>::quiet_NaN() : r;
            r = a == std::numeric_limits<float>::infinity() ? a : r;
            return a != a ? a : r;
        }, 0, ulp),
        arith<f16(f16)>("v_exp_f16", [](float a) { float r = float(exp2_float(a)); return a != a ? a : r; }, 0, ulp),
        arith<f16(f16)>("v_sin_f16", [](float a) {
            float r = std::fabs(a) > 256.0f ? 0.0f : float(sin_turns(double(a), 0));
            r = a == 0 ? a : r;
            return a - a == 0 ? r : std::numeric_limits<float>::quiet_NaN();
        }, 0, "2^-9 absolute"),
        arith<f16(f16)>("v_cos_f16", [](float a) {
            float r = std::fabs(a) > 256.0f ? 1.0f : float(sin_turns(double(a), 0.25));
            return a - a == 0 ? r : std::numeric_limits<float>::quiet_NaN();
        }, 0, "2^-9 absolute"),
        op<h16(h16)>("v_frexp_mant_f16", [](u16 a) {
            u16 m = a & 0x7fff;
            if (m == 0 || m >= 0x7c00) return m > 0x7c00 ? u16(a | 0x200) : a;
            int e;
            return u16(float_to_half(std::frexp(half_bits(a), &e)));
        }),
        op<I16(h16)>("v_frexp_exp_i16_f16", [](u16 a) {
            u16 m = a & 0x7fff;
            if (m == 0 || m >= 0x7c00) return i16(0);
            int e;
            (void)std::frexp(half_bits(a), &e);
            return i16(e);
        }),
        arith<f16(f16)>("v_floor_f16", [](float a) { return std::floor(a); }),
        arith<f16(f16)>("v_ceil_f16", [](float a) { return std::ceil(a); }),
        arith<f16(f16)>("v_trunc_f16", [](float a) { return std::trunc(a); }),
        arith<f16(f16)>("v_rndne_f16", [](float a) { return round_even(a); }),
        arith<f16(f16)>("v_fract_f16", [](float a) { float r = a - std::floor(a); return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r; }),
        arith<f16(f16, I16)>("v_ldexp_f16", [](float a, i16 e) { return std::ldexp(a, e > 60 ? 60 : e < -60 ? -60 : e); }),
        op<f16(f16, f16, f16)>("v_div_fixup_f16", div_fixup16, kKeepHigh),
        op<f16(f16, f16, f16)>("v_div_fixup_legacy_f16", div_fixup16),
    };
    return t;
}

// Packed opcodes: two values per register.
namespace {

template <class F> void halves(LaneArgs &x, F f) {
    for (int l = 0; l < kLanes; ++l) {
        u32 low = f(l, 0), high = f(l, 16);
        x.out[l] = (low & 0xffff) | high << 16;
    }
}
template <class F> Lane packed_int2() {
    return [](LaneArgs &x) {
        const u32 *__restrict a = x.src[0], *__restrict b = x.src[1];
        bool clamp = x.inst->flags & kClamp;
        halves(x, [&](int l, int s) { return F{}(u16(a[l] >> s), u16(b[l] >> s), clamp); });
    };
}
template <class F> Lane packed_int3() {
    return [](LaneArgs &x) {
        const u32 *__restrict a = x.src[0], *__restrict b = x.src[1], *__restrict c = x.src[2];
        bool clamp = x.inst->flags & kClamp;
        halves(x, [&](int l, int s) { return F{}(u16(a[l] >> s), u16(b[l] >> s), u16(c[l] >> s), clamp); });
    };
}
template <bool InMode> u32 fix_half(const LaneArgs &x, float r) {
    if (r != r) return (std::bit_cast<u32>(r) >> 13 & 0x3ff) == 0x200 ? 0x7e00u : float_to_half(r);
    return InMode ? float_to_half_in_mode(r, x.wave->mode >> 2 & 3) : float_to_half(r);
}
template <class F, bool InMode> Lane packed_half2() {
    return [](LaneArgs &x) {
        const u32 *__restrict a = x.src[0], *__restrict b = x.src[1];
        halves(x, [&](int l, int s) { return fix_half<InMode>(x, F{}(half_to_float(a[l] >> s & 0xffff), half_to_float(b[l] >> s & 0xffff))); });
    };
}
template <class F, bool InMode> Lane packed_half3() {
    return [](LaneArgs &x) {
        const u32 *__restrict a = x.src[0], *__restrict b = x.src[1], *__restrict c = x.src[2];
        halves(x, [&](int l, int s) {
            return fix_half<InMode>(x, F{}(half_to_float(a[l] >> s & 0xffff), half_to_float(b[l] >> s & 0xffff), half_to_float(c[l] >> s & 0xffff)));
        });
    };
}
template <class F> Lane packed_float2() {
    return [](LaneArgs &x) {
        for (int l = 0; l < 2 * kLanes; ++l) {
            float r = F{}(std::bit_cast<float>(x.src[0][l]), std::bit_cast<float>(x.src[1][l]));
            x.out[l] = r == r ? std::bit_cast<u32>(r) : std::bit_cast<u32>(r) & 0x3fffff ? std::bit_cast<u32>(r) : 0x7fc00000u;
        }
    };
}

Op pk(const char *name, Lane lane, std::vector<Type> types, u32 flags = 0, const char *exactness = "exact") {
    return {name, Unit::valu, run_packed, lane, std::move(types), flags, exactness};
}
template <class F> Op pk_i2(const char *name, F) { return pk(name, packed_int2<F>(), {Type::pk16, Type::pk16, Type::pk16}, kIntegerClamp); }
template <class F> Op pk_i3(const char *name, F) { return pk(name, packed_int3<F>(), {Type::pk16, Type::pk16, Type::pk16, Type::pk16}, kIntegerClamp); }
Op also_in_mode(Op row, Lane lane) { row.in_mode = lane; return row; }
template <class F> Op pk_h2(const char *name, F) {
    return also_in_mode(pk(name, packed_half2<F, false>(), {Type::pkf16, Type::pkf16, Type::pkf16}), packed_half2<F, true>());
}
template <class F> Op pk_h3(const char *name, F, u32 flags = 0) {
    return also_in_mode(pk(name, packed_half3<F, false>(), flags & kReadsDst ? std::vector<Type>{Type::pkf16, Type::pkf16, Type::pkf16}
                                                         : std::vector<Type>{Type::pkf16, Type::pkf16, Type::pkf16, Type::pkf16}, flags), packed_half3<F, true>());
}
// min/max work on bits, so that NaN payloads survive.
template <class F> Op pk_b2(const char *name, F) {
    Lane lane = [](LaneArgs &x) {
        bool on = ieee(x);
        halves(x, [&](int l, int s) { return u32(F{}(on, u16(x.src[0][l] >> s), u16(x.src[1][l] >> s))); });
    };
    return also_in_mode(pk(name, lane, {Type::pkf16, Type::pkf16, Type::pkf16}), lane);
}
template <class F> Op pk_b3(const char *name, F) {
    Lane lane = [](LaneArgs &x) {
        halves(x, [&](int l, int s) { return u32(F{}(u16(x.src[0][l] >> s), u16(x.src[1][l] >> s), u16(x.src[2][l] >> s))); });
    };
    return also_in_mode(pk(name, lane, {Type::pkf16, Type::pkf16, Type::pkf16, Type::pkf16}), lane);
}

u32 usat(i32 v, bool clamp) { return clamp ? u32(v < 0 ? 0 : v > 0xffff ? 0xffff : v) : u32(v); }
u32 isat(i32 v, bool clamp) { return u32(clamp ? (v < -0x8000 ? -0x8000 : v > 0x7fff ? 0x7fff : v) : v); }
i32 sx(u16 v) { return i16(v); }

// Mixed precision: each source is a float, or a half chosen by op_sel when op_sel_hi is set.
float mix_source(const LaneArgs &x, int k, int l) {
    const Inst *i = x.inst;
    u32 v = x.src[k][l];
    bool half = i->op_sel_hi >> k & 1;
    float f = !half ? std::bit_cast<float>(v) : half_to_float((i->op_sel >> k & 1 ? v >> 16 : v) & 0xffff);
    if (!(x.wave->mode >> (half ? 6 : 4) & 1) && std::fabs(f) < (half ? 0x1p-14f : 0x1p-126f)) f = std::copysign(0.0f, f);
    if (i->neg_hi >> k & 1) f = std::fabs(f); // neg_hi is |x| for these opcodes
    if (i->o[k + 1].modifiers & kAbs) f = std::fabs(f);
    if (i->neg_lo >> k & 1 || i->o[k + 1].modifiers & kNeg) f = -f;
    return f;
}
float mix_clamp(const LaneArgs &x, float r) {
    if (!(x.inst->flags & kClamp)) return r;
    bool nan_to_zero = (x.wave->mode & kDx10Clamp) || x.wave->group->target->generation >= Generation::gfx12;
    return r != r ? (nan_to_zero ? 0.0f : r) : r < 0 ? 0.0f : r > 1 ? 1.0f : r;
}
void v_fma_mix_f32(LaneArgs &x) {
    bool keep = x.wave->mode >> 5 & 1;
    for (int l = 0; l < kLanes; ++l) {
        float r = std::fma(mix_source(x, 0, l), mix_source(x, 1, l), mix_source(x, 2, l));
        f32::store(x.out, l, mix_clamp(x, keep ? r : flush(r)));
    }
}
template <bool High> void mix_f16(LaneArgs &x) {
    const u32 *old = x.wave->v[x.inst->o[0].index].lane;
    for (int l = 0; l < kLanes; ++l) {
        float a = mix_source(x, 0, l), b = mix_source(x, 1, l), c = mix_source(x, 2, l);
        float r = std::fma(a, b, c); // rounds to f32, then to half: LLVM selects it for fptrunc(fma)
        u32 h = float_to_half_in_mode(mix_clamp(x, r), x.wave->mode >> 2 & 3);
        if (!(x.wave->mode >> 7 & 1) && !(h & 0x7c00)) h &= 0x8000;
        if ((x.wave->mode & kFp16Overflow) && (h & 0x7fff) == 0x7c00 && a - a == 0 && b - b == 0 && c - c == 0) --h;
        x.out[l] = High ? (old[l] & 0xffff) | h << 16 : (old[l] & 0xffff0000u) | h;
    }
}
// Dot products.
template <int Bits, bool Signed> i64 element(u32 v, int k) {
    u32 raw = v >> (k * Bits) & ((1u << Bits) - 1);
    if constexpr (Signed) return i64(i32(raw << (32 - Bits)) >> (32 - Bits));
    return raw;
}
template <int Bits, bool Signed> void dot_int(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l) {
        i64 sum = Signed ? i64(i32(x.src[2][l])) : i64(x.src[2][l]);
        for (int k = 0; k < 32 / Bits; ++k) sum += element<Bits, Signed>(x.src[0][l], k) * element<Bits, Signed>(x.src[1][l], k);
        if (x.inst->flags & kClamp) {
            if (Signed) sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
            else sum = sum > 0xffffffffll ? 0xffffffffll : sum;
        }
        x.out[l] = u32(sum);
    }
}
// Signedness of each source by neg_lo (gfx11).
template <int Bits> void dot_iu(LaneArgs &x) {
    bool sa = x.inst->neg_lo & 1, sb = x.inst->neg_lo >> 1 & 1;
    for (int l = 0; l < kLanes; ++l) {
        i64 sum = i32(x.src[2][l]);
        for (int k = 0; k < 32 / Bits; ++k) {
            i64 a = sa ? element<Bits, true>(x.src[0][l], k) : element<Bits, false>(x.src[0][l], k);
            i64 b = sb ? element<Bits, true>(x.src[1][l], k) : element<Bits, false>(x.src[1][l], k);
            sum += a * b;
        }
        if (x.inst->flags & kClamp) sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
        x.out[l] = u32(sum);
    }
}
void v_dot2_f32_f16(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l) {
        float r = f32::load(x.src[2], l);
        r = std::fma(half_to_float(x.src[0][l] & 0xffff), half_to_float(x.src[1][l] & 0xffff), r);
        r = std::fma(half_to_float(x.src[0][l] >> 16), half_to_float(x.src[1][l] >> 16), r);
        f32::store(x.out, l, r);
    }
}
void v_dot2_f32_bf16(LaneArgs &x) {
    for (int l = 0; l < kLanes; ++l) {
        float r = f32::load(x.src[2], l);
        r = std::fma(bf16_to_float(x.src[0][l] & 0xffff), bf16_to_float(x.src[1][l] & 0xffff), r);
        r = std::fma(bf16_to_float(x.src[0][l] >> 16), bf16_to_float(x.src[1][l] >> 16), r);
        f32::store(x.out, l, r);
    }
}
template <int E0, int M0, int E1, int M1> void dot4_f8(LaneArgs &x) { // OCP formats: gfx12 only
    for (int l = 0; l < kLanes; ++l) {
        float r = f32::load(x.src[2], l);
        for (int k = 0; k < 32; k += 8) r = std::fma(decode_f8<E0, M0>(x.src[0][l] >> k, false), decode_f8<E1, M1>(x.src[1][l] >> k, false), r);
        f32::store(x.out, l, r);
    }
}
// The accumulator has 16 bits and every step rounds to it.
template <class H, class Load> void dot2_narrow(LaneArgs &x, Load load) {
    auto round = [](float f) {
        u32 bits;
        H::store(&bits, 0, f == f ? f : std::bit_cast<float>(0x7fc00000u));
        return H::load(&bits, 0);
    };
    for (int l = 0; l < kLanes; ++l) {
        float r = H::load(x.src[2], l);
        for (int s = 0; s < 32; s += 16) r = round(round(load(x.src[0][l] >> s & 0xffff) * load(x.src[1][l] >> s & 0xffff)) + r);
        H::store(x.out, l, r);
    }
}
void v_dot2_f16_f16(LaneArgs &x) { dot2_narrow<f16>(x, half_to_float); }
void v_dot2_bf16_bf16(LaneArgs &x) { dot2_narrow<bf16>(x, bf16_to_float); }

void v_pk_mov_b32(LaneArgs &x) {
    bool a_high = x.inst->op_sel & 1, b_high = x.inst->op_sel >> 1 & 1;
    for (int l = 0; l < kLanes; ++l) {
        u32 low = x.src[0][a_high ? l + kLanes : l], high = x.src[1][b_high ? l + kLanes : l];
        x.out[l] = low;
        x.out[l + kLanes] = high;
    }
}
void v_pk_fma_f32(LaneArgs &x) {
    for (int l = 0; l < 2 * kLanes; ++l) {
        float r = std::fma(std::bit_cast<float>(x.src[0][l]), std::bit_cast<float>(x.src[1][l]), std::bit_cast<float>(x.src[2][l]));
        x.out[l] = r == r ? std::bit_cast<u32>(r) : std::bit_cast<u32>(r) & 0x3fffff ? std::bit_cast<u32>(r) : 0x7fc00000u;
    }
}

} // namespace

Table packed_opcodes() {
    const Type P = Type::pk16, H = Type::pkf16, F = Type::f32, D = Type::pkf32, I = Type::b32;
    const char *dot = "fma chain";
    Table t = {
        pk_i3("v_pk_mad_i16", [](u16 a, u16 b, u16 c, bool k) { return isat(sx(a) * sx(b) + sx(c), k); }),
        pk_i3("v_pk_mad_u16", [](u16 a, u16 b, u16 c, bool k) { u64 r = u64(a) * b + c; return k && r > 0xffff ? 0xffffu : u32(r); }),
        pk_i2("v_pk_mul_lo_u16", [](u16 a, u16 b, bool) { return u32(a) * b; }),
        pk_i2("v_pk_add_i16", [](u16 a, u16 b, bool k) { return isat(sx(a) + sx(b), k); }),
        pk_i2("v_pk_sub_i16", [](u16 a, u16 b, bool k) { return isat(sx(a) - sx(b), k); }),
        pk_i2("v_pk_add_u16", [](u16 a, u16 b, bool k) { return usat(i32(a) + b, k); }),
        pk_i2("v_pk_sub_u16", [](u16 a, u16 b, bool k) { return usat(i32(a) - b, k); }),
        pk_i2("v_pk_lshlrev_b16", [](u16 a, u16 b, bool) { return u32(b) << (a & 15); }),
        pk_i2("v_pk_lshrrev_b16", [](u16 a, u16 b, bool) { return u32(b) >> (a & 15); }),
        pk_i2("v_pk_ashrrev_i16", [](u16 a, u16 b, bool) { return u32(sx(b) >> (a & 15)); }),
        pk_i2("v_pk_max_i16", [](u16 a, u16 b, bool) { return u32(sx(a) > sx(b) ? a : b); }),
        pk_i2("v_pk_min_i16", [](u16 a, u16 b, bool) { return u32(sx(a) < sx(b) ? a : b); }),
        pk_i2("v_pk_max_u16", [](u16 a, u16 b, bool) { return u32(a > b ? a : b); }),
        pk_i2("v_pk_min_u16", [](u16 a, u16 b, bool) { return u32(a < b ? a : b); }),
        pk_h3("v_pk_fma_f16", [](float a, float b, float c) { return half_fma(a, b, c); }),
        pk_h3("v_pk_fmac_f16", [](float a, float b, float c) { return half_fma(a, b, c); }, kReadsDst),
        pk_h2("v_pk_add_f16", [](float a, float b) { return a + b; }),
        pk_h2("v_pk_mul_f16", [](float a, float b) { return a * b; }),
        pk_b2("v_pk_min_f16", [](bool on, u16 a, u16 b) { return h_min(on, a, b); }),
        pk_b2("v_pk_max_f16", [](bool on, u16 a, u16 b) { return h_max(on, a, b); }),
        pk_b2("v_pk_min_num_f16", [](bool, u16 a, u16 b) { return h_min_num(a, b); }),
        pk_b2("v_pk_max_num_f16", [](bool, u16 a, u16 b) { return h_max_num(a, b); }),
        pk_b2("v_pk_minimum_f16", [](bool, u16 a, u16 b) { return h_minimum(a, b); }),
        pk_b2("v_pk_maximum_f16", [](bool, u16 a, u16 b) { return h_maximum(a, b); }),
        pk_b3("v_pk_minimum3_f16", [](u16 a, u16 b, u16 c) { return h_minimum(h_minimum(a, b), c); }),
        pk_b3("v_pk_maximum3_f16", [](u16 a, u16 b, u16 c) { return h_maximum(h_maximum(a, b), c); }),
        pk("v_pk_fma_f32", v_pk_fma_f32, {D, D, D, D}),
        pk("v_pk_mul_f32", packed_float2<decltype([](float a, float b) { return a * b; })>(), {D, D, D}),
        pk("v_pk_add_f32", packed_float2<decltype([](float a, float b) { return a + b; })>(), {D, D, D}),
        pk("v_pk_mov_b32", v_pk_mov_b32, {D, D, D}, kOwnModifiers),
        pk("v_fma_mix_f32", v_fma_mix_f32, {F, F, F, F}, kOwnModifiers | kIntegerClamp | kKeepsDenormals),
        pk("v_fma_mixlo_f16", mix_f16<false>, {I, F, F, F}, kOwnModifiers | kIntegerClamp | kKeepsDenormals),
        pk("v_fma_mixhi_f16", mix_f16<true>, {I, F, F, F}, kOwnModifiers | kIntegerClamp | kKeepsDenormals),
        pk("v_dot2_f32_f16", v_dot2_f32_f16, {F, H, H, F}, 0, dot),
        pk("v_dot2_f32_bf16", v_dot2_f32_bf16, {F, H, H, F}, kKeepsDenormals, dot),
        pk("v_dot4_f32_fp8_fp8", dot4_f8<4, 3, 4, 3>, {F, I, I, F}, 0, dot),
        pk("v_dot4_f32_fp8_bf8", dot4_f8<4, 3, 5, 2>, {F, I, I, F}, 0, dot),
        pk("v_dot4_f32_bf8_fp8", dot4_f8<5, 2, 4, 3>, {F, I, I, F}, 0, dot),
        pk("v_dot4_f32_bf8_bf8", dot4_f8<5, 2, 5, 2>, {F, I, I, F}, 0, dot),
        lanes("v_dot2_f16_f16", v_dot2_f16_f16, {Type::f16, I, I, Type::f16}, 0, dot),
        lanes("v_dot2_bf16_bf16", v_dot2_bf16_bf16, {Type::bf16, I, I, Type::bf16}, 0, dot),
        pk("v_dot2_i32_i16", dot_int<16, true>, {I, P, P, I}, kIntegerClamp),
        pk("v_dot2_u32_u16", dot_int<16, false>, {I, P, P, I}, kIntegerClamp),
        pk("v_dot4_i32_i8", dot_int<8, true>, {I, I, I, I}, kIntegerClamp),
        pk("v_dot4_u32_u8", dot_int<8, false>, {I, I, I, I}, kIntegerClamp),
        pk("v_dot8_i32_i4", dot_int<4, true>, {I, I, I, I}, kIntegerClamp),
        pk("v_dot8_u32_u4", dot_int<4, false>, {I, I, I, I}, kIntegerClamp),
        pk("v_dot4_i32_iu8", dot_iu<8>, {I, I, I, I}, kOwnModifiers | kIntegerClamp),
        pk("v_dot8_i32_iu4", dot_iu<4>, {I, I, I, I}, kOwnModifiers | kIntegerClamp),
        lanes("v_dot2c_f32_f16", v_dot2_f32_f16, {F, H, H}, kReadsDst, dot),
        lanes("v_dot2acc_f32_f16", v_dot2_f32_f16, {F, H, H}, kReadsDst, dot),
        lanes("v_dot2c_f32_bf16", v_dot2_f32_bf16, {F, H, H}, kReadsDst | kKeepsDenormals, dot),
        lanes("v_dot2c_i32_i16", dot_int<16, true>, {I, P, P}, kReadsDst),
        lanes("v_dot4c_i32_i8", dot_int<8, true>, {I, I, I}, kReadsDst),
        lanes("v_dot8c_i32_i4", dot_int<4, true>, {I, I, I}, kReadsDst),
    };
    return t;
}

} // namespace hipemu
