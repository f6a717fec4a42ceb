// What the checks need to know about an instruction, worked out once when it is decoded.
//
// Nearly always everything that an instruction reads is defined, and then everything that it writes is. A plan lists the
// registers of that usual case; only when a source is undefined do the checks look at what the instruction does.
#pragma once

#include <vector>

#include "machine.h"

namespace hipemu {

struct Region;

constexpr u16 kScalarRegister = 512; // registers of a plan: rows, then SGPRs from here

// Results outstanding: vector loads; LDS and scalar loads; stores (gfx10 and later); image samples (gfx12).
enum Counter : u8 { kVm, kLgkm, kVs, kSamples, kCounters };

struct CheckPlan {
    enum Kind : u8 { unusual, usual, wait };
    Kind kind = unusual;
    bool whole_rows = false;      // lanes that are off are read as well
    bool needs_lane = false;      // reads a lane that is on: there must be one
    bool reads_scc = false, writes_scc = false;
    bool fills_rows = false;      // writes lanes that are off as well
    bool starts_load = false;     // its results come later
    bool compares_exec = false;   // (un)equal to EXEC: what mask tests do
    u8 n_rows = 0, n_scalars = 0; // sources, in `registers`
    u8 n_registers = 0;           // and everything else it touches
    u8 out_rows[2] = {0, 0};      // VOPD has two destinations
    u16 out_row[2] = {0, 0};
    u8 out_scalars[2] = {0, 0};   // destination; carry or mask
    u8 out_scalar[2] = {0, 0};
    i8 limit[kCounters] = {-1, -1, -1, -1}; // of a wait: results that may stay outstanding
    const u16 *registers = nullptr;
};

// Plans for a region's instructions; they point into the region.
void plan_checks(Region &region, const TargetInfo &target);

// Whether a memory opcode with these modifiers writes o[0].
inline bool writes_register(const Inst *i) { return i->op->returns || ((i->op->flags & kAtomic) && i->op->unit == Unit::memory && (i->flags & kGlc)); }

} // namespace hipemu
