// Host side of AMD's hostcall protocol: device printf, assert messages and device malloc.
//
// A wave takes a packet off a free stack, fills one payload slot per lane, pushes the packet on a ready stack, adds 1 to
// a doorbell signal and sleeps until the packet's ready flag is cleared. Layouts and service numbers as the device
// library compiles them: __ockl_hostcall_internal, __ockl_printf_*, __ockl_dm_alloc in ockl.bc (ROCm 6.4 and 7.2), and
// the HSA signal layout (amd_hsa_signal.h). The calls of `service` may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hipemu {

// Text of a printf message: format string and arguments in 8-byte words, each string padded to whole words.
// Returns the text; `message` holds no control word.
std::string format_message(const uint64_t *message, size_t n_words);

class Hostcall {
  public:
    struct Callbacks {
        std::function<void *(size_t bytes, size_t alignment)> allocate;  // guest memory, zero on failure
        std::function<void(void *)> release;
        std::function<void(int stream, const char *text, size_t bytes)> print;  // stream 1: stdout, 2: stderr
    };

    // A kernel may have at most `max_waves` waves in flight: the free stack must never run empty.
    explicit Hostcall(Callbacks callbacks, uint32_t max_waves = 16384);
    ~Hostcall();
    Hostcall(const Hostcall &) = delete;
    Hostcall &operator=(const Hostcall &) = delete;

    // Values of hidden_hostcall_buffer and hidden_heap_v1; allocated on first use, 0 when there is no memory.
    uint64_t buffer_address();
    uint64_t heap_address();

    // Serves everything that is ready; true when there was something. Cheap otherwise.
    bool service();

    // After a launch that ended early: forget half-sent messages and packets that nobody will take back.
    void reset();

  private:
    struct Buffer;
    void initialise();
    void serve_printf(uint64_t *slot);
    void serve_memory(uint64_t *slot);

    Callbacks callbacks_;
    const uint32_t packets_;
    std::mutex lock_;
    Buffer *buffer_ = nullptr;
    void *heap_ = nullptr;
    std::map<uint64_t, std::vector<uint64_t>> messages_;
    uint64_t next_message_ = 0;
};

}  // namespace hipemu
