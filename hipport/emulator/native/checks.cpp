// The checks. Registers carry one bit per lane that says whether the value is defined; undefined values travel like in a memory
// checker and are reported only where they reach something that matters: memory outside of the workgroup, an address, a
// scalar branch. LDS words remember who touched them since which barrier.
#include "checks.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>

#include "launch.h"

namespace hipemu {

namespace {

enum Counter : u8 { kVm, kLgkm, kVs, kSamples, kCounters }; // loads; LDS and scalar loads; stores (gfx10 and later); image samples (gfx12)

struct Pending {
    u16 first;  // row, or 1024 + SGPR
    u8 count;
    bool scalar; // returns out of order
};

} // namespace

struct Shadow {
    u64 defined[512];
    u32 undefined_scalar[kSgprs + 4]; // bits
    bool scc_undefined = false;
    u64 exec_undefined = 0;
    // where an undefined value came from, for the message
    const Inst *origin = nullptr;
    u64 origin_offset = 0;
    u8 origin_record = 0;
    // outstanding loads by counter, oldest first
    std::vector<Pending> pending[kCounters];
    u8 busy[512 + kSgprs + 4]; // loads outstanding per register
    Statistics counts;
};

namespace {

// Who touched a dword of LDS since which barrier: tag = epoch << 8 | wave + 1. kMany: several waves; kMixed: different bytes
// by different waves, which is not looked at further.
struct LdsWord {
    u32 write_tag = 0, read_tag = 0;
    u8 write_bytes = 0, read_bytes = 0, atomic = 0;
};
constexpr u32 kMany = 0xff, kMixed = 0xfe;

struct LdsShadow {
    std::vector<LdsWord> words;
    std::vector<u8> defined; // per byte, 1: written
    u32 epoch_base = 1;      // grows from workgroup to workgroup, so that words need no clearing
    u32 last_epoch = 0;
};

LdsShadow &lds_shadow(Workgroup &g) { return *static_cast<LdsShadow *>(g.lds_shadow); }

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

std::string origin_text(const Wave &w) {
    const Shadow &s = *w.shadow;
    if (s.origin_record) return "it depends on " + w.group->launch->device->undefined.origin(s.origin_record);
    if (!s.origin) return "it depends on a register that was never written";
    return "it depends on LDS that was never written (offset " + std::to_string(s.origin_offset) + ", read by '" + s.origin->text + "')";
}

void report_undefined(Wave &w, const Inst *i, const char *what, u64 lanes) {
    report(w, i, "HP854", std::string(what) + " is not initialised: " + origin_text(w), lanes ? __builtin_ctzll(lanes) : 0, 0);
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

bool writes_register(const Inst *i) { return i->op->returns || ((i->op->flags & kAtomic) && i->op->unit == Unit::memory && (i->flags & kGlc)); }

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
        else {
            u64 d = defined_lanes(w, i->o[1]) & defined_lanes(w, i->o[2]) & defined_lanes(w, i->o[3]);
            set_lanes(w, i->o[0], d == ~0ull || (w.wave32 && u32(d) == ~0u) ? ~0ull : 0, ~0ull);
        }
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

struct Wait {
    int limit[kCounters] = {-1, -1, -1, -1};
};

Wait parse_wait(const Inst *i, bool gfx10) {
    Wait w;
    std::string_view text(i->text);
    size_t space = text.find(' ');
    std::string_view name = text.substr(0, space), rest = space == text.npos ? "" : text.substr(space + 1);
    auto number_after = [&](std::string_view key) {
        size_t at = rest.find(key);
        return at == rest.npos ? -1 : atoi(rest.data() + at + key.size());
    };
    auto plain = [&] { return int(strtol(rest.data(), nullptr, 0)); };
    if (name == "s_waitcnt") {
        w.limit[kVm] = number_after("vmcnt(");
        w.limit[kLgkm] = number_after("lgkmcnt(");
        if (rest.find('(') == rest.npos) w.limit[kVm] = w.limit[kLgkm] = 0; // raw immediate: not decoded, assume all
        if (!gfx10) w.limit[kVs] = -1;
    } else if (name == "s_wait_loadcnt" || name == "s_waitcnt_vmcnt") {
        w.limit[kVm] = plain();
    } else if (name == "s_wait_samplecnt") {
        w.limit[kSamples] = plain();
    } else if (name == "s_wait_dscnt" || name == "s_wait_kmcnt" || name == "s_waitcnt_lgkmcnt") {
        w.limit[kLgkm] = plain();
    } else if (name == "s_wait_loadcnt_dscnt") {
        int v = plain();
        w.limit[kVm] = v >> 8 & 63;
        w.limit[kLgkm] = v & 63;
    } else if (name == "s_wait_idle") {
        w.limit[kVm] = w.limit[kLgkm] = w.limit[kSamples] = 0;
    }
    return w;
}

void retire(Shadow &s, Counter c, int limit) {
    auto &queue = s.pending[c];
    if (limit < 0 || queue.size() <= size_t(limit)) return;
    if (limit > 0)
        for (const Pending &p : queue)
            if (p.scalar) return; // out of order: only waiting for all helps
    size_t n = queue.size() - size_t(limit);
    for (size_t k = 0; k < n; ++k)
        for (u32 r = 0; r < queue[k].count; ++r) --s.busy[(queue[k].first >= 1024 ? queue[k].first - 1024 + 512 : queue[k].first) + r];
    queue.erase(queue.begin(), queue.begin() + i64(n));
}

void check_waits(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    const Op *op = i->op;
    bool any = !s.pending[kVm].empty() || !s.pending[kLgkm].empty() || !s.pending[kSamples].empty();
    bool gfx12 = w.group->target->generation == Generation::gfx12;
    if (op && op->shape == Shape::wait && op->unit == Unit::control) {
        if (!any) return;
        static thread_local std::unordered_map<const Inst *, Wait> parsed;
        auto [at, fresh] = parsed.try_emplace(i);
        if (fresh) at->second = parse_wait(i, w.group->target->generation >= Generation::gfx11);
        retire(s, kVm, at->second.limit[kVm]);
        retire(s, kSamples, at->second.limit[kSamples]);
        // gfx12 counts LDS (ds) and scalar loads (km) apart.
        std::string_view name(op->name);
        if (gfx12 && name == "s_wait_kmcnt") {
            if (at->second.limit[kLgkm] == 0) {
                auto &queue = s.pending[kLgkm];
                for (const Pending &p : queue)
                    if (p.scalar) for (u32 r = 0; r < p.count; ++r) --s.busy[p.first - 1024 + 512 + r];
                queue.erase(std::remove_if(queue.begin(), queue.end(), [](const Pending &p) { return p.scalar; }), queue.end());
            }
        } else if (gfx12) {
            int limit = at->second.limit[kLgkm];
            if (limit >= 0) {
                auto &queue = s.pending[kLgkm];
                int n = int(std::count_if(queue.begin(), queue.end(), [](const Pending &p) { return !p.scalar; })) - limit;
                for (auto p = queue.begin(); p != queue.end() && n > 0;) {
                    if (p->scalar) { ++p; continue; }
                    for (u32 r = 0; r < p->count; ++r) --s.busy[p->first + r];
                    p = queue.erase(p);
                    --n;
                }
            }
        } else {
            retire(s, kLgkm, at->second.limit[kLgkm]);
        }
        return;
    }
    if (any) {
        auto busy = [&](const Operand &o) {
            u32 base = o.kind == Kind::vgpr ? o.index : o.kind == Kind::sgpr ? 512 + o.index : ~0u;
            if (base == ~0u) return false;
            u32 width = o.width ? o.width : 1;
            for (u32 k = 0; k < width && base + k < sizeof s.busy; ++k)
                if (s.busy[base + k]) return true;
            return false;
        };
        auto check = [&](const Inst *x) {
            for (u32 k = 0; x->op && x->op->shape == Shape::image && k < x->c; ++k)
                if (s.busy[x->dpp[k]]) {
                    report(w, i, "HP857", "register v" + std::to_string(x->dpp[k]) + " is used before the wait for the load that fills it", 0, x->dpp[k]);
                    return;
                }
            for (int k = 0; k < kMaxOperands; ++k)
                if (x->o[k].kind != Kind::none && busy(x->o[k])) {
                    bool scalar = x->o[k].kind == Kind::sgpr;
                    report(w, i, "HP857", std::string("register ") + (scalar ? "s" : x->o[k].index >= 256 ? "a" : "v") + std::to_string(x->o[k].index % 256) +
                           " is used before the wait for the load that fills it", 0, x->o[k].index);
                    return;
                }
        };
        if (i->second) { check(i->second); check(i->second + 1); }
        else if (op && !(op->flags & kHint)) check(i);
    }
    if (!op) return;
    // New outstanding results.
    bool memory = op->unit == Unit::memory, lds = op->unit == Unit::lds, smem = op->unit == Unit::smem;
    if (!memory && !lds && !smem) return;
    bool returns = writes_register(i), flat = op->name[0] == 'f';
    auto push = [&](Counter c, bool with_registers) {
        Pending p{0, 0, smem};
        if (returns && with_registers && i->o[0].kind != Kind::none && !(i->flags & kLds) && !((op->flags & kLoad) && (op->flags & kStore))) {
            p.first = u16(smem ? 1024 + i->o[0].index : i->o[0].index);
            p.count = i->o[0].width;
            for (u32 r = 0; r < p.count; ++r) ++s.busy[(smem ? 512 + i->o[0].index : i->o[0].index) + r];
        }
        s.pending[c].push_back(p);
    };
    if (memory) {
        bool counted = (op->flags & kLoad) || returns || w.group->target->generation < Generation::gfx11; // stores have their own counter later
        std::string_view name(op->name);
        bool sampled = gfx12 && (name.substr(0, 12) == "image_sample" || name.substr(0, 13) == "image_gather4");
        if (counted) push(sampled ? kSamples : kVm, true);
        if (flat && counted) push(kLgkm, true);
    } else {
        push(kLgkm, true);
    }
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
    if (w.checks & HIPEMU_CHECK_WAITCNT) check_waits(w, i);
    if (w.checks & HIPEMU_CHECK_UNINITIALISED) definedness(w, i);
}

namespace {

void count_banks(Wave &w, const u64 *address, u32 bytes, u64 exec) {
    Statistics &c = w.shadow->counts;
    ++c.lds_accesses;
    // A cycle serves as many lanes as fit 32 banks (64 on gfx950) of a dword each.
    u32 banks = w.group->target->generation == Generation::gfx950 ? 64 : 32;
    u32 dwords = std::max(1u, bytes / 4);
    int group = std::max(1, int(banks / dwords));
    for (int first = 0; first < (w.wave32 ? 32 : 64); first += group) {
        u64 lanes = exec >> first & (group >= 64 ? ~0ull : (1ull << group) - 1);
        u8 count[64] = {}, worst = 1;
        u32 words[64][32]; // distinct dwords per bank; equal ones are broadcast
        for_lanes(lanes, [&](int l) {
            for (u32 k = 0; k < dwords; ++k) {
                u32 word = u32(address[first + l] / 4) + k, bank = word & (banks - 1), n = count[bank];
                bool known = false;
                for (u32 j = 0; j < n; ++j) known |= words[bank][j] == word;
                if (known || n == 32) continue;
                words[bank][n] = word;
                worst = std::max(worst, ++count[bank]);
            }
        });
        c.lds_conflict_cycles += worst - 1;
    }
}

void count_segments(Wave &w, const u64 *address, u32 bytes, u64 exec) {
    Statistics &c = w.shadow->counts;
    ++c.global_accesses;
    u64 segments[128], starts[kLanes], previous = ~0ull;
    int n = 0, lanes = 0;
    for_lanes(exec, [&](int l) {
        starts[lanes++] = address[l];
        for (u64 s = address[l] >> 6; s <= (address[l] + bytes - 1) >> 6; ++s) {
            if (s == previous) continue;
            previous = s;
            if (n < 128) segments[n++] = s;
        }
    });
    std::sort(segments, segments + n);
    c.global_segments += u64(std::unique(segments, segments + n) - segments);
    std::sort(starts, starts + lanes);
    c.global_minimum += (u64(std::unique(starts, starts + lanes) - starts) * bytes + 63) / 64;
}

struct Race {
    int lane = -1;
    u32 other = 0; // wave + 1, or kMany
    u64 at = 0;
    bool other_wrote = false;
};

// One dword, any bytes of it.
void touch(LdsWord &x, u32 tag, u8 mask, bool store, bool atomic, int lane, u64 at, Race &race) {
    u32 epoch = tag >> 8, me = tag & 0xff;
    auto meets = [&](u32 other_tag, u8 bytes) {
        u32 other = other_tag & 0xff;
        return other_tag >> 8 == epoch && other != me && other != kMixed && (bytes & mask);
    };
    if (race.lane < 0) {
        if (meets(x.write_tag, x.write_bytes) && !(atomic && x.atomic) && !(x.atomic && !store)) race = {lane, x.write_tag & 0xff, at, true};
        else if (store && !atomic && meets(x.read_tag, x.read_bytes)) race = {lane, x.read_tag & 0xff, at, false};
    }
    auto note = [&](u32 &other_tag, u8 &bytes) {
        if (other_tag >> 8 != epoch) {
            other_tag = tag;
            bytes = mask;
        } else {
            if (other_tag != tag) other_tag = epoch << 8 | (mask == 15 && bytes == 15 ? kMany : kMixed);
            bytes |= mask;
        }
    };
    if (store) {
        x.atomic = u8(x.write_tag >> 8 == epoch ? x.atomic & u8(atomic) : u8(atomic));
        note(x.write_tag, x.write_bytes);
    } else {
        note(x.read_tag, x.read_bytes);
    }
}

void check_lds(Wave &w, const Inst *i, const u64 *address, u32 bytes, bool store, const Access &a) {
    LdsShadow &shadow = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes, epoch = shadow.epoch_base + w.epoch;
    shadow.last_epoch = std::max(shadow.last_epoch, epoch);
    u32 tag = epoch << 8 | (w.index + 1);
    bool atomic = i->op && (i->op->flags & kAtomic);
    if (w.checks & HIPEMU_CHECK_RACES) {
        Race race;
        for_lanes(a.exec, [&](int l) {
            u64 at = address[l] & 0xffffffffu;
            if (at + bytes > limit) return;
            if ((at & 3) == 0 && (bytes & 3) == 0) {
                LdsWord *x = &shadow.words[at / 4];
                for (u32 k = 0; k < bytes / 4; ++k, ++x) {
                    if (!store && !atomic && x->read_tag == tag && x->read_bytes == 15 && x->write_tag >> 8 != epoch) continue;
                    if (x->write_tag >> 8 != epoch && (!store || x->read_tag >> 8 != epoch)) { // first touch since the barrier
                        if (store) { x->write_tag = tag; x->write_bytes = 15; x->atomic = atomic; }
                        else if (x->read_tag >> 8 != epoch) { x->read_tag = tag; x->read_bytes = 15; }
                        else touch(*x, tag, 15, store, atomic, l, at, race);
                        continue;
                    }
                    touch(*x, tag, 15, store, atomic, l, at, race);
                }
            } else {
                for (u64 word = at / 4; word <= (at + bytes - 1) / 4; ++word) {
                    u32 low = u32(std::max(at, word * 4) - word * 4), high = u32(std::min(at + bytes, word * 4 + 4) - word * 4);
                    touch(shadow.words[word], tag, u8(((1u << high) - 1) & ~((1u << low) - 1)), store, atomic, l, at, race);
                }
            }
        });
        if (race.lane >= 0)
            report(w, i, "HP855", std::string("LDS race: this ") + (store ? "store" : "load") + " of offset " + std::to_string(race.at) + " and a " +
                   (race.other_wrote ? "store" : "load") + " by " + (race.other == kMany ? "other waves" : "wave " + std::to_string(race.other - 1)) +
                   " have no barrier between them", race.lane, race.at);
    }
    if (!(w.checks & HIPEMU_CHECK_UNINITIALISED)) return;
    if (store) {
        u64 data = ~0ull;
        if (a.row >= 0)
            for (u32 k = 0; k < std::max(1u, bytes / 4); ++k) data &= w.shadow->defined[a.row + int(k)];
        for_lanes(a.exec, [&](int l) {
            u64 at = address[l] & 0xffffffffu;
            if (at + bytes <= limit) std::memset(&shadow.defined[at], data >> l & 1, bytes);
        });
        return;
    }
    u64 undefined = 0;
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        if (at + bytes > limit) return;
        u32 all = 1;
        for (u32 k = 0; k < bytes; ++k) all &= shadow.defined[at + k];
        if (!all) {
            if (!undefined) w.shadow->origin_offset = at;
            undefined |= 1ull << l;
        }
    });
    if (undefined) {
        w.shadow->origin = i;
        w.shadow->origin_record = 0;
        if (a.row >= 0)
            for (u32 k = 0; k < std::max(1u, bytes / 4) && a.row + int(k) < 512; ++k) w.shadow->defined[a.row + int(k)] &= ~undefined;
    }
}

// An uninitialised value goes to memory: wrong when it reaches the host, or an address or branch of a later load.
void undefined_store(Wave &w, const Inst *i, const u64 *address, u32 bytes, const Access &a, u64 bad) {
    Launch &launch = *w.group->launch;
    UndefinedMemory &memory = launch.device->undefined;
    const Arena &arena = launch.device->arena;
    bool atomic = i->op && (i->op->flags & kAtomic);
    if (bad && (atomic || !launch.options.host_copies)) {
        report_undefined(w, i, "a value stored to memory", bad);
        return;
    }
    if (bad) {
        int lane = __builtin_ctzll(bad);
        u8 record = memory.record(i->address - launch.program->bias, launch.kernel->name, [&] {
            return launch.describe(&w, i, "HP854", "a value stored to memory, and then read by the host, is not initialised: " + origin_text(w), lane, address[lane]);
        });
        for_lanes(bad, [&](int l) { memory.mark(arena, address[l], bytes, record); });
    }
    if (memory.any()) for_lanes(a.exec & ~bad, [&](int l) { memory.mark(arena, address[l], bytes, 0); });
}

void undefined_load(Wave &w, const u64 *address, u32 bytes, const Access &a) {
    UndefinedMemory &memory = w.group->launch->device->undefined;
    const Arena &arena = w.group->launch->device->arena;
    u64 undefined = 0;
    for_lanes(a.exec, [&](int l) {
        if (u8 record = memory.find(arena, address[l], bytes)) {
            w.shadow->origin_record = record;
            undefined |= 1ull << l;
        }
    });
    if (undefined)
        for (u32 k = 0; k < std::max(1u, bytes / 4) && a.row + int(k) < 512; ++k) w.shadow->defined[a.row + int(k)] &= ~undefined;
}

} // namespace

void observe_access(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, u64 active, const Access &a) {
    (void)active;
    Space s = space;
    if (s == Space::flat && a.exec) {
        u32 high = u32(address[__builtin_ctzll(a.exec)] >> 32);
        s = high == u32(kSharedBase >> 32) ? Space::lds : high == u32(kPrivateBase >> 32) ? Space::scratch : Space::global;
    }
    if (s == Space::lds) {
        if (w.checks & (HIPEMU_CHECK_RACES | HIPEMU_CHECK_UNINITIALISED)) check_lds(w, i, address, bytes, store, a);
        if (w.checks & HIPEMU_CHECK_BANKS) count_banks(w, address, bytes, a.exec);
    } else if (s == Space::global) {
        if ((w.checks & HIPEMU_CHECK_UNINITIALISED) && store && a.row >= 0) {
            u64 d = ~0ull;
            for (u32 k = 0; k < std::max(1u, bytes / 4) && a.row + int(k) < 512; ++k) d &= w.shadow->defined[a.row + int(k)];
            undefined_store(w, i, address, bytes, a, a.exec & ~d);
        } else if ((w.checks & HIPEMU_CHECK_UNINITIALISED) && !store && a.row >= 0 && w.group->launch->device->undefined.any()) {
            undefined_load(w, address, bytes, a);
        }
        if (w.checks & HIPEMU_CHECK_BANKS) count_segments(w, address, bytes, a.exec);
    }
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
    s.counts = {};
}

void release_shadow(Wave &w) {
    delete w.shadow;
    w.shadow = nullptr;
}

void start_lds_shadow(Workgroup &g) {
    u32 checks = g.launch->options.checks;
    if (!(checks & (HIPEMU_CHECK_RACES | HIPEMU_CHECK_UNINITIALISED))) return;
    if (!g.lds_shadow) g.lds_shadow = new LdsShadow;
    LdsShadow &s = lds_shadow(g);
    s.epoch_base = s.last_epoch + 1;
    if (s.words.size() != g.lds_bytes / 4 + 1 || s.epoch_base > 1u << 23) {
        s.words.assign(g.lds_bytes / 4 + 1, {});
        s.epoch_base = 1;
    }
    s.last_epoch = s.epoch_base;
    s.defined.assign(g.lds_bytes + 16, 0);
}

void release_lds_shadow(Workgroup &g) {
    delete static_cast<LdsShadow *>(g.lds_shadow);
    g.lds_shadow = nullptr;
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
