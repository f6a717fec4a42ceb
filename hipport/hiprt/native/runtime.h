// State of the drop-in HIP runtime: devices, memory, streams, events, modules, and the one lock around it all.
//
// Every entry point is `return api([&] { ... });`. Inside it the monitor is held, so no function in this library calls
// a public entry point; host callbacks and kernels run with the monitor released (see `Unlocked`).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hip_deprecated.h>

#include "hipport_emulator.h"

namespace hiprt {

// ---------------------------------------------------------------------------------------------------- settings
// Read once from HIPPORT_* environment variables.
struct Settings {
  std::string target = "gfx942";
  int devices = 1;
  hipemu_options options{};
  std::string stats_path;    // HIPPORT_STATS: file that receives the counters as JSON when the program ends
  std::string error;         // why the settings are not usable
};
const Settings& settings();
hipemu_device* machine();  // the one emulated machine; every HIP device of the process shares its memory

// ---------------------------------------------------------------------------------------------------- the monitor
std::mutex& monitor();

// Releases the monitor for as long as it lives: around host callbacks, kernels and sleeps.
struct Unlocked {
  Unlocked() { monitor().unlock(); }
  ~Unlocked() { monitor().lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
};

// ---------------------------------------------------------------------------------------------------- errors
hipError_t start_runtime();                 // first call: settings, devices; later calls: the same answer
hipError_t record(hipError_t error);        // keeps it as this thread's last error, as this HIP version does
hipError_t peek_error();
hipError_t take_error();
hipError_t take_command_error();
const char* error_name(hipError_t code);
bool assertion_failed();                    // device code printed an assertion message since the last question
uint64_t launches_started();
hipError_t sticky_error();                  // the fault of the current device, hipSuccess when it is healthy
void report_once(const std::string& line);  // one line on stderr, never twice the same
void print_finding(const hipemu_finding& finding);  // one line on stderr
hipError_t refuse(const char* name, const char* reason);  // hipErrorNotSupported, said once on stderr

template <class Body>
hipError_t guarded(Body&& body) noexcept {
  try {
    std::lock_guard<std::mutex> lock(monitor());
    if (hipError_t error = start_runtime()) return error;
    return body();
  } catch (const std::bad_alloc&) {
    return hipErrorOutOfMemory;
  }
}

// An entry point of the API.
template <class Body>
hipError_t api(Body&& body) noexcept {
  return record(guarded(body));
}

// An entry point that needs a healthy device: after a kernel fault it returns that fault until the device is reset.
template <class Body>
hipError_t device_api(Body&& body) noexcept {
  return api([&] {
    hipError_t error = sticky_error();
    return error != hipSuccess ? error : body();
  });
}

#define HIPRT_TRY(expression)                            \
  do {                                                   \
    hipError_t try_error_ = (expression);                \
    if (try_error_ != hipSuccess) return try_error_;     \
  } while (0)

// ---------------------------------------------------------------------------------------------------- memory
enum class MemoryKind { device, host, managed, registered, virtual_range };

struct Allocation {
  char* base = nullptr;
  size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  unsigned flags = 0;
  ihipMemPoolHandle_t* pool = nullptr;  // of stream-ordered memory
  bool on_free_list = false;            // stream-ordered memory that was freed but stays reserved in its pool
  uint64_t id = 0;
  int preferred_location = hipInvalidDeviceId;  // hipMemAdvise
  int last_prefetch = hipInvalidDeviceId;
  bool read_mostly = false;
  std::vector<int> accessed_by;
  bool sync_memops = false;

