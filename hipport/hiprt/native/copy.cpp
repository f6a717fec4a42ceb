// Copies and fills: every form of the API becomes a hipMemcpy3DParms or a hipMemsetParams, the records that graph nodes hold.
#include "runtime.h"

namespace hiprt {
namespace {

// A box of bytes in pitched memory.
struct Box {
  char* base;
  size_t pitch, slice;
};

bool known_kind(hipMemcpyKind kind) {
  return (kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault) || kind == hipMemcpyDeviceToDeviceNoCU;
}

// One side of a copy as the byte-based calls describe it.
struct Side {
  hipArray_t array = nullptr;
  void* pointer = nullptr;
  size_t pitch = 0;   // bytes between rows; 0: the width of the copy
  size_t rows = 0;    // rows between slices; 0: the height of the copy
  size_t x = 0, y = 0, z = 0;  // bytes, rows, slices
};

Side at(void* pointer, size_t pitch = 0) {
  Side side;
  side.pointer = pointer;
  side.pitch = pitch;
  return side;
}
Side at(const void* pointer, size_t pitch = 0) { return at(const_cast<void*>(pointer), pitch); }
Side in(hipArray_const_t array, size_t x, size_t y) {
  Side side;
  side.array = const_cast<hipArray_t>(array);
  side.x = x;
  side.y = y;
  return side;
}

void place(const Side& side, size_t width, size_t height, hipArray_t* array, hipPos* pos, hipPitchedPtr* pointer) {
  *array = side.array;
  if (side.array != nullptr) {
    const size_t element = view_of(side.array).element;
    *pos = {side.x / element, side.y, side.z};
    return;
  }
  const size_t pitch = side.pitch != 0 ? side.pitch : width;
  const size_t rows = side.rows != 0 ? side.rows : height;
  *pos = {0, 0, 0};
  *pointer = {static_cast<char*>(side.pointer) + side.x + (side.z * rows + side.y) * pitch, pitch, width, rows};
}

// width in bytes.
hipError_t box_copy(const Side& to, const Side& from, size_t width, size_t height, size_t depth, hipMemcpyKind kind,
                    hipMemcpy3DParms* out) {
  *out = {};
  size_t element = 1;
  for (const Side* side : {&to, &from}) {
    if (side->array == nullptr) continue;
    if (!live_array(side->array)) return hipErrorInvalidHandle;
    element = view_of(side->array).element;
    if (width % element != 0 || side->x % element != 0) return hipErrorInvalidValue;
  }
  place(to, width, height, &out->dstArray, &out->dstPos, &out->dstPtr);
  place(from, width, height, &out->srcArray, &out->srcPos, &out->srcPtr);
  out->extent = {width / element, height, depth};
  out->kind = kind;
  return hipSuccess;
}

hipError_t box_in(hipArray_const_t array, const hipPos& pos, const hipPitchedPtr& pointer, const hipExtent& extent,
                  size_t width_bytes, Box* out) {
  if (array != nullptr) {
    if (!live_array(array)) return hipErrorInvalidHandle;
    const ArrayView view = view_of(array);
    const size_t height = std::max<size_t>(view.height, 1), depth = std::max<size_t>(view.depth, 1);
    if (pos.x + extent.width > view.width || pos.y + extent.height > height || pos.z + extent.depth > depth) {
      return hipErrorInvalidValue;
    }
    *out = {view.base + pos.z * view.slice + pos.y * view.pitch + pos.x * view.element, view.pitch, view.slice};
    return hipSuccess;
  }
  if (pointer.ptr == nullptr) return hipErrorInvalidValue;
  const size_t rows = pointer.ysize != 0 ? pointer.ysize : extent.height;
  const bool several_rows = extent.height > 1 || extent.depth > 1;
  const size_t pitch = pointer.pitch != 0 || several_rows ? pointer.pitch : width_bytes;
  if (several_rows && pitch < width_bytes) return hipErrorInvalidPitchValue;
  *out = {static_cast<char*>(pointer.ptr) + (pos.z * rows + pos.y) * pitch + pos.x, pitch, pitch * rows};
  return hipSuccess;
}

// The bytes that a box touches must lie in one allocation, if they lie in device memory at all.
hipError_t check_extent(const Box& box, size_t width, size_t height, size_t depth) {
  const Allocation* a = find_allocation(box.base);
  if (a == nullptr) {  // host memory, or a variable of a code object
    if (!is_freed_memory(box.base)) return hipSuccess;
    report_once("a copy from or to device memory that was freed");
    return hipErrorInvalidValue;
  }
  const size_t span = (depth - 1) * box.slice + (height - 1) * box.pitch + width;
  return box.base + span <= a->base + a->size && !a->on_free_list ? hipSuccess : hipErrorInvalidValue;
}

struct Boxes {
  Box to, from;
  size_t width, height, depth;  // bytes, rows, slices
};

hipError_t resolve(const hipMemcpy3DParms& p, Boxes* out) {
  if (!known_kind(p.kind)) return hipErrorInvalidMemcpyDirection;
  if ((p.srcArray != nullptr && p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr && p.dstPtr.ptr != nullptr)) {
    return hipErrorInvalidValue;
  }
  size_t element = 1;
  for (hipArray_const_t array : {p.srcArray, p.dstArray}) {
    if (array == nullptr) continue;
    if (!live_array(array)) return hipErrorInvalidHandle;
    element = view_of(array).element;
  }
  if (p.srcArray != nullptr && p.dstArray != nullptr && view_of(p.srcArray).element != element) {
    return hipErrorInvalidValue;
  }
  out->width = p.extent.width * element;
  out->height = p.extent.height;
  out->depth = p.extent.depth;
  HIPRT_TRY(box_in(p.dstArray, p.dstPos, p.dstPtr, p.extent, out->width, &out->to));
  HIPRT_TRY(box_in(p.srcArray, p.srcPos, p.srcPtr, p.extent, out->width, &out->from));
  HIPRT_TRY(check_extent(out->to, out->width, out->height, out->depth));
  return check_extent(out->from, out->width, out->height, out->depth);
}

bool nothing_to_do(const hipExtent& extent) { return extent.width == 0 || extent.height == 0 || extent.depth == 0; }

// ------------------------------------------------------------------------------------------------- calls

hipError_t synchronous(const hipMemcpy3DParms& parms) {
  HIPRT_TRY(forbid_while_capturing(hipErrorStreamCaptureImplicit));
  hipStream_t stream = nullptr;
  HIPRT_TRY(resolve_stream(stream));
  HIPRT_TRY(check_copy(parms));
  HIPRT_TRY(submit_and_wait(stream, CopyOperation{parms}));
  return sticky_error();
}

hipError_t asynchronous(const hipMemcpy3DParms& parms, hipStream_t stream, bool per_thread = false) {
  HIPRT_TRY(resolve_stream(stream, per_thread));
  HIPRT_TRY(check_copy(parms));
  if (nothing_to_do(parms.extent)) return hipSuccess;
  return submit(stream, CopyOperation{parms});
}

hipError_t per_thread_synchronous(const hipMemcpy3DParms& parms) {
  hipStream_t stream = hipStreamPerThread;
  HIPRT_TRY(resolve_stream(stream));
  if (stream->capture != nullptr) return hipErrorStreamCaptureUnsupported;
  HIPRT_TRY(check_copy(parms));
  HIPRT_TRY(submit_and_wait(stream, CopyOperation{parms}));
  return sticky_error();
}

// How a call waits: on the null stream, on the per-thread stream, or not at all.
struct Way {
  enum Kind { wait_null, wait_per_thread, enqueue } kind = wait_null;
  hipStream_t stream = nullptr;
  bool per_thread = false;
};

hipError_t go(const hipMemcpy3DParms& parms, const Way& way) {
  if (way.kind == Way::enqueue) return asynchronous(parms, way.stream, way.per_thread);
  return way.kind == Way::wait_null ? synchronous(parms) : per_thread_synchronous(parms);
}

const Way kWait{};
const Way kWaitPerThread{Way::wait_per_thread};
Way on(hipStream_t stream) { return {Way::enqueue, stream, false}; }
Way on_spt(hipStream_t stream) { return {Way::enqueue, stream, true}; }

hipError_t copy_linear(void* to, const void* from, size_t bytes, hipMemcpyKind kind, const Way& way) {
  if (!known_kind(kind)) return hipErrorInvalidMemcpyDirection;
  if (bytes == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return hipErrorInvalidValue;
  return go(linear_copy(to, from, bytes, kind), way);
}

hipError_t copy_box(const Side& to, const Side& from, size_t width, size_t height, size_t depth, hipMemcpyKind kind,
                    const Way& way) {
  if (!known_kind(kind)) return hipErrorInvalidMemcpyDirection;
  if (width == 0 || height == 0 || depth == 0) return hipSuccess;
  for (const Side* side : {&to, &from}) {
    if (side->array != nullptr) continue;
    if (side->pointer == nullptr) return hipErrorInvalidValue;
    if (side->pitch != 0 && side->pitch < width) return hipErrorInvalidPitchValue;
  }
  hipMemcpy3DParms parms;
  HIPRT_TRY(box_copy(to, from, width, height, depth, kind, &parms));
  return go(parms, way);
}

hipError_t copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   hipMemcpyKind kind, const Way& way) {
  if (width != 0 && height != 0 && (width > to_pitch || width > from_pitch)) return hipErrorInvalidPitchValue;
  return copy_box(at(to, to_pitch), at(from, from_pitch), width, height, 1, kind, way);
}

// `bytes` that run on over the rows of an array, from byte x of row y.
hipError_t copy_run(hipArray_const_t array, size_t x, size_t y, void* memory, size_t bytes, bool into_array,
                    hipMemcpyKind kind, const Way& way) {
  if (bytes == 0) return hipSuccess;
  if (array == nullptr || memory == nullptr) return hipErrorInvalidValue;
  if (!live_array(array)) return hipErrorInvalidHandle;
  const ArrayView view = view_of(array);
  const size_t row = view.width * view.element;
  if (x >= row || y >= std::max<size_t>(view.height, 1)) return hipErrorInvalidValue;
  char* next = static_cast<char*>(memory);
  while (bytes != 0) {
    const size_t rows = x == 0 && bytes >= row ? bytes / row : 1;
    const size_t width = std::min(bytes, row - x);
    const Side side = in(array, x, y), other = at(static_cast<void*>(next), width);
    HIPRT_TRY(into_array ? copy_box(side, other, width, rows, 1, kind, way)
                         : copy_box(other, side, width, rows, 1, kind, way));
    next += width * rows;
    bytes -= width * rows;
    x = 0;
    y += rows;
  }
  return hipSuccess;
}

hipError_t copy_symbol(const void* symbol, void* memory, size_t bytes, size_t offset, bool into_symbol,
                       hipMemcpyKind kind, const Way& way) {
  if (!known_kind(kind)) return hipErrorInvalidMemcpyDirection;
  const hipMemcpyKind plain = into_symbol ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost;
  if (kind != plain && kind != hipMemcpyDeviceToDevice && kind != hipMemcpyDefault) {
    return hipErrorInvalidMemcpyDirection;
  }
  char* address = nullptr;
  size_t size = 0;
  HIPRT_TRY(variable_of(symbol, current_device(), &address, &size));
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  return into_symbol ? copy_linear(address + offset, memory, bytes, kind, way)
                     : copy_linear(memory, address + offset, bytes, kind, way);
}

Side side_of(hipMemoryType type, const void* host, hipDeviceptr_t device, hipArray_t array, size_t pitch, size_t rows,
             size_t x, size_t y, size_t z) {
  Side side;
  switch (type) {
    case hipMemoryTypeArray:
      side.array = array;
      break;
    case hipMemoryTypeHost:
      side.pointer = const_cast<void*>(host);
      break;
    default:
      side.pointer = device;
  }
  side.pitch = pitch;
  side.rows = rows;
  side.x = x;
  side.y = y;
  side.z = z;
  return side;
}

hipError_t copy_driver(const hip_Memcpy2D* p, const Way& way) {
  if (p == nullptr) return hipErrorInvalidValue;
  return copy_box(side_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch, 0, p->dstXInBytes, p->dstY, 0),
                  side_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch, 0, p->srcXInBytes, p->srcY, 0),
                  p->WidthInBytes, p->Height, 1, hipMemcpyDefault, way);
}

