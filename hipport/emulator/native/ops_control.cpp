// Program flow, barriers, hardware registers, messages. Source: CDNA3 and RDNA4 instruction set manuals, SOPP and SOPK.
#include <chrono>
#include <cstdlib>

#include "lanes.h"
#include "launch.h"

namespace hipemu {

void set_mode(Wave &w, u32 mode) {
    w.mode = mode;
    w.special_mode = (mode & 0xff) != 0xf0 || w.index_mode || mode & kFp16Overflow;
}

namespace {

const Inst *jump(Wave &w, const Inst *i) {
    if (i->target) return i->target;
    return instruction_at(*w.group->program, i->address + 4 + i64(i16(i->offset)) * 4);
}
template <class F> const Inst *branch_if(Wave &w, const Inst *i, F condition) { return condition(w) ? jump(w, i) : i + 1; }

const Inst *s_branch(Wave &w, const Inst *i) { return jump(w, i); }
const Inst *s_cbranch_scc0(Wave &w, const Inst *i) { return w.scc ? i + 1 : jump(w, i); }
const Inst *s_cbranch_scc1(Wave &w, const Inst *i) { return w.scc ? jump(w, i) : i + 1; }
const Inst *s_cbranch_vccz(Wave &w, const Inst *i) { return w.vcc() ? i + 1 : jump(w, i); }
const Inst *s_cbranch_vccnz(Wave &w, const Inst *i) { return w.vcc() ? jump(w, i) : i + 1; }
const Inst *s_cbranch_execz(Wave &w, const Inst *i) { return w.exec() ? i + 1 : jump(w, i); }
const Inst *s_cbranch_execnz(Wave &w, const Inst *i) { return w.exec() ? jump(w, i) : i + 1; }
const Inst *never(Wave &, const Inst *i) { return i + 1; }

const Inst *s_getpc_b64(Wave &w, const Inst *i) { write64(w, i->o[0], i->address + 4); return i + 1; }
const Inst *s_setpc_b64(Wave &w, const Inst *i) { return instruction_at(*w.group->program, read64(w, i->o[0])); }
const Inst *s_swappc_b64(Wave &w, const Inst *i) {
    u64 to = read64(w, i->o[1]);
    write64(w, i->o[0], i->address + 4);
    return instruction_at(*w.group->program, to);
}
const Inst *s_call_b64(Wave &w, const Inst *i) { // s_call_b64 dst, distance
    write64(w, i->o[0], i->address + 4);
    return jump(w, i);
}

const Inst *stop(Wave &w, const Inst *next, Stop why) {
    w.stop = why;
    w.next = next;
    return nullptr;
}
const Inst *s_endpgm(Wave &w, const Inst *i) { return stop(w, i, Stop::finished); }
const Inst *s_barrier(Wave &w, const Inst *i) {
    w.barrier_at = i;
    return stop(w, i + 1, Stop::barrier);
}

// Split barriers (gfx12): signal counts this wave in, wait blocks until all are.
const Inst *s_barrier_signal(Wave &w, const Inst *i) {
    if (i32(read32(w, i->o[0])) != -1) unimplemented(i, "named barrier");
    w.barrier_at = i;
    barrier_signal(w);
    return i + 1;
}
const Inst *s_barrier_signal_isfirst(Wave &w, const Inst *i) {
    if (i32(read32(w, i->o[0])) != -1) unimplemented(i, "named barrier");
    w.barrier_at = i;
    w.scc = w.group->arrived == 0;
    barrier_signal(w);
    return i + 1;
}
const Inst *s_barrier_wait(Wave &w, const Inst *i) {
    if (w.signalled_phase != w.group->phase) {
        w.epoch = w.group->phase;
        return i + 1;
    }
    return stop(w, i + 1, Stop::waiting);
}

const Inst *s_sleep(Wave &w, const Inst *i) {
    w.group->launch->device->hostcall.service();
    return stop(w, i + 1, Stop::yielded);
}
const Inst *s_trap(Wave &w, const Inst *i) {
    w.group->launch->device->hostcall.service();
    u32 id = u32(i->offset) & 0xff;
    if (id == 2 || id == 1) fault(HIPEMU_TRAP, "HP861", "the kernel called abort(): s_trap " + std::to_string(id), 0, 0);
    if (id == 3) return i + 1; // debug trap
    fault(HIPEMU_TRAP, "HP861", "s_trap " + std::to_string(id), 0, 0);
}
const Inst *s_sendmsg(Wave &w, const Inst *i) {
    w.group->launch->device->hostcall.service();
    return i + 1;
}
const Inst *s_sendmsg_rtn(Wave &w, const Inst *i) {
    std::string_view text(i->text);
    u64 value = 0;
    if (text.find("MSG_RTN_GET_REALTIME") != text.npos)
        value = u64(std::chrono::steady_clock::now().time_since_epoch().count()) / 10;
    else if (text.find("MSG_RTN_GET_DOORBELL") != text.npos || text.find("MSG_RTN_GET_TBA") != text.npos || text.find("MSG_RTN_GET_TMA") != text.npos)
        value = 0;
    else unimplemented(i, "message");
    if (i->o[0].width == 2) write64(w, i->o[0], value); else write32(w, i->o[0], u32(value));
    return i + 1;
}

// A clock that never stands still and does not depend on the host: instructions executed by this wave.
const Inst *s_memtime(Wave &w, const Inst *i) { write64(w, i->o[0], w.instructions * 4 + 4 * ++w.clock_reads); return i + 1; }
const Inst *s_memrealtime(Wave &w, const Inst *i) { // 100 MHz
    write64(w, i->o[0], u64(std::chrono::steady_clock::now().time_since_epoch().count()) / 10);
    return i + 1;
}

struct HwReg {
    std::string name;
    u32 offset = 0, size = 32;
};
HwReg parse_hwreg(const Inst *i) {
    std::string text(i->text);
    size_t open = text.find("hwreg("), close = text.find(')', open);
    if (open == text.npos || close == text.npos) unimplemented(i, "hardware register");
    std::string inside = text.substr(open + 6, close - open - 6);
    HwReg r;
    size_t comma = inside.find(',');
    r.name = inside.substr(0, comma);
    if (comma != inside.npos) {
        char *end;
        r.offset = u32(std::strtoul(inside.c_str() + comma + 1, &end, 0));
        if (*end == ',') r.size = u32(std::strtoul(end + 1, nullptr, 0));
    }
    if (r.offset > 31 || r.size == 0 || r.size > 32) unimplemented(i, "hardware register field");
    return r;
}
u32 hardware_register(Wave &w, const Inst *i, const std::string &name) {
    auto is = [&](const char *n) { return name == n; };
    if (is("HW_REG_MODE") || is("HW_REG_WAVE_MODE")) return w.mode;
    if (is("HW_REG_STATUS") || is("HW_REG_WAVE_STATUS")) return w.scc | u32(w.exec() == 0) << 9 | u32(w.vcc() == 0) << 10;
    if (is("HW_REG_TRAPSTS") || is("HW_REG_IB_STS") || is("HW_REG_IB_STS2") || is("HW_REG_WAVE_EXCP_FLAG_USER") || is("HW_REG_WAVE_TRAP_CTRL")) return 0;
    // One workgroup per compute unit: ids follow the workgroup number so that they are reproducible.
    u32 group = w.group->id[0];
    if (is("HW_REG_HW_ID") || is("HW_REG_HW_ID1") || is("HW_REG_WAVE_HW_ID1")) return (w.index & 15) | (w.index & 3) << 4 | (group & 15) << 8 | (group >> 4 & 3) << 13;
    if (is("HW_REG_HW_ID2") || is("HW_REG_WAVE_HW_ID2")) return 0;
    if (is("HW_REG_XCC_ID") || is("HW_REG_XCC_ID1")) return group & 7;
    if (is("HW_REG_SH_MEM_BASES")) return u32(kPrivateBase >> 48) | u32(kSharedBase >> 48) << 16;
    if (is("HW_REG_LDS_ALLOC") || is("HW_REG_WAVE_LDS_ALLOC")) return w.group->lds_bytes / 512 << 12;
    if (is("HW_REG_SHADER_CYCLES") || is("HW_REG_SHADER_CYCLES_LO")) return u32(w.instructions * 4 + 4 * ++w.clock_reads);
    if (is("HW_REG_SHADER_CYCLES_HI")) return u32((w.instructions * 4 + 4 * w.clock_reads) >> 32);
    if (is("HW_REG_FLAT_SCR_LO") || is("HW_REG_FLAT_SCR_HI") || is("HW_REG_XNACK_MASK")) return 0;
    unimplemented(i, "hardware register " + name);
}
const Inst *s_getreg_b32(Wave &w, const Inst *i) {
    HwReg r = parse_hwreg(i);
    u32 value = hardware_register(w, i, r.name) >> r.offset;
    if (r.size < 32) value &= (1u << r.size) - 1;
    write32(w, i->o[0], value);
    return i + 1;
}
const Inst *s_setreg_b32(Wave &w, const Inst *i) {
    HwReg r = parse_hwreg(i);
    u32 mask = (r.size < 32 ? (1u << r.size) - 1 : ~0u) << r.offset, value = read32(w, i->o[1]) << r.offset;
    if (r.name == "HW_REG_MODE" || r.name == "HW_REG_WAVE_MODE") set_mode(w, (w.mode & ~mask) | (value & mask));
    else if (r.name == "HW_REG_FLAT_SCR_LO") w.s[102] = value;
    else if (r.name == "HW_REG_FLAT_SCR_HI") w.s[103] = value;
    else if (r.name == "HW_REG_TRAPSTS" || r.name == "HW_REG_WAVE_SCHED_MODE" || r.name == "HW_REG_WAVE_EXCP_FLAG_USER") {}
    else unimplemented(i, "writing hardware register " + r.name);
    return i + 1;
}
const Inst *s_round_mode(Wave &w, const Inst *i) { set_mode(w, (w.mode & ~15u) | (u32(i->offset) & 15)); return i + 1; }
const Inst *s_denorm_mode(Wave &w, const Inst *i) { set_mode(w, (w.mode & ~0xf0u) | (u32(i->offset) & 15) << 4); return i + 1; }

// Global wave sync: a barrier over as many waves of the launch as its operand says, plus one (grid sync of cooperative launches).
const Inst *ds_gws_init(Wave &, const Inst *i) { return i + 1; }
const Inst *ds_gws_barrier(Wave &w, const Inst *i) {
    u64 exec = w.exec();
    if (!exec) return i + 1;
    w.grid_waves = w.v[i->o[0].index].lane[__builtin_ctzll(exec)] + 1;
    return stop(w, i + 1, Stop::grid_barrier);
}

Op control(const char *name, Run run, u32 flags = 0, std::vector<Type> types = {}) { return {name, Unit::control, run, nullptr, std::move(types), flags}; }

} // namespace

Table control_opcodes() {
    Table t = {
        control("s_branch", s_branch, kJumps), control("s_cbranch_scc0", s_cbranch_scc0, kJumps),
        control("s_cbranch_scc1", s_cbranch_scc1, kJumps), control("s_cbranch_vccz", s_cbranch_vccz, kJumps),
        control("s_cbranch_vccnz", s_cbranch_vccnz, kJumps), control("s_cbranch_execz", s_cbranch_execz, kJumps),
        control("s_cbranch_execnz", s_cbranch_execnz, kJumps), control("s_cbranch_cdbgsys", never, kJumps),
        control("s_cbranch_cdbguser", never, kJumps), control("s_cbranch_cdbgsys_or_user", never, kJumps),
        control("s_cbranch_cdbgsys_and_user", never, kJumps), control("s_call_b64", s_call_b64, kJumps),
        control("s_getpc_b64", s_getpc_b64), control("s_setpc_b64", s_setpc_b64), control("s_swappc_b64", s_swappc_b64),
        control("s_endpgm", s_endpgm, kHint), control("s_endpgm_saved", s_endpgm, kHint), control("s_barrier", s_barrier, kHint),
        control("s_barrier_signal", s_barrier_signal), control("s_barrier_signal_isfirst", s_barrier_signal_isfirst),
        control("s_barrier_wait", s_barrier_wait, kHint), control("s_sleep", s_sleep, kHint), control("s_sleep_var", s_sleep, kHint),
        control("s_trap", s_trap), control("s_sendmsg", s_sendmsg, kHint), control("s_sendmsghalt", s_sendmsg, kHint),
        control("s_sendmsg_rtn_b32", s_sendmsg_rtn), control("s_sendmsg_rtn_b64", s_sendmsg_rtn),
        control("s_memtime", s_memtime), control("s_memrealtime", s_memrealtime),
        control("s_getreg_b32", s_getreg_b32), control("s_setreg_b32", s_setreg_b32), control("s_setreg_imm32_b32", s_setreg_b32),
        control("s_round_mode", s_round_mode), control("s_denorm_mode", s_denorm_mode),
        control("ds_gws_init", ds_gws_init, kHint), control("ds_gws_barrier", ds_gws_barrier),
    };
    for (const char *name : {"s_nop", "s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt",
                             "s_waitcnt_depctr", "s_wait_alu", "s_wait_loadcnt", "s_wait_storecnt", "s_wait_samplecnt", "s_wait_bvhcnt",
                             "s_wait_expcnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_event",
                             "s_wait_idle", "s_delay_alu", "s_clause", "s_setprio", "s_setprio_inc_wg", "s_sethalt", "s_setkill", "s_inst_prefetch",
                             "s_set_inst_prefetch_distance", "s_code_end", "s_incperflevel", "s_decperflevel", "s_ttracedata",
                             "s_ttracedata_imm", "s_version", "s_icache_inv", "s_wakeup", "s_singleuse_vdst", "s_barrier_leave"})
        t.push_back(control(name, never, kHint));
    return t;
}

} // namespace hipemu
