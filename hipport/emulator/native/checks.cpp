#include "checks.h"

#include "launch.h"

namespace hipemu {

void report(Wave &w, const Inst *i, const char *id, const std::string &message, int lane, u64 address) {
    w.group->launch->report(&w, i, id, message, lane, address);
}

void global_out_of_bounds(Wave &w, const Inst *i, u64 address, u32 bytes, int lane, bool store) {
    const Arena &arena = w.group->launch->device->arena;
    char text[160];
    bool freed = arena.freed(address);
    snprintf(text, sizeof text, "%s of %u bytes %s 0x%llx, which %s", store ? "store" : "load", bytes, store ? "to" : "from",
             static_cast<unsigned long long>(address), freed ? "was freed" : "is outside of every allocation");
    report(w, i, freed ? "HP851" : "HP850", text, lane, address);
}

void observe_access(Wave &, const Inst *, Space, const u64 *, u32, bool, u64, const Access &) {}
void before_instruction(Wave &, const Inst *) {}
void after_instruction(Wave &, const Inst *) {}
void start_shadow(Wave &, u32) {}
void release_shadow(Wave &) {}
void start_lds_shadow(Workgroup &) {}
void release_lds_shadow(Workgroup &) {}
void finish_wave(Wave &) {}
void check_barrier(Workgroup &) {}
void barrier_opened(Workgroup &) {}
void collect_statistics(Wave &, Statistics &) {}

} // namespace hipemu
