// Entry points found by name, and what profilers ask.
#include <dlfcn.h>

#include "runtime.h"

namespace hiprt {
namespace {

// Looks a name up among this library's own exports.
void* own_symbol(const char* name) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&hipInit), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return self == nullptr ? nullptr : dlsym(self, name);
}

bool is_api_name(const char* name) { return std::strncmp(name, "hip", 3) == 0; }

// Names whose meaning changed with HIP 6 map to their versioned form.
void* entry_point(const char* name) {
  if (!is_api_name(name)) return nullptr;
  if (std::strcmp(name, "hipGetDeviceProperties") == 0) return own_symbol("hipGetDevicePropertiesR0600");
  if (std::strcmp(name, "hipChooseDevice") == 0) return own_symbol("hipChooseDeviceR0600");
  return own_symbol(name);
}

}  // namespace
}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipGetProcAddress(const char* symbol, void** out, int version, uint64_t, hipDriverProcAddressQueryResult* status) {
  return api([&] {
    if (symbol == nullptr || out == nullptr) return hipErrorInvalidValue;
    *out = nullptr;
    if (version > HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR * 10 && version > HIP_VERSION) {
      if (status != nullptr) *status = HIP_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      return hipErrorNotFound;
    }
    *out = entry_point(symbol);
    if (status != nullptr) *status = *out != nullptr ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *out != nullptr ? hipSuccess : hipErrorNotFound;
  });
}

#if HIP_VERSION_MAJOR >= 7
static hipError_t driver_entry(const char* symbol, void** out, hipDriverEntryPointQueryResult* status) {
  return api([&] {
    if (symbol == nullptr || out == nullptr || *symbol == 0) return hipErrorInvalidValue;
    *out = entry_point(symbol);
    if (status != nullptr) *status = *out != nullptr ? hipDriverEntryPointSuccess : hipDriverEntryPointSymbolNotFound;
    return hipSuccess;
  });
}
hipError_t hipGetDriverEntryPoint(const char* symbol, void** out, unsigned long long, hipDriverEntryPointQueryResult* status) {
  return driver_entry(symbol, out, status);
}
hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** out, unsigned long long, hipDriverEntryPointQueryResult* status) {
  if (symbol != nullptr && out != nullptr) {
    if (void* found = entry_point((std::string(symbol) + "_spt").c_str())) {
      *out = found;
      if (status != nullptr) *status = hipDriverEntryPointSuccess;
      return record(hipSuccess);
    }
  }
  return driver_entry(symbol, out, status);
}
#endif

// No precompiled header is embedded: hipRTC compiles with the SDK's own headers.
void __hipGetPCH(const char** pch, unsigned* size) {
  if (pch != nullptr) *pch = nullptr;
  if (size != nullptr) *size = 0;
}
}
