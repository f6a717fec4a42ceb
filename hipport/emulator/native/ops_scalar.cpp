// Scalar ALU opcodes (SOP1, SOP2, SOPC, SOPK). Source: CDNA3 and RDNA3/RDNA4 instruction set manuals, scalar instructions.
#include <deque>

#include <xmmintrin.h>

#include "lanes.h"

namespace hipemu {

namespace {

enum Scc { keep, nonzero }; // how a row sets SCC besides what its function does itself

template <class T> T read(const Wave &w, const Operand &o) {
    if constexpr (sizeof(T) == 8) return T(read64(w, o)); else return T(read32(w, o));
}
template <class T> void write(Wave &w, const Operand &o, T x) {
    if constexpr (sizeof(T) == 8) write64(w, o, u64(x)); else write32(w, o, u32(x));
    if (w.wave32) w.s[kExec + 1] = 0;
}

template <class T> constexpr Type type_of = sizeof(T) == 8 ? Type::b64 : Type::b32;

template <class D, class A, Scc S, class F> Op sop1(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                D r = F{}(w, read<A>(w, i->o[1]));
                if constexpr (S == nonzero) w.scc = r != 0;
                write<D>(w, i->o[0], r);
                return i + 1;
            }, nullptr, {type_of<D>, type_of<A>}};
}
template <class D, class A, class B, Scc S, class F> Op sop2(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                D r = F{}(w, read<A>(w, i->o[1]), read<B>(w, i->o[2]));
                if constexpr (S == nonzero) w.scc = r != 0;
                write<D>(w, i->o[0], r);
                return i + 1;
            }, nullptr, {type_of<D>, type_of<A>, type_of<B>}};
}
template <class T, class F> Op sopc(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                w.scc = F{}(read<T>(w, i->o[0]), read<T>(w, i->o[1]));
                return i + 1;
            }, nullptr, {type_of<T>, type_of<T>}};
}
// The immediate of SOPK is 16 bits and signed; the comparison says how it extends.
template <bool Signed, class F> Op cmpk(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                u32 k = read32(w, i->o[1]) & 0xffff;
                if constexpr (Signed) w.scc = F{}(i32(read32(w, i->o[0])), i32(i16(k)));
                else w.scc = F{}(read32(w, i->o[0]), k);
                return i + 1;
            }, nullptr, {Type::b32, Type::b32}};
}
// EXEC := f(source, EXEC), destination := old EXEC (or the new one for wrexec).
template <bool Wide, bool NewValue, class F> Op saveexec(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                u64 old = w.exec(), s = Wide ? read64(w, i->o[1]) : read32(w, i->o[1]);
                u64 now = F{}(s, old);
                if constexpr (!Wide) now = u32(now);
                if constexpr (Wide) write64(w, i->o[0], NewValue ? now : old); else write32(w, i->o[0], u32(NewValue ? now : old));
                w.set_exec(now);
                w.scc = now != 0;
                return i + 1;
            }, nullptr, {Wide ? Type::b64 : Type::b32, Wide ? Type::b64 : Type::b32}, kWritesExec};
}
template <class F> void saveexec_pair(Table &t, const char *b64, const char *b32, F f) {
    t.push_back(saveexec<true, false>(b64, f));
    t.push_back(saveexec<false, false>(b32, f));
}
template <class F> void wrexec_pair(Table &t, const char *b64, const char *b32, F f) {
    t.push_back(saveexec<true, true>(b64, f));
    t.push_back(saveexec<false, true>(b32, f));
}

template <class T> T bit_mask(u32 n) { return n >= sizeof(T) * 8 ? T(~T(0)) : T((T(1) << n) - 1); }

template <class T> T reverse_bits(T x) {
    T r = 0;
    for (unsigned b = 0; b < sizeof(T) * 8; ++b) r |= T(x >> b & 1) << (sizeof(T) * 8 - 1 - b);
    return r;
}

i32 first_one(u64 x) { return x ? __builtin_ctzll(x) : -1; }
i32 leading(u32 x) { return x ? __builtin_clz(x) : -1; }
i32 leading(u64 x) { return x ? __builtin_clzll(x) : -1; }
i32 sign_run(i32 x) { return x == 0 || x == -1 ? -1 : __builtin_clz(u32(x < 0 ? ~x : x)); }
i32 sign_run(i64 x) { return x == 0 || x == -1 ? -1 : __builtin_clzll(u64(x < 0 ? ~x : x)); }

template <class T> T whole_quad(T x) {
    T r = 0;
    for (unsigned b = 0; b < sizeof(T) * 8; b += 4)
        if (x >> b & 15) r |= T(15) << b;
    return r;
}
template <class T> T quad_mask(T x) {
    T r = 0;
    for (unsigned b = 0; b < sizeof(T) * 8; b += 4)
        if (x >> b & 15) r |= T(1) << (b / 4);
    return r;
}

