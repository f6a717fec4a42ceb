// Code: fat binaries that compilers register, modules loaded at run time, their kernels and variables.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "runtime.h"

#include <hip/hiprtc.h>

namespace hiprt {
namespace {

struct FatBinary {
  const void* image = nullptr;
  std::map<int, Image> images;  // by device, loaded on first use
};

// The record that the compiler emits for __hipRegisterFatBinary (clang CodeGen/CGCUDANV.cpp).
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* binary;
  void* unused;
};
constexpr uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

struct HostFunction {
  FatBinary* binary;
  std::string name;
  std::map<int, ihipModuleSymbol_t*> functions;
};

struct HostVariable {
  FatBinary* binary;
  std::string name;
  size_t size;
  void** managed = nullptr;  // the program's pointer to managed memory
};

std::map<const void*, HostFunction>& host_functions() {
  static auto& all = *new std::map<const void*, HostFunction>;
  return all;
}
std::map<const void*, HostVariable>& host_variables() {
  static auto& all = *new std::map<const void*, HostVariable>;
  return all;
}
std::set<ihipModule_t*>& live_modules() {
  static auto& all = *new std::set<ihipModule_t*>;
  return all;
}
std::set<const ihipModuleSymbol_t*>& live_functions() {
  static auto& all = *new std::set<const ihipModuleSymbol_t*>;
  return all;
}

hipError_t error_of(hipemu_status status) {
  switch (status) {
    case HIPEMU_OK:
      return hipSuccess;
    case HIPEMU_OUT_OF_MEMORY:
      return hipErrorOutOfMemory;
    case HIPEMU_BAD_CODE_OBJECT:
      return hipErrorInvalidImage;
    case HIPEMU_WRONG_TARGET:
      return hipErrorNoBinaryForGpu;
    case HIPEMU_NOT_FOUND:
      return hipErrorNotFound;
    case HIPEMU_INVALID_ARGUMENT:
      return hipErrorInvalidValue;
    default:
      return hipErrorSharedObjectInitFailed;
  }
}

hipError_t image_of(FatBinary& binary, int ordinal, Image** out) {
  Image& image = binary.images[ordinal];
  if (image.module == nullptr) {
    HIPRT_TRY(load_image(image, binary.image, hipemu_image_bytes(binary.image), ordinal));
    // Managed variables: the device side holds the address of the shared memory.
    for (auto& [host, variable] : host_variables()) {
      if (variable.binary != &binary || variable.managed == nullptr) continue;
      hipemu_variable found{};
      if (hipemu_module_variable(image.module, variable.name.c_str(), &found) == HIPEMU_OK && found.bytes >= sizeof(void*)) {
        std::memcpy(found.address, variable.managed, sizeof(void*));
      }
    }
  }
  *out = &image;
  return hipSuccess;
}

hipError_t load_module(hipModule_t* out, const void* data, size_t bytes) {
  if (out == nullptr) return hipErrorInvalidValue;
  auto module = std::make_unique<ihipModule_t>();
  HIPRT_TRY(load_image(module->image, data, bytes, current_device()));
  live_modules().insert(module.get());
  *out = module.release();
  return hipSuccess;
}

hipError_t module_from_memory(hipModule_t* out, const void* image) {
  if (image == nullptr) return hipErrorInvalidValue;
  HIPRT_TRY(forbid_unsafe_while_capturing());
  const size_t bytes = hipemu_image_bytes(image);
  return bytes == 0 ? hipErrorInvalidImage : load_module(out, image, bytes);
}

hipError_t read_file(const char* path, std::vector<char>* out) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return hipErrorFileNotFound;
  out->assign(std::istreambuf_iterator<char>(file), {});
#if HIP_VERSION_MAJOR >= 7
  return out->empty() ? hipErrorInvalidImage : hipSuccess;
#else
  return out->empty() ? hipErrorInvalidValue : hipSuccess;
#endif
}

void unload_image(Image& image) {
  for (const auto& [name, function] : image.functions) live_functions().erase(function.get());
  image.functions.clear();
  if (image.module != nullptr) hipemu_module_unload(image.module);
  image.module = nullptr;
}

}  // namespace

hipError_t load_image(Image& image, const void* data, size_t bytes, int ordinal) {
  const hipemu_status status = hipemu_module_load(machine(), data, bytes, &image.module);
  image.device = ordinal;
  if (status == HIPEMU_OK) return hipSuccess;
  image.module = nullptr;
  report_once(std::string("cannot load code for ") + settings().target + ": " + hipemu_error_text());
  return error_of(status);
}

