// Texture and surface objects: what kernels see of one is an image resource, a sampler and three words for the device library,
// in device memory. Layouts: "Vega", RDNA3 and RDNA4 instruction set manuals; the values that AMD's driver chooses: ROCR-Runtime,
// image_manager_{ai,gfx11,gfx12}.cpp. Which descriptions are refused: clr, hip_texture.cpp.
#include "runtime.h"

namespace hiprt {
namespace {

enum class ImageLayout { gfx9, gfx11, gfx12 };

ImageLayout image_layout() {
  const int major = device().properties.major;
  return major >= 12 ? ImageLayout::gfx12 : major == 11 ? ImageLayout::gfx11 : ImageLayout::gfx9;
}

enum ImageType : unsigned { kImage1D = 8, kImage2D = 9, kImage3D = 10, kImage1DArray = 12, kImage2DArray = 13 };
// HSA's names of a channel type and order: kernels read them to turn CUDA's byte offsets of surfaces into texels.
enum ChannelOrder : unsigned { kOrderR = 1, kOrderRg = 3, kOrderRgba = 8, kOrderSrgba = 14 };

// How the bits of a channel become a number.
enum class Numeric { unorm, snorm, uint, sint, real, srgb };

struct TexelFormat {
  unsigned channels = 0, bits = 0;
  Numeric numeric = Numeric::unorm;
  size_t bytes() const { return channels * bits / 8; }
};

bool texel_format(const hipChannelFormatDesc& desc, bool normalised, bool srgb, TexelFormat* out) {
  hipArray_Format format;
  unsigned channels;
  if (!describe(desc, &format, &channels)) return false;
  const unsigned bits = static_cast<unsigned>(desc.x);
  const bool to_real = normalised && bits < 32;  // integers of 32 bits are not promoted
  if (desc.f == hipChannelFormatKindFloat) *out = {channels, bits, Numeric::real};
  else if (desc.f == hipChannelFormatKindSigned) *out = {channels, bits, to_real ? Numeric::snorm : Numeric::sint};
  else *out = {channels, bits, to_real ? (srgb && channels == 4 && bits == 8 ? Numeric::srgb : Numeric::unorm) : Numeric::uint};
  return true;
}

struct FormatNumbers {
  unsigned hsa_type;       // hsa_ext_image_channel_type_t
  unsigned gfx9_numeric;   // NUM_FORMAT
  unsigned step;           // position behind the first unified format of the layout
};
FormatNumbers numbers_of(const TexelFormat& f) {
  const unsigned width = f.bits == 8 ? 0 : f.bits == 16 ? 1 : 2;
  const bool wide = f.bits == 32;
  switch (f.numeric) {
    case Numeric::snorm: return {0 + width, 1, 1};
    case Numeric::unorm: return {2 + width, 0, 0};
    case Numeric::srgb: return {2, 9, 0};
    case Numeric::sint: return {8 + width, 5, wide ? 1u : 5u};
    case Numeric::uint: return {11 + width, 4, wide ? 0u : 4u};
    case Numeric::real: return {wide ? 15u : 14u, 7, wide ? 2u : 6u};
  }
  return {};
}

unsigned unified_format(const TexelFormat& f) {  // gfx11, gfx12
  if (f.numeric == Numeric::srgb) return 66;
  const unsigned column = f.bits == 8 ? 0 : f.bits == 16 ? 1 : 2, row = f.channels == 4 ? 2 : f.channels - 1;
  static constexpr unsigned first[3][3] = {{1, 7, 20}, {14, 23, 48}, {42, 51, 61}};
  return first[row][column] + numbers_of(f).step;
}

unsigned data_format(const TexelFormat& f) {  // gfx9
  const unsigned column = f.bits == 8 ? 0 : f.bits == 16 ? 1 : 2, row = f.channels == 4 ? 2 : f.channels - 1;
  static constexpr unsigned number[3][3] = {{1, 2, 4}, {3, 5, 11}, {10, 12, 14}};
  return number[row][column];
}

// Channels that are not there read as 0, the fourth as 1.
unsigned component_selection(const TexelFormat& f) {
  return 4u | (f.channels > 1 ? 5u : 0u) << 3 | (f.channels > 2 ? 6u : 0u) << 6 | (f.channels > 3 ? 7u : 1u) << 9;
}

struct ImageView {
  uint64_t address = 0;
  TexelFormat format;
  unsigned type = kImage2D;
  size_t width = 1, height = 1, slices = 1, pitch = 0;  // texels; pitch: bytes
};

void write_library_words(const ImageView& image, uint32_t* words) {
  const unsigned n = image.format.channels;
  words[8] = numbers_of(image.format).hsa_type;
  words[9] = image.format.numeric == Numeric::srgb ? kOrderSrgba : n == 1 ? kOrderR : n == 2 ? kOrderRg : kOrderRgba;
  words[10] = static_cast<uint32_t>(image.width);
}

void write_image(const ImageView& image, uint32_t* words) {
  const auto width = static_cast<uint32_t>(image.width - 1), height = static_cast<uint32_t>(image.height - 1);
  const auto pitch = static_cast<uint32_t>(image.pitch / image.format.bytes() - 1);
  const auto last_slice = static_cast<uint32_t>(image.slices - 1);
  const bool flat = image.type == kImage1D || image.type == kImage2D;
  words[0] = static_cast<uint32_t>(image.address >> 8);
  words[1] = static_cast<uint32_t>(image.address >> 40) & 0xff;
  words[3] = component_selection(image.format) | image.type << 28;  // linear, one level
  switch (image_layout()) {
    case ImageLayout::gfx9:
      words[1] |= data_format(image.format) << 20 | numbers_of(image.format).gfx9_numeric << 26;
      words[2] = width | height << 14;
      words[4] = (flat ? 0 : last_slice) | pitch << 13;
      break;
    case ImageLayout::gfx11:
      words[1] |= unified_format(image.format) << 20 | (width & 3) << 30;
      words[2] = width >> 2 | height << 14;
      words[4] = flat ? pitch : last_slice;
      break;
    case ImageLayout::gfx12:
      words[1] |= unified_format(image.format) << 17 | (width & 3) << 30;
      words[2] = width >> 2 | height << 14;
      words[4] = flat ? pitch : last_slice;
      break;
  }
  write_library_words(image, words);
}

// Memory as a sequence of texels; indices outside read as 0.
void write_buffer(const ImageView& image, uint32_t* words) {
  words[0] = static_cast<uint32_t>(image.address);
  words[1] = (static_cast<uint32_t>(image.address >> 32) & 0xffff) | static_cast<uint32_t>(image.format.bytes()) << 16;
  words[2] = static_cast<uint32_t>(image.width);
  words[3] = component_selection(image.format);
  if (image_layout() == ImageLayout::gfx9) words[3] |= numbers_of(image.format).gfx9_numeric << 12 | data_format(image.format) << 15;
  else words[3] |= unified_format(image.format) << 12;
  write_library_words(image, words);
}

void write_sampler(const hipTextureDesc& texture, uint32_t* words) {
  static constexpr uint32_t clamp[] = {0, 2, 1, 6};  // wrap, clamp, mirror, border in the sampler's numbers
  for (int k = 0; k < 3; ++k) {
    hipTextureAddressMode mode = texture.addressMode[k];
    const bool periodic = mode == hipAddressModeWrap || mode == hipAddressModeMirror;
    if (periodic && texture.normalizedCoords == 0) mode = hipAddressModeClamp;
    words[0] |= clamp[mode] << (3 * k);
  }
  if (texture.normalizedCoords == 0) words[0] |= 1u << 15;
  words[1] = 4095u << 12;  // highest level
  if (texture.filterMode == hipFilterModeLinear) words[2] = 1u << 20 | 1u << 22;
}

struct ImageObject {
  hipResourceDesc resource{};
  hipTextureDesc texture{};
  hipResourceViewDesc view{};
};
std::map<const void*, ImageObject>& live_textures() {
  static auto& all = *new std::map<const void*, ImageObject>;
  return all;
}
std::map<const void*, ImageObject>& live_surfaces() {
  static auto& all = *new std::map<const void*, ImageObject>;
  return all;
}

hipError_t cannot(const char* reason) {
  report_once(std::string("textures: ") + reason);
  return hipErrorNotSupported;
}

ImageView view_of_array(hipArray_const_t array, const TexelFormat& format) {
  const ArrayView a = view_of(array);
  ImageView image;
  image.address = reinterpret_cast<uint64_t>(a.base);
  image.format = format;
  image.width = a.width;
  image.height = std::max<size_t>(a.height, 1);
  image.slices = std::max<size_t>(a.depth, 1);
  image.pitch = a.pitch;
  if (a.flags & hipArrayLayered) image.type = a.height == 0 ? kImage1DArray : kImage2DArray;
  else image.type = a.depth != 0 ? kImage3D : a.height != 0 ? kImage2D : kImage1D;
  return image;
}

// Words of the object in device memory, all 0.
hipError_t object_memory(size_t words, uint32_t** out) {
  void* memory = nullptr;
  HIPRT_TRY(allocate(&memory, words * 4, MemoryKind::device, 0));
  std::memset(memory, 0, words * 4);
  *out = static_cast<uint32_t*>(memory);
  return hipSuccess;
}

hipChannelFormatDesc view_channels(hipResourceViewFormat format) {
  // Unsigned and signed integers of 8, 16 and 32 bits, then half and float; each with 1, 2 and 4 channels.
  const int n = static_cast<int>(format) - 1, kind = n / 3, channels = n % 3 == 2 ? 4 : n % 3 + 1;
  static constexpr int bits[] = {8, 8, 16, 16, 32, 32, 16, 32};
  if (n < 0 || kind >= 8) return {};
  const int b = bits[kind];
  const hipChannelFormatKind meaning = kind >= 6 ? hipChannelFormatKindFloat : kind % 2 ? hipChannelFormatKindSigned : hipChannelFormatKindUnsigned;
  return {b, channels > 1 ? b : 0, channels > 2 ? b : 0, channels > 3 ? b : 0, meaning};
}

hipError_t check_texture(const hipResourceDesc& resource, const hipTextureDesc& texture, const hipResourceViewDesc* view) {
  const bool array = resource.resType == hipResourceTypeArray;
  if (view != nullptr && !array && resource.resType != hipResourceTypeMipmappedArray) return hipErrorInvalidValue;
  for (hipTextureAddressMode mode : texture.addressMode) {
    if (mode < hipAddressModeWrap || mode > hipAddressModeBorder) return hipErrorInvalidValue;
  }
  if (array && !live_array(resource.res.array.array)) return hipErrorInvalidValue;
  if (array && device().properties.major == 9 && view_of(resource.res.array.array).depth > 0 && texture.filterMode == hipFilterModeLinear)
    return cannot("gfx90a has no linear filter of images with a third dimension");
  const hipDeviceProp_tR0600& limits = device().properties;
  if (resource.resType == hipResourceTypeLinear) {
    const auto& linear = resource.res.linear;
    const size_t element = element_bytes(linear.desc);
    if (linear.devPtr == nullptr || reinterpret_cast<uintptr_t>(linear.devPtr) % limits.textureAlignment != 0 || element == 0) return hipErrorInvalidValue;
    if (linear.sizeInBytes / element == 0 || linear.sizeInBytes / element > static_cast<size_t>(limits.maxTexture1DLinear)) return hipErrorInvalidValue;
  }
  if (resource.resType == hipResourceTypePitch2D) {
    const auto& plane = resource.res.pitch2D;
    const size_t element = element_bytes(plane.desc);
    if (plane.devPtr == nullptr || reinterpret_cast<uintptr_t>(plane.devPtr) % limits.textureAlignment != 0 || element == 0) return hipErrorInvalidValue;
    if (plane.width == 0 || plane.height == 0 || plane.width > 16384 || plane.height > 16384) return hipErrorInvalidValue;
    if (plane.pitchInBytes % limits.texturePitchAlignment != 0 || plane.pitchInBytes < plane.width * element) return hipErrorInvalidValue;
    if (plane.pitchInBytes / element > 16384) return hipErrorInvalidValue;
  }
  if (resource.resType == hipResourceTypeMipmappedArray) return cannot("mipmapped arrays are not emulated");
  if (texture.maxAnisotropy != 0) return cannot("HIP has no anisotropic filter (maxAnisotropy must be 0)");
  if (texture.mipmapLevelBias != 0 || texture.minMipmapLevelClamp != 0 || texture.maxMipmapLevelClamp != 0)
    return cannot("HIP has no mipmap bias and clamps (they must be 0)");
  return hipSuccess;
}

hipError_t make_texture(hipTextureObject_t* out, const hipResourceDesc* resource, const hipTextureDesc* texture, const hipResourceViewDesc* view) {
  HIPRT_TRY(need_images("textures"));
  if (out == nullptr || resource == nullptr || texture == nullptr) return hipErrorInvalidValue;
  HIPRT_TRY(check_texture(*resource, *texture, view));
  HIPRT_TRY(forbid_unsafe_while_capturing());
  const bool linear = resource->resType == hipResourceTypeLinear;
  const hipChannelFormatDesc stored = resource->resType == hipResourceTypeArray ? view_of(resource->res.array.array).desc
                                      : linear ? resource->res.linear.desc : resource->res.pitch2D.desc;
  const bool viewed = view != nullptr && view->format != hipResViewFormatNone;
  const hipChannelFormatDesc seen = viewed ? view_channels(view->format) : stored;
  TexelFormat format;
  if (!texel_format(seen, texture->readMode == hipReadModeNormalizedFloat, texture->sRGB != 0, &format)) return hipErrorInvalidValue;
  if (format.bytes() != element_bytes(stored)) return hipErrorInvalidValue;
  if (!linear && texture->filterMode == hipFilterModeLinear && (format.numeric == Numeric::uint || format.numeric == Numeric::sint))
    report_once("textures: integers that are read as integers are not filtered: the nearest one is taken");
  for (float c : texture->borderColor) {
    if (c != 0) report_once("textures: AMD's driver ignores borderColor; outside of an image everything is 0");
  }
  ImageView image;
  if (resource->resType == hipResourceTypeArray) {
    image = view_of_array(resource->res.array.array, format);
  } else if (linear) {
    image.address = reinterpret_cast<uint64_t>(resource->res.linear.devPtr);
    image.format = format;
    image.width = resource->res.linear.sizeInBytes / format.bytes();
  } else {
    const auto& plane = resource->res.pitch2D;
    image.address = reinterpret_cast<uint64_t>(plane.devPtr);
    image.format = format;
    image.width = plane.width;
    image.height = plane.height;
    image.pitch = plane.pitchInBytes;
  }
  uint32_t* words = nullptr;
  HIPRT_TRY(object_memory(HIP_TEXTURE_OBJECT_SIZE_DWORD, &words));
  if (linear) write_buffer(image, words); else write_image(image, words);
  write_sampler(*texture, words + HIP_SAMPLER_OBJECT_OFFSET_DWORD);
  live_textures()[words] = {*resource, *texture, view != nullptr ? *view : hipResourceViewDesc{}};
  *out = reinterpret_cast<hipTextureObject_t>(words);
  return hipSuccess;
}

hipError_t make_surface(hipSurfaceObject_t* out, const hipResourceDesc* resource) {
  HIPRT_TRY(need_images("surfaces"));
  if (out == nullptr || resource == nullptr || resource->resType != hipResourceTypeArray) return hipErrorInvalidValue;
  if (!live_array(resource->res.array.array)) return hipErrorInvalidValue;
  const ArrayView array = view_of(resource->res.array.array);
  if (array.flags != hipArrayDefault && !(array.flags & hipArraySurfaceLoadStore)) return hipErrorInvalidValue;
  HIPRT_TRY(forbid_unsafe_while_capturing());
  TexelFormat format;
  if (!texel_format(array.desc, false, false, &format)) return hipErrorInvalidValue;
  uint32_t* words = nullptr;
  HIPRT_TRY(object_memory(HIP_IMAGE_OBJECT_SIZE_DWORD, &words));
  write_image(view_of_array(resource->res.array.array, format), words);
  live_surfaces()[words] = {*resource, {}, {}};
  *out = reinterpret_cast<hipSurfaceObject_t>(words);
  return hipSuccess;
}

hipError_t destroy_object(std::map<const void*, ImageObject>& live, const void* object) {
  if (object == nullptr) return hipSuccess;
  if (live.erase(object) == 0) return hipErrorInvalidValue;
  HIPRT_TRY(wait_for_device(current_device()));
  if (Allocation* a = find_allocation(object)) release(a);
  return hipSuccess;
}

template <class Result>
hipError_t query(Result* out, hipTextureObject_t object, Result ImageObject::*member) {
  HIPRT_TRY(need_images("textures"));
  if (out == nullptr) return hipErrorInvalidValue;
  const auto found = live_textures().find(object);
  if (found == live_textures().end()) return hipErrorInvalidValue;
  *out = found->second.*member;
  return hipSuccess;
}

// ---- the driver's descriptions -----------------------------------------------------------------------------------------

// Both descriptions have the same fields; the channels differ.
template <class From, class To>
void copy_plane(const From& from, To* to) {
  to->devPtr = from.devPtr;
  to->width = from.width;
  to->height = from.height;
  to->pitchInBytes = from.pitchInBytes;
}

bool runtime_form(const HIP_RESOURCE_DESC& from, hipResourceDesc* to) {
  *to = {};
  switch (from.resType) {
    case HIP_RESOURCE_TYPE_ARRAY:
      to->resType = hipResourceTypeArray;
      to->res.array.array = from.res.array.hArray;
      return true;
    case HIP_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      to->resType = hipResourceTypeMipmappedArray;
      to->res.mipmap.mipmap = from.res.mipmap.hMipmappedArray;
      return true;
    case HIP_RESOURCE_TYPE_LINEAR:
      to->resType = hipResourceTypeLinear;
      to->res.linear.devPtr = from.res.linear.devPtr;
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return describe(from.res.linear.format, from.res.linear.numChannels, &to->res.linear.desc);
    case HIP_RESOURCE_TYPE_PITCH2D:
      to->resType = hipResourceTypePitch2D;
      copy_plane(from.res.pitch2D, &to->res.pitch2D);
      return describe(from.res.pitch2D.format, from.res.pitch2D.numChannels, &to->res.pitch2D.desc);
  }
  return false;
}

bool driver_form(const hipResourceDesc& from, HIP_RESOURCE_DESC* to) {
  *to = {};
  switch (from.resType) {
    case hipResourceTypeArray:
      to->resType = HIP_RESOURCE_TYPE_ARRAY;
      to->res.array.hArray = from.res.array.array;
      return true;
    case hipResourceTypeLinear:
      to->resType = HIP_RESOURCE_TYPE_LINEAR;
      to->res.linear.devPtr = from.res.linear.devPtr;
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return describe(from.res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels);
    case hipResourceTypePitch2D:
      to->resType = HIP_RESOURCE_TYPE_PITCH2D;
      copy_plane(from.res.pitch2D, &to->res.pitch2D);
      return describe(from.res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels);
    default: return false;
  }
}

hipTextureDesc runtime_form(const HIP_TEXTURE_DESC& from) {
  hipTextureDesc to{};
  for (int k = 0; k < 3; ++k) to.addressMode[k] = static_cast<hipTextureAddressMode>(from.addressMode[k]);
  to.filterMode = static_cast<hipTextureFilterMode>(from.filterMode);
  to.readMode = from.flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
  to.sRGB = from.flags & HIP_TRSF_SRGB ? 1 : 0;
  to.normalizedCoords = from.flags & HIP_TRSF_NORMALIZED_COORDINATES ? 1 : 0;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<hipTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  return to;
}

HIP_TEXTURE_DESC driver_form(const hipTextureDesc& from) {
  HIP_TEXTURE_DESC to{};
  for (int k = 0; k < 3; ++k) to.addressMode[k] = static_cast<HIPaddress_mode>(from.addressMode[k]);
  to.filterMode = static_cast<HIPfilter_mode>(from.filterMode);
  to.flags = (from.readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) | (from.sRGB ? HIP_TRSF_SRGB : 0u) |
             (from.normalizedCoords ? HIP_TRSF_NORMALIZED_COORDINATES : 0u);
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<HIPfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  return to;
}

// Both views have the same fields and format numbers.
template <class To, class From>
To converted_view(const From& from) {
  To to{};
  to.format = static_cast<decltype(to.format)>(from.format);
  to.width = from.width;
  to.height = from.height;
  to.depth = from.depth;
  to.firstMipmapLevel = from.firstMipmapLevel;
  to.lastMipmapLevel = from.lastMipmapLevel;
  to.firstLayer = from.firstLayer;
  to.lastLayer = from.lastLayer;
  return to;
}

}  // namespace

void forget_image_object(const void* memory) {
  live_textures().erase(memory);
  live_surfaces().erase(memory);
}

}  // namespace hiprt