const Inst *s_cmov_b32(Wave &w, const Inst *i) { if (w.scc) write<u32>(w, i->o[0], read32(w, i->o[1])); return i + 1; }
const Inst *s_cmov_b64(Wave &w, const Inst *i) { if (w.scc) write<u64>(w, i->o[0], read64(w, i->o[1])); return i + 1; }
const Inst *s_movk_i32(Wave &w, const Inst *i) { write<u32>(w, i->o[0], u32(i32(i16(read32(w, i->o[1]))))); return i + 1; }
const Inst *s_cmovk_i32(Wave &w, const Inst *i) { return w.scc ? s_movk_i32(w, i) : i + 1; }
const Inst *s_addk_i32(Wave &w, const Inst *i) {
    i32 a = i32(read32(w, i->o[0])), k = i16(read32(w, i->o[1])), r;
    w.scc = __builtin_add_overflow(a, k, &r);
    write<u32>(w, i->o[0], u32(r));
    return i + 1;
}
const Inst *s_mulk_i32(Wave &w, const Inst *i) {
    write<u32>(w, i->o[0], read32(w, i->o[0]) * u32(i32(i16(read32(w, i->o[1])))));
    return i + 1;
}
template <class T, bool Set> const Inst *s_bitset(Wave &w, const Inst *i) {
    T bit = T(1) << (read32(w, i->o[1]) & (sizeof(T) * 8 - 1));
    T x = read<T>(w, i->o[0]);
    write<T>(w, i->o[0], Set ? x | bit : x & ~bit);
    return i + 1;
}
const Inst *s_movrels_b32(Wave &w, const Inst *i) { write<u32>(w, i->o[0], w.s[(i->o[1].index + w.s[kM0]) & 127]); return i + 1; }
const Inst *s_movrels_b64(Wave &w, const Inst *i) {
    Operand o = i->o[1];
    o.index = (o.index + w.s[kM0]) & 126;
    write<u64>(w, i->o[0], read64(w, o));
    return i + 1;
}
const Inst *s_movreld_b32(Wave &w, const Inst *i) { w.s[(i->o[0].index + w.s[kM0]) & 127] = read32(w, i->o[1]); return i + 1; }
const Inst *s_movreld_b64(Wave &w, const Inst *i) {
    Operand o = i->o[0];
    o.index = (o.index + w.s[kM0]) & 126;
    write64(w, o, read64(w, i->o[1]));
    return i + 1;
}
const Inst *s_movrelsd_2_b32(Wave &w, const Inst *i) { // bits 9:0 of M0 for the source, 25:16 for the destination
    w.s[(i->o[0].index + (w.s[kM0] >> 16 & 0x3ff)) & 127] = w.s[(i->o[1].index + (w.s[kM0] & 0x3ff)) & 127];
    return i + 1;
}

Op salu(const char *name, Run run, std::vector<Type> types, u32 flags = 0) { return {name, Unit::salu, run, nullptr, std::move(types), flags}; }

// MODE for one scalar float operation: host rounding while it lives, denormals of inputs and results.
struct ScalarMode {
    u32 mode, saved = 0;
    bool special;
    ScalarMode(const Wave &w, bool half) : mode(w.mode), special(w.special_mode) {
        if (!special) return;
        static const u32 rounding[4] = {0x0000, 0x4000, 0x2000, 0x6000}; // even, +inf, -inf, zero
        saved = _mm_getcsr();
        _mm_setcsr((saved & ~0x6000u) | rounding[half ? mode >> 2 & 3 : mode & 3]);
    }
    ~ScalarMode() { if (special) _mm_setcsr(saved); }
    // The empty statements keep the compiler from moving arithmetic out of the object's life.
    u32 in(u32 x) const {
        x = !special || mode & 0x10 || x & 0x7f800000u ? x : x & 0x80000000u;
        asm volatile("" : "+r"(x));
        return x;
    }
    u32 in16(u32 x) const {
        x = !special || mode & 0x40 || x & 0x7c00u ? x & 0xffff : x & 0x8000u;
        asm volatile("" : "+r"(x));
        return x;
    }
    u32 out(u32 x) const {
        asm volatile("" : "+r"(x));
        return !special || mode & 0x20 || x & 0x7f800000u ? x : x & 0x80000000u;
    }
    u32 half(float f) const {
        u32 x = std::bit_cast<u32>(f);
        asm volatile("" : "+r"(x));
        return kept_half(float_to_half_in_mode(std::bit_cast<float>(x), special ? mode >> 2 & 3 : 0));
    }
    u32 kept_half(u32 h) const { return !special || mode & 0x80 || h & 0x7c00u ? h : h & 0x8000u; }
};
template <bool Half, class F> Op compare_float(const char *name, F) {
    return {name, Unit::salu, [](Wave &w, const Inst *i) -> const Inst * {
                ScalarMode m(w, Half);
                auto source = [&](const Operand &o) { return Half ? m.in16(read32(w, o)) : m.in(read32(w, o)); };
                w.scc = F{}(source(i->o[0]), source(i->o[1]));
                return i + 1;
            }, nullptr, {Type::b32, Type::b32}};
}
float bits_f(u32 x) { return std::bit_cast<float>(x); }
u32 f_bits(float x) { return x == x ? std::bit_cast<u32>(x) : (std::bit_cast<u32>(x) == 0xffc00000u ? 0x7fc00000u : std::bit_cast<u32>(x)); }
float sc_min(float a, float b) { return a != a ? b : b != b ? a : a == b ? bits_f(std::bit_cast<u32>(a) | std::bit_cast<u32>(b)) : a < b ? a : b; }
float sc_max(float a, float b) { return a != a ? b : b != b ? a : a == b ? bits_f(std::bit_cast<u32>(a) & std::bit_cast<u32>(b)) : a > b ? a : b; }

float hf(u32 x) { return half_to_float(x & 0xffff); }
float sc_minimum(float a, float b) { return a != a ? quiet(a) : b != b ? quiet(b) : sc_min(a, b); }
float sc_maximum(float a, float b) { return a != a ? quiet(a) : b != b ? quiet(b) : sc_max(a, b); }

} // namespace

i32 float_to_i32(float);
u32 float_to_u32(float);

