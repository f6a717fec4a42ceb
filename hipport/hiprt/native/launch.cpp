// Kernel launches of every kind, function attributes and occupancy.
#include <algorithm>
#include <climits>

#include "runtime.h"

namespace hiprt {
namespace {

struct CallConfiguration {
  dim3 grid{1, 1, 1}, block{1, 1, 1};
  size_t dynamic_lds = 0;
  hipStream_t stream = nullptr;
  std::vector<char> arguments;  // hipSetupArgument
};
thread_local std::vector<CallConfiguration> configurations;

std::atomic<uint64_t> n_launches{0};

size_t threads_of(dim3 block) { return size_t{block.x} * block.y * block.z; }

bool is_hidden(const hipemu_argument& argument) { return std::strncmp(argument.kind, "hidden_", 7) == 0; }

bool uses_multigrid(const ihipModuleSymbol_t& function) {
  for (uint32_t i = 0; i < function.info.n_arguments; ++i) {
    if (std::strcmp(function.info.arguments[i].kind, "hidden_multigrid_sync_arg") == 0) return true;
  }
  return false;
}

size_t free_lds(const ihipModuleSymbol_t& function) {
  const size_t limit = devices()[function.image->device]->properties.sharedMemPerBlock;
  return limit > function.info.lds_bytes ? limit - function.info.lds_bytes : 0;
}

hipError_t fault_of(hipemu_status status) {
  switch (status) {
    case HIPEMU_OK:
      return hipSuccess;
    case HIPEMU_MEMORY_FAULT:
      return hipErrorIllegalAddress;
    case HIPEMU_TRAP:
      return assertion_failed() ? hipErrorAssert : hipErrorLaunchFailure;
    case HIPEMU_DEADLOCK:
    case HIPEMU_INSTRUCTION_LIMIT:
      return hipErrorLaunchTimeOut;
    case HIPEMU_RESOURCES:
    case HIPEMU_OUT_OF_MEMORY:
      return hipErrorLaunchOutOfResources;
    default:
      return hipErrorLaunchFailure;
  }
}

// A launch on a stream with optional events around it.
hipError_t launch(ihipModuleSymbol_t* function, const LaunchShape& shape, void** parameters, void** extra, hipStream_t stream,
                  bool per_thread = false, hipEvent_t start = nullptr, hipEvent_t stop = nullptr, void* host_function = nullptr) {
  HIPRT_TRY(resolve_stream(stream, per_thread));
  for (hipEvent_t event : {start, stop}) {
    if (event != nullptr && live_events().count(event) == 0) return hipErrorInvalidValue;
  }
  KernelOperation kernel;
  HIPRT_TRY(prepare_launch(function, shape, parameters, extra, &kernel));
  kernel.host_function = host_function;
  if (start != nullptr) HIPRT_TRY(record_event(start, stream));
  HIPRT_TRY(submit(stream, std::move(kernel)));
  if (stop != nullptr) HIPRT_TRY(record_event(stop, stream));
  return hipSuccess;
}

int device_of(hipStream_t stream) {
  return stream == nullptr || stream == hipStreamLegacy || stream == hipStreamPerThread || live_streams().count(stream) == 0
             ? current_device()
             : stream->device;
}

hipError_t launch_host(const void* host_function, dim3 grid, dim3 block, void** parameters, size_t dynamic_lds, hipStream_t stream,
                       bool cooperative = false, bool per_thread = false, hipEvent_t start = nullptr, hipEvent_t stop = nullptr) {
  if (host_function == nullptr) return hipErrorInvalidDeviceFunction;
  ihipModuleSymbol_t* function = nullptr;
  HIPRT_TRY(function_of(host_function, device_of(stream), &function));
  LaunchShape shape;
  HIPRT_TRY(grid_in_items(grid, block, &shape.items));
  shape.block = block;
  shape.dynamic_lds = dynamic_lds;
  shape.cooperative = cooperative;
  return launch(function, shape, parameters, nullptr, stream, per_thread, start, stop, const_cast<void*>(host_function));
}

hipError_t launch_module(hipFunction_t function, dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream, void** parameters,
                         void** extra, bool cooperative = false) {
  if (function == nullptr || !is_live_function(function)) return hipErrorInvalidHandle;
  const hipDeviceProp_tR0600& p = device().properties;
  if (grid.x > static_cast<unsigned>(p.maxGridSize[0]) || grid.y > static_cast<unsigned>(p.maxGridSize[1]) ||
      grid.z > static_cast<unsigned>(p.maxGridSize[2])) {
    return hipErrorInvalidValue;
  }
  LaunchShape shape;
  HIPRT_TRY(grid_in_items(grid, block, &shape.items));
  shape.block = block;
  shape.dynamic_lds = dynamic_lds;
  shape.cooperative = cooperative;
  return launch(function, shape, parameters, extra, stream);
}

hipError_t launch_items(hipFunction_t function, dim3 items, dim3 block, size_t dynamic_lds, hipStream_t stream, void** parameters,
                        void** extra, hipEvent_t start, hipEvent_t stop) {
  if (function == nullptr || !is_live_function(function)) return hipErrorInvalidHandle;
  LaunchShape shape;
  shape.items = items;
  shape.block = dim3(std::min(block.x, items.x), std::min(block.y, items.y), std::min(block.z, items.z));
  shape.dynamic_lds = dynamic_lds;
  return launch(function, shape, parameters, extra, stream, false, start, stop);
}

// Launches over several devices run one after the other, so a grid-spanning barrier between them cannot work.
template <class Parameters, class Function>
hipError_t launch_many(Parameters* list, int count, unsigned flags, bool cooperative, Function function_in) {
  constexpr unsigned known = hipCooperativeLaunchMultiDeviceNoPreSync | hipCooperativeLaunchMultiDeviceNoPostSync;
  if (list == nullptr || count <= 0 || count > static_cast<int>(devices().size()) || (flags & ~known)) return hipErrorInvalidValue;
  std::set<int> used;
  for (int i = 0; i < count; ++i) {
    hipStream_t stream = function_in.stream(list[i]);
    if (stream == nullptr || stream == hipStreamLegacy || live_streams().count(stream) == 0) return hipErrorInvalidHandle;
    if (stream->capture != nullptr) return hipErrorStreamCaptureUnsupported;
    if (!used.insert(stream->device).second) return hipErrorInvalidDevice;
    ihipModuleSymbol_t* function = nullptr;
    HIPRT_TRY(function_in.function(list[i], &function));
    if (cooperative && count > 1 && uses_multigrid(*function)) {
      report_once("a cooperative launch over several devices that synchronises across them is not supported");
      return hipErrorNotSupported;
    }
  }
  for (int i = 0; i < count; ++i) HIPRT_TRY(function_in.launch(list[i]));
  return hipSuccess;
}

struct HostLaunches {
  bool cooperative;
  hipStream_t stream(const hipLaunchParams& p) const { return p.stream; }
  hipError_t function(const hipLaunchParams& p, ihipModuleSymbol_t** out) const { return function_of(p.func, p.stream->device, out); }
  hipError_t launch(const hipLaunchParams& p) const {
    return launch_host(p.func, p.gridDim, p.blockDim, p.args, p.sharedMem, p.stream, cooperative);
  }
};

struct ModuleLaunches {
  hipStream_t stream(const hipFunctionLaunchParams& p) const { return p.hStream; }
  hipError_t function(const hipFunctionLaunchParams& p, ihipModuleSymbol_t** out) const {
    if (!is_live_function(p.function)) return hipErrorInvalidHandle;
    *out = p.function;
    return hipSuccess;
  }
  hipError_t launch(const hipFunctionLaunchParams& p) const {
    return launch_module(p.function, dim3(p.gridDimX, p.gridDimY, p.gridDimZ), dim3(p.blockDimX, p.blockDimY, p.blockDimZ),
                         p.sharedMemBytes, p.hStream, p.kernelParams, nullptr, true);
  }
};

// ------------------------------------------------------------------------------------------------- occupancy

// The block size that fills a compute unit best; larger blocks win ties, as HIP's search from large to small does.
void best_block(const ihipModuleSymbol_t& function, size_t dynamic_lds, int limit, int* grid, int* block) {
  const Device& d = *devices()[function.image->device];
  const int wave = d.properties.warpSize;
  int largest = std::min<int>(function.info.max_workgroup_size, d.properties.maxThreadsPerBlock);
  if (limit > 0) largest = std::min(largest, limit);
  int best_threads = 0;
  *block = largest;
  *grid = 0;
  for (int size = largest; size > 0; size = (size - 1) / wave * wave) {
    const int blocks = blocks_per_cu(function, size, dynamic_lds);
    if (blocks * size > best_threads) {
      best_threads = blocks * size;
      *block = size;
      *grid = blocks * d.properties.multiProcessorCount;
    }
  }
}

hipError_t max_active(int* out, const ihipModuleSymbol_t* function, int block, size_t dynamic_lds, unsigned flags = 0) {
  if (!is_live_function(function)) return hipErrorInvalidValue;
  if (out == nullptr || block <= 0 || flags > hipOccupancyDisableCachingOverride) return hipErrorInvalidValue;
  *out = blocks_per_cu(*function, block, dynamic_lds);
  return hipSuccess;
}

hipError_t max_potential(int* grid, int* block, const ihipModuleSymbol_t* function, size_t dynamic_lds, int limit, unsigned flags = 0) {
  if (!is_live_function(function)) return hipErrorInvalidValue;
  if (grid == nullptr || block == nullptr || flags > hipOccupancyDisableCachingOverride) return hipErrorInvalidValue;
  best_block(*function, dynamic_lds, limit, grid, block);
  return hipSuccess;
}

hipError_t attribute(const ihipModuleSymbol_t& f, hipFunction_attribute which, int* out) {
  const Device& d = *devices()[f.image->device];
  switch (which) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = static_cast<int>(f.info.max_workgroup_size);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *out = static_cast<int>(f.info.lds_bytes);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *out = 0;
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *out = static_cast<int>(f.info.private_bytes);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *out = static_cast<int>(f.info.vgprs);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = d.properties.major * 10 + d.properties.minor;
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *out = static_cast<int>(f.max_dynamic_lds_set ? f.max_dynamic_lds : free_lds(f));
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

}  // namespace

void print_finding(const hipemu_finding& f) {
  std::fprintf(stderr, "hipport: %s in %s", f.id, f.kernel);
  if (f.source_line != 0) std::fprintf(stderr, " (%s:%u)", f.source_file, f.source_line);
  std::fprintf(stderr, ": %s [block %u,%u,%u wave %u lane %u", f.message, f.workgroup[0], f.workgroup[1], f.workgroup[2], f.wave, f.lane);
  if (f.instruction != nullptr && *f.instruction != 0) std::fprintf(stderr, "; %s", f.instruction);
  std::fprintf(stderr, "]");
  if (f.occurrences > 1) std::fprintf(stderr, " (%llu times)", static_cast<unsigned long long>(f.occurrences));
  std::fprintf(stderr, "\n");
}

uint64_t launches_started() { return n_launches; }

hipError_t grid_in_items(dim3 grid, dim3 block, dim3* items) {
  uint32_t* const out[] = {&items->x, &items->y, &items->z};
  const uint32_t grids[] = {grid.x, grid.y, grid.z}, blocks[] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; ++i) {
    const uint64_t total = uint64_t{grids[i]} * blocks[i];
    if (total > UINT32_MAX) return hipErrorInvalidConfiguration;
    *out[i] = static_cast<uint32_t>(total);
  }
  return hipSuccess;
}

hipError_t prepare_launch(ihipModuleSymbol_t* function, const LaunchShape& shape, void** parameters, void** extra, KernelOperation* out) {
  const Device& d = *devices()[function->image->device];
  const hipemu_kernel_info& info = function->info;
  if (parameters != nullptr && extra != nullptr) return hipErrorInvalidValue;
  if (shape.block.x == 0 || shape.block.y == 0 || shape.block.z == 0) return hipErrorInvalidConfiguration;
#if HIP_VERSION_MAJOR >= 7
  constexpr hipError_t too_large = hipErrorInvalidConfiguration;  // "HIP API 7.0 changes", kernel launch APIs
#else
  constexpr hipError_t too_large = hipErrorInvalidValue;
#endif
  if (threads_of(shape.block) > static_cast<size_t>(d.properties.maxThreadsPerBlock)) return too_large;
  if (shape.items.x == 0 || shape.items.y == 0 || shape.items.z == 0) return hipErrorInvalidValue;
  if (threads_of(shape.block) > info.max_workgroup_size) return hipErrorLaunchFailure;  // beyond __launch_bounds__
  if (shape.dynamic_lds > free_lds(*function)) return hipErrorInvalidValue;
  if (shape.cooperative) {
    const uint64_t blocks = threads_of(shape.items) / threads_of(shape.block);
    const int fit = blocks_per_cu(*function, static_cast<int>(threads_of(shape.block)), shape.dynamic_lds);
    if (blocks > static_cast<uint64_t>(fit) * d.properties.multiProcessorCount) return hipErrorCooperativeLaunchTooLarge;
  }
  out->function = function;
  out->items = shape.items;
  out->block = shape.block;
  out->dynamic_lds = static_cast<uint32_t>(shape.dynamic_lds);
  out->cooperative = shape.cooperative;
  out->arguments.assign(info.explicit_kernarg_bytes, 0);
  bool has_arguments = false;
  for (uint32_t i = 0; i < info.n_arguments; ++i) has_arguments = has_arguments || !is_hidden(info.arguments[i]);
  if (!has_arguments) return hipSuccess;
  if (extra != nullptr) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (void** item = extra; *item != HIP_LAUNCH_PARAM_END; item += 2) {
      if (*item == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
        buffer = item[1];
      } else if (*item == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
        bytes = *static_cast<size_t*>(item[1]);
      } else {
        return hipErrorInvalidValue;
      }
    }
    if (buffer == nullptr) return hipErrorInvalidValue;
    std::memcpy(out->arguments.data(), buffer, std::min(bytes, out->arguments.size()));
    return hipSuccess;
  }
  if (parameters == nullptr) return hipErrorInvalidValue;
  const hipemu_status status =
      hipemu_pack_arguments(function->kernel, parameters, static_cast<size_t>(-1), out->arguments.data(), out->arguments.size());
  return status == HIPEMU_OK ? hipSuccess : hipErrorInvalidValue;
}

