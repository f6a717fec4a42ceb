// Checks of accesses: LDS races, uninitialised values in LDS and memory, bank conflicts, coalescing.
//
// Lanes of a wave mostly access one range together; then a check is one look at that range instead of one per lane.
#include <algorithm>

#include "checks.h"
#include "shadow.h"

namespace hipemu {

namespace {

LdsShadow &lds_shadow(Workgroup &g) { return *static_cast<LdsShadow *>(g.lds_shadow); }

u32 registers_of(u32 bytes) { return std::max(1u, bytes / 4); }

// Lanes for which every register of the data is defined.
u64 data_defined(const Wave &w, const Access &a, u32 bytes) {
    u64 d = ~0ull;
    for (u32 k = 0; k < registers_of(bytes) && a.row + int(k) < 512; ++k) d &= w.shadow->defined[a.row + int(k)];
    return d;
}
void set_undefined(Wave &w, const Access &a, u32 bytes, u64 lanes) {
    for (u32 k = 0; k < registers_of(bytes) && a.row + int(k) < 512; ++k) w.shadow->defined[a.row + int(k)] &= ~lanes;
}

// ---- LDS races --------------------------------------------------------------------------------------------------------

struct Race {
    int lane = -1;
    u32 other = 0; // wave + 1, or kMany
    u64 at = 0;
    bool other_wrote = false;
};

// One dword, any bytes of it.
void touch(LdsShadow &s, u32 x, u32 tag, u8 mask, bool store, bool atomic, int lane, u64 at, Race &race) {
    u32 epoch = tag >> 8, me = tag & 0xff;
    auto meets = [&](u32 other_tag, u8 bytes) {
        u32 other = other_tag & 0xff;
        return other_tag >> 8 == epoch && other != me && other != kMixed && (bytes & mask);
    };
    if (race.lane < 0) {
        bool both_atomic = s.atomic[x] && (atomic || !store);
        if (meets(s.write_tag[x], s.write_bytes[x]) && !both_atomic) race = {lane, s.write_tag[x] & 0xff, at, true};
        else if (store && !atomic && meets(s.read_tag[x], s.read_bytes[x])) race = {lane, s.read_tag[x] & 0xff, at, false};
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
        s.atomic[x] = u8(s.write_tag[x] >> 8 == epoch ? s.atomic[x] & u8(atomic) : u8(atomic));
        note(s.write_tag[x], s.write_bytes[x]);
    } else {
        note(s.read_tag[x], s.read_bytes[x]);
    }
}

// Whole dwords [x, x + n) in a barrier interval without atomics and partial accesses. False: something there needs touch().
template <bool Store> bool touch_range(LdsShadow &s, u32 x, u32 n, u32 tag) {
    u32 epoch = tag >> 8, bad = 0;
    u32 *w = s.write_tag.data() + x, *r = s.read_tag.data() + x;
    if constexpr (Store) {
        for (u32 k = 0; k < n; ++k) bad |= u32((w[k] >> 8 == epoch) & (w[k] != tag)) | u32((r[k] >> 8 == epoch) & (r[k] != tag));
        if (bad) return false;
        for (u32 k = 0; k < n; ++k) w[k] = tag;
        std::memset(s.write_bytes.data() + x, 15, n);
        std::memset(s.atomic.data() + x, 0, n);
    } else {
        for (u32 k = 0; k < n; ++k) bad |= u32((w[k] >> 8 == epoch) & (w[k] != tag));
        if (bad) return false;
        u32 many = epoch << 8 | kMany;
        for (u32 k = 0; k < n; ++k) r[k] = (r[k] >> 8 == epoch) & (r[k] != tag) ? many : tag;
        std::memset(s.read_bytes.data() + x, 15, n);
    }
    return true;
}

void check_races(Wave &w, const Inst *i, const u64 *address, u32 bytes, bool store, const Access &a, const Together &t) {
    LdsShadow &s = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes, epoch = s.epoch_base + w.epoch, tag = epoch << 8 | (w.index + 1);
    s.last_epoch = std::max(s.last_epoch, epoch);
    bool atomic = i->op && (i->op->flags & kAtomic), whole = (bytes & 3) == 0;
    if (atomic || !whole) s.odd_epochs[epoch & 3] = epoch;
    bool plain = s.odd_epochs[epoch & 3] != epoch;
    if (plain && (t.adjacent || t.same) && (t.first & 3) == 0 && t.first + t.bytes <= limit) {
        u32 x = u32(t.first / 4), n = u32(t.bytes / 4);
        if (store ? touch_range<true>(s, x, n, tag) : touch_range<false>(s, x, n, tag)) return;
    }
    Race race;
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        if (at + bytes > limit) return;
        if ((at & 3) == 0 && whole) {
            u32 x = u32(at / 4), n = bytes / 4;
            if (plain && (store ? touch_range<true>(s, x, n, tag) : touch_range<false>(s, x, n, tag))) return;
            for (u32 k = 0; k < n; ++k) touch(s, x + k, tag, 15, store, atomic, l, at, race);
            return;
        }
        s.odd_epochs[epoch & 3] = epoch;
        for (u64 word = at / 4; word <= (at + bytes - 1) / 4; ++word) {
            u32 low = u32(std::max(at, word * 4) - word * 4), high = u32(std::min(at + bytes, word * 4 + 4) - word * 4);
            touch(s, u32(word), tag, u8(((1u << high) - 1) & ~((1u << low) - 1)), store, atomic, l, at, race);
        }
    });
    if (race.lane >= 0)
        report(w, i, "HP855", std::string("LDS race: this ") + (store ? "store" : "load") + " of offset " + std::to_string(race.at) + " and a " +
               (race.other_wrote ? "store" : "load") + " by " + (race.other == kMany ? "other waves" : "wave " + std::to_string(race.other - 1)) +
               " have no barrier between them", race.lane, race.at);
}