hipError_t copy_driver(const HIP_MEMCPY3D* p, const Way& way) {
  if (p == nullptr) return hipErrorInvalidValue;
  hipMemcpy3DParms parms;
  HIPRT_TRY(parms_of(*p, &parms));
  return nothing_to_do(parms.extent) ? hipSuccess : go(parms, way);
}

// ------------------------------------------------------------------------------------------------- fills

hipError_t fill_box(void* pointer, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
                    size_t depth, size_t slice, const Way& way) {
  FillOperation fill;
  fill.parms.dst = pointer;
  fill.parms.pitch = pitch;
  fill.parms.value = value;
  fill.parms.elementSize = element;
  fill.parms.width = width;
  fill.parms.height = height;
  fill.depth = depth;
  fill.slice = slice;
  if (width == 0 || height == 0 || depth == 0) return hipSuccess;
  hipStream_t stream = way.kind == Way::wait_per_thread ? hipStreamPerThread : way.stream;
  if (way.kind == Way::wait_null) HIPRT_TRY(forbid_while_capturing(hipErrorStreamCaptureImplicit));
  HIPRT_TRY(resolve_stream(stream, way.per_thread));
  HIPRT_TRY(check_fill(fill));
  if (way.kind == Way::enqueue) return submit(stream, fill);
  HIPRT_TRY(submit_and_wait(stream, fill));
  return sticky_error();
}

