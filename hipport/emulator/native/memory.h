// How data moves between lanes and memory; shared by global, flat, scratch, buffer and LDS opcodes.
#pragma once

#include "lanes.h"

namespace hipemu {

// What one lane transfers: 1, 2 or 4 * n bytes, and how it lands in a register.
enum class Form : u8 { u8_, i8_, u16_, i16_, b32_, b64_, b96_, b128_, lo_u8, hi_u8, lo_i8, hi_i8, lo_16, hi_16 };

constexpr u32 form_bytes(Form f) {
    switch (f) {
    case Form::u8_: case Form::i8_: case Form::lo_u8: case Form::hi_u8: case Form::lo_i8: case Form::hi_i8: return 1;
    case Form::u16_: case Form::i16_: case Form::lo_16: case Form::hi_16: return 2;
    case Form::b32_: return 4;
    case Form::b64_: return 8;
    case Form::b96_: return 12;
    case Form::b128_: return 16;
    }
    return 0;
}

template <class T> inline T peek(const u8 *p) { T x; std::memcpy(&x, p, sizeof x); return x; }
template <class T> inline void poke(u8 *p, T x) { std::memcpy(p, &x, sizeof x); }

// `rows`: first destination register.
template <Form F> void load_lanes(u32 *rows, const Access &a) {
    if constexpr (F == Form::b32_) {
        if (a.exec == ~0ull) {
            u64 broken = 0;
            for (int l = 0; l < kLanes; ++l) broken |= u64(a.at[l]) ^ (u64(a.at[0]) + 4 * l);
            if (!broken) { std::memcpy(rows, a.at[0], sizeof(Row)); return; }
            for (int l = 0; l < kLanes; ++l) rows[l] = peek<u32>(a.at[l]);
            return;
        }
    }
    for_lanes(a.exec, [&](int l) {
        const u8 *p = a.at[l];
        u32 &r = rows[l];
        if constexpr (F == Form::u8_) r = *p;
        else if constexpr (F == Form::i8_) r = u32(i32(i8(*p)));
        else if constexpr (F == Form::u16_) r = peek<u16>(p);
        else if constexpr (F == Form::i16_) r = u32(i32(peek<i16>(p)));
        else if constexpr (F == Form::lo_u8) r = (r & 0xffff0000u) | *p;
        else if constexpr (F == Form::hi_u8) r = (r & 0xffff) | u32(*p) << 16;
        else if constexpr (F == Form::lo_i8) r = (r & 0xffff0000u) | u16(i16(i8(*p)));
        else if constexpr (F == Form::hi_i8) r = (r & 0xffff) | u32(u16(i16(i8(*p)))) << 16;
        else if constexpr (F == Form::lo_16) r = (r & 0xffff0000u) | peek<u16>(p);
        else if constexpr (F == Form::hi_16) r = (r & 0xffff) | u32(peek<u16>(p)) << 16;
        else
            for (u32 k = 0; k < form_bytes(F) / 4; ++k) rows[l + k * kLanes] = peek<u32>(p + 4 * k);
    });
}

template <Form F> void store_lanes_to(const u32 *rows, const Access &a) {
    if constexpr (F == Form::b32_) {
        if (a.exec == ~0ull) {
            u64 broken = 0;
            for (int l = 0; l < kLanes; ++l) broken |= u64(a.at[l]) ^ (u64(a.at[0]) + 4 * l);
            if (!broken) { std::memcpy(a.at[0], rows, sizeof(Row)); return; }
        }
    }
    for_lanes(a.exec, [&](int l) {
        u8 *p = a.at[l];
        u32 r = rows[l];
        if constexpr (F == Form::u8_) *p = u8(r);
        else if constexpr (F == Form::hi_u8) *p = u8(r >> 16);
        else if constexpr (F == Form::u16_) poke<u16>(p, u16(r));
        else if constexpr (F == Form::hi_16) poke<u16>(p, u16(r >> 16));
        else
            for (u32 k = 0; k < form_bytes(F) / 4; ++k) poke<u32>(p + 4 * k, rows[l + k * kLanes]);
    });
}

// ---- atomics --------------------------------------------------------------------------------------------------------

template <class T, class F> inline T read_modify_write(u8 *p, F f) {
    using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
    auto *word = reinterpret_cast<Bits *>(p);
    Bits old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (true) {
        Bits now = std::bit_cast<Bits>(f(std::bit_cast<T>(old)));
        if (__atomic_compare_exchange_n(word, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return std::bit_cast<T>(old);
    }
}

// An atomic on every active lane, in lane order. `data`: operand rows; `out`: old values, or nullptr.
using Atomic = void (*)(Wave &w, const Inst *i, const Access &a, const u32 *data, u32 *out);

struct AtomicRow {
    const char *name;    // after "atomic_" in gfx9's names
    const char *modern;  // gfx11 and gfx12 suffix
    const char *ds;      // LDS name, "" when there is none
    Atomic run;
    u32 bytes;
    bool is_float;
};
const std::vector<AtomicRow> &atomic_rows();

} // namespace hipemu
