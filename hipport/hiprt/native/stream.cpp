// Streams and events.
//
// An operation runs when it is enqueued, unless something before it cannot run yet: a wait for a memory value, or for an
// event whose record is behind such a wait. Then it queues, and every later call tries again (`pump`).
#include <chrono>

#include "runtime.h"

namespace hiprt {
namespace {

uint64_t next_sequence = 1;
uint64_t next_stream_id = 1;

hipStream_t null_stream(int ordinal) {
  Device& d = *devices()[ordinal];
  if (d.null_stream == nullptr) {
    d.null_stream = new ihipStream_t;
    d.null_stream->device = ordinal;
    d.null_stream->is_null = true;
    d.null_stream->id = next_stream_id++;
    live_streams().insert(d.null_stream);
  }
  return d.null_stream;
}

bool blocks_with_null(hipStream_t stream) { return !stream->is_null && (stream->flags & hipStreamNonBlocking) == 0; }

bool value_reached(const hipStreamBatchMemOpParams& p) {
  const bool wide = p.operation == hipStreamMemOpWaitValue64;
  const auto& w = p.waitValue;
  uint64_t now = 0;
  if (wide) {
    now = __atomic_load_n(static_cast<uint64_t*>(w.address), __ATOMIC_ACQUIRE);
  } else {
    now = __atomic_load_n(static_cast<uint32_t*>(w.address), __ATOMIC_ACQUIRE);
  }
  // The mask of hipStreamWaitValue* travels in `alias`, which the batch interface does not use on AMD.
  uint64_t mask = reinterpret_cast<uint64_t>(w.alias);
  if (mask == 0) mask = ~uint64_t{0};
  now &= mask;
  const uint64_t value = wide ? w.value64 : w.value;
  switch (w.flags & 3) {
    case hipStreamWaitValueGte:
      return wide ? static_cast<int64_t>(now - value) >= 0 : static_cast<int32_t>(now - value) >= 0;
    case hipStreamWaitValueEq:
      return now == value;
    case hipStreamWaitValueAnd:
      return (now & value) != 0;
    default:
      return wide ? ~(now | value) != 0 : static_cast<uint32_t>(~(now | value)) != 0;
  }
}

bool is_wait(const hipStreamBatchMemOpParams& p) {
  return p.operation == hipStreamMemOpWaitValue32 || p.operation == hipStreamMemOpWaitValue64;
}

// Executes as much of it as possible; true when all is done.
bool advance(MemoryValueOperation& operation) {
  for (; operation.done < operation.parms.size(); ++operation.done) {
    const hipStreamBatchMemOpParams& p = operation.parms[operation.done];
    if (is_wait(p)) {
      if (!value_reached(p)) return false;
    } else if (p.operation == hipStreamMemOpWriteValue32) {
      __atomic_store_n(static_cast<uint32_t*>(p.writeValue.address), p.writeValue.value, __ATOMIC_RELEASE);
    } else if (p.operation == hipStreamMemOpWriteValue64) {
      __atomic_store_n(static_cast<uint64_t*>(p.writeValue.address), p.writeValue.value64, __ATOMIC_RELEASE);
    }
  }
  return true;
}

// May the first pending operation of a stream run now?
bool ready(hipStream_t stream) {
  if (stream->running) return false;
  Pending& first = stream->pending.front();
  // The null stream and the blocking streams of a device wait for each other.
  for (hipStream_t other : live_streams()) {
    if (other == stream || other->device != stream->device) continue;
    const bool coupled = (stream->is_null && blocks_with_null(other)) || (other->is_null && blocks_with_null(stream));
    if (!coupled) continue;
    if (!other->pending.empty() && other->pending.front().sequence < first.sequence) return false;
    if (other->running) return false;
  }
  if (const auto* wait = std::get_if<WaitOperation>(&first.operation)) {
    return live_events().count(wait->event) == 0 || wait->event->completed >= wait->ticket;
  }
  if (auto* values = std::get_if<MemoryValueOperation>(&first.operation)) return advance(*values);
  return true;
}

hipError_t execute(hipStream_t stream, Operation& operation) {
  struct Visitor {
    hipStream_t stream;
    hipError_t operator()(KernelOperation& k) {
      // After a fault the device executes nothing more until it is reset.
      return devices()[stream->device]->fault != hipSuccess ? hipSuccess : run_kernel(k);
    }
    hipError_t operator()(CopyOperation& c) {
      return devices()[stream->device]->fault != hipSuccess ? hipSuccess : run_copy(c.parms);
    }
    hipError_t operator()(FillOperation& f) {
      return devices()[stream->device]->fault != hipSuccess ? hipSuccess : run_fill(f);
    }
    hipError_t operator()(HostOperation& h) {
      const hipError_t fault = devices()[stream->device]->fault;
      Unlocked unlocked;
      if (h.callback != nullptr) {
        h.callback(h.stream, fault, h.user);
      } else {
        h.function(h.user);
      }
      return hipSuccess;
    }
    hipError_t operator()(RecordOperation& r) {
      if (live_events().count(r.event) != 0) {
        r.event->completed = std::max(r.event->completed, r.ticket);
        r.event->milliseconds = now_milliseconds();
      }
      return hipSuccess;
    }
    hipError_t operator()(PoolFreeOperation& f) {
      Allocation* a = find_allocation(f.pointer);
      if (a == nullptr || a->base != f.pointer || a->on_free_list) return hipErrorInvalidValue;
      if (a->pool != nullptr) {
        pool_free(a);
      } else {
        release(a);
      }
      return hipSuccess;
    }
    hipError_t operator()(AllocOperation& a) { return graph_memory_in_use(a.parms.dptr, true); }
    hipError_t operator()(FreeOperation& f) { return graph_memory_in_use(f.pointer, false); }
    hipError_t operator()(WaitOperation&) { return hipSuccess; }
    hipError_t operator()(MemoryValueOperation&) { return hipSuccess; }
    hipError_t operator()(EmptyOperation&) { return hipSuccess; }
    hipError_t operator()(ChildOperation&) { return hipSuccess; }  // flattened at launch
  };
  return std::visit(Visitor{stream}, operation);
}

// Runs the first operation of the first stream that can; false when none can.
bool pump_one() {
  for (hipStream_t stream : live_streams()) {
    if (stream->pending.empty() || !ready(stream)) continue;
    Operation operation = std::move(stream->pending.front().operation);
    stream->running = true;
    const hipError_t error = execute(stream, operation);
    if (live_streams().count(stream) != 0) {
      stream->running = false;
      stream->pending.pop_front();
      Device& d = *devices()[stream->device];
      if (error != hipSuccess && d.fault == hipSuccess) d.fault = error;
    }
    return true;
  }
  return false;
}

// Runs what can be run and sleeps in between until `done`.
template <class Done>
void pump_until(Done done) {
  while (!done()) {
    if (pump_one()) continue;
    if (done()) return;
    Unlocked unlocked;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

bool idle(hipStream_t stream) { return live_streams().count(stream) == 0 || (stream->pending.empty() && !stream->running); }

hipError_t create_stream(hipStream_t* out, unsigned flags, int priority) {
  if (out == nullptr || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) return hipErrorInvalidValue;
  auto* stream = new ihipStream_t;
  stream->device = current_device();
  stream->flags = flags;
  stream->priority = std::clamp(priority, -1, 1);
  stream->id = next_stream_id++;
  live_streams().insert(stream);
  *out = stream;
  return hipSuccess;
}

hipError_t create_event(hipEvent_t* out, unsigned flags) {
  if (out == nullptr) return hipErrorInvalidValue;
  constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                             hipEventDisableSystemFence | hipEventReleaseToDevice | hipEventReleaseToSystem;
  if (flags & ~known) return hipErrorInvalidValue;
  if ((flags & hipEventReleaseToDevice) && (flags & hipEventReleaseToSystem)) return hipErrorInvalidValue;
  if ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming)) return hipErrorInvalidValue;
  auto* event = new ihipEvent_t;
  event->flags = flags;
  event->device = current_device();
  live_events().insert(event);
  *out = event;
  return hipSuccess;
}

hipError_t synchronise(hipStream_t stream, bool per_thread = false) {
  HIPRT_TRY(resolve_stream(stream, per_thread));
  if (stream->capture != nullptr) return forbid_while_capturing(hipErrorStreamCaptureUnsupported);
  HIPRT_TRY(wait_for(stream));
  return sticky_error();
}

hipError_t query(hipStream_t stream, bool per_thread = false) {
  HIPRT_TRY(resolve_stream(stream, per_thread));
  if (stream->capture != nullptr) return forbid_while_capturing(hipErrorStreamCaptureUnsupported);
  pump();
  if (!idle(stream)) return hipErrorNotReady;
  return sticky_error();
}

hipError_t add_host(hipStream_t stream, HostOperation operation, bool per_thread = false) {
  const hipStream_t given = stream;
  HIPRT_TRY(resolve_stream(stream, per_thread));
  operation.stream = given;
  return submit(stream, operation);
}

hipError_t memory_operations(hipStream_t stream, MemoryValueOperation operation) {
  HIPRT_TRY(resolve_stream(stream));
  for (const auto& p : operation.parms) {
    switch (p.operation) {
      case hipStreamMemOpWaitValue32:
      case hipStreamMemOpWaitValue64:
        if (p.waitValue.address == nullptr || p.waitValue.flags > hipStreamWaitValueNor) return hipErrorInvalidValue;
        if (!is_device_side(p.waitValue.address)) return hipErrorInvalidValue;
        break;
      case hipStreamMemOpWriteValue32:
      case hipStreamMemOpWriteValue64:
        if (p.writeValue.address == nullptr || !is_device_side(p.writeValue.address)) return hipErrorInvalidValue;
        break;
      case hipStreamMemOpBarrier:
      case hipStreamMemOpFlushRemoteWrites:
        break;
      default:
        return hipErrorInvalidValue;
    }
  }
  return submit(stream, std::move(operation));
}

hipError_t wait_value(hipStream_t stream, void* address, uint64_t value, unsigned flags, uint64_t mask, bool wide) {
  MemoryValueOperation operation;
  hipStreamBatchMemOpParams p{};
  p.waitValue.operation = wide ? hipStreamMemOpWaitValue64 : hipStreamMemOpWaitValue32;
  p.waitValue.address = address;
  p.waitValue.value64 = value;
  p.waitValue.flags = flags;
  p.waitValue.alias = reinterpret_cast<void*>(mask);
  operation.parms.push_back(p);
  return memory_operations(stream, std::move(operation));
}

hipError_t write_value(hipStream_t stream, void* address, uint64_t value, bool wide) {
  MemoryValueOperation operation;
  hipStreamBatchMemOpParams p{};
  p.writeValue.operation = wide ? hipStreamMemOpWriteValue64 : hipStreamMemOpWriteValue32;
  p.writeValue.address = address;
  p.writeValue.value64 = value;
  operation.parms.push_back(p);
  return memory_operations(stream, std::move(operation));
}

}  // namespace

std::set<hipStream_t>& live_streams() {
  static auto& all = *new std::set<hipStream_t>;
  return all;
}
std::set<hipEvent_t>& live_events() {
  static auto& all = *new std::set<hipEvent_t>;
  return all;
}

double now_milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

hipStream_t per_thread_stream() {
  thread_local std::map<int, hipStream_t> streams;
  hipStream_t& stream = streams[current_device()];
  if (stream == nullptr || live_streams().count(stream) == 0) {
    if (create_stream(&stream, hipStreamDefault, 0) != hipSuccess) return nullptr;
  }
  return stream;
}

hipError_t resolve_stream(hipStream_t& stream, bool per_thread) {
  if (stream == hipStreamPerThread || (per_thread && (stream == nullptr || stream == hipStreamLegacy))) {
    stream = per_thread_stream();
  } else if (stream == nullptr || stream == hipStreamLegacy) {
    stream = null_stream(current_device());
  } else if (live_streams().count(stream) == 0) {
    return hipErrorContextIsDestroyed;
  }
  return hipSuccess;
}

void pump() {
  while (pump_one()) {
  }
}

hipError_t enqueue(hipStream_t stream, Operation operation) {
  stream->pending.push_back({std::move(operation), next_sequence++});
  pump();
  return hipSuccess;
}

hipError_t wait_for(hipStream_t stream) {
  pump_until([stream] { return idle(stream); });
  return hipSuccess;
}

hipError_t wait_for_device(int ordinal) {
  pump_until([ordinal] {
    for (hipStream_t stream : live_streams()) {
      if (stream->device == ordinal && !idle(stream)) return false;
    }
    return true;
  });
  return hipSuccess;
}

hipError_t submit_and_wait(hipStream_t stream, Operation operation) {
  HIPRT_TRY(submit(stream, std::move(operation)));
  return wait_for(stream);
}

hipError_t record_event(hipEvent_t event, hipStream_t stream) {
  if (live_events().count(event) == 0) return hipErrorInvalidHandle;
  if (event->device != stream->device) return hipErrorInvalidHandle;
  if (stream->capture != nullptr) {
    if (stream->capture->status == hipStreamCaptureStatusInvalidated) return hipErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->capture_frontier = stream->capture_frontier;
    return hipSuccess;
  }
  event->capture.reset();
  event->capture_frontier.clear();
  return submit(stream, RecordOperation{event, ++event->issued});
}

hipError_t wait_event(hipStream_t stream, hipEvent_t event) {
  if (live_events().count(event) == 0) return hipErrorInvalidHandle;
  if (event->capture != nullptr) return join_capture(stream, event);
  if (stream->capture != nullptr) return hipErrorStreamCaptureIsolation;
  if (event->issued == event->completed) return hipSuccess;
  return submit(stream, WaitOperation{event, event->issued});
}

void reset_device(int ordinal) {
  devices()[ordinal]->fault = hipSuccess;
  (void)wait_for_device(ordinal);
  for (auto entry = live_streams().begin(); entry != live_streams().end();) {
    hipStream_t stream = *entry;
    if (stream->device == ordinal && !stream->is_null) {
      entry = live_streams().erase(entry);
      delete stream;
    } else {
      ++entry;
    }
  }
  for (auto entry = live_events().begin(); entry != live_events().end();) {
    hipEvent_t event = *entry;
    if (event->device == ordinal) {
      entry = live_events().erase(entry);
      delete event;
    } else {
      ++entry;
    }
  }
  free_device_memory(ordinal);
  devices()[ordinal]->peers.clear();
  devices()[ordinal]->fault = hipSuccess;
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipStreamCreate(hipStream_t* out) {
  return device_api([&] { return create_stream(out, hipStreamDefault, 0); });
}
hipError_t hipStreamCreateWithFlags(hipStream_t* out, unsigned flags) {
  return device_api([&] { return create_stream(out, flags, 0); });
}
hipError_t hipStreamCreateWithPriority(hipStream_t* out, unsigned flags, int priority) {
  return device_api([&] { return create_stream(out, flags, priority); });
}

hipError_t hipExtStreamCreateWithCUMask(hipStream_t* out, uint32_t words, const uint32_t* mask) {
  return device_api([&] {
    if (words == 0 || mask == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(create_stream(out, hipStreamDefault, 0));
    (*out)->cu_mask.assign(mask, mask + words);
    return hipSuccess;
  });
}

hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t words, uint32_t* mask) {
  return api([&] {
    if (words == 0 || mask == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    const int units = devices()[stream->device]->properties.multiProcessorCount;
    if (words < static_cast<uint32_t>(units + 31) / 32) return hipErrorInvalidValue;
    for (uint32_t i = 0; i < words; ++i) {
      const int left = std::clamp(units - static_cast<int>(i) * 32, 0, 32);
      const uint32_t all = left == 32 ? ~0u : (1u << left) - 1;
      mask[i] = i < stream->cu_mask.size() ? stream->cu_mask[i] : stream->cu_mask.empty() ? all : 0;
    }
    return hipSuccess;
  });
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  return api([&] {
    if (stream == nullptr || stream == hipStreamLegacy || stream == hipStreamPerThread) return hipErrorInvalidHandle;
    if (live_streams().count(stream) == 0) return hipErrorContextIsDestroyed;
    if (stream->capture != nullptr) stream->capture->status = hipStreamCaptureStatusInvalidated;
    HIPRT_TRY(wait_for(stream));
    if (live_streams().erase(stream) != 0) delete stream;
    return hipSuccess;
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) { return api([&] { return synchronise(stream); }); }
hipError_t hipStreamSynchronize_spt(hipStream_t stream) { return api([&] { return synchronise(stream, true); }); }
hipError_t hipStreamQuery(hipStream_t stream) { return api([&] { return query(stream); }); }
hipError_t hipStreamQuery_spt(hipStream_t stream) { return api([&] { return query(stream, true); }); }

#define STREAM_GET(name, type, expression)                              \
  static hipError_t name##_of(hipStream_t stream, type* out, bool per_thread) { \
    if (out == nullptr) return hipErrorInvalidValue;                    \
    HIPRT_TRY(resolve_stream(stream, per_thread));                      \
    *out = (expression);                                                \
    return hipSuccess;                                                  \
  }                                                                     \
  hipError_t name(hipStream_t stream, type* out) {                      \
    return api([&] { return name##_of(stream, out, false); });          \
  }
STREAM_GET(hipStreamGetFlags, unsigned, stream->flags)
STREAM_GET(hipStreamGetPriority, int, stream->priority)
STREAM_GET(hipStreamGetDevice, hipDevice_t, stream->device)
hipError_t hipStreamGetFlags_spt(hipStream_t s, unsigned* out) { return api([&] { return hipStreamGetFlags_of(s, out, true); }); }
hipError_t hipStreamGetPriority_spt(hipStream_t s, int* out) { return api([&] { return hipStreamGetPriority_of(s, out, true); }); }
#if HIP_VERSION_MAJOR >= 7
STREAM_GET(hipStreamGetId, unsigned long long, stream->id)

hipError_t hipStreamGetAttribute(hipStream_t stream, hipLaunchAttributeID attribute, hipLaunchAttributeValue* out) {
  return api([&] {
    if (out == nullptr || attribute <= 0 || attribute >= 16) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    *out = stream->attributes[attribute];
    if (attribute == hipLaunchAttributePriority) out->priority = stream->priority;
    return hipSuccess;
  });
}
hipError_t hipStreamSetAttribute(hipStream_t stream, hipLaunchAttributeID attribute, const hipLaunchAttributeValue* value) {
  return api([&] {
    if (value == nullptr || attribute <= 0 || attribute >= 16) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    stream->attributes[attribute] = *value;
    if (attribute == hipLaunchAttributePriority) stream->priority = std::clamp(value->priority, -1, 1);
    return hipSuccess;
  });
}
hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from) {
  return api([&] {
    HIPRT_TRY(resolve_stream(to));
    HIPRT_TRY(resolve_stream(from));
    std::memcpy(to->attributes, from->attributes, sizeof to->attributes);
    to->priority = from->priority;
    return hipSuccess;
  });
}
#endif
#undef STREAM_GET

int hipGetStreamDeviceId(hipStream_t stream) {
  int ordinal = -1;
  (void)api([&] {
    HIPRT_TRY(resolve_stream(stream));
    ordinal = stream->device;
    return hipSuccess;
  });
  return ordinal;
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&] {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return hipSuccess;
  });
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return device_api([&] {
    if (event == nullptr) return hipErrorInvalidHandle;
    if (flags > hipEventWaitExternal) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    return wait_event(stream, event);
  });
}
hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return device_api([&] {
    if (event == nullptr) return hipErrorInvalidHandle;
    if (flags > hipEventWaitExternal) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream, true));
    return wait_event(stream, event);
  });
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user, unsigned flags) {
  return api([&] {
    if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
    HostOperation operation;
    operation.callback = callback;
    operation.user = user;
    return add_host(stream, operation);
  });
}
hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback, void* user, unsigned flags) {
  return api([&] {
    if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
    HostOperation operation;
    operation.callback = callback;
    operation.user = user;
    return add_host(stream, operation, true);
  });
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user) {
  return device_api([&] {
    if (function == nullptr) return hipErrorInvalidValue;
    HostOperation operation;
    operation.function = function;
    operation.user = user;
    return add_host(stream, operation);
  });
}
hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function, void* user) {
  return device_api([&] {
    if (function == nullptr) return hipErrorInvalidValue;
    HostOperation operation;
    operation.function = function;
    operation.user = user;
    return add_host(stream, operation, true);
  });
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void* address, uint32_t value, unsigned flags, uint32_t mask) {
  return device_api([&] { return wait_value(stream, address, value, flags, mask, false); });
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* address, uint64_t value, unsigned flags, uint64_t mask) {
  return device_api([&] { return wait_value(stream, address, value, flags, mask, true); });
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void* address, uint32_t value, unsigned) {
  return device_api([&] { return write_value(stream, address, value, false); });
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* address, uint64_t value, unsigned) {
  return device_api([&] { return write_value(stream, address, value, true); });
}
hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams* parms, unsigned flags) {
  return device_api([&] {
    if (parms == nullptr || count == 0 || count > 256 || flags != 0) return hipErrorInvalidValue;
    MemoryValueOperation operation;
    operation.parms.assign(parms, parms + count);
    for (auto& p : operation.parms) {
      if (is_wait(p)) p.waitValue.alias = nullptr;
    }
    return memory_operations(stream, std::move(operation));
  });
}