  bool on_device() const { return kind == MemoryKind::device || kind == MemoryKind::virtual_range; }
};

Allocation* find_allocation(const void* pointer);  // the one that contains it, or null
hipError_t allocate(void** pointer, size_t size, MemoryKind kind, unsigned flags, size_t alignment = 256);
void release(Allocation* allocation);
bool is_device_side(const void* pointer);          // memory that a kernel may touch
bool is_freed_memory(const void* pointer);         // a device address that belongs to nothing now
void free_device_memory(int ordinal);
hipError_t pool_allocate(ihipMemPoolHandle_t* pool, void** pointer, size_t size);
void pool_free(Allocation* allocation);
ihipMemPoolHandle_t* current_pool(int device);

// ---------------------------------------------------------------------------------------------------- devices
struct Device {
  int ordinal = 0;
  hipDeviceProp_tR0600 properties{};
  int simds_per_cu = 4;           // SIMDs that one workgroup can use (a WGP's four on RDNA)
  int waves_per_simd = 8;
  int vgprs_per_lane = 512;       // of a SIMD
  int vgpr_granule = 8;
  bool images = false;
  int minor = 0, stepping = 0;
  unsigned flags = 0;
  bool primary_active = false;
  hipError_t fault = hipSuccess;  // sticky
  hipFuncCache_t cache_config = hipFuncCachePreferNone;
  hipSharedMemConfig shared_config = hipSharedMemBankSizeDefault;
  size_t limits[3] = {1024, 1048576, 8388608};
  std::set<int> peers;            // enabled for access
  ihipMemPoolHandle_t* default_pool = nullptr;
  ihipMemPoolHandle_t* pool = nullptr;
  ihipStream_t* null_stream = nullptr;
};
std::vector<std::unique_ptr<Device>>& devices();
bool make_devices();
bool valid_device(int ordinal);
int current_device();                    // of this thread
void set_current_device(int ordinal);
Device& device();                        // the current one
void reset_device(int ordinal);          // memory, streams, events and the fault of a device
ihipCtx_t* primary_context(int ordinal);

// ---------------------------------------------------------------------------------------------------- code
struct Image {  // one code object loaded on one device
  hipemu_module* module = nullptr;
  int device = 0;
  std::map<std::string, std::unique_ptr<ihipModuleSymbol_t>> functions;
};
}  // namespace hiprt

struct ihipModuleSymbol_t {
  hiprt::Image* image = nullptr;
  hipemu_kernel* kernel = nullptr;
  hipemu_kernel_info info{};
  std::string name;
  size_t max_dynamic_lds = 0;  // set by hipFuncSetAttribute
  bool max_dynamic_lds_set = false;
};

struct ihipModule_t {
  hiprt::Image image;
  std::unordered_set<std::string> texture_references;
};

namespace hiprt {
hipError_t load_image(Image& image, const void* data, size_t size_or_zero, int device);
ihipModuleSymbol_t* image_function(Image& image, const std::string& name);
hipError_t function_of(const void* host_function, int device, ihipModuleSymbol_t** out);
hipError_t variable_of(const void* host_variable, int device, char** address, size_t* size);
bool is_live_function(const ihipModuleSymbol_t* function);

// ---------------------------------------------------------------------------------------------------- operations
// What a stream executes and what a graph node holds are the same thing.
struct KernelOperation {
  ihipModuleSymbol_t* function = nullptr;
  dim3 items{1, 1, 1};  // grid in work-items
  dim3 block{1, 1, 1};
  uint32_t dynamic_lds = 0;
  bool cooperative = false;
  std::vector<char> arguments;       // explicit kernel arguments, laid out
  void* host_function = nullptr;     // as given by the caller, for hipGraphKernelNodeGetParams
  int priority = 0;
  hipAccessPolicyWindow window{};
  uint64_t multigrid = 0;            // address of the multi-grid record, 0 when there is none
};
struct CopyOperation { hipMemcpy3DParms parms{}; };
struct FillOperation {
  hipMemsetParams parms{};
  size_t depth = 1;
  size_t slice = 0;  // bytes between slices
};
struct HostOperation {
  hipHostFn_t function = nullptr;
  void* user = nullptr;
  hipStreamCallback_t callback = nullptr;  // hipStreamAddCallback's form
  hipStream_t stream = nullptr;
};
struct RecordOperation { hipEvent_t event = nullptr; uint64_t ticket = 0; };
struct WaitOperation { hipEvent_t event = nullptr; uint64_t ticket = 0; };
struct MemoryValueOperation { std::vector<hipStreamBatchMemOpParams> parms; hipCtx_t context = nullptr; unsigned flags = 0; size_t done = 0; };
struct AllocOperation { hipMemAllocNodeParams parms{}; std::vector<hipMemAccessDesc> access; };
struct FreeOperation { void* pointer = nullptr; };
struct PoolFreeOperation { void* pointer = nullptr; };
struct EmptyOperation {};
struct ChildOperation { hipGraph_t graph = nullptr; };  // owned by the node

using Operation = std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, RecordOperation, WaitOperation,
                               MemoryValueOperation, AllocOperation, FreeOperation, PoolFreeOperation, EmptyOperation,
                               ChildOperation>;

hipError_t check_copy(const hipMemcpy3DParms& parms);
hipError_t run_copy(const hipMemcpy3DParms& parms);
hipError_t check_fill(const FillOperation& fill);
hipError_t run_fill(const FillOperation& fill);
hipError_t run_kernel(const KernelOperation& kernel);  // releases the monitor while the kernel runs
hipError_t parms_of(const HIP_MEMCPY3D& driver, hipMemcpy3DParms* out);
hipError_t symbol_parms(const void* symbol, void* memory, size_t bytes, size_t offset, bool into_symbol,
                        hipMemcpyKind kind, hipMemcpy3DParms* out);
hipMemcpy3DParms linear_copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind);

// ---------------------------------------------------------------------------------------------------- streams
struct Pending {
  Operation operation;
  uint64_t sequence = 0;
};

// One stream capture: from hipStreamBeginCapture to hipStreamEndCapture.
struct Capture {
  hipGraph_t graph = nullptr;
  bool owns_graph = true;
  hipStream_t origin = nullptr;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
  std::thread::id thread;
  unsigned long long id = 0;
  std::set<hipStream_t> members;
};
}  // namespace hiprt

