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
    u32 epoch = tag >> kEpochShift, me = tag & 0xff;
    auto bytes_of = [&](u32 t, u8 odd) { return t & kOdd ? odd : u8(15); };
    u8 written = bytes_of(s.write_tag[x], s.write_bytes[x]), read = bytes_of(s.read_tag[x], s.read_bytes[x]);
    bool was_atomic = (s.write_tag[x] & kOdd) && s.atomic[x];
    auto meets = [&](u32 other_tag, u8 bytes) {
        u32 other = other_tag & 0xff;
        return other_tag >> kEpochShift == epoch && other != me && other != kMixed && (bytes & mask);
    };
    if (race.lane < 0) {
        if (meets(s.write_tag[x], written) && !(was_atomic && (atomic || !store))) race = {lane, s.write_tag[x] & 0xff, at, true};
        else if (store && !atomic && meets(s.read_tag[x], read)) race = {lane, s.read_tag[x] & 0xff, at, false};
    }
    auto note = [&](u32 &other_tag, u8 &bytes, u8 before) {
        u32 who = me;
        bool same_epoch = other_tag >> kEpochShift == epoch;
        if (same_epoch && (other_tag & 0xff) != me) who = mask == 15 && before == 15 ? kMany : kMixed;
        bytes = same_epoch ? before | mask : mask;
        other_tag = epoch << kEpochShift | kOdd | who;
    };
    if (store) {
        bool same_epoch = s.write_tag[x] >> kEpochShift == epoch;
        s.atomic[x] = u8(same_epoch ? was_atomic && atomic : atomic);
        note(s.write_tag[x], s.write_bytes[x], written);
    } else {
        note(s.read_tag[x], s.read_bytes[x], read);
    }
}

// A load of a part of a dword that nobody else stored to in this interval. False: it needs touch().
inline bool read_part(LdsShadow &s, u32 x, u32 tag, u8 mask) {
    u32 w = s.write_tag[x], r = s.read_tag[x], epoch = tag >> kEpochShift;
    if (w >> kEpochShift == epoch && (w & 0xff) != (tag & 0xff)) return false;
    bool again = r >> kEpochShift == epoch, mine = (r & 0xff) == (tag & 0xff);
    u8 before = again ? (r & kOdd ? s.read_bytes[x] : u8(15)) : u8(0);
    s.read_bytes[x] = before | mask;
    s.read_tag[x] = again && !mine ? epoch << kEpochShift | kOdd | kMixed : tag | kOdd;
    return true;
}

// Whole dwords [x, x + n), no atomics. False: something there needs touch().
template <bool Store> bool touch_range(LdsShadow &s, u32 x, u32 n, u32 tag) {
    u32 epoch = tag >> kEpochShift, bad = 0;
    u32 *w = s.write_tag.data() + x, *r = s.read_tag.data() + x;
    for (u32 k = 0; k < n; ++k) {
        bad |= u32((w[k] >> kEpochShift == epoch) & (w[k] != tag));
        bad |= u32((r[k] >> kEpochShift == epoch) & (r[k] != tag) & (Store | ((r[k] & kOdd) != 0)));
    }
    if (bad) return false;
    u32 many = epoch << kEpochShift | kMany;
    for (u32 k = 0; k < n; ++k) {
        if constexpr (Store) w[k] = tag;
        else r[k] = (r[k] >> kEpochShift == epoch) & (r[k] != tag) ? many : tag;
    }
    return true;
}

// The same for one dword of each lane in `exec`; returns the lanes that need touch().
template <bool Store> u64 touch_lanes(LdsShadow &s, const u32 *words, u64 exec, u32 tag) {
    u32 epoch = tag >> kEpochShift, many = epoch << kEpochShift | kMany;
    u64 rest = 0;
#if defined(__AVX512F__)
    __m512i tags = _mm512_set1_epi32(int(tag)), epochs = _mm512_set1_epi32(int(epoch));
    auto others = [&](__m512i t, __mmask16 on) { // touched in this interval, by another wave or oddly
        return _mm512_mask_cmpneq_epi32_mask(_mm512_mask_cmpeq_epi32_mask(on, _mm512_srli_epi32(t, kEpochShift), epochs), t, tags);
    };
    for (int l = 0; l < kLanes; l += 16) {
        __mmask16 on = __mmask16(exec >> l);
        if (!on) continue;
        __m512i index = _mm512_loadu_si512(words + l);
        __m512i w = _mm512_mask_i32gather_epi32(tags, on, index, s.write_tag.data(), 4);
        __m512i r = _mm512_mask_i32gather_epi32(tags, on, index, s.read_tag.data(), 4);
        __mmask16 bad = others(w, on), read = others(r, on);
        if constexpr (Store) {
            bad |= read;
            _mm512_mask_i32scatter_epi32(s.write_tag.data(), on & ~bad, index, tags, 4);
        } else {
            bad |= _mm512_mask_test_epi32_mask(read, r, _mm512_set1_epi32(int(kOdd)));
            _mm512_mask_i32scatter_epi32(s.read_tag.data(), on & ~bad, index, _mm512_mask_set1_epi32(tags, read, int(many)), 4);
        }
        rest |= u64(bad) << l;
    }
#else
    (void)many;
    for_lanes(exec, [&](int l) {
        if (!touch_range<Store>(s, words[l], 1, tag)) rest |= 1ull << l;
    });
#endif
    return rest;
}

