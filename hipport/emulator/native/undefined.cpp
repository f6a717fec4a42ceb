// Uninitialised values in guest memory: who stored them, until they reach the host.
#include <sys/mman.h>

#include "launch.h"

namespace hipemu {

UndefinedMemory::~UndefinedMemory() {
    if (map_) munmap(map_, map_bytes_);
}

u8 UndefinedMemory::record(u64 pc, const std::string &kernel, const std::function<Finding()> &make) {
    std::lock_guard lock(mutex_);
    std::string key = kernel + ":" + std::to_string(pc);
    for (size_t k = 0; k < keys_.size(); ++k)
        if (keys_[k] == key) {
            ++records_[k].occurrences;
            return u8(k + 1);
        }
    if (keys_.size() + 1 >= kMost) return kMost - 1; // the last record stands for the rest
    keys_.push_back(key);
    records_.push_back(make());
    reported_.push_back(false);
    return u8(keys_.size());
}

void UndefinedMemory::mark(const Arena &arena, u64 address, u64 bytes, u8 record) {
    if (!arena.contains(address, bytes)) return;
    if (!map_) {
        if (!record) return;
        std::lock_guard lock(mutex_);
        if (!map_) {
            map_bytes_ = arena.bytes() / 4;
            void *p = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) throw Error(HIPEMU_OUT_OF_MEMORY, "no address space for the uninitialised check");
            map_ = static_cast<u8 *>(p);
        }
    }
    if (record) any_.store(true, std::memory_order_relaxed);
    u64 first = (address - arena.base()) / 4, last = (address + bytes - 1 - arena.base()) / 4;
    std::memset(map_ + first, record, last - first + 1);
}

u8 UndefinedMemory::scan(const Arena &arena, u64 address, u64 bytes) const {
    if (!arena.contains(address, bytes)) return 0;
    for (u64 at = (address - arena.base()) / 4, last = (address + bytes - 1 - arena.base()) / 4; at <= last; ++at)
        if (map_[at]) return map_[at];
    return 0;
}

void UndefinedMemory::copied(const Arena &arena, u64 to, u64 from, u64 bytes) {
    if (!map_ || !arena.contains(to, bytes)) return;
    if (from && arena.contains(from, bytes)) std::memmove(map_ + (to - arena.base()) / 4, map_ + (from - arena.base()) / 4, (bytes + 3) / 4);
    else mark(arena, to, bytes, 0);
}

std::vector<Finding> UndefinedMemory::take(const Arena &arena, u64 address, u64 bytes) {
    std::vector<Finding> found;
    if (!map_ || !arena.contains(address, bytes)) return found;
    std::lock_guard lock(mutex_);
    for (u64 at = (address - arena.base()) / 4, last = (address + bytes - 1 - arena.base()) / 4; at <= last; ++at) {
        u8 k = map_[at];
        if (!k || reported_[k - 1]) continue;
        reported_[k - 1] = true;
        found.push_back(records_[k - 1]);
    }
    return found;
}

std::string UndefinedMemory::origin(u8 record) const {
    std::lock_guard lock(mutex_);
    if (!record || record > records_.size()) return "";
    const Finding &f = records_[record - 1];
    return "memory that '" + f.instruction + "' of " + f.kernel + " filled with a value that was never initialised";
}

} // namespace hipemu