hipError_t fill_linear(void* pointer, unsigned value, unsigned element, size_t count, const Way& way) {
  return fill_box(pointer, count * element, value, element, count, 1, 1, 0, way);
}

hipError_t fill_3d(const hipPitchedPtr& p, int value, const hipExtent& extent, const Way& way) {
  if (extent.width > p.pitch && extent.height * extent.depth > 1) return hipErrorInvalidValue;
  return fill_box(p.ptr, p.pitch, value & 0xff, 1, extent.width, extent.height, extent.depth, p.pitch * p.ysize, way);
}

}  // namespace

hipMemcpy3DParms linear_copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  hipMemcpy3DParms parms{};
  parms.dstPtr = {to, bytes, bytes, 1};
  parms.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  parms.extent = {bytes, 1, 1};
  parms.kind = kind;
  return parms;
}

hipError_t parms_of(const HIP_MEMCPY3D& p, hipMemcpy3DParms* out) {
  return box_copy(side_of(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstPitch, p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ),
                  side_of(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcPitch, p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ),
                  p.WidthInBytes, p.Height, p.Depth, hipMemcpyDefault, out);
}

hipError_t symbol_parms(const void* symbol, void* memory, size_t bytes, size_t offset, bool into_symbol,
                        hipMemcpyKind kind, hipMemcpy3DParms* out) {
  char* address = nullptr;
  size_t size = 0;
  HIPRT_TRY(variable_of(symbol, current_device(), &address, &size));
  if (memory == nullptr || offset > size || bytes > size - offset) return hipErrorInvalidValue;
  *out = into_symbol ? linear_copy(address + offset, memory, bytes, kind)
                     : linear_copy(memory, address + offset, bytes, kind);
  return hipSuccess;
}

