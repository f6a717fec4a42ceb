// From guest addresses to host pointers. The range test on every access is always on; what exactly was allocated is looked up
// when bounds are checked.
#include "checks.h"
#include "launch.h"

namespace hipemu {

namespace {

std::string hex(u64 x) {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
    return text;
}

// A global address outside of the arena: the launch's arguments, registered host memory, or the end of the launch.
u8 *outside(Wave &w, u64 address, u32 bytes, int lane, bool store) {
    const Launch *launch = w.group->launch;
    bool arguments = launch && launch->in_segment(address, bytes);
    if (arguments ? !store : launch && launch->device->arena.registered(address, bytes)) return reinterpret_cast<u8 *>(address);
    fault(HIPEMU_MEMORY_FAULT, "HP862",
          std::string(store ? "store to " : "load from ") + hex(address) + (arguments ? ", which holds arguments of the launch: kernels may only read them" : ", which is no guest memory"), lane, address);
}

[[gnu::noinline]] void resolve_slow(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, Access &a) {
    Workgroup &g = *w.group;
    bool bounds = w.checks & HIPEMU_CHECK_BOUNDS;
    u64 allowed = 0;
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l];
        Space s = space;
        if (s == Space::flat) {
            u32 high = u32(at >> 32);
            if (high == u32(kSharedBase >> 32)) { s = Space::lds; at = u32(at); }
            else if (high == u32(kPrivateBase >> 32)) { s = Space::scratch; at = u32(at); }
            else s = Space::global;
        }
        if (s == Space::lds) {
            if (at + bytes > g.lds_bytes) {
                if (bounds) report(w, i, "HP852", std::string("LDS ") + (store ? "store to" : "load from") + " offset " + std::to_string(at) + ", the workgroup has " + std::to_string(g.lds_bytes) + " bytes", l, at);
                a.at[l] = w.sink; // out of range: reads 0, writes nothing
                if (!store) { std::memset(w.sink, 0, 16); allowed |= 1ull << l; }
                return;
            }
            a.at[l] = g.lds + at;
        } else if (s == Space::scratch) {
            if (at + bytes > w.scratch_bytes) {
                report(w, i, "HP853", std::string("scratch ") + (store ? "store to" : "load from") + " offset " + std::to_string(at) + ", a lane has " + std::to_string(w.scratch_bytes) + " bytes", l, at);
                if (!bounds) fault(HIPEMU_MEMORY_FAULT, "HP853", "scratch access outside of the lane's stack", l, at);
                a.at[l] = w.sink;
                if (!store) { std::memset(w.sink, 0, 16); allowed |= 1ull << l; }
                return;
            }
            a.at[l] = w.scratch + u64(l) * w.scratch_bytes + at;
        } else {
            if (at - w.guest_base > w.guest_bytes - bytes) {
                a.at[l] = outside(w, at, bytes, l, store);
            } else {
                if (bounds && !g.launch->device->arena.allocated(at, bytes)) {
                    global_out_of_bounds(w, i, at, bytes, l, store);
                    a.at[l] = w.sink;
                    if (!store) { std::memset(w.sink, 0, 16); allowed |= 1ull << l; }
                    return;
                }
                a.at[l] = reinterpret_cast<u8 *>(at);
            }
        }
        allowed |= 1ull << l;
    });
    a.exec = allowed;
}

