// Graphs: nodes hold the operations that streams execute. An executable graph is a deep copy; launching it enqueues its
// operations in topological order.
#include <algorithm>

#include "runtime.h"

namespace hiprt {
namespace {

std::set<hipGraph_t>& live_graphs() {
  static auto& all = *new std::set<hipGraph_t>;
  return all;
}
std::set<hipGraphExec_t>& live_execs() {
  static auto& all = *new std::set<hipGraphExec_t>;
  return all;
}
std::set<hipUserObject_t>& live_objects() {
  static auto& all = *new std::set<hipUserObject_t>;
  return all;
}
std::map<void*, bool>& graph_memory() {  // address -> allocated by an executed allocation node
  static auto& all = *new std::map<void*, bool>;
  return all;
}

bool live(hipGraph_t graph) { return graph != nullptr && live_graphs().count(graph) != 0; }
bool live(hipGraphExec_t exec) { return exec != nullptr && live_execs().count(exec) != 0; }
bool live(hipGraphNode_t node) {
  if (node == nullptr) return false;
  for (hipGraph_t graph : live_graphs()) {
    for (const auto& own : graph->nodes) {
      if (own.get() == node) return true;
    }
  }
  return false;
}

void release_object(hipUserObject_t object, unsigned count) {
  object->references -= std::min(object->references, count);
  if (object->references != 0) return;
  live_objects().erase(object);
  {
    Unlocked unlocked;
    object->destroy(object->pointer);
  }
  delete object;
}

// A copy of an operation that owns what it points at.
Operation deep_copy(const Operation& operation);

std::unique_ptr<ihipGraph> clone_graph(const ihipGraph& from) {
  auto to = std::make_unique<ihipGraph>();
  to->cloned_from = const_cast<ihipGraph*>(&from);
  std::map<hipGraphNode_t, hipGraphNode_t> copies;
  for (const auto& node : from.nodes) {
    auto copy = std::make_unique<hipGraphNode>();
    copy->graph = to.get();
    copy->operation = deep_copy(node->operation);
    copy->original = node.get();
    copy->enabled = node->enabled;
    copies[node.get()] = copy.get();
    to->nodes.push_back(std::move(copy));
  }
  for (const auto& node : from.nodes) {
    for (hipGraphNode_t earlier : node->dependencies) copies[node.get()]->dependencies.push_back(copies[earlier]);
  }
  for (const auto& [object, count] : from.user_objects) {
    object->references += count;
    to->user_objects[object] = count;
  }
  live_graphs().insert(to.get());
  return to;
}

Operation deep_copy(const Operation& operation) {
  if (const auto* child = std::get_if<ChildOperation>(&operation)) {
    ChildOperation copy{clone_graph(*child->graph).release()};
    copy.graph->owned = true;
    return copy;
  }
  return operation;
}

// Topological order, by creation where there is a choice; nothing when there is a cycle.
std::optional<std::vector<hipGraphNode_t>> ordered(const ihipGraph& graph) {
  std::vector<hipGraphNode_t> order;
  std::set<hipGraphNode_t> done;
  while (order.size() < graph.nodes.size()) {
    const size_t before = order.size();
    for (const auto& node : graph.nodes) {
      if (done.count(node.get()) != 0) continue;
      bool ready = true;
      for (hipGraphNode_t earlier : node->dependencies) ready = ready && done.count(earlier) != 0;
      if (!ready) continue;
      done.insert(node.get());
      order.push_back(node.get());
    }
    if (order.size() == before) return std::nullopt;
  }
  return order;
}

hipError_t enqueue_graph(const ihipGraph& graph, hipStream_t stream) {
  const auto order = ordered(graph);
  if (!order) return hipErrorInvalidValue;
  for (hipGraphNode_t node : *order) {
    if (!node->enabled) continue;
    if (const auto* child = std::get_if<ChildOperation>(&node->operation)) {
      HIPRT_TRY(enqueue_graph(*child->graph, stream));
      continue;
    }
    if (auto* record = std::get_if<RecordOperation>(&node->operation)) {
      if (live_events().count(record->event) == 0) return hipErrorInvalidHandle;
      HIPRT_TRY(enqueue(stream, RecordOperation{record->event, ++record->event->issued}));
    } else if (auto* wait = std::get_if<WaitOperation>(&node->operation)) {
      if (live_events().count(wait->event) == 0) return hipErrorInvalidHandle;
      HIPRT_TRY(enqueue(stream, WaitOperation{wait->event, wait->event->issued}));
    } else {
      HIPRT_TRY(enqueue(stream, node->operation));
    }
  }
  return hipSuccess;
}

// The clone of a node inside an executable graph; the node itself when it is already one.
hipGraphNode_t inside(hipGraphExec_t exec, hipGraphNode_t node) {
  for (const auto& own : exec->graph->nodes) {
    if (own.get() == node || own->original == node) return own.get();
  }
  return nullptr;
}

hipGraphNodeType type_of(const Operation& operation) {
  constexpr hipGraphNodeType types[] = {
      hipGraphNodeTypeKernel,   hipGraphNodeTypeMemcpy,     hipGraphNodeTypeMemset,   hipGraphNodeTypeHost,
      hipGraphNodeTypeEventRecord, hipGraphNodeTypeWaitEvent, hipGraphNodeTypeBatchMemOp, hipGraphNodeTypeMemAlloc,
      hipGraphNodeTypeMemFree,  hipGraphNodeTypeMemFree,    hipGraphNodeTypeEmpty,    hipGraphNodeTypeGraph,
  };
  static_assert(std::variant_size_v<Operation> == sizeof types / sizeof *types);
  return types[operation.index()];
}

hipError_t instantiate(hipGraphExec_t* out, hipGraph_t graph, unsigned long long flags, hipGraphNode_t* error_node) {
  if (out == nullptr || !live(graph)) return hipErrorInvalidValue;
  constexpr unsigned long long known = hipGraphInstantiateFlagAutoFreeOnLaunch | hipGraphInstantiateFlagUpload |
                                       hipGraphInstantiateFlagDeviceLaunch | hipGraphInstantiateFlagUseNodePriority;
  if (flags & ~known) return hipErrorInvalidValue;
  if (flags & hipGraphInstantiateFlagDeviceLaunch) return hipErrorNotSupported;  // graphs launched by kernels
  if (error_node != nullptr) *error_node = nullptr;
  if (!ordered(*graph)) {
    if (error_node != nullptr && !graph->nodes.empty()) *error_node = graph->nodes.front().get();
    return hipErrorInvalidValue;
  }
  auto* exec = new hipGraphExec;
  exec->graph = clone_graph(*graph);
  exec->graph->owned = true;
  exec->flags = flags;
  live_execs().insert(exec);
  *out = exec;
  return hipSuccess;
}

hipError_t launch(hipGraphExec_t exec, hipStream_t stream, bool per_thread) {
  if (!live(exec)) return hipErrorInvalidValue;
  HIPRT_TRY(resolve_stream(stream, per_thread));
  if (stream->capture != nullptr) {
    ChildOperation child{clone_graph(*exec->graph).release()};
    child.graph->owned = true;
    return submit(stream, child);
  }
  for (const auto& node : exec->graph->nodes) {
    const auto* alloc = std::get_if<AllocOperation>(&node->operation);
    if (alloc == nullptr || !graph_memory()[alloc->parms.dptr]) continue;
    if ((exec->flags & hipGraphInstantiateFlagAutoFreeOnLaunch) == 0) return hipErrorInvalidValue;  // still allocated
    graph_memory()[alloc->parms.dptr] = false;
  }
  return enqueue_graph(*exec->graph, stream);
}

hipError_t add_node(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count, Operation operation) {
  if (out == nullptr || !live(graph) || (count != 0 && dependencies == nullptr)) return hipErrorInvalidValue;
  std::vector<hipGraphNode_t> earlier;
  for (size_t i = 0; i < count; ++i) {
    if (!live(dependencies[i]) || dependencies[i]->graph != graph) return hipErrorInvalidValue;
    if (std::find(earlier.begin(), earlier.end(), dependencies[i]) != earlier.end()) return hipErrorInvalidValue;
    earlier.push_back(dependencies[i]);
  }
  *out = graph_add(graph, earlier, std::move(operation));
  return hipSuccess;
}

template <class Kind>
Kind* parms_in(hipGraphNode_t node) {
  return live(node) ? std::get_if<Kind>(&node->operation) : nullptr;
}
template <class Kind>
Kind* parms_in(hipGraphExec_t exec, hipGraphNode_t node) {
  if (!live(exec)) return nullptr;
  hipGraphNode_t own = inside(exec, node);
  return own == nullptr ? nullptr : std::get_if<Kind>(&own->operation);
}

hipError_t kernel_of(const hipKernelNodeParams& p, KernelOperation* out) {
  if (p.func == nullptr) return hipErrorInvalidDeviceFunction;
  ihipModuleSymbol_t* function = static_cast<ihipModuleSymbol_t*>(p.func);
  if (!is_live_function(function)) HIPRT_TRY(function_of(p.func, current_device(), &function));
  LaunchShape shape;
  HIPRT_TRY(grid_in_items(p.gridDim, p.blockDim, &shape.items));
  shape.block = p.blockDim;
  shape.dynamic_lds = p.sharedMemBytes;
  HIPRT_TRY(prepare_launch(function, shape, p.kernelParams, p.extra, out));
  out->host_function = p.func;
  return hipSuccess;
}

// Pointers to the arguments inside the node, for hipGraphKernelNodeGetParams; they live as long as the node.
void** argument_pointers(KernelOperation& kernel) {
  static auto& tables = *new std::map<const void*, std::vector<void*>>;
  std::vector<void*>& table = tables[&kernel];
  table.clear();
  for (uint32_t i = 0; i < kernel.function->info.n_arguments; ++i) {
    const hipemu_argument& argument = kernel.function->info.arguments[i];
    if (std::strncmp(argument.kind, "hidden_", 7) != 0) table.push_back(kernel.arguments.data() + argument.offset);
  }
  return table.data();
}

hipError_t check_host(const hipHostNodeParams* p) { return p == nullptr || p->fn == nullptr ? hipErrorInvalidValue : hipSuccess; }

HostOperation host_of(const hipHostNodeParams& p) {
  HostOperation host;
  host.function = p.fn;
  host.user = p.userData;
  return host;
}

FillOperation fill_of(const hipMemsetParams& p) {
  FillOperation fill;
  fill.parms = p;
  return fill;
}

#if HIP_VERSION_MAJOR >= 7
const hipMemsetParams& driver_fill(const hipMemsetParams& p) { return p; }
using DriverFill = hipMemsetParams;
#else
hipMemsetParams driver_fill(const HIP_MEMSET_NODE_PARAMS& p) {
  hipMemsetParams out{};
  out.dst = p.dst;
  out.pitch = p.pitch;
  out.value = p.value;
  out.elementSize = p.elementSize;
  out.width = p.width;
  out.height = p.height;
  return out;
}
using DriverFill = HIP_MEMSET_NODE_PARAMS;
#endif

HIP_MEMCPY3D driver_copy(const hipMemcpy3DParms& p) {
  HIP_MEMCPY3D out{};
  size_t element = 1;
  const auto side = [&](hipArray_t array, const hipPos& pos, const hipPitchedPtr& pointer, hipMemoryType* type, hipDeviceptr_t* device,
                        hipArray_t* to_array, size_t* pitch, size_t* rows, size_t* x, size_t* y, size_t* z) {
    if (array != nullptr) {
      element = view_of(array).element;
      *type = hipMemoryTypeArray;
      *to_array = array;
      *x = pos.x * element;
    } else {
      *type = is_device_side(pointer.ptr) ? hipMemoryTypeDevice : hipMemoryTypeUnified;
      *device = pointer.ptr;
      *pitch = pointer.pitch;
      *rows = pointer.ysize;
      *x = pos.x;
    }
    *y = pos.y;
    *z = pos.z;
  };
  side(p.srcArray, p.srcPos, p.srcPtr, &out.srcMemoryType, &out.srcDevice, &out.srcArray, &out.srcPitch, &out.srcHeight, &out.srcXInBytes,
       &out.srcY, &out.srcZ);
  side(p.dstArray, p.dstPos, p.dstPtr, &out.dstMemoryType, &out.dstDevice, &out.dstArray, &out.dstPitch, &out.dstHeight, &out.dstXInBytes,
       &out.dstY, &out.dstZ);
  out.WidthInBytes = p.extent.width * element;
  out.Height = p.extent.height;
  out.Depth = p.extent.depth;
  return out;
}

hipError_t set_copy(CopyOperation* copy, const hipMemcpy3DParms& parms) {
  if (copy == nullptr) return hipErrorInvalidValue;
  HIPRT_TRY(check_copy(parms));
  copy->parms = parms;
  return hipSuccess;
}

hipError_t make_alloc(hipGraph_t graph, hipMemAllocNodeParams* p, AllocOperation* out) {
  if (p == nullptr || p->bytesize == 0 || p->poolProps.allocType != hipMemAllocationTypePinned) return hipErrorInvalidValue;
  if (p->poolProps.location.type != hipMemLocationTypeDevice || !valid_device(p->poolProps.location.id)) return hipErrorInvalidValue;
  HIPRT_TRY(allocate(&p->dptr, p->bytesize, MemoryKind::device, 0));
  graph->memory.push_back(p->dptr);
  out->parms = *p;
  out->access.assign(p->accessDescs, p->accessDescs + p->accessDescCount);
  return hipSuccess;
}

// The operation that generic node parameters describe.
hipError_t operation_of(hipGraph_t graph, hipGraphNodeParams* p, Operation* out) {
  switch (p->type) {
    case hipGraphNodeTypeKernel: {
      KernelOperation kernel;
      HIPRT_TRY(kernel_of(p->kernel, &kernel));
      *out = std::move(kernel);
      return hipSuccess;
    }
    case hipGraphNodeTypeMemcpy:
      HIPRT_TRY(check_copy(p->memcpy.copyParams));
      *out = CopyOperation{p->memcpy.copyParams};
      return hipSuccess;
    case hipGraphNodeTypeMemset:
      HIPRT_TRY(check_fill(fill_of(p->memset)));
      *out = fill_of(p->memset);
      return hipSuccess;
    case hipGraphNodeTypeHost:
      HIPRT_TRY(check_host(&p->host));
      *out = host_of(p->host);
      return hipSuccess;
    case hipGraphNodeTypeGraph: {
      if (!live(p->graph.graph) || p->graph.graph == graph) return hipErrorInvalidValue;
      ChildOperation child{clone_graph(*p->graph.graph).release()};
      child.graph->owned = true;
      *out = child;
      return hipSuccess;
    }
    case hipGraphNodeTypeEmpty:
      *out = EmptyOperation{};
      return hipSuccess;
    case hipGraphNodeTypeWaitEvent:
      if (live_events().count(p->eventWait.event) == 0) return hipErrorInvalidValue;
      *out = WaitOperation{p->eventWait.event, 0};
      return hipSuccess;
    case hipGraphNodeTypeEventRecord:
      if (live_events().count(p->eventRecord.event) == 0) return hipErrorInvalidValue;
      *out = RecordOperation{p->eventRecord.event, 0};
      return hipSuccess;
    case hipGraphNodeTypeMemAlloc: {
      if (graph == nullptr) return hipErrorInvalidValue;
      AllocOperation alloc;
      HIPRT_TRY(make_alloc(graph, &p->alloc, &alloc));
      *out = std::move(alloc);
      return hipSuccess;
    }
    case hipGraphNodeTypeMemFree:
      if (graph_memory().count(p->free.dptr) == 0) return hipErrorInvalidValue;
      *out = FreeOperation{p->free.dptr};
      return hipSuccess;
    default:
      return hipErrorNotSupported;
  }
}

// Why two operations may not replace each other in an executable graph; success when they may.
hipGraphExecUpdateResult compatible(const Operation& old_one, const Operation& new_one) {
  if (old_one.index() != new_one.index()) return hipGraphExecUpdateErrorNodeTypeChanged;
  if (std::holds_alternative<AllocOperation>(old_one) || std::holds_alternative<FreeOperation>(old_one)) {
    const auto pointer = [](const Operation& o) {
      const auto* alloc = std::get_if<AllocOperation>(&o);
      return alloc != nullptr ? alloc->parms.dptr : std::get<FreeOperation>(o).pointer;
    };
    return pointer(old_one) == pointer(new_one) ? hipGraphExecUpdateSuccess : hipGraphExecUpdateErrorNotSupported;
  }
  if (const auto* kernel = std::get_if<KernelOperation>(&old_one)) {
    const auto& other = std::get<KernelOperation>(new_one);
    if (kernel->function->image->device != other.function->image->device) return hipGraphExecUpdateErrorUnsupportedFunctionChange;
  }
  return hipGraphExecUpdateSuccess;
}

hipGraphExecUpdateResult update(ihipGraph& to, const ihipGraph& from, hipGraphNode_t* error_node) {
  if (to.nodes.size() != from.nodes.size()) return hipGraphExecUpdateErrorTopologyChanged;
  std::map<hipGraphNode_t, size_t> index_from, index_to;
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    index_to[to.nodes[i].get()] = i;
    index_from[from.nodes[i].get()] = i;
  }
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    std::set<size_t> before, after;
    for (hipGraphNode_t node : to.nodes[i]->dependencies) before.insert(index_to[node]);
    for (hipGraphNode_t node : from.nodes[i]->dependencies) after.insert(index_from[node]);
    *error_node = from.nodes[i].get();
    if (before != after) return hipGraphExecUpdateErrorTopologyChanged;
    const hipGraphExecUpdateResult result = compatible(to.nodes[i]->operation, from.nodes[i]->operation);
    if (result != hipGraphExecUpdateSuccess) return result;
    if (const auto* child = std::get_if<ChildOperation>(&to.nodes[i]->operation)) {
      const auto inner = update(*child->graph, *std::get<ChildOperation>(from.nodes[i]->operation).graph, error_node);
      if (inner != hipGraphExecUpdateSuccess) return inner;
    }
  }
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    if (!std::holds_alternative<ChildOperation>(to.nodes[i]->operation)) to.nodes[i]->operation = deep_copy(from.nodes[i]->operation);
    to.nodes[i]->original = from.nodes[i].get();
  }
  *error_node = nullptr;
  return hipGraphExecUpdateSuccess;
}

