// gfx950's conversions between f32, f16, bf16 and the scaled (microscaling) formats. The scale is the exponent of an f32
// operand: narrow values stand for value * 2^(exponent - 127). Source: CDNA4 ISA; formats: OCP Microscaling Formats 1.0.
#include <deque>

#include "float8.h"

namespace hipemu {

namespace {

std::deque<std::string> names;
const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

enum class Narrow : u8 { fp8, bf8, fp6, bf6, fp4 };
enum class Plain : u8 { f32, f16, bf16 };

constexpr u32 bits_of(Narrow n) { return n == Narrow::fp4 ? 4 : n == Narrow::fp6 || n == Narrow::bf6 ? 6 : 8; }
constexpr u32 bits_of(Plain p) { return p == Plain::f32 ? 32 : 16; }

float decode(Narrow n, u32 v) {
    if (n == Narrow::fp8) return decode_f8<4, 3>(v, false);
    if (n == Narrow::bf8) return decode_f8<5, 2>(v, false);
    int M = n == Narrow::fp6 ? 3 : n == Narrow::bf6 ? 2 : 1, X = n == Narrow::bf6 ? 3 : 2, bias = n == Narrow::bf6 ? 3 : 1;
    int exponent = int(v >> M & ((1u << X) - 1)), mantissa = int(v & ((1u << M) - 1));
    float r = exponent ? std::ldexp(float(mantissa + (1 << M)), exponent - bias - M) : std::ldexp(float(mantissa), 1 - bias - M);
    return v >> (M + X) & 1 ? -r : r;
}

// random < 0: nearest even; otherwise stochastic. Formats without infinity saturate.
u32 encode(Narrow n, float x, bool saturate, i64 random) {
    if (n == Narrow::fp8) return encode_f8<4, 3>(x, false, saturate, random);
    if (n == Narrow::bf8) return encode_f8<5, 2>(x, false, saturate, random);
    int M = n == Narrow::fp6 ? 3 : n == Narrow::bf6 ? 2 : 1, bias = n == Narrow::bf6 ? 3 : 1, X = n == Narrow::bf6 ? 3 : 2;
    float largest = n == Narrow::fp6 ? 7.5f : n == Narrow::bf6 ? 28.0f : 6.0f;
    u32 sign = std::bit_cast<u32>(x) >> 31 << (M + X), most = (1u << (M + X)) - 1;
    double a = std::fabs(double(x));
    if (!(a <= double(largest) * 2)) return sign | most; // NaN too
    int e = 0;
    if (a > 0) (void)std::frexp(a, &e);
    int exponent = std::max(e - 1, 1 - bias);
    double scaled = std::ldexp(a, M - exponent);
    double whole = random >= 0 ? std::floor(scaled + double(random) / 4294967296.0) : round_even(scaled);
    double value = std::ldexp(whole, exponent - M);
    if (value > largest) return sign | most;
    if (value == 0) return sign;
    (void)std::frexp(value, &e);
    int biased = e - 1 + bias;
    if (biased <= 0) return sign | u32(std::ldexp(value, M + bias - 1));
    return sign | u32(biased) << M | (u32(std::ldexp(value, M - (e - 1))) & ((1u << M) - 1));
}

u32 value_at(const Wave &w, const Operand &o, int lane, u32 row = 0) {
    if (o.kind == Kind::vgpr) return w.v[(o.index + row) & 511].lane[lane];
    return row == 0 ? read32(w, o) : u32(read64(w, o) >> 32);
}
u32 field(const Wave &w, const Operand &o, int lane, u32 at, u32 bits) {
    u64 v = value_at(w, o, lane, at / 32);
    if (at % 32 + bits > 32) v |= u64(value_at(w, o, lane, at / 32 + 1)) << 32;
    return u32(v >> (at % 32)) & (bits == 32 ? ~0u : (1u << bits) - 1);
}
float plain(Plain p, u32 v) { return p == Plain::f32 ? std::bit_cast<float>(v) : p == Plain::f16 ? half_to_float(v) : bf16_to_float(v); }
u32 pack(Plain p, float f) { return p == Plain::f32 ? std::bit_cast<u32>(f) : p == Plain::f16 ? float_to_half(f) : float_to_bf16(f); }
int scale_exponent(u32 v) { return int(v >> 23 & 255) - 127; }
u32 prng(u32 a) { return a << 1 ^ (a >> 31 ? 197u : 0u); }

struct Row32 {
    u32 word[32] = {};
    void put(u32 at, u32 bits, u32 v) {
        for (u32 b = 0; b < bits; ++b)
            if (v >> b & 1) word[(at + b) / 32] |= 1u << ((at + b) % 32);
    }
};

// How a row converts, packed into Op::info.
struct How {
    Narrow narrow;
    Plain other;
    bool to_narrow, stochastic;
    u32 count;       // elements; 16: two sources of 16, interleaved
    u32 info() const { return u32(narrow) | u32(other) << 4 | u32(to_narrow) << 8 | u32(stochastic) << 9 | count << 16; }
    static How of(u32 i) { return {Narrow(i & 15), Plain(i >> 4 & 15), bool(i >> 8 & 1), bool(i >> 9 & 1), i >> 16}; }
};

const Inst *convert(Wave &w, const Inst *i) {
    How how = How::of(i->op->info);
    u64 exec = w.exec();
    u32 nb = bits_of(how.narrow), pb = bits_of(how.other);
    bool interleaved = how.count == 16, whole = how.count >= 16; // whole registers, nothing preserved
    u32 count = interleaved ? 32 : how.count;
    // Sources before the scale: values (one operand, or two for f32 pairs and 2xpk16), then the random number.
    u32 n_values = how.to_narrow && ((how.count == 2 && how.other == Plain::f32 && !how.stochastic) || interleaved) ? 2 : 1;
    const Operand *values = i->o + 1, &random = i->o[1 + n_values], &scale = i->o[1 + n_values + (how.stochastic ? 1 : 0)];
    bool saturate = w.mode & kFp16Overflow;
    u32 high = i->op_sel >> (i->n - 1) & 1; // last op_sel bit: the destination
    u32 rows = (count * (how.to_narrow ? nb : pb) + 31) / 32;
    for_lanes(exec, [&](int l) {
        int e = scale_exponent(value_at(w, scale, l));
        u32 noise = how.stochastic ? value_at(w, random, l) : 0;
        Row32 out;
        for (u32 k = 0; k < count; ++k) {
            if (how.to_narrow) {
                u32 raw;
                if (interleaved) raw = field(w, values[k & 1], l, k / 2 * pb, pb);
                else if (n_values == 2) raw = value_at(w, values[k], l);
                else raw = field(w, values[0], l, k * pb, pb);
                float x = plain(how.other, raw);
                if (!whole && n_values == 2) {
                    if (values[k].modifiers & kAbs) x = std::fabs(x);
                    if (values[k].modifiers & kNeg) x = -x;
                }
                out.put(k * nb, nb, encode(how.narrow, std::ldexp(x, -e), saturate, how.stochastic ? i64(noise) : -1));
                noise = prng(noise);
            } else {
                // A byte or half word of the source is chosen by op_sel.
                u32 at = whole ? 0 : nb * count == 16 ? (i->op_sel & 1) * 16 : (how.count == 1 || nb == 4) ? ((i->op_sel & 1) | (i->op_sel >> 1 & 1) << 1) * 8 : 0;
                float x = std::ldexp(decode(how.narrow, field(w, values[0], l, at + k * nb, nb)), e);
                out.put(k * pb, pb, pack(how.other, x));
            }
        }
        u32 *d = w.v[i->o[0].index].lane;
        if (whole || count * (how.to_narrow ? nb : pb) >= 32) {
            for (u32 r = 0; r < rows; ++r) d[l + r * kLanes] = out.word[r];
            return;
        }
        u32 width = count * (how.to_narrow ? nb : pb);
        u32 byte = width == 8 ? (i->op_sel >> (i->n - 2) & 3) : high * 2; // 8 bits: the last two op_sel bits count bytes
        u32 mask = ((1u << width) - 1) << (8 * byte);
        d[l] = (d[l] & ~mask) | (out.word[0] << (8 * byte) & mask);
    });
    return i + 1;
}

} // namespace

Table scale_opcodes() {
    Table t;
    const std::pair<const char *, Narrow> narrow[] = {{"fp8", Narrow::fp8}, {"bf8", Narrow::bf8}, {"fp6", Narrow::fp6}, {"bf6", Narrow::bf6}, {"fp4", Narrow::fp4}};
    const std::pair<const char *, Plain> plains[] = {{"f32", Plain::f32}, {"f16", Plain::f16}, {"bf16", Plain::bf16}};
    auto add = [&](std::string name, How how) {
        t.push_back({intern("v_cvt_scalef32_" + name), Unit::valu, convert, nullptr, {}, kOwnModifiers, "overflow by MODE.FP16_OVFL", how.info()});
    };
    for (auto [n, kind] : narrow)
        for (auto [p, other] : plains) {
            std::string to = std::string(n) + "_" + p, from = std::string(p) + "_" + n;
            if (kind == Narrow::fp6 || kind == Narrow::bf6) {
                add("pk32_" + from, {kind, other, false, false, 32});
                add("sr_pk32_" + to, {kind, other, true, true, 32});
                if (other == Plain::f32) add("2xpk16_" + to, {kind, other, true, false, 16});
                else add("pk32_" + to, {kind, other, true, false, 32});
                continue;
            }
            add("pk_" + to, {kind, other, true, false, 2});
            add("pk_" + from, {kind, other, false, false, 2});
            if (kind == Narrow::fp4) {
                add("sr_pk_" + to, {kind, other, true, true, 2});
            } else {
                add("sr_" + to, {kind, other, true, true, 1});
                if (other != Plain::bf16) add(from, {kind, other, false, false, 1});
            }
        }
    return t;
}

} // namespace hipemu