ihipModuleSymbol_t* image_function(Image& image, const std::string& name) {
  const auto known = image.functions.find(name);
  if (known != image.functions.end()) return known->second.get();
  hipemu_kernel* kernel = nullptr;
  if (hipemu_module_kernel(image.module, name.c_str(), &kernel) != HIPEMU_OK) return nullptr;
  auto function = std::make_unique<ihipModuleSymbol_t>();
  function->image = &image;
  function->kernel = kernel;
  function->name = name;
  function->info.struct_bytes = sizeof function->info;
  if (hipemu_kernel_info_get(kernel, &function->info) != HIPEMU_OK) return nullptr;
  live_functions().insert(function.get());
  return (image.functions[name] = std::move(function)).get();
}

hipError_t function_of(const void* host_function, int ordinal, ihipModuleSymbol_t** out) {
  const auto found = host_functions().find(host_function);
  if (found == host_functions().end()) return hipErrorInvalidDeviceFunction;
  HostFunction& host = found->second;
  ihipModuleSymbol_t*& function = host.functions[ordinal];
  if (function == nullptr) {
    Image* image = nullptr;
    HIPRT_TRY(image_of(*host.binary, ordinal, &image));
    function = image_function(*image, host.name);
    if (function == nullptr) return hipErrorInvalidDeviceFunction;
  }
  *out = function;
  return hipSuccess;
}

bool is_live_function(const ihipModuleSymbol_t* function) { return live_functions().count(function) != 0; }

hipError_t variable_of(const void* host_variable, int ordinal, char** address, size_t* size) {
  if (host_variable == nullptr) return hipErrorInvalidSymbol;
  auto found = host_variables().find(host_variable);
  if (found == host_variables().end()) {  // host code names a managed variable by the address of its memory
    found = std::find_if(host_variables().begin(), host_variables().end(), [&](const auto& row) {
      return row.second.managed != nullptr && *row.second.managed == host_variable;
    });
  }
  if (found == host_variables().end()) return hipErrorInvalidSymbol;
  const HostVariable& variable = found->second;
  if (variable.managed != nullptr) {
    *address = static_cast<char*>(*variable.managed);
    *size = variable.size;
    return hipSuccess;
  }
  Image* image = nullptr;
  HIPRT_TRY(image_of(*variable.binary, ordinal, &image));
  hipemu_variable device_side{};
  if (hipemu_module_variable(image->module, variable.name.c_str(), &device_side) != HIPEMU_OK) return hipErrorInvalidSymbol;
  *address = static_cast<char*>(device_side.address);
  *size = device_side.bytes;
  return hipSuccess;
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

// ------------------------------------------------------------------------------------------------- registration

void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
  if (wrapper == nullptr || wrapper->magic != kWrapperMagic || wrapper->version != 1) {
    report_once("a fat binary of unknown form was registered: its kernels are not available");
    return nullptr;
  }
  auto* binary = new FatBinary;
  binary->image = wrapper->binary;
  return reinterpret_cast<void**>(binary);
}

void __hipRegisterFunction(void** handle, const void* host_function, char*, const char* name, unsigned, void*, void*, void*,
                           void*, int*) {
  if (handle == nullptr) return;
  std::lock_guard<std::mutex> lock(monitor());
  host_functions()[host_function] = {reinterpret_cast<FatBinary*>(handle), name, {}};
}

void __hipRegisterVar(void** handle, void* host_variable, char*, char* name, int, size_t size, int, int) {
  if (handle == nullptr) return;
  std::lock_guard<std::mutex> lock(monitor());
  host_variables()[host_variable] = {reinterpret_cast<FatBinary*>(handle), name, size, nullptr};
}

void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, size_t size, unsigned alignment) {
  if (handle == nullptr) return;
  (void)guarded([&] {
    HIPRT_TRY(allocate(pointer, size, MemoryKind::managed, hipMemAttachGlobal, std::max<size_t>(alignment, 256)));
    std::memcpy(*pointer, initial, size);
    host_variables()[pointer] = {static_cast<FatBinary*>(handle), name, size, pointer};
    return hipSuccess;
  });
}

// Texture and surface references were removed from HIP's compilers; their registration has nothing to attach to.
void __hipRegisterTexture(void**, void*, char*, char* name, int, int, int) {
  report_once(std::string("texture reference ") + name + " is not supported: use texture objects");
}
void __hipRegisterSurface(void**, void*, char*, char* name, int, int) {
  report_once(std::string("surface reference ") + name + " is not supported: use surface objects");
}

