// HP858: the mask of a _sync call is not the lanes that execute it.
//
// Masks are ordinary values in the code, so the test is the code's own: HIP's headers trap when a mask differs from the active
// lanes (unless NDEBUG is defined), and hipport/warp.h does with HIPPORT_CHECK_MASKS. What is left is to tell such a trap from
// another: hipport/warp.h leaves a word in M0; in HIP's headers the line table names the file, and without one the comparison
// with EXEC that failed before the trap is taken for it.
#include <algorithm>
#include <cstdio>

#include "checks.h"
#include "shadow.h"

namespace hipemu {

namespace {

constexpr u32 kMarker = 0x4b53414d; // "MASK", HIPPORT_MASK_TRAP in hipport/warp.h

const std::string *file_of(const Program &program, u64 address) {
    auto after = std::upper_bound(program.lines.begin(), program.lines.end(), address, [](u64 a, const Line &l) { return a < l.address; });
    if (after == program.lines.begin()) return nullptr;
    u32 file = std::prev(after)->file;
    return file < program.files.size() ? &program.files[file] : nullptr;
}

std::string text(u64 mask, u64 active, bool known) {
    char line[160];
    auto hex = [](u64 x) { return static_cast<unsigned long long>(x); };
    if (known) snprintf(line, sizeof line, "the mask of a _sync call, 0x%llx, is not the lanes that execute it, 0x%llx", hex(mask), hex(active));
    else snprintf(line, sizeof line, "the mask of a _sync call is not the lanes that execute it, 0x%llx", hex(active));
    return line;
}

} // namespace

void note_mask_test(Wave &w, const Inst *i) {
    Shadow &s = *w.shadow;
    bool vector = i->op->unit == Unit::valu, wide = !vector && std::string_view(i->op->name).ends_with("64");
    const Operand &a = vector ? i->o[1] : i->o[0], &b = vector ? i->o[2] : i->o[1];
    const Operand &other = a.kind == Kind::sgpr && a.index == kExec ? b : a;
    u64 exec = w.exec();
    s.mask_differs = false;
    if (other.kind == Kind::vgpr) {
        bool pair = other.width > 1;
        for_lanes(exec, [&](int l) {
            u64 mask = w.v[other.index].lane[l] | (pair ? u64(w.v[other.index + 1].lane[l]) << 32 : 0);
            if (mask != exec && !s.mask_differs) { s.mask_differs = true; s.mask = mask; }
        });
    } else {
        s.mask = wide || vector ? read64(w, other) : read32(w, other);
        s.mask_differs = s.mask != exec;
    }
}

const Inst *caller_of_trap(const Wave &w, const Inst *i) {
    const Program &program = *w.group->program;
    for (const Symbol &s : program.symbols) {
        if (s.name != "__hipport_trap" || i->address < s.address || i->address >= s.address + s.bytes) continue;
        u64 returns = w.s[30] | u64(w.s[31]) << 32;
        try {
            return instruction_at(program, returns - 4);
        } catch (const Fault &) {
        }
    }
    return i;
}

std::string mask_trap(const Wave &w, const Inst *i) {
    if (!(w.checks & HIPEMU_CHECK_MASKS) || !w.shadow) return "";
    u64 exec = w.exec();
    if (w.s[kM0] == kMarker) { // of one warp: a half of the wavefront
        int base = exec ? __builtin_ctzll(exec) & 32 : 0;
        return text(w.s[kVcc], u32(exec >> base), true);
    }
    const std::string *file = file_of(*w.group->program, i->address);
    if (file) return file->ends_with("amd_warp_sync_functions.h") ? text(w.shadow->mask, exec, w.shadow->mask_differs) : "";
    return w.shadow->mask_differs ? text(w.shadow->mask, exec, true) : "";
}

} // namespace hipemu
