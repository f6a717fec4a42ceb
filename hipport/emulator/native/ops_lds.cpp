// LDS opcodes. Source: CDNA3, CDNA4 and RDNA4 instruction set manuals, data share.
#include <deque>

#include "memory.h"

namespace hipemu {

namespace {

std::deque<std::string> names;
const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

void lds_access(Wave &w, const Inst *i, const Operand &vaddr, u32 offset, u32 bytes, bool store, Access &a, int row = -1) {
    alignas(64) u64 address[kLanes];
    const u32 *v = w.v[vaddr.index].lane;
    for (int l = 0; l < kLanes; ++l) address[l] = u32(v[l] + offset);
    a.exec = w.exec();
    a.row = row;
    resolve(w, i, Space::lds, address, bytes, store, a);
}
void refuse_gds(const Inst *i) { if (i->flags & kGds) unimplemented(i, "global data share"); }

template <Form F> const Inst *read(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    refuse_gds(i);
    Access a;
    lds_access(w, i, i->o[1], u32(i->offset), form_bytes(F), false, a, int(i->o[0].index));
    load_lanes<F>(w.v[i->o[0].index].lane, a);
    return i + 1;
}
template <Form F> const Inst *write(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    refuse_gds(i);
    Access a;
    lds_access(w, i, i->o[0], u32(i->offset), form_bytes(F), true, a, int(i->o[1].index));
    store_lanes_to<F>(w.v[i->o[1].index].lane, a);
    return i + 1;
}
// Two elements at offset0 and offset1, counted in elements (times 64 for the stride forms).
template <Form F, u32 Stride> const Inst *read2(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    constexpr u32 bytes = form_bytes(F);
    Access a, b;
    lds_access(w, i, i->o[1], u32(i->offset) * bytes * Stride, bytes, false, a, int(i->o[0].index));
    lds_access(w, i, i->o[1], i->offset1 * bytes * Stride, bytes, false, b, int(i->o[0].index + bytes / 4));
    u32 *d = w.v[i->o[0].index].lane; // the address register may be among the destinations: both were resolved before
    load_lanes<F>(d, a);
    load_lanes<F>(d + bytes / 4 * kLanes, b);
    return i + 1;
}
template <Form F, u32 Stride> const Inst *write2(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    constexpr u32 bytes = form_bytes(F);
    Access a, b;
    lds_access(w, i, i->o[0], u32(i->offset) * bytes * Stride, bytes, true, a, int(i->o[1].index));
    store_lanes_to<F>(w.v[i->o[1].index].lane, a);
    lds_access(w, i, i->o[0], i->offset1 * bytes * Stride, bytes, true, b, int(i->o[2].index));
    store_lanes_to<F>(w.v[i->o[2].index].lane, b);
    return i + 1;
}
template <Form F, u32 Stride> const Inst *exchange2(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    constexpr u32 bytes = form_bytes(F);
    Access a, b;
    lds_access(w, i, i->o[1], u32(i->offset) * bytes * Stride, bytes, true, a);
    lds_access(w, i, i->o[1], i->offset1 * bytes * Stride, bytes, true, b);
    Row old[4];
    load_lanes<F>(old[0].lane, a);
    store_lanes_to<F>(w.v[i->o[2].index].lane, a);
    load_lanes<F>(old[bytes / 4].lane, b);
    store_lanes_to<F>(w.v[i->o[3].index].lane, b);
    u32 *d = w.v[i->o[0].index].lane;
    for (u32 k = 0; k < bytes / 2; ++k) store_lanes(d + k * kLanes, old[k].lane, a.exec);
    return i + 1;
}

// Operands: [destination,] address, data...
template <bool Returns> const Inst *atomic(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    refuse_gds(i);
    const AtomicRow &row = atomic_rows()[i->op->info];
    const Operand *o = i->o + (Returns ? 1 : 0);
    Access a;
    lds_access(w, i, o[0], u32(i->offset), row.bytes, true, a, int(o[1].index));
    row.run(w, i, a, w.v[o[1].index].lane, Returns ? w.v[i->o[0].index].lane : nullptr);
    return i + 1;
}

template <class T> using LaneOf = std::conditional_t<sizeof(T) == 8, Pair<T, Type::b64>, Word<T, Type::b32>>;

// Compare and swap. gfx9: address, compare, new value. gfx11 (cmpstore): address, new value, compare.
template <class T, bool Returns, bool NewFirst> const Inst *compare_store(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    const Operand *o = i->o + (Returns ? 1 : 0);
    Access a;
    lds_access(w, i, o[0], u32(i->offset), sizeof(T), true, a);
    const u32 *compare = w.v[o[NewFirst ? 2 : 1].index].lane, *value = w.v[o[NewFirst ? 1 : 2].index].lane;
    u32 *d = w.v[i->o[0].index].lane;
    for_lanes(a.exec, [&](int l) {
        T c = LaneOf<T>::load(compare, l), v = LaneOf<T>::load(value, l);
        T old = read_modify_write<T>(a.at[l], [&](T m) { return m == c ? v : m; });
        if (Returns) LaneOf<T>::store(d, l, old);
    });
    return i + 1;
}
// (memory & ~data) | data2
template <class T, bool Returns> const Inst *mskor(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    const Operand *o = i->o + (Returns ? 1 : 0);
    Access a;
    lds_access(w, i, o[0], u32(i->offset), sizeof(T), true, a);
    const u32 *clear = w.v[o[1].index].lane, *set = w.v[o[2].index].lane;
    u32 *d = w.v[i->o[0].index].lane;
    for_lanes(a.exec, [&](int l) {
        T c = LaneOf<T>::load(clear, l), s = LaneOf<T>::load(set, l);
        T old = read_modify_write<T>(a.at[l], [&](T m) { return (m & ~c) | s; });
        if (Returns) LaneOf<T>::store(d, l, old);
    });
    return i + 1;
}
const Inst *ds_wrap_rtn_b32(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    Access a;
    lds_access(w, i, i->o[1], u32(i->offset), 4, true, a);
    const u32 *limit = w.v[i->o[2].index].lane, *value = w.v[i->o[3].index].lane;
    u32 *d = w.v[i->o[0].index].lane;
    for_lanes(a.exec, [&](int l) {
        u32 c = limit[l], v = value[l];
        d[l] = read_modify_write<u32>(a.at[l], [&](u32 m) { return m >= c ? m - c : m + v; });
    });
    return i + 1;
}

// M0-relative, one dword per lane in lane order.
template <bool Store> const Inst *addtid(Wave &w, const Inst *i) {
    Access a;
    alignas(64) u64 address[kLanes];
    for (int l = 0; l < kLanes; ++l) address[l] = u32(i->offset) + (w.s[kM0] & 0xffff) + 4 * l;
    a.exec = w.exec();
    resolve(w, i, Space::lds, address, 4, Store, a);
    if (Store) store_lanes_to<Form::b32_>(w.v[i->o[0].index].lane, a);
    else load_lanes<Form::b32_>(w.v[i->o[0].index].lane, a);
    return i + 1;
}
// One counter for the wave: adds (or subtracts) the number of active lanes.
template <bool Append> const Inst *append_consume(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (!exec) return i + 1;
    Access a;
    alignas(64) u64 address[kLanes];
    for (int l = 0; l < kLanes; ++l) address[l] = u32(i->offset) + (w.s[kM0] & 0xffff);
    a.exec = exec & -exec;
    resolve(w, i, Space::lds, address, 4, true, a);
    u32 old = 0, n = u32(__builtin_popcountll(exec));
    for_lanes(a.exec, [&](int l) { old = read_modify_write<u32>(a.at[l], [&](u32 m) { return Append ? m + n : m - n; }); });
    u32 *d = w.v[i->o[0].index].lane;
    for_lanes(exec, [&](int l) { d[l] = old; });
    return i + 1;
}

// ---- cross-lane through the LDS crossbar --------------------------------------------------------------------------

template <bool FetchInactive> const Inst *ds_bpermute_b32(Wave &w, const Inst *i) { // pull: lanes that are off read as 0
    u64 exec = w.exec();
    const u32 *index = w.v[i->o[1].index].lane;
    Row data = w.v[i->o[2].index], out;
    if (!FetchInactive && exec != w.full()) for (int l = 0; l < kLanes; ++l) data.lane[l] = exec >> l & 1 ? data.lane[l] : 0;
    u32 lanes = w.wave32 ? 31 : 63;
    for (int l = 0; l < kLanes; ++l) out.lane[l] = data.lane[(index[l] + u32(i->offset)) >> 2 & lanes];
    store_lanes(w.v[i->o[0].index].lane, out.lane, exec);
    return i + 1;
}
const Inst *ds_permute_b32(Wave &w, const Inst *i) { // push: the highest lane wins, lanes without a sender get 0
    u64 exec = w.exec();
    const u32 *index = w.v[i->o[1].index].lane, *data = w.v[i->o[2].index].lane;
    Row out;
    std::memset(&out, 0, sizeof out);
    u32 lanes = w.wave32 ? 31 : 63;
    for_lanes(exec, [&](int l) { out.lane[(index[l] + u32(i->offset)) >> 2 & lanes] = data[l]; });
    store_lanes(w.v[i->o[0].index].lane, out.lane, exec);
    return i + 1;
}
const Inst *ds_swizzle_b32(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    u32 mode = u32(i->offset);
    Row data = w.v[i->o[1].index], out;
    for (int l = 0; l < kLanes; ++l) {
        int from;
        if ((mode & 0xe000) == 0xe000) { // FFT: reversed bits of the lane above the kept ones
            u32 keep = mode & 31, n = l & 31, reversed = (n & 1) << 4 | (n & 2) << 2 | (n & 4) | (n & 8) >> 2 | n >> 4;
            from = (l & ~31) + int(reversed >> std::popcount(keep) | (n & keep));
        } else if ((mode & 0xc000) == 0xc000) { // rotate within 32
            u32 by = mode >> 5 & 31, keep = mode & 31;
            u32 n = l & 31, target = mode >> 10 & 1 ? n - by : n + by;
            from = (l & ~31) + int((n & keep) | (target & 31 & ~keep));
        } else if (mode & 0x8000) {
            from = (l & ~3) + int(mode >> (2 * (l & 3)) & 3);
        } else {
            u32 n = ((l & (mode & 31)) | (mode >> 5 & 31)) ^ (mode >> 10 & 31);
            from = (l & ~31) + int(n & 31);
        }
        out.lane[l] = exec >> from & 1 ? data.lane[from] : 0;
    }
    store_lanes(w.v[i->o[0].index].lane, out.lane, exec);
    return i + 1;
}

// gfx950 transposing reads: within a group of 16 lanes, the 64-bit words that the lanes address form a matrix of Bits-wide
// elements; lane l receives column elements. Source: CDNA4 ISA, "DS_READ_B64_TR_*".
template <int Bits, u32 Bytes> const Inst *read_transposed(Wave &w, const Inst *i) {
    if (!w.exec()) return i + 1;
    Access a;
    lds_access(w, i, i->o[1], u32(i->offset), Bytes, false, a, int(i->o[0].index));
    if (a.exec != w.full()) unimplemented(i, "transposing read with lanes off");
    u32 *d = w.v[i->o[0].index].lane;
    constexpr int per = int(Bytes) * 8 / Bits; // elements per lane
    u32 out[Bytes / 4][kLanes];
    std::memset(out, 0, sizeof out);
    auto bit_field = [&](const u8 *p, int e) {
        u32 v = 0;
        for (int b = 0; b < Bits; ++b) {
            int at = e * Bits + b;
            v |= u32(p[at / 8] >> (at % 8) & 1) << b;
        }
        return v;
    };
    for (int l = 0; l < kLanes; ++l) {
        int group = l & ~15, n = l & 15;
        for (int e = 0; e < per; ++e) {
            // Rows of 16 elements are spread over 16 / per lanes.
            int lanes_per_row = 16 / per;
            int source = group + e * lanes_per_row + n / per;
            u32 v = bit_field(a.at[source], n % per);
            for (int b = 0; b < Bits; ++b)
                if (v >> b & 1) out[(e * Bits + b) / 32][l] |= 1u << ((e * Bits + b) % 32);
        }
    }
    for (u32 k = 0; k < Bytes / 4; ++k) std::memcpy(d + k * kLanes, out[k], sizeof(Row));
    return i + 1;
}

const Inst *ds_nop(Wave &, const Inst *i) { return i + 1; }

} // namespace

Table lds_opcodes() {
    Table t;
    auto add = [&](std::string name, Run run, u32 flags, u32 info = 0) {
        t.push_back({intern(std::move(name)), Unit::lds, run, nullptr, {}, flags, "exact", info});
    };
    auto both = [&](const char *old_name, const char *new_name, Run run, u32 flags) { add(old_name, run, flags); add(new_name, run, flags); };
    both("ds_read_u8", "ds_load_u8", read<Form::u8_>, kLoad);
    both("ds_read_i8", "ds_load_i8", read<Form::i8_>, kLoad);
    both("ds_read_u16", "ds_load_u16", read<Form::u16_>, kLoad);
    both("ds_read_i16", "ds_load_i16", read<Form::i16_>, kLoad);
    both("ds_read_b32", "ds_load_b32", read<Form::b32_>, kLoad);
    both("ds_read_b64", "ds_load_b64", read<Form::b64_>, kLoad);
    both("ds_read_b96", "ds_load_b96", read<Form::b96_>, kLoad);
    both("ds_read_b128", "ds_load_b128", read<Form::b128_>, kLoad);
    both("ds_read_u8_d16", "ds_load_u8_d16", read<Form::lo_u8>, kLoad);
    both("ds_read_u8_d16_hi", "ds_load_u8_d16_hi", read<Form::hi_u8>, kLoad);
    both("ds_read_i8_d16", "ds_load_i8_d16", read<Form::lo_i8>, kLoad);
    both("ds_read_i8_d16_hi", "ds_load_i8_d16_hi", read<Form::hi_i8>, kLoad);
    both("ds_read_u16_d16", "ds_load_u16_d16", read<Form::lo_16>, kLoad);
    both("ds_read_u16_d16_hi", "ds_load_u16_d16_hi", read<Form::hi_16>, kLoad);
    both("ds_write_b8", "ds_store_b8", write<Form::u8_>, kStore);
    both("ds_write_b8_d16_hi", "ds_store_b8_d16_hi", write<Form::hi_u8>, kStore);
    both("ds_write_b16", "ds_store_b16", write<Form::u16_>, kStore);
    both("ds_write_b16_d16_hi", "ds_store_b16_d16_hi", write<Form::hi_16>, kStore);
    both("ds_write_b32", "ds_store_b32", write<Form::b32_>, kStore);
    both("ds_write_b64", "ds_store_b64", write<Form::b64_>, kStore);
    both("ds_write_b96", "ds_store_b96", write<Form::b96_>, kStore);
    both("ds_write_b128", "ds_store_b128", write<Form::b128_>, kStore);
    both("ds_read2_b32", "ds_load_2addr_b32", read2<Form::b32_, 1>, kLoad);
    both("ds_read2st64_b32", "ds_load_2addr_stride64_b32", read2<Form::b32_, 64>, kLoad);
    both("ds_read2_b64", "ds_load_2addr_b64", read2<Form::b64_, 1>, kLoad);
    both("ds_read2st64_b64", "ds_load_2addr_stride64_b64", read2<Form::b64_, 64>, kLoad);
    both("ds_write2_b32", "ds_store_2addr_b32", write2<Form::b32_, 1>, kStore);
    both("ds_write2st64_b32", "ds_store_2addr_stride64_b32", write2<Form::b32_, 64>, kStore);
    both("ds_write2_b64", "ds_store_2addr_b64", write2<Form::b64_, 1>, kStore);
    both("ds_write2st64_b64", "ds_store_2addr_stride64_b64", write2<Form::b64_, 64>, kStore);
    both("ds_wrxchg2_rtn_b32", "ds_storexchg_2addr_rtn_b32", exchange2<Form::b32_, 1>, kAtomic);
    both("ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32", exchange2<Form::b32_, 64>, kAtomic);
    both("ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64", exchange2<Form::b64_, 1>, kAtomic);
    both("ds_wrxchg2st64_rtn_b64", "ds_storexchg_2addr_stride64_rtn_b64", exchange2<Form::b64_, 64>, kAtomic);
    const auto &atomics = atomic_rows();
    for (u32 k = 0; k < atomics.size(); ++k) {
        std::string ds = atomics[k].ds;
        u32 flags = kAtomic | (atomics[k].is_float ? u32(kFloatAtomic) : 0);
        if (ds.empty()) continue;
        if (ds.rfind("wrxchg", 0) == 0) {
            const char *width = atomics[k].bytes == 8 ? "b64" : "b32";
            add(std::string("ds_wrxchg_rtn_") + width, atomic<true>, flags, k);
            add(std::string("ds_storexchg_rtn_") + width, atomic<true>, flags, k);
            continue;
        }
        add("ds_" + ds, atomic<false>, flags, k);
        size_t cut = ds.rfind('_'); // add_u32 -> add_rtn_u32
        add("ds_" + ds.substr(0, cut) + "_rtn" + ds.substr(cut), atomic<true>, flags, k);
    }
    add("ds_cmpst_b32", compare_store<u32, false, false>, kAtomic);
    add("ds_cmpst_b64", compare_store<u64, false, false>, kAtomic);
    add("ds_cmpst_f32", compare_store<float, false, false>, kAtomic);
    add("ds_cmpst_f64", compare_store<double, false, false>, kAtomic);
    add("ds_cmpst_rtn_b32", compare_store<u32, true, false>, kAtomic);
    add("ds_cmpst_rtn_b64", compare_store<u64, true, false>, kAtomic);
    add("ds_cmpst_rtn_f32", compare_store<float, true, false>, kAtomic);
    add("ds_cmpst_rtn_f64", compare_store<double, true, false>, kAtomic);
    add("ds_cmpstore_b32", compare_store<u32, false, true>, kAtomic);
    add("ds_cmpstore_b64", compare_store<u64, false, true>, kAtomic);
    add("ds_cmpstore_f32", compare_store<float, false, true>, kAtomic);
    add("ds_cmpstore_f64", compare_store<double, false, true>, kAtomic);
    add("ds_cmpstore_rtn_b32", compare_store<u32, true, true>, kAtomic);
    add("ds_cmpstore_rtn_b64", compare_store<u64, true, true>, kAtomic);
    add("ds_cmpstore_rtn_f32", compare_store<float, true, true>, kAtomic);
    add("ds_cmpstore_rtn_f64", compare_store<double, true, true>, kAtomic);
    add("ds_mskor_b32", mskor<u32, false>, kAtomic);
    add("ds_mskor_b64", mskor<u64, false>, kAtomic);
    add("ds_mskor_rtn_b32", mskor<u32, true>, kAtomic);
    add("ds_mskor_rtn_b64", mskor<u64, true>, kAtomic);
    add("ds_wrap_rtn_b32", ds_wrap_rtn_b32, kAtomic);
    both("ds_read_addtid_b32", "ds_load_addtid_b32", addtid<false>, kLoad);
    both("ds_write_addtid_b32", "ds_store_addtid_b32", addtid<true>, kStore);
    add("ds_append", append_consume<true>, kAtomic);
    add("ds_consume", append_consume<false>, kAtomic);
    add("ds_bpermute_b32", ds_bpermute_b32<false>, kLaneCross);
    add("ds_bpermute_fi_b32", ds_bpermute_b32<true>, kLaneCross);
    add("ds_permute_b32", ds_permute_b32, kLaneCross);
    add("ds_swizzle_b32", ds_swizzle_b32, kLaneCross);
    add("ds_read_b64_tr_b16", read_transposed<16, 8>, kLoad);
    add("ds_read_b64_tr_b8", read_transposed<8, 8>, kLoad);
    add("ds_read_b64_tr_b4", read_transposed<4, 8>, kLoad);
    add("ds_read_b96_tr_b6", read_transposed<6, 12>, kLoad);
    t.push_back({"ds_nop", Unit::lds, ds_nop, nullptr, {}, kHint});
    return t;
}

} // namespace hipemu
