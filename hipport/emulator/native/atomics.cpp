// Atomic operations, shared by global, flat, buffer and LDS opcodes. Source: CDNA3 and RDNA4 instruction set manuals.
#include "float_math.h"
#include "memory.h"

namespace hipemu {

namespace {

void aligned(const Inst *i, const u8 *p, u32 bytes, int lane) {
    if (reinterpret_cast<u64>(p) % bytes)
        fault(HIPEMU_MEMORY_FAULT, "HP863", "misaligned atomic access in '" + std::string(i->text) + "'", lane, reinterpret_cast<u64>(p));
}

template <class T, class F> void each(Wave &w, const Inst *i, const Access &a, const u32 *data, u32 *out) {
    using L = std::conditional_t<sizeof(T) == 8, Pair<T, Type::b64>, Word<T, Type::b32>>;
    for_lanes(a.exec, [&](int l) {
        aligned(i, a.at[l], sizeof(T), l);
        T operand = L::load(data, l);
        T now{};
        T old = read_modify_write<T>(a.at[l], [&](T x) { return now = T(F{}(x, operand)); });
        w.stores += std::memcmp(&now, &old, sizeof old) != 0;
        if (out) L::store(out, l, old);
    });
}
// Compare and swap: data holds the new value, then the expected one.
template <class T> void compare_swap(Wave &w, const Inst *i, const Access &a, const u32 *data, u32 *out) {
    using L = std::conditional_t<sizeof(T) == 8, Pair<T, Type::b64>, Word<T, Type::b32>>;
    for_lanes(a.exec, [&](int l) {
        aligned(i, a.at[l], sizeof(T), l);
        T value = L::load(data, l), expected = L::load(data + sizeof(T) / 4 * kLanes, l);
        T old = read_modify_write<T>(a.at[l], [&](T x) { return x == expected ? value : x; });
        w.stores += old == expected && value != expected;
        if (out) L::store(out, l, old);
    });
}

#define F(expr) decltype([]([[maybe_unused]] auto m, [[maybe_unused]] auto d) { return (expr); })

u32 pk_add_half(u32 m, u32 d) {
    u32 low = float_to_half(half_to_float(m & 0xffff) + half_to_float(d & 0xffff));
    u32 high = float_to_half(half_to_float(m >> 16) + half_to_float(d >> 16));
    return low | high << 16;
}
u32 pk_add_bf16(u32 m, u32 d) {
    u32 low = float_to_bf16(bf16_to_float(m & 0xffff) + bf16_to_float(d & 0xffff));
    u32 high = float_to_bf16(bf16_to_float(m >> 16) + bf16_to_float(d >> 16));
    return low | high << 16;
}

} // namespace

const std::vector<AtomicRow> &atomic_rows() {
    static const std::vector<AtomicRow> rows = {
        {"swap", "swap_b32", "wrxchg", each<u32, F(d)>, 4, false},
        {"cmpswap", "cmpswap_b32", "", compare_swap<u32>, 4, false},
        {"add", "add_u32", "add_u32", each<u32, F(m + d)>, 4, false},
        {"sub", "sub_u32", "sub_u32", each<u32, F(m - d)>, 4, false},
        {"rsub", "rsub_u32", "rsub_u32", each<u32, F(d - m)>, 4, false},
        {"smin", "min_i32", "min_i32", each<i32, F(d < m ? d : m)>, 4, false},
        {"umin", "min_u32", "min_u32", each<u32, F(d < m ? d : m)>, 4, false},
        {"smax", "max_i32", "max_i32", each<i32, F(d > m ? d : m)>, 4, false},
        {"umax", "max_u32", "max_u32", each<u32, F(d > m ? d : m)>, 4, false},
        {"and", "and_b32", "and_b32", each<u32, F(m & d)>, 4, false},
        {"or", "or_b32", "or_b32", each<u32, F(m | d)>, 4, false},
        {"xor", "xor_b32", "xor_b32", each<u32, F(m ^ d)>, 4, false},
        {"inc", "inc_u32", "inc_u32", each<u32, F(m >= d ? 0 : m + 1)>, 4, false},
        {"dec", "dec_u32", "dec_u32", each<u32, F(m == 0 || m > d ? d : m - 1)>, 4, false},
        {"csub", "sub_clamp_u32", "sub_clamp_u32", each<u32, F(m < d ? 0 : m - d)>, 4, false},
        {"csub_u32", "csub_u32", "", each<u32, F(m < d ? 0 : m - d)>, 4, false},
        {"cond_sub", "cond_sub_u32", "cond_sub_u32", each<u32, F(m >= d ? m - d : m)>, 4, false},
        {"add_f32", "add_f32", "add_f32", each<float, F(m + d)>, 4, true},
        {"fmin", "min_f32", "min_f32", each<float, F(fmin_ieee(true, m, d))>, 4, true},
        {"fmax", "max_f32", "max_f32", each<float, F(fmax_ieee(true, m, d))>, 4, true},
        {"min_num_f32", "min_num_f32", "min_num_f32", each<float, F(fmin_num(d, m))>, 4, true},
        {"max_num_f32", "max_num_f32", "max_num_f32", each<float, F(fmax_num(d, m))>, 4, true},
        {"pk_add_f16", "pk_add_f16", "pk_add_f16", each<u32, F(pk_add_half(m, d))>, 4, true},
        {"pk_add_bf16", "pk_add_bf16", "pk_add_bf16", each<u32, F(pk_add_bf16(m, d))>, 4, true},
        {"swap_x2", "swap_b64", "wrxchg64", each<u64, F(d)>, 8, false},
        {"cmpswap_x2", "cmpswap_b64", "", compare_swap<u64>, 8, false},
        {"add_x2", "add_u64", "add_u64", each<u64, F(m + d)>, 8, false},
        {"sub_x2", "sub_u64", "sub_u64", each<u64, F(m - d)>, 8, false},
        {"rsub_x2", "rsub_u64", "rsub_u64", each<u64, F(d - m)>, 8, false},
        {"smin_x2", "min_i64", "min_i64", each<i64, F(d < m ? d : m)>, 8, false},
        {"umin_x2", "min_u64", "min_u64", each<u64, F(d < m ? d : m)>, 8, false},
        {"smax_x2", "max_i64", "max_i64", each<i64, F(d > m ? d : m)>, 8, false},
        {"umax_x2", "max_u64", "max_u64", each<u64, F(d > m ? d : m)>, 8, false},
        {"and_x2", "and_b64", "and_b64", each<u64, F(m & d)>, 8, false},
        {"or_x2", "or_b64", "or_b64", each<u64, F(m | d)>, 8, false},
        {"xor_x2", "xor_b64", "xor_b64", each<u64, F(m ^ d)>, 8, false},
        {"inc_x2", "inc_u64", "inc_u64", each<u64, F(m >= d ? 0 : m + 1)>, 8, false},
        {"dec_x2", "dec_u64", "dec_u64", each<u64, F(m == 0 || m > d ? d : m - 1)>, 8, false},
        {"add_f64", "add_f64", "add_f64", each<double, F(m + d)>, 8, true},
        {"min_f64", "min_f64", "min_f64", each<double, F(fmin_ieee(true, m, d))>, 8, true},
        {"min_num_f64", "min_num_f64", "min_num_f64", each<double, F(fmin_num(d, m))>, 8, true},
        {"max_num_f64", "max_num_f64", "max_num_f64", each<double, F(fmax_num(d, m))>, 8, true},
        {"max_f64", "max_f64", "max_f64", each<double, F(fmax_ieee(true, m, d))>, 8, true},
    };
    return rows;
}

} // namespace hipemu
