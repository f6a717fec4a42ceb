// Opcodes that move data between lanes, or between vector and scalar registers.
#include "lanes.h"

namespace hipemu {

namespace {

u32 *row(Wave &w, const Operand &o) { return w.v[o.index].lane; }

u32 lane_value(const Wave &w, const Operand &o, int lane) {
    if (o.kind == Kind::vgpr) return w.v[o.index].lane[lane];
    return read32(w, o);
}

const Inst *v_readfirstlane_b32(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    int lane = exec ? __builtin_ctzll(exec) : 0;
    write32(w, i->o[0], lane_value(w, i->o[1], lane));
    return i + 1;
}
const Inst *v_readlane_b32(Wave &w, const Inst *i) {
    write32(w, i->o[0], lane_value(w, i->o[1], read32(w, i->o[2]) & (w.wave32 ? 31 : 63)));
    return i + 1;
}
const Inst *v_writelane_b32(Wave &w, const Inst *i) {
    row(w, i->o[0])[read32(w, i->o[2]) & (w.wave32 ? 31 : 63)] = read32(w, i->o[1]);
    return i + 1;
}
const Inst *v_swap_b32(Wave &w, const Inst *i) {
    Row a = w.v[i->o[0].index];
    u64 exec = w.exec();
    store_lanes(row(w, i->o[0]), row(w, i->o[1]), exec);
    store_lanes(row(w, i->o[1]), a.lane, exec);
    return i + 1;
}
const Inst *v_swap_b16(Wave &w, const Inst *i) { // halves named .l or .h
    Row a = w.v[i->o[0].index], b = w.v[i->o[1].index];
    u32 *d = row(w, i->o[0]), *s = row(w, i->o[1]);
    u32 d_shift = i->o[0].modifiers & kHigh ? 16 : 0, s_shift = i->o[1].modifiers & kHigh ? 16 : 0;
    for_lanes(w.exec(), [&](int l) {
        d[l] = (d[l] & ~(0xffffu << d_shift)) | (b.lane[l] >> s_shift & 0xffff) << d_shift;
        s[l] = (s[l] & ~(0xffffu << s_shift)) | (a.lane[l] >> d_shift & 0xffff) << s_shift;
    });
    return i + 1;
}
// Both registers change; lanes are rows of 32 (or 16) exchanged crosswise, EXEC is honoured per written lane.
template <int Size> const Inst *v_permlane_swap(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    Row d = w.v[i->o[0].index], s = w.v[i->o[1].index];
    u32 *dst = row(w, i->o[0]), *src = row(w, i->o[1]);
    for (int base = 0; base < kLanes; base += 2 * Size)
        for (int k = 0; k < Size; ++k) {
            int low = base + k, high = base + k + Size;
            if (exec >> high & 1) dst[high] = s.lane[low];
            if (exec >> low & 1) src[low] = d.lane[high];
        }
    return i + 1;
}
// Arbitrary gather within rows of 16, selects in two scalars of eight 4-bit lane numbers; x16 reads the other row of the pair.
template <bool Other> const Inst *v_permlane16_b32(Wave &w, const Inst *i) {
    u64 exec = w.exec(), select = u64(read32(w, i->o[3])) << 32 | read32(w, i->o[2]);
    Row s;
    for (int l = 0; l < kLanes; ++l) s.lane[l] = lane_value(w, i->o[1], l);
    bool fetch_inactive = i->op_sel & 1, bound_zero = i->op_sel >> 1 & 1;
    u32 *d = row(w, i->o[0]);
    for_lanes(exec, [&](int l) {
        int from = ((l & ~15) ^ (Other ? 16 : 0)) + int(select >> (4 * (l & 15)) & 15);
        if (fetch_inactive || (exec >> from & 1)) d[l] = s.lane[from];
        else if (bound_zero) d[l] = 0;
    });
    return i + 1;
}
template <bool Other> const Inst *v_permlane16_var_b32(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    Row s = w.v[i->o[1].index], select = w.v[i->o[2].index];
    bool fetch_inactive = i->op_sel & 1, bound_zero = i->op_sel >> 1 & 1;
    u32 *d = row(w, i->o[0]);
    for_lanes(exec, [&](int l) {
        int from = ((l & ~15) ^ (Other ? 16 : 0)) + int(select.lane[l] & 15);
        if (fetch_inactive || (exec >> from & 1)) d[l] = s.lane[from];
        else if (bound_zero) d[l] = 0;
    });
    return i + 1;
}
const Inst *v_permlane64_b32(Wave &w, const Inst *i) {
    if (w.wave32) return i + 1; // RDNA3 ISA: a scalar NOP there
    Row s = w.v[i->o[1].index], moved;
    for (int l = 0; l < kLanes; ++l) moved.lane[l] = s.lane[l ^ 32];
    store_lanes(row(w, i->o[0]), moved.lane, w.exec());
    return i + 1;
}
// Register-indirect moves: the register number is relative to M0.
const Inst *v_movrels_b32(Wave &w, const Inst *i) {
    store_lanes(row(w, i->o[0]), w.v[(i->o[1].index + w.s[kM0]) & 255].lane, w.exec());
    return i + 1;
}
const Inst *v_movreld_b32(Wave &w, const Inst *i) {
    Row s;
    for (int l = 0; l < kLanes; ++l) s.lane[l] = lane_value(w, i->o[1], l);
    store_lanes(w.v[(i->o[0].index + w.s[kM0]) & 255].lane, s.lane, w.exec());
    return i + 1;
}
const Inst *v_movrelsd_b32(Wave &w, const Inst *i) {
    Row s = w.v[(i->o[1].index + w.s[kM0]) & 255];
    store_lanes(w.v[(i->o[0].index + w.s[kM0]) & 255].lane, s.lane, w.exec());
    return i + 1;
}
// Two indices in M0: bits 9:0 for the source, 25:16 for the destination.
const Inst *v_movrelsd_2_b32(Wave &w, const Inst *i) {
    Row s = w.v[(i->o[1].index + (w.s[kM0] & 0x3ff)) & 255];
    store_lanes(w.v[(i->o[0].index + (w.s[kM0] >> 16 & 0x3ff)) & 255].lane, s.lane, w.exec());
    return i + 1;
}
const Inst *v_swaprel_b32(Wave &w, const Inst *i) {
    u32 *s = w.v[(i->o[1].index + (w.s[kM0] & 0x3ff)) & 255].lane, *d = w.v[(i->o[0].index + (w.s[kM0] >> 16 & 0x3ff)) & 255].lane;
    for_lanes(w.exec(), [&](int l) { std::swap(s[l], d[l]); });
    return i + 1;
}
const Inst *v_accvgpr_move(Wave &w, const Inst *i) {
    Row s;
    for (int l = 0; l < kLanes; ++l) s.lane[l] = lane_value(w, i->o[1], l);
    store_lanes(row(w, i->o[0]), s.lane, w.exec());
    return i + 1;
}
const Inst *v_nop(Wave &, const Inst *i) { return i + 1; }
const Inst *s_set_gpr_idx_on(Wave &w, const Inst *i) {
    u32 which = 0;
    std::string_view text(i->text);
    if (text.find("SRC0") != text.npos) which |= 1;
    if (text.find("SRC1") != text.npos) which |= 2;
    if (text.find("SRC2") != text.npos) which |= 4;
    if (text.find("DST") != text.npos) which |= 8;
    w.s[kM0] = (w.s[kM0] & 0xffff0f00u) | (read32(w, i->o[0]) & 0xff) | which << 12;
    w.index_mode = u8(which);
    set_mode(w, w.mode);
    return i + 1;
}
const Inst *s_set_gpr_idx_off(Wave &w, const Inst *i) { w.index_mode = 0; set_mode(w, w.mode); return i + 1; }
const Inst *s_set_gpr_idx_idx(Wave &w, const Inst *i) { w.s[kM0] = (w.s[kM0] & ~0xffu) | (read32(w, i->o[0]) & 0xff); return i + 1; }

Op cross(const char *name, Run run, std::vector<Type> types, u32 flags = 0) {
    return {name, Unit::valu, run, nullptr, std::move(types), flags | kLaneCross};
}

} // namespace

Table cross_lane_opcodes() {
    const Type B = Type::b32;
    return {
        cross("v_readfirstlane_b32", v_readfirstlane_b32, {B, B}, kAlwaysRuns),
        cross("v_readlane_b32", v_readlane_b32, {B, B, B}, kAlwaysRuns),
        cross("v_writelane_b32", v_writelane_b32, {B, B, B}, kAlwaysRuns),
        cross("v_swap_b32", v_swap_b32, {B, B}),
        cross("v_swap_b16", v_swap_b16, {B, B}, kOwnModifiers),
        cross("v_movrelsd_2_b32", v_movrelsd_2_b32, {B, B}),
        cross("v_swaprel_b32", v_swaprel_b32, {B, B}),
        cross("v_permlane32_swap_b32", v_permlane_swap<32>, {B, B}),
        cross("v_permlane16_swap_b32", v_permlane_swap<16>, {B, B}),
        cross("v_permlane16_b32", v_permlane16_b32<false>, {B, B, B, B}, kOwnModifiers),
        cross("v_permlanex16_b32", v_permlane16_b32<true>, {B, B, B, B}, kOwnModifiers),
        cross("v_permlane16_var_b32", v_permlane16_var_b32<false>, {B, B, B}, kOwnModifiers),
        cross("v_permlanex16_var_b32", v_permlane16_var_b32<true>, {B, B, B}, kOwnModifiers),
        cross("v_permlane64_b32", v_permlane64_b32, {B, B}),
        cross("v_movrels_b32", v_movrels_b32, {B, B}),
        cross("v_movreld_b32", v_movreld_b32, {B, B}),
        cross("v_movrelsd_b32", v_movrelsd_b32, {B, B}),
        cross("v_accvgpr_read_b32", v_accvgpr_move, {B, B}),
        cross("v_accvgpr_write_b32", v_accvgpr_move, {B, B}),
        cross("v_accvgpr_mov_b32", v_accvgpr_move, {B, B}),
        {"v_nop", Unit::valu, v_nop, nullptr, {}, kHint},
        {"v_pipeflush", Unit::valu, v_nop, nullptr, {}, kHint},
        {"s_set_gpr_idx_on", Unit::control, s_set_gpr_idx_on, nullptr, {B, B}},
        {"s_set_gpr_idx_off", Unit::control, s_set_gpr_idx_off, nullptr, {}, kHint},
        {"s_set_gpr_idx_idx", Unit::control, s_set_gpr_idx_idx, nullptr, {B}},
    };
}

} // namespace hipemu