hipError_t check_copy(const hipMemcpy3DParms& parms) {
  if (nothing_to_do(parms.extent)) return hipSuccess;
  Boxes boxes;
  return resolve(parms, &boxes);
}

namespace {
// The emulator's check for uninitialised values follows copies; those that reach the host are findings.
void report_copied(const void* to, const void* from, size_t bytes) {
  const size_t known = hipemu_finding_count(machine());
  const uint64_t added = hipemu_copied(machine(), to, from, bytes);
  for (uint64_t i = 0; i < added; ++i) {
    hipemu_finding finding{};
    if (hipemu_finding_at(machine(), known + i, &finding) == HIPEMU_OK) print_finding(finding);
  }
}
}  // namespace

hipError_t run_copy(const hipMemcpy3DParms& parms) {
  if (nothing_to_do(parms.extent)) return hipSuccess;
  Boxes b;
  HIPRT_TRY(resolve(parms, &b));
  for (size_t z = 0; z < b.depth; ++z) {
    char* to = b.to.base + z * b.to.slice;
    const char* from = b.from.base + z * b.from.slice;
    if (b.to.pitch == b.width && b.from.pitch == b.width) {
      std::memmove(to, from, b.width * b.height);
      report_copied(to, from, b.width * b.height);
      continue;
    }
    for (size_t y = 0; y < b.height; ++y) {
      std::memmove(to + y * b.to.pitch, from + y * b.from.pitch, b.width);
      report_copied(to + y * b.to.pitch, from + y * b.from.pitch, b.width);
    }
  }
  return hipSuccess;
}

hipError_t check_fill(const FillOperation& fill) {
  const hipMemsetParams& p = fill.parms;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return hipErrorInvalidValue;
  if (p.dst == nullptr) return hipErrorInvalidValue;
  if (p.width == 0 || p.height == 0 || fill.depth == 0) return hipSuccess;
  const size_t row = p.width * p.elementSize;
  if (p.height * fill.depth > 1 && p.pitch < row) return hipErrorInvalidValue;
  if (!is_device_side(p.dst)) return hipErrorInvalidValue;
  return check_extent({static_cast<char*>(p.dst), p.pitch, fill.slice}, row, p.height, fill.depth);
}