void __hipUnregisterFatBinary(void** handle) {
  if (handle == nullptr) return;
  std::lock_guard<std::mutex> lock(monitor());
  auto* binary = reinterpret_cast<FatBinary*>(handle);
  for (auto entry = host_functions().begin(); entry != host_functions().end();) {
    entry = entry->second.binary == binary ? host_functions().erase(entry) : std::next(entry);
  }
  for (auto entry = host_variables().begin(); entry != host_variables().end();) {
    entry = entry->second.binary == binary ? host_variables().erase(entry) : std::next(entry);
  }
  // Runs while the program ends: the loaded code stays, something may still print from it.
}

// ------------------------------------------------------------------------------------------------- modules

hipError_t hipModuleLoad(hipModule_t* out, const char* path) {
  return device_api([&] {
    if (out == nullptr || path == nullptr) return hipErrorInvalidValue;
    std::vector<char> bytes;
    HIPRT_TRY(read_file(path, &bytes));
    return load_module(out, bytes.data(), bytes.size());
  });
}
hipError_t hipModuleLoadData(hipModule_t* out, const void* image) { return device_api([&] { return module_from_memory(out, image); }); }
hipError_t hipModuleLoadDataEx(hipModule_t* out, const void* image, unsigned, hipJitOption*, void**) {
  return device_api([&] { return module_from_memory(out, image); });
}
#if HIP_VERSION_MAJOR >= 7
hipError_t hipModuleLoadFatBinary(hipModule_t* out, const void* image) { return device_api([&] { return module_from_memory(out, image); }); }
hipError_t hipModuleGetFunctionCount(unsigned* count, hipModule_t module) {
  return api([&] {
    if (count == nullptr) return hipErrorInvalidValue;
    if (live_modules().count(module) == 0) return hipErrorInvalidHandle;
    *count = static_cast<unsigned>(hipemu_module_kernel_count(module->image.module));
    return hipSuccess;
  });
}
#endif

hipError_t hipModuleUnload(hipModule_t module) {
  return api([&] {
    if (live_modules().erase(module) == 0) return hipErrorInvalidHandle;
    HIPRT_TRY(wait_for_device(module->image.device));
    unload_image(module->image);
    delete module;
    return hipSuccess;
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* out, hipModule_t module, const char* name) {
  return api([&] {
    if (out == nullptr || name == nullptr || *name == 0) return hipErrorInvalidValue;
    if (live_modules().count(module) == 0) return hipErrorInvalidHandle;
    *out = image_function(module->image, name);
    return *out != nullptr ? hipSuccess : hipErrorNotFound;
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module, const char* name) {
  return api([&] {
    if ((address == nullptr && bytes == nullptr) || name == nullptr || *name == 0) return hipErrorInvalidValue;
    if (live_modules().count(module) == 0) return hipErrorInvalidHandle;
    hipemu_variable variable{};
    if (hipemu_module_variable(module->image.module, name, &variable) != HIPEMU_OK) return hipErrorNotFound;
    if (address != nullptr) *address = variable.address;
    if (bytes != nullptr) *bytes = variable.bytes;
    return hipSuccess;
  });
}

hipError_t hipGetFuncBySymbol(hipFunction_t* out, const void* symbol) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    return function_of(symbol, current_device(), out);
  });
}

hipError_t hipGetSymbolAddress(void** out, const void* symbol) {
  return device_api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    char* address = nullptr;
    size_t size = 0;
    HIPRT_TRY(variable_of(symbol, current_device(), &address, &size));
    *out = address;
    return hipSuccess;
  });
}

hipError_t hipGetSymbolSize(size_t* out, const void* symbol) {
  return device_api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    char* address = nullptr;
    return variable_of(symbol, current_device(), &address, out);
  });
}

const char* hipKernelNameRef(const hipFunction_t function) { return function == nullptr ? nullptr : function->name.c_str(); }

const char* hipKernelNameRefByPtr(const void* host_function, hipStream_t) {
  std::lock_guard<std::mutex> lock(monitor());
  const auto found = host_functions().find(host_function);
  return found == host_functions().end() ? nullptr : found->second.name.c_str();
}

#if HIP_VERSION_MAJOR >= 7
// ------------------------------------------------------------------------------------------------- libraries
// A library is a module, a kernel of it a function: the handles are the same objects.

static hipModule_t module_of(hipLibrary_t library) { return reinterpret_cast<hipModule_t>(library); }

