// What the checks remember about a wave and about its workgroup's LDS.
#pragma once

#include <vector>

#include "check_plan.h"
#include "launch.h"

namespace hipemu {

struct Pending {
    u16 first;  // row, or 1024 + SGPR
    u8 count;
    bool scalar; // returns out of order
};

struct Shadow {
    u64 defined[512];                 // one bit per lane
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
    u32 busy_registers = 0;    // their sum
    // the last comparison with EXEC, for traps of mask tests
    bool mask_differs = false;
    u64 mask = 0;
    Statistics counts;
};

// Dwords of LDS: who touched them since which barrier. tag = epoch << 9 | odd << 8 | wave + 1; kMany: several waves; kMixed:
// different bytes by different waves, which is not looked at further. Only for odd tags (parts of a dword, atomics) do the
// arrays of bytes say more; any other access is of all four bytes.
constexpr u32 kEpochShift = 9, kOdd = 1u << 8;
struct LdsShadow {
    std::vector<u32> write_tag, read_tag;
    std::vector<u8> write_bytes, read_bytes, atomic;
    std::vector<u8> defined; // per byte, 1: written
    u32 epoch_base = 1;      // grows from workgroup to workgroup, so that words need no clearing
    u32 last_epoch = 0;
};
constexpr u32 kMany = 0xff, kMixed = 0xfe;

// An uninitialised value goes somewhere that matters.
void report_undefined(Wave &w, const Inst *i, const char *what, u64 lanes);
std::string origin_text(const Wave &w);

} // namespace hipemu
