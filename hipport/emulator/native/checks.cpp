// The checks. Registers carry one bit per lane that says whether the value is defined; undefined values travel like in a memory
// checker and are reported only where they reach something that matters: memory outside of the workgroup, an address, a
// scalar branch. LDS words remember who touched them since which barrier.
#include "checks.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "shadow.h"

namespace hipemu {

std::string origin_text(const Wave &w) {
    const Shadow &s = *w.shadow;
    if (s.origin_record) return "it depends on " + w.group->launch->device->undefined.origin(s.origin_record);
    if (!s.origin) return "it depends on a register that was never written";
    return "it depends on LDS that was never written (offset " + std::to_string(s.origin_offset) + ", read by '" + s.origin->text + "')";
}

void report_undefined(Wave &w, const Inst *i, const char *what, u64 lanes) {
    report(w, i, "HP854", std::string(what) + " is not initialised: " + origin_text(w), lanes ? __builtin_ctzll(lanes) : 0, 0);
}

namespace {

// ---- definedness ------------------------------------------------------------------------------------------------------

u64 defined_lanes(const Wave &w, const Operand &o) {
    const Shadow &s = *w.shadow;
    if (o.kind == Kind::vgpr) {
        u64 d = s.defined[o.index];
        for (u32 k = 1; k < o.width && o.index + k < 512; ++k) d &= s.defined[o.index + k];
        return d;
    }
    if (o.kind == Kind::sgpr) {
        u32 u = s.undefined_scalar[o.index];
        for (u32 k = 1; k < o.width && o.index + k < kSgprs; ++k) u |= s.undefined_scalar[o.index + k];
        return u ? 0 : ~0ull;
    }
    if (o.kind == Kind::scc) return s.scc_undefined ? 0 : ~0ull;
    return ~0ull;
}

u64 undefined_mask(const Wave &w, const Operand &o) { // per bit
    if (o.kind != Kind::sgpr) return 0;
    u64 u = w.shadow->undefined_scalar[o.index];
    if (!w.wave32 && o.width > 1) u |= u64(w.shadow->undefined_scalar[o.index + 1]) << 32;
    return u;
}

void set_mask(Wave &w, const Operand &o, u64 undefined) {
    if (o.kind != Kind::sgpr) return;
    w.shadow->undefined_scalar[o.index] = u32(undefined);
    if (!w.wave32 || o.width > 1) w.shadow->undefined_scalar[o.index + 1] = u32(undefined >> 32);
}

void set_lanes(Wave &w, const Operand &o, u64 defined, u64 exec) {
    if (o.kind != Kind::vgpr) return;
    defined &= ~w.shadow->exec_undefined;
    for (u32 k = 0; k < o.width && o.index + k < 512; ++k) {
        u64 &d = w.shadow->defined[o.index + k];
        d = (d & ~exec) | (defined & exec);
    }
}

bool same(const Operand &a, const Operand &b) { return a.kind == b.kind && a.index == b.index && a.modifiers == b.modifiers && a.sdwa == b.sdwa; }

void vector_definedness(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const Op &op = *i->op;
    u64 exec = w.exec();
    if (op.types[0] == Type::pkf32) { // two results; each depends on the word of a source that op_sel picks for it
        bool moves = op.flags & kOwnModifiers; // v_pk_mov_b32: low from the first source, high from the second
        u64 word[2] = {~0ull, ~0ull};
        for (int half = 0; half < 2; ++half)
            for (int k = 1; k <= i->n; ++k) {
                if (moves && k != half + 1) continue;
                Operand o = i->o[k];
                bool high = moves ? i->op_sel >> half & 1 : (half ? i->op_sel_hi : i->op_sel) >> (k - 1) & 1;
                if (o.width > 1 && high) ++o.index;
                o.width = 1;
                word[half] &= defined_lanes(w, o);
            }
        for (int half = 0; half < 2; ++half) {
            Operand o = i->o[0];
            o.index += half;
            o.width = 1;
            set_lanes(w, o, word[half], exec);
        }
        return;
    }
    u64 d = ~0ull;
    if (op.shape == Shape::cndmask) {
        u64 mask = read_mask(w, i->o[5]);
        d = (mask & defined_lanes(w, i->o[2])) | (~mask & defined_lanes(w, i->o[1]));
        d &= ~undefined_mask(w, i->o[5]);
    } else {
        for (int k = 1; k <= i->n; ++k) {
            u64 source = defined_lanes(w, i->o[k]);
            if (i->dpp && k == 1 && source != ~0ull) {
                u64 moved = 0;
                for (int l = 0; l < kLanes; ++l)
                    if (i->dpp[l] == 255 || source >> i->dpp[l] & 1) moved |= 1ull << l;
                source = moved;
            }
            d &= source;
        }
        if (i->o[5].kind != Kind::none) d &= ~undefined_mask(w, i->o[5]);
        if (op.shape == Shape::cancels && i->n == 2 && same(i->o[1], i->o[2])) d = ~0ull; // x - x
    }
    if (op.types[0] == Type::mask) {
        u64 undefined = ~d & exec;
        if (op.flags & kCompareExec) s.exec_undefined = undefined;
        set_mask(w, i->o[4], undefined);
        return;
    }
    if (i->dpp && i->dpp_rows != 0xff) { // rows that are off keep the old value
        u64 on = 0;
        for (int l = 0; l < kLanes; ++l)
            if ((i->dpp_rows >> (l >> 4) & 1) && (i->dpp_rows >> 4 >> (l >> 2 & 3) & 1)) on |= 1ull << l;
        exec &= on;
    }
    u64 low_word = ~0ull;
    if (op.shape == Shape::low_word && d != ~0ull)
        for (int k = 1; k <= i->n; ++k) {
            Operand o = i->o[k];
            o.width = 1;
            low_word &= defined_lanes(w, o);
        }
    set_lanes(w, i->o[0], d, exec);
    if (op.shape == Shape::low_word && d != ~0ull) {
        // The low word of a sum, product or left shift does not depend on the high words.
        Operand o = i->o[0];
        o.width = 1;
        set_lanes(w, o, low_word, exec);
    }
    if (i->o[4].kind == Kind::sgpr) set_mask(w, i->o[4], ~d & exec);
}

void scalar_definedness(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    auto bits = [&](const Operand &o) -> u64 {
        if (o.kind != Kind::sgpr) return o.kind == Kind::scc && s.scc_undefined ? ~0ull : 0;
        if (o.index == kExec) return s.exec_undefined;
        u64 u = s.undefined_scalar[o.index];
        if (o.width > 1) u |= u64(s.undefined_scalar[o.index + 1]) << 32;
        return u;
    };
    u64 a = i->n > 1 ? bits(i->o[1]) : 0, b = i->n > 2 ? bits(i->o[2]) : 0, result;
    auto value = [&](const Operand &o) { return o.width > 1 ? read64(w, o) : u64(read32(w, o)); };
    Shape shape = i->op->shape;
    switch (shape) {
    case Shape::compare: s.scc_undefined = bits(i->o[0]) | a; return;
    case Shape::logical_and: // a known 0 decides
        result = a | b ? (a & b) | (a & value(i->o[2])) | (b & value(i->o[1])) : 0;
        break;
    case Shape::logical_or: result = a | b ? (a & b) | (a & ~value(i->o[2])) | (b & ~value(i->o[1])) : 0; break;
    case Shape::and_saveexec:
        result = s.exec_undefined;
        s.exec_undefined = (s.exec_undefined | a) & (w.exec() | s.exec_undefined); // lanes that are off stay off
        break;
    case Shape::saveexec:
        result = s.exec_undefined;
        s.exec_undefined |= a;
        break;
    case Shape::select: result = s.scc_undefined ? ~0ull : w.scc ? a : b; break;
    case Shape::bitwise: case Shape::keeps_scc: result = a | b; break;
    default:
        result = a | b ? ~0ull : 0;
        if (strstr(i->op->name, "addc") || strstr(i->op->name, "subb") || strstr(i->op->name, "_ci_")) result |= s.scc_undefined ? ~0ull : 0;
    }
    if (shape != Shape::keeps_scc && shape != Shape::select) s.scc_undefined = result != 0;
    const Operand &d = i->o[0];
    if (d.kind != Kind::sgpr) return;
    if (d.index == kExec) {
        s.exec_undefined = result;
        return;
    }
    s.undefined_scalar[d.index] = u32(result);
    if (d.width > 1) s.undefined_scalar[d.index + 1] = u32(result >> 32);
}

void memory_definedness(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const Op &op = *i->op;
    u64 exec = w.exec();
    if (op.unit == Unit::lds) {
        if (op.shape == Shape::bpermute) {
            u64 data = defined_lanes(w, i->o[2]) & exec, index_defined = defined_lanes(w, i->o[1]), d = 0;
            if ((data & index_defined & exec) == exec) {
                d = ~0ull;
            } else {
                const u32 *index = w.v[i->o[1].index].lane;
                for_lanes(exec, [&](int l) {
                    u32 from = (index[l] + u32(i->offset)) >> 2 & (w.wave32 ? 31 : 63);
                    if ((index_defined >> l & 1) && ((data >> from & 1) || !(exec >> from & 1))) d |= 1ull << l;
                });
            }
            set_lanes(w, i->o[0], d, exec);
            return;
        }
        if (op.flags & kLaneCross) {
            u64 all = ~0ull;
            for (int k = 1; k < i->n; ++k) all &= defined_lanes(w, i->o[k]) | ~exec;
            set_lanes(w, i->o[0], all, exec);
            return;
        }
        if (i->n == 0) return;
        if (op.shape != Shape::counter && i->n > 1) {
            u64 bad = exec & ~defined_lanes(w, i->o[op.returns ? 1 : 0]);
            if (bad) report_undefined(w, i, "an LDS address", bad);
        }
        if (op.returns) set_lanes(w, i->o[0], ~0ull, exec);
        return;
    }
    if (op.unit == Unit::smem) {
        if (i->n > 1 && !defined_lanes(w, i->o[1])) report_undefined(w, i, "the base address of a scalar load", 0);
        if (op.flags & kLoad && i->o[0].kind == Kind::sgpr)
            for (u32 k = 0; k < i->o[0].width && i->o[0].index + k < kSgprs; ++k) s.undefined_scalar[i->o[0].index + k] = 0;
        return;
    }
    bool returns = writes_register(i), buffer = op.shape == Shape::buffer;
    if (op.shape == Shape::image) {
        for (u32 k = 0; k < i->c; ++k)
            if (u64 bad = exec & ~s.defined[i->dpp[k]]) { report_undefined(w, i, "an image coordinate", bad); break; }
        if (op.flags & (kStore | kAtomic))
            if (u64 bad = exec & ~defined_lanes(w, i->o[0])) report_undefined(w, i, "a value stored to an image", bad);
        if (returns) set_lanes(w, i->o[0], ~0ull, exec);
        return;
    }
    const Operand &address = buffer ? i->o[1] : i->o[returns ? 1 : 0];
    u64 bad = exec & ~defined_lanes(w, address);
    if (bad) report_undefined(w, i, "a memory address", bad);
    if (i->n > 2 && !buffer && i->o[2].kind == Kind::sgpr && !defined_lanes(w, i->o[2])) report_undefined(w, i, "a memory address", 0);
    if (returns) set_lanes(w, i->o[0], ~0ull, exec);
}

void lane_definedness(Wave &w, const Inst *i) { // vector opcodes without a lane function
    Shadow &s = *w.shadow;
    u64 exec = w.exec();
    switch (i->op->shape) {
    case Shape::readfirstlane: case Shape::readlane: {
        u64 d = defined_lanes(w, i->o[1]);
        u32 lane = i->op->shape == Shape::readfirstlane ? (exec ? u32(__builtin_ctzll(exec)) : 0) : read32(w, i->o[2]) & 63;
        if (i->o[0].kind == Kind::sgpr) s.undefined_scalar[i->o[0].index] = d >> lane & 1 ? 0 : ~0u;
        return;
    }
    case Shape::writelane: set_lanes(w, i->o[0], defined_lanes(w, i->o[1]) ? ~0ull : 0, 1ull << (read32(w, i->o[2]) & 63)); return;
    case Shape::swap: std::swap(s.defined[i->o[0].index], s.defined[i->o[1].index]); return;
    case Shape::permlane32_swap: {
        u64 &d = s.defined[i->o[0].index], &x = s.defined[i->o[1].index];
        u64 high = d >> 32, low = x & 0xffffffffu;
        d = (d & 0xffffffffu) | low << 32;
        x = (x & ~0xffffffffull) | high;
        return;
    }
    default: {
        u64 d = ~0ull;
        for (int k = 1; k < i->n; ++k) d &= defined_lanes(w, i->o[k]);
        set_lanes(w, i->o[0], d, exec);
    }
    }
}

// A result of WMMA depends on its row of A and its column of B, both held by the two lanes of equal number in each half of
// the wavefront (RDNA3 and RDNA4 ISA manuals, WMMA layouts). Packed and sparse results: all or nothing.
void wmma_definedness(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    u64 a = defined_lanes(w, i->o[1]), b = defined_lanes(w, i->o[2]);
    if (!w.wave32 || i->o[0].width != 8 || strstr(i->op->name, "swmmac")) {
        u64 d = a & b & defined_lanes(w, i->o[3]);
        set_lanes(w, i->o[0], d == ~0ull || (w.wave32 && u32(d) == ~0u) ? ~0ull : 0, ~0ull);
        return;
    }
    u32 rows = u32(~a) | u32(~a) >> 16, columns = (u32(~b) | u32(~b) >> 16) & 0xffff;
    bool halves = w.group->target->generation == Generation::gfx12; // rows 8 to 15 in the upper half, else the odd ones
    u64 result[8];
    for (u32 r = 0; r < 8; ++r) {
        result[r] = i->o[3].kind == Kind::vgpr ? s.defined[i->o[3].index + r] : defined_lanes(w, i->o[3]);
        for (u32 half = 0; half < 2; ++half) {
            u32 row = halves ? r + 8 * half : 2 * r + half;
            result[r] &= ~(u64(rows >> row & 1 ? 0xffff : columns) << 16 * half);
        }
    }
    for (u32 r = 0; r < 8; ++r) s.defined[i->o[0].index + r] = result[r] & ~s.exec_undefined;
}

void definedness(Wave &w, const Inst *i) {
    const Op *op = i->op;
    if (!op) {
        if (i->second) { // both halves read before either writes
            Shadow &s = *w.shadow;
            const Inst *x = i->second, *y = x + 1;
            if (x->op && y->op && x->lane && y->lane) {
                u64 old[2] = {s.defined[x->o[0].index], 0};
                vector_definedness(w, x);
                u64 x_result = s.defined[x->o[0].index];
                s.defined[x->o[0].index] = old[0];
                vector_definedness(w, y);
                s.defined[x->o[0].index] = x_result;
            }
        }
        return;
    }
    switch (op->unit) {
    case Unit::valu:
        if (i->lane) vector_definedness(w, i); else if (i->n) lane_definedness(w, i);
        break;
    case Unit::salu: scalar_definedness(w, i); break;
    case Unit::matrix:
        if (op->shape != Shape::wmma) matrix_definedness(i, w.shadow->defined);
        else wmma_definedness(w, i);
        break;
    case Unit::smem: case Unit::lds: case Unit::memory: memory_definedness(w, i); break;
    case Unit::control: {
        Shadow &s = *w.shadow;
        if (op->shape == Shape::branch_scc) {
            if (s.scc_undefined) { report_undefined(w, i, "the condition of a branch", 0); s.scc_undefined = false; }
        } else if (op->shape == Shape::branch_vcc) {
            Operand vcc;
            vcc.kind = Kind::sgpr;
            vcc.index = kVcc;
            vcc.width = 2;
            u64 undefined = undefined_mask(w, vcc);
            // Known lanes that are set decide the branch whatever the others are.
            if (undefined && !(w.vcc() & ~undefined)) report_undefined(w, i, "the condition of a branch", undefined);
        } else if (op->shape == Shape::plain && i->n && i->o[0].kind == Kind::sgpr) {
            for (u32 k = 0; k < i->o[0].width; ++k) s.undefined_scalar[i->o[0].index + k] = 0; // getpc, getreg, memtime, swappc
        }
        break;
    }
    }
}

// ---- waits ------------------------------------------------------------------------------------------------------------

void landed(Shadow &s, const Pending &p) {
    u32 first = p.first >= 1024 ? p.first - 1024 + kScalarRegister : p.first;
    for (u32 r = 0; r < p.count; ++r) --s.busy[first + r];
    s.busy_registers -= p.count;
}

void retire(Shadow &s, Counter c, int limit) {
    auto &queue = s.pending[c];
    if (limit < 0 || queue.size() <= size_t(limit)) return;
    if (limit > 0)
        for (const Pending &p : queue)
            if (p.scalar) return; // out of order: only waiting for all helps
    size_t n = queue.size() - size_t(limit);
    for (size_t k = 0; k < n; ++k) landed(s, queue[k]);
    queue.erase(queue.begin(), queue.begin() + i64(n));
}

// gfx12 counts LDS (ds) and scalar loads (km) apart.
void retire_some(Shadow &s, bool scalar, int limit) {
    auto &queue = s.pending[kLgkm];
    if (limit < 0 || (scalar && limit > 0)) return;
    i64 n = std::count_if(queue.begin(), queue.end(), [&](const Pending &p) { return p.scalar == scalar; }) - limit;
    auto kept = queue.begin();
    for (const Pending &p : queue) {
        if (p.scalar == scalar && n-- > 0) landed(s, p);
        else *kept++ = p;
    }
    queue.erase(kept, queue.end());
}

void wait(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const i8 *limit = i->plan->limit;
    retire(s, kVm, limit[kVm]);
    retire(s, kSamples, limit[kSamples]);
    if (w.group->target->generation != Generation::gfx12) retire(s, kLgkm, limit[kLgkm]);
    else if (std::string_view(i->op->name) == "s_wait_idle") retire(s, kLgkm, 0);
    else retire_some(s, std::string_view(i->op->name) == "s_wait_kmcnt", limit[kLgkm]);
}

void report_used_too_early(Wave &w, const Inst *i, u32 r) {
    std::string name = r >= kScalarRegister ? "s" + std::to_string(r - kScalarRegister) : (r >= 256 ? "a" : "v") + std::to_string(r % 256);
    report(w, i, "HP857", "register " + name + " is used before the wait for the load that fills it", 0, r >= kScalarRegister ? r - kScalarRegister : r);
}

// A load into a register that only loads of the same kind are still to fill: they return in order, so the last one wins, and
// the second half of a register (d16_hi) may follow the first without a wait (LLVM AMDGPU, memory counters).
bool arrives_in_order(const Wave &w, const Inst *i, u32 r) {
    const Op *op = i->op;
    if (!op || (op->unit != Unit::memory && op->unit != Unit::lds) || op->name[0] == 'f' || op->shape == Shape::image) return false;
    if (!writes_register(i) || i->o[0].kind != Kind::vgpr || r < i->o[0].index || r >= i->o[0].index + i->o[0].width) return false;
    for (int k = 1; k < i->n; ++k)
        if (i->o[k].kind == Kind::vgpr && r >= i->o[k].index && r < i->o[k].index + i->o[k].width) return false; // an address or data
    u32 same = 0;
    for (const Pending &p : w.shadow->pending[op->unit == Unit::memory ? kVm : kLgkm]) same += !p.scalar && r >= p.first && r < u32(p.first) + p.count;
    return same == w.shadow->busy[r];
}

void check_registers_arrived(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const CheckPlan &p = *i->plan;
    u32 any = 0;
    for (u32 k = 0; k < p.n_registers; ++k) any |= s.busy[p.registers[k]];
    if (__builtin_expect(any != 0, 0))
        for (u32 k = 0; k < p.n_registers; ++k)
            if (s.busy[p.registers[k]] && !arrives_in_order(w, i, p.registers[k])) return report_used_too_early(w, i, p.registers[k]);
    if (i->op && i->op->shape == Shape::image)
        for (u32 k = 0; k < i->c; ++k)
            if (s.busy[i->dpp[k]]) return report_used_too_early(w, i, i->dpp[k]);
}

void start_load(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const Op *op = i->op;
    bool smem = op->unit == Unit::smem, returns = writes_register(i), flat = op->name[0] == 'f';
    auto push = [&](Counter c) {
        Pending p{0, 0, smem};
        if (returns && i->o[0].kind != Kind::none && !(i->flags & kLds) && !((op->flags & kLoad) && (op->flags & kStore))) {
            p.first = u16(smem ? 1024 + i->o[0].index : i->o[0].index);
            p.count = i->o[0].width;
            for (u32 r = 0; r < p.count; ++r) ++s.busy[(smem ? kScalarRegister + i->o[0].index : i->o[0].index) + r];
            s.busy_registers += p.count;
        }
        s.pending[c].push_back(p);
    };
    if (op->unit != Unit::memory) return push(kLgkm);
    bool gfx12 = w.group->target->generation == Generation::gfx12;
    bool counted = (op->flags & kLoad) || returns || w.group->target->generation < Generation::gfx11; // stores have their own counter later
    std::string_view name(op->name);
    bool sampled = gfx12 && (name.starts_with("image_sample") || name.starts_with("image_gather4"));
    if (counted) push(sampled ? kSamples : kVm);
    if (flat && counted) push(kLgkm);
}

// The usual case: everything that is read is defined, so everything that is written becomes defined.
bool usual_definedness(Wave &w, const CheckPlan &p) {
    Shadow &s = *w.shadow;
    if (p.kind == CheckPlan::unusual || s.exec_undefined || (p.reads_scc && s.scc_undefined)) return false;
    u64 exec = w.exec(), have = ~0ull;
    u32 undefined = 0;
    const u16 *r = p.registers;
    for (u32 k = 0; k < p.n_rows; ++k) have &= s.defined[*r++];
    for (u32 k = 0; k < p.n_scalars; ++k) undefined |= s.undefined_scalar[*r++ - kScalarRegister];
    if (((p.whole_rows ? w.full() : exec) & ~have) | undefined) return false;
    if (p.needs_lane && !exec) return false;
    u64 fills = p.fills_rows ? ~0ull : exec;
    for (int which = 0; which < 2; ++which) {
        for (u32 k = 0; k < p.out_rows[which]; ++k) s.defined[p.out_row[which] + k] |= fills;
        for (u32 k = 0; k < p.out_scalars[which]; ++k) s.undefined_scalar[p.out_scalar[which] + k] = 0;
    }
    if (p.writes_scc) s.scc_undefined = false;
    return true;
}

} // namespace

// ---- entry points -----------------------------------------------------------------------------------------------------

void report(Wave &w, const Inst *i, const char *id, const std::string &message, int lane, u64 address) {
    w.group->launch->report(&w, i, id, message, lane, address);
}

void global_out_of_bounds(Wave &w, const Inst *i, u64 address, u32 bytes, int lane, bool store) {
    const Arena &arena = w.group->launch->device->arena;
    char text[200];
    bool freed = arena.freed(address);
    Allocation near;
    std::string where = freed ? "which was freed" : "which is outside of every allocation";
    for (u64 back = 1; !freed && back <= 256 && where.back() == 'n'; back += 16)
        if (arena.find(address - back, near)) {
            snprintf(text, sizeof text, "which is %llu bytes past the end of an allocation of %llu bytes",
                     static_cast<unsigned long long>(address - near.base - near.bytes), static_cast<unsigned long long>(near.bytes));
            where = text;
        }
    snprintf(text, sizeof text, "%s of %u bytes %s 0x%llx, ", store ? "store" : "load", bytes, store ? "to" : "from", static_cast<unsigned long long>(address));
    report(w, i, freed ? "HP851" : "HP850", text + where, lane, address);
}

void before_instruction(Wave &w, const Inst *i) {
    const CheckPlan *p = i->plan;
    if (!p) return; // run_missing says what is wrong
    if (w.checks & HIPEMU_CHECK_WAITCNT) {
        if (p->kind == CheckPlan::wait) wait(w, i);
        else if (w.shadow->busy_registers) check_registers_arrived(w, i);
        if (p->starts_load) start_load(w, i);
    }
    if ((w.checks & HIPEMU_CHECK_UNINITIALISED) && !usual_definedness(w, *p)) definedness(w, i);
    if (p->compares_exec) note_mask_test(w, i);
}

void start_shadow(Wave &w, u32 user_sgprs) {
    if (!w.checks) return;
    if (!w.shadow) w.shadow = new Shadow;
    Shadow &s = *w.shadow;
    std::memset(s.defined, 0, sizeof s.defined);
    s.defined[0] = w.exec();
    std::fill(std::begin(s.undefined_scalar), std::end(s.undefined_scalar), ~0u);
    for (u32 k = 0; k < user_sgprs; ++k) s.undefined_scalar[k] = 0;
    for (u32 k = kTtmp; k < kTtmp + 16; ++k) s.undefined_scalar[k] = 0;
    s.undefined_scalar[kExec] = s.undefined_scalar[kExec + 1] = s.undefined_scalar[kNull] = 0;
    s.scc_undefined = true;
    s.exec_undefined = 0;
    s.origin = nullptr;
    s.origin_record = 0;
    for (auto &queue : s.pending) queue.clear();
    std::memset(s.busy, 0, sizeof s.busy);
    s.busy_registers = 0;
    s.mask_differs = false;
    s.counts = {};
}

void release_shadow(Wave &w) {
    delete w.shadow;
    w.shadow = nullptr;
}

void finish_wave(Wave &w) {
    Workgroup &g = *w.group;
    if (!(w.checks & HIPEMU_CHECK_BARRIERS) || g.arrived == 0) return;
    for (Wave *x : g.waves)
        if (x->stop == Stop::barrier || x->stop == Stop::waiting) {
            report(*x, x->barrier_at, "HP856", "this wave waits at a barrier that wave " + std::to_string(w.index) + " never reaches: it has ended", 0, 0);
            return;
        }
}

void check_barrier(Workgroup &g) {
    if (!(g.launch->options.checks & HIPEMU_CHECK_BARRIERS)) return;
    const Inst *first = nullptr;
    Wave *first_wave = nullptr;
    u32 ended = 0;
    for (Wave *w : g.waves) {
        if (w->stop == Stop::finished) { ++ended; continue; }
        if (!first) { first = w->barrier_at; first_wave = w; }
        else if (w->barrier_at != first) {
            report(*w, w->barrier_at, "HP856", "waves of one workgroup meet at different barriers: wave " + std::to_string(w->index) + " here, wave " +
                   std::to_string(first_wave->index) + " at +0x" + [&] { char t[20]; snprintf(t, sizeof t, "%llx", static_cast<unsigned long long>(first->address - g.program->bias)); return std::string(t); }(), 0, 0);
            return;
        }
    }
    if (ended && first_wave)
        report(*first_wave, first, "HP856", "barrier of a workgroup of which " + std::to_string(ended) + " of " + std::to_string(g.waves.size()) + " waves have ended", 0, 0);
}

void barrier_opened(Workgroup &) {}

void collect_statistics(Wave &w, Statistics &into) {
    if (w.shadow) into.add(w.shadow->counts);
}

} // namespace hipemu
