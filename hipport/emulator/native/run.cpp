// The scheduler: waves of a workgroup take turns between barriers, workgroups run on worker threads.
//
// A wave keeps its turn until it ends, waits, sleeps or has used its quantum. A workgroup keeps its worker until it ends, or
// until all its waves sleep or poll; then the worker turns to its other workgroups, and starts one more when all of them spin
// (the one they wait for may not have started). When nothing can change any more, the launch ends with a deadlock finding.
#include <sys/mman.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <condition_variable>
#include <thread>
#include <utility>

#include "checks.h"
#include "launch.h"

namespace hipemu {

namespace {

constexpr u64 kQuantum = 20000;         // wave-instructions per turn
constexpr u64 kGroupSlice = 400000;     // wave-instructions of a workgroup before others get the worker
constexpr size_t kMaxResident = 4096;   // workgroups per worker

constexpr u32 kLongTurns = 32;          // full turns without a store before a wave is suspected of looping for ever

// A wave that keeps the worker: full turns without a store, and what it looked like at one of them.
struct LongRun {
    u64 stores = 0, state = 0;
    u32 turns = 0, next = 0;
};

// Memory of one resident workgroup, reused for the next one.
struct Slot {
    Workgroup group;
    Wave *waves = nullptr;
    u32 n_waves = 0;
    u8 *scratch = nullptr;
    u64 scratch_bytes = 0;
    u64 waves_bytes = 0, lds_bytes = 0;
    std::vector<LongRun> long_runs; // one per wave