template <class List>
hipError_t list_nodes(const List& list, hipGraphNode_t* out, size_t* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i) out[i] = i < list.size() ? list[i] : nullptr;
    *count = std::min(*count, list.size());
  } else {
    *count = list.size();
  }
  return hipSuccess;
}

const char* label_of(hipGraphNodeType type) {
  constexpr const char* labels[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY", "WAIT EVENT", "EVENT RECORD", "", "",
                                    "MEM ALLOC", "MEM FREE", "MEMCPY", "MEMCPY", "BATCH MEM OP"};
  return type < static_cast<int>(std::size(labels)) ? labels[type] : "";
}

}  // namespace

bool depends_on(hipGraphNode_t node, hipGraphNode_t earlier) {
  std::vector<hipGraphNode_t> open = {node};
  std::set<hipGraphNode_t> seen;
  while (!open.empty()) {
    hipGraphNode_t next = open.back();
    open.pop_back();
    for (hipGraphNode_t before : next->dependencies) {
      if (before == earlier) return true;
      if (seen.insert(before).second) open.push_back(before);
    }
  }
  return false;
}

hipGraphNode_t graph_add(hipGraph_t graph, const std::vector<hipGraphNode_t>& dependencies, Operation operation) {
  auto node = std::make_unique<hipGraphNode>();
  node->graph = graph;
  node->operation = std::move(operation);
  node->dependencies = dependencies;
  if (const auto* alloc = std::get_if<AllocOperation>(&node->operation)) {
    graph_memory().emplace(alloc->parms.dptr, false);
    if (std::find(graph->memory.begin(), graph->memory.end(), alloc->parms.dptr) == graph->memory.end()) {
      graph->memory.push_back(alloc->parms.dptr);
    }
  }
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

hipGraph_t new_graph() {
  auto* graph = new ihipGraph;
  live_graphs().insert(graph);
  return graph;
}

void delete_graph(hipGraph_t graph) {
  live_graphs().erase(graph);
  delete graph;
}

hipError_t graph_memory_in_use(void* pointer, bool in_use) {
  const auto found = graph_memory().find(pointer);
  if (found == graph_memory().end()) return hipErrorInvalidValue;
  found->second = in_use;
  return hipSuccess;
}

}  // namespace hiprt

