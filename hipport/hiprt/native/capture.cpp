// Stream capture: operations submitted to a capturing stream become nodes of a graph.
#include "runtime.h"

namespace hiprt {
namespace {

thread_local hipStreamCaptureMode interaction_mode = hipStreamCaptureModeGlobal;  // hipThreadExchangeStreamCaptureMode

std::vector<std::shared_ptr<Capture>> active_captures() {
  std::vector<std::shared_ptr<Capture>> active;
  for (hipStream_t stream : live_streams()) {
    if (stream->capture != nullptr && stream == stream->capture->origin) active.push_back(stream->capture);
  }
  return active;
}

hipError_t begin(hipStream_t stream, hipGraph_t graph, const std::vector<hipGraphNode_t>& frontier, hipStreamCaptureMode mode) {
  static unsigned long long next_id = 1;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
  if (stream->is_null) return hipErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->owns_graph = graph == nullptr;
  capture->graph = graph != nullptr ? graph : new_graph();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_id++;
  capture->members.insert(stream);
  stream->capture = capture;
  stream->capture_frontier = frontier;
  return hipSuccess;
}

hipError_t end(hipStream_t stream, hipGraph_t* out) {
  if (out == nullptr) return hipErrorInvalidValue;
  *out = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return hipErrorIllegalState;
  if (capture->origin != stream) return hipErrorStreamCaptureUnmatched;
  if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    return hipErrorStreamCaptureWrongThread;
  }
  hipError_t error = capture->status == hipStreamCaptureStatusInvalidated ? hipErrorStreamCaptureInvalidated : hipSuccess;
  // Everything that joined must have come back to the origin stream.
  for (hipStream_t member : capture->members) {
    if (member == stream || live_streams().count(member) == 0) continue;
    for (hipGraphNode_t leaf : member->capture_frontier) {
      bool joined = false;
      for (hipGraphNode_t last : stream->capture_frontier) joined = joined || last == leaf || depends_on(last, leaf);
      if (!joined && error == hipSuccess) error = hipErrorStreamCaptureUnjoined;
    }
  }
  for (hipStream_t member : capture->members) {
    if (live_streams().count(member) == 0) continue;
    member->capture.reset();
    member->capture_frontier.clear();
  }
  if (error != hipSuccess) {
    if (capture->owns_graph) delete_graph(capture->graph);
    return error;
  }
  *out = capture->graph;
  return hipSuccess;
}

hipError_t capture_info(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, bool per_thread) {
  if (status == nullptr) return hipErrorInvalidValue;
  HIPRT_TRY(resolve_stream(stream, per_thread));
  *status = stream->capture != nullptr ? stream->capture->status : hipStreamCaptureStatusNone;
  if (id != nullptr && stream->capture != nullptr) *id = stream->capture->id;
  return hipSuccess;
}

hipError_t capture_info_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
                           const hipGraphNode_t** dependencies, size_t* count, bool per_thread) {
  HIPRT_TRY(capture_info(stream, status, id, per_thread));
  HIPRT_TRY(resolve_stream(stream, per_thread));
  if (stream->capture == nullptr) return hipSuccess;
  if (graph != nullptr) *graph = stream->capture->graph;
  if (dependencies != nullptr) *dependencies = stream->capture_frontier.data();
  if (count != nullptr) *count = stream->capture_frontier.size();
  return hipSuccess;
}

}  // namespace

hipError_t submit(hipStream_t stream, Operation operation) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return enqueue(stream, std::move(operation));
  if (capture->status == hipStreamCaptureStatusInvalidated) return hipErrorStreamCaptureInvalidated;
  if (std::holds_alternative<MemoryValueOperation>(operation)) {
    capture->status = hipStreamCaptureStatusInvalidated;
    return hipErrorStreamCaptureUnsupported;
  }
  stream->capture_frontier = {graph_add(capture->graph, stream->capture_frontier, std::move(operation))};
  return hipSuccess;
}

