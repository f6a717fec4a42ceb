// v_cmp_* and v_cmpx_*: one bit per lane. Source: CDNA3 and RDNA3 instruction set manuals, VOPC.
#include <deque>
#include <string>

#include "lanes.h"

namespace hipemu {

namespace {

std::deque<std::string> names;

template <class T, class F> void compare(LaneArgs &x) {
    Row r;
    const u32 *__restrict a = x.src[0], *__restrict b = x.src[1];
    for (int l = 0; l < kLanes; ++l) r.lane[l] = F{}(T::load(a, l), T::load(b, l)) ? ~0u : 0;
    x.mask_out = mask_of(r.lane);
}

void row(Table &t, const std::string &suffix, Lane lane, Type a, Type b, u32 more = 0) {
    for (const char *prefix : {"v_cmp_", "v_cmpx_"}) {
        names.push_back(prefix + suffix);
        u32 flags = more | (prefix[5] == 'x' ? kCompareExec | kWritesExec : 0);
        t.push_back(lanes(names.back().c_str(), lane, {Type::mask, a, b}, flags));
    }
}

template <class T, class F> void rows(Table &t, const char *condition, const char *type, F) {
    row(t, std::string(condition) + "_" + type, compare<T, F>, T::type, T::type);
}

template <class T> void float_rows(Table &t, const char *type) {
    using V = typename T::value;
    rows<T>(t, "f", type, [](V, V) { return false; });
    rows<T>(t, "lt", type, [](V a, V b) { return a < b; });
    rows<T>(t, "eq", type, [](V a, V b) { return a == b; });
    rows<T>(t, "le", type, [](V a, V b) { return a <= b; });
    rows<T>(t, "gt", type, [](V a, V b) { return a > b; });
    rows<T>(t, "lg", type, [](V a, V b) { return (a < b) | (a > b); });
    rows<T>(t, "ge", type, [](V a, V b) { return a >= b; });
    rows<T>(t, "o", type, [](V a, V b) { return (a == a) & (b == b); });
    rows<T>(t, "u", type, [](V a, V b) { return (a != a) | (b != b); });
    rows<T>(t, "nge", type, [](V a, V b) { return !(a >= b); });
    rows<T>(t, "nlg", type, [](V a, V b) { return !((a < b) | (a > b)); });
    rows<T>(t, "ngt", type, [](V a, V b) { return !(a > b); });
    rows<T>(t, "nle", type, [](V a, V b) { return !(a <= b); });
    rows<T>(t, "neq", type, [](V a, V b) { return !(a == b); });
    rows<T>(t, "nlt", type, [](V a, V b) { return !(a < b); });
    rows<T>(t, "tru", type, [](V, V) { return true; });
    rows<T>(t, "t", type, [](V, V) { return true; });
}

template <class T> void integer_rows(Table &t, const char *type) {
    using V = typename T::value;
    rows<T>(t, "f", type, [](V, V) { return false; });
    rows<T>(t, "lt", type, [](V a, V b) { return a < b; });
    rows<T>(t, "eq", type, [](V a, V b) { return a == b; });
    rows<T>(t, "le", type, [](V a, V b) { return a <= b; });
    rows<T>(t, "gt", type, [](V a, V b) { return a > b; });
    rows<T>(t, "ne", type, [](V a, V b) { return a != b; });
    rows<T>(t, "ge", type, [](V a, V b) { return a >= b; });
    rows<T>(t, "t", type, [](V, V) { return true; });
}

// Bit of the class mask that the value selects: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
u32 class_bit(u64 bits, int exponent_bits, int mantissa_bits) {
    u64 mantissa = bits & ((1ull << mantissa_bits) - 1);
    u64 exponent = bits >> mantissa_bits & ((1ull << exponent_bits) - 1);
    bool negative = bits >> (exponent_bits + mantissa_bits) & 1;
    if (exponent == (1ull << exponent_bits) - 1) {
        if (mantissa) return mantissa >> (mantissa_bits - 1) ? 1 : 0;
        return negative ? 2 : 9;
    }
    if (exponent) return negative ? 3 : 8;
    if (mantissa) return negative ? 4 : 7;
    return negative ? 5 : 6;
}

template <class T, int E, int M> void class_lanes(LaneArgs &x) {
    u64 r = 0;
    for (int l = 0; l < kLanes; ++l)
        r |= u64(x.src[1][l] >> class_bit(u64(T::load(x.src[0], l)), E, M) & 1) << l;
    x.mask_out = r;
}

} // namespace

Table compare_opcodes() {
    Table t;
    float_rows<f16>(t, "f16");
    float_rows<f32>(t, "f32");
    float_rows<f64>(t, "f64");
    integer_rows<I16>(t, "i16");
    integer_rows<U16>(t, "u16");
    integer_rows<I32>(t, "i32");
    integer_rows<U32>(t, "u32");
    integer_rows<I64>(t, "i64");
    integer_rows<U64>(t, "u64");
    row(t, "class_f16", class_lanes<b16, 5, 10>, Type::f16, Type::b32, kKeepsDenormals);
    row(t, "class_f32", class_lanes<b32, 8, 23>, Type::f32, Type::b32, kKeepsDenormals);
    row(t, "class_f64", class_lanes<b64, 11, 52>, Type::f64, Type::b32, kKeepsDenormals);
    return t;
}

} // namespace hipemu