// ---- uninitialised LDS ------------------------------------------------------------------------------------------------

void note_lds_store(Wave &w, const u64 *address, u32 bytes, const Access &a, const Together &t) {
    LdsShadow &s = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes;
    u64 data = a.row >= 0 ? data_defined(w, a, bytes) : ~0ull;
    if (t.adjacent && t.first + t.bytes <= limit && !(a.exec & ~data)) {
        std::memset(&s.defined[t.first], 1, t.bytes);
        return;
    }
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        if (at + bytes <= limit) std::memset(&s.defined[at], data >> l & 1, bytes);
    });
}

bool all_defined(const u8 *p, u64 n) { // every byte is 1
    u64 all = ~0ull;
    for (; n >= 8; n -= 8, p += 8) {
        u64 x;
        std::memcpy(&x, p, 8);
        all &= x;
    }
    u8 rest = 1;
    for (; n; --n) rest &= *p++;
    return rest && (all & 0x0101010101010101ull) == 0x0101010101010101ull;
}

void check_lds_load(Wave &w, const Inst *i, const u64 *address, u32 bytes, const Access &a, const Together &t) {
    LdsShadow &s = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes;
    if ((t.adjacent || t.same) && t.first + t.bytes <= limit && all_defined(&s.defined[t.first], t.bytes)) return;
    u64 undefined = 0;
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        if (at + bytes > limit || all_defined(&s.defined[at], bytes)) return;
        if (!undefined) w.shadow->origin_offset = at;
        undefined |= 1ull << l;
    });
    if (!undefined) return;
    w.shadow->origin = i;
    w.shadow->origin_record = 0;
    if (a.row >= 0) set_undefined(w, a, bytes, undefined);
}

// ---- uninitialised values in memory -----------------------------------------------------------------------------------

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
    if (undefined) set_undefined(w, a, bytes, undefined);
}

// ---- counters ---------------------------------------------------------------------------------------------------------

// The model: LDS has 32 banks (64 on gfx950) of a dword. Consecutive lanes go together as many at a time as their data has
// dwords for all banks; such a group takes as many cycles as the busiest bank has different dwords to give.
void count_banks(Wave &w, const u64 *address, u32 bytes, const Access &a, const Together &t) {
    Statistics &c = w.shadow->counts;
    ++c.lds_accesses;
    if (t.adjacent || t.same) return; // each bank once; or one dword for all
    u32 banks = w.group->target->generation == Generation::gfx950 ? 64 : 32, dwords = registers_of(bytes);
    int lanes = w.wave32 ? 32 : 64, group = std::max(1, int(banks / dwords));
    for (int first = 0; first < lanes; first += group) {
        u64 on = a.exec >> first & (group >= 64 ? ~0ull : (1ull << group) - 1);
        u32 owner[64]; // the bank's first dword
        u64 used = 0;
        u32 rivals[64 * 4], n = 0; // dwords that find another one in their bank
        for_lanes(on, [&](int l) {
            for (u32 k = 0; k < dwords; ++k) {
                u32 word = u32(address[first + l] / 4) + k, bank = word & (banks - 1);
                if (!(used >> bank & 1)) {
                    used |= 1ull << bank;
                    owner[bank] = word;
                } else if (owner[bank] != word) {
                    rivals[n++] = word;
                }
            }
        });
        if (!n) continue;
        std::sort(rivals, rivals + n);
        n = u32(std::unique(rivals, rivals + n) - rivals);
        u8 extra[64] = {}, worst = 0;
        for (u32 k = 0; k < n; ++k) worst = std::max(worst, ++extra[rivals[k] & (banks - 1)]);
        c.lds_conflict_cycles += worst;
    }
}