hipError_t join_capture(hipStream_t stream, hipEvent_t event) {
  const std::shared_ptr<Capture> capture = event->capture;
  if (capture->status == hipStreamCaptureStatusInvalidated) return hipErrorStreamCaptureInvalidated;
  if (stream->is_null) return hipErrorStreamCaptureImplicit;
  if (live_streams().count(capture->origin) == 0 || capture->origin->capture != capture) return hipErrorCapturedEvent;
  if (stream->capture != nullptr && stream->capture != capture) {
    stream->capture->status = capture->status = hipStreamCaptureStatusInvalidated;
    return hipErrorStreamCaptureMerge;
  }
  stream->capture = capture;
  capture->members.insert(stream);
  for (hipGraphNode_t node : event->capture_frontier) {
    auto& frontier = stream->capture_frontier;
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) frontier.push_back(node);
  }
  return hipSuccess;
}

hipError_t forbid_while_capturing(hipError_t error) {
  const auto active = active_captures();
  for (const auto& capture : active) capture->status = hipStreamCaptureStatusInvalidated;
  return active.empty() ? hipSuccess : error;
}

hipError_t forbid_unsafe_while_capturing() {
  if (interaction_mode == hipStreamCaptureModeRelaxed) return hipSuccess;
  hipError_t error = hipSuccess;
  for (const auto& capture : active_captures()) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool hit = (mine && capture->mode != hipStreamCaptureModeRelaxed) ||
                     (!mine && capture->mode == hipStreamCaptureModeGlobal && interaction_mode == hipStreamCaptureModeGlobal);
    if (!hit) continue;
    capture->status = hipStreamCaptureStatusInvalidated;
    error = hipErrorStreamCaptureUnsupported;
  }
  return error;
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return device_api([&] {
    HIPRT_TRY(resolve_stream(stream));
    return begin(stream, nullptr, {}, mode);
  });
}
hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode) {
  return device_api([&] {
    HIPRT_TRY(resolve_stream(stream, true));
    return begin(stream, nullptr, {}, mode);
  });
}
hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                        const hipGraphEdgeData*, size_t count, hipStreamCaptureMode mode) {
  return device_api([&] {
    if (graph == nullptr || (count != 0 && dependencies == nullptr)) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    return begin(stream, graph, std::vector<hipGraphNode_t>(dependencies, dependencies + count), mode);
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* out) {
  return api([&] {
    HIPRT_TRY(resolve_stream(stream));
    return end(stream, out);
  });
}
hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* out) {
  return api([&] {
    HIPRT_TRY(resolve_stream(stream, true));
    return end(stream, out);
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return api([&] { return capture_info(stream, status, nullptr, false); });
}
hipError_t hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus* status) {
  return api([&] { return capture_info(stream, status, nullptr, true); });
}
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return api([&] { return capture_info(stream, status, id, false); });
}
hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return api([&] { return capture_info(stream, status, id, true); });
}
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
                                      const hipGraphNode_t** dependencies, size_t* count) {
  return api([&] { return capture_info_v2(stream, status, id, graph, dependencies, count, false); });
}
hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                          hipGraph_t* graph, const hipGraphNode_t** dependencies, size_t* count) {
  return api([&] { return capture_info_v2(stream, status, id, graph, dependencies, count, true); });
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* nodes, size_t count, unsigned flags) {
  return api([&] {
    if ((count != 0 && nodes == nullptr) || flags > hipStreamSetCaptureDependencies) return hipErrorInvalidValue;
    HIPRT_TRY(resolve_stream(stream));
    if (stream->capture == nullptr) return hipErrorIllegalState;
    for (size_t i = 0; i < count; ++i) {
      if (nodes[i] == nullptr || nodes[i]->graph != stream->capture->graph) return hipErrorInvalidValue;
    }
    auto& frontier = stream->capture_frontier;
    if (flags == hipStreamSetCaptureDependencies) frontier.clear();
    frontier.insert(frontier.end(), nodes, nodes + count);
    return hipSuccess;
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return api([&] {
    if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
    std::swap(*mode, interaction_mode);
    return hipSuccess;
  });
}
}