using namespace hiprt;

ihipGraph::~ihipGraph() {
  live_graphs().erase(this);
  for (const auto& node : nodes) {
    if (const auto* child = std::get_if<ChildOperation>(&node->operation)) delete child->graph;
  }
  for (const auto& [object, count] : user_objects) release_object(object, count);
  // Memory of allocation nodes stays: the program may have copied the pointer elsewhere, and clones share it.
}

extern "C" {

hipError_t hipGraphCreate(hipGraph_t* out, unsigned flags) {
  return api([&] {
    if (out == nullptr || flags != 0) return hipErrorInvalidValue;
    *out = new_graph();
    return hipSuccess;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return api([&] {
    if (!live(graph) || graph->owned) return hipErrorInvalidValue;
    delete_graph(graph);
    return hipSuccess;
  });
}

hipError_t hipGraphClone(hipGraph_t* out, hipGraph_t graph) {
  return api([&] {
    if (out == nullptr || !live(graph)) return hipErrorInvalidValue;
    *out = clone_graph(*graph).release();
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph, hipGraphNode_t* error_node, char* log, size_t log_bytes) {
  return api([&] {
    if (log != nullptr && log_bytes != 0) *log = 0;
    return instantiate(out, graph, 0, error_node);
  });
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out, hipGraph_t graph, unsigned long long flags) {
  return api([&] { return instantiate(out, graph, flags, nullptr); });
}
hipError_t hipGraphInstantiateWithParams(hipGraphExec_t* out, hipGraph_t graph, hipGraphInstantiateParams* p) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    const hipError_t error = instantiate(out, graph, p->flags, &p->errNode_out);
    p->result_out = error == hipSuccess        ? hipGraphInstantiateSuccess
                    : p->errNode_out != nullptr ? hipGraphInstantiateInvalidStructure
                                                : hipGraphInstantiateError;
    return error;
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return api([&] {
    if (!live(exec)) return hipErrorInvalidValue;
    live_execs().erase(exec);
    delete exec;
    return hipSuccess;
  });
}

hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long* flags) {
  return api([&] {
    if (!live(exec) || flags == nullptr) return hipErrorInvalidValue;
    *flags = exec->flags;
    return hipSuccess;
  });
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) { return device_api([&] { return launch(exec, stream, false); }); }
hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t stream) { return device_api([&] { return launch(exec, stream, true); }); }

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return api([&] {
    if (!live(exec)) return hipErrorInvalidValue;
    return resolve_stream(stream);
  });
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* error_node, hipGraphExecUpdateResult* result) {
  return api([&] {
    if (!live(exec) || !live(graph) || error_node == nullptr || result == nullptr) return hipErrorInvalidValue;
    *error_node = nullptr;
    *result = update(*exec->graph, *graph, error_node);
    return *result == hipGraphExecUpdateSuccess ? hipSuccess : hipErrorGraphExecUpdateFailure;
  });
}

// ------------------------------------------------------------------------------------------------------- structure

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return api([&] {
    if (!live(graph)) return hipErrorInvalidValue;
    std::vector<hipGraphNode_t> list;
    for (const auto& node : graph->nodes) list.push_back(node.get());
    return list_nodes(list, nodes, count);
  });
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return api([&] {
    if (!live(graph)) return hipErrorInvalidValue;
    std::vector<hipGraphNode_t> list;
    for (const auto& node : graph->nodes) {
      if (node->dependencies.empty()) list.push_back(node.get());
    }
    return list_nodes(list, nodes, count);
  });
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return api([&] {
    if (!live(graph) || count == nullptr || (from == nullptr) != (to == nullptr)) return hipErrorInvalidValue;
    std::vector<hipGraphNode_t> starts, ends;
    for (const auto& node : graph->nodes) {
      for (hipGraphNode_t earlier : node->dependencies) {
        starts.push_back(earlier);
        ends.push_back(node.get());
      }
    }
    size_t room = *count;
    HIPRT_TRY(list_nodes(starts, from, count));
    return from == nullptr ? hipSuccess : list_nodes(ends, to, &room);
  });
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return api([&] { return live(node) ? list_nodes(node->dependencies, nodes, count) : hipErrorInvalidValue; });
}

hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return api([&] {
    if (!live(node)) return hipErrorInvalidValue;
    std::vector<hipGraphNode_t> list;
    for (const auto& other : node->graph->nodes) {
      const auto& d = other->dependencies;
      if (std::find(d.begin(), d.end(), node) != d.end()) list.push_back(other.get());
    }
    return list_nodes(list, nodes, count);
  });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return api([&] {
    if (!live(graph)) return hipErrorInvalidValue;
    if (count == 0) return hipSuccess;
    if (from == nullptr || to == nullptr) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!live(from[i]) || !live(to[i]) || from[i] == to[i] || from[i]->graph != graph || to[i]->graph != graph) return hipErrorInvalidValue;
      auto& d = to[i]->dependencies;
      if (std::find(d.begin(), d.end(), from[i]) != d.end() || depends_on(from[i], to[i])) return hipErrorInvalidValue;
      d.push_back(from[i]);
    }
    return hipSuccess;
  });
}

hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return api([&] {
    if (!live(graph)) return hipErrorInvalidValue;
    if (count == 0) return hipSuccess;
    if (from == nullptr || to == nullptr) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!live(from[i]) || !live(to[i])) return hipErrorInvalidValue;
      auto& d = to[i]->dependencies;
      const auto found = std::find(d.begin(), d.end(), from[i]);
      if (found == d.end()) return hipErrorInvalidValue;
      d.erase(found);
    }
    return hipSuccess;
  });
}

hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return api([&] {
    if (!live(node)) return hipErrorInvalidValue;
    auto& nodes = node->graph->nodes;
    for (const auto& other : nodes) {
      auto& d = other->dependencies;
      d.erase(std::remove(d.begin(), d.end(), node), d.end());
    }
    if (const auto* child = std::get_if<ChildOperation>(&node->operation)) delete_graph(child->graph);
    nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; }));
    return hipSuccess;
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return api([&] {
    if (!live(node) || type == nullptr) return hipErrorInvalidValue;
    *type = type_of(node->operation);
    return hipSuccess;
  });
}

hipError_t hipGraphNodeFindInClone(hipGraphNode_t* out, hipGraphNode_t node, hipGraph_t clone) {
  return api([&] {
    if (out == nullptr || !live(node) || !live(clone)) return hipErrorInvalidValue;
    for (const auto& own : clone->nodes) {
      if (own->original == node) {
        *out = own.get();
        return hipSuccess;
      }
    }
    return hipErrorInvalidValue;
  });
}

hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned enabled) {
  return api([&] {
    hipGraphNode_t own = live(exec) ? inside(exec, node) : nullptr;
    if (own == nullptr) return hipErrorInvalidValue;
    const hipGraphNodeType type = type_of(own->operation);
    if (type != hipGraphNodeTypeKernel && type != hipGraphNodeTypeMemcpy && type != hipGraphNodeTypeMemset) return hipErrorInvalidValue;
    own->enabled = enabled != 0;
    return hipSuccess;
  });
}

hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned* enabled) {
  return api([&] {
    hipGraphNode_t own = live(exec) ? inside(exec, node) : nullptr;
    if (own == nullptr || enabled == nullptr) return hipErrorInvalidValue;
    *enabled = own->enabled;
    return hipSuccess;
  });
}

hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned) {
  return api([&] {
    if (!live(graph) || path == nullptr) return hipErrorInvalidValue;
    FILE* file = std::fopen(path, "w");
    if (file == nullptr) return hipErrorOperatingSystem;
    std::map<hipGraphNode_t, size_t> number;
    std::fprintf(file, "digraph dot {\n");
    for (const auto& node : graph->nodes) {
      const size_t n = number.size();
      number[node.get()] = n;
      const auto* kernel = std::get_if<KernelOperation>(&node->operation);
      std::fprintf(file, "  node_%zu [shape=\"rectangle\" label=\"%zu\\n%s%s%s\"];\n", n, n, label_of(type_of(node->operation)),
                   kernel != nullptr ? "\\n" : "", kernel != nullptr ? kernel->function->name.c_str() : "");
    }
    for (const auto& node : graph->nodes) {
      for (hipGraphNode_t earlier : node->dependencies) std::fprintf(file, "  node_%zu -> node_%zu;\n", number[earlier], number[node.get()]);
    }
    std::fprintf(file, "}\n");
    return std::fclose(file) == 0 ? hipSuccess : hipErrorOperatingSystem;
  });
}

// ------------------------------------------------------------------------------------------------------- kernel nodes

hipError_t hipGraphAddKernelNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const hipKernelNodeParams* p) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    KernelOperation kernel;
    HIPRT_TRY(kernel_of(*p, &kernel));
    return add_node(out, graph, before, n, std::move(kernel));
  });
}

hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* p) {
  return api([&] {
    auto* kernel = parms_in<KernelOperation>(node);
    if (kernel == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = {};
    p->func = kernel->host_function != nullptr ? kernel->host_function : static_cast<void*>(kernel->function);
    p->blockDim = kernel->block;
    p->gridDim = dim3((kernel->items.x + kernel->block.x - 1) / kernel->block.x, (kernel->items.y + kernel->block.y - 1) / kernel->block.y,
                      (kernel->items.z + kernel->block.z - 1) / kernel->block.z);
    p->sharedMemBytes = kernel->dynamic_lds;
    p->kernelParams = argument_pointers(*kernel);
    return hipSuccess;
  });
}

hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* p) {
  return api([&] {
    auto* kernel = parms_in<KernelOperation>(node);
    if (kernel == nullptr || p == nullptr) return hipErrorInvalidValue;
    KernelOperation changed;
    HIPRT_TRY(kernel_of(*p, &changed));
    *kernel = std::move(changed);
    return hipSuccess;
  });
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams* p) {
  return api([&] {
    auto* kernel = parms_in<KernelOperation>(exec, node);
    if (kernel == nullptr || p == nullptr) return hipErrorInvalidValue;
    KernelOperation changed;
    HIPRT_TRY(kernel_of(*p, &changed));
    *kernel = std::move(changed);
    return hipSuccess;
  });
}

hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, hipLaunchAttributeID attribute, const hipLaunchAttributeValue* value) {
  return api([&] {
    auto* kernel = parms_in<KernelOperation>(node);
    if (kernel == nullptr || value == nullptr) return hipErrorInvalidValue;
    switch (attribute) {
      case hipLaunchAttributeAccessPolicyWindow:
        kernel->window = value->accessPolicyWindow;
        return hipSuccess;
      case hipLaunchAttributeCooperative:
        kernel->cooperative = value->cooperative != 0;
        return hipSuccess;
      case hipLaunchAttributePriority:
        kernel->priority = value->priority;
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}

hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, hipLaunchAttributeID attribute, hipLaunchAttributeValue* value) {
  return api([&] {
    auto* kernel = parms_in<KernelOperation>(node);
    if (kernel == nullptr || value == nullptr) return hipErrorInvalidValue;
    switch (attribute) {
      case hipLaunchAttributeAccessPolicyWindow:
        value->accessPolicyWindow = kernel->window;
        return hipSuccess;
      case hipLaunchAttributeCooperative:
        value->cooperative = kernel->cooperative;
        return hipSuccess;
      case hipLaunchAttributePriority:
        value->priority = kernel->priority;
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}

hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to) {
  return api([&] {
    const auto* source = parms_in<KernelOperation>(from);
    auto* target = parms_in<KernelOperation>(to);
    if (source == nullptr || target == nullptr) return hipErrorInvalidValue;
    target->window = source->window;
    target->cooperative = source->cooperative;
    target->priority = source->priority;
    return hipSuccess;
  });
}

// ------------------------------------------------------------------------------------------------------- copy nodes

hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const hipMemcpy3DParms* p) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(check_copy(*p));
    return add_node(out, graph, before, n, CopyOperation{*p});
  });
}
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, void* to, const void* from,
                                   size_t bytes, hipMemcpyKind kind) {
  return api([&] {
    const hipMemcpy3DParms p = linear_copy(to, from, bytes, kind);
    HIPRT_TRY(check_copy(p));
    return add_node(out, graph, before, n, CopyOperation{p});
  });
}
hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const void* symbol,
                                         const void* from, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, const_cast<void*>(from), bytes, offset, true, kind, &p));
    return add_node(out, graph, before, n, CopyOperation{p});
  });
}
hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, void* to,
                                           const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, to, bytes, offset, false, kind, &p));
    return add_node(out, graph, before, n, CopyOperation{p});
  });
}

hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* p) {
  return api([&] {
    const auto* copy = parms_in<CopyOperation>(node);
    if (copy == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = copy->parms;
    return hipSuccess;
  });
}
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* p) {
  return api([&] { return p == nullptr ? hipErrorInvalidValue : set_copy(parms_in<CopyOperation>(node), *p); });
}
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return api([&] { return set_copy(parms_in<CopyOperation>(node), linear_copy(to, from, bytes, kind)); });
}
hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void* symbol, const void* from, size_t bytes, size_t offset,
                                               hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, const_cast<void*>(from), bytes, offset, true, kind, &p));
    return set_copy(parms_in<CopyOperation>(node), p);
  });
}
hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void* to, const void* symbol, size_t bytes, size_t offset,
                                                 hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, to, bytes, offset, false, kind, &p));
    return set_copy(parms_in<CopyOperation>(node), p);
  });
}
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipMemcpy3DParms* p) {
  return api([&] { return p == nullptr ? hipErrorInvalidValue : set_copy(parms_in<CopyOperation>(exec, node), *p); });
}
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from, size_t bytes,
                                             hipMemcpyKind kind) {
  return api([&] { return set_copy(parms_in<CopyOperation>(exec, node), linear_copy(to, from, bytes, kind)); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t exec, hipGraphNode_t node, const void* symbol, const void* from,
                                                   size_t bytes, size_t offset, hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, const_cast<void*>(from), bytes, offset, true, kind, &p));
    return set_copy(parms_in<CopyOperation>(exec, node), p);
  });
}
hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* symbol, size_t bytes,
                                                     size_t offset, hipMemcpyKind kind) {
  return api([&] {
    hipMemcpy3DParms p;
    HIPRT_TRY(symbol_parms(symbol, to, bytes, offset, false, kind, &p));
    return set_copy(parms_in<CopyOperation>(exec, node), p);
  });
}

hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const HIP_MEMCPY3D* p, hipCtx_t) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    hipMemcpy3DParms parms;
    HIPRT_TRY(parms_of(*p, &parms));
    HIPRT_TRY(check_copy(parms));
    return add_node(out, graph, before, n, CopyOperation{parms});
  });
}
hipError_t hipDrvGraphMemcpyNodeGetParams(hipGraphNode_t node, HIP_MEMCPY3D* p) {
  return api([&] {
    const auto* copy = parms_in<CopyOperation>(node);
    if (copy == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = driver_copy(copy->parms);
    return hipSuccess;
  });
}
hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node, const HIP_MEMCPY3D* p) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    hipMemcpy3DParms parms;
    HIPRT_TRY(parms_of(*p, &parms));
    return set_copy(parms_in<CopyOperation>(node), parms);
  });
}
hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const HIP_MEMCPY3D* p, hipCtx_t) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    hipMemcpy3DParms parms;
    HIPRT_TRY(parms_of(*p, &parms));
    return set_copy(parms_in<CopyOperation>(exec, node), parms);
  });
}