hipError_t hipLibraryLoadData(hipLibrary_t* out, const void* code, hipJitOption*, void**, unsigned, hipLibraryOption*, void**, unsigned) {
  return hipModuleLoadData(reinterpret_cast<hipModule_t*>(out), code);
}
hipError_t hipLibraryLoadFromFile(hipLibrary_t* out, const char* path, hipJitOption*, void**, unsigned, hipLibraryOption*, void**,
                                  unsigned) {
  return hipModuleLoad(reinterpret_cast<hipModule_t*>(out), path);
}
hipError_t hipLibraryUnload(hipLibrary_t library) { return hipModuleUnload(module_of(library)); }
hipError_t hipLibraryGetKernel(hipKernel_t* out, hipLibrary_t library, const char* name) {
  return hipModuleGetFunction(reinterpret_cast<hipFunction_t*>(out), module_of(library), name);
}
hipError_t hipLibraryGetKernelCount(unsigned* count, hipLibrary_t library) { return hipModuleGetFunctionCount(count, module_of(library)); }
hipError_t hipLibraryEnumerateKernels(hipKernel_t* kernels, unsigned count, hipLibrary_t library) {
  return api([&] {
    hipModule_t module = module_of(library);
    if (kernels == nullptr || live_modules().count(module) == 0) return hipErrorInvalidValue;
    const size_t n = std::min<size_t>(count, hipemu_module_kernel_count(module->image.module));
    for (size_t i = 0; i < n; ++i) {
      hipemu_kernel_info info{};
      info.struct_bytes = sizeof info;
      if (hipemu_kernel_info_get(hipemu_module_kernel_at(module->image.module, i), &info) != HIPEMU_OK) return hipErrorUnknown;
      kernels[i] = reinterpret_cast<hipKernel_t>(image_function(module->image, info.name));
    }
    return hipSuccess;
  });
}
hipError_t hipKernelGetName(const char** name, hipKernel_t kernel) {
  return api([&] {
    auto* function = reinterpret_cast<hipFunction_t>(kernel);
    if (name == nullptr || !is_live_function(function)) return hipErrorInvalidValue;
    *name = function->name.c_str();
    return hipSuccess;
  });
}
hipError_t hipKernelGetLibrary(hipLibrary_t* out, hipKernel_t kernel) {
  return api([&] {
    auto* function = reinterpret_cast<hipFunction_t>(kernel);
    if (out == nullptr || !is_live_function(function)) return hipErrorInvalidValue;
    for (ihipModule_t* module : live_modules()) {
      if (&module->image != function->image) continue;
      *out = reinterpret_cast<hipLibrary_t>(module);
      return hipSuccess;
    }
    return hipErrorNotFound;
  });
}
#endif

// ------------------------------------------------------------------------------------------------- linking
// The driver's spelling of hipRTC's linker.

static hipError_t linked(hiprtcResult result) {
  switch (result) {
    case HIPRTC_SUCCESS:
      return record(hipSuccess);
    case HIPRTC_ERROR_PROGRAM_CREATION_FAILURE:
      return record(hipErrorFileNotFound);
    case HIPRTC_ERROR_LINKING:
      return record(hipErrorUnknown);
    default:
      return record(hipErrorInvalidValue);
  }
}
static hiprtcLinkState link_of(hipLinkState_t state) { return reinterpret_cast<hiprtcLinkState>(state); }

hipError_t hipLinkCreate(unsigned count, hipJitOption* options, void** values, hipLinkState_t* out) {
  return linked(hiprtcLinkCreate(count, options, values, reinterpret_cast<hiprtcLinkState*>(out)));
}
hipError_t hipLinkAddData(hipLinkState_t state, hipJitInputType type, void* data, size_t size, const char* name, unsigned count,
                          hipJitOption* options, void** values) {
  return linked(hiprtcLinkAddData(link_of(state), type, data, size, name, count, options, values));
}
hipError_t hipLinkAddFile(hipLinkState_t state, hipJitInputType type, const char* path, unsigned count, hipJitOption* options,
                          void** values) {
  return linked(hiprtcLinkAddFile(link_of(state), type, path, count, options, values));
}
hipError_t hipLinkComplete(hipLinkState_t state, void** out, size_t* size) { return linked(hiprtcLinkComplete(link_of(state), out, size)); }
hipError_t hipLinkDestroy(hipLinkState_t state) { return linked(hiprtcLinkDestroy(link_of(state))); }
}
