// Integer vector opcodes. Source: CDNA3 and RDNA3/RDNA4 instruction set manuals, VOP1/VOP2/VOP3.
#include "lanes.h"

namespace hipemu {

namespace {

template <class T, class F> u64 carry_loop(LaneArgs &x, F f) {
    Row carry;
    for (int l = 0; l < kLanes; ++l) {
        bool c;
        T::store(x.out, l, f(l, c));
        carry.lane[l] = c;
    }
    return mask_of(carry.lane);
}

void v_add_co_u32(LaneArgs &x) {
    const u32 *a = x.src[0], *b = x.src[1];
    x.mask_out = carry_loop<b32>(x, [&](int l, bool &c) { u32 r = a[l] + b[l]; c = r < a[l]; return r; });
}
void v_sub_co_u32(LaneArgs &x) {
    const u32 *a = x.src[0], *b = x.src[1];
    x.mask_out = carry_loop<b32>(x, [&](int l, bool &c) { c = b[l] > a[l]; return a[l] - b[l]; });
}
void v_subrev_co_u32(LaneArgs &x) { std::swap(x.src[0], x.src[1]); v_sub_co_u32(x); }
void v_addc_co_u32(LaneArgs &x) {
    const u32 *a = x.src[0], *b = x.src[1];
    u64 in = x.mask_in;
    x.mask_out = carry_loop<b32>(x, [&](int l, bool &c) { u64 r = u64(a[l]) + b[l] + (in >> l & 1); c = r >> 32; return u32(r); });
}
void v_subb_co_u32(LaneArgs &x) {
    const u32 *a = x.src[0], *b = x.src[1];
    u64 in = x.mask_in;
    x.mask_out = carry_loop<b32>(x, [&](int l, bool &c) { u64 r = u64(a[l]) - b[l] - (in >> l & 1); c = r >> 63; return u32(r); });
}
void v_subbrev_co_u32(LaneArgs &x) { std::swap(x.src[0], x.src[1]); v_subb_co_u32(x); }

void v_cndmask_b32(LaneArgs &x) {
    std::memcpy(x.out, x.src[0], sizeof(Row));
    store_lanes(x.out, x.src[1], x.mask_in);
}

void v_mad_u64_u32(LaneArgs &x) {
    x.mask_out = carry_loop<b64>(x, [&](int l, bool &c) {
        u64 r, p = u64(x.src[0][l]) * x.src[1][l];
        c = __builtin_add_overflow(p, U64::load(x.src[2], l), &r);
        return r;
    });
}
void v_mad_i64_i32(LaneArgs &x) {
    x.mask_out = carry_loop<b64>(x, [&](int l, bool &c) {
        i64 p = i64(i32(x.src[0][l])) * i32(x.src[1][l]), s = I64::load(x.src[2], l);
        __int128 r = __int128(p) + s;
        c = u64(r >> 64) & 1;
        return u64(r);
    });
}

u32 byte_permute(u64 data, u32 select) {
    u32 r = 0;
    for (int b = 0; b < 4; ++b) {
        u32 s = select >> (8 * b) & 0xff, v;
        if (s >= 13) v = 0xff;
        else if (s == 12) v = 0;
        else if (s >= 8) v = data >> (((s - 8) * 2 + 1) * 8 + 7) & 1 ? 0xff : 0;
        else v = data >> (s * 8) & 0xff;
        r |= v << (8 * b);
    }
    return r;
}

u32 sad8(u32 a, u32 b, bool masked) {
    u32 sum = 0;
    for (int s = 0; s < 32; s += 8) {
        u32 x = a >> s & 0xff, y = b >> s & 0xff;
        if (!masked || y) sum += x > y ? x - y : y - x;
    }
    return sum;
}

void v_bitop3(LaneArgs &x) {
    u32 table = x.inst->a;
    const u32 *a = x.src[0], *b = x.src[1], *c = x.src[2];
    u32 t[8];
    for (int k = 0; k < 8; ++k) t[k] = table >> k & 1 ? ~0u : 0;
    bool narrow = x.inst->op->types[0] == Type::b16;
    for (int l = 0; l < kLanes; ++l) {
        u32 A = a[l], B = b[l], C = c[l];
        u32 r = (~A & ~B & ~C & t[0]) | (~A & ~B & C & t[1]) | (~A & B & ~C & t[2]) | (~A & B & C & t[3]) |
                (A & ~B & ~C & t[4]) | (A & ~B & C & t[5]) | (A & B & ~C & t[6]) | (A & B & C & t[7]);
        x.out[l] = narrow ? r & 0xffff : r;
    }
}

void v_mbcnt(LaneArgs &x, int from) {
    for (int l = 0; l < kLanes; ++l) {
        int below = l - from;
        u32 mask = below <= 0 ? 0 : below >= 32 ? ~0u : (1u << below) - 1;
        x.out[l] = x.src[1][l] + u32(__builtin_popcount(x.src[0][l] & mask));
    }
}
void v_mbcnt_lo_u32_b32(LaneArgs &x) { v_mbcnt(x, 0); }
void v_mbcnt_hi_u32_b32(LaneArgs &x) { v_mbcnt(x, 32); }

constexpr auto saturate_u32 = [](u64 x) { return x > 0xffffffffull ? 0xffffffffu : u32(x); };
bool clamps(const LaneArgs &x) { return x.inst->flags & kClamp; }
i32 sat_i32(i64 x) { return x > 0x7fffffffll ? 0x7fffffff : x < -0x80000000ll ? i32(0x80000000) : i32(x); }
u16 sat_u16(i32 x) { return u16(x < 0 ? 0 : x > 0xffff ? 0xffff : x); }
i16 sat_i16(i32 x) { return i16(x < -0x8000 ? -0x8000 : x > 0x7fff ? 0x7fff : x); }

void qsad(LaneArgs &x, bool masked) { // four 16-bit sums of a sliding byte window
    for (int l = 0; l < kLanes; ++l) {
        u64 a = U64::load(x.src[0], l), c = U64::load(x.src[2], l), r = 0;
        for (int k = 0; k < 4; ++k) r |= u64(u16(sad8(u32(a >> (8 * k)), x.src[1][l], masked) + u16(c >> (16 * k)))) << (16 * k);
        U64::store(x.out, l, r);
    }
}

constexpr auto add_u32 = [](const LaneArgs &x, u32 a, u32 b) { return clamps(x) ? saturate_u32(u64(a) + b) : a + b; };
constexpr auto sub_u32 = [](const LaneArgs &x, u32 a, u32 b) { return clamps(x) ? (a < b ? 0 : a - b) : a - b; };
constexpr auto add_u16 = [](const LaneArgs &x, u16 a, u16 b) { return clamps(x) ? sat_u16(i32(a) + b) : u16(a + b); };
constexpr auto sub_u16 = [](const LaneArgs &x, u16 a, u16 b) { return clamps(x) ? sat_u16(i32(a) - b) : u16(a - b); };

} // namespace

Table integer_opcodes() {
    using Plain = u32;
    Table t = {
        op<b32(b32)>("v_mov_b32", [](u32 a) { return a; }),
        op<b16(b16)>("v_mov_b16", [](u16 a) { return a; }),
        op<b64(b64)>("v_mov_b64", [](u64 a) { return a; }),
        op<b32(b32)>("v_not_b32", [](u32 a) { return ~a; }),
        op<b16(b16)>("v_not_b16", [](u16 a) { return u16(~a); }),
        op<b32(b32)>("v_bfrev_b32", [](u32 a) {
            a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
            a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
            a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
            return __builtin_bswap32(a);
        }),
        op<b32(U32)>("v_ffbh_u32", [](u32 a) { return a ? Plain(__builtin_clz(a)) : ~0u; }),
        op<b32(U32)>("v_clz_i32_u32", [](u32 a) { return a ? Plain(__builtin_clz(a)) : ~0u; }),
        op<b32(b32)>("v_ffbl_b32", [](u32 a) { return a ? Plain(__builtin_ctz(a)) : ~0u; }),
        op<b32(b32)>("v_ctz_i32_b32", [](u32 a) { return a ? Plain(__builtin_ctz(a)) : ~0u; }),
        op<b32(I32)>("v_ffbh_i32", [](i32 a) { u32 x = u32(a < 0 ? ~a : a); return x ? Plain(__builtin_clz(x)) : ~0u; }),
        op<b32(I32)>("v_cls_i32", [](i32 a) { u32 x = u32(a < 0 ? ~a : a); return x ? Plain(__builtin_clz(x)) : ~0u; }),
        op<b32(b32)>("v_prng_b32", [](u32 a) { return a << 1 ^ (a >> 31 ? 197u : 0u); }),
        lanes("v_cndmask_b32", v_cndmask_b32, {Type::b32, Type::b32, Type::b32, Type::mask}),
        lanes("v_cndmask_b16", v_cndmask_b32, {Type::b16, Type::b16, Type::b16, Type::mask}),
        op<I32(I32, I32)>("v_mul_i32_i24", [](i32 a, i32 b) { return i32(u32(a << 8 >> 8) * u32(b << 8 >> 8)); }),
        op<I32(I32, I32)>("v_mul_hi_i32_i24", [](i32 a, i32 b) { return i32(i64(a << 8 >> 8) * (b << 8 >> 8) >> 32); }),
        op<U32(U32, U32)>("v_mul_u32_u24", [](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }),
        op<U32(U32, U32)>("v_mul_hi_u32_u24", [](u32 a, u32 b) { return u32(u64(a & 0xffffff) * (b & 0xffffff) >> 32); }),
        op<I32(I32, I32)>("v_min_i32", [](i32 a, i32 b) { return a < b ? a : b; }),
        op<I32(I32, I32)>("v_max_i32", [](i32 a, i32 b) { return a > b ? a : b; }),
        op<U32(U32, U32)>("v_min_u32", [](u32 a, u32 b) { return a < b ? a : b; }),
        op<U32(U32, U32)>("v_max_u32", [](u32 a, u32 b) { return a > b ? a : b; }),
        op<U32(U32, U32)>("v_lshrrev_b32", [](u32 a, u32 b) { return b >> (a & 31); }),
        op<I32(U32, I32)>("v_ashrrev_i32", [](u32 a, i32 b) { return b >> (a & 31); }),
        op<U32(U32, U32)>("v_lshlrev_b32", [](u32 a, u32 b) { return b << (a & 31); }),
        op<b32(b32, b32)>("v_and_b32", [](u32 a, u32 b) { return a & b; }),
        op<b32(b32, b32)>("v_or_b32", [](u32 a, u32 b) { return a | b; }),
        op<b32(b32, b32)>("v_xor_b32", [](u32 a, u32 b) { return a ^ b; }),
        op<b32(b32, b32)>("v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); }),
        op<b16(b16, b16)>("v_and_b16", [](u16 a, u16 b) { return u16(a & b); }),
        op<b16(b16, b16)>("v_or_b16", [](u16 a, u16 b) { return u16(a | b); }),
        op<b16(b16, b16)>("v_xor_b16", [](u16 a, u16 b) { return u16(a ^ b); }),
        lanes("v_add_co_u32", v_add_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32}),
        lanes("v_sub_co_u32", v_sub_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32}),
        lanes("v_subrev_co_u32", v_subrev_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32}),
        lanes("v_addc_co_u32", v_addc_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_subb_co_u32", v_subb_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_subbrev_co_u32", v_subbrev_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_add_co_ci_u32", v_addc_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_sub_co_ci_u32", v_subb_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_subrev_co_ci_u32", v_subbrev_co_u32, {Type::u32, Type::mask, Type::u32, Type::u32, Type::mask}),
        lanes("v_mad_u64_u32", v_mad_u64_u32, {Type::u64, Type::mask, Type::u32, Type::u32, Type::u64}),
        lanes("v_mad_i64_i32", v_mad_i64_i32, {Type::i64, Type::mask, Type::i32, Type::i32, Type::i64}),
        lanes("v_mad_co_u64_u32", v_mad_u64_u32, {Type::u64, Type::mask, Type::u32, Type::u32, Type::u64}),
        lanes("v_mad_co_i64_i32", v_mad_i64_i32, {Type::i64, Type::mask, Type::i32, Type::i32, Type::i64}),
        op<U32(U32, U32)>("v_add_u32", add_u32, kIntegerClamp),
        op<U32(U32, U32)>("v_add_nc_u32", add_u32, kIntegerClamp),
        op<U32(U32, U32)>("v_sub_u32", sub_u32, kIntegerClamp),
        op<U32(U32, U32)>("v_sub_nc_u32", sub_u32, kIntegerClamp),
        op<U32(U32, U32)>("v_subrev_u32", [](const LaneArgs &x, u32 a, u32 b) { return sub_u32(x, b, a); }, kIntegerClamp),
        op<U32(U32, U32)>("v_subrev_nc_u32", [](const LaneArgs &x, u32 a, u32 b) { return sub_u32(x, b, a); }, kIntegerClamp),
        op<I32(I32, I32)>("v_add_i32", [](const LaneArgs &x, i32 a, i32 b) { return clamps(x) ? sat_i32(i64(a) + b) : i32(u32(a) + u32(b)); }, kIntegerClamp),
        op<I32(I32, I32)>("v_sub_i32", [](const LaneArgs &x, i32 a, i32 b) { return clamps(x) ? sat_i32(i64(a) - b) : i32(u32(a) - u32(b)); }, kIntegerClamp),
        op<I32(I32, I32)>("v_add_nc_i32", [](const LaneArgs &x, i32 a, i32 b) { return clamps(x) ? sat_i32(i64(a) + b) : i32(u32(a) + u32(b)); }, kIntegerClamp),
        op<I32(I32, I32)>("v_sub_nc_i32", [](const LaneArgs &x, i32 a, i32 b) { return clamps(x) ? sat_i32(i64(a) - b) : i32(u32(a) - u32(b)); }, kIntegerClamp),
        // 16 bit
        op<U16(U16, U16)>("v_add_u16", add_u16, kIntegerClamp),
        op<U16(U16, U16)>("v_sub_u16", sub_u16, kIntegerClamp),
        op<U16(U16, U16)>("v_add_nc_u16", add_u16, kIntegerClamp),
        op<U16(U16, U16)>("v_sub_nc_u16", sub_u16, kIntegerClamp),
        op<U16(U16, U16)>("v_subrev_u16", [](const LaneArgs &x, u16 a, u16 b) { return sub_u16(x, b, a); }, kIntegerClamp),
        op<I16(I16, I16)>("v_add_i16", [](const LaneArgs &x, i16 a, i16 b) { return clamps(x) ? sat_i16(i32(a) + b) : i16(a + b); }, kIntegerClamp | kKeepHigh),
        op<I16(I16, I16)>("v_sub_i16", [](const LaneArgs &x, i16 a, i16 b) { return clamps(x) ? sat_i16(i32(a) - b) : i16(a - b); }, kIntegerClamp | kKeepHigh),
        op<I16(I16, I16)>("v_add_nc_i16", [](const LaneArgs &x, i16 a, i16 b) { return clamps(x) ? sat_i16(i32(a) + b) : i16(a + b); }, kIntegerClamp | kKeepHigh),
        op<I16(I16, I16)>("v_sub_nc_i16", [](const LaneArgs &x, i16 a, i16 b) { return clamps(x) ? sat_i16(i32(a) - b) : i16(a - b); }, kIntegerClamp | kKeepHigh),
        op<U16(U16, U16)>("v_mul_lo_u16", [](u16 a, u16 b) { return u16(u32(a) * b); }),
        op<U16(U16, U16)>("v_lshlrev_b16", [](u16 a, u16 b) { return u16(b << (a & 15)); }),
        op<U16(U16, U16)>("v_lshrrev_b16", [](u16 a, u16 b) { return u16(b >> (a & 15)); }),
        op<I16(U16, I16)>("v_ashrrev_i16", [](u16 a, i16 b) { return i16(b >> (a & 15)); }),
        op<U16(U16, U16)>("v_max_u16", [](u16 a, u16 b) { return a > b ? a : b; }),
        op<I16(I16, I16)>("v_max_i16", [](i16 a, i16 b) { return a > b ? a : b; }),
        op<U16(U16, U16)>("v_min_u16", [](u16 a, u16 b) { return a < b ? a : b; }),
        op<I16(I16, I16)>("v_min_i16", [](i16 a, i16 b) { return a < b ? a : b; }),
        op<U16(U16, U16, U16)>("v_mad_u16", [](const LaneArgs &x, u16 a, u16 b, u16 c) { u64 r = u64(a) * b + c; return clamps(x) && r > 0xffff ? u16(0xffff) : u16(r); }, kKeepHigh | kIntegerClamp),
        op<I16(I16, I16, I16)>("v_mad_i16", [](const LaneArgs &x, i16 a, i16 b, i16 c) { i32 r = i32(a) * b + c; return clamps(x) ? sat_i16(r) : i16(r); }, kKeepHigh | kIntegerClamp),
        op<U16(U16, U16, U16)>("v_mad_legacy_u16", [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); }),
        op<I16(I16, I16, I16)>("v_mad_legacy_i16", [](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); }),
        op<U16(U16, U16, U16)>("v_min3_u16", [](u16 a, u16 b, u16 c) { u16 m = a < b ? a : b; return m < c ? m : c; }, kKeepHigh),
        op<I16(I16, I16, I16)>("v_min3_i16", [](i16 a, i16 b, i16 c) { i16 m = a < b ? a : b; return m < c ? m : c; }, kKeepHigh),
        op<U16(U16, U16, U16)>("v_max3_u16", [](u16 a, u16 b, u16 c) { u16 m = a > b ? a : b; return m > c ? m : c; }, kKeepHigh),
        op<I16(I16, I16, I16)>("v_max3_i16", [](i16 a, i16 b, i16 c) { i16 m = a > b ? a : b; return m > c ? m : c; }, kKeepHigh),
        op<U16(U16, U16, U16)>("v_med3_u16", [](u16 a, u16 b, u16 c) { u16 lo = a < b ? a : b, hi = a < b ? b : a; u16 m = hi < c ? hi : c; return lo > m ? lo : m; }, kKeepHigh),
        op<I16(I16, I16, I16)>("v_med3_i16", [](i16 a, i16 b, i16 c) { i16 lo = a < b ? a : b, hi = a < b ? b : a; i16 m = hi < c ? hi : c; return lo > m ? lo : m; }, kKeepHigh),
        // three operands
        op<I32(I32, I32, I32)>("v_mad_i32_i24", [](i32 a, i32 b, i32 c) { return i32(u32(a << 8 >> 8) * u32(b << 8 >> 8) + u32(c)); }),
        op<U32(U32, U32, U32)>("v_mad_u32_u24", [](const LaneArgs &x, u32 a, u32 b, u32 c) { u64 r = u64(a & 0xffffff) * (b & 0xffffff) + c; return clamps(x) ? saturate_u32(r) : u32(r); }, kIntegerClamp),
        op<U32(U32, U32, U32)>("v_bfe_u32", [](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1u << (c & 31)) - 1); }),
        op<I32(I32, U32, U32)>("v_bfe_i32", [](i32 a, u32 b, u32 c) {
            u32 n = c & 31;
            i32 x = i32(u32(a >> (b & 31)) << ((32 - n) & 31));
            return n == 0 ? 0 : x >> ((32 - n) & 31);
        }),
        op<b32(b32, b32, b32)>("v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }),
        op<U32(U32, U32, U32)>("v_lerp_u8", [](u32 a, u32 b, u32 c) {
            u32 r = 0;
            for (int s = 0; s < 32; s += 8) r |= (((a >> s & 0xff) + (b >> s & 0xff) + (c >> s & 1)) >> 1) << s;
            return r;
        }),
        op<b32(b32, b32, b32)>("v_alignbit_b32", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (c & 31)); }),
        op<b32(b32, b32, b32)>("v_alignbyte_b32", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> ((c & 3) * 8)); }),
        op<I32(I32, I32, I32)>("v_min3_i32", [](i32 a, i32 b, i32 c) { i32 m = a < b ? a : b; return m < c ? m : c; }),
        op<U32(U32, U32, U32)>("v_min3_u32", [](u32 a, u32 b, u32 c) { u32 m = a < b ? a : b; return m < c ? m : c; }),
        op<I32(I32, I32, I32)>("v_max3_i32", [](i32 a, i32 b, i32 c) { i32 m = a > b ? a : b; return m > c ? m : c; }),
        op<U32(U32, U32, U32)>("v_max3_u32", [](u32 a, u32 b, u32 c) { u32 m = a > b ? a : b; return m > c ? m : c; }),
        op<I32(I32, I32, I32)>("v_med3_i32", [](i32 a, i32 b, i32 c) { i32 lo = a < b ? a : b, hi = a < b ? b : a; i32 m = hi < c ? hi : c; return lo > m ? lo : m; }),
        op<U32(U32, U32, U32)>("v_med3_u32", [](u32 a, u32 b, u32 c) { u32 lo = a < b ? a : b, hi = a < b ? b : a; u32 m = hi < c ? hi : c; return lo > m ? lo : m; }),
        op<I32(I32, I32, I32)>("v_maxmin_i32", [](i32 a, i32 b, i32 c) { i32 m = a > b ? a : b; return m < c ? m : c; }),
        op<U32(U32, U32, U32)>("v_maxmin_u32", [](u32 a, u32 b, u32 c) { u32 m = a > b ? a : b; return m < c ? m : c; }),
        op<I32(I32, I32, I32)>("v_minmax_i32", [](i32 a, i32 b, i32 c) { i32 m = a < b ? a : b; return m > c ? m : c; }),
        op<U32(U32, U32, U32)>("v_minmax_u32", [](u32 a, u32 b, u32 c) { u32 m = a < b ? a : b; return m > c ? m : c; }),
        op<U32(U32, U32, U32)>("v_sad_u8", [](u32 a, u32 b, u32 c) { return sad8(a, b, false) + c; }),
        op<U32(U32, U32, U32)>("v_sad_hi_u8", [](u32 a, u32 b, u32 c) { return (sad8(a, b, false) << 16) + c; }),
        op<U32(U32, U32, U32)>("v_msad_u8", [](u32 a, u32 b, u32 c) { return sad8(a, b, true) + c; }),
        op<U32(U32, U32, U32)>("v_sad_u16", [](u32 a, u32 b, u32 c) {
            u32 a0 = a & 0xffff, b0 = b & 0xffff, a1 = a >> 16, b1 = b >> 16;
            return c + (a0 > b0 ? a0 - b0 : b0 - a0) + (a1 > b1 ? a1 - b1 : b1 - a1);
        }),
        op<U32(U32, U32, U32)>("v_sad_u32", [](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }),
        lanes("v_qsad_pk_u16_u8", [](LaneArgs &x) { qsad(x, false); }, {Type::b64, Type::b64, Type::b32, Type::b64}),
        lanes("v_mqsad_pk_u16_u8", [](LaneArgs &x) { qsad(x, true); }, {Type::b64, Type::b64, Type::b32, Type::b64}),
        op<b32(b32, b32, b32)>("v_perm_b32", [](u32 a, u32 b, u32 c) { return byte_permute(u64(a) << 32 | b, c); }),
        op<U32(U16, U16, U32)>("v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return u32(a) * b + c; }),
        op<I32(I16, I16, I32)>("v_mad_i32_i16", [](i16 a, i16 b, i32 c) { return i32(u32(i32(a) * b) + u32(c)); }),
        op<U32(U32, U32, U32)>("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
        op<U32(U32, U32, U32)>("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }),
        op<U32(U32, U32, U32)>("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }),
        op<U32(U32, U32, U32)>("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; }),
        op<U32(U32, U32, U32)>("v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }),
        op<U32(U32, U32, U32)>("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
        op<U32(U32, U32, U32)>("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; }),
        op<U32(U32, U32, U32)>("v_xor3_b32", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; }),
        op<U64(U64, U32, U64)>("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }),
        lanes("v_bitop3_b32", v_bitop3, {Type::b32, Type::b32, Type::b32, Type::b32}),
        lanes("v_bitop3_b16", v_bitop3, {Type::b16, Type::b16, Type::b16, Type::b16}, kKeepHigh),
        op<U32(U32, U32)>("v_mul_lo_u32", [](u32 a, u32 b) { return a * b; }),
        op<U32(U32, U32)>("v_mul_hi_u32", [](u32 a, u32 b) { return u32(u64(a) * b >> 32); }),
        op<I32(I32, I32)>("v_mul_hi_i32", [](i32 a, i32 b) { return i32(i64(a) * b >> 32); }),
        op<U32(U32, U32)>("v_bcnt_u32_b32", [](u32 a, u32 b) { return u32(__builtin_popcount(a)) + b; }),
        lanes("v_mbcnt_lo_u32_b32", v_mbcnt_lo_u32_b32, {Type::b32, Type::b32, Type::b32}),
        lanes("v_mbcnt_hi_u32_b32", v_mbcnt_hi_u32_b32, {Type::b32, Type::b32, Type::b32}),
        op<U64(U32, U64)>("v_lshlrev_b64", [](u32 a, u64 b) { return b << (a & 63); }),
        op<U64(U32, U64)>("v_lshrrev_b64", [](u32 a, u64 b) { return b >> (a & 63); }),
        op<I64(U32, I64)>("v_ashrrev_i64", [](u32 a, i64 b) { return b >> (a & 63); }),
        op<b32(b32, b32)>("v_bfm_b32", [](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
        op<b32(I32, I32, U32)>("v_ashr_pk_i8_i32", [](i32 a, i32 b, u32 c) {
            auto sat = [](i32 n) { return u32(u8(n < -128 ? -128 : n > 127 ? 127 : n)); };
            return sat(a >> (c & 31)) | sat(b >> (c & 31)) << 8;
        }),
        op<b32(I32, I32, U32)>("v_ashr_pk_u8_i32", [](i32 a, i32 b, u32 c) {
            auto sat = [](i32 n) { return u32(n < 0 ? 0 : n > 255 ? 255 : n); };
            return sat(a >> (c & 31)) | sat(b >> (c & 31)) << 8;
        }),
    };
    return t;
}

} // namespace hipemu
