// A kernel launch in progress: what waves and checks need to know, and where findings go.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "arena.h"
#include "hostcall.h"
#include "program.h"

namespace hipemu {

struct Finding {
    std::string id, message, kernel, instruction, source_file;
    u32 source_line = 0;
    u64 pc = 0;
    u32 workgroup[3] = {0, 0, 0};
    u32 wave = 0, lane = 0;
    u64 address = 0, occurrences = 1;
};

struct Options {
    u32 threads = 0, deterministic = 1, checks = 0;
    u64 max_instructions = 0;
    u32 poison = 0xCDCDCDCD, quantum = 0, reverse_waves = 0, max_findings = 0, stop_at_finding = 0, host_copies = 0;
};

// Guest memory that holds uninitialised values, and what stored them. Sparse: one byte per dword, 0 means defined.
class UndefinedMemory {
  public:
    static constexpr u8 kMost = 255;
    ~UndefinedMemory();
    bool any() const { return any_.load(std::memory_order_relaxed); }
    // Number of the store's record; `make` builds it the first time.
    u8 record(u64 pc, const std::string &kernel, const std::function<Finding()> &make);
    void mark(const Arena &arena, u64 address, u64 bytes, u8 record);
    u8 find(const Arena &arena, u64 address, u64 bytes) const { return map_ ? scan(arena, address, bytes) : 0; }
    void copied(const Arena &arena, u64 to, u64 from, u64 bytes);
    // Records met in a range that were not reported yet.
    std::vector<Finding> take(const Arena &arena, u64 address, u64 bytes);
    std::string origin(u8 record) const;

  private:
    u8 scan(const Arena &arena, u64 address, u64 bytes) const;
    mutable std::mutex mutex_;
    std::atomic<bool> any_{false};
    u8 *map_ = nullptr;
    u64 map_bytes_ = 0;
    std::vector<Finding> records_;
    std::vector<std::string> keys_;
    std::vector<bool> reported_;
};

struct Statistics {
    u64 instructions = 0, waves = 0, workgroups = 0, nanoseconds = 0, lds_accesses = 0, lds_conflict_cycles = 0, global_accesses = 0,
        global_segments = 0, global_minimum = 0, mfma = 0, scratch_bytes = 0, cpu_nanoseconds = 0;
    void add(const Statistics &o);
};


struct Device {
    const TargetInfo *target = nullptr;
    std::string objdump, cache_dir;
    Arena arena;
    Options options;
    std::mutex launch_mutex, findings_mutex, output_mutex;
    std::deque<Finding> findings;
    UndefinedMemory undefined;
    Statistics totals;
    hipemu_output_fn output = nullptr;
    void *output_user = nullptr;
    u64 launches = 0;
    std::shared_ptr<void> slots; // memory of workgroups, kept between launches (run.cpp)
    Hostcall hostcall;

    Device(const TargetInfo *t, u64 arena_bytes, u64 memory_bytes);
    void print(hipemu_stream stream, std::string_view text);
};

struct Launch {
    Device *device = nullptr;
    const Program *program = nullptr;
    const KernelCode *kernel = nullptr;
    Options options;
    u32 grid[3], block[3], groups[3];
    u32 lds_bytes = 0, scratch_bytes = 0; // scratch per lane
    const u8 *kernarg = nullptr;
    u64 dispatch_packet = 0, multigrid = 0;
    u64 segment = 0, segment_bytes = 0; // arguments, dispatch packet, queue: kernels may only read them
    u32 threads_per_group = 0, waves_per_group = 0;
    std::atomic<bool> stop{false};
    std::atomic<u64> instructions{0};
    std::atomic<u64> memory_changes{0};
    bool cooperative = false;
    std::atomic<u32> grid_phase{1};
    u64 grid_arrived = 0;
    std::mutex mutex;
    hipemu_status status = HIPEMU_OK;
    std::string error;
    u64 dropped = 0, kept = 0;
    std::map<std::pair<std::string, u64>, size_t> seen; // (id, pc) -> finding index
    Statistics statistics;

    bool in_segment(u64 address, u64 bytes) const { return address - segment < segment_bytes && bytes <= segment_bytes - (address - segment); }

    // Adds a finding (or counts it); `fatal` ends the launch with `status`.
    void report(const Wave *w, const Inst *i, const char *id, const std::string &message, int lane, u64 address,
                hipemu_status fatal = HIPEMU_OK);
    Finding describe(const Wave *w, const Inst *i, const char *id, const std::string &message, int lane, u64 address) const;
};

// Grid barrier of cooperative launches.
bool grid_open(Launch &launch, const Wave &w);
void grid_arrive(Launch &launch, Wave &w);
void launch_instructions(Launch &launch, u64 n); // counts against max_instructions

hipemu_status run_launch(Launch &launch);
// Runs one wave of a throw-away workgroup from state->pc (tests).
hipemu_status run_single_wave(Device &device, const Program &program, hipemu_wave_state &state);

} // namespace hipemu
