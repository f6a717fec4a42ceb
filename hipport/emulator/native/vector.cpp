// How vector instructions run: fetch sources as rows, call the lane function, store under EXEC. Everything that modifies
// operands or results takes the slow path in run_vector_modified.
#include <xmmintrin.h>

#include <algorithm>
#include <cstring>

#include "lanes.h"

namespace hipemu {

namespace {

struct alignas(64) Pairs {
    u32 lane[2 * kLanes];
};

[[gnu::noinline]] const u32 *broadcast(const Wave &w, const Operand &o, Pairs &tmp) {
    u32 low = read32(w, o);
    for (int l = 0; l < kLanes; ++l) tmp.lane[l] = low;
    if (o.width > 1) {
        u32 high = u32(read64(w, o) >> 32);
        for (int l = 0; l < kLanes; ++l) tmp.lane[kLanes + l] = high;
    } else {
        for (int l = 0; l < kLanes; ++l) tmp.lane[kLanes + l] = 0;
    }
    return tmp.lane;
}

inline const u32 *fetch(const Wave &w, const Operand &o, Pairs &tmp) {
    if (__builtin_expect(o.kind == Kind::vgpr, 1)) return w.v[o.index].lane;
    if (o.kind == Kind::constant) return w.constants[o.index].lane;
    return broadcast(w, o, tmp);
}

inline void finish_masks(Wave &w, const Inst *i, const LaneArgs &x, u64 exec) {
    if (i->op->flags & kCompareExec) {
        w.set_exec(x.mask_out & exec);
        if (i->o[4].kind == Kind::sgpr && i->o[4].index != kExec) write_mask(w, i->o[4], x.mask_out & exec);
    } else if (i->o[4].kind == Kind::sgpr) {
        write_mask(w, i->o[4], x.mask_out & exec);
    }
}

u32 type_bits(Type t) {
    switch (t) {
    case Type::b16: case Type::u16: case Type::i16: case Type::f16: case Type::bf16: return 16;
    case Type::b64: case Type::u64: case Type::i64: case Type::f64: case Type::pkf32: return 64;
    default: return 32;
    }
}

// Types of the value sources, in order.
void source_types(const Op &op, Type (&type)[3]) {
    int n = 0;
    for (Type &t : type) t = Type::b32;
    for (size_t k = 1; k < op.types.size() && n < 3; ++k)
        if (op.types[k] != Type::mask) type[n++] = op.types[k];
    if ((op.flags & kReadsDst) && n < 3) type[n] = op.types[0];
}

bool is_wide_or_half(Type t) { return t == Type::f64 || t == Type::f16 || t == Type::pkf16; } // share one field of MODE
bool is_single(Type t) { return t == Type::f32 || t == Type::pkf32; }

// MODE's denormal bits for a type: 1 inputs are kept, 2 outputs are kept.
u32 denormals(const Wave &w, Type t) { return is_single(t) ? w.mode >> 4 & 3 : is_wide_or_half(t) ? w.mode >> 6 & 3 : 3; }

void flush_denormals(Type t, u32 *row) {
    for (int l = 0; l < kLanes; ++l) {
        if (t == Type::f16) row[l] &= row[l] & 0x7c00 ? ~0u : 0xffff8000u;
        else if (t == Type::pkf16) row[l] &= (row[l] & 0x7c00 ? 0xffffu : 0x8000u) | (row[l] & 0x7c000000u ? 0xffff0000u : 0x80000000u);
        else if (t == Type::f64) {
            u32 keep = row[l + kLanes] & 0x7ff00000u ? ~0u : 0;
            row[l] &= keep;
            row[l + kLanes] &= keep | 0x80000000u;
        } else {
            row[l] &= row[l] & 0x7f800000u ? ~0u : 0x80000000u;
            if (t == Type::pkf32) row[l + kLanes] &= row[l + kLanes] & 0x7f800000u ? ~0u : 0x80000000u;
        }
    }
}

// MODE.FP16_OVFL: a half that overflowed becomes the greatest number; an infinity that was an operand, or came from a division
// by zero, stays.
void saturate_halves(const Inst *i, const LaneArgs &x, const Type *type, u32 bits) {
    if (strstr(i->op->name, "div_fixup")) return;
    for (int l = 0; l < kLanes; ++l)
        for (u32 shift = 0; shift < bits; shift += 16) {
            if ((x.out[l] >> shift & 0x7fff) != 0x7c00) continue;
            bool keep = false;
            for (int k = 0; k < i->n; ++k) {
                u32 v = x.src[k][l] & 0x7fffffffu, at = type[k] == Type::pkf16 ? shift : 0;
                if (type[k] == Type::f16 || type[k] == Type::pkf16) keep |= (x.src[k][l] >> at & 0x7c00) == 0x7c00 || (i->n == 1 && !(x.src[k][l] >> at & 0x7fff));
                else if (type[k] == Type::f32) keep |= v >= 0x7f800000u;
            }
            if (!keep) x.out[l] -= 1u << shift;
        }
}

// The lane function in a mode that is not the default one: denormal inputs and outputs, then the host's rounding.
[[gnu::noinline]] void call_in_mode(const Wave &w, const Inst *i, LaneArgs &x, Pairs *tmp) {
    static const u32 rounding[4] = {0x0000, 0x4000, 0x2000, 0x6000}; // even, +inf, -inf, zero
    const Op &op = *i->op;
    Type result = op.types.empty() ? Type::none : op.types[0], type[3];
    bool flushes = !(op.flags & kKeepsDenormals);
    source_types(op, type);
    for (int k = 0; k < i->n && flushes; ++k) {
        if (denormals(w, type[k]) & 1) continue;
        if (x.src[k] != tmp[k].lane) std::memcpy(tmp[k].lane, x.src[k], type_bits(type[k]) == 64 ? sizeof(Pairs) : sizeof(Row));
        flush_denormals(type[k], tmp[k].lane);
        x.src[k] = tmp[k].lane;
    }
    bool single = is_single(result) || (!is_wide_or_half(result) && is_single(type[0]));
    u32 round = is_wide_or_half(result) ? w.mode >> 2 & 3 : single ? w.mode & 3 : 0;
    bool half = result == Type::f16 || result == Type::pkf16;
    if (half && round && !op.in_mode) unimplemented(i, "half-precision arithmetic with this rounding mode");
    u32 saved = _mm_getcsr();
    _mm_setcsr((saved & ~0x6000u) | rounding[round]);
    (half && round ? op.in_mode : i->lane)(x);
    _mm_setcsr(saved);
    if (half && (w.mode & kFp16Overflow)) saturate_halves(i, x, type, result == Type::f16 ? 16 : 32);
    if (flushes && !(denormals(w, result) & 2)) flush_denormals(result, x.out);
}

} // namespace

namespace {

// Sources in, results and masks in `x`; nothing is written yet.
template <bool AnyMode> inline void compute(Wave &w, const Inst *i, u64 exec, Pairs &out, LaneArgs &x) {
    Pairs tmp[3];
    x.out = out.lane;
    x.exec = exec;
    x.wave = &w;
    x.inst = i;
    x.mask_in = i->o[5].kind != Kind::none ? read_mask(w, i->o[5]) : 0;
    switch (i->n) {
    case 3: x.src[2] = fetch(w, i->o[3], tmp[2]); [[fallthrough]];
    case 2: x.src[1] = fetch(w, i->o[2], tmp[1]); [[fallthrough]];
    case 1: x.src[0] = fetch(w, i->o[1], tmp[0]);
    }
    if (AnyMode && w.special_mode) call_in_mode(w, i, x, tmp);
    else i->lane(x);
}

inline void commit(Wave &w, const Inst *i, u64 exec, const Pairs &out) {
    if (i->o[0].kind != Kind::vgpr) return;
    u32 *row = w.v[i->o[0].index].lane;
    store_lanes(row, out.lane, exec);
    if (i->o[0].width == 2) store_lanes(row + kLanes, out.lane + kLanes, exec);
}

} // namespace

const Inst *run_vector(Wave &w, const Inst *i) {
    if (__builtin_expect(w.special_mode, 0)) return run_vector_modified(w, i);
    u64 exec = w.exec();
    LaneArgs x;
    if (__builtin_expect(exec == 0, 0)) {
        x.mask_out = 0;
        finish_masks(w, i, x, 0);
        return i + 1;
    }
    Pairs out;
    compute<false>(w, i, exec, out, x);
    commit(w, i, exec, out);
    finish_masks(w, i, x, exec);
    return i + 1;
}

// VOPD: both halves read before either writes.
const Inst *run_dual(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (exec == 0) return i + 1;
    const Inst *x = i->second, *y = x + 1;
    if (x->run == run_missing || y->run == run_missing) return run_missing(w, i);
    Pairs out[2];
    LaneArgs args;
    compute<true>(w, x, exec, out[0], args);
    compute<true>(w, y, exec, out[1], args);
    commit(w, x, exec, out[0]);
    commit(w, y, exec, out[1]);
    return i + 1;
}

const Inst *run_vector_modified(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    const Op &op = *i->op;
    const Type *types = op.types.data();
    Pairs out, tmp[3];
    LaneArgs x{};
    x.out = out.lane;
    x.exec = exec;
    x.wave = &w;
    x.inst = i;
    x.mask_in = i->o[5].kind != Kind::none ? read_mask(w, i->o[5]) : 0;
    Type source_type[3];
    source_types(op, source_type);
    u64 write = exec;
    for (int k = 0; k < i->n; ++k) {
        Operand o = i->o[k + 1];
        if (w.index_mode >> k & 1 && o.kind == Kind::vgpr) o.index = (o.index + (w.s[kM0] & 0xff)) & 511;
        const u32 *row = fetch(w, o, tmp[k]);
        x.src[k] = row;
        bool dpp = i->dpp && k == 0;
        if (!dpp && !o.modifiers && !o.sdwa) continue;
        Type type = source_type[k];
        u32 bits = type_bits(type);
        u32 *t = tmp[k].lane;
        if (dpp) {
            Pairs moved;
            for (int l = 0; l < kLanes; ++l) {
                u32 from = i->dpp[l];
                bool valid = from != 255 && ((i->flags & kDppFetchInactive) || (exec >> from & 1));
                moved.lane[l] = valid ? row[from] : 0;
                moved.lane[l + kLanes] = valid && bits == 64 ? row[from + kLanes] : 0;
                bool enabled = (i->dpp_rows >> (l >> 4) & 1) && (i->dpp_rows >> 4 >> (l >> 2 & 3) & 1);
                if (!enabled || (!valid && !(i->flags & kDppBoundZero))) write &= ~(1ull << l);
            }
            std::memcpy(t, moved.lane, sizeof moved);
        } else if (row != t) {
            std::memcpy(t, row, bits == 64 ? sizeof(Pairs) : sizeof(Row));
        }
        x.src[k] = t;
        if (o.sdwa) {
            bool sext = o.modifiers & kSext;
            for (int l = 0; l < kLanes; ++l) {
                u32 v = t[l];
                if (o.sdwa >= kWord0) {
                    v >>= (o.sdwa - kWord0) * 16;
                    v = sext ? u32(i32(i16(v))) : u32(u16(v));
                } else {
                    v >>= (o.sdwa - kByte0) * 8;
                    v = sext ? u32(i32(i8(v))) : u32(u8(v));
                }
                t[l] = v;
            }
        } else if (o.modifiers & kSext) {
            unimplemented(i, "sext of a whole register");
        }
        if (o.modifiers & kHigh)
            for (int l = 0; l < kLanes; ++l) t[l] >>= 16;
        if (o.modifiers & (kAbs | kNeg)) {
            u32 sign = bits == 16 ? 0x8000u : 0x80000000u;
            u32 *signs = bits == 64 ? t + kLanes : t;
            u32 keep = o.modifiers & kAbs ? ~sign : ~0u, flip = o.modifiers & kNeg ? sign : 0;
            if (type != Type::f16 && type != Type::f32 && type != Type::f64 && type != Type::bf16 && type != Type::b32 && type != Type::b16)
                unimplemented(i, "neg or abs of an integer operand");
            for (int l = 0; l < kLanes; ++l) signs[l] = (signs[l] & keep) ^ flip;
        }
    }
    if (write) {
        if (w.special_mode) call_in_mode(w, i, x, tmp);
        else i->lane(x);
    }
    Type d = types[0];
    u32 bits = type_bits(d);
    if (i->o[0].kind == Kind::vgpr) {
        // The manuals: output modifiers are ignored when output denormals are kept or IEEE mode is on, otherwise they flush.
        bool omod = i->omod && !(denormals(w, d) & 2) && !((w.mode & kIeee) && w.group->target->generation < Generation::gfx12);
        if (omod || ((i->flags & kClamp) && !(op.flags & kIntegerClamp))) {
            float scale = i->omod == 1 ? 2.0f : i->omod == 2 ? 4.0f : i->omod == 3 ? 0.5f : 1.0f;
            bool clamp = (i->flags & kClamp) != 0, zero_nan = (w.mode & kDx10Clamp) || w.group->target->generation >= Generation::gfx12;
            auto finish = [&](auto v) {
                if (omod) {
                    v *= scale;
                    if (v == 0) v = 0; // not -0
                }
                if (clamp) {
                    if (v != v) v = zero_nan ? 0 : v;
                    else v = v < 0 ? 0 : v > 1 ? 1 : v;
                    if (v == 0) v = 0;
                }
                return v;
            };
            for (int l = 0; l < kLanes; ++l) {
                if (d == Type::f32) f32::store(out.lane, l, finish(f32::load(out.lane, l)));
                else if (d == Type::f16) f16::store(out.lane, l, finish(f16::load(out.lane, l)));
                else if (d == Type::f64) f64::store(out.lane, l, finish(f64::load(out.lane, l)));
                else unimplemented(i, "clamp or omod of this type");
            }
            if (omod) flush_denormals(d, out.lane);
        }
        u32 to = i->o[0].index;
        if (w.index_mode & 8) to = (to + (w.s[kM0] & 0xff)) & 511;
        u32 *row = w.v[to].lane;
        u8 select = i->o[0].sdwa;
        if (select) {
            u32 shift = select >= kWord0 ? (select - kWord0) * 16 : (select - kByte0) * 8;
            u32 part = (select >= kWord0 ? 0xffffu : 0xffu) << shift;
            for (int l = 0; l < kLanes; ++l) {
                u32 v = out.lane[l] << shift & part;
                if (i->flags & kPreserve) v |= row[l] & ~part;
                else if (i->flags & kSextUnused) v = u32(i32(v << (32 - shift - (select >= kWord0 ? 16 : 8))) >> (32 - shift - (select >= kWord0 ? 16 : 8)));
                out.lane[l] = v;
            }
        } else if (i->flags & kHigh16) {
            for (int l = 0; l < kLanes; ++l) out.lane[l] = out.lane[l] << 16 | (row[l] & 0xffff);
        } else if (bits == 16 && (w.group->target->generation >= Generation::gfx11 || (op.flags & kKeepHigh))) {
            for (int l = 0; l < kLanes; ++l) out.lane[l] = (out.lane[l] & 0xffff) | (row[l] & 0xffff0000u);
        }
        store_lanes(row, out.lane, write);
        if (i->o[0].width == 2) store_lanes(row + kLanes, out.lane + kLanes, write);
    }
    if (i->o[4].kind == Kind::sgpr || (op.flags & kCompareExec)) {
        if (i->dpp && write != exec) {
            // Lanes whose write is disabled keep their bit.
            u64 old = i->o[4].kind == Kind::sgpr ? read_mask(w, i->o[4]) : exec;
            x.mask_out = (x.mask_out & write) | (old & ~write);
        }
        finish_masks(w, i, x, exec);
    }
    return i + 1;
}

// VOP3P: each half of a packed source is chosen by op_sel (for the low result) and op_sel_hi (for the high one).
const Inst *run_packed(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (exec == 0) return i + 1;
    Pairs out, tmp[3];
    LaneArgs x{};
    x.out = out.lane;
    x.exec = exec;
    x.wave = &w;
    x.inst = i;
    u32 all = (1u << i->n) - 1;
    bool plain = i->op_sel == 0 && (i->op_sel_hi & all) == all && !i->neg_lo && !i->neg_hi;
    u64 write = exec;
    for (int k = 0; k < i->n; ++k) {
        x.src[k] = fetch(w, i->o[k + 1], tmp[k]);
        if (i->dpp && k == 0) {
            Row moved;
            for (int l = 0; l < kLanes; ++l) {
                u32 from = i->dpp[l];
                bool valid = from != 255 && ((i->flags & kDppFetchInactive) || (exec >> from & 1));
                moved.lane[l] = valid ? x.src[0][from] : 0;
                bool enabled = (i->dpp_rows >> (l >> 4) & 1) && (i->dpp_rows >> 4 >> (l >> 2 & 3) & 1);
                if (!enabled || (!valid && !(i->flags & kDppBoundZero))) write &= ~(1ull << l);
            }
            std::memcpy(tmp[0].lane, moved.lane, sizeof moved);
            x.src[0] = tmp[0].lane;
        }
        if (plain || (i->op->flags & kOwnModifiers)) continue;
        Type type = i->op->types[std::min<size_t>(k + 1, i->op->types.size() - 1)];
        if ((i->op->flags & kReadsDst) && k == i->n - 1) type = i->op->types[0];
        bool low = i->op_sel >> k & 1, high = i->op_sel_hi >> k & 1;
        u32 neg_low = i->neg_lo >> k & 1, neg_high = i->neg_hi >> k & 1;
        const u32 *row = x.src[k];
        u32 *t = tmp[k].lane;
        if (type == Type::pkf32) {
            Pairs copy;
            std::memcpy(copy.lane, row, sizeof copy);
            for (int l = 0; l < kLanes; ++l) {
                t[l] = copy.lane[low ? l + kLanes : l] ^ neg_low << 31;
                t[l + kLanes] = copy.lane[high ? l + kLanes : l] ^ neg_high << 31;
            }
            x.src[k] = t;
        } else if (type == Type::pk16 || type == Type::pkf16) {
            for (int l = 0; l < kLanes; ++l) {
                u32 v = row[l];
                u32 lo = (low ? v >> 16 : v) & 0xffff, hi = (high ? v >> 16 : v) & 0xffff;
                t[l] = (lo ^ neg_low << 15) | (hi ^ neg_high << 15) << 16;
            }
            x.src[k] = t;
        } else if (type == Type::f32) { // accumulator of a dot product
            if (neg_low || neg_high) {
                for (int l = 0; l < kLanes; ++l) t[l] = (neg_high ? row[l] & 0x7fffffff : row[l]) ^ neg_low << 31;
                x.src[k] = t;
            }
        } else if (neg_low || neg_high || low) {
            unimplemented(i, "op_sel or neg on this operand");
        }
    }
    if (w.special_mode) call_in_mode(w, i, x, tmp);
    else i->lane(x);
    if ((i->flags & kClamp) && !(i->op->flags & kIntegerClamp)) {
        bool zero_nan = (w.mode & kDx10Clamp) || w.group->target->generation >= Generation::gfx12;
        auto clamp = [&](float v) { return v != v ? (zero_nan ? 0.0f : v) : v < 0 ? 0.0f : v > 1 ? 1.0f : v == 0 ? 0.0f : v; };
        for (int l = 0; l < kLanes; ++l) {
            switch (i->op->types[0]) {
            case Type::pkf32: f32::store(out.lane, l + kLanes, clamp(f32::load(out.lane, l + kLanes))); [[fallthrough]];
            case Type::f32: f32::store(out.lane, l, clamp(f32::load(out.lane, l))); break;
            case Type::pkf16:
                out.lane[l] = float_to_half(clamp(half_to_float(out.lane[l] & 0xffff))) | float_to_half(clamp(half_to_float(out.lane[l] >> 16))) << 16;
                break;
            default: unimplemented(i, "clamp of this type");
            }
        }
    }
    u32 *row = w.v[i->o[0].index].lane;
    store_lanes(row, out.lane, write);
    if (i->o[0].width == 2) store_lanes(row + kLanes, out.lane + kLanes, write);
    return i + 1;
}

} // namespace hipemu