// 64-byte segments that a wave touches, and the least number that the same bytes could lie in.
void count_segments(Wave &w, const u64 *address, u32 bytes, const Access &a, const Together &t) {
    Statistics &c = w.shadow->counts;
    ++c.global_accesses;
    if (t.adjacent || t.same) {
        c.global_segments += ((t.first + t.bytes - 1) >> 6) - (t.first >> 6) + 1;
        c.global_minimum += (t.bytes + 63) / 64;
        return;
    }
    u64 starts[kLanes];
    int lanes = 0;
    bool sorted = true;
    for_lanes(a.exec, [&](int l) {
        starts[lanes] = address[l];
        sorted &= lanes == 0 || starts[lanes - 1] <= starts[lanes];
        ++lanes;
    });
    if (!sorted) std::sort(starts, starts + lanes);
    u64 next = 0, different = 0; // first segment that was not counted
    for (int k = 0; k < lanes; ++k) {
        u64 first = starts[k] >> 6, last = (starts[k] + bytes - 1) >> 6;
        if (last >= next) c.global_segments += last - std::max(first, next) + 1;
        next = std::max(next, last + 1);
        different += k == 0 || starts[k] != starts[k - 1];
    }
    c.global_minimum += (different * bytes + 63) / 64;
}

} // namespace

Together together(const u64 *address, u32 bytes, u64 exec) {
    Together t;
    if (!exec) return t;
    int first = __builtin_ctzll(exec);
    u64 run = exec >> first, n = u64(__builtin_popcountll(exec)), base = address[first];
    t.first = base;
    u64 gaps = 0, distances = 0;
    if ((run & (run + 1)) == 0) { // lanes that are on stand side by side
        for (u64 k = 0; k < n; ++k) {
            gaps |= address[first + int(k)] ^ (base + k * bytes);
            distances |= address[first + int(k)] ^ base;
        }
        t.adjacent = !gaps;
    } else {
        for_lanes(exec, [&](int l) { distances |= address[l] ^ base; });
    }
    t.same = !distances;
    t.bytes = t.same ? bytes : n * bytes;
    return t;
}

void observe_access(Wave &w, const Inst *i, Space space, const u64 *address, u32 bytes, bool store, const Access &a, const Together &t) {
    Space s = space;
    Together here = t;
    if (s == Space::flat && a.exec) {
        u32 high = u32(address[__builtin_ctzll(a.exec)] >> 32);
        s = high == u32(kSharedBase >> 32) ? Space::lds : high == u32(kPrivateBase >> 32) ? Space::scratch : Space::global;
        if (s == Space::lds) here.first &= 0xffffffffu;
    }
    if (s == Space::lds) {
        if (w.checks & HIPEMU_CHECK_RACES) check_races(w, i, address, bytes, store, a, here);
        if (w.checks & HIPEMU_CHECK_UNINITIALISED) {
            if (store) note_lds_store(w, address, bytes, a, here);
            else check_lds_load(w, i, address, bytes, a, here);
        }
        if (w.checks & HIPEMU_CHECK_BANKS) count_banks(w, address, bytes, a, here);
    } else if (s == Space::global) {
        if ((w.checks & HIPEMU_CHECK_UNINITIALISED) && a.row >= 0) {
            if (store) {
                u64 bad = a.exec & ~data_defined(w, a, bytes);
                if (bad || w.group->launch->device->undefined.any()) undefined_store(w, i, address, bytes, a, bad);
            } else if (w.group->launch->device->undefined.any()) {
                undefined_load(w, address, bytes, a);
            }
        }
        if (w.checks & HIPEMU_CHECK_BANKS) count_segments(w, address, bytes, a, here);
    }
}

void start_lds_shadow(Workgroup &g) {
    u32 checks = g.launch->options.checks;
    if (!(checks & (HIPEMU_CHECK_RACES | HIPEMU_CHECK_UNINITIALISED))) return;
    if (!g.lds_shadow) g.lds_shadow = new LdsShadow;
    LdsShadow &s = lds_shadow(g);
    s.epoch_base = s.last_epoch + 1;
    size_t words = g.lds_bytes / 4 + 1;
    if (s.write_tag.size() < words || s.epoch_base > 1u << 23) {
        s.write_tag.assign(words, 0);
        s.read_tag.assign(words, 0);
        for (auto *bytes : {&s.write_bytes, &s.read_bytes, &s.atomic}) bytes->assign(words, 0);
        std::fill(std::begin(s.odd_epochs), std::end(s.odd_epochs), 0);
        s.epoch_base = 1;
    }
    s.last_epoch = s.epoch_base;
    s.defined.assign(g.lds_bytes + 16, 0);
}

void release_lds_shadow(Workgroup &g) {
    delete static_cast<LdsShadow *>(g.lds_shadow);
    g.lds_shadow = nullptr;
}

} // namespace hipemu