// With checks on: the common case in which every lane is in bounds, without a call per lane.
bool resolve_plain(Wave &w, Space space, const u64 *address, u32 bytes, Access &a, const Together &t) {
    if (space == Space::lds) {
        u64 limit = w.group->lds_bytes;
        u8 *base = w.group->lds;
        Row bad;
        for (int l = 0; l < kLanes; ++l) {
            bad.lane[l] = address[l] + bytes > limit;
            a.at[l] = base + address[l];
        }
        return !(mask_of(bad.lane) & a.exec);
    }
    if (space == Space::scratch || bytes > 16) return false;
    Row bad;
    for (int l = 0; l < kLanes; ++l) {
        bad.lane[l] = address[l] - w.guest_base > w.guest_bytes - bytes;
        a.at[l] = reinterpret_cast<u8 *>(address[l]);
    }
    if (mask_of(bad.lane) & a.exec) return false;
    if (!(w.checks & HIPEMU_CHECK_BOUNDS)) return true;
    const u8 *shadow = w.group->launch->device->arena.shadow();
    u32 wrong = 0;
    if (t.adjacent || t.same) {
        u64 last = (t.first + t.bytes - 1 - w.guest_base) >> 4;
        for (u64 k = (t.first - w.guest_base) >> 4; k <= last; ++k) wrong |= u32(shadow[k] ^ 16);
        return wrong == 0;
    }
    for_lanes(a.exec, [&](int l) {
        u64 offset = address[l] - w.guest_base;
        wrong |= u32(shadow[offset >> 4] ^ 16) | u32(shadow[(offset + bytes - 1) >> 4] ^ 16);
    });
    return wrong == 0;
}

} // namespace

void resolve(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, Access &a) {
    if (__builtin_expect(!w.checks, 1)) {
        Row bad;
        switch (space) {
        case Space::flat: {
            u64 any = 0;
            for (int l = 0; l < kLanes; ++l) {
                u32 high = u32(address[l] >> 32);
                bad.lane[l] = high == u32(kSharedBase >> 32) || high == u32(kPrivateBase >> 32) || address[l] - w.guest_base > w.guest_bytes - bytes;
                a.at[l] = reinterpret_cast<u8 *>(address[l]);
            }
            any = mask_of(bad.lane) & a.exec;
            if (__builtin_expect(!any, 1)) return;
            break;
        }
        case Space::global:
            for (int l = 0; l < kLanes; ++l) {
                bad.lane[l] = address[l] - w.guest_base > w.guest_bytes - bytes;
                a.at[l] = reinterpret_cast<u8 *>(address[l]);
            }
            if (__builtin_expect(!(mask_of(bad.lane) & a.exec), 1)) return;
            break;
        case Space::lds: {
            u64 limit = w.group->lds_bytes;
            u8 *base = w.group->lds;
            for (int l = 0; l < kLanes; ++l) {
                bad.lane[l] = address[l] + bytes > limit;
                a.at[l] = base + address[l];
            }
            if (__builtin_expect(!(mask_of(bad.lane) & a.exec), 1)) return;
            break;
        }
        case Space::scratch: {
            u64 limit = w.scratch_bytes;
            for (int l = 0; l < kLanes; ++l) {
                bad.lane[l] = address[l] + bytes > limit;
                a.at[l] = w.scratch + u64(l) * limit + address[l];
            }
            if (__builtin_expect(!(mask_of(bad.lane) & a.exec), 1)) return;
            break;
        }
        }
        resolve_slow(w, i, space, address, bytes, store, a);
        return;
    }
    Together t = together(address, bytes, a.exec);
    if (!resolve_plain(w, space, address, bytes, a, t)) {
        resolve_slow(w, i, space, address, bytes, store, a);
        t = together(address, bytes, a.exec); // without the lanes that are out of bounds
    }
    observe_access(w, i, space, address, bytes, store, a, t);
}

u8 *resolve_scalar(Wave &w, const Inst *i, u64 address, u32 bytes, bool store) {
    if (address - w.guest_base > w.guest_bytes - bytes) return outside(w, address, bytes, 0, store);
    if ((w.checks & HIPEMU_CHECK_BOUNDS) && !w.group->launch->device->arena.allocated(address, bytes)) {
        // Loads may fetch more than they use; only a first dword outside is wrong.
        if (!w.group->launch->device->arena.allocated(address, 4)) {
            global_out_of_bounds(w, i, address, bytes, 0, store);
            return nullptr;
        }
    }
    return reinterpret_cast<u8 *>(address);
}

} // namespace hipemu