// ------------------------------------------------------------------------------------------------------- fill nodes

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const hipMemsetParams* p) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(check_fill(fill_of(*p)));
    return add_node(out, graph, before, n, fill_of(*p));
  });
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* p) {
  return api([&] {
    const auto* fill = parms_in<FillOperation>(node);
    if (fill == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = fill->parms;
    return hipSuccess;
  });
}
static hipError_t set_fill(FillOperation* fill, const hipMemsetParams& p) {
  if (fill == nullptr) return hipErrorInvalidValue;
  HIPRT_TRY(check_fill(fill_of(p)));
  *fill = fill_of(p);
  return hipSuccess;
}
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* p) {
  return api([&] { return p == nullptr ? hipErrorInvalidValue : set_fill(parms_in<FillOperation>(node), *p); });
}
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipMemsetParams* p) {
  return api([&] { return p == nullptr ? hipErrorInvalidValue : set_fill(parms_in<FillOperation>(exec, node), *p); });
}
hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const DriverFill* p, hipCtx_t) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(check_fill(fill_of(driver_fill(*p))));
    return add_node(out, graph, before, n, fill_of(driver_fill(*p)));
  });
}
hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const DriverFill* p, hipCtx_t) {
  return api([&] { return p == nullptr ? hipErrorInvalidValue : set_fill(parms_in<FillOperation>(exec, node), driver_fill(*p)); });
}

// ------------------------------------------------------------------------------------------------------- host, event, empty, child

hipError_t hipGraphAddHostNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const hipHostNodeParams* p) {
  return api([&] {
    HIPRT_TRY(check_host(p));
    return add_node(out, graph, before, n, host_of(*p));
  });
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* p) {
  return api([&] {
    const auto* host = parms_in<HostOperation>(node);
    if (host == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = {host->function, host->user};
    return hipSuccess;
  });
}
static hipError_t set_host(HostOperation* host, const hipHostNodeParams* p) {
  HIPRT_TRY(check_host(p));
  if (host == nullptr) return hipErrorInvalidValue;
  *host = host_of(*p);
  return hipSuccess;
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* p) {
  return api([&] { return set_host(parms_in<HostOperation>(node), p); });
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams* p) {
  return api([&] { return set_host(parms_in<HostOperation>(exec, node), p); });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n) {
  return api([&] { return add_node(out, graph, before, n, EmptyOperation{}); });
}

#define EVENT_NODE(kind, Kind)                                                                                                      \
  hipError_t hipGraphAddEvent##kind##Node(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, hipEvent_t event) { \
    return api([&] {                                                                                                                \
      if (live_events().count(event) == 0) return hipErrorInvalidValue;                                                             \
      return add_node(out, graph, before, n, Kind{event, 0});                                                                       \
    });                                                                                                                             \
  }                                                                                                                                 \
  hipError_t hipGraphEvent##kind##NodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {                                            \
    return api([&] {                                                                                                                \
      const auto* own = parms_in<Kind>(node);                                                                                       \
      if (own == nullptr || event == nullptr) return hipErrorInvalidValue;                                                          \
      *event = own->event;                                                                                                          \
      return hipSuccess;                                                                                                            \
    });                                                                                                                             \
  }                                                                                                                                 \
  static hipError_t set_event_##kind(Kind* own, hipEvent_t event) {                                                                 \
    if (own == nullptr || live_events().count(event) == 0) return hipErrorInvalidValue;                                             \
    own->event = event;                                                                                                             \
    return hipSuccess;                                                                                                              \
  }                                                                                                                                 \
  hipError_t hipGraphEvent##kind##NodeSetEvent(hipGraphNode_t node, hipEvent_t event) {                                             \
    return api([&] { return set_event_##kind(parms_in<Kind>(node), event); });                                                      \
  }                                                                                                                                 \
  hipError_t hipGraphExecEvent##kind##NodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {                    \
    return api([&] { return set_event_##kind(parms_in<Kind>(exec, node), event); });                                                \
  }
EVENT_NODE(Record, RecordOperation)
EVENT_NODE(Wait, WaitOperation)
#undef EVENT_NODE

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, hipGraph_t child) {
  return api([&] {
    if (!live(child) || child == graph) return hipErrorInvalidValue;
    ChildOperation operation{clone_graph(*child).release()};
    operation.graph->owned = true;
    return add_node(out, graph, before, n, operation);
  });
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  return api([&] {
    const auto* child = parms_in<ChildOperation>(node);
    if (child == nullptr || graph == nullptr) return hipErrorInvalidValue;
    *graph = child->graph;
    return hipSuccess;
  });
}
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child) {
  return api([&] {
    auto* own = parms_in<ChildOperation>(exec, node);
    if (own == nullptr || !live(child)) return hipErrorInvalidValue;
    hipGraphNode_t error_node = nullptr;
    return update(*own->graph, *child, &error_node) == hipGraphExecUpdateSuccess ? hipSuccess : hipErrorGraphExecUpdateFailure;
  });
}

// ------------------------------------------------------------------------------------------------------- memory nodes

hipError_t hipGraphAddMemAllocNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, hipMemAllocNodeParams* p) {
  return api([&] {
    if (!live(graph)) return hipErrorInvalidValue;
    AllocOperation alloc;
    HIPRT_TRY(make_alloc(graph, p, &alloc));
    return add_node(out, graph, before, n, std::move(alloc));
  });
}
hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams* p) {
  return api([&] {
    auto* alloc = parms_in<AllocOperation>(node);
    if (alloc == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = alloc->parms;
    p->accessDescs = alloc->access.data();
    return hipSuccess;
  });
}
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, void* pointer) {
  return api([&] {
    if (graph_memory().count(pointer) == 0) return hipErrorInvalidValue;
    return add_node(out, graph, before, n, FreeOperation{pointer});
  });
}
hipError_t hipDrvGraphAddMemFreeNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, hipDeviceptr_t pointer) {
  return hipGraphAddMemFreeNode(out, graph, before, n, pointer);
}
hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void* out) {
  return api([&] {
    const auto* own = parms_in<FreeOperation>(node);
    if (own == nullptr || out == nullptr) return hipErrorInvalidValue;
    *static_cast<void**>(out) = own->pointer;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetGraphMemAttribute(int ordinal, hipGraphMemAttributeType attribute, void* value) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    if (value == nullptr || attribute < 0 || attribute > hipGraphMemAttrReservedMemHigh) return hipErrorInvalidValue;
    uint64_t used = 0, reserved = 0;
    for (const auto& [pointer, in_use] : graph_memory()) {
      const Allocation* a = find_allocation(pointer);
      if (a == nullptr || a->device != ordinal) continue;
      reserved += a->size;
      used += in_use ? a->size : 0;
    }
    const bool wants_used = attribute == hipGraphMemAttrUsedMemCurrent || attribute == hipGraphMemAttrUsedMemHigh;
    *static_cast<uint64_t*>(value) = wants_used ? used : reserved;
    return hipSuccess;
  });
}
hipError_t hipDeviceSetGraphMemAttribute(int ordinal, hipGraphMemAttributeType attribute, void* value) {
  return api([&] {
    if (!valid_device(ordinal)) return hipErrorInvalidDevice;
    const bool high = attribute == hipGraphMemAttrUsedMemHigh || attribute == hipGraphMemAttrReservedMemHigh;
    if (value == nullptr || !high || *static_cast<uint64_t*>(value) != 0) return hipErrorInvalidValue;
    return hipSuccess;
  });
}
hipError_t hipDeviceGraphMemTrim(int ordinal) {
  return api([&] { return valid_device(ordinal) ? hipSuccess : hipErrorInvalidDevice; });
}

hipError_t hipGraphAddBatchMemOpNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, const hipBatchMemOpNodeParams* p) {
  return api([&] {
    if (p == nullptr || p->paramArray == nullptr || p->count == 0) return hipErrorInvalidValue;
    MemoryValueOperation operation;
    operation.parms.assign(p->paramArray, p->paramArray + p->count);
    operation.context = p->ctx;
    operation.flags = p->flags;
    return add_node(out, graph, before, n, std::move(operation));
  });
}
static hipError_t set_batch(MemoryValueOperation* own, const hipBatchMemOpNodeParams* p) {
  if (own == nullptr || p == nullptr || p->paramArray == nullptr || p->count == 0) return hipErrorInvalidValue;
  own->parms.assign(p->paramArray, p->paramArray + p->count);
  own->context = p->ctx;
  own->flags = p->flags;
  return hipSuccess;
}
hipError_t hipGraphBatchMemOpNodeGetParams(hipGraphNode_t node, hipBatchMemOpNodeParams* p) {
  return api([&] {
    auto* own = parms_in<MemoryValueOperation>(node);
    if (own == nullptr || p == nullptr) return hipErrorInvalidValue;
    *p = {own->context, static_cast<unsigned>(own->parms.size()), own->parms.data(), own->flags};
    return hipSuccess;
  });
}
hipError_t hipGraphBatchMemOpNodeSetParams(hipGraphNode_t node, hipBatchMemOpNodeParams* p) {
  return api([&] { return set_batch(parms_in<MemoryValueOperation>(node), p); });
}
hipError_t hipGraphExecBatchMemOpNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipBatchMemOpNodeParams* p) {
  return api([&] { return set_batch(parms_in<MemoryValueOperation>(exec, node), p); });
}

// ------------------------------------------------------------------------------------------------------- generic nodes

hipError_t hipGraphAddNode(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* before, size_t n, hipGraphNodeParams* p) {
  return api([&] {
    if (p == nullptr || !live(graph)) return hipErrorInvalidValue;
    Operation operation;
    HIPRT_TRY(operation_of(graph, p, &operation));
    return add_node(out, graph, before, n, std::move(operation));
  });
}
static hipError_t set_node(hipGraphNode_t node, hipGraphNodeParams* p) {
  if (node == nullptr || p == nullptr || type_of(node->operation) != p->type) return hipErrorInvalidValue;
  if (p->type == hipGraphNodeTypeMemAlloc || p->type == hipGraphNodeTypeMemFree) return hipErrorNotSupported;
  Operation operation;
  HIPRT_TRY(operation_of(node->graph, p, &operation));
  if (auto* child = std::get_if<ChildOperation>(&node->operation)) delete_graph(child->graph);
  node->operation = std::move(operation);
  return hipSuccess;
}
hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams* p) {
  return api([&] { return live(node) ? set_node(node, p) : hipErrorInvalidValue; });
}
hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams* p) {
  return api([&] { return live(exec) ? set_node(inside(exec, node), p) : hipErrorInvalidValue; });
}

// ------------------------------------------------------------------------------------------------------- user objects

hipError_t hipUserObjectCreate(hipUserObject_t* out, void* pointer, hipHostFn_t destroy, unsigned references, unsigned flags) {
  return api([&] {
    if (out == nullptr || pointer == nullptr || destroy == nullptr || references == 0 || references > 0x7fffffffu) return hipErrorInvalidValue;
    if (flags != hipUserObjectNoDestructorSync) return hipErrorInvalidValue;
    *out = new hipUserObject{pointer, destroy, references};
    live_objects().insert(*out);
    return hipSuccess;
  });
}
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count) {
  return api([&] {
    if (live_objects().count(object) == 0 || count == 0 || count > 0x7fffffffu) return hipErrorInvalidValue;
    object->references += count;
    return hipSuccess;
  });
}
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count) {
  return api([&] {
    if (live_objects().count(object) == 0 || count == 0 || count > object->references) return hipErrorInvalidValue;
    release_object(object, count);
    return hipSuccess;
  });
}
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags) {
  return api([&] {
    if (!live(graph) || live_objects().count(object) == 0 || count == 0 || (flags & ~hipGraphUserObjectMove)) return hipErrorInvalidValue;
    if (flags != hipGraphUserObjectMove) object->references += count;
    graph->user_objects[object] += count;
    return hipSuccess;
  });
}
hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count) {
  return api([&] {
    if (!live(graph) || live_objects().count(object) == 0 || count == 0) return hipErrorInvalidValue;
    const auto held = graph->user_objects.find(object);
    if (held == graph->user_objects.end() || held->second < count) return hipErrorInvalidValue;
    held->second -= count;
    if (held->second == 0) graph->user_objects.erase(held);
    release_object(object, count);
    return hipSuccess;
  });
}
}
