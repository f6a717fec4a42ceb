// hipport/images.h: CUDA's surface functions and tex2Dgather, which HIP's own differ from.
#include <hipport/images.h>

#include "check.h"

template <class T>
__global__ void layers(hipSurfaceObject_t sheets, hipSurfaceObject_t lines, T* out, int w, int h, int d) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const T v = hipport::surf2DLayeredread<T>(sheets, x * (int)sizeof(T), y, z);
  out[(z * h + y) * w + x] = v;
  hipport::surf2DLayeredwrite(v, sheets, x * (int)sizeof(T), y, d - 1 - z);
  if (y == 0) {
    T u;
    hipport::surf1DLayeredread(&u, lines, x * (int)sizeof(T), z);
    hipport::surf1DLayeredwrite(u, lines, (w - 1 - x) * (int)sizeof(T), z);
  }
}

__global__ void boundaries(hipSurfaceObject_t s, int* out, int w, int h) {
  const int i = threadIdx.x, x = i - 2, y = h - 2 + i / 2;
  out[i] = hipport::surf2Dread<int>(s, x * 4, y, hipBoundaryModeClamp);
  out[i + 32] = hipport::surf2Dread<int>(s, x * 4, y, hipBoundaryModeZero);
  hipport::surf2Dread(out + i + 64, s, x * 4, y);
  hipport::surf2Dwrite(-1, s, (w + i) * 4, 0);                                     // outside: nothing happens
  hipport::surf2Dwrite(-2, s, (w + i) * 4, h - 1 + i, hipBoundaryModeClamp);       // the last texel
}

// Elements of the same size and another type: bytes as they lie in memory.
__global__ void bytes(hipSurfaceObject_t s, unsigned* out, float f) {
  const int i = threadIdx.x;
  out[i] = hipport::surf1Dread<unsigned>(s, i * 4);
  hipport::surf1Dwrite(f + i, s, i * 4);
}
__global__ void volume(hipSurfaceObject_t s, float4* out) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const float4 v = hipport::surf3Dread<float4>(s, x * 16, y, z, hipBoundaryModeClamp);
  out[(z * 2 + y) * 3 + x] = v;
  hipport::surf3Dwrite(make_float4(v.w, v.z, v.y, v.x), s, x * 16, y, z);
}
__global__ void gather(hipTextureObject_t t, float4* out) {
#ifndef __gfx90a__
  for (int c = 0; c < 4; ++c) {
    out[c] = hipport::tex2Dgather<float4>(t, 1.0f, 1.0f, c);
    hipport::tex2Dgather(out + 4 + c, t, 1.0f, 1.0f, c);
  }
#endif
}
__global__ void wrong_size(hipSurfaceObject_t s, short* out) { out[0] = hipport::surf1Dread<short>(s, 0); }

static hipArray_t array_of(const hipChannelFormatDesc& desc, int w, int h, int d, unsigned flags, const void* data, size_t element) {
  hipArray_t a = nullptr;
  OK(hipMalloc3DArray(&a, &desc, make_hipExtent(w, h, d), flags));
  hipMemcpy3DParms p{};
  p.srcPtr = make_hipPitchedPtr(const_cast<void*>(data), w * element, w, h ? h : 1);
  p.dstArray = a;
  p.extent = make_hipExtent(w, h ? h : 1, d ? d : 1);
  p.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&p));
  return a;
}
static void read_back(hipArray_t a, int w, int h, int d, void* data, size_t element) {
  hipMemcpy3DParms p{};
  p.srcArray = a;
  p.dstPtr = make_hipPitchedPtr(data, w * element, w, h);
  p.extent = make_hipExtent(w, h, d);
  p.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&p));
}
static hipSurfaceObject_t surface_of(hipArray_t a) {
  hipResourceDesc r{};
  r.resType = hipResourceTypeArray;
  r.res.array.array = a;
  hipSurfaceObject_t s = nullptr;
  OK(hipCreateSurfaceObject(&s, &r));
  return s;
}
template <class T> static T* device_memory(size_t n) {
  T* p = nullptr;
  OK(hipMalloc((void**)&p, n * sizeof(T)));
  return p;
}