    Slot(u32 n, u32 lds, u64 scratch_per_wave) : n_waves(n) {
        waves_bytes = sizeof(Wave) * u64(n);
        waves = static_cast<Wave *>(map(waves_bytes));
        lds_bytes = std::max<u64>(lds, 16) + 64;
        group.lds = static_cast<u8 *>(map(lds_bytes));
        scratch_bytes = scratch_per_wave * n;
        if (scratch_bytes) scratch = static_cast<u8 *>(map(scratch_bytes));
        long_runs.resize(n);
    }
    ~Slot() {
        for (u32 k = 0; k < n_waves; ++k) release_shadow(waves[k]);
        release_lds_shadow(group);
        munmap(waves, waves_bytes);
        munmap(group.lds, lds_bytes);
        if (scratch) munmap(scratch, scratch_bytes);
    }
    static void *map(u64 bytes) {
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) throw Error(HIPEMU_OUT_OF_MEMORY, "no memory for waves");
        return p;
    }
};

u32 initial_mode(const KernelCode &k, const TargetInfo &t) {
    u32 mode = k.rsrc1 >> 12 & 0xff;
    if (t.generation < Generation::gfx12) {
        if (k.rsrc1 >> 21 & 1) mode |= kDx10Clamp;
        if (k.rsrc1 >> 23 & 1) mode |= kIeee;
    }
    if (k.rsrc1 >> 26 & 1) mode |= kFp16Overflow;
    return mode;
}

void start_wave(Launch &launch, Slot &slot, u32 index) {
    const KernelCode &k = *launch.kernel;
    const TargetInfo &target = *launch.program->target;
    Wave &w = slot.waves[index];
    w.index = index;
    w.group = &slot.group;
    w.wave32 = k.wave_size == 32;
    w.checks = launch.options.checks;
    w.constants = launch.program->constants;
    w.guest_base = launch.device->arena.base();
    w.guest_bytes = launch.device->arena.bytes();
    w.scratch_bytes = launch.scratch_bytes;
    w.scratch = slot.scratch ? slot.scratch + u64(index) * launch.scratch_bytes * kLanes : nullptr;
    w.stop = Stop::running;
    w.scc = 0;
    w.index_mode = 0;
    w.instructions = 0;
    w.matrix_instructions = 0;
    w.clock_reads = 0;
    w.signalled_phase = ~0u;
    w.epoch = 0;
    w.grid_phase = 0;
    w.polls = 0;
    for (int s = 0; s < kSgprs; ++s) w.s[s] = launch.options.poison;
    w.s[kNull] = 0;
    u32 rows = std::min(256u, k.vgprs ? k.vgprs : 256u), accumulators = std::min(256u, k.agprs);
    std::fill_n(w.v[0].lane, rows * kLanes, launch.options.poison);
    std::fill_n(w.v[256].lane, accumulators * kLanes, launch.options.poison);
    set_mode(w, initial_mode(k, target));

    // Lanes of this wave.
    u32 wave_size = k.wave_size, first = index * wave_size;
    u32 nx = launch.block[0], ny = launch.block[1], nz = launch.block[2];
    // A partial last workgroup has fewer work-items.
    u32 left[3];
    for (int d = 0; d < 3; ++d) left[d] = std::min(launch.block[d], launch.grid[d] - slot.group.id[d] * launch.block[d]);
    nx = left[0]; ny = left[1]; nz = left[2];
    u32 total = nx * ny * nz;
    u64 exec = 0;
    for (u32 l = 0; l < wave_size; ++l) {
        u32 flat = first + l;
        if (flat >= total) break;
        exec |= 1ull << l;
        u32 x = flat % nx, y = flat / nx % ny, z = flat / (nx * ny);
        w.v[0].lane[l] = x | y << 10 | z << 20;
    }
    w.set_exec(exec);
    if (wave_size == 32) w.s[kExec + 1] = 0;

    // User SGPRs in the order of the descriptor's bits.
    u32 s = 0;
    auto put64 = [&](u64 x) { w.s[s++] = u32(x); w.s[s++] = u32(x >> 32); };
    if (k.properties & 1) { // private segment buffer: a swizzled resource that buffer opcodes recognise
        w.s[s++] = u32(kPrivateBase);
        w.s[s++] = u32(kPrivateBase >> 32 & 0xffff) | (target.generation >= Generation::gfx11 ? 1u << 30 : 1u << 31);
        w.s[s++] = ~0u;
        w.s[s++] = 1u << 23 | 0x00027000u;
    }
    if (k.properties & 2) put64(launch.dispatch_packet);
    if (k.properties & 4) put64(launch.dispatch_packet + 64); // queue: a page of zeros with the apertures
    if (k.properties & 8) put64(u64(launch.kernarg));
    if (k.properties & 16) put64(1); // dispatch id
    if (k.properties & 32) put64(0); // flat scratch: one lane's scratch is addressed directly
    if (k.properties & 64) w.s[s++] = launch.scratch_bytes;
    u32 preload = k.preload & 127, preload_offset = k.preload >> 7 & 511;
    for (u32 d = 0; d < preload && s < 106; ++d) std::memcpy(&w.s[s++], launch.kernarg + 4 * (preload_offset + d), 4);
    s = std::max(s, k.rsrc2 >> 1 & 31);
    const u32 *id = slot.group.id;
    if (target.generation == Generation::gfx12) {
        w.s[kTtmp + 9] = id[0];
        w.s[kTtmp + 7] = id[1] | id[2] << 16;
        w.s[kTtmp + 8] = index & 31;
    } else {
        if (k.rsrc2 >> 7 & 1) w.s[s++] = id[0];
        if (k.rsrc2 >> 8 & 1) w.s[s++] = id[1];
        if (k.rsrc2 >> 9 & 1) w.s[s++] = id[2];
        if (k.rsrc2 >> 10 & 1) w.s[s++] = index;
        if ((k.rsrc2 & 1) && !target.architected_flat_scratch) w.s[s++] = 0; // wave's offset into scratch
    }
    w.next = instruction_at(*launch.program, k.entry);
    start_shadow(w, s);
}

void start_group(Launch &launch, Slot &slot, u64 number) {
    Workgroup &g = slot.group;
    g.id[0] = u32(number % launch.groups[0]);
    g.id[1] = u32(number / launch.groups[0] % launch.groups[1]);
    g.id[2] = u32(number / launch.groups[0] / launch.groups[1]);
    g.launch = &launch;
    g.program = launch.program;
    g.target = launch.program->target;
    g.lds_bytes = launch.lds_bytes;
    g.arrived = g.phase = 0;
    g.waves.clear();
    std::fill(slot.long_runs.begin(), slot.long_runs.end(), LongRun{});
    std::fill_n(reinterpret_cast<u32 *>(g.lds), launch.lds_bytes / 4, launch.options.poison);
    start_lds_shadow(g);
    for (u32 k = 0; k < launch.waves_per_group; ++k) {
        start_wave(launch, slot, k);
        if (slot.waves[k].exec() == 0 && k) { slot.waves[k].stop = Stop::finished; continue; } // partial workgroup
        g.waves.push_back(&slot.waves[k]);
    }
    if (launch.options.reverse_waves) std::reverse(g.waves.begin(), g.waves.end());
    g.live = u32(g.waves.size());
}

void run_wave(Wave &w, u64 quantum) {
    const Inst *i = w.next;
    u64 left = quantum;
    w.stop = Stop::running;
    w.polls = 0;
    try {
        if (w.checks & kHookedChecks) {
            do {
                before_instruction(w, i);
                i = i->run(w, i);
            } while (--left && i);
        } else {
            do { i = i->run(w, i); } while (--left && i);
        }
    } catch (Fault &f) {
        w.instructions += quantum - left;
        w.stop = Stop::finished;
        if (f.status == HIPEMU_TRAP) {
            i = caller_of_trap(w, i);
            f.lane = w.exec() ? __builtin_ctzll(w.exec()) : 0;
            if (std::string mask = mask_trap(w, i); !mask.empty()) {
                f.id = "HP858";
                f.message = mask;
            }
        }
        w.group->launch->report(&w, i, f.id, f.message, f.lane, f.address, f.status);
        throw;
    } catch (const Error &e) {
        w.stop = Stop::finished;
        w.group->launch->report(&w, i, "HP864", e.what(), 0, 0, e.status);
        throw Fault{e.status, "HP864", e.what()};
    }
    w.instructions += quantum - left;
    if (i) w.next = i;
}

// Slots that launches left behind: mapping and first touch of their pages cost more than a small launch.
struct SlotPool {
    static constexpr size_t kMost = 64;
    static constexpr u64 kMostScratch = 4u << 20; // bytes in one slot
    std::mutex mutex;
    std::vector<std::unique_ptr<Slot>> free;