hipError_t run_fill(const FillOperation& fill) {
  const hipMemsetParams& p = fill.parms;
  for (size_t z = 0; z < fill.depth; ++z) {
    for (size_t y = 0; y < p.height; ++y) {
      char* row = static_cast<char*>(p.dst) + z * fill.slice + y * p.pitch;
      switch (p.elementSize) {
        case 1:
          std::memset(row, static_cast<int>(p.value), p.width);
          break;
        case 2:
          for (size_t x = 0; x < p.width; ++x) std::memcpy(row + 2 * x, &p.value, 2);
          break;
        default:
          for (size_t x = 0; x < p.width; ++x) std::memcpy(row + 4 * x, &p.value, 4);
      }
      report_copied(row, nullptr, p.width * p.elementSize);
    }
  }
  return hipSuccess;
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

// ------------------------------------------------------------------------------------------------- linear

#define LINEAR(name, parameters, to, from, kind, way) \
  hipError_t name parameters {                        \
    return device_api([&] { return copy_linear(to, from, bytes, kind, way); }); \
  }
#if HIP_VERSION_MAJOR >= 7
typedef const void* HostSource;  // of hipMemcpyHtoD
#else
typedef void* HostSource;
#endif
LINEAR(hipMemcpy, (void* to, const void* from, size_t bytes, hipMemcpyKind kind), to, from, kind, kWait)
LINEAR(hipMemcpy_spt, (void* to, const void* from, size_t bytes, hipMemcpyKind kind), to, from, kind, kWaitPerThread)
LINEAR(hipMemcpyAsync, (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t s), to, from, kind, on(s))
LINEAR(hipMemcpyAsync_spt, (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t s), to, from, kind, on_spt(s))
LINEAR(hipMemcpyHtoD, (hipDeviceptr_t to, HostSource from, size_t bytes), to, from, hipMemcpyHostToDevice, kWait)
LINEAR(hipMemcpyDtoH, (void* to, hipDeviceptr_t from, size_t bytes), to, from, hipMemcpyDeviceToHost, kWait)
LINEAR(hipMemcpyDtoD, (hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes), to, from, hipMemcpyDeviceToDevice, kWait)
LINEAR(hipMemcpyHtoDAsync, (hipDeviceptr_t to, HostSource from, size_t bytes, hipStream_t s), to, from, hipMemcpyHostToDevice, on(s))
LINEAR(hipMemcpyDtoHAsync, (void* to, hipDeviceptr_t from, size_t bytes, hipStream_t s), to, from, hipMemcpyDeviceToHost, on(s))
LINEAR(hipMemcpyDtoDAsync, (hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t s), to, from, hipMemcpyDeviceToDevice, on(s))
#undef LINEAR

hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return device_api([&] {
    HIPRT_TRY(copy_linear(to, from, bytes, kind, on(stream)));
    HIPRT_TRY(resolve_stream(stream));
    HIPRT_TRY(wait_for(stream));
    return sticky_error();
  });
}

hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return device_api([&] {
    if (!valid_device(to_device) || !valid_device(from_device)) return hipErrorInvalidDevice;
    return copy_linear(to, from, bytes, hipMemcpyDeviceToDevice, kWait);
  });
}

hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, hipStream_t s) {
  return device_api([&] {
    if (!valid_device(to_device) || !valid_device(from_device)) return hipErrorInvalidDevice;
    return copy_linear(to, from, bytes, hipMemcpyDeviceToDevice, on(s));
  });
}

// ------------------------------------------------------------------------------------------------- symbols

#define SYMBOL(name, into, way, ...)                                                                               \
  hipError_t name(__VA_ARGS__) {                                                                                   \
    return device_api([&] {                                                                                        \
      return copy_symbol(symbol, const_cast<void*>(static_cast<const void*>(memory)), bytes, offset, into, kind, way); \
    });                                                                                                            \
  }