struct ihipStream_t {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  bool is_null = false;
  bool running = false;  // an operation of it executes with the monitor released
  std::vector<uint32_t> cu_mask;
  std::deque<hiprt::Pending> pending;
  std::shared_ptr<hiprt::Capture> capture;
  std::vector<hipGraphNode_t> capture_frontier;
#if HIP_VERSION_MAJOR >= 7
  hipLaunchAttributeValue attributes[16]{};
#endif
};

struct ihipEvent_t {
  unsigned flags = 0;
  int device = 0;
  uint64_t issued = 0;     // tickets of records that were enqueued
  uint64_t completed = 0;  // and of those that were executed
  double milliseconds = 0; // when the last one was
  std::shared_ptr<hiprt::Capture> capture;
  std::vector<hipGraphNode_t> capture_frontier;
};

namespace hiprt {
std::set<hipStream_t>& live_streams();
std::set<hipEvent_t>& live_events();
hipError_t resolve_stream(hipStream_t& stream, bool per_thread = false);  // handles 0, 1, 2; checks validity
hipStream_t per_thread_stream();
hipError_t submit(hipStream_t stream, Operation operation);               // captures, or enqueues
hipError_t enqueue(hipStream_t stream, Operation operation);              // executes now or as soon as it can
hipError_t submit_and_wait(hipStream_t stream, Operation operation);
hipError_t wait_for(hipStream_t stream);
hipError_t wait_for_device(int ordinal);
hipError_t forbid_while_capturing(hipError_t error);                      // invalidates captures; for synchronising calls
hipError_t forbid_unsafe_while_capturing();                               // hipMalloc and its like
void pump();                                                              // executes whatever can be executed
hipError_t record_event(hipEvent_t event, hipStream_t stream);
hipError_t wait_event(hipStream_t stream, hipEvent_t event);
hipError_t join_capture(hipStream_t stream, hipEvent_t event);
hipError_t graph_memory_in_use(void* pointer, bool in_use);               // allocation nodes of graphs
double now_milliseconds();

// ---------------------------------------------------------------------------------------------------- graphs
}  // namespace hiprt

struct hipUserObject {
  void* pointer = nullptr;
  hipHostFn_t destroy = nullptr;
  unsigned references = 0;
};

struct hipGraphNode {
  ihipGraph* graph = nullptr;
  hiprt::Operation operation;
  std::vector<hipGraphNode_t> dependencies;
  hipGraphNode_t original = nullptr;  // of a clone
  bool enabled = true;
};

struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;  // in order of creation
  std::map<hipUserObject_t, unsigned> user_objects;  // references held
  std::vector<void*> memory;                         // of its allocation nodes
  ihipGraph* cloned_from = nullptr;
  bool owned = false;                                // by a child node or an executable graph
  ~ihipGraph();
};

struct hipGraphExec {
  std::unique_ptr<ihipGraph> graph;
  unsigned long long flags = 0;
};

namespace hiprt {
hipGraphNode_t graph_add(hipGraph_t graph, const std::vector<hipGraphNode_t>& dependencies, Operation operation);
bool depends_on(hipGraphNode_t node, hipGraphNode_t earlier);
hipGraph_t new_graph();
void delete_graph(hipGraph_t graph);

// ---------------------------------------------------------------------------------------------------- launches
struct LaunchShape {
  dim3 items, block;
  size_t dynamic_lds = 0;
  bool cooperative = false;
};
hipError_t prepare_launch(ihipModuleSymbol_t* function, const LaunchShape& shape, void** parameters, void** extra,
                          KernelOperation* out);
hipError_t grid_in_items(dim3 grid, dim3 block, dim3* items);
int blocks_per_cu(const ihipModuleSymbol_t& function, int block_size, size_t dynamic_lds);

// ---------------------------------------------------------------------------------------------------- arrays
size_t element_bytes(const hipChannelFormatDesc& desc);
bool live_array(hipArray_const_t array);
struct ArrayView { char* base; size_t pitch, slice, element; size_t width, height, depth; hipChannelFormatDesc desc; unsigned flags; };
ArrayView view_of(hipArray_const_t array);
bool describe(const hipChannelFormatDesc& desc, hipArray_Format* format, unsigned* channels);  // 1, 2 or 4 channels of one width
bool describe(hipArray_Format format, unsigned channels, hipChannelFormatDesc* desc);
hipError_t need_images(const char* what);          // hipErrorNotSupported on targets without image instructions
void forget_array(const void* memory);             // its memory is gone
void forget_image_object(const void* memory);
}  // namespace hiprt
