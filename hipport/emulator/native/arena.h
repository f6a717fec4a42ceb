// Guest memory: one reserved address range, so that device addresses are host addresses. Allocation is first fit with a guard
// gap; a shadow byte per 16 bytes says what is allocated (the bounds check), freed memory waits in quarantine.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "machine.h"

namespace hipemu {

struct Allocation {
    u64 base = 0, bytes = 0;
    u32 kind = 0, flags = 0;
};

class Arena {
  public:
    Arena(u64 reserve_bytes, u64 memory_bytes);
    ~Arena();
    Arena(const Arena &) = delete;

    u64 base() const { return base_; }
    u64 bytes() const { return bytes_; }
    u64 allocate(u64 bytes, u64 alignment, u32 kind, u32 flags); // throws Error
    void release(u64 address);                                     // throws Error
    bool find(u64 address, Allocation &out) const;
    std::vector<Allocation> live() const;
    void register_host(u64 address, u64 bytes, u32 flags);
    void unregister_host(u64 address);
    void info(u64 &total, u64 &free) const;

    bool contains(u64 address, u64 bytes) const { return address - base_ < bytes_ && bytes <= bytes_ - (address - base_); }
    bool registered(u64 address, u64 bytes) const;
    const u8 *shadow() const { return shadow_; }
    // Bounds check: every byte is inside a live allocation.
    bool allocated(u64 address, u64 bytes) const;
    bool freed(u64 address) const { return contains(address, 1) && shadow_[(address - base_) >> 4] == kFreed; }

  private:
    static constexpr u8 kFreed = 0xfd;
    void paint(u64 address, u64 bytes, u8 value);

    u64 base_ = 0, bytes_ = 0, limit_ = 0, used_ = 0;
    u8 *shadow_ = nullptr;
    mutable std::mutex mutex_;
    std::map<u64, Allocation> live_;
    std::map<u64, u64> holes_; // address -> bytes
    std::deque<std::pair<u64, u64>> quarantine_;
    u64 quarantine_bytes_ = 0;
    std::vector<Allocation> registered_;
};

} // namespace hipemu
