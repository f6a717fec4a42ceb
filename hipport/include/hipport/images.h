// CUDA's surface functions and tex2Dgather over HIP's image library.
//
// HIP's own surface functions differ: they return nothing, have no boundary mode for planes and volumes, convert between the element type and
// the surface's format instead of moving bytes, and their layered forms pass the layer as mip level. These follow the CUDA C++
// programming guide, "Surface Functions": x in bytes, elements as they lie in memory. Accesses outside of the surface read 0 and
// write nothing, or are clamped; hipBoundaryModeTrap does not trap. An element of another size than the surface's traps.
// There are none on targets without image instructions (gfx942, gfx950).
#pragma once

#include <hip/hip_runtime.h>

extern "C" {
__device__ int __ockl_image_width_1D(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_width_1Da(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_width_2D(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_width_2Da(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_width_3D(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_height_2D(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_height_2Da(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_height_3D(unsigned int ADDRESS_SPACE_CONSTANT*);
__device__ int __ockl_image_depth_3D(unsigned int ADDRESS_SPACE_CONSTANT*);
}

namespace hipport {

// HIP's takes the component from 1 (red) to 3, anything else for alpha; its pointer form samples a cubemap.
template <typename T>
__device__ __hip_img_chk__ inline T tex2Dgather(hipTextureObject_t texture, float x, float y, int component = 0) {
  return ::tex2Dgather<T>(texture, x, y, component + 1);
}
template <typename T>
__device__ __hip_img_chk__ inline void tex2Dgather(T* value, hipTextureObject_t texture, float x, float y, int component = 0) {
  *value = ::tex2Dgather<T>(texture, x, y, component + 1);
}

namespace surface_detail {

using Words = unsigned int ADDRESS_SPACE_CONSTANT*;
using Texel = float4::Native_vec_;

// hsa_ext_image_channel_type_t and _order_t, which the runtime puts behind the image resource.
enum ChannelType : int { snorm16 = 1, unorm16 = 3, signed8 = 8, signed16 = 9, signed32 = 10, unsigned16 = 12, unsigned32 = 13, half = 14, single = 15 };
enum ChannelOrder : int { order_r = 1, order_rg = 3 };

__device__ inline Words words(hipSurfaceObject_t surface) { return (Words)surface; }

__device__ inline int channel_bits(int type) {
  if (type == signed32 || type == unsigned32 || type == single) return 32;
  return type == snorm16 || type == unorm16 || type == signed16 || type == unsigned16 || type == half ? 16 : 8;
}

template <typename T>
__device__ inline int checked_type(Words w) {
  const int type = static_cast<int>(w[8]);
  const int order = static_cast<int>(w[9]);
  const int channels = order == order_r ? 1 : order == order_rg ? 2 : 4;
  if (channels * channel_bits(type) != 8 * static_cast<int>(sizeof(T))) asm volatile("s_trap 2");
  return type;
}

// Bytes of memory from what an image load gives: one register for each channel.
template <typename T>
__device__ inline T packed(Words w, Texel texel) {
  const int type = checked_type<T>(w);
  unsigned int channel[4];
  __builtin_memcpy(channel, &texel, sizeof channel);
  unsigned int raw[4] = {channel[0], channel[1], channel[2], channel[3]};
  if (channel_bits(type) == 16) {
    for (int k = 0; k < 4; ++k) {
      if (type == half) {
        const _Float16 h = static_cast<_Float16>(__builtin_bit_cast(float, channel[k]));
        channel[k] = __builtin_bit_cast(unsigned short, h);
      }
    }
    raw[0] = (channel[0] & 0xffffu) | channel[1] << 16;
    raw[1] = (channel[2] & 0xffffu) | channel[3] << 16;
  } else if (channel_bits(type) == 8) {
    raw[0] = (channel[0] & 0xffu) | (channel[1] & 0xffu) << 8 | (channel[2] & 0xffu) << 16 | channel[3] << 24;
  }
  T value;
  __builtin_memcpy(&value, raw, sizeof value);
  return value;
}

template <typename T>
__device__ inline Texel unpacked(Words w, T value) {
  const int type = checked_type<T>(w);
  unsigned int raw[4] = {0, 0, 0, 0};
  __builtin_memcpy(raw, &value, sizeof value);
  unsigned int channel[4] = {raw[0], raw[1], raw[2], raw[3]};
  if (channel_bits(type) == 16) {
    for (int k = 0; k < 4; ++k) {
      const unsigned int bits = raw[k / 2] >> (k % 2 * 16) & 0xffffu;
      channel[k] = bits;
      if (type == signed16) channel[k] = static_cast<unsigned int>(static_cast<int>(static_cast<short>(bits)));
      if (type == half) {
        const auto h = __builtin_bit_cast(_Float16, static_cast<unsigned short>(bits));
        channel[k] = __builtin_bit_cast(unsigned int, static_cast<float>(h));
      }
    }
  } else if (channel_bits(type) == 8) {
    for (int k = 0; k < 4; ++k) {
      const unsigned int bits = raw[0] >> (8 * k) & 0xffu;
      channel[k] = type == signed8 ? static_cast<unsigned int>(static_cast<int>(static_cast<signed char>(bits))) : bits;
    }
  }
  Texel texel;
  __builtin_memcpy(&texel, channel, sizeof channel);
  return texel;
}

template <typename T>
__device__ inline int column(int bytes) {
  return bytes >= 0 ? bytes / static_cast<int>(sizeof(T)) : -1;
}
__device__ inline int limited(int k, int n, hipSurfaceBoundaryMode mode) {
  if (mode != hipBoundaryModeClamp) return k;
  return k < 0 ? 0 : k < n ? k : n - 1;
}

}  // namespace surface_detail

// ---- reads -----------------------------------------------------------------------------------------------------------

template <typename T>
__device__ __hip_img_chk__ inline T surf1Dread(hipSurfaceObject_t surface, int x, hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  return packed<T>(w, __ockl_image_load_1D(w, limited(column<T>(x), __ockl_image_width_1D(w), mode)));
}
template <typename T>
__device__ __hip_img_chk__ inline T surf2Dread(hipSurfaceObject_t surface, int x, int y, hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int2::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_2D(w), mode), limited(y, __ockl_image_height_2D(w), mode)};
  return packed<T>(w, __ockl_image_load_2D(w, at));
}
template <typename T>
__device__ __hip_img_chk__ inline T surf3Dread(hipSurfaceObject_t surface, int x, int y, int z,
                                               hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int4::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_3D(w), mode), limited(y, __ockl_image_height_3D(w), mode),
                limited(z, __ockl_image_depth_3D(w), mode), 0};
  return packed<T>(w, __ockl_image_load_3D(w, at));
}
template <typename T>
__device__ __hip_img_chk__ inline T surf1DLayeredread(hipSurfaceObject_t surface, int x, int layer,
                                                      hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int2::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_1Da(w), mode), layer};
  return packed<T>(w, __ockl_image_load_1Da(w, at));
}
template <typename T>
__device__ __hip_img_chk__ inline T surf2DLayeredread(hipSurfaceObject_t surface, int x, int y, int layer,
                                                      hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int4::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_2Da(w), mode), limited(y, __ockl_image_height_2Da(w), mode), layer, 0};
  return packed<T>(w, __ockl_image_load_2Da(w, at));
}

