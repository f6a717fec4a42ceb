// Buffer opcodes: addresses from a 128-bit resource. On gfx90a they also reach scratch, through the swizzled resource that the
// ABI puts into s[0:3]. Source: CDNA3 instruction set manual, "Vector memory buffer instructions".
#include <deque>

#include "image_format.h"

namespace hipemu {

namespace {

std::deque<std::string> names;
enum Typed : u32 { kTyped = 16, kHalves = 32, kHighHalf = 64 }; // Op::info of format opcodes, beside the number of components

const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

// Operands: data, vaddr, resource, soffset. Lanes outside of the buffer read 0 and do not write.
bool buffer_access(Wave &w, const Inst *i, const Operand *o, u32 bytes, bool store, Access &a, u64 &outside) {
    const Operand &vaddr = o[0], &resource = o[1], &soffset = o[2];
    a.exec = w.exec();
    a.row = o == i->o + 1 ? int(i->o[0].index) : -1;
    outside = 0;
    if (!a.exec) return false;
    const u32 *r = &w.s[resource.index];
    u64 base = u64(r[1] & 0xffff) << 32 | r[0];
    u32 stride = r[1] >> 16 & 0x3fff, records = r[2];
    bool gfx11 = w.group->target->generation >= Generation::gfx11;
    bool swizzle = gfx11 ? r[1] >> 30 & 3 : r[1] >> 31 & 1;
    bool add_tid = r[3] >> 23 & 1;
    if (add_tid && !gfx11) stride |= (r[3] >> 15 & 15) << 14;
    u32 scalar = soffset.kind == Kind::off ? 0 : read32(w, soffset);
    const u32 *v = w.v[vaddr.index].lane;
    const u32 *index = i->flags & kIdxen ? v : nullptr;
    const u32 *voffset = i->flags & kOffen ? (index ? v + kLanes : v) : nullptr;
    alignas(64) u64 address[kLanes];
    if (swizzle && add_tid) {
        // Scratch: the scalar offset counts whole waves' bytes, the rest is per lane.
        u32 lanes = w.wave32 ? 32 : 64;
        for (int l = 0; l < kLanes; ++l) address[l] = u32(scalar / lanes + u32(i->offset) + (voffset ? voffset[l] : 0));
        resolve(w, i, Space::scratch, address, bytes, store, a);
        return true;
    }
    // An index counts records where there is a stride; otherwise the range counts bytes behind the scalar offset.
    bool structured = gfx11 ? (r[3] >> 28 & 3) < 2 : stride && (index || add_tid);
    bool anything = gfx11 && (r[3] >> 28 & 3) == 2; // only a buffer without records is out of range
    u32 element = gfx11 ? 2u << (r[1] >> 30 & 3) : 2u << (r[3] >> 19 & 3), group = 8u << (r[3] >> 21 & 3);
    for_lanes(a.exec, [&](int l) {
        u64 offset = u64(u32(i->offset)) + (voffset ? voffset[l] : 0);
        u64 k = u64(index ? index[l] : 0) + (add_tid ? l : 0);
        bool bad = anything ? records == 0 : structured ? k >= records : offset + bytes + scalar > records;
        u64 place = swizzle ? (k / group * stride + offset / element * element) * group + k % group * element + offset % element : offset + k * stride;
        address[l] = base + scalar + place;
        if (bad) outside |= 1ull << l;
    });
    a.exec &= ~outside;
    if (a.exec) {
        u64 first = address[__builtin_ctzll(a.exec)];
        for (int l = 0; l < kLanes; ++l)
            if (!(a.exec >> l & 1)) address[l] = first;
        resolve(w, i, Space::global, address, bytes, store, a);
    }
    return true;
}

// Several words are range-checked one by one: those lanes again of which a word is out of range.
template <Form F, class Part> void by_word(Wave &w, const Inst *i, u64 lanes, bool store, Part part) {
    Inst word = *i;
    for (u32 k = 0; k < form_bytes(F) / 4; ++k) {
        Access one;
        u64 outside;
        word.offset = i->offset + i32(4 * k);
        buffer_access(w, &word, word.o + 1, 4, store, one, outside);
        one.exec &= lanes;
        part(k, one, outside & lanes);
    }
}

template <Form F> const Inst *load(Wave &w, const Inst *i) {
    Access a;
    u64 outside;
    if (i->flags & kLds) unimplemented(i, "buffer load to LDS with this syntax");
    if (!buffer_access(w, i, i->o + 1, form_bytes(F), false, a, outside)) return i + 1;
    u32 *d = w.v[i->o[0].index].lane;
    load_lanes<F>(d, a);
    if (!outside) return i + 1;
    if constexpr (form_bytes(F) > 4) {
        by_word<F>(w, i, outside, false, [&](u32 k, const Access &one, u64 lanes_out) {
            load_lanes<Form::b32_>(d + k * kLanes, one);
            for_lanes(lanes_out, [&](int l) { d[k * kLanes + l] = 0; });
        });
        return i + 1;
    }
    static u8 nothing[16];
    a.exec = outside;
    for (int l = 0; l < kLanes; ++l) a.at[l] = nothing;
    load_lanes<F>(d, a);
    return i + 1;
}
template <Form F> const Inst *store(Wave &w, const Inst *i) {
    Access a;
    u64 outside;
    if (!buffer_access(w, i, i->o + 1, form_bytes(F), true, a, outside)) return i + 1;
    const u32 *data = w.v[i->o[0].index].lane;
    store_lanes_to<F>(data, a);
    if constexpr (form_bytes(F) > 4)
        if (outside) by_word<F>(w, i, outside, true, [&](u32 k, const Access &one, u64) { store_lanes_to<Form::b32_>(data + k * kLanes, one); });
    return i + 1;
}
const Inst *atomic(Wave &w, const Inst *i) {
    Access a;
    u64 outside;
    const AtomicRow &row = atomic_rows()[i->op->info];
    if (!buffer_access(w, i, i->o + 1, row.bytes, true, a, outside)) return i + 1;
    u32 *data = w.v[i->o[0].index].lane;
    Row out[2];
    row.run(w, i, a, data, out[0].lane);
    if (i->flags & kGlc) {
        store_lanes(data, out[0].lane, a.exec);
        if (row.bytes == 8) store_lanes(data + kLanes, out[1].lane, a.exec);
    }
    return i + 1;
}
// buffer_load_dword vaddr, resource, soffset lds: lane l's data goes to M0 + offset + size * l.
template <Form F> const Inst *load_lds(Wave &w, const Inst *i) {
    Access from, to;
    u64 outside;
    if (!buffer_access(w, i, i->o, form_bytes(F), false, from, outside)) return i + 1;
    constexpr u32 bytes = form_bytes(F) < 4 ? 4 : form_bytes(F);
    alignas(64) u64 lds[kLanes];
    for (int l = 0; l < kLanes; ++l) lds[l] = (w.s[kM0] & 0x3ffff) + u32(i->offset) + bytes * l;
    to.exec = w.exec();
    resolve(w, i, Space::lds, lds, bytes, true, to);
    Row rows[4];
    std::memset(rows, 0, sizeof rows);
    load_lanes<F>(rows[0].lane, from);
    constexpr Form out = form_bytes(F) < 4 ? Form::b32_ : F;
    store_lanes_to<out>(rows[0].lane, to);
    return i + 1;
}
template <Form F> const Inst *load_or_lds(Wave &w, const Inst *i) { return i->flags & kLds ? load_lds<F>(w, i) : load<F>(w, i); }

// ---- typed access: the format is the resource's, or for tbuffer the instruction's -------------------------------------------

Format format_of(const Wave &w, const Inst *i) {
    Format f;
    if (i->op->info & kTyped) {
        f = {u8(i->offset1), u8(i->offset1 >> 8), Numeric(i->offset1 >> 16)};
    } else {
        u32 r = w.s[i->o[2].index + 3];
        f = w.group->target->generation < Generation::gfx11 ? split_format(r >> 15 & 15, r >> 12 & 7) : unified_format(r >> 12 & 63);
    }
    if (!f.channels) unimplemented(i, "texel format of this buffer resource");
    return f;
}

const Inst *load_format(Wave &w, const Inst *i) {
    Access a;
    u64 outside;
    Format f = format_of(w, i);
    if (!buffer_access(w, i, i->o + 1, f.bytes(), false, a, outside)) return i + 1;
    // Typed instructions give the channels of their format; others select them as the resource says.
    u32 selection = i->op->info & kTyped ? 4 | (f.channels > 1 ? 5 : 0) << 3 | (f.channels > 2 ? 6 : 0) << 6 | (f.channels > 3 ? 7 : 1) << 9
                                         : w.s[i->o[2].index + 3] & 0xfff;
    u32 count = i->op->info & 15;
    u32 *data = w.v[i->o[0].index].lane;
    for_lanes(a.exec | outside, [&](int l) {
        u32 texel[4] = {}, values[4];
        if (a.exec >> l & 1) decode_texel(f, a.at[l], texel);
        select_components(selection, f, texel, values);
        if (i->op->info & kHighHalf) {
            u32 x = f.integer() ? values[0] & 0xffff : float_to_half(std::bit_cast<float>(values[0]));
            data[l] = (data[l] & 0xffff) | x << 16;
        } else if (i->op->info & kHalves) {
            u32 kept = data[l] & 0xffff0000u;
            write_components(data, l, values, count, true, f.integer());
            if (count == 1) data[l] = (data[l] & 0xffff) | kept;
        } else {
            write_components(data, l, values, count, false, f.integer());
        }
    });
    return i + 1;
}

const Inst *store_format(Wave &w, const Inst *i) {
    Access a;
    u64 outside;
    Format f = format_of(w, i);
    if (!buffer_access(w, i, i->o + 1, f.bytes(), true, a, outside)) return i + 1;
    u32 count = i->op->info & 15;
    bool broadcasts = w.group->target->generation == Generation::gfx12; // what stands for components that are not given
    for_lanes(a.exec, [&](int l) {
        u32 values[4];
        read_components(w.v[i->o[0].index].lane, l, values, count, i->op->info & kHalves, f.integer(), f.numeric == Numeric::sint);
        for (u32 c = count; c < 4; ++c) values[c] = broadcasts ? values[0] : 0;
        encode_texel(f, values, a.at[l]);
    });
    return i + 1;
}

} // namespace

Table buffer_opcodes() {
    Table t;
    auto add = [&](const char *verb, const char *old_name, const char *new_name, Run run, u32 flags) {
        t.push_back({intern(std::string("buffer_") + verb + old_name), Unit::memory, run, nullptr, {}, flags});
        t.push_back({intern(std::string("buffer_") + verb + new_name), Unit::memory, run, nullptr, {}, flags});
    };
    add("load_", "ubyte", "u8", load_or_lds<Form::u8_>, kLoad);
    add("load_", "sbyte", "i8", load_or_lds<Form::i8_>, kLoad);
    add("load_", "ushort", "u16", load_or_lds<Form::u16_>, kLoad);
    add("load_", "sshort", "i16", load_or_lds<Form::i16_>, kLoad);
    add("load_", "dword", "b32", load_or_lds<Form::b32_>, kLoad);
    add("load_", "dwordx2", "b64", load<Form::b64_>, kLoad);
    add("load_", "dwordx3", "b96", load_or_lds<Form::b96_>, kLoad);
    add("load_", "dwordx4", "b128", load_or_lds<Form::b128_>, kLoad);
    add("load_", "ubyte_d16", "d16_u8", load<Form::lo_u8>, kLoad);
    add("load_", "ubyte_d16_hi", "d16_hi_u8", load<Form::hi_u8>, kLoad);
    add("load_", "sbyte_d16", "d16_i8", load<Form::lo_i8>, kLoad);
    add("load_", "sbyte_d16_hi", "d16_hi_i8", load<Form::hi_i8>, kLoad);
    add("load_", "short_d16", "d16_b16", load<Form::lo_16>, kLoad);
    add("load_", "short_d16_hi", "d16_hi_b16", load<Form::hi_16>, kLoad);
    add("store_", "byte", "b8", store<Form::u8_>, kStore);
    add("store_", "byte_d16_hi", "d16_hi_b8", store<Form::hi_u8>, kStore);
    add("store_", "short", "b16", store<Form::u16_>, kStore);
    add("store_", "short_d16_hi", "d16_hi_b16", store<Form::hi_16>, kStore);
    add("store_", "dword", "b32", store<Form::b32_>, kStore);
    add("store_", "dwordx2", "b64", store<Form::b64_>, kStore);
    add("store_", "dwordx3", "b96", store<Form::b96_>, kStore);
    add("store_", "dwordx4", "b128", store<Form::b128_>, kStore);
    const char *const components[] = {"x", "xy", "xyz", "xyzw"};
    for (u32 n = 1; n <= 4; ++n)
        for (const char *half : {"", "format_d16_", "d16_format_"})
            for (const char *space : {"buffer_", "tbuffer_"}) {
                std::string name = std::string(*half ? half : "format_") + components[n - 1];
                u32 info = n | (*space == 't' ? u32(kTyped) : 0) | (*half ? u32(kHalves) : 0);
                t.push_back({intern(space + ("load_" + name)), Unit::memory, load_format, nullptr, {}, kLoad, "exact", info});
                t.push_back({intern(space + ("store_" + name)), Unit::memory, store_format, nullptr, {}, kStore, "exact", info});
            }
    for (const char *name : {"buffer_load_format_d16_hi_x", "buffer_load_d16_hi_format_x"})
        t.push_back({name, Unit::memory, load_format, nullptr, {}, kLoad, "exact", 1 | kHalves | kHighHalf});
    const auto &atomics = atomic_rows();
    for (u32 k = 0; k < atomics.size(); ++k) {
        u32 flags = kAtomic | (atomics[k].is_float ? u32(kFloatAtomic) : 0);
        t.push_back({intern(std::string("buffer_atomic_") + atomics[k].name), Unit::memory, atomic, nullptr, {}, flags, "exact", k});
        if (std::string(atomics[k].modern) != atomics[k].name)
            t.push_back({intern(std::string("buffer_atomic_") + atomics[k].modern), Unit::memory, atomic, nullptr, {}, flags, "exact", k});
    }
    return t;
}

} // namespace hipemu
