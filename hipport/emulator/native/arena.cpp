#include "arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace hipemu {

namespace {
constexpr u64 kGap = 256;                    // between allocations, so that an off-by-one hits nothing
constexpr u64 kQuarantine = 64ull << 20;     // bytes of freed memory kept back
u64 round_up(u64 x, u64 to) { return (x + to - 1) / to * to; }

void *reserve(u64 bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}
} // namespace

Arena::Arena(u64 reserve_bytes, u64 memory_bytes) : limit_(memory_bytes) {
    void *p = nullptr;
    for (bytes_ = round_up(reserve_bytes, 1 << 21); bytes_ >= (64ull << 20) && !(p = reserve(bytes_)); bytes_ /= 2) {}
    if (!p) throw Error(HIPEMU_OUT_OF_MEMORY, "cannot reserve address space for guest memory");
    base_ = reinterpret_cast<u64>(p);
    shadow_ = static_cast<u8 *>(reserve(bytes_ / 16 + 4096));
    if (!shadow_) {
        munmap(p, bytes_);
        throw Error(HIPEMU_OUT_OF_MEMORY, "cannot reserve address space for the bounds map");
    }
    limit_ = std::min(limit_, bytes_);
    holes_[base_ + 4096] = bytes_ - 8192;
}

Arena::~Arena() {
    munmap(reinterpret_cast<void *>(base_), bytes_);
    munmap(shadow_, bytes_ / 16 + 4096);
}

void Arena::paint(u64 address, u64 bytes, u8 value) {
    u64 first = (address - base_) >> 4, whole = bytes >> 4;
    std::memset(shadow_ + first, value, whole);
    if (bytes & 15) shadow_[first + whole] = value == 16 ? u8(bytes & 15) : value;
}

u64 Arena::allocate(u64 bytes, u64 alignment, u32 kind, u32 flags) {
    if (bytes == 0) throw Error(HIPEMU_INVALID_ARGUMENT, "allocation of 0 bytes");
    if (alignment == 0) alignment = 256;
    if (alignment & (alignment - 1)) throw Error(HIPEMU_INVALID_ARGUMENT, "alignment is not a power of two");
    alignment = std::max<u64>(alignment, bytes >= (1u << 16) ? 4096 : 256);
    std::lock_guard lock(mutex_);
    if (bytes > limit_ || used_ + bytes > limit_) throw Error(HIPEMU_OUT_OF_MEMORY, "out of device memory");
    u64 need = round_up(bytes, 256) + kGap;
    for (int attempt = 0; attempt < 2; ++attempt) {
        for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
            u64 at = round_up(hole->first, alignment), end = hole->first + hole->second;
            if (at + need > end || at + need < at) continue;
            u64 start = hole->first;
            holes_.erase(hole);
            if (at > start) holes_[start] = at - start;
            if (at + need < end) holes_[at + need] = end - at - need;
            live_[at] = {at, bytes, kind, flags};
            used_ += bytes;
            paint(at, bytes, 16);
            return at;
        }
        // Give quarantined memory back and try once more.
        while (!quarantine_.empty()) {
            auto [address, size] = quarantine_.front();
            quarantine_.pop_front();
            holes_[address] = size;
        }
        quarantine_bytes_ = 0;
        for (auto hole = holes_.begin(); hole != holes_.end();) {
            auto next = std::next(hole);
            if (next != holes_.end() && hole->first + hole->second == next->first) {
                hole->second += next->second;
                holes_.erase(next);
            } else {
                hole = next;
            }
        }
    }
    throw Error(HIPEMU_OUT_OF_MEMORY, "out of device memory (fragmented)");
}

void Arena::release(u64 address) {
    std::lock_guard lock(mutex_);
    auto found = live_.find(address);
    if (found == live_.end()) throw Error(HIPEMU_INVALID_ARGUMENT, "free of an address that was not allocated");
    u64 bytes = found->second.bytes, size = round_up(bytes, 256) + kGap;
    live_.erase(found);
    used_ -= bytes;
    paint(address, bytes, kFreed);
    if (bytes >= (1u << 16)) // give big blocks' pages back to the system
        madvise(reinterpret_cast<void *>(address), bytes & ~4095ull, MADV_DONTNEED);
    quarantine_.emplace_back(address, size);
    quarantine_bytes_ += size;
    while (quarantine_bytes_ > kQuarantine && quarantine_.size() > 1) {
        auto [old, old_size] = quarantine_.front();
        quarantine_.pop_front();
        quarantine_bytes_ -= old_size;
        auto next = holes_.lower_bound(old);
        if (next != holes_.end() && old + old_size == next->first) {
            old_size += next->second;
            next = holes_.erase(next);
        }
        if (next != holes_.begin()) {
            auto before = std::prev(next);
            if (before->first + before->second == old) {
                before->second += old_size;
                continue;
            }
        }
        holes_[old] = old_size;
    }
}

bool Arena::find(u64 address, Allocation &out) const {
    std::lock_guard lock(mutex_);
    auto after = live_.upper_bound(address);
    if (after != live_.begin()) {
        const Allocation &a = std::prev(after)->second;
        if (address < a.base + a.bytes) { out = a; return true; }
    }
    for (const Allocation &a : registered_)
        if (address >= a.base && address < a.base + a.bytes) { out = a; return true; }
    return false;
}

std::vector<Allocation> Arena::live() const {
    std::lock_guard lock(mutex_);
    std::vector<Allocation> all;
    for (const auto &[address, a] : live_) all.push_back(a);
    for (const Allocation &a : registered_) all.push_back(a);
    std::sort(all.begin(), all.end(), [](const Allocation &a, const Allocation &b) { return a.base < b.base; });
    return all;
}

void Arena::register_host(u64 address, u64 bytes, u32 flags) {
    if (!address || !bytes) throw Error(HIPEMU_INVALID_ARGUMENT, "cannot register an empty range");
    std::lock_guard lock(mutex_);
    for (const Allocation &a : registered_)
        if (address < a.base + a.bytes && a.base < address + bytes) throw Error(HIPEMU_INVALID_ARGUMENT, "host range is registered already");
    registered_.push_back({address, bytes, HIPEMU_MEMORY_REGISTERED, flags});
}

void Arena::unregister_host(u64 address) {
    std::lock_guard lock(mutex_);
    for (size_t k = 0; k < registered_.size(); ++k)
        if (registered_[k].base == address) { registered_.erase(registered_.begin() + i64(k)); return; }
    throw Error(HIPEMU_NOT_FOUND, "host range is not registered");
}

void Arena::info(u64 &total, u64 &free) const {
    std::lock_guard lock(mutex_);
    total = limit_;
    free = limit_ - used_;
}

bool Arena::registered(u64 address, u64 bytes) const {
    std::lock_guard lock(mutex_);
    for (const Allocation &a : registered_)
        if (address >= a.base && address + bytes <= a.base + a.bytes) return true;
    return false;
}

bool Arena::allocated(u64 address, u64 bytes) const {
    if (!contains(address, bytes)) return false;
    u64 offset = address - base_;
    while (bytes) {
        u64 in = offset & 15, part = std::min<u64>(bytes, 16 - in);
        u8 valid = shadow_[offset >> 4];
        if (valid > 16 || in + part > valid) return false;
        offset += part;
        bytes -= part;
    }
    return true;
}

} // namespace hipemu
