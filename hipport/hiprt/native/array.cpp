// Arrays: the opaque storage of textures and surfaces. Only targets with image instructions have them, as on the hardware.
#include "runtime.h"

struct hipArray {
  char* base = nullptr;
  hipChannelFormatDesc desc{};
  hipArray_Format format = HIP_AD_FORMAT_FLOAT;
  unsigned channels = 1;
  size_t width = 0, height = 0, depth = 0;  // elements; 0 where the dimension does not exist
  unsigned flags = 0;
  size_t pitch = 0, slice = 0;
};

namespace hiprt {
namespace {

std::set<hipArray_const_t>& live_arrays() {
  static auto& all = *new std::set<hipArray_const_t>;
  return all;
}

struct FormatRow {
  hipArray_Format format;
  hipChannelFormatKind kind;
  int bits;
};
constexpr FormatRow kFormats[] = {
    {HIP_AD_FORMAT_UNSIGNED_INT8, hipChannelFormatKindUnsigned, 8},   {HIP_AD_FORMAT_UNSIGNED_INT16, hipChannelFormatKindUnsigned, 16},
    {HIP_AD_FORMAT_UNSIGNED_INT32, hipChannelFormatKindUnsigned, 32}, {HIP_AD_FORMAT_SIGNED_INT8, hipChannelFormatKindSigned, 8},
    {HIP_AD_FORMAT_SIGNED_INT16, hipChannelFormatKindSigned, 16},     {HIP_AD_FORMAT_SIGNED_INT32, hipChannelFormatKindSigned, 32},
    {HIP_AD_FORMAT_HALF, hipChannelFormatKindFloat, 16},              {HIP_AD_FORMAT_FLOAT, hipChannelFormatKindFloat, 32},
};

hipError_t create(hipArray_t* out, const hipChannelFormatDesc& desc, hipExtent extent, unsigned flags) {
  if (out == nullptr) return hipErrorInvalidValue;
  auto array = std::make_unique<hipArray>();
  if (!describe(desc, &array->format, &array->channels)) return hipErrorInvalidValue;
  if (extent.width == 0 || (extent.height == 0 && extent.depth != 0 && !(flags & hipArrayLayered))) return hipErrorInvalidValue;
  if (flags & ~(hipArrayLayered | hipArraySurfaceLoadStore | hipArrayCubemap | hipArrayTextureGather)) return hipErrorInvalidValue;
  HIPRT_TRY(forbid_unsafe_while_capturing());
  HIPRT_TRY(need_images("arrays"));
  if (flags & hipArrayCubemap) {
    report_once("AMD's driver has no cubemaps");
    return hipErrorNotSupported;
  }
  const size_t limit = extent.depth != 0 && !(flags & hipArrayLayered) ? 8192 : 16384;
  if (extent.width > limit || extent.height > limit || extent.depth > 8192) return hipErrorInvalidValue;
  array->desc = desc;
  array->width = extent.width;
  array->height = extent.height;
  array->depth = extent.depth;
  array->flags = flags;
  const size_t row = extent.width * element_bytes(desc);
  array->pitch = (row + 255) / 256 * 256;
  array->slice = array->pitch * std::max<size_t>(extent.height, 1);
  void* base = nullptr;
  HIPRT_TRY(allocate(&base, array->slice * std::max<size_t>(extent.depth, 1), MemoryKind::device, 0));
  array->base = static_cast<char*>(base);
  live_arrays().insert(array.get());
  *out = array.release();
  return hipSuccess;
}

hipError_t destroy(hipArray_t array) {
  if (array == nullptr) return hipErrorInvalidValue;
  if (live_arrays().erase(array) == 0) return hipErrorContextIsDestroyed;
  HIPRT_TRY(wait_for_device(current_device()));
  if (Allocation* a = find_allocation(array->base)) release(a);
  delete array;
  return hipSuccess;
}

}  // namespace

// 1, 2 or 4 channels of one width.
bool describe(const hipChannelFormatDesc& desc, hipArray_Format* format, unsigned* channels) {
  const int widths[] = {desc.x, desc.y, desc.z, desc.w};
  unsigned n = 0;
  while (n < 4 && widths[n] != 0) ++n;
  for (unsigned i = 0; i < 4; ++i) {
    if (widths[i] != (i < n ? desc.x : 0)) return false;
  }
  if (n != 1 && n != 2 && n != 4) return false;
  *channels = n;
  for (const FormatRow& row : kFormats) {
    if (row.kind == desc.f && row.bits == desc.x) {
      *format = row.format;
      return true;
    }
  }
  return false;
}

bool describe(hipArray_Format format, unsigned channels, hipChannelFormatDesc* desc) {
  if (channels != 1 && channels != 2 && channels != 4) return false;
  for (const FormatRow& row : kFormats) {
    if (row.format != format) continue;
    *desc = {row.bits, channels >= 2 ? row.bits : 0, channels == 4 ? row.bits : 0, channels == 4 ? row.bits : 0, row.kind};
    return true;
  }
  return false;
}

hipError_t need_images(const char* what) {
  if (device().images) return hipSuccess;
  report_once(std::string(what) + " need a target with image instructions (gfx90a, gfx1100, gfx1201), " + settings().target + " has none");
  return hipErrorNotSupported;
}

void forget_array(const void* memory) {
  for (hipArray_const_t array : live_arrays()) {
    if (array->base != memory) continue;
    live_arrays().erase(array);
    delete array;
    return;
  }
}

size_t element_bytes(const hipChannelFormatDesc& desc) { return static_cast<size_t>(desc.x + desc.y + desc.z + desc.w) / 8; }
bool live_array(hipArray_const_t array) { return live_arrays().count(array) != 0; }

ArrayView view_of(hipArray_const_t a) {
  return {a->base, a->pitch, a->slice, element_bytes(a->desc), a->width, a->height, a->depth, a->desc, a->flags};
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) { return {x, y, z, w, kind}; }

hipError_t hipMallocArray(hipArray_t* out, const hipChannelFormatDesc* desc, size_t width, size_t height, unsigned flags) {
  return device_api([&] { return desc == nullptr ? hipErrorInvalidValue : create(out, *desc, {width, height, 0}, flags); });
}

hipError_t hipMalloc3DArray(hipArray_t* out, const hipChannelFormatDesc* desc, hipExtent extent, unsigned flags) {
  return device_api([&] { return desc == nullptr ? hipErrorInvalidValue : create(out, *desc, extent, flags); });
}

hipError_t hipArrayCreate(hipArray_t* out, const HIP_ARRAY_DESCRIPTOR* p) {
  return device_api([&] {
    hipChannelFormatDesc desc{};
    if (p == nullptr || !describe(p->Format, p->NumChannels, &desc)) return hipErrorInvalidValue;
    return create(out, desc, {p->Width, p->Height, 0}, 0);
  });
}

hipError_t hipArray3DCreate(hipArray_t* out, const HIP_ARRAY3D_DESCRIPTOR* p) {
  return device_api([&] {
    hipChannelFormatDesc desc{};
    if (p == nullptr || !describe(p->Format, p->NumChannels, &desc)) return hipErrorInvalidValue;
    return create(out, desc, {p->Width, p->Height, p->Depth}, p->Flags);
  });
}

hipError_t hipFreeArray(hipArray_t array) { return device_api([&] { return destroy(array); }); }
hipError_t hipArrayDestroy(hipArray_t array) { return device_api([&] { return destroy(array); }); }

hipError_t hipArrayGetInfo(hipChannelFormatDesc* desc, hipExtent* extent, unsigned* flags, hipArray_t array) {
  return api([&] {
    if (!live_array(array)) return hipErrorInvalidHandle;
    if (desc != nullptr) *desc = array->desc;
    if (extent != nullptr) *extent = {array->width, array->height, array->depth};
    if (flags != nullptr) *flags = array->flags;
    return hipSuccess;
  });
}

hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR* out, hipArray_t array) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!live_array(array)) return hipErrorInvalidHandle;
    *out = {array->width, array->height, array->format, array->channels};
    return hipSuccess;
  });
}

hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR* out, hipArray_t array) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!live_array(array)) return hipErrorInvalidHandle;
    *out = {array->width, array->height, array->depth, array->format, array->channels, array->flags};
    return hipSuccess;
  });
}

hipError_t hipGetChannelDesc(hipChannelFormatDesc* out, hipArray_const_t array) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    if (!live_array(array)) return hipErrorInvalidHandle;
    *out = array->desc;
    return hipSuccess;
  });
}
}