// ------------------------------------------------------------------------------------------------------- events

hipError_t hipEventCreate(hipEvent_t* out) { return device_api([&] { return create_event(out, 0); }); }
hipError_t hipEventCreateWithFlags(hipEvent_t* out, unsigned flags) { return device_api([&] { return create_event(out, flags); }); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return api([&] {
    if (event == nullptr || live_events().erase(event) == 0) return hipErrorInvalidHandle;
    delete event;
    return hipSuccess;
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return device_api([&] {
    if (event == nullptr) return hipErrorInvalidHandle;
    HIPRT_TRY(resolve_stream(stream));
    return record_event(event, stream);
  });
}
hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return device_api([&] {
    if (event == nullptr) return hipErrorInvalidHandle;
    HIPRT_TRY(resolve_stream(stream, true));
    return record_event(event, stream);
  });
}
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return device_api([&] {
    if (event == nullptr) return hipErrorInvalidHandle;
    if (flags > hipEventRecordExternal) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    if (flags == hipEventRecordExternal && stream->capture != nullptr) return submit(stream, RecordOperation{event, 0});
    return record_event(event, stream);
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return api([&] {
    if (event == nullptr || live_events().count(event) == 0) return hipErrorInvalidHandle;
    if (event->capture != nullptr) return hipErrorCapturedEvent;
    const uint64_t ticket = event->issued;
    pump_until([&] { return live_events().count(event) == 0 || event->completed >= ticket; });
    return sticky_error();
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return api([&] {
    if (event == nullptr || live_events().count(event) == 0) return hipErrorInvalidHandle;
    if (event->capture != nullptr) return hipErrorCapturedEvent;
    pump();
    if (event->completed < event->issued) return hipErrorNotReady;
    return sticky_error();
  });
}

hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return api([&] {
    if (ms == nullptr) return hipErrorInvalidValue;
    for (hipEvent_t event : {start, stop}) {
      if (event == nullptr || live_events().count(event) == 0) return hipErrorInvalidHandle;
      if (event->capture != nullptr) return hipErrorCapturedEvent;
      if ((event->flags & hipEventDisableTiming) || event->issued == 0) return hipErrorInvalidHandle;
    }
    if (start->device != stop->device) return hipErrorInvalidHandle;
    pump();
    if (start->completed < start->issued || stop->completed < stop->issued) return hipErrorNotReady;
    *ms = static_cast<float>(stop->milliseconds - start->milliseconds);
    return hipSuccess;
  });
}
}