SYMBOL(hipMemcpyToSymbol, true, kWait, const void* symbol, const void* memory, size_t bytes, size_t offset, hipMemcpyKind kind)
SYMBOL(hipMemcpyToSymbol_spt, true, kWaitPerThread, const void* symbol, const void* memory, size_t bytes, size_t offset, hipMemcpyKind kind)
SYMBOL(hipMemcpyToSymbolAsync, true, on(s), const void* symbol, const void* memory, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s)
SYMBOL(hipMemcpyToSymbolAsync_spt, true, on_spt(s), const void* symbol, const void* memory, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s)
SYMBOL(hipMemcpyFromSymbol, false, kWait, void* memory, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
SYMBOL(hipMemcpyFromSymbol_spt, false, kWaitPerThread, void* memory, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
SYMBOL(hipMemcpyFromSymbolAsync, false, on(s), void* memory, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s)
SYMBOL(hipMemcpyFromSymbolAsync_spt, false, on_spt(s), void* memory, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s)
#undef SYMBOL

// ------------------------------------------------------------------------------------------------- 2D, 3D, arrays

#define PITCHED(name, way, ...)                                                                                      \
  hipError_t name(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,       \
                  hipMemcpyKind kind __VA_ARGS__) {                                                                  \
    return device_api([&] { return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, way); });            \
  }
#define COMMA ,
PITCHED(hipMemcpy2D, kWait)
PITCHED(hipMemcpy2D_spt, kWaitPerThread)
PITCHED(hipMemcpy2DAsync, on(s), COMMA hipStream_t s)
PITCHED(hipMemcpy2DAsync_spt, on_spt(s), COMMA hipStream_t s)
#undef PITCHED

#define TO_ARRAY(name, way, ...)                                                                                 \
  hipError_t name(hipArray_t array, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, \
                  hipMemcpyKind kind __VA_ARGS__) {                                                              \
    return device_api([&] {                                                                                      \
      if (array == nullptr) return hipErrorInvalidHandle;                                                        \
      return copy_box(in(array, x, y), at(from, pitch), width, height, 1, kind, way);                            \
    });                                                                                                          \
  }
TO_ARRAY(hipMemcpy2DToArray, kWait)
TO_ARRAY(hipMemcpy2DToArray_spt, kWaitPerThread)
TO_ARRAY(hipMemcpy2DToArrayAsync, on(s), COMMA hipStream_t s)
TO_ARRAY(hipMemcpy2DToArrayAsync_spt, on_spt(s), COMMA hipStream_t s)
#undef TO_ARRAY

#define FROM_ARRAY(name, way, ...)                                                                               \
  hipError_t name(void* to, size_t pitch, hipArray_const_t array, size_t x, size_t y, size_t width, size_t height, \
                  hipMemcpyKind kind __VA_ARGS__) {                                                              \
    return device_api([&] {                                                                                      \
      if (array == nullptr) return hipErrorInvalidHandle;                                                        \
      return copy_box(at(to, pitch), in(array, x, y), width, height, 1, kind, way);                              \
    });                                                                                                          \
  }
FROM_ARRAY(hipMemcpy2DFromArray, kWait)
FROM_ARRAY(hipMemcpy2DFromArray_spt, kWaitPerThread)
FROM_ARRAY(hipMemcpy2DFromArrayAsync, on(s), COMMA hipStream_t s)
FROM_ARRAY(hipMemcpy2DFromArrayAsync_spt, on_spt(s), COMMA hipStream_t s)
#undef FROM_ARRAY
#undef COMMA

hipError_t hipMemcpy2DArrayToArray(hipArray_t to, size_t to_x, size_t to_y, hipArray_const_t from, size_t from_x,
                                   size_t from_y, size_t width, size_t height, hipMemcpyKind kind) {
  return device_api([&] {
    if (to == nullptr || from == nullptr) return hipErrorInvalidHandle;
    return copy_box(in(to, to_x, to_y), in(from, from_x, from_y), width, height, 1, kind, kWait);
  });
}

hipError_t hipMemcpyToArray(hipArray_t array, size_t x, size_t y, const void* from, size_t bytes, hipMemcpyKind kind) {
  return device_api([&] { return copy_run(array, x, y, const_cast<void*>(from), bytes, true, kind, kWait); });
}
hipError_t hipMemcpyFromArray(void* to, hipArray_const_t array, size_t x, size_t y, size_t bytes, hipMemcpyKind kind) {
  return device_api([&] { return copy_run(array, x, y, to, bytes, false, kind, kWait); });
}
hipError_t hipMemcpyFromArray_spt(void* to, hipArray_const_t array, size_t x, size_t y, size_t bytes, hipMemcpyKind kind) {
  return device_api([&] { return copy_run(array, x, y, to, bytes, false, kind, kWaitPerThread); });
}

// The driver's array calls copy one run of bytes of a one-dimensional array.
hipError_t hipMemcpyHtoA(hipArray_t array, size_t offset, const void* from, size_t bytes) {
  return device_api([&] { return copy_run(array, offset, 0, const_cast<void*>(from), bytes, true, hipMemcpyHostToDevice, kWait); });
}
hipError_t hipMemcpyAtoH(void* to, hipArray_t array, size_t offset, size_t bytes) {
  return device_api([&] { return copy_run(array, offset, 0, to, bytes, false, hipMemcpyDeviceToHost, kWait); });
}
hipError_t hipMemcpyHtoAAsync(hipArray_t array, size_t offset, const void* from, size_t bytes, hipStream_t s) {
  return device_api([&] { return copy_run(array, offset, 0, const_cast<void*>(from), bytes, true, hipMemcpyHostToDevice, on(s)); });
}
hipError_t hipMemcpyAtoHAsync(void* to, hipArray_t array, size_t offset, size_t bytes, hipStream_t s) {
  return device_api([&] { return copy_run(array, offset, 0, to, bytes, false, hipMemcpyDeviceToHost, on(s)); });
}
hipError_t hipMemcpyDtoA(hipArray_t array, size_t offset, hipDeviceptr_t from, size_t bytes) {
  return device_api([&] { return copy_run(array, offset, 0, from, bytes, true, hipMemcpyDeviceToDevice, kWait); });
}
hipError_t hipMemcpyAtoD(hipDeviceptr_t to, hipArray_t array, size_t offset, size_t bytes) {
  return device_api([&] { return copy_run(array, offset, 0, to, bytes, false, hipMemcpyDeviceToDevice, kWait); });
}
hipError_t hipMemcpyAtoA(hipArray_t to, size_t to_offset, hipArray_t from, size_t from_offset, size_t bytes) {
  return device_api([&] {
    if (to == nullptr || from == nullptr) return hipErrorInvalidHandle;
    return copy_box(in(to, to_offset, 0), in(from, from_offset, 0), bytes, 1, 1, hipMemcpyDeviceToDevice, kWait);
  });
}

hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) { return device_api([&] { return copy_driver(p, kWait); }); }
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t s) { return device_api([&] { return copy_driver(p, on(s)); }); }
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) { return device_api([&] { return copy_driver(p, kWait); }); }
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* p) { return device_api([&] { return copy_driver(p, kWait); }); }
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* p, hipStream_t s) { return device_api([&] { return copy_driver(p, on(s)); }); }

hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) {
  return device_api([&] { return p == nullptr ? hipErrorInvalidValue : go(*p, kWait); });
}
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) {
  return device_api([&] { return p == nullptr ? hipErrorInvalidValue : go(*p, kWaitPerThread); });
}
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t s) {
  return device_api([&] { return p == nullptr ? hipErrorInvalidValue : go(*p, on(s)); });
}
hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* p, hipStream_t s) {
  return device_api([&] { return p == nullptr ? hipErrorInvalidValue : go(*p, on_spt(s)); });
}

#if HIP_VERSION_MAJOR >= 7
static hipMemcpy3DParms of_peer(const hipMemcpy3DPeerParms& p) {
  return {p.srcArray, p.srcPos, p.srcPtr, p.dstArray, p.dstPos, p.dstPtr, p.extent, hipMemcpyDeviceToDevice};
}
hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms* p) {
  return device_api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    if (!valid_device(p->srcDevice) || !valid_device(p->dstDevice)) return hipErrorInvalidDevice;
    return go(of_peer(*p), kWait);
  });
}
hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms* p, hipStream_t s) {
  return device_api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    if (!valid_device(p->srcDevice) || !valid_device(p->dstDevice)) return hipErrorInvalidDevice;
    return go(of_peer(*p), on(s));
  });
}
hipError_t hipMemcpyBatchAsync(void** to, void** from, size_t* sizes, size_t count, hipMemcpyAttributes*, size_t*, size_t,
                               size_t* failed, hipStream_t s) {
  return device_api([&] {
    if (to == nullptr || from == nullptr || sizes == nullptr || count == 0) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      const hipError_t error = copy_linear(to[i], from[i], sizes[i], hipMemcpyDefault, on(s));
      if (error != hipSuccess) {
        if (failed != nullptr) *failed = i;
        return error;
      }
    }
    return hipSuccess;
  });
}

static Side side_of(const hipMemcpy3DOperand& operand, size_t element) {
  Side side;
  if (operand.type == hipMemcpyOperandTypeArray) {
    side = in(operand.op.array.array, operand.op.array.offset.x * element, operand.op.array.offset.y);
    side.z = operand.op.array.offset.z;
  } else {
    side = at(operand.op.ptr.ptr, operand.op.ptr.rowLength * element);
    side.rows = operand.op.ptr.layerHeight;
  }
  return side;
}
hipError_t hipMemcpy3DBatchAsync(size_t count, hipMemcpy3DBatchOp* list, size_t* failed, unsigned long long flags, hipStream_t s) {
  return device_api([&] {
    if (list == nullptr || count == 0 || flags != 0) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      // Extents and row lengths count elements of the array that takes part; without one they count bytes.
      size_t element = 1;
      for (const hipMemcpy3DOperand* operand : {&list[i].src, &list[i].dst}) {
        if (operand->type == hipMemcpyOperandTypeArray && live_array(operand->op.array.array)) {
          element = view_of(operand->op.array.array).element;
        }
      }
      const hipExtent& e = list[i].extent;
      const hipError_t error = copy_box(side_of(list[i].dst, element), side_of(list[i].src, element), e.width * element, e.height,
                                        e.depth, hipMemcpyDefault, on(s));
      if (error != hipSuccess) {
        if (failed != nullptr) *failed = i;
        return error;
      }
    }
    return hipSuccess;
  });
}
#endif