hipError_t run_kernel(const KernelOperation& kernel) {
  hipemu_launch launch{};
  launch.struct_bytes = sizeof launch;
  launch.grid[0] = kernel.items.x;
  launch.grid[1] = kernel.items.y;
  launch.grid[2] = kernel.items.z;
  launch.block[0] = kernel.block.x;
  launch.block[1] = kernel.block.y;
  launch.block[2] = kernel.block.z;
  launch.dynamic_lds_bytes = kernel.dynamic_lds;
  launch.kernarg = kernel.arguments.data();
  launch.kernarg_bytes = static_cast<uint32_t>(kernel.arguments.size());
  launch.cooperative = kernel.cooperative;
  hipemu_result result{};
  result.struct_bytes = sizeof result;
  ++n_launches;
  hipemu_status status;
  std::string reason;
  {
    Unlocked unlocked;  // other threads may call HIP while it runs, a kernel may wait for them
    std::fflush(stdout);
    status = hipemu_launch_kernel(kernel.function->kernel, &launch, &result);
    if (status != HIPEMU_OK) reason = hipemu_error_text();
  }
  for (uint64_t i = 0; i < result.n_findings; ++i) {
    hipemu_finding finding{};
    if (hipemu_finding_at(machine(), result.first_finding + i, &finding) == HIPEMU_OK) print_finding(finding);
  }
  if (status == HIPEMU_OK) return hipSuccess;
  const hipError_t fault = fault_of(status);
  std::fprintf(stderr, "hipport: kernel %s ended early: %s (%s)\n", kernel.function->name.c_str(), reason.c_str(), error_name(fault));
  return fault;
}

