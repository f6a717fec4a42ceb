// What the emulator looks for while it runs, beyond what the hardware would notice.
#pragma once

#include "machine.h"

namespace hipemu {

// Records a finding at this instruction; the launch goes on.
void report(Wave &w, const Inst *i, const char *id, const std::string &message, int lane, u64 address);
void global_out_of_bounds(Wave &w, const Inst *i, u64 address, u32 bytes, int lane, bool store);
// Lanes that are on access one range without gaps, in lane order; or all the same place.
struct Together {
    bool adjacent = false, same = false;
    u64 first = 0, bytes = 0;
};
Together together(const u64 *address, u32 bytes, u64 exec);
// After addresses are resolved: LDS races, uninitialised LDS, bank conflicts, coalescing.
void observe_access(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, const Access &a, const Together &t);

// Checks that look at every instruction (registers, waits).
constexpr u32 kHookedChecks = HIPEMU_CHECK_UNINITIALISED | HIPEMU_CHECK_WAITCNT | HIPEMU_CHECK_MASKS;
void before_instruction(Wave &w, const Inst *i);
// Mask tests of _sync calls: a comparison with EXEC, and the trap that follows when the mask is wrong. Its text: the finding, or
// "" for any other trap.
void note_mask_test(Wave &w, const Inst *i);
std::string mask_trap(const Wave &w, const Inst *i);
// Traps of gfx11.0 are calls of one function (hipport/sdk/gfx11_trap.h): the call, or the instruction itself.
const Inst *caller_of_trap(const Wave &w, const Inst *i);

// Life of the state behind the checks.
void start_shadow(Wave &w, u32 user_sgprs);
void release_shadow(Wave &w);
void start_lds_shadow(Workgroup &g);
void release_lds_shadow(Workgroup &g);
void finish_wave(Wave &w);
void check_barrier(Workgroup &g);  // all waves have arrived
void barrier_opened(Workgroup &g); // a new epoch begins
struct Statistics;
void collect_statistics(Wave &w, Statistics &into);

// Which lanes of an MFMA's results are defined, from the definedness of its operands (per register row).
void matrix_definedness(const Inst *i, u64 *defined);

} // namespace hipemu
