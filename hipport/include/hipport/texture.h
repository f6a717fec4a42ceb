// Images in plain memory, sampled as CUDA's tex2D samples: for AMD GPUs without image instructions (CDNA).
//
//   hipport::Image2D<float> image{pixels, width, height};   // pitch in elements defaults to the width
//   image.linear = true;                                    // cudaFilterModeLinear
//   image.normalized = true;                                // coordinates in [0, 1)
//   image.x_mode = image.y_mode = hipport::Address::wrap;
//   float v = image(x, y);                                  // tex2D<float>(texture, x, y)
//
// Coordinates, addressing and filtering follow the CUDA C++ programming guide, "Texture Fetching": texel centres at
// .5, and weights of the bilinear filter in 9-bit fixed point with 8 bits of fraction. As there, wrap and mirror need
// normalised coordinates; with others they clamp. T needs T * float and T + T (float, float2, float4).
#pragma once

#if defined(__HIPCC__)
#define HIPPORT_TEXTURE_FN __attribute__((host)) __attribute__((device)) inline
#else
#define HIPPORT_TEXTURE_FN inline
#endif

namespace hipport {

enum class Address { clamp, border, wrap, mirror };

template <typename T>
struct Image2D {
  const T* pixels = nullptr;
  int width = 0;
  int height = 0;
  int pitch = 0;  // elements from one row to the next; 0: the width
  Address x_mode = Address::clamp;
  Address y_mode = Address::clamp;
  bool linear = false;
  bool normalized = false;

  HIPPORT_TEXTURE_FN T operator()(float x, float y) const {
    x = scaled(x, width, x_mode);
    y = scaled(y, height, y_mode);
    if (!linear) return texel(floor_of(x), floor_of(y));
    x -= 0.5f;
    y -= 0.5f;
    const int i = floor_of(x);
    const int j = floor_of(y);
    const float a = fraction(x - static_cast<float>(i));
    const float b = fraction(y - static_cast<float>(j));
    return texel(i, j) * ((1.0f - a) * (1.0f - b)) + texel(i + 1, j) * (a * (1.0f - b)) +
           texel(i, j + 1) * ((1.0f - a) * b) + texel(i + 1, j + 1) * (a * b);
  }

  // The texel at whole coordinates, by the addressing modes.
  HIPPORT_TEXTURE_FN T texel(int i, int j) const {
    const int column = resolved(i, width, x_mode);
    const int row = resolved(j, height, y_mode);
    if (column < 0 || row < 0) return T{};
    return pixels[static_cast<long long>(row) * (pitch ? pitch : width) + column];
  }

 private:
  HIPPORT_TEXTURE_FN static int floor_of(float v) {
    const int whole = static_cast<int>(v);
    return static_cast<float>(whole) > v ? whole - 1 : whole;
  }

  HIPPORT_TEXTURE_FN static float fraction(float v) { return static_cast<float>(static_cast<int>(v * 256.0f + 0.5f)) / 256.0f; }

  HIPPORT_TEXTURE_FN float scaled(float v, int size, Address mode) const {
    if (!normalized) {  // also keeps the conversion to int in range
      const float edge = static_cast<float>(size) + 2.0f;
      return v < -2.0f ? -2.0f : v > edge ? edge : v;
    }
    if (mode == Address::wrap) v -= whole_of(v);
    if (mode == Address::mirror) {
      const float floor_v = whole_of(v);
      const float half = floor_v * 0.5f;
      const bool odd = half != whole_of(half);
      v -= floor_v;
      if (odd) v = 1.0f - v;
    }
    v *= static_cast<float>(size);
    const float edge = static_cast<float>(size) + 2.0f;
    return v < -2.0f ? -2.0f : v > edge ? edge : v;
  }

  HIPPORT_TEXTURE_FN static float whole_of(float v) { return __builtin_floorf(v); }

  // Index inside the image, -1 for the border.
  HIPPORT_TEXTURE_FN int resolved(int i, int size, Address mode) const {
    if (i >= 0 && i < size) return i;
    if (mode == Address::border) return -1;
    if (normalized && mode == Address::wrap) return ((i % size) + size) % size;
    if (normalized && mode == Address::mirror) {
      const int period = ((i % (2 * size)) + 2 * size) % (2 * size);
      return period < size ? period : 2 * size - 1 - period;
    }
    return i < 0 ? 0 : size - 1;
  }
};

}  // namespace hipport