    std::unique_ptr<Slot> take(u32 waves, u64 lds, u64 scratch) {
        std::lock_guard lock(mutex);
        for (auto &slot : free)
            if (slot->n_waves >= waves && slot->lds_bytes >= std::max<u64>(lds, 16) + 64 && slot->scratch_bytes >= scratch * waves) {
                std::swap(slot, free.back());
                std::unique_ptr<Slot> found = std::move(free.back());
                free.pop_back();
                return found;
            }
        return nullptr;
    }
    void give(std::unique_ptr<Slot> slot) {
        std::lock_guard lock(mutex);
        if (slot->scratch_bytes > kMostScratch) return;
        if (free.size() >= kMost) free.erase(free.begin());
        free.push_back(std::move(slot));
    }
};

enum class GroupState { finished, spinning, sliced };

u64 mix(u64 h, const void *data, size_t bytes) {
    const u8 *p = static_cast<const u8 *>(data);
    for (; bytes >= 8; bytes -= 8, p += 8) {
        u64 x;
        std::memcpy(&x, p, 8);
        h = (h ^ x) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

// Whether a wave loops without a way out: at the end of a turn everything that it sees is as it was at the end of an earlier one
// (Brent's cycle search). A wave that stores to global memory is not looked at.
bool repeats(const Launch &launch, Slot &slot, const Wave &w) {
    LongRun &run = slot.long_runs[w.index];
    if (run.stores != w.stores) run = {w.stores};
    if (++run.turns < kLongTurns) return false;
    const KernelCode &k = *launch.kernel;
    u64 h = mix(u64(w.next->address) << 1 | w.scc, w.s, sizeof w.s);
    h = mix(h, w.v[0].lane, std::min(256u, k.vgprs ? k.vgprs : 256u) * sizeof(Row));
    h = mix(h, w.v[256].lane, std::min(256u, k.agprs) * sizeof(Row));
    h = mix(h, slot.group.lds, slot.group.lds_bytes);
    if (h == run.state) return true;
    if (run.turns >= run.next) {
        run.state = h;
        run.next = 2 * run.turns;
    }
    return false;
}

// Runs a workgroup until it ends, all its waves spin, or its slice is used. `used`: wave-instructions.
GroupState run_group(Launch &launch, Slot &slot, u64 slice, u64 &used) {
    Workgroup &g = slot.group;
    u64 quantum = launch.options.quantum ? launch.options.quantum : kQuantum;
    used = 0;
    while (true) {
        bool progressed = false, blocked = true;
        for (Wave *w : g.waves) {
            if (w->stop == Stop::finished) continue;
            if (w->stop == Stop::barrier || w->stop == Stop::waiting) {
                if (w->signalled_phase == g.phase) continue;
                w->stop = Stop::running;
                w->epoch = g.phase;
            }
            if (w->stop == Stop::grid_barrier) {
                if (!grid_open(launch, *w)) { blocked = false; continue; }
                w->stop = Stop::running;
            }
            if (launch.stop.load(std::memory_order_relaxed)) return GroupState::finished;
            blocked = false;
            u64 before = w->instructions, stores = w->stores;
            run_wave(*w, quantum);
            if (w->stores != stores) {
                progressed = true;
                launch.memory_changes.fetch_add(1, std::memory_order_relaxed);
            }
            used += w->instructions - before;
            launch_instructions(launch, w->instructions - before);
            switch (w->stop) {
            case Stop::barrier:
                barrier_signal(*w);
                progressed = true;
                break;
            case Stop::finished:
                finish_wave(*w);
                --g.live;
                if (g.live && g.arrived == g.live) { g.arrived = 0; ++g.phase; barrier_opened(g); }
                progressed = true;
                break;
            case Stop::grid_barrier: grid_arrive(launch, *w); break;
            case Stop::yielded: w->stop = Stop::running; slot.long_runs[w->index].turns = 0; break;
            case Stop::waiting: progressed = true; break;
            case Stop::running:
                if (!w->polls && !repeats(launch, slot, *w)) progressed = true;
                break;
            }
            if (w->stop != Stop::running) slot.long_runs[w->index].turns = 0;
        }
        if (g.live == 0) return GroupState::finished;
        if (blocked) {
            Wave *w = nullptr;
            for (Wave *x : g.waves)
                if (x->stop == Stop::barrier || x->stop == Stop::waiting) w = x;
            launch.report(w, w ? w->barrier_at : nullptr, "HP859", "every wave of the workgroup waits at a barrier that never opens", 0, 0, HIPEMU_DEADLOCK);
            return GroupState::finished;
        }
        if (!progressed) return GroupState::spinning;
        if (used >= slice) return GroupState::sliced;
    }
}

struct Scheduler {
    Launch &launch;
    u64 total;
    std::atomic<u64> next{0};
    std::mutex mutex;

    SlotPool &pool;

    explicit Scheduler(Launch &l) : launch(l), total(u64(l.groups[0]) * l.groups[1] * l.groups[2]), pool(pool_of(*l.device)) {}

    static SlotPool &pool_of(Device &device) { // under the launch mutex
        if (!device.slots) device.slots = std::make_shared<SlotPool>();
        return *static_cast<SlotPool *>(device.slots.get());
    }
    static u64 thread_nanoseconds() {
        timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return u64(t.tv_sec) * 1000000000 + u64(t.tv_nsec);
    }

    // Rounds in which nothing changed before a worker is idle; a long round counts as several. Another thread of the host may
    // still write what waves wait for: it gets some time.
    static constexpr u64 kIdleRounds = 200, kRoundInstructions = 1000;
    static constexpr auto kPatience = std::chrono::milliseconds(200);
    std::atomic<u32> idle_workers{0}, alive_workers{0};
    void set_busy(u64 &rounds) {
        if (rounds >= kIdleRounds) --idle_workers;
        rounds = 0;
    }

    u64 take() { return next.fetch_add(1, std::memory_order_relaxed); }

    void worker(size_t resident_at_start) {
        ++alive_workers;
        u64 began = thread_nanoseconds();
        u32 saved = _mm_getcsr();
        _mm_setcsr(0x1f80); // nearest even, no flushing, exceptions masked
        std::vector<std::unique_ptr<Slot>> free;
        std::deque<std::unique_ptr<Slot>> active;
        Statistics local;
        try {
            auto admit = [&]() -> bool {
                if (active.size() >= std::max(kMaxResident, resident_at_start)) return false;
                u64 number = take();
                if (number >= total) return false;
                std::unique_ptr<Slot> slot;
                if (!free.empty()) {
                    slot = std::move(free.back());
                    free.pop_back();
                } else {
                    slot = pool.take(launch.waves_per_group, launch.lds_bytes, u64(launch.scratch_bytes) * kLanes);
                    if (!slot) slot = std::make_unique<Slot>(launch.waves_per_group, launch.lds_bytes, u64(launch.scratch_bytes) * kLanes);
                }
                start_group(launch, *slot, number);
                local.workgroups++;
                local.waves += slot->group.waves.size();
                active.push_back(std::move(slot));
                return true;
            };
            for (size_t k = 0; k < std::max<size_t>(resident_at_start, 1); ++k) admit();
            u64 idle_rounds = 0, last_changes = 0, last_clocks = 0;
            std::chrono::steady_clock::time_point idle_since;
            while (!active.empty() && !launch.stop.load(std::memory_order_relaxed)) {
                bool all_spin = true;
                u64 spent = 0;
                for (size_t k = 0, n = active.size(); k < n && !launch.stop.load(std::memory_order_relaxed); ++k) {
                    std::unique_ptr<Slot> slot = std::move(active.front());
                    active.pop_front();
                    u64 used;
                    GroupState state = run_group(launch, *slot, kGroupSlice, used);
                    spent += used;
                    if (state == GroupState::finished) {
                        all_spin = false;
                        collect(*slot, local);
                        free.push_back(std::move(slot));
                        continue;
                    }
                    if (state == GroupState::sliced) all_spin = false;
                    active.push_back(std::move(slot));
                }
                if (active.empty()) {
                    admit();
                } else if (all_spin) {
                    bool admitted = admit();
                    launch.device->hostcall.service();
                    // Reading a clock is progress: such a loop ends by itself.
                    u64 changes = launch.memory_changes.load(), clocks = 0;
                    for (auto &slot : active)
                        for (Wave *w : slot->group.waves) clocks += w->clock_reads;
                    if (admitted || changes != last_changes || clocks != last_clocks) {
                        set_busy(idle_rounds);
                        last_changes = changes;
                        last_clocks = clocks;
                    } else if (u64 before = std::exchange(idle_rounds, idle_rounds + 1 + spent / kRoundInstructions); idle_rounds >= kIdleRounds) {
                        if (before < kIdleRounds) {
                            ++idle_workers;
                            idle_since = std::chrono::steady_clock::now();
                        }
                        std::this_thread::yield();
                        if (idle_workers.load() == alive_workers.load() && idle_rounds > 2 * kIdleRounds && std::chrono::steady_clock::now() - idle_since > kPatience) {
                            Wave *w = active.front()->group.waves.front();
                            for (Wave *x : active.front()->group.waves)
                                if (x->stop != Stop::finished) { w = x; break; }
                            launch.report(w, w->next, "HP859", "every resident workgroup spins and memory does not change", 0, 0, HIPEMU_DEADLOCK);
                        }
                    }
                } else {
                    set_busy(idle_rounds);
                }
            }
            set_busy(idle_rounds);
        } catch (const Fault &) {
            launch.stop = true;
        } catch (const Error &e) {
            launch.report(nullptr, nullptr, "HP865", e.what(), 0, 0, e.status);
        } catch (const std::bad_alloc &) {
            launch.report(nullptr, nullptr, "HP865", "out of memory", 0, 0, HIPEMU_OUT_OF_MEMORY);
        }
        for (auto &slot : active) collect(*slot, local);
        for (auto &slot : free) pool.give(std::move(slot));
        for (auto &slot : active) pool.give(std::move(slot));
        --alive_workers;
        _mm_setcsr(saved);
        local.cpu_nanoseconds = thread_nanoseconds() - began;
        std::lock_guard lock(mutex);
        launch.statistics.add(local);
    }

    static void collect(Slot &slot, Statistics &local) {
        for (Wave *w : slot.group.waves) {
            local.instructions += w->instructions;
            local.mfma += w->matrix_instructions;
            collect_statistics(*w, local);
        }
    }
};

// Parallel workers give the same bits only when the order of workgroups cannot show: no float atomics, no values returned by
// atomics, no reads of what other workgroups write meanwhile.
bool order_matters(const Program &program, u64 entry) {
    (void)instruction_at(program, entry);
    std::lock_guard lock(program.mutex);
    for (const auto &region : program.regions) {
        if (!region->decoded || !(entry >= region->begin && entry < region->end)) continue;
        // Everything from the entry to the end of its function; a call leaves it, so assume the worst.
        u64 end = region->end;
        for (const Symbol &s : program.symbols)
            if (s.function && entry >= s.address && entry < s.address + s.bytes) end = s.address + s.bytes;
        for (const Inst &i : region->code) {
            if (i.address < entry || i.address >= end || !i.op) continue;
            if (i.op->unit == Unit::control && (!strcmp(i.op->name, "s_swappc_b64") || !strcmp(i.op->name, "s_setpc_b64"))) return true;
            if (i.op->unit != Unit::memory) continue;
            if ((i.op->flags & kAtomic) && ((i.flags & kGlc) || (i.op->flags & kFloatAtomic) || strstr(i.op->name, "swap"))) return true;
            if ((i.op->flags & kLoad) && (i.flags & (kGlc | kCoherent))) return true;
        }
    }
    return false;
}

} // namespace

void barrier_signal(Wave &w) {
    Workgroup &g = *w.group;
    w.signalled_phase = g.phase;
    if (++g.arrived == g.live) {
        check_barrier(g);
        g.arrived = 0;
        ++g.phase;
        barrier_opened(g);
    }
}

bool grid_open(Launch &launch, const Wave &w) { return launch.grid_phase.load() != w.grid_phase; }
void grid_arrive(Launch &launch, Wave &w) {
    std::lock_guard lock(launch.mutex);
    w.grid_phase = launch.grid_phase.load();
    if (++launch.grid_arrived >= w.grid_waves) {
        launch.grid_arrived = 0;
        ++launch.grid_phase;
    }
    ++launch.memory_changes;
}

void launch_instructions(Launch &launch, u64 n) {
    if (!launch.options.max_instructions) return;
    if (launch.instructions.fetch_add(n, std::memory_order_relaxed) + n >= launch.options.max_instructions)
        launch.report(nullptr, nullptr, "HP860", "the launch reached its limit of " + std::to_string(launch.options.max_instructions) + " wave-instructions", 0, 0, HIPEMU_INSTRUCTION_LIMIT);
}

void Statistics::add(const Statistics &o) {
    instructions += o.instructions;
    waves += o.waves;
    workgroups += o.workgroups;
    nanoseconds += o.nanoseconds;
    lds_accesses += o.lds_accesses;
    lds_conflict_cycles += o.lds_conflict_cycles;
    global_accesses += o.global_accesses;
    global_segments += o.global_segments;
    global_minimum += o.global_minimum;
    mfma += o.mfma;
    scratch_bytes = std::max(scratch_bytes, o.scratch_bytes);
    cpu_nanoseconds += o.cpu_nanoseconds;
}

hipemu_status run_launch(Launch &launch) {
    auto begin = std::chrono::steady_clock::now();
    Scheduler scheduler(launch);
    u32 threads = launch.options.threads ? launch.options.threads : std::max(1u, std::thread::hardware_concurrency());
    threads = u32(std::min<u64>(threads, scheduler.total));
    try {
        if (launch.options.deterministic && threads > 1 && (launch.cooperative || order_matters(*launch.program, launch.kernel->entry))) threads = 1;
    } catch (const Error &e) {
        launch.report(nullptr, nullptr, "HP864", e.what(), 0, 0, e.status);
        return launch.status;
    } catch (const Fault &f) {
        launch.report(nullptr, nullptr, f.id, f.message, 0, f.address, f.status);
        return launch.status;
    }
    size_t resident = launch.cooperative ? size_t((scheduler.total + threads - 1) / threads) : 1;
    if (threads <= 1) {
        scheduler.worker(resident);
    } else {
        std::vector<std::thread> workers; // and this one
        for (u32 k = 1; k < threads; ++k) workers.emplace_back([&] { scheduler.worker(resident); });
        scheduler.worker(resident);
        for (std::thread &t : workers) t.join();
    }
    launch.statistics.nanoseconds = u64(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
    launch.statistics.scratch_bytes = u64(launch.scratch_bytes) * kLanes * launch.waves_per_group * threads;
    return launch.status;
}

hipemu_status run_single_wave(Device &device, const Program &program, hipemu_wave_state &state) {
    Launch launch;
    KernelCode kernel;
    kernel.wave_size = u32(program.target->wave_size);
    launch.device = &device;
    launch.program = &program;
    launch.kernel = &kernel;
    launch.options = device.options;
    launch.options.checks = 0;
    static thread_local std::unique_ptr<Slot> kept; // mapping fresh memory would cost more than the instruction
    if (!kept || kept->lds_bytes < state.lds_bytes) kept = std::make_unique<Slot>(1, std::max(state.lds_bytes, 65536u), 0);
    Slot &slot = *kept;
    Workgroup &g = slot.group;
    g.waves.clear();
    g.arrived = g.phase = 0;
    g.launch = &launch;
    g.program = &program;
    g.target = program.target;
    g.lds_bytes = state.lds_bytes;
    if (state.lds && state.lds_bytes) std::memcpy(g.lds, state.lds, state.lds_bytes);
    Wave &w = slot.waves[0];
    w.group = &g;
    g.waves.push_back(&w);
    g.live = 1;
    w.wave32 = program.target->wave_size == 32;
    w.constants = program.constants;
    w.guest_base = device.arena.base();
    w.guest_bytes = device.arena.bytes();
    std::memcpy(w.s, state.sgpr, sizeof state.sgpr);
    std::memcpy(static_cast<void *>(w.v), state.vgpr, sizeof state.vgpr);
    w.scc = state.scc & 1;
    w.index_mode = 0;
    w.stop = Stop::running;
    w.instructions = w.stores = 0;
    w.polls = w.clock_reads = 0;
    w.signalled_phase = ~0u;
    w.scratch_bytes = 0;
    w.checks = 0;
    w.next = nullptr;
    set_mode(w, state.mode);
    u32 saved = _mm_getcsr();
    _mm_setcsr(0x1f80);
    try {
        w.next = instruction_at(program, state.pc);
        u64 limit = state.max_instructions ? state.max_instructions : 1000000;
        while (w.stop != Stop::finished && w.instructions < limit) {
            run_wave(w, limit - w.instructions);
            if (w.stop == Stop::barrier) barrier_signal(w);
        }
    } catch (const Fault &f) {
        launch.status = f.status;
        launch.error = f.message;
    } catch (const Error &e) {
        launch.status = e.status;
        launch.error = e.what();
    }
    _mm_setcsr(saved);
    std::memcpy(state.sgpr, w.s, sizeof state.sgpr);
    std::memcpy(state.vgpr, static_cast<const void *>(w.v), sizeof state.vgpr);
    if (state.lds && state.lds_bytes) std::memcpy(state.lds, g.lds, state.lds_bytes);
    state.scc = w.scc;
    state.mode = w.mode;
    state.pc = w.next ? w.next->address : state.pc;
    state.instructions = w.instructions;
    if (launch.status != HIPEMU_OK) throw Error(launch.status, launch.error);
    return HIPEMU_OK;
}

} // namespace hipemu