template <typename T>
__device__ __hip_img_chk__ inline void surf1Dread(T* value, hipSurfaceObject_t surface, int x,
                                                  hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  *value = surf1Dread<T>(surface, x, mode);
}
template <typename T>
__device__ __hip_img_chk__ inline void surf2Dread(T* value, hipSurfaceObject_t surface, int x, int y,
                                                  hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  *value = surf2Dread<T>(surface, x, y, mode);
}
template <typename T>
__device__ __hip_img_chk__ inline void surf3Dread(T* value, hipSurfaceObject_t surface, int x, int y, int z,
                                                  hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  *value = surf3Dread<T>(surface, x, y, z, mode);
}
template <typename T>
__device__ __hip_img_chk__ inline void surf1DLayeredread(T* value, hipSurfaceObject_t surface, int x, int layer,
                                                         hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  *value = surf1DLayeredread<T>(surface, x, layer, mode);
}
template <typename T>
__device__ __hip_img_chk__ inline void surf2DLayeredread(T* value, hipSurfaceObject_t surface, int x, int y, int layer,
                                                         hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  *value = surf2DLayeredread<T>(surface, x, y, layer, mode);
}

// ---- writes ----------------------------------------------------------------------------------------------------------

template <typename T>
__device__ __hip_img_chk__ inline void surf1Dwrite(T value, hipSurfaceObject_t surface, int x,
                                                   hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  __ockl_image_store_1D(w, limited(column<T>(x), __ockl_image_width_1D(w), mode), unpacked(w, value));
}
template <typename T>
__device__ __hip_img_chk__ inline void surf2Dwrite(T value, hipSurfaceObject_t surface, int x, int y,
                                                   hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int2::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_2D(w), mode), limited(y, __ockl_image_height_2D(w), mode)};
  __ockl_image_store_2D(w, at, unpacked(w, value));
}
template <typename T>
__device__ __hip_img_chk__ inline void surf3Dwrite(T value, hipSurfaceObject_t surface, int x, int y, int z,
                                                   hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int4::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_3D(w), mode), limited(y, __ockl_image_height_3D(w), mode),
                limited(z, __ockl_image_depth_3D(w), mode), 0};
  __ockl_image_store_3D(w, at, unpacked(w, value));
}
template <typename T>
__device__ __hip_img_chk__ inline void surf1DLayeredwrite(T value, hipSurfaceObject_t surface, int x, int layer,
                                                          hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int2::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_1Da(w), mode), layer};
  __ockl_image_store_1Da(w, at, unpacked(w, value));
}
template <typename T>
__device__ __hip_img_chk__ inline void surf2DLayeredwrite(T value, hipSurfaceObject_t surface, int x, int y, int layer,
                                                          hipSurfaceBoundaryMode mode = hipBoundaryModeTrap) {
  using namespace surface_detail;
  const Words w = words(surface);
  const int4::Native_vec_ at = {limited(column<T>(x), __ockl_image_width_2Da(w), mode), limited(y, __ockl_image_height_2Da(w), mode), layer, 0};
  __ockl_image_store_2Da(w, at, unpacked(w, value));
}

}  // namespace hipport
