// Texel formats of image and buffer resources, and how a texel becomes registers. Sources: RDNA3 and RDNA4 instruction set
// manuals, "Data formats"; "Vega" instruction set manual for gfx9's pair of fields.
#pragma once

#include <algorithm>
#include <cmath>

#include "memory.h"

namespace hipemu {

enum class Numeric : u8 { unorm, snorm, uscaled, sscaled, uint, sint, real, srgb };

struct Format {
    u8 channels = 0; // 0: not a format that is implemented
    u8 bits = 0;     // of one channel
    Numeric numeric = Numeric::unorm;
    u32 bytes() const { return u32(channels) * bits / 8; }
    bool integer() const { return numeric == Numeric::uint || numeric == Numeric::sint; }
    u32 one() const { return integer() ? 1 : 0x3f800000; }
};

// gfx11 and gfx12: one number for layout and interpretation; images and buffers agree up to 63.
inline Format unified_format(u32 n) {
    struct Run { u8 first, channels, bits; const char *numerics; }; // u/s: norm, U/S: scaled, I/J: integer, f: float
    static const Run runs[] = {{1, 1, 8, "usUSIJ"},   {7, 1, 16, "usUSIJf"}, {14, 2, 8, "usUSIJ"},   {20, 1, 32, "IJf"},
                               {23, 2, 16, "usUSIJf"}, {42, 4, 8, "usUSIJ"},  {48, 2, 32, "IJf"},    {51, 4, 16, "usUSIJf"},
                               {58, 3, 32, "IJf"},     {61, 4, 32, "IJf"}};
    for (const Run &r : runs) {
        u32 k = n - r.first;
        if (n < r.first || k >= std::strlen(r.numerics)) continue;
        static const char *order = "usUSIJf";
        return {r.channels, r.bits, Numeric(std::strchr(order, r.numerics[k]) - order)};
    }
    if (n >= 64 && n <= 66) return {u8(n == 66 ? 4 : n - 63), 8, Numeric::srgb};
    return {};
}

// gfx9: layout and interpretation apart.
inline Format split_format(u32 data, u32 numeric) {
    static const u8 layouts[][2] = {{0, 0}, {1, 8}, {1, 16}, {2, 8}, {1, 32}, {2, 16}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {4, 8}, {2, 32}, {4, 16}, {3, 32}, {4, 32}};
    if (data >= std::size(layouts) || !layouts[data][0]) return {};
    u8 channels = layouts[data][0], bits = layouts[data][1];
    if (numeric == 9) return bits == 8 ? Format{channels, bits, Numeric::srgb} : Format{};
    if (numeric == 7) return bits == 8 ? Format{} : Format{channels, bits, Numeric::real};
    if (numeric > 5 || (bits == 32 && numeric < 4)) return {};
    return {channels, bits, Numeric(numeric)};
}

inline float srgb_to_linear(float c) { return c <= 0.04045f ? c / 12.92f : float(std::pow((double(c) + 0.055) / 1.055, 2.4)); }

// The channels that memory holds, as registers would: bits of a float, or an integer. The others become 0.
inline void decode_texel(const Format &f, const u8 *p, u32 *out) {
    for (u32 c = 0; c < 4; ++c) {
        if (c >= f.channels) { out[c] = 0; continue; }
        u32 raw = f.bits == 8 ? p[c] : f.bits == 16 ? peek<u16>(p + 2 * c) : peek<u32>(p + 4 * c);
        i32 value = f.bits == 8 ? i8(raw) : f.bits == 16 ? i16(raw) : i32(raw);
        float top = f.bits == 8 ? 255.0f : 65535.0f, x = 0;
        switch (f.numeric) {
        case Numeric::uint: out[c] = raw; continue;
        case Numeric::sint: out[c] = u32(value); continue;
        case Numeric::unorm: x = float(raw) / top; break;
        case Numeric::snorm: x = std::max(float(value) / (f.bits == 8 ? 127.0f : 32767.0f), -1.0f); break;
        case Numeric::uscaled: x = float(raw); break;
        case Numeric::sscaled: x = float(value); break;
        case Numeric::srgb: x = c == 3 ? float(raw) / top : srgb_to_linear(float(raw) / top); break;
        case Numeric::real:
            if (f.bits == 32) { out[c] = raw; continue; }
            x = half_to_float(raw);
            break;
        }
        out[c] = std::bit_cast<u32>(x);
    }
}

// The other way round. Integers saturate, normalised values are clamped and rounded to nearest even.
inline void encode_texel(const Format &f, const u32 *in, u8 *p) {
    for (u32 c = 0; c < f.channels; ++c) {
        float x = std::bit_cast<float>(in[c]);
        auto scaled = [](float v, float low, float high, float scale) { return v != v ? 0.0f : std::nearbyintf(std::clamp(v, low, high) * scale); };
        u32 raw = in[c];
        float top = f.bits == 8 ? 255.0f : 65535.0f, half = f.bits == 8 ? 127.0f : 32767.0f;
        switch (f.numeric) {
        case Numeric::uint: if (f.bits < 32) raw = std::min(raw, u32(top)); break;
        case Numeric::sint: if (f.bits < 32) raw = u32(std::clamp(i32(raw), -i32(half) - 1, i32(half))); break;
        case Numeric::unorm: case Numeric::srgb: raw = u32(scaled(x, 0, 1, top)); break;
        case Numeric::snorm: raw = u32(i32(scaled(x, -1, 1, half))); break;
        case Numeric::uscaled: raw = u32(scaled(x, 0, top, 1)); break;
        case Numeric::sscaled: raw = u32(i32(scaled(x, -half - 1, half, 1))); break;
        case Numeric::real: if (f.bits == 16) raw = float_to_half(x); break;
        }
        if (f.bits == 8) p[c] = u8(raw);
        else if (f.bits == 16) poke<u16>(p + 2 * c, u16(raw));
        else poke<u32>(p + 4 * c, raw);
    }
}

// The component selection of a resource: 0, 1, or a channel of memory.
inline void select_components(u32 selection, const Format &f, const u32 *texel, u32 *out) {
    for (u32 c = 0; c < 4; ++c) {
        u32 s = selection >> (3 * c) & 7;
        out[c] = s >= 4 ? texel[s - 4] : s == 1 ? f.one() : 0;
    }
}

// Results of a load to consecutive registers, as 32 or, packed in pairs, 16 bits each. `count`: components.
inline void write_components(u32 *rows, int lane, const u32 *values, u32 count, bool half, bool integer) {
    if (!half) {
        for (u32 k = 0; k < count; ++k) rows[k * kLanes + u32(lane)] = values[k];
        return;
    }
    auto narrow = [&](u32 x) { return integer ? x & 0xffff : float_to_half(std::bit_cast<float>(x)); };
    for (u32 k = 0; k < count; k += 2)
        rows[k / 2 * kLanes + u32(lane)] = narrow(values[k]) | (k + 1 < count ? narrow(values[k + 1]) << 16 : 0);
}
inline void read_components(const u32 *rows, int lane, u32 *values, u32 count, bool half, bool integer, bool sign) {
    for (u32 k = 0; k < count; ++k) {
        if (!half) { values[k] = rows[k * kLanes + u32(lane)]; continue; }
        u32 x = rows[k / 2 * kLanes + u32(lane)] >> (k % 2 * 16) & 0xffff;
        values[k] = !integer ? std::bit_cast<u32>(half_to_float(x)) : sign ? u32(i32(i16(x))) : x;
    }
}

} // namespace hipemu
