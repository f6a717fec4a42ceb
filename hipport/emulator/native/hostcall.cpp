#include "hostcall.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

namespace hipemu {
namespace {

enum Service : uint32_t { kFunctionCall = 1, kPrintf = 2, kMemory = 3 };

struct Header {  // 24 bytes
    uint64_t next;
    uint64_t active_lanes;
    uint32_t service;
    std::atomic<uint32_t> control;  // bit 0: ready, cleared by the host
};
static_assert(sizeof(Header) == 24);

struct Payload {
    uint64_t slots[64][8];
};

struct Signal {  // amd_signal_t
    uint64_t kind;
    std::atomic<int64_t> value;
    uint64_t event_mailbox;
    uint32_t event_id;
    uint32_t reserved[9];
};
static_assert(sizeof(Signal) == 64);

constexpr size_t kHeapBytes = 131072;  // what __ockl_dm_init_v1 clears; zero means no initial slabs

// First word of a printf payload.
bool begins(uint64_t descriptor) { return descriptor & 1; }
bool ends(uint64_t descriptor) { return descriptor >> 1 & 1; }
unsigned words(uint64_t descriptor) { return descriptor >> 5 & 7; }
uint64_t message_id(uint64_t descriptor) { return descriptor >> 8; }
uint64_t with_message_id(uint64_t descriptor, uint64_t id) { return (descriptor & 0xfe) | id << 8; }

void append(std::string &out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void append(std::string &out, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        const size_t at = out.size();
        out.resize(at + length + 1);
        vsnprintf(&out[at], length + 1, format, again);
        out.resize(at + length);
    }
    va_end(again);
}

// Device code widens every integer to 64 bits; the length modifier says how much of it counts.
long long narrowed(uint64_t value, const std::string &length, bool is_signed) {
    if (length == "hh") return is_signed ? static_cast<signed char>(value) : static_cast<unsigned char>(value);
    if (length == "h") return is_signed ? static_cast<short>(value) : static_cast<unsigned short>(value);
    if (length.empty()) return is_signed ? static_cast<int>(value) : static_cast<long long>(static_cast<uint32_t>(value));
    return static_cast<long long>(value);
}

}  // namespace

std::string format_message(const uint64_t *message, size_t n_words) {
    const uint64_t *const end = message + n_words;
    const auto text_at = [&](const uint64_t *at) {  // never reads beyond the message
        const char *text = reinterpret_cast<const char *>(at);
        return std::string(text, strnlen(text, (end - at) * 8));
    };
    const std::string format = text_at(message);
    const uint64_t *next = message + format.size() / 8 + 1;
    std::string out;
    for (size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            const size_t percent = std::min(format.find('%', at), format.size());
            out.append(format, at, percent - at);
            at = percent;
            continue;
        }
        if (format.compare(at, 2, "%%") == 0) {
            out += '%';
            at += 2;
            continue;
        }
        // flags, width, precision, length, conversion
        std::string spec = "%";
        size_t i = at + 1;
        while (i < format.size() && std::strchr("-+ #0123456789.*'", format[i])) {
            if (format[i] == '*') {
                if (next >= end) return out;
                spec += std::to_string(static_cast<int>(*next++));
            } else if (format[i] != '\'') {
                spec += format[i];
            }
            ++i;
        }
        std::string length;
        while (i < format.size() && std::strchr("hljztLqI", format[i])) length += format[i++];
        if (i >= format.size() || next > end) return out;
        const char conversion = format[i];
        at = i + 1;
        if (next == end && conversion != 'n') return out;  // fewer arguments than conversions: stop, as printf may
        switch (conversion) {
            case 'd':
            case 'i':
                append(out, (spec + "lld").c_str(), narrowed(*next++, length, true));
                break;
            case 'u':
            case 'o':
            case 'x':
            case 'X':
                append(out, (spec + "ll" + conversion).c_str(), narrowed(*next++, length, false));
                break;
            case 'c':
                append(out, (spec + 'c').c_str(), static_cast<int>(*next++));
                break;
            case 'a':
            case 'A':
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G': {
                double value;
                std::memcpy(&value, next++, sizeof value);
                append(out, (spec + conversion).c_str(), value);
                break;
            }
            case 'p':
                append(out, (spec + 'p').c_str(), reinterpret_cast<void *>(*next++));
                break;
            case 's': {
                const std::string text = text_at(next);
                append(out, (spec + 's').c_str(), text.c_str());
                next += text.size() / 8 + 1;
                break;
            }
            case 'n':
                if (next < end) ++next;
                break;
            default:
                return out;  // not a conversion: undefined in C, nothing sensible follows
        }
    }
    return out;
}

struct Hostcall::Buffer {
    Header *headers;
    Payload *payloads;
    Signal *doorbell;
    std::atomic<uint64_t> free_stack;
    std::atomic<uint64_t> ready_stack;
    uint64_t index_mask;
};

namespace {
constexpr size_t kSignalAt = 64, kMailboxAt = 128, kHeadersAt = 192;
size_t payloads_at(uint32_t packets) { return (kHeadersAt + size_t{packets} * sizeof(Header) + 63) / 64 * 64; }
}  // namespace