// Registers, LDS and wave slots of a compute unit (ISA guides, "Wavefront" resources); RDNA: of a workgroup processor.
int blocks_per_cu(const ihipModuleSymbol_t& function, int block_size, size_t dynamic_lds) {
  const Device& d = *devices()[function.image->device];
  if (block_size <= 0 || block_size > static_cast<int>(function.info.max_workgroup_size)) return 0;
  if (dynamic_lds > free_lds(function)) return 0;
  const int waves = (block_size + d.properties.warpSize - 1) / d.properties.warpSize;
  const int registers = std::max<int>(1, static_cast<int>(function.info.vgprs));
  const int allocated = (registers + d.vgpr_granule - 1) / d.vgpr_granule * d.vgpr_granule;
  const int waves_per_simd = std::min(d.waves_per_simd, d.vgprs_per_lane / allocated);
  int blocks = waves_per_simd * d.simds_per_cu / waves;
  const size_t lds = function.info.lds_bytes + dynamic_lds;
  if (lds != 0) blocks = std::min<int>(blocks, static_cast<int>(d.properties.sharedMemPerMultiprocessor / lds));
  return std::min(blocks, d.properties.maxBlocksPerMultiProcessor);
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

// ------------------------------------------------------------------------------------------------- <<<>>>

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream) {
  configurations.push_back({grid, block, dynamic_lds, stream, {}});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_lds, hipStream_t* stream) {
  if (configurations.empty()) return record(hipErrorMissingConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *dynamic_lds = top.dynamic_lds;
  *stream = top.stream;
  configurations.pop_back();
  return hipSuccess;
}

hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream) {
  configurations.push_back({grid, block, dynamic_lds, stream, {}});
  return record(hipSuccess);
}

hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset) {
  if (configurations.empty()) return record(hipErrorMissingConfiguration);
  if (argument == nullptr) return record(hipErrorInvalidValue);
  std::vector<char>& buffer = configurations.back().arguments;
  if (buffer.size() < offset + size) buffer.resize(offset + size);
  std::memcpy(buffer.data() + offset, argument, size);
  return record(hipSuccess);
}

hipError_t hipLaunchByPtr(const void* host_function) {
  return device_api([&] {
    if (configurations.empty()) return hipErrorMissingConfiguration;
    CallConfiguration top = std::move(configurations.back());
    configurations.pop_back();
    ihipModuleSymbol_t* function = nullptr;
    HIPRT_TRY(function_of(host_function, device_of(top.stream), &function));
    size_t bytes = top.arguments.size();
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, top.arguments.data(), HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
    LaunchShape shape;
    HIPRT_TRY(grid_in_items(top.grid, top.block, &shape.items));
    shape.block = top.block;
    shape.dynamic_lds = top.dynamic_lds;
    return launch(function, shape, nullptr, extra, top.stream);
  });
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** parameters, size_t lds, hipStream_t stream) {
  return device_api([&] { return launch_host(function, grid, block, parameters, lds, stream); });
}
hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block, void** parameters, size_t lds, hipStream_t stream) {
  return device_api([&] { return launch_host(function, grid, block, parameters, lds, stream, false, true); });
}
hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** parameters, size_t lds, hipStream_t stream,
                              hipEvent_t start, hipEvent_t stop, int) {
  return device_api([&] { return launch_host(function, grid, block, parameters, lds, stream, false, false, start, stop); });
}
hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** parameters, unsigned lds, hipStream_t stream) {
  return device_api([&] { return launch_host(function, grid, block, parameters, lds, stream, true); });
}
hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block, void** parameters, uint32_t lds, hipStream_t stream) {
  return device_api([&] { return launch_host(function, grid, block, parameters, lds, stream, true, true); });
}
hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count, unsigned flags) {
  return device_api([&] { return launch_many(list, count, flags, true, HostLaunches{true}); });
}
hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count, unsigned flags) {
  return device_api([&] { return launch_many(list, count, flags, false, HostLaunches{false}); });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                 unsigned lds, hipStream_t stream, void** parameters, void** extra) {
  return device_api([&] { return launch_module(function, dim3(gx, gy, gz), dim3(bx, by, bz), lds, stream, parameters, extra); });
}
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                            unsigned bz, unsigned lds, hipStream_t stream, void** parameters) {
  return device_api([&] { return launch_module(function, dim3(gx, gy, gz), dim3(bx, by, bz), lds, stream, parameters, nullptr, true); });
}
hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams* list, unsigned count, unsigned flags) {
  return device_api([&] { return launch_many(list, static_cast<int>(count), flags, true, ModuleLaunches{}); });
}

