// Global, flat and scratch opcodes, and scalar loads and stores. Source: CDNA3 and RDNA4 instruction set manuals.
#include <deque>

#include "memory.h"

namespace hipemu {

namespace {

std::deque<std::string> names;
const char *intern(std::string s) { names.push_back(std::move(s)); return names.back().c_str(); }

// Lane addresses of a memory instruction whose address operands start at o[first].
template <Space S> void addresses(Wave &w, const Inst *i, const Operand &vaddr, const Operand &saddr, u64 *address) {
    i64 offset = i->offset;
    if constexpr (S == Space::global) {
        if (saddr.kind == Kind::sgpr && saddr.index != kNull) {
            u64 base = read64(w, saddr) + u64(offset);
            const u32 *v = w.v[vaddr.index].lane;
            if (vaddr.kind == Kind::vgpr) for (int l = 0; l < kLanes; ++l) address[l] = base + v[l];
            else for (int l = 0; l < kLanes; ++l) address[l] = base;
            return;
        }
    }
    if constexpr (S == Space::scratch) {
        u64 base = u64(offset) + (saddr.kind == Kind::sgpr && saddr.index != kNull ? read32(w, saddr) : 0);
        const u32 *v = w.v[vaddr.index].lane;
        if (vaddr.kind == Kind::vgpr) for (int l = 0; l < kLanes; ++l) address[l] = u32(base + v[l]);
        else for (int l = 0; l < kLanes; ++l) address[l] = u32(base);
        return;
    }
    const u32 *v = w.v[vaddr.index].lane;
    for (int l = 0; l < kLanes; ++l) address[l] = (u64(v[l]) | u64(v[l + kLanes]) << 32) + u64(offset);
}

// A wave that keeps reading what others may write gives its turn away now and then.
const Inst *after_poll(Wave &w, const Inst *i) {
    if (++w.polls < 64) return i + 1;
    w.stop = Stop::yielded;
    w.next = i + 1;
    return nullptr;
}

template <Space S, Form F> const Inst *load(Wave &w, const Inst *i) {
    Access a;
    a.exec = w.exec();
    if (!a.exec) return i + 1;
    alignas(64) u64 address[kLanes];
    addresses<S>(w, i, i->o[1], i->o[2], address);
    a.row = int(i->o[0].index);
    resolve(w, i, S, address, form_bytes(F), false, a);
    load_lanes<F>(w.v[i->o[0].index].lane, a);
    return i->flags & (kGlc | kCoherent) ? after_poll(w, i) : i + 1;
}
template <Space S, Form F> const Inst *store(Wave &w, const Inst *i) {
    Access a;
    a.exec = w.exec();
    if (!a.exec) return i + 1;
    alignas(64) u64 address[kLanes];
    addresses<S>(w, i, i->o[0], i->o[2], address);
    a.row = int(i->o[1].index);
    resolve(w, i, S, address, form_bytes(F), true, a);
    store_lanes_to<F>(w.v[i->o[1].index].lane, a);
    if constexpr (S != Space::scratch) ++w.stores;
    return i + 1;
}
template <Space S> const Inst *atomic(Wave &w, const Inst *i) {
    bool returns = i->flags & kGlc;
    const Operand *o = i->o + (returns ? 1 : 0);
    Access a;
    a.exec = w.exec();
    if (!a.exec) return i + 1;
    alignas(64) u64 address[kLanes];
    addresses<S>(w, i, o[0], o[2], address);
    const AtomicRow &row = atomic_rows()[i->op->info];
    a.row = int(o[1].index);
    resolve(w, i, S, address, row.bytes, true, a);
    u64 stores = w.stores;
    row.run(w, i, a, w.v[o[1].index].lane, returns ? w.v[i->o[0].index].lane : nullptr);
    return w.stores == stores ? after_poll(w, i) : i + 1;
}

// Global memory straight to LDS: lane l's data goes to M0 + offset + size * l.
template <Form F> const Inst *load_lds(Wave &w, const Inst *i) {
    Access from, to;
    from.exec = to.exec = w.exec();
    if (!from.exec) return i + 1;
    constexpr u32 bytes = form_bytes(F) < 4 ? 4 : form_bytes(F);
    alignas(64) u64 address[kLanes], lds[kLanes];
    addresses<Space::global>(w, i, i->o[0], i->o[1], address);
    resolve(w, i, Space::global, address, form_bytes(F), false, from);
    for (int l = 0; l < kLanes; ++l) lds[l] = (w.s[kM0] & 0x3ffff) + i->offset + bytes * l;
    resolve(w, i, Space::lds, lds, bytes, true, to);
    Row rows[4];
    from.exec &= to.exec;
    load_lanes<F>(rows[0].lane, from);
    constexpr Form out = form_bytes(F) < 4 ? Form::b32_ : F;
    to.exec = from.exec;
    store_lanes_to<out>(rows[0].lane, to);
    return i + 1;
}

struct Data {
    const char *old_name, *new_name;
    Run global, flat, scratch;
};
template <Form F> Data loads(const char *o, const char *n) {
    return {o, n, load<Space::global, F>, load<Space::flat, F>, load<Space::scratch, F>};
}
template <Form F> Data stores(const char *o, const char *n) {
    return {o, n, store<Space::global, F>, store<Space::flat, F>, store<Space::scratch, F>};
}

// Scalar loads: base SGPR pair, offset as constant, SGPR or both.
u64 scalar_address(Wave &w, const Inst *i) {
    u64 address = read64(w, i->o[1]) & ~3ull;
    if (i->n > 2 && i->o[2].kind != Kind::off) {
        if (i->o[2].kind == Kind::constant) address += u64(i64(i32(read32(w, i->o[2]))));
        else address += read32(w, i->o[2]);
    }
    return address + u64(i64(i->offset));
}
template <int N> const Inst *s_load(Wave &w, const Inst *i) {
    const u8 *p = resolve_scalar(w, i, scalar_address(w, i), 4 * N, false);
    if (!p) return i + 1;
    u32 index = i->o[0].index;
    if (index + N <= kSgprs) std::memcpy(&w.s[index], p, 4 * N);
    return i + 1;
}
template <class T> const Inst *s_load_narrow(Wave &w, const Inst *i) {
    u64 address = read64(w, i->o[1]) + u64(i64(i->offset));
    if (i->n > 2) address += i->o[2].kind == Kind::constant ? u64(i64(i32(read32(w, i->o[2])))) : read32(w, i->o[2]);
    const u8 *p = resolve_scalar(w, i, address, sizeof(T), false);
    if (p) write32(w, i->o[0], u32(i32(peek<T>(p))));
    return i + 1;
}
template <int N> const Inst *s_store(Wave &w, const Inst *i) {
    u8 *p = resolve_scalar(w, i, scalar_address(w, i), 4 * N, true);
    if (p) std::memcpy(p, &w.s[i->o[0].index], 4 * N);
    return i + 1;
}
template <int N> const Inst *s_buffer_load(Wave &w, const Inst *i) {
    const u32 *r = &w.s[i->o[1].index];
    u64 base = (u64(r[1] & 0xffff) << 32 | r[0]) & ~3ull;
    u32 stride = r[1] >> 16 & 0x3fff, records = r[2];
    u64 offset = u64(i64(i->offset));
    if (i->n > 2) offset += read32(w, i->o[2]);
    offset &= ~3ull;
    u64 size = stride ? u64(stride) * records : records;
    for (int k = 0; k < N; ++k) {
        u32 v = 0;
        if (offset + 4 * k + 4 <= size) {
            const u8 *p = resolve_scalar(w, i, base + offset + 4 * k, 4, false);
            if (p) v = peek<u32>(p);
        }
        w.s[(i->o[0].index + k) & 127] = v;
    }
    return i + 1;
}
template <class T> const Inst *s_buffer_load_narrow(Wave &w, const Inst *i) {
    const u32 *r = &w.s[i->o[1].index];
    u64 base = u64(r[1] & 0xffff) << 32 | r[0];
    u32 stride = r[1] >> 16 & 0x3fff, records = r[2];
    u64 offset = u64(i64(i->offset));
    if (i->n > 2) offset += read32(w, i->o[2]);
    u32 v = 0;
    if (offset + sizeof(T) <= (stride ? u64(stride) * records : records))
        if (const u8 *p = resolve_scalar(w, i, base + offset, sizeof(T), false)) v = u32(i32(peek<T>(p)));
    write32(w, i->o[0], v);
    return i + 1;
}
const Inst *s_cache(Wave &, const Inst *i) { return i + 1; }

} // namespace

Table memory_opcodes() {
    Table t;
    const Data load_rows[] = {
        loads<Form::u8_>("ubyte", "u8"), loads<Form::i8_>("sbyte", "i8"), loads<Form::u16_>("ushort", "u16"),
        loads<Form::i16_>("sshort", "i16"), loads<Form::b32_>("dword", "b32"), loads<Form::b64_>("dwordx2", "b64"),
        loads<Form::b96_>("dwordx3", "b96"), loads<Form::b128_>("dwordx4", "b128"), loads<Form::lo_u8>("ubyte_d16", "d16_u8"),
        loads<Form::hi_u8>("ubyte_d16_hi", "d16_hi_u8"), loads<Form::lo_i8>("sbyte_d16", "d16_i8"),
        loads<Form::hi_i8>("sbyte_d16_hi", "d16_hi_i8"), loads<Form::lo_16>("short_d16", "d16_b16"),
        loads<Form::hi_16>("short_d16_hi", "d16_hi_b16")};
    const Data store_rows[] = {
        stores<Form::u8_>("byte", "b8"), stores<Form::hi_u8>("byte_d16_hi", "d16_hi_b8"), stores<Form::u16_>("short", "b16"),
        stores<Form::hi_16>("short_d16_hi", "d16_hi_b16"), stores<Form::b32_>("dword", "b32"), stores<Form::b64_>("dwordx2", "b64"),
        stores<Form::b96_>("dwordx3", "b96"), stores<Form::b128_>("dwordx4", "b128")};
    auto add = [&](const char *space, const char *verb, const char *name, Run run, u32 flags) {
        t.push_back({intern(std::string(space) + verb + name), Unit::memory, run, nullptr, {}, flags});
    };
    for (const Data &d : load_rows)
        for (const char *name : {d.old_name, d.new_name}) {
            add("global_", "load_", name, d.global, kLoad);
            add("flat_", "load_", name, d.flat, kLoad);
            add("scratch_", "load_", name, d.scratch, kLoad);
        }
    for (const Data &d : store_rows)
        for (const char *name : {d.old_name, d.new_name}) {
            add("global_", "store_", name, d.global, kStore);
            add("flat_", "store_", name, d.flat, kStore);
            add("scratch_", "store_", name, d.scratch, kStore);
        }
    const auto &atomics = atomic_rows();
    for (u32 k = 0; k < atomics.size(); ++k) {
        u32 flags = kAtomic | (atomics[k].is_float ? u32(kFloatAtomic) : 0);
        std::vector<std::string> suffixes = {atomics[k].name};
        if (std::string(atomics[k].modern) != atomics[k].name) suffixes.push_back(atomics[k].modern);
        for (const std::string &n : suffixes) {
            t.push_back({intern("global_atomic_" + n), Unit::memory, atomic<Space::global>, nullptr, {}, flags, "exact", k});
            t.push_back({intern("flat_atomic_" + n), Unit::memory, atomic<Space::flat>, nullptr, {}, flags, "exact", k});
        }
    }
    auto lds = [&](const char *name, Run run) { t.push_back({name, Unit::memory, run, nullptr, {}, kLoad | kStore}); };
    lds("global_load_lds_ubyte", load_lds<Form::u8_>);
    lds("global_load_lds_sbyte", load_lds<Form::i8_>);
    lds("global_load_lds_ushort", load_lds<Form::u16_>);
    lds("global_load_lds_sshort", load_lds<Form::i16_>);
    lds("global_load_lds_dword", load_lds<Form::b32_>);
    lds("global_load_lds_dwordx3", load_lds<Form::b96_>);
    lds("global_load_lds_dwordx4", load_lds<Form::b128_>);
    for (const char *name : {"buffer_wbl2", "buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv", "buffer_gl1_inv",
                             "global_inv", "global_wb", "global_wbinv", "buffer_invl2"})
        t.push_back({name, Unit::control, s_cache, nullptr, {}, kHint});
    return t;
}

Table scalar_memory_opcodes() {
    Table t;
    auto add = [&](const char *name, Run run, u32 flags = kLoad) { t.push_back({name, Unit::smem, run, nullptr, {}, flags}); };
    add("s_load_dword", s_load<1>); add("s_load_dwordx2", s_load<2>); add("s_load_dwordx4", s_load<4>);
    add("s_load_dwordx8", s_load<8>); add("s_load_dwordx16", s_load<16>);
    add("s_load_b32", s_load<1>); add("s_load_b64", s_load<2>); add("s_load_b96", s_load<3>); add("s_load_b128", s_load<4>);
    add("s_load_b256", s_load<8>); add("s_load_b512", s_load<16>);
    add("s_load_u8", s_load_narrow<u8>); add("s_load_i8", s_load_narrow<i8>);
    add("s_load_u16", s_load_narrow<u16>); add("s_load_i16", s_load_narrow<i16>);
    add("s_buffer_load_dword", s_buffer_load<1>); add("s_buffer_load_dwordx2", s_buffer_load<2>);
    add("s_buffer_load_dwordx4", s_buffer_load<4>); add("s_buffer_load_dwordx8", s_buffer_load<8>);
    add("s_buffer_load_dwordx16", s_buffer_load<16>);
    add("s_buffer_load_b32", s_buffer_load<1>); add("s_buffer_load_b64", s_buffer_load<2>); add("s_buffer_load_b96", s_buffer_load<3>);
    add("s_buffer_load_b128", s_buffer_load<4>); add("s_buffer_load_b256", s_buffer_load<8>); add("s_buffer_load_b512", s_buffer_load<16>);
    add("s_buffer_load_u8", s_buffer_load_narrow<u8>); add("s_buffer_load_i8", s_buffer_load_narrow<i8>);
    add("s_buffer_load_u16", s_buffer_load_narrow<u16>); add("s_buffer_load_i16", s_buffer_load_narrow<i16>);
    add("s_store_dword", s_store<1>, kStore); add("s_store_dwordx2", s_store<2>, kStore); add("s_store_dwordx4", s_store<4>, kStore);
    for (const char *name : {"s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_icache_inv", "s_gl1_inv",
                             "s_prefetch_inst", "s_prefetch_data", "s_prefetch_inst_pc_rel", "s_prefetch_data_pc_rel", "s_buffer_prefetch_data"})
        t.push_back({name, Unit::control, s_cache, nullptr, {}, kHint});
    return t;
}

} // namespace hipemu