Hostcall::Hostcall(Callbacks callbacks, uint32_t max_waves) : callbacks_(std::move(callbacks)), packets_([&] {
      uint32_t packets = 2;
      while (packets < max_waves) packets *= 2;
      return packets;
  }()) {}

Hostcall::~Hostcall() {
    if (buffer_) callbacks_.release(buffer_);
    if (heap_) callbacks_.release(heap_);
}

uint64_t Hostcall::buffer_address() {
    std::lock_guard<std::mutex> guard(lock_);
    if (!buffer_) {
        buffer_ = static_cast<Buffer *>(callbacks_.allocate(payloads_at(packets_) + packets_ * sizeof(Payload), 64));
        if (buffer_) initialise();
    }
    return reinterpret_cast<uint64_t>(buffer_);
}

uint64_t Hostcall::heap_address() {
    std::lock_guard<std::mutex> guard(lock_);
    if (!heap_) {
        heap_ = callbacks_.allocate(kHeapBytes, 4096);
        if (heap_) std::memset(heap_, 0, kHeapBytes);
    }
    return reinterpret_cast<uint64_t>(heap_);
}

void Hostcall::initialise() {
    static_assert(sizeof(Buffer) <= kSignalAt);
    char *base = reinterpret_cast<char *>(buffer_);
    std::memset(base, 0, kHeadersAt);
    buffer_->headers = reinterpret_cast<Header *>(base + kHeadersAt);
    buffer_->payloads = reinterpret_cast<Payload *>(base + payloads_at(packets_));
    buffer_->doorbell = reinterpret_cast<Signal *>(base + kSignalAt);
    buffer_->doorbell->kind = 1;  // a user signal
    buffer_->doorbell->event_mailbox = reinterpret_cast<uint64_t>(base + kMailboxAt);  // so that the wave sends an interrupt
    buffer_->doorbell->event_id = 1;
    buffer_->index_mask = packets_ - 1;
    // A stack entry is an index plus a tag in the bits above the mask; all zero means empty, so index 0 gets tag 1.
    uint64_t top = packets_;
    buffer_->headers[0].next = 0;
    for (uint32_t index = 1; index < packets_; ++index) {
        buffer_->headers[index].next = top;
        top = index;
    }
    buffer_->free_stack = top;
    buffer_->ready_stack = 0;
}

void Hostcall::reset() {
    std::lock_guard<std::mutex> guard(lock_);
    messages_.clear();
    if (buffer_) initialise();
}

bool Hostcall::service() {
    if (!buffer_ || buffer_->ready_stack.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard<std::mutex> guard(lock_);
    uint64_t top = buffer_->ready_stack.exchange(0, std::memory_order_acquire);
    const bool found = top != 0;
    // The stack holds the newest packet first; serve the oldest first so that output keeps the order of submission.
    std::vector<uint64_t> order;
    for (; top; top = buffer_->headers[top & buffer_->index_mask].next) order.push_back(top & buffer_->index_mask);
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
        Header &header = buffer_->headers[*index];
        Payload &payload = buffer_->payloads[*index];
        for (uint64_t lanes = header.active_lanes; lanes; lanes &= lanes - 1) {
            uint64_t *slot = payload.slots[__builtin_ctzll(lanes)];
            switch (header.service) {
                case kPrintf:
                    serve_printf(slot);
                    break;
                case kMemory:
                    serve_memory(slot);
                    break;
                default: {  // a function call runs host code that the kernel names: refused
                    const std::string text = "hipport: hostcall service " + std::to_string(header.service) + " is not supported\n";
                    callbacks_.print(2, text.data(), text.size());
                    slot[0] = slot[1] = 0;
                }
            }
        }
        header.control.fetch_and(~1u, std::memory_order_release);
    }
    return found;
}

void Hostcall::serve_printf(uint64_t *slot) {
    uint64_t descriptor = slot[0];
    uint64_t id;
    if (begins(descriptor)) {
        id = next_message_++;
        descriptor = slot[0] = with_message_id(descriptor, id);
        messages_[id];
    } else {
        id = message_id(descriptor);
    }
    const auto message = messages_.find(id);
    if (message == messages_.end()) return;
    message->second.insert(message->second.end(), slot + 1, slot + 1 + words(descriptor));
    if (!ends(descriptor)) return;
    const std::vector<uint64_t> whole = std::move(message->second);
    messages_.erase(message);
    if (whole.empty() || whole[0] > 1) {  // control word: 0 stdout, 1 stderr
        slot[0] = static_cast<uint64_t>(-1);
        return;
    }
    const std::string text = whole.size() > 1 ? format_message(whole.data() + 1, whole.size() - 1) : std::string();
    callbacks_.print(whole[0] == 1 ? 2 : 1, text.data(), text.size());
    slot[0] = text.size();
}

void Hostcall::serve_memory(uint64_t *slot) {
    if (slot[0]) {
        callbacks_.release(reinterpret_cast<void *>(slot[0]));
    } else {
        constexpr uint64_t slab = 2 << 20;  // slabs are addressed by masking, larger requests are not
        slot[0] = reinterpret_cast<uint64_t>(callbacks_.allocate(slot[1], slot[1] == slab ? slab : 256));
    }
}

}  // namespace hipemu