// hip_ext.h: sizes in work-items.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz,
                                    size_t lds, hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                    uint32_t) {
  return device_api([&] { return launch_items(function, dim3(x, y, z), dim3(bx, by, bz), lds, stream, parameters, extra, start, stop); });
}
hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz,
                                    size_t lds, hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop) {
  return device_api([&] { return launch_items(function, dim3(x, y, z), dim3(bx, by, bz), lds, stream, parameters, extra, start, stop); });
}

#if HIP_VERSION_MAJOR >= 7
static bool wants_cooperative(const hipLaunchAttribute* attributes, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i].id == hipLaunchAttributeCooperative) return attributes[i].value.cooperative != 0;
  }
  return false;
}
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* c, const void* function, void** parameters) {
  return device_api([&] {
    if (c == nullptr) return hipErrorInvalidConfiguration;
    return launch_host(function, c->gridDim, c->blockDim, parameters, c->dynamicSmemBytes, c->stream, wants_cooperative(c->attrs, c->numAttrs));
  });
}
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* c, hipFunction_t function, void** parameters, void** extra) {
  return device_api([&] {
    if (c == nullptr) return hipErrorInvalidConfiguration;
    return launch_module(function, dim3(c->gridDimX, c->gridDimY, c->gridDimZ), dim3(c->blockDimX, c->blockDimY, c->blockDimZ),
                         c->sharedMemBytes, c->hStream, parameters, extra, wants_cooperative(c->attrs, c->numAttrs));
  });
}
#endif

