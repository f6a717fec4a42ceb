// Image opcodes: loads, stores, atomics, filtered samples and gathers through 256-bit image resources and 128-bit samplers, as
// HIP's texture and surface functions use them. Sources: "Vega", RDNA3 and RDNA4 instruction set manuals, "Image resource
// definition" and "Image sampler definition".
//
// Images are linear in memory and have one level. Coordinates are rounded to 8 bits of fraction, so the weights of a linear
// filter are multiples of 1/256; the weighted sum is exact and rounded once.
#include <deque>

#include "image_format.h"

namespace hipemu {

namespace {

std::deque<std::string> names;
const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

enum Variant : u32 { kBias = 1, kDerivatives = 2, kHalfDerivatives = 4, kTexelOffset = 8, kGather = 16, kMip = 32, kRaw = 64 };

// The type field of a resource, and the dim modifier.
enum ImageType : u8 { k1D = 8, k2D, k3D, kCube, k1DArray, k2DArray };
constexpr u32 coordinates_of(u8 type) { return type == k1D ? 1 : type == k2D || type == k1DArray ? 2 : 3; }
constexpr u32 dimensions_of(u8 type) { return type == k1D || type == k1DArray ? 1 : type == k3D ? 3 : 2; }
constexpr bool is_array(u8 type) { return type == k1DArray || type == k2DArray; }

struct Image {
    u64 base;
    Format format;
    u32 width, height, slices, first_slice; // slices: depth or layers
    u64 pitch, slice_pitch;                 // bytes
    u32 selection;                          // 3 bits for each component
    u8 type;
};

Image read_image(const Wave &w, const Inst *i) {
    const u32 *r = &w.s[i->o[2].index];
    Generation generation = w.group->target->generation;
    Image m{};
    m.base = (u64(r[0]) | u64(r[1] & 0xff) << 32) << 8;
    m.type = u8(r[3] >> 28);
    m.selection = r[3] & 0xfff;
    u32 base_level, last_level, pitch;
    if (generation < Generation::gfx11) {
        m.format = split_format(r[1] >> 20 & 63, r[1] >> 26 & 15);
        m.width = (r[2] & 0x3fff) + 1;
        m.height = (r[2] >> 14 & 0x3fff) + 1;
        m.slices = (r[4] & 0x1fff) + 1;
        pitch = (r[4] >> 13 & 0xffff) + 1;
        m.first_slice = r[5] & 0x1fff;
        base_level = r[3] >> 12 & 15;
        last_level = r[3] >> 16 & 15;
    } else {
        bool gfx12 = generation == Generation::gfx12;
        m.format = unified_format(gfx12 ? r[1] >> 17 & 0xff : r[1] >> 20 & 0xff);
        m.width = ((r[1] >> 30) | (r[2] & (gfx12 ? 0x3fff : 0xfff)) << 2) + 1;
        m.height = (r[2] >> 14 & (gfx12 ? 0xffff : 0x3fff)) + 1;
        m.slices = (r[4] & (gfx12 ? 0x3fff : 0x1fff)) + 1;
        pitch = (r[4] & (gfx12 ? 0xffff : 0x3fff)) + 1; // of 1D and 2D images, which have one slice
        m.first_slice = r[4] >> 16 & 0x1fff;
        base_level = gfx12 ? r[1] >> 25 & 31 : r[3] >> 12 & 15;
        last_level = gfx12 ? r[3] >> 15 & 31 : r[3] >> 16 & 15;
        if (m.type != k1D && m.type != k2D) pitch = 0;
    }
    if (m.type < k1D || m.type == kCube || m.type > k2DArray) unimplemented(i, "image resource of type " + std::to_string(m.type) + " (no image, cube or multisampled)");
    if (!m.format.channels) unimplemented(i, "texel format of this image resource");
    if (r[3] >> 20 & 31) unimplemented(i, "image resource that is not linear in memory");
    if (last_level != base_level || base_level) unimplemented(i, "image with several levels");
    if (m.type == k1D || m.type == k1DArray) m.height = 1;
    if (m.type != k3D && !is_array(m.type)) m.slices = 1;
    u32 bytes = m.format.bytes();
    m.pitch = pitch ? u64(pitch) * bytes : (u64(m.width) * bytes + 255) / 256 * 256; // rows of linear images begin at 256 bytes
    m.slice_pitch = m.pitch * m.height;
    // gfx11 and gfx12 name the dimensions in the instruction; gfx9 only tells arrays from others.
    bool agree = generation >= Generation::gfx11 ? i->b == m.type : bool(i->flags & kImageArray) == is_array(m.type);
    if (!agree) unimplemented(i, "image instruction whose dimensions are not those of its resource");
    return m;
}

// ---- addresses ------------------------------------------------------------------------------------------------------

u32 address_word(const Wave &w, const Inst *i, u32 k, int lane) { return w.v[i->dpp[k]].lane[lane]; }

// Coordinate k of the `skip` words behind; 16-bit coordinates are packed in pairs.
float real_coordinate(const Wave &w, const Inst *i, u32 skip, u32 k, int lane) {
    if (!(i->flags & kAddress16)) return std::bit_cast<float>(address_word(w, i, skip + k, lane));
    return half_to_float(address_word(w, i, skip + k / 2, lane) >> (k % 2 * 16) & 0xffff);
}
u32 integer_coordinate(const Wave &w, const Inst *i, u32 k, int lane) {
    if (!(i->flags & kAddress16)) return address_word(w, i, k, lane);
    return address_word(w, i, k / 2, lane) >> (k % 2 * 16) & 0xffff;
}

struct Texels {
    i64 x[kLanes], y[kLanes], z[kLanes]; // z: depth or layer
};

// Where the texels of `exec` lie, for lanes inside of the image; returns the lanes that are outside.
u64 texel_addresses(const Image &m, const Texels &t, u64 exec, u64 *address) {
    u64 outside = 0;
    for (int l = 0; l < kLanes; ++l) {
        bool in = (exec >> l & 1) && u64(t.x[l]) < m.width && u64(t.y[l]) < m.height && u64(t.z[l]) < m.slices;
        if ((exec >> l & 1) && !in) outside |= 1ull << l;
        address[l] = in ? m.base + (m.first_slice + u64(t.z[l])) * m.slice_pitch + u64(t.y[l]) * m.pitch + u64(t.x[l]) * m.format.bytes() : m.base;
    }
    return outside;
}

void read_texels(Wave &w, const Inst *i, const Image &m, const Texels &t, u64 exec, const u32 *border, u32 (*out)[4]) {
    alignas(64) u64 address[kLanes];
    u64 outside = texel_addresses(m, t, exec, address);
    for_lanes(outside, [&](int l) { std::copy(border, border + 4, out[l]); });
    Access a;
    a.exec = exec & ~outside;
    if (!a.exec) return;
    resolve(w, i, Space::global, address, m.format.bytes(), false, a);
    for_lanes(a.exec, [&](int l) { decode_texel(m.format, a.at[l], out[l]); });
}

// ---- loads, stores and atomics -----------------------------------------------------------------------------------------

void integer_position(Wave &w, const Inst *i, const Image &m, u64 exec, Texels &t) {
    u32 dimensions = dimensions_of(m.type), count = coordinates_of(m.type);
    for_lanes(exec, [&](int l) {
        t.x[l] = integer_coordinate(w, i, 0, l);
        t.y[l] = dimensions > 1 ? integer_coordinate(w, i, 1, l) : 0;
        t.z[l] = m.type == k3D || is_array(m.type) ? integer_coordinate(w, i, count - 1, l) : 0;
        if ((i->op->info & kMip) && integer_coordinate(w, i, count, l))
            unimplemented(i, "access to level " + std::to_string(integer_coordinate(w, i, count, l)) + " of an image that has one level (HIP's layered surface functions pass the layer as level)");
    });
}

u32 enabled_components(const u32 *values, u32 mask, u32 *out) {
    u32 count = 0;
    for (u32 c = 0; c < 4; ++c)
        if (mask >> c & 1) out[count++] = values[c];
    return count;
}

const Inst *image_load(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (!exec) return i + 1;
    Image m = read_image(w, i);
    if (i->op->info & kRaw) { // unconverted: dwords of memory
        m.format = {u8(std::max(1u, m.format.bytes() / 4)), u8(std::min(32u, m.format.bytes() * 8)), Numeric::uint};
        m.selection = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    }
    Texels t;
    integer_position(w, i, m, exec, t);
    const u32 nothing[4] = {0, 0, 0, 0};
    u32 texel[kLanes][4], values[4], enabled[4];
    read_texels(w, i, m, t, exec, nothing, texel);
    for_lanes(exec, [&](int l) {
        select_components(m.selection, m.format, texel[l], values);
        u32 count = enabled_components(values, i->a, enabled);
        write_components(w.v[i->o[0].index].lane, l, enabled, count, i->flags & kData16, m.format.integer());
    });
    return i + 1;
}

const Inst *image_store(Wave &w, const Inst *i) {
    Access a;
    a.exec = w.exec();
    if (!a.exec) return i + 1;
    Image m = read_image(w, i);
    Texels t;
    integer_position(w, i, m, a.exec, t);
    alignas(64) u64 address[kLanes];
    a.exec &= ~texel_addresses(m, t, a.exec, address); // stores outside are dropped
    if (!a.exec) return i + 1;
    resolve(w, i, Space::global, address, m.format.bytes(), true, a);
    bool broadcasts = w.group->target->generation == Generation::gfx12; // what stands for components that are not given
    for_lanes(a.exec, [&](int l) {
        u32 given[4], values[4], next = 0;
        u32 count = u32(__builtin_popcount(i->a & 15));
        read_components(w.v[i->o[0].index].lane, l, given, count, i->flags & kData16, m.format.integer(), m.format.numeric == Numeric::sint);
        for (u32 c = 0; c < 4; ++c) values[c] = i->a >> c & 1 ? given[next++] : broadcasts ? given[0] : 0;
        encode_texel(m.format, values, a.at[l]);
    });
    ++w.stores;
    return i + 1;
}

const Inst *image_atomic(Wave &w, const Inst *i) {
    Access a;
    a.exec = w.exec();
    if (!a.exec) return i + 1;
    Image m = read_image(w, i);
    const AtomicRow &row = atomic_rows()[i->op->info >> 8];
    if (m.format.bytes() != row.bytes) unimplemented(i, "image atomic on texels of " + std::to_string(m.format.bytes()) + " bytes");
    Texels t;
    integer_position(w, i, m, a.exec, t);
    alignas(64) u64 address[kLanes];
    a.exec &= ~texel_addresses(m, t, a.exec, address);
    if (!a.exec) return i + 1;
    resolve(w, i, Space::global, address, row.bytes, true, a);
    u32 *data = w.v[i->o[0].index].lane;
    Row out[2];
    row.run(w, i, a, data, out[0].lane);
    if (i->flags & kGlc) {
        store_lanes(data, out[0].lane, a.exec);
        if (row.bytes == 8) store_lanes(data + kLanes, out[1].lane, a.exec);
    }
    return i + 1;
}

const Inst *image_info(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (!exec) return i + 1;
    Image m = read_image(w, i);
    u32 layers = is_array(m.type) || m.type == k3D ? m.slices : 1;
    u32 values[4] = {m.width, m.type == k1DArray ? layers : m.height, layers, 1}, enabled[4];
    for_lanes(exec, [&](int l) {
        u32 level = address_word(w, i, 0, l), none[4] = {0, 0, 0, values[3]};
        u32 count = enabled_components(level ? none : values, i->a, enabled);
        write_components(w.v[i->o[0].index].lane, l, enabled, count, false, true);
    });
    return i + 1;
}

// ---- samples -----------------------------------------------------------------------------------------------------------

struct Sampler {
    u8 clamp[3];
    bool unnormalized, truncates, linear, linear_z;
    u32 border;
};
Sampler read_sampler(const Wave &w, const Inst *i) {
    const u32 *r = &w.s[i->o[3].index];
    Sampler s{};
    for (u32 k = 0; k < 3; ++k) s.clamp[k] = r[0] >> (3 * k) & 7;
    s.unnormalized = (r[0] >> 15 & 1) || (i->flags & kUnnormalized);
    s.truncates = r[0] >> 27 & 1;
    u32 magnify = r[2] >> 20 & 3, minify = r[2] >> 22 & 3, z = r[2] >> 24 & 3;
    if (magnify > 1 || minify != magnify) unimplemented(i, "sampler with different or anisotropic filters");
    s.linear = magnify == 1;
    s.linear_z = z == 2 || (z == 0 && s.linear); // 0: as in the plane
    s.border = r[3] >> 30;
    if (s.border == 3) unimplemented(i, "border colour from memory");
    return s;
}

constexpr i64 kOutside = -1;

// The texel that an index stands for, or kOutside for the border.
i64 addressed(const Inst *i, i64 k, i64 n, u8 mode) {
    auto modulo = [](i64 a, i64 b) { i64 r = a % b; return r < 0 ? r + b : r; };
    switch (mode) {
    case 0: return modulo(k, n);
    case 1: { i64 r = modulo(k, 2 * n); return r < n ? r : 2 * n - 1 - r; }
    case 2: return std::clamp<i64>(k, 0, n - 1);
    case 3: return std::min(k < 0 ? -1 - k : k, n - 1);
    case 6: return k < 0 || k >= n ? kOutside : k;
    default: unimplemented(i, "clamping mode of the sampler");
    }
}

struct Taps {
    i64 index[2];
    u32 weight; // of the second, in 1/256
};
Taps taps_of(const Inst *i, float coordinate, i32 offset, u32 n, const Sampler &s, u8 mode, bool linear, bool gather) {
    double u = double(coordinate) * (s.unnormalized ? 1.0 : double(n));
    u = u != u ? 0 : std::clamp(u, -0x1p40, 0x1p40);
    bool two = linear || gather;
    i64 fixed = i64(std::floor(u * 256 + (s.truncates && !two ? 0 : 0.5))) - (two ? 128 : 0) + i64(offset) * 256;
    i64 first = fixed >> 8;
    return {{addressed(i, first, n, mode), two ? addressed(i, first + 1, n, mode) : 0}, linear ? u32(fixed & 255) : 0};
}

const Inst *image_sample(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (!exec) return i + 1;
    Image m = read_image(w, i);
    Sampler s = read_sampler(w, i);
    u32 info = i->op->info, dimensions = dimensions_of(m.type), n = coordinates_of(m.type);
    bool gather = info & kGather;
    if (gather && dimensions != 2) unimplemented(i, "gather of an image that is not two-dimensional");
    bool linear = s.linear && !m.format.integer(), linear_z = m.type == k3D && s.linear_z && !m.format.integer();
    u32 skip = 0, offsets_at = 0;
    if (info & kTexelOffset) offsets_at = skip++;
    if (info & kBias) ++skip;
    if (info & kDerivatives) skip += 2 * dimensions;
    if (info & kHalfDerivatives) skip += 2 * ((dimensions + 1) / 2);

    Taps taps[3][kLanes];
    const u32 sizes[3] = {m.width, m.height, m.slices};
    for_lanes(exec, [&](int l) {
        u32 packed = info & kTexelOffset ? address_word(w, i, offsets_at, l) : 0;
        for (u32 k = 0; k < 3; ++k) {
            Taps &tap = taps[k][l];
            if (k < dimensions) {
                i32 offset = i32(packed << (26 - 8 * k)) >> 26; // six bits with sign
                tap = taps_of(i, real_coordinate(w, i, skip, k, l), offset, sizes[k], s, s.clamp[k], k == 2 ? linear_z : linear, gather);
            } else if (k == 2 && is_array(m.type)) {
                float layer = std::nearbyintf(real_coordinate(w, i, skip, n - 1, l));
                tap = {{layer >= 0 ? i64(std::min(layer, float(m.slices - 1))) : 0, 0}, 0};
            } else {
                tap = {{0, 0}, 0};
            }
        }
    });

    const u32 one = m.format.one();
    const u32 border[4] = {s.border == 2 ? one : 0, s.border == 2 ? one : 0, s.border == 2 ? one : 0, s.border ? one : 0};
    u32 texel[kLanes][4];
    auto fetch = [&](u32 corner) {
        Texels t;
        for_lanes(exec, [&](int l) {
            t.x[l] = taps[0][l].index[corner & 1];
            t.y[l] = taps[1][l].index[corner >> 1 & 1];
            t.z[l] = taps[2][l].index[corner >> 2 & 1];
        });
        read_texels(w, i, m, t, exec, border, texel);
    };
    u32 *data = w.v[i->o[0].index].lane;
    u32 values[4], enabled[4];
    if (gather) { // one component of four texels, counter-clockwise from the lower left
        u32 results[kLanes][4];
        const u32 corners[4] = {2, 3, 1, 0};
        for (u32 k = 0; k < 4; ++k) {
            fetch(corners[k]);
            for_lanes(exec, [&](int l) {
                select_components(m.selection, m.format, texel[l], values);
                results[l][k] = values[i->a ? __builtin_ctz(i->a) : 0];
            });
        }
        for_lanes(exec, [&](int l) { write_components(data, l, results[l], 4, i->flags & kData16, m.format.integer()); });
        return i + 1;
    }
    if (!linear && !linear_z) {
        fetch(0);
    } else {
        double sum[kLanes][4] = {};
        for (u32 corner = 0; corner < 8; ++corner) {
            if ((corner & 2 && dimensions < 2) || (corner & 4 && !linear_z)) continue;
            fetch(corner);
            for_lanes(exec, [&](int l) {
                double weight = 1;
                for (u32 k = 0; k < 3; ++k) weight *= (corner >> k & 1 ? taps[k][l].weight : 256 - taps[k][l].weight) / 256.0;
                if (weight == 0) return; // such a texel is not part of the sum, whatever it holds
                for (u32 c = 0; c < 4; ++c) sum[l][c] += weight * double(std::bit_cast<float>(texel[l][c]));
            });
        }
        for_lanes(exec, [&](int l) { for (u32 c = 0; c < 4; ++c) texel[l][c] = std::bit_cast<u32>(float(sum[l][c])); });
    }
    for_lanes(exec, [&](int l) {
        select_components(m.selection, m.format, texel[l], values);
        u32 count = enabled_components(values, i->a, enabled);
        write_components(data, l, enabled, count, i->flags & kData16, m.format.integer());
    });
    return i + 1;
}

} // namespace

Table image_opcodes() {
    Table t;
    auto add = [&](std::string name, Run run, u32 flags, u32 info = 0, const char *exactness = "exact") {
        t.push_back({intern(std::move(name)), Unit::memory, run, nullptr, {}, flags, exactness, info});
    };
    add("image_load", image_load, kLoad);
    add("image_load_mip", image_load, kLoad, kMip);
    add("image_load_pck", image_load, kLoad, kRaw);
    add("image_load_mip_pck", image_load, kLoad, kRaw | kMip);
    add("image_store", image_store, kStore);
    add("image_store_mip", image_store, kStore, kMip);
    add("image_get_resinfo", image_info, kLoad);
    // Offset, bias and derivatives come before the coordinates, the level or its clamp behind them. There is one level.
    const char *const filtered = "8-bit filter weights; the sum is exact";
    struct { const char *suffix; u32 info; } levels[] = {{"", 0}, {"_cl", 0}, {"_l", 0}, {"_lz", 0}, {"_b", kBias}, {"_b_cl", kBias},
                                                         {"_d", kDerivatives}, {"_d_cl", kDerivatives}};
    for (auto &level : levels)
        for (u32 offset : {0u, u32(kTexelOffset)}) {
            std::string name = std::string(level.suffix) + (offset ? "_o" : "");
            add("image_sample" + name, image_sample, kLoad, level.info | offset, filtered);
            if (level.info & kDerivatives) add("image_sample" + name + "_g16", image_sample, kLoad, kHalfDerivatives | offset, filtered);
            else add("image_gather4" + name, image_sample, kLoad, level.info | offset | kGather);
        }
    const auto &atomics = atomic_rows();
    struct { const char *row, *name, *modern; } rows[] = {
        {"swap", "swap", ""}, {"cmpswap", "cmpswap", ""}, {"add", "add", "add_uint"}, {"sub", "sub", "sub_uint"}, {"smin", "smin", "min_int"},
        {"umin", "umin", "min_uint"}, {"smax", "smax", "max_int"}, {"umax", "umax", "max_uint"}, {"and", "and", ""}, {"or", "or", ""},
        {"xor", "xor", ""}, {"inc", "inc", "inc_uint"}, {"dec", "dec", "dec_uint"}, {"add_f32", "", "add_flt"}};
    for (auto &row : rows)
        for (u32 k = 0; k < atomics.size(); ++k) {
            if (strcmp(atomics[k].name, row.row)) continue;
            u32 flags = kAtomic | (atomics[k].is_float ? u32(kFloatAtomic) : 0);
            for (const char *name : {row.name, row.modern})
                if (*name) add(std::string("image_atomic_") + name, image_atomic, flags, k << 8);
        }
    return t;
}

} // namespace hipemu