int main() {
  {
    const int W = 5, H = 2, D = 3;
    std::vector<uchar4> v(W * H * D), got(v.size());
    for (size_t i = 0; i < v.size(); ++i) v[i] = make_uchar4(i, 255 - i, 3 * i, 128 + i);
    const hipChannelFormatDesc desc = hipCreateChannelDesc<uchar4>();
    hipArray_t sheets = array_of(desc, W, H, D, hipArrayLayered | hipArraySurfaceLoadStore, v.data(), 4);
    hipArray_t lines = array_of(desc, W, 0, D, hipArrayLayered | hipArraySurfaceLoadStore, v.data(), 4);
    uchar4* out = device_memory<uchar4>(v.size());
    layers<<<1, dim3(W, H, D)>>>(surface_of(sheets), surface_of(lines), out, W, H, D);
    OK(hipMemcpy(got.data(), out, v.size() * 4, hipMemcpyDeviceToHost));
    EXPECT(std::memcmp(got.data(), v.data(), v.size() * 4) == 0);
    read_back(sheets, W, H, D, got.data(), 4);
    for (int z = 0; z < D; ++z) EXPECT(std::memcmp(&got[z * W * H], &v[(D - 1 - z) * W * H], W * H * 4) == 0);
    read_back(lines, W, 1, D, got.data(), 4);
    for (int i = 0; i < W * D; ++i) EXPECT(std::memcmp(&got[i], &v[i / W * W + W - 1 - i % W], 4) == 0);
  }
  {
    const int W = 6, H = 4;
    std::vector<int> v(W * H), got(v.size()), result(96);
    for (size_t i = 0; i < v.size(); ++i) v[i] = 1000 + (int)i;
    hipArray_t a = array_of(hipCreateChannelDesc<int>(), W, H, 0, hipArraySurfaceLoadStore, v.data(), 4);
    int* out = device_memory<int>(96);
    boundaries<<<1, 12>>>(surface_of(a), out, W, H);
    OK(hipMemcpy(result.data(), out, 96 * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < 12; ++i) {
      const int x = i - 2, y = H - 2 + i / 2, cx = x < 0 ? 0 : x < W ? x : W - 1, cy = y < H ? y : H - 1;
      const bool inside = x == cx && y == cy;
      EXPECT_EQ(result[i], v[cy * W + cx]);
      EXPECT_EQ(result[i + 32], inside ? v[y * W + x] : 0);
      EXPECT_EQ(result[i + 64], inside ? v[y * W + x] : 0);
    }
    read_back(a, W, H, 1, got.data(), 4);
    for (int i = 0; i < W * H; ++i) EXPECT_EQ(got[i], i == W * H - 1 ? -2 : v[i]);
  }
  const hipChannelFormatDesc kinds[] = {hipCreateChannelDesc<uchar4>(), hipCreateChannelDesc<char4>(), hipCreateChannelDesc<ushort2>(),
                                        hipCreateChannelDesc<short2>(), hipCreateChannelDesc<unsigned>(), hipCreateChannelDesc<int>(),
                                        hipCreateChannelDesc<float>(), hipCreateChannelDesc(16, 16, 0, 0, hipChannelFormatKindFloat)};
  for (const hipChannelFormatDesc& desc : kinds) {
    const unsigned v[4] = {0x3c00c100u, 0x807f0180u, 0x7bff0001u, 0x12345678u};  // also as halves: no NaN
    unsigned got[4];
    float after[4];
    hipArray_t a = array_of(desc, 4, 0, 0, hipArraySurfaceLoadStore, v, 4);
    unsigned* out = device_memory<unsigned>(4);
    bytes<<<1, 4>>>(surface_of(a), out, 1.5f);
    OK(hipMemcpy(got, out, 16, hipMemcpyDeviceToHost));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], v[i]);
    read_back(a, 4, 1, 1, after, 4);
    for (int i = 0; i < 4; ++i) EXPECT(after[i] == 1.5f + i);
  }
  {
    float v[48], got[48];
    for (int i = 0; i < 48; ++i) v[i] = i * 0.5f;
    hipArray_t a = array_of(hipCreateChannelDesc<float4>(), 3, 2, 2, hipArraySurfaceLoadStore, v, 16);
    float4* out = device_memory<float4>(12);
    volume<<<1, dim3(3, 2, 2)>>>(surface_of(a), out);
    OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    EXPECT(std::memcmp(got, v, sizeof v) == 0);
    read_back(a, 3, 2, 2, got, 16);
    for (int i = 0; i < 48; ++i) EXPECT(got[i] == v[i / 4 * 4 + 3 - i % 4]);
  }
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  if (properties.major != 9) {
    float v[16], got[32];
    for (int i = 0; i < 16; ++i) v[i] = i * 0.25f;
    hipArray_t a = array_of(hipCreateChannelDesc<float4>(), 2, 2, 0, 0, v, 16);
    hipResourceDesc r{};
    r.resType = hipResourceTypeArray;
    r.res.array.array = a;
    hipTextureDesc t{};
    t.addressMode[0] = t.addressMode[1] = hipAddressModeClamp;
    hipTextureObject_t object = nullptr;
    OK(hipCreateTextureObject(&object, &r, &t, nullptr));
    float4* out = device_memory<float4>(8);
    gather<<<1, 1>>>(object, out);
    OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    const int order[4] = {2, 3, 1, 0};  // (0, 1), (1, 1), (1, 0), (0, 0): CUDA's order
    for (int form = 0; form < 2; ++form)
      for (int c = 0; c < 4; ++c)
        for (int k = 0; k < 4; ++k) EXPECT(got[(form * 4 + c) * 4 + k] == v[order[k] * 4 + c]);
  }
  const float one = 1;
  hipArray_t a = array_of(hipCreateChannelDesc<float>(), 1, 0, 0, hipArraySurfaceLoadStore, &one, 4);
  wrong_size<<<1, 1>>>(surface_of(a), device_memory<short>(1));
  EXPECT(hipDeviceSynchronize() != hipSuccess);  // traps
  return finish();
}