// ------------------------------------------------------------------------------------------------- attributes

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  return api([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (!is_live_function(function)) return hipErrorInvalidHandle;
    return attribute(*function, which, value);
  });
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* out, const void* host_function) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (host_function == nullptr) return hipErrorInvalidDeviceFunction;
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host_function, current_device(), &f));
    *out = {};
    out->localSizeBytes = f->info.private_bytes;
    out->sharedSizeBytes = f->info.lds_bytes;
    out->maxThreadsPerBlock = static_cast<int>(f->info.max_workgroup_size);
    out->numRegs = static_cast<int>(f->info.vgprs);
    out->maxDynamicSharedSizeBytes = static_cast<int>(f->max_dynamic_lds_set ? f->max_dynamic_lds : free_lds(*f));
    out->ptxVersion = out->binaryVersion = device().properties.major * 10 + device().properties.minor;
    return hipSuccess;
  });
}

hipError_t hipFuncSetAttribute(const void* host_function, hipFuncAttribute which, int value) {
  return api([&] {
    if (host_function == nullptr) return hipErrorInvalidDeviceFunction;
    if (which < 0 || which > hipFuncAttributeMax) return hipErrorInvalidValue;
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host_function, current_device(), &f));
    if (which == hipFuncAttributeMaxDynamicSharedMemorySize) {
      if (value < 0 || static_cast<size_t>(value) > free_lds(*f)) return hipErrorInvalidValue;
      f->max_dynamic_lds = static_cast<size_t>(value);
      f->max_dynamic_lds_set = true;
    }
    if (which == hipFuncAttributePreferredSharedMemoryCarveout && (value < -1 || value > 100)) return hipErrorInvalidValue;
    return hipSuccess;
  });
}