void check_races(Wave &w, const Inst *i, const u64 *address, u32 bytes, bool store, const Access &a, const Together &t) {
    LdsShadow &s = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes, epoch = s.epoch_base + w.epoch, tag = epoch << kEpochShift | (w.index + 1);
    s.last_epoch = std::max(s.last_epoch, epoch);
    bool atomic = i->op && (i->op->flags & kAtomic), whole = (bytes & 3) == 0;
    if (!atomic && (t.adjacent || t.same) && ((t.first | t.bytes) & 3) == 0 && t.first + t.bytes <= limit) {
        u32 x = u32(t.first / 4), n = u32(t.bytes / 4);
        if (store ? touch_range<true>(s, x, n, tag) : touch_range<false>(s, x, n, tag)) return;
    }
    alignas(64) u32 words[kLanes];
    u32 offsets = 0, beyond = 0;
    for (int l = 0; l < kLanes; ++l) {
        u32 at = u32(address[l]);
        words[l] = at / 4;
        u32 on = a.exec >> l & 1 ? ~0u : 0;
        offsets |= at & on;
        beyond |= u32(at > limit - bytes) & on;
    }
    u64 lanes = a.exec; // for touch()
    if (!atomic && whole && !(offsets & 3) && bytes <= limit && !beyond) {
        lanes = 0;
        for (u32 k = 0; k < bytes / 4; ++k) {
            lanes |= store ? touch_lanes<true>(s, words, a.exec, tag) : touch_lanes<false>(s, words, a.exec, tag);
            if (k + 1 < bytes / 4)
                for (int l = 0; l < kLanes; ++l) ++words[l];
        }
        if (!lanes) return;
    }
    Race race;
    for_lanes(lanes, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        if (at + bytes > limit) return;
        if (!store && (at & 3) + bytes <= 4 && read_part(s, u32(at / 4), tag, u8(((1u << bytes) - 1) << (at & 3)))) return;
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
        if (at + bytes > limit) return;
        u32 four = data >> l & 1 ? 0x01010101u : 0;
        u32 k = 0;
        for (; k + 4 <= bytes; k += 4) std::memcpy(&s.defined[at + k], &four, 4);
        for (; k < bytes; ++k) s.defined[at + k] = u8(four);
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

inline bool bytes_defined(const u8 *p, u32 bytes) { // of one lane
    switch (bytes) {
    case 1: return *p;
    case 2: return p[0] & p[1];
    case 4: {
        u32 x;
        std::memcpy(&x, p, 4);
        return x == 0x01010101u;
    }
    default: return all_defined(p, bytes);
    }
}

void check_lds_load(Wave &w, const Inst *i, const u64 *address, u32 bytes, const Access &a, const Together &t) {
    LdsShadow &s = lds_shadow(*w.group);
    u32 limit = w.group->lds_bytes;
    if ((t.adjacent || t.same) && t.first + t.bytes <= limit && all_defined(&s.defined[t.first], t.bytes)) return;
    bool all = true; // the usual answer, without a branch per lane
    for_lanes(a.exec, [&](int l) {
        u64 at = address[l] & 0xffffffffu;
        all &= at + bytes > limit || bytes_defined(&s.defined[at], bytes);
    });
    if (all) return;
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
    if (s.write_tag.size() < words || s.epoch_base > 1u << 22) {
        s.write_tag.assign(words, 0);
        s.read_tag.assign(words, 0);
        for (auto *bytes : {&s.write_bytes, &s.read_bytes, &s.atomic}) bytes->assign(words, 0);
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