Table scalar_opcodes() {
    Table t = {
        sop1<u32, u32, keep>("s_mov_b32", [](Wave &, u32 a) { return a; }),
        sop1<u64, u64, keep>("s_mov_b64", [](Wave &, u64 a) { return a; }),
        sop1<u32, u32, nonzero>("s_not_b32", [](Wave &, u32 a) { return ~a; }),
        sop1<u64, u64, nonzero>("s_not_b64", [](Wave &, u64 a) { return ~a; }),
        sop1<u32, u32, nonzero>("s_wqm_b32", [](Wave &, u32 a) { return whole_quad(a); }),
        sop1<u64, u64, nonzero>("s_wqm_b64", [](Wave &, u64 a) { return whole_quad(a); }),
        sop1<u32, u32, nonzero>("s_quadmask_b32", [](Wave &, u32 a) { return quad_mask(a); }),
        sop1<u64, u64, nonzero>("s_quadmask_b64", [](Wave &, u64 a) { return quad_mask(a); }),
        sop1<u32, u32, keep>("s_brev_b32", [](Wave &, u32 a) { return reverse_bits(a); }),
        sop1<u64, u64, keep>("s_brev_b64", [](Wave &, u64 a) { return reverse_bits(a); }),
        sop1<u32, u32, nonzero>("s_bcnt0_i32_b32", [](Wave &, u32 a) { return u32(32 - __builtin_popcount(a)); }),
        sop1<u32, u64, nonzero>("s_bcnt0_i32_b64", [](Wave &, u64 a) { return u32(64 - __builtin_popcountll(a)); }),
        sop1<u32, u32, nonzero>("s_bcnt1_i32_b32", [](Wave &, u32 a) { return u32(__builtin_popcount(a)); }),
        sop1<u32, u64, nonzero>("s_bcnt1_i32_b64", [](Wave &, u64 a) { return u32(__builtin_popcountll(a)); }),
        sop1<u32, u32, keep>("s_ff0_i32_b32", [](Wave &, u32 a) { return u32(first_one(u32(~a))); }),
        sop1<u32, u64, keep>("s_ff0_i32_b64", [](Wave &, u64 a) { return u32(first_one(~a)); }),
        sop1<u32, u32, keep>("s_ff1_i32_b32", [](Wave &, u32 a) { return u32(first_one(a)); }),
        sop1<u32, u64, keep>("s_ff1_i32_b64", [](Wave &, u64 a) { return u32(first_one(a)); }),
        sop1<u32, u32, keep>("s_ctz_i32_b32", [](Wave &, u32 a) { return u32(first_one(a)); }),
        sop1<u32, u64, keep>("s_ctz_i32_b64", [](Wave &, u64 a) { return u32(first_one(a)); }),
        sop1<u32, u32, keep>("s_flbit_i32_b32", [](Wave &, u32 a) { return u32(leading(a)); }),
        sop1<u32, u64, keep>("s_flbit_i32_b64", [](Wave &, u64 a) { return u32(leading(a)); }),
        sop1<u32, u32, keep>("s_clz_i32_u32", [](Wave &, u32 a) { return u32(leading(a)); }),
        sop1<u32, u64, keep>("s_clz_i32_u64", [](Wave &, u64 a) { return u32(leading(a)); }),
        sop1<u32, i32, keep>("s_flbit_i32", [](Wave &, i32 a) { return u32(sign_run(a)); }),
        sop1<u32, i64, keep>("s_flbit_i32_i64", [](Wave &, i64 a) { return u32(sign_run(a)); }),
        sop1<u32, i32, keep>("s_cls_i32", [](Wave &, i32 a) { return u32(sign_run(a)); }),
        sop1<u32, i64, keep>("s_cls_i32_i64", [](Wave &, i64 a) { return u32(sign_run(a)); }),
        sop1<u32, u32, keep>("s_sext_i32_i8", [](Wave &, u32 a) { return u32(i32(i8(a))); }),
        sop1<u32, u32, keep>("s_sext_i32_i16", [](Wave &, u32 a) { return u32(i32(i16(a))); }),
        sop1<u32, u32, nonzero>("s_abs_i32", [](Wave &, u32 a) { return i32(a) < 0 ? 0u - a : a; }),
        sop1<u64, u32, keep>("s_bitreplicate_b64_b32", [](Wave &, u32 a) {
            u64 r = 0;
            for (int b = 0; b < 32; ++b) r |= u64(a >> b & 1) * 3 << (2 * b);
            return r;
        }),
        sop2<u32, u32, u32, keep>("s_add_u32", [](Wave &w, u32 a, u32 b) { u32 r; w.scc = __builtin_add_overflow(a, b, &r); return r; }),
        sop2<u32, u32, u32, keep>("s_sub_u32", [](Wave &w, u32 a, u32 b) { w.scc = b > a; return a - b; }),
        sop2<u32, i32, i32, keep>("s_add_i32", [](Wave &w, i32 a, i32 b) { i32 r; w.scc = __builtin_add_overflow(a, b, &r); return u32(r); }),
        sop2<u32, i32, i32, keep>("s_sub_i32", [](Wave &w, i32 a, i32 b) { i32 r; w.scc = __builtin_sub_overflow(a, b, &r); return u32(r); }),
        sop2<u32, u32, u32, keep>("s_addc_u32", [](Wave &w, u32 a, u32 b) { u64 r = u64(a) + b + w.scc; w.scc = u32(r >> 32); return u32(r); }),
        sop2<u32, u32, u32, keep>("s_subb_u32", [](Wave &w, u32 a, u32 b) { u64 r = u64(a) - b - w.scc; w.scc = u32(r >> 63); return u32(r); }),
        sop2<u64, u64, u64, keep>("s_add_u64", [](Wave &, u64 a, u64 b) { return a + b; }),
        sop2<u64, u64, u64, keep>("s_sub_u64", [](Wave &, u64 a, u64 b) { return a - b; }),
        sop2<u64, u64, u64, keep>("s_mul_u64", [](Wave &, u64 a, u64 b) { return a * b; }),
        sop2<u32, i32, i32, keep>("s_min_i32", [](Wave &w, i32 a, i32 b) { w.scc = a < b; return u32(a < b ? a : b); }),
        sop2<u32, u32, u32, keep>("s_min_u32", [](Wave &w, u32 a, u32 b) { w.scc = a < b; return a < b ? a : b; }),
        sop2<u32, i32, i32, keep>("s_max_i32", [](Wave &w, i32 a, i32 b) { w.scc = a >= b; return u32(a >= b ? a : b); }),
        sop2<u32, u32, u32, keep>("s_max_u32", [](Wave &w, u32 a, u32 b) { w.scc = a >= b; return a >= b ? a : b; }),
        sop2<u32, u32, u32, keep>("s_cselect_b32", [](Wave &w, u32 a, u32 b) { return w.scc ? a : b; }),
        sop2<u64, u64, u64, keep>("s_cselect_b64", [](Wave &w, u64 a, u64 b) { return w.scc ? a : b; }),
        sop2<u32, u32, u32, nonzero>("s_and_b32", [](Wave &, u32 a, u32 b) { return a & b; }),
        sop2<u64, u64, u64, nonzero>("s_and_b64", [](Wave &, u64 a, u64 b) { return a & b; }),
        sop2<u32, u32, u32, nonzero>("s_or_b32", [](Wave &, u32 a, u32 b) { return a | b; }),
        sop2<u64, u64, u64, nonzero>("s_or_b64", [](Wave &, u64 a, u64 b) { return a | b; }),
        sop2<u32, u32, u32, nonzero>("s_xor_b32", [](Wave &, u32 a, u32 b) { return a ^ b; }),
        sop2<u64, u64, u64, nonzero>("s_xor_b64", [](Wave &, u64 a, u64 b) { return a ^ b; }),
        sop2<u32, u32, u32, nonzero>("s_andn2_b32", [](Wave &, u32 a, u32 b) { return a & ~b; }),
        sop2<u64, u64, u64, nonzero>("s_andn2_b64", [](Wave &, u64 a, u64 b) { return a & ~b; }),
        sop2<u32, u32, u32, nonzero>("s_and_not1_b32", [](Wave &, u32 a, u32 b) { return a & ~b; }),
        sop2<u64, u64, u64, nonzero>("s_and_not1_b64", [](Wave &, u64 a, u64 b) { return a & ~b; }),
        sop2<u32, u32, u32, nonzero>("s_orn2_b32", [](Wave &, u32 a, u32 b) { return a | ~b; }),
        sop2<u64, u64, u64, nonzero>("s_orn2_b64", [](Wave &, u64 a, u64 b) { return a | ~b; }),
        sop2<u32, u32, u32, nonzero>("s_or_not1_b32", [](Wave &, u32 a, u32 b) { return a | ~b; }),
        sop2<u64, u64, u64, nonzero>("s_or_not1_b64", [](Wave &, u64 a, u64 b) { return a | ~b; }),
        sop2<u32, u32, u32, nonzero>("s_nand_b32", [](Wave &, u32 a, u32 b) { return ~(a & b); }),
        sop2<u64, u64, u64, nonzero>("s_nand_b64", [](Wave &, u64 a, u64 b) { return ~(a & b); }),
        sop2<u32, u32, u32, nonzero>("s_nor_b32", [](Wave &, u32 a, u32 b) { return ~(a | b); }),
        sop2<u64, u64, u64, nonzero>("s_nor_b64", [](Wave &, u64 a, u64 b) { return ~(a | b); }),
        sop2<u32, u32, u32, nonzero>("s_xnor_b32", [](Wave &, u32 a, u32 b) { return ~(a ^ b); }),
        sop2<u64, u64, u64, nonzero>("s_xnor_b64", [](Wave &, u64 a, u64 b) { return ~(a ^ b); }),
        sop2<u32, u32, u32, nonzero>("s_lshl_b32", [](Wave &, u32 a, u32 b) { return a << (b & 31); }),
        sop2<u64, u64, u32, nonzero>("s_lshl_b64", [](Wave &, u64 a, u32 b) { return a << (b & 63); }),
        sop2<u32, u32, u32, nonzero>("s_lshr_b32", [](Wave &, u32 a, u32 b) { return a >> (b & 31); }),
        sop2<u64, u64, u32, nonzero>("s_lshr_b64", [](Wave &, u64 a, u32 b) { return a >> (b & 63); }),
        sop2<u32, i32, u32, nonzero>("s_ashr_i32", [](Wave &, i32 a, u32 b) { return u32(a >> (b & 31)); }),
        sop2<u64, i64, u32, nonzero>("s_ashr_i64", [](Wave &, i64 a, u32 b) { return u64(a >> (b & 63)); }),
        sop2<u32, u32, u32, keep>("s_bfm_b32", [](Wave &, u32 a, u32 b) { return bit_mask<u32>(a & 31) << (b & 31); }),
        sop2<u64, u32, u32, keep>("s_bfm_b64", [](Wave &, u32 a, u32 b) { return bit_mask<u64>(a & 63) << (b & 63); }),
        sop2<u32, u32, u32, keep>("s_mul_i32", [](Wave &, u32 a, u32 b) { return a * b; }),
        sop2<u32, u32, u32, keep>("s_mul_hi_u32", [](Wave &, u32 a, u32 b) { return u32(u64(a) * b >> 32); }),
        sop2<u32, i32, i32, keep>("s_mul_hi_i32", [](Wave &, i32 a, i32 b) { return u32(i64(a) * b >> 32); }),
        sop2<u32, u32, u32, nonzero>("s_bfe_u32", [](Wave &, u32 a, u32 b) { return a >> (b & 31) & bit_mask<u32>(b >> 16 & 127); }),
        sop2<u32, i32, u32, nonzero>("s_bfe_i32", [](Wave &, i32 a, u32 b) {
            u32 n = b >> 16 & 127, shift = b & 31;
            if (n == 0) return 0u;
            i32 x = a >> shift;
            return n >= 32 ? u32(x) : u32(i32(u32(x) << (32 - n)) >> (32 - n));
        }),
        sop2<u64, u64, u32, nonzero>("s_bfe_u64", [](Wave &, u64 a, u32 b) { return a >> (b & 63) & bit_mask<u64>(b >> 16 & 127); }),
        sop2<u64, i64, u32, nonzero>("s_bfe_i64", [](Wave &, i64 a, u32 b) {
            u32 n = b >> 16 & 127, shift = b & 63;
            if (n == 0) return u64(0);
            i64 x = a >> shift;
            return n >= 64 ? u64(x) : u64(i64(u64(x) << (64 - n)) >> (64 - n));
        }),
        sop2<u32, u32, u32, nonzero>("s_absdiff_i32", [](Wave &, u32 a, u32 b) { u32 r = a - b; return i32(r) < 0 ? 0u - r : r; }),
        sop2<u32, u32, u32, keep>("s_lshl1_add_u32", [](Wave &w, u32 a, u32 b) { u64 r = (u64(a) << 1) + b; w.scc = r >> 32 != 0; return u32(r); }),
        sop2<u32, u32, u32, keep>("s_lshl2_add_u32", [](Wave &w, u32 a, u32 b) { u64 r = (u64(a) << 2) + b; w.scc = r >> 32 != 0; return u32(r); }),
        sop2<u32, u32, u32, keep>("s_lshl3_add_u32", [](Wave &w, u32 a, u32 b) { u64 r = (u64(a) << 3) + b; w.scc = r >> 32 != 0; return u32(r); }),
        sop2<u32, u32, u32, keep>("s_lshl4_add_u32", [](Wave &w, u32 a, u32 b) { u64 r = (u64(a) << 4) + b; w.scc = r >> 32 != 0; return u32(r); }),
        sop2<u32, u32, u32, keep>("s_pack_ll_b32_b16", [](Wave &, u32 a, u32 b) { return (a & 0xffff) | b << 16; }),
        sop2<u32, u32, u32, keep>("s_pack_lh_b32_b16", [](Wave &, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }),
        sop2<u32, u32, u32, keep>("s_pack_hh_b32_b16", [](Wave &, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }),
        sop2<u32, u32, u32, keep>("s_pack_hl_b32_b16", [](Wave &, u32 a, u32 b) { return a >> 16 | b << 16; }),
        sopc<i32>("s_cmp_eq_i32", [](i32 a, i32 b) { return a == b; }),
        sopc<i32>("s_cmp_lg_i32", [](i32 a, i32 b) { return a != b; }),
        sopc<i32>("s_cmp_gt_i32", [](i32 a, i32 b) { return a > b; }),
        sopc<i32>("s_cmp_ge_i32", [](i32 a, i32 b) { return a >= b; }),
        sopc<i32>("s_cmp_lt_i32", [](i32 a, i32 b) { return a < b; }),
        sopc<i32>("s_cmp_le_i32", [](i32 a, i32 b) { return a <= b; }),
        sopc<u32>("s_cmp_eq_u32", [](u32 a, u32 b) { return a == b; }),
        sopc<u32>("s_cmp_lg_u32", [](u32 a, u32 b) { return a != b; }),
        sopc<u32>("s_cmp_gt_u32", [](u32 a, u32 b) { return a > b; }),
        sopc<u32>("s_cmp_ge_u32", [](u32 a, u32 b) { return a >= b; }),
        sopc<u32>("s_cmp_lt_u32", [](u32 a, u32 b) { return a < b; }),
        sopc<u32>("s_cmp_le_u32", [](u32 a, u32 b) { return a <= b; }),
        sopc<u64>("s_cmp_eq_u64", [](u64 a, u64 b) { return a == b; }),
        sopc<u64>("s_cmp_lg_u64", [](u64 a, u64 b) { return a != b; }),
        sopc<u32>("s_bitcmp0_b32", [](u32 a, u32 b) { return !(a >> (b & 31) & 1); }),
        sopc<u32>("s_bitcmp1_b32", [](u32 a, u32 b) { return bool(a >> (b & 31) & 1); }),
        sopc<u64>("s_bitcmp0_b64", [](u64 a, u64 b) { return !(a >> (b & 63) & 1); }),
        sopc<u64>("s_bitcmp1_b64", [](u64 a, u64 b) { return bool(a >> (b & 63) & 1); }),
        cmpk<true>("s_cmpk_eq_i32", [](i32 a, i32 b) { return a == b; }),
        cmpk<true>("s_cmpk_lg_i32", [](i32 a, i32 b) { return a != b; }),
        cmpk<true>("s_cmpk_gt_i32", [](i32 a, i32 b) { return a > b; }),
        cmpk<true>("s_cmpk_ge_i32", [](i32 a, i32 b) { return a >= b; }),
        cmpk<true>("s_cmpk_lt_i32", [](i32 a, i32 b) { return a < b; }),
        cmpk<true>("s_cmpk_le_i32", [](i32 a, i32 b) { return a <= b; }),
        cmpk<false>("s_cmpk_eq_u32", [](u32 a, u32 b) { return a == b; }),
        cmpk<false>("s_cmpk_lg_u32", [](u32 a, u32 b) { return a != b; }),
        cmpk<false>("s_cmpk_gt_u32", [](u32 a, u32 b) { return a > b; }),
        cmpk<false>("s_cmpk_ge_u32", [](u32 a, u32 b) { return a >= b; }),
        cmpk<false>("s_cmpk_lt_u32", [](u32 a, u32 b) { return a < b; }),
        cmpk<false>("s_cmpk_le_u32", [](u32 a, u32 b) { return a <= b; }),
        salu("s_cmov_b32", s_cmov_b32, {Type::b32, Type::b32}),
        salu("s_cmov_b64", s_cmov_b64, {Type::b64, Type::b64}),
        salu("s_movk_i32", s_movk_i32, {Type::b32, Type::b32}),
        salu("s_cmovk_i32", s_cmovk_i32, {Type::b32, Type::b32}),
        salu("s_addk_i32", s_addk_i32, {Type::b32, Type::b32}),
        salu("s_addk_co_i32", s_addk_i32, {Type::b32, Type::b32}),
        salu("s_mulk_i32", s_mulk_i32, {Type::b32, Type::b32}),
        salu("s_bitset0_b32", s_bitset<u32, false>, {Type::b32, Type::b32}),
        salu("s_bitset0_b64", s_bitset<u64, false>, {Type::b64, Type::b32}),
        salu("s_bitset1_b32", s_bitset<u32, true>, {Type::b32, Type::b32}),
        salu("s_bitset1_b64", s_bitset<u64, true>, {Type::b64, Type::b32}),
        salu("s_movrels_b32", s_movrels_b32, {Type::b32, Type::b32}),
        salu("s_movrels_b64", s_movrels_b64, {Type::b64, Type::b64}),
        salu("s_movreld_b32", s_movreld_b32, {Type::b32, Type::b32}),
        salu("s_movrelsd_2_b32", s_movrelsd_2_b32, {Type::b32, Type::b32}),
        salu("s_movreld_b64", s_movreld_b64, {Type::b64, Type::b64}),
    };
    // gfx11 and gfx12 names of the same opcodes.
    auto also = [&](const char *old_name, const char *new_name) {
        for (size_t k = 0, n = t.size(); k < n; ++k)
            if (!strcmp(t[k].name, old_name)) { Op copy = t[k]; copy.name = new_name; t.push_back(copy); }
    };
    also("s_add_u32", "s_add_co_u32"); also("s_sub_u32", "s_sub_co_u32"); also("s_add_i32", "s_add_co_i32");
    also("s_sub_i32", "s_sub_co_i32"); also("s_addc_u32", "s_add_co_ci_u32"); also("s_subb_u32", "s_sub_co_ci_u32");
    also("s_add_u64", "s_add_nc_u64"); also("s_sub_u64", "s_sub_nc_u64");
    saveexec_pair(t, "s_and_saveexec_b64", "s_and_saveexec_b32", [](u64 s, u64 e) { return s & e; });
    saveexec_pair(t, "s_or_saveexec_b64", "s_or_saveexec_b32", [](u64 s, u64 e) { return s | e; });
    saveexec_pair(t, "s_xor_saveexec_b64", "s_xor_saveexec_b32", [](u64 s, u64 e) { return s ^ e; });
    saveexec_pair(t, "s_andn2_saveexec_b64", "s_andn2_saveexec_b32", [](u64 s, u64 e) { return s & ~e; });
    saveexec_pair(t, "s_and_not1_saveexec_b64", "s_and_not1_saveexec_b32", [](u64 s, u64 e) { return s & ~e; });
    saveexec_pair(t, "s_orn2_saveexec_b64", "s_orn2_saveexec_b32", [](u64 s, u64 e) { return s | ~e; });
    saveexec_pair(t, "s_or_not1_saveexec_b64", "s_or_not1_saveexec_b32", [](u64 s, u64 e) { return s | ~e; });
    saveexec_pair(t, "s_nand_saveexec_b64", "s_nand_saveexec_b32", [](u64 s, u64 e) { return ~(s & e); });
    saveexec_pair(t, "s_nor_saveexec_b64", "s_nor_saveexec_b32", [](u64 s, u64 e) { return ~(s | e); });
    saveexec_pair(t, "s_xnor_saveexec_b64", "s_xnor_saveexec_b32", [](u64 s, u64 e) { return ~(s ^ e); });
    saveexec_pair(t, "s_andn1_saveexec_b64", "s_andn1_saveexec_b32", [](u64 s, u64 e) { return ~s & e; });
    saveexec_pair(t, "s_and_not0_saveexec_b64", "s_and_not0_saveexec_b32", [](u64 s, u64 e) { return ~s & e; });
    saveexec_pair(t, "s_orn1_saveexec_b64", "s_orn1_saveexec_b32", [](u64 s, u64 e) { return ~s | e; });
    saveexec_pair(t, "s_or_not0_saveexec_b64", "s_or_not0_saveexec_b32", [](u64 s, u64 e) { return ~s | e; });
    wrexec_pair(t, "s_andn1_wrexec_b64", "s_andn1_wrexec_b32", [](u64 s, u64 e) { return ~s & e; });
    wrexec_pair(t, "s_and_not0_wrexec_b64", "s_and_not0_wrexec_b32", [](u64 s, u64 e) { return ~s & e; });
    wrexec_pair(t, "s_andn2_wrexec_b64", "s_andn2_wrexec_b32", [](u64 s, u64 e) { return s & ~e; });
    wrexec_pair(t, "s_and_not1_wrexec_b64", "s_and_not1_wrexec_b32", [](u64 s, u64 e) { return s & ~e; });
    // Scalar floating point (gfx11.5 and later).
    append(t, {
        sop2<u32, u32, u32, keep>("s_add_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(bits_f(m.in(a)) + bits_f(m.in(b)))); }),
        sop2<u32, u32, u32, keep>("s_sub_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(bits_f(m.in(a)) - bits_f(m.in(b)))); }),
        sop2<u32, u32, u32, keep>("s_mul_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(bits_f(m.in(a)) * bits_f(m.in(b)))); }),
        sop2<u32, u32, u32, keep>("s_min_num_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_min(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop2<u32, u32, u32, keep>("s_max_num_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_max(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop1<u32, u32, keep>("s_cvt_f32_i32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(float(i32(a)))); }),
        sop1<u32, u32, keep>("s_cvt_f32_u32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(float(a))); }),
        sop1<u32, u32, keep>("s_cvt_i32_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return u32(float_to_i32(bits_f(m.in(a)))); }),
        sop1<u32, u32, keep>("s_cvt_u32_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return float_to_u32(bits_f(m.in(a))); }),
        sop1<u32, u32, keep>("s_cvt_f16_f32", [](Wave &w, u32 a) { ScalarMode m(w, true); return m.half(bits_f(m.in(a))); }),
        sop1<u32, u32, keep>("s_cvt_f32_f16", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(half_to_float(m.in16(a)))); }),
        sop1<u32, u32, keep>("s_cvt_hi_f32_f16", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(half_to_float(m.in16(a >> 16)))); }),
        sop2<u32, u32, u32, keep>("s_cvt_pk_rtz_f16_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.kept_half(float_to_half_rtz(bits_f(m.in(a)))) | m.kept_half(float_to_half_rtz(bits_f(m.in(b)))) << 16; }),
        sop1<u32, u32, keep>("s_ceil_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(std::ceil(bits_f(m.in(a))))); }),
        sop1<u32, u32, keep>("s_floor_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(std::floor(bits_f(m.in(a))))); }),
        sop1<u32, u32, keep>("s_trunc_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(std::trunc(bits_f(m.in(a))))); }),
        sop1<u32, u32, keep>("s_rndne_f32", [](Wave &w, u32 a) { ScalarMode m(w, false); return m.out(f_bits(round_even(bits_f(m.in(a))))); }),
        sop2<u32, u32, u32, keep>("s_add_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(half_to_float(m.in16(a)) + half_to_float(m.in16(b))); }),
        sop2<u32, u32, u32, keep>("s_sub_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(half_to_float(m.in16(a)) - half_to_float(m.in16(b))); }),
        sop2<u32, u32, u32, keep>("s_mul_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(half_to_float(m.in16(a)) * half_to_float(m.in16(b))); }),
        sop2<u32, u32, u32, keep>("s_min_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_min(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop2<u32, u32, u32, keep>("s_max_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_max(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop2<u32, u32, u32, keep>("s_minimum_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_minimum(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop2<u32, u32, u32, keep>("s_maximum_f32", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, false); return m.out(f_bits(sc_maximum(bits_f(m.in(a)), bits_f(m.in(b))))); }),
        sop2<u32, u32, u32, keep>("s_min_num_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(sc_min(hf(m.in16(a)), hf(m.in16(b)))); }),
        sop2<u32, u32, u32, keep>("s_max_num_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(sc_max(hf(m.in16(a)), hf(m.in16(b)))); }),
        sop2<u32, u32, u32, keep>("s_minimum_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(sc_minimum(hf(m.in16(a)), hf(m.in16(b)))); }),
        sop2<u32, u32, u32, keep>("s_maximum_f16", [](Wave &w, u32 a, u32 b) { ScalarMode m(w, true); return m.half(sc_maximum(hf(m.in16(a)), hf(m.in16(b)))); }),
        sop1<u32, u32, keep>("s_ceil_f16", [](Wave &w, u32 a) { ScalarMode m(w, true); return m.half(std::ceil(hf(m.in16(a)))); }),
        sop1<u32, u32, keep>("s_floor_f16", [](Wave &w, u32 a) { ScalarMode m(w, true); return m.half(std::floor(hf(m.in16(a)))); }),
        sop1<u32, u32, keep>("s_trunc_f16", [](Wave &w, u32 a) { ScalarMode m(w, true); return m.half(std::trunc(hf(m.in16(a)))); }),
        sop1<u32, u32, keep>("s_rndne_f16", [](Wave &w, u32 a) { ScalarMode m(w, true); return m.half(round_even(hf(m.in16(a)))); }),
        salu("s_fmac_f16", [](Wave &w, const Inst *i) -> const Inst * {
            ScalarMode m(w, true);
            auto source = [&](int k) { return hf(m.in16(read32(w, i->o[k]))); };
            write32(w, i->o[0], m.half(half_fma(source(1), source(2), source(0))));
            return i + 1;
        }, {Type::f16, Type::f16, Type::f16}),
        compare_float<true>("s_cmp_lt_f16", [](u32 a, u32 b) { return hf(a) < hf(b); }),
        compare_float<true>("s_cmp_eq_f16", [](u32 a, u32 b) { return hf(a) == hf(b); }),
        compare_float<true>("s_cmp_le_f16", [](u32 a, u32 b) { return hf(a) <= hf(b); }),
        compare_float<true>("s_cmp_gt_f16", [](u32 a, u32 b) { return hf(a) > hf(b); }),
        compare_float<true>("s_cmp_lg_f16", [](u32 a, u32 b) { return hf(a) < hf(b) || hf(a) > hf(b); }),
        compare_float<true>("s_cmp_ge_f16", [](u32 a, u32 b) { return hf(a) >= hf(b); }),
        compare_float<true>("s_cmp_o_f16", [](u32 a, u32 b) { return hf(a) == hf(a) && hf(b) == hf(b); }),
        compare_float<true>("s_cmp_u_f16", [](u32 a, u32 b) { return hf(a) != hf(a) || hf(b) != hf(b); }),
        compare_float<true>("s_cmp_nge_f16", [](u32 a, u32 b) { return !(hf(a) >= hf(b)); }),
        compare_float<true>("s_cmp_nlg_f16", [](u32 a, u32 b) { return !(hf(a) < hf(b) || hf(a) > hf(b)); }),
        compare_float<true>("s_cmp_ngt_f16", [](u32 a, u32 b) { return !(hf(a) > hf(b)); }),
        compare_float<true>("s_cmp_nle_f16", [](u32 a, u32 b) { return !(hf(a) <= hf(b)); }),
        compare_float<true>("s_cmp_neq_f16", [](u32 a, u32 b) { return !(hf(a) == hf(b)); }),
        compare_float<true>("s_cmp_nlt_f16", [](u32 a, u32 b) { return !(hf(a) < hf(b)); }),
        salu("s_fmac_f32", [](Wave &w, const Inst *i) -> const Inst * {
            ScalarMode m(w, false);
            write32(w, i->o[0], m.out(f_bits(std::fma(bits_f(m.in(read32(w, i->o[1]))), bits_f(m.in(read32(w, i->o[2]))), bits_f(m.in(read32(w, i->o[0])))))));
            return i + 1;
        }, {Type::f32, Type::f32, Type::f32}),
        salu("s_fmamk_f32", [](Wave &w, const Inst *i) -> const Inst * {
            ScalarMode m(w, false);
            write32(w, i->o[0], m.out(f_bits(std::fma(bits_f(m.in(read32(w, i->o[1]))), bits_f(m.in(read32(w, i->o[2]))), bits_f(m.in(read32(w, i->o[3])))))));
            return i + 1;
        }, {Type::f32, Type::f32, Type::f32, Type::f32}),
        salu("s_fmaak_f32", [](Wave &w, const Inst *i) -> const Inst * {
            ScalarMode m(w, false);
            write32(w, i->o[0], m.out(f_bits(std::fma(bits_f(m.in(read32(w, i->o[1]))), bits_f(m.in(read32(w, i->o[2]))), bits_f(m.in(read32(w, i->o[3])))))));
            return i + 1;
        }, {Type::f32, Type::f32, Type::f32, Type::f32}),
        compare_float<false>("s_cmp_lt_f32", [](u32 a, u32 b) { return bits_f(a) < bits_f(b); }),
        compare_float<false>("s_cmp_eq_f32", [](u32 a, u32 b) { return bits_f(a) == bits_f(b); }),
        compare_float<false>("s_cmp_le_f32", [](u32 a, u32 b) { return bits_f(a) <= bits_f(b); }),
        compare_float<false>("s_cmp_gt_f32", [](u32 a, u32 b) { return bits_f(a) > bits_f(b); }),
        compare_float<false>("s_cmp_lg_f32", [](u32 a, u32 b) { return bits_f(a) < bits_f(b) || bits_f(a) > bits_f(b); }),
        compare_float<false>("s_cmp_ge_f32", [](u32 a, u32 b) { return bits_f(a) >= bits_f(b); }),
        compare_float<false>("s_cmp_o_f32", [](u32 a, u32 b) { return bits_f(a) == bits_f(a) && bits_f(b) == bits_f(b); }),
        compare_float<false>("s_cmp_u_f32", [](u32 a, u32 b) { return bits_f(a) != bits_f(a) || bits_f(b) != bits_f(b); }),
        compare_float<false>("s_cmp_nge_f32", [](u32 a, u32 b) { return !(bits_f(a) >= bits_f(b)); }),
        compare_float<false>("s_cmp_nlg_f32", [](u32 a, u32 b) { return !(bits_f(a) < bits_f(b) || bits_f(a) > bits_f(b)); }),
        compare_float<false>("s_cmp_ngt_f32", [](u32 a, u32 b) { return !(bits_f(a) > bits_f(b)); }),
        compare_float<false>("s_cmp_nle_f32", [](u32 a, u32 b) { return !(bits_f(a) <= bits_f(b)); }),
        compare_float<false>("s_cmp_neq_f32", [](u32 a, u32 b) { return !(bits_f(a) == bits_f(b)); }),
        compare_float<false>("s_cmp_nlt_f32", [](u32 a, u32 b) { return !(bits_f(a) < bits_f(b)); }),
    });
    // Constants of the floating-point rows are floats of their width.
    for (Op &row : t) {
        std::string_view name(row.name);
        auto ends = [&](std::string_view suffix) { return name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix; };
        if (ends("_f16")) for (Type &type : row.types) type = Type::f16;
        else if (ends("_f32")) for (Type &type : row.types) type = Type::f32;
    }
    return t;
}

} // namespace hipemu
