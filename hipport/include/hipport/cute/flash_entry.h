// Host side of a program that runs one FlashAttention kernel on data from its standard input.
//
// For machines without a ROCm build of PyTorch: `hipport.flash` writes a few lines per kernel instantiation that include
// upstream's launch template and this header. Request and reply are little-endian binary:
//
//   request: u32 buffers; per buffer u64 bytes, u32 wanted back, data
//            u32 launches; per launch: u32 kernel, u32 grid[3],
//                          u32 fields; per field: u32 name length, name, u32 kind, 8 bytes
//            kind 0 integer, 1 floating point, 2 address of a buffer (its number)
//   reply:   u32 HIP error of the first call that failed or 0; then each wanted buffer's data
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace hipport::flash {

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
  bool floating;
};

template <class Params>
struct Kernel {
  void (*function)(Params);
  unsigned threads;
  unsigned lds_bytes;
};

namespace detail {

inline bool read(void* data, std::size_t bytes) { return bytes == 0 || std::fread(data, bytes, 1, stdin) == 1; }
inline std::uint32_t read_u32() {
  std::uint32_t value = 0;
  if (!read(&value, sizeof value)) std::exit(3);
  return value;
}

inline void store(char* params, const Field& field, std::uint64_t raw, bool floating) {
  if (field.floating) {
    double wide;
    std::memcpy(&wide, &raw, sizeof wide);
    const float value = floating ? (float)wide : (float)(std::int64_t)raw;
    std::memcpy(params + field.offset, &value, sizeof value);
  } else {
    std::memcpy(params + field.offset, &raw, field.bytes);
  }
}

struct Buffer {
  void* device = nullptr;
  std::vector<char> data;
  bool wanted = false;
};

}  // namespace detail

// Serve one request. Returns the exit code: 0, or 3 for a request that does not parse or names an unknown field.
template <class Params>
int serve(const std::vector<Field>& fields, const std::vector<Kernel<Params>>& kernels) {
  using namespace detail;
  hipError_t error = hipSuccess;
  const auto check = [&error](hipError_t result) {
    if (error == hipSuccess) error = result;
  };
  std::vector<Buffer> buffers(read_u32());
  for (Buffer& buffer : buffers) {
    std::uint64_t bytes = 0;
    if (!read(&bytes, sizeof bytes)) return 3;
    buffer.wanted = read_u32() != 0;
    buffer.data.resize(bytes);
    if (!read(buffer.data.data(), bytes)) return 3;
    if (bytes == 0) continue;
    check(hipMalloc(&buffer.device, bytes));
    check(hipMemcpy(buffer.device, buffer.data.data(), bytes, hipMemcpyHostToDevice));
  }
  for (std::uint32_t launches = read_u32(); launches > 0; --launches) {
    const std::uint32_t which = read_u32();
    const dim3 grid(read_u32(), read_u32(), read_u32());
    Params params{};
    for (std::uint32_t n = read_u32(); n > 0; --n) {
      std::string name(read_u32(), '\0');
      if (!read(name.data(), name.size())) return 3;
      const std::uint32_t kind = read_u32();
      std::uint64_t raw = 0;
      if (!read(&raw, sizeof raw)) return 3;
      if (kind == 2) {
        if (raw >= buffers.size()) return 3;
        raw = (std::uint64_t)buffers[raw].device;
      }
      const Field* found = nullptr;
      for (const Field& field : fields)
        if (name == field.name) found = &field;
      if (found == nullptr) {
        std::fprintf(stderr, "this version of FlashAttention has no parameter %s\n", name.c_str());
        return 3;
      }
      store(reinterpret_cast<char*>(&params), *found, raw, kind == 1);
    }
    if (which >= kernels.size()) return 3;
    if (error != hipSuccess) continue;
    const Kernel<Params>& kernel = kernels[which];
    const void* function = reinterpret_cast<const void*>(kernel.function);
    if (kernel.lds_bytes > 48 * 1024)
      check(hipFuncSetAttribute(function, hipFuncAttributeMaxDynamicSharedMemorySize, (int)kernel.lds_bytes));
    kernel.function<<<grid, kernel.threads, kernel.lds_bytes>>>(params);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  }
  for (Buffer& buffer : buffers)
    if (buffer.wanted && buffer.device != nullptr)
      check(hipMemcpy(buffer.data.data(), buffer.device, buffer.data.size(), hipMemcpyDeviceToHost));
  const std::uint32_t status = error;
  std::fwrite(&status, sizeof status, 1, stdout);
  for (const Buffer& buffer : buffers)
    if (buffer.wanted) std::fwrite(buffer.data.data(), 1, buffer.data.size(), stdout);
  std::fflush(stdout);
  if (error != hipSuccess) std::fprintf(stderr, "%s\n", hipGetErrorString(error));
  return 0;
}

}  // namespace hipport::flash