// ------------------------------------------------------------------------------------------------- fills

hipError_t hipMemset(void* p, int value, size_t n) { return device_api([&] { return fill_linear(p, value & 0xff, 1, n, kWait); }); }
hipError_t hipMemset_spt(void* p, int value, size_t n) { return device_api([&] { return fill_linear(p, value & 0xff, 1, n, kWaitPerThread); }); }
hipError_t hipMemsetAsync(void* p, int value, size_t n, hipStream_t s) { return device_api([&] { return fill_linear(p, value & 0xff, 1, n, on(s)); }); }
hipError_t hipMemsetAsync_spt(void* p, int value, size_t n, hipStream_t s) { return device_api([&] { return fill_linear(p, value & 0xff, 1, n, on_spt(s)); }); }
hipError_t hipMemsetD8(hipDeviceptr_t p, unsigned char value, size_t n) { return device_api([&] { return fill_linear(p, value, 1, n, kWait); }); }
hipError_t hipMemsetD16(hipDeviceptr_t p, unsigned short value, size_t n) { return device_api([&] { return fill_linear(p, value, 2, n, kWait); }); }
hipError_t hipMemsetD32(hipDeviceptr_t p, int value, size_t n) { return device_api([&] { return fill_linear(p, value, 4, n, kWait); }); }
hipError_t hipMemsetD8Async(hipDeviceptr_t p, unsigned char value, size_t n, hipStream_t s) { return device_api([&] { return fill_linear(p, value, 1, n, on(s)); }); }
hipError_t hipMemsetD16Async(hipDeviceptr_t p, unsigned short value, size_t n, hipStream_t s) { return device_api([&] { return fill_linear(p, value, 2, n, on(s)); }); }
hipError_t hipMemsetD32Async(hipDeviceptr_t p, int value, size_t n, hipStream_t s) { return device_api([&] { return fill_linear(p, value, 4, n, on(s)); }); }

#define FILL_2D(name, type, element, way, ...)                                                           \
  hipError_t name(hipDeviceptr_t p, size_t pitch, type value, size_t width, size_t height __VA_ARGS__) { \
    return device_api([&] {                                                                              \
      const unsigned bits = (element) == 1 ? static_cast<unsigned>(value) & 0xff : static_cast<unsigned>(value); \
      return fill_box(p, pitch, bits, element, width, height, 1, 0, way);                                \
    });                                                                                                  \
  }
#define COMMA ,
FILL_2D(hipMemset2D, int, 1, kWait)
FILL_2D(hipMemset2D_spt, int, 1, kWaitPerThread)
FILL_2D(hipMemset2DAsync, int, 1, on(s), COMMA hipStream_t s)
FILL_2D(hipMemset2DAsync_spt, int, 1, on_spt(s), COMMA hipStream_t s)
#if HIP_VERSION_MAJOR >= 7
FILL_2D(hipMemsetD2D8, unsigned char, 1, kWait)
FILL_2D(hipMemsetD2D16, unsigned short, 2, kWait)
FILL_2D(hipMemsetD2D32, unsigned, 4, kWait)
FILL_2D(hipMemsetD2D8Async, unsigned char, 1, on(s), COMMA hipStream_t s)
FILL_2D(hipMemsetD2D16Async, unsigned short, 2, on(s), COMMA hipStream_t s)
FILL_2D(hipMemsetD2D32Async, unsigned, 4, on(s), COMMA hipStream_t s)
#endif
#undef FILL_2D
#undef COMMA

hipError_t hipMemset3D(hipPitchedPtr p, int value, hipExtent extent) { return device_api([&] { return fill_3d(p, value, extent, kWait); }); }
hipError_t hipMemset3D_spt(hipPitchedPtr p, int value, hipExtent extent) { return device_api([&] { return fill_3d(p, value, extent, kWaitPerThread); }); }
hipError_t hipMemset3DAsync(hipPitchedPtr p, int value, hipExtent extent, hipStream_t s) { return device_api([&] { return fill_3d(p, value, extent, on(s)); }); }
hipError_t hipMemset3DAsync_spt(hipPitchedPtr p, int value, hipExtent extent, hipStream_t s) { return device_api([&] { return fill_3d(p, value, extent, on_spt(s)); }); }
}