using namespace hiprt;

extern "C" {

hipError_t hipCreateTextureObject(hipTextureObject_t* out, const hipResourceDesc* resource, const hipTextureDesc* texture,
                                  const hipResourceViewDesc* view) {
  return device_api([&] { return make_texture(out, resource, texture, view); });
}
hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
  return device_api([&] { return destroy_object(live_textures(), object); });
}
hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* out, hipTextureObject_t object) {
  return api([&] { return query(out, object, &ImageObject::resource); });
}
hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc* out, hipTextureObject_t object) {
  return api([&] { return query(out, object, &ImageObject::view); });
}
hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* out, hipTextureObject_t object) {
  return api([&] { return query(out, object, &ImageObject::texture); });
}

hipError_t hipTexObjectCreate(hipTextureObject_t* out, const HIP_RESOURCE_DESC* resource, const HIP_TEXTURE_DESC* texture,
                              const HIP_RESOURCE_VIEW_DESC* view) {
  return device_api([&] {
    hipResourceDesc r;
    if (out == nullptr || resource == nullptr || texture == nullptr || !runtime_form(*resource, &r)) return hipErrorInvalidValue;
    const hipTextureDesc t = runtime_form(*texture);
    if (view == nullptr) return make_texture(out, &r, &t, nullptr);
    const auto v = converted_view<hipResourceViewDesc>(*view);
    return make_texture(out, &r, &t, &v);
  });
}
hipError_t hipTexObjectDestroy(hipTextureObject_t object) {
  return device_api([&] { return destroy_object(live_textures(), object); });
}
hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC* out, hipTextureObject_t object) {
  return api([&] {
    hipResourceDesc found;
    if (out == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(query(&found, object, &ImageObject::resource));
    return driver_form(found, out) ? hipSuccess : hipErrorInvalidValue;
  });
}
hipError_t hipTexObjectGetResourceViewDesc(HIP_RESOURCE_VIEW_DESC* out, hipTextureObject_t object) {
  return api([&] {
    hipResourceViewDesc found;
    if (out == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(query(&found, object, &ImageObject::view));
    *out = converted_view<HIP_RESOURCE_VIEW_DESC>(found);
    return hipSuccess;
  });
}
hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC* out, hipTextureObject_t object) {
  return api([&] {
    hipTextureDesc found;
    if (out == nullptr) return hipErrorInvalidValue;
    HIPRT_TRY(query(&found, object, &ImageObject::texture));
    *out = driver_form(found);
    return hipSuccess;
  });
}

hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* out, const hipResourceDesc* resource) {
  return device_api([&] { return make_surface(out, resource); });
}
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object) {
  return device_api([&] { return destroy_object(live_surfaces(), object); });
}
}