hipError_t hipFuncSetCacheConfig(const void* host_function, hipFuncCache_t config) {
  return api([&] {
    if (host_function == nullptr) return hipErrorInvalidDeviceFunction;
    return config >= hipFuncCachePreferNone && config <= hipFuncCachePreferEqual ? hipSuccess : hipErrorInvalidValue;
  });
}

hipError_t hipFuncSetSharedMemConfig(const void* host_function, hipSharedMemConfig config) {
  return api([&] {
    if (host_function == nullptr) return hipErrorInvalidDeviceFunction;
    return config >= hipSharedMemBankSizeDefault && config <= hipSharedMemBankSizeEightByte ? hipSuccess : hipErrorInvalidValue;
  });
}

// ------------------------------------------------------------------------------------------------- occupancy

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* host, int block, size_t lds) {
  return api([&] {
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host, current_device(), &f));
    return max_active(out, f, block, lds);
  });
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* host, int block, size_t lds, unsigned flags) {
  return api([&] {
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host, current_device(), &f));
    return max_active(out, f, block, lds, flags);
  });
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* out, hipFunction_t f, int block, size_t lds) {
  return api([&] { return max_active(out, f, block, lds); });
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, hipFunction_t f, int block, size_t lds, unsigned flags) {
  return api([&] { return max_active(out, f, block, lds, flags); });
}
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* host, size_t lds, int limit) {
  return api([&] {
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host, current_device(), &f));
    return max_potential(grid, block, f, lds, limit);
  });
}
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t f, size_t lds, int limit) {
  return api([&] { return max_potential(grid, block, f, lds, limit); });
}
hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t f, size_t lds, int limit, unsigned flags) {
  return api([&] { return max_potential(grid, block, f, lds, limit, flags); });
}
#if HIP_VERSION_MAJOR >= 7
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t* out, const void* host, int blocks, int block) {
  return api([&] {
    ihipModuleSymbol_t* f = nullptr;
    HIPRT_TRY(function_of(host, current_device(), &f));
    if (out == nullptr || blocks <= 0 || block <= 0) return hipErrorInvalidValue;
    if (blocks_per_cu(*f, block, 0) < blocks) return hipErrorInvalidValue;
    const size_t share = device().properties.sharedMemPerMultiprocessor / static_cast<size_t>(blocks);
    *out = std::min(free_lds(*f), share > f->info.lds_bytes ? share - f->info.lds_bytes : 0);
    return hipSuccess;
  });
}
#endif
}

// The same two in hip_ext.h's C++ linkage (_Z24hipExtModuleLaunchKernel..., _Z24hipHccModuleLaunchKernel...).
hipError_t hiprt_cxx_ext_launch(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop, uint32_t flags)
    __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
hipError_t hiprt_cxx_ext_launch(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop, uint32_t flags) {
  return hipExtModuleLaunchKernel(function, x, y, z, bx, by, bz, lds, stream, parameters, extra, start, stop, flags);
}
hipError_t hiprt_cxx_hcc_launch(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop)
    __asm__("_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_");
hipError_t hiprt_cxx_hcc_launch(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                hipStream_t stream, void** parameters, void** extra, hipEvent_t start, hipEvent_t stop) {
  return hipHccModuleLaunchKernel(function, x, y, z, bx, by, bz, lds, stream, parameters, extra, start, stop);
}
