// Textures and surfaces against a model on the host: formats, filters, addressing, dimensions, the runtime's answers.
// The model follows the CUDA C++ programming guide, "Texture Fetching": texel k covers [k, k + 1), linear filters weigh with 8 bits
// of fraction, and coordinates are rounded to those.
#include "check.h"

#include <cmath>
#include <type_traits>

static unsigned random_bits(unsigned x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// ---- the model -----------------------------------------------------------------------------------------------------------

struct Axis { int texel[2]; double weight; };  // weight of the second; texel -1: border

static int addressed(long long k, int n, hipTextureAddressMode mode) {
  if (mode == hipAddressModeBorder) return k < 0 || k >= n ? -1 : (int)k;
  if (mode == hipAddressModeClamp) return (int)(k < 0 ? 0 : k >= n ? n - 1 : k);
  const int period = mode == hipAddressModeWrap ? n : 2 * n;
  const int r = (int)((k % period + period) % period);
  return r < n ? r : 2 * n - 1 - r;
}

static Axis axis(float x, int n, bool normalized, bool linear, hipTextureAddressMode mode) {
  const double u = normalized ? (double)x * n : x;
  const double v = std::floor(u * 256 + 0.5) / 256 - (linear ? 0.5 : 0);
  const double whole = std::floor(v);
  if (!normalized && (mode == hipAddressModeWrap || mode == hipAddressModeMirror)) mode = hipAddressModeClamp;
  return {{addressed((long long)whole, n, mode), addressed((long long)whole + 1, n, mode)}, linear ? v - whole : 0};
}

struct Image {
  int width = 1, height = 1, depth = 1, channels = 1;
  std::vector<double> value;
  double at(int x, int y, int z, int c) const {
    if (x < 0 || y < 0 || z < 0) return 0;
    return value[((size_t)(z * height + y) * width + x) * channels + c];
  }
  double sample(const Axis& x, const Axis& y, const Axis& z, int c) const {
    double sum = 0;
    for (int k = 0; k < 8; ++k) {
      const double w = (k & 1 ? x.weight : 1 - x.weight) * (k & 2 ? y.weight : 1 - y.weight) * (k & 4 ? z.weight : 1 - z.weight);
      if (w != 0) sum += w * at(x.texel[k & 1], y.texel[k >> 1 & 1], z.texel[k >> 2], c);
    }
    return sum;
  }
};
static const Axis kFlat{{0, 0}, 0};

// ---- kernels -------------------------------------------------------------------------------------------------------------

template <class T> __global__ void sample1(hipTextureObject_t t, const float* x, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex1D<T>(t, x[i]);
}
template <class T> __global__ void sample2(hipTextureObject_t t, const float* x, const float* y, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex2D<T>(t, x[i], y[i]);
}
template <class T> __global__ void sample3(hipTextureObject_t t, const float* x, const float* y, const float* z, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex3D<T>(t, x[i], y[i], z[i]);
}
template <class T> __global__ void layer1(hipTextureObject_t t, const float* x, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex1DLayered<T>(t, x[i], i % 4 - 1);
}
template <class T> __global__ void layer2(hipTextureObject_t t, const float* x, const float* y, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex2DLayered<T>(t, x[i], y[i], i % 4 - 1);
}
template <class T> __global__ void fetch(hipTextureObject_t t, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tex1Dfetch<T>(t, i - 2);
}
__global__ void variants(hipTextureObject_t t, const float* x, const float* y, float4* out, int n) {
#ifndef __gfx90a__
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float2 d = make_float2(0.25f * i, 0.5f);
    out[2 * i] = make_float4(tex2DLod<float>(t, x[i], y[i], 0.0f), tex2DGrad<float>(t, x[i], y[i], d, d), tex2D<float>(t, x[i], y[i]),
                             tex2DLod<float>(t, x[i], y[i], 3.0f));
    out[2 * i + 1] = tex2Dgather<float4>(t, x[i], y[i], 1);  // HIP counts components from 1
  }
#endif
}
template <class T> __global__ void surfaces(hipSurfaceObject_t from, hipSurfaceObject_t to, int w, int h) {
  const int x = threadIdx.x, y = blockIdx.x;
  T v;
  surf2Dread(&v, from, (x - 1) * (int)sizeof(T), y);  // the column left of the image reads 0
  surf2Dwrite(v, to, (w - x) * (int)sizeof(T), h - 1 - y);  // and the one right of it is not written
}
__global__ void volumes(hipSurfaceObject_t from, hipSurfaceObject_t to, hipSurfaceObject_t line) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  short2 v;
  surf3Dread(&v, from, x * 4, y, z);
  v.x = -v.x;
  surf3Dwrite(v, to, x * 4, y, z);
  if (y == 0 && z == 0) {
    surf1Dwrite((int)(x * 3), line, x * 4);
  }
}
__global__ void halves(hipTextureObject_t t, const float* x, const float* y, _Float16* out, int n) {  // loads of 16 bits
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float4 v = tex2D<float4>(t, x[i], y[i]);
    out[4 * i] = (_Float16)v.x; out[4 * i + 1] = (_Float16)v.y; out[4 * i + 2] = (_Float16)v.z; out[4 * i + 3] = (_Float16)v.w;
  }
}

// ---- helpers ---------------------------------------------------------------------------------------------------------------

template <class T> T* device_copy(const std::vector<T>& v) {
  T* p = nullptr;
  OK(hipMalloc((void**)&p, v.size() * sizeof(T)));
  OK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
  return p;
}
template <class T> std::vector<T> host_copy(const T* p, size_t n) {
  std::vector<T> v(n);
  OK(hipDeviceSynchronize());
  OK(hipMemcpy(v.data(), p, n * sizeof(T), hipMemcpyDeviceToHost));
  return v;
}

template <class E, int N> struct Vector;
template <class E> struct Vector<E, 1> { using type = E; };
#define VECTOR(E, NAME) \
  template <> struct Vector<E, 2> { using type = NAME##2; }; \
  template <> struct Vector<E, 4> { using type = NAME##4; };
VECTOR(unsigned char, uchar) VECTOR(signed char, char) VECTOR(unsigned short, ushort) VECTOR(short, short)
VECTOR(unsigned, uint) VECTOR(int, int) VECTOR(float, float)

template <class E> hipChannelFormatDesc channels_of(int n) {
  const int b = 8 * sizeof(E);
  const auto kind = std::is_floating_point<E>::value ? hipChannelFormatKindFloat
                    : std::is_signed<E>::value ? hipChannelFormatKindSigned : hipChannelFormatKindUnsigned;
  return hipCreateChannelDesc(b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, kind);
}
template <class E> std::vector<E> pixels(size_t n, unsigned seed) {
  std::vector<E> v(n);
  for (size_t i = 0; i < n; ++i) {
    const unsigned r = random_bits((unsigned)i * 7919u + seed);
    v[i] = std::is_floating_point<E>::value ? (E)((int)(r % 4001) - 2000) * (E)0.125 : (E)r;
  }
  return v;
}
template <class E> double meaning(E v, bool normalized_read) {
  if (!normalized_read || sizeof(E) == 4) return (double)v;
  if (std::is_signed<E>::value) return std::fmax((float)v / (sizeof(E) == 1 ? 127.0f : 32767.0f), -1.0f);
  return (float)v / (sizeof(E) == 1 ? 255.0f : 65535.0f);
}
template <class E> Image model(const std::vector<E>& v, int w, int h, int d, int c, bool normalized_read) {
  Image m{w, h, d, c, {}};
  for (E x : v) m.value.push_back(meaning(x, normalized_read));
  return m;
}
static hipTextureDesc description(hipTextureFilterMode filter, hipTextureAddressMode mode, bool normalized, bool normalized_read) {
  hipTextureDesc t{};
  for (auto& m : t.addressMode) m = mode;
  t.filterMode = filter;
  t.readMode = normalized_read ? hipReadModeNormalizedFloat : hipReadModeElementType;
  t.normalizedCoords = normalized;
  return t;
}
static hipResourceDesc resource_of(hipArray_t a) {
  hipResourceDesc r{};
  r.resType = hipResourceTypeArray;
  r.res.array.array = a;
  return r;
}

static std::vector<float> coordinates(int size, bool normalized, unsigned seed, int n) {
  std::vector<float> v(n);
  for (int i = 0; i < n; ++i) {
    const int r = (int)(random_bits(i * 31 + seed) % 8192) - 2048;      // from -0.5 to 1.5 of the size
    float x = (float)r / 4096.0f * (float)size;
    if (i % 5 == 0) x = (float)(r % (size + 2)) + 0.5f;                 // texel centres
    if (i % 7 == 0) x = (float)(r % (size + 1));                        // and borders between texels
    v[i] = normalized ? x / (float)size : x;
  }
  return v;
}

static int wrong = 0;
static void compare(double got, double want, double scale, const char* what, int i) {
  // The sum of at most 8 products is exact in the model and rounded once on the device.
  if (std::fabs(got - want) <= scale * 1.2e-7) return;
  if (++wrong <= 10) std::printf("%s: sample %d is %.9g, not %.9g\n", what, i, got, want);
  ++failures;
}

static const int kPoints = 200;

// One format in two dimensions, all filters and addressing modes that mean something.
template <class E, int N> void planes(const char* what, bool normalized_read) {
  using T = typename Vector<E, N>::type;
  using R = typename Vector<typename std::conditional<std::is_floating_point<E>::value, float, E>::type, N>::type;
  using F = typename Vector<float, N>::type;
  const int W = 13, H = 7;
  const std::vector<E> v = pixels<E>(W * H * N, 11 + N + sizeof(E));
  const Image m = model(v, W, H, 1, N, normalized_read);
  hipChannelFormatDesc desc = channels_of<E>(N);
  hipArray_t a;
  OK(hipMallocArray(&a, &desc, W, H, hipArrayDefault));
  OK(hipMemcpy2DToArray(a, 0, 0, v.data(), W * sizeof(T), W * sizeof(T), H, hipMemcpyHostToDevice));
  const bool real = normalized_read || std::is_floating_point<E>::value;
  F* out = nullptr;
  OK(hipMalloc((void**)&out, kPoints * sizeof(float) * N));
  for (int normalized = 0; normalized < 2; ++normalized)
    for (int linear = 0; linear <= (real ? 1 : 0); ++linear)
      for (hipTextureAddressMode mode : {hipAddressModeClamp, hipAddressModeBorder, hipAddressModeWrap, hipAddressModeMirror}) {
        const hipTextureDesc t = description(linear ? hipFilterModeLinear : hipFilterModePoint, mode, normalized, normalized_read);
        const hipResourceDesc r = resource_of(a);
        hipTextureObject_t object = nullptr;
        OK(hipCreateTextureObject(&object, &r, &t, nullptr));
        std::vector<float> x = coordinates(W, normalized, 1, kPoints), y = coordinates(H, normalized, 2, kPoints);
        if (!linear)  // away from the borders between texels, where the last bit of a coordinate decides
          for (auto* c : {&x, &y})
            for (float& u : *c) { const float s = normalized ? (c == &x ? (float)W : (float)H) : 1.0f; if (std::fabs(u * s - std::round(u * s)) < 0.01f) u += 0.25f / s; }
        float *dx = device_copy(x), *dy = device_copy(y);
        if (real) sample2<F><<<1, 64>>>(object, dx, dy, out, kPoints);
        else sample2<R><<<1, 64>>>(object, dx, dy, (R*)out, kPoints);
        OK(hipGetLastError());
        const std::vector<float> reals = host_copy((const float*)out, real ? kPoints * N : 0);
        const std::vector<E> integers = host_copy((const E*)out, real ? 0 : kPoints * N);
        double scale = 1;
        for (double p : m.value) scale = std::fmax(scale, std::fabs(p));
        for (int i = 0; i < kPoints; ++i)
          for (int c = 0; c < N; ++c) {
            const double want = m.sample(axis(x[i], W, normalized, linear, mode), axis(y[i], H, normalized, linear, mode), kFlat, c);
            compare(real ? (double)reals[i * N + c] : (double)integers[i * N + c], want, linear ? scale : 0, what, i);
          }
        OK(hipDestroyTextureObject(object));
        OK(hipFree(dx)); OK(hipFree(dy));
      }
  OK(hipFree(out));
  OK(hipFreeArray(a));
}

static hipMemcpy3DParms upload(const void* data, size_t row, int w, int h, int d, hipArray_t to) {
  hipMemcpy3DParms p{};
  p.srcPtr = make_hipPitchedPtr((void*)data, row, w, h);
  p.dstArray = to;
  p.extent = make_hipExtent(w, h, d);
  p.kind = hipMemcpyHostToDevice;
  return p;
}

static void other_dimensions(bool linear3) {
  const int W = 9, H = 5, D = 3;
  const std::vector<float> v = pixels<float>(W * H * D, 5);
  const Image m = model(v, W, H, D, 1, false);
  hipChannelFormatDesc desc = channels_of<float>(1);
  float* out = nullptr;
  OK(hipMalloc((void**)&out, kPoints * 4));
  hipArray_t line, volume, lines, sheets;
  OK(hipMallocArray(&line, &desc, W, 0, hipArrayDefault));
  OK(hipMalloc3DArray(&volume, &desc, make_hipExtent(W, H, D), hipArrayDefault));
  OK(hipMalloc3DArray(&lines, &desc, make_hipExtent(W, 0, D), hipArrayLayered));
  OK(hipMalloc3DArray(&sheets, &desc, make_hipExtent(W, H, D), hipArrayLayered));
  OK(hipMemcpy2DToArray(line, 0, 0, v.data(), W * 4, W * 4, 1, hipMemcpyHostToDevice));
  hipMemcpy3DParms p = upload(v.data(), W * 4, W, H, D, volume);
  OK(hipMemcpy3D(&p));
  p = upload(v.data(), W * 4, W, H, D, sheets);
  OK(hipMemcpy3D(&p));
  p = upload(v.data(), W * 4, W, 1, D, lines);
  OK(hipMemcpy3D(&p));
  Image flat{W, 1, D, 1, {v.begin(), v.begin() + W * D}};
  for (int linear = 0; linear < 2; ++linear) {
    const hipTextureDesc t = description(linear ? hipFilterModeLinear : hipFilterModePoint, hipAddressModeClamp, false, false);
    std::vector<float> x = coordinates(W, false, 3, kPoints), y = coordinates(H, false, 4, kPoints), z = coordinates(D, false, 5, kPoints);
    if (!linear) for (auto* c : {&x, &y, &z}) for (float& u : *c) if (u == std::round(u)) u += 0.25f;
    float *dx = device_copy(x), *dy = device_copy(y), *dz = device_copy(z);
    const auto along = [&](float u, int n) { return axis(u, n, false, linear, hipAddressModeClamp); };
    const auto layer = [&](int i) { const int k = i % 4 - 1; return Axis{{k < 0 ? 0 : k >= D ? D - 1 : k, 0}, 0}; };
    struct { hipArray_t array; const char* what; } cases[] = {{line, "line"}, {volume, "volume"}, {lines, "layered line"}, {sheets, "layered plane"}};
    for (int k = 0; k < 4; ++k) {
      const hipResourceDesc r = resource_of(cases[k].array);
      hipTextureObject_t object = nullptr;
      if (k && linear && !linear3) {  // gfx90a
        RETURNS(hipErrorNotSupported, hipCreateTextureObject(&object, &r, &t, nullptr));
        continue;
      }
      OK(hipCreateTextureObject(&object, &r, &t, nullptr));
      if (k == 0) sample1<float><<<1, 64>>>(object, dx, out, kPoints);
      if (k == 1) sample3<float><<<1, 64>>>(object, dx, dy, dz, out, kPoints);
      if (k == 2) layer1<float><<<1, 64>>>(object, dx, out, kPoints);
      if (k == 3) layer2<float><<<1, 64>>>(object, dx, dy, out, kPoints);
      const std::vector<float> got = host_copy(out, kPoints);
      for (int i = 0; i < kPoints; ++i) {
        const double want = k == 0 ? flat.sample(along(x[i], W), kFlat, kFlat, 0)
                            : k == 1 ? m.sample(along(x[i], W), along(y[i], H), along(z[i], D), 0)
                            : k == 2 ? flat.sample(along(x[i], W), kFlat, layer(i), 0)
                                     : m.sample(along(x[i], W), along(y[i], H), layer(i), 0);
        compare(got[i], want, linear ? 250 : 0, cases[k].what, i);
      }
      OK(hipDestroyTextureObject(object));
    }
    OK(hipFree(dx)); OK(hipFree(dy)); OK(hipFree(dz));
  }
  for (hipArray_t a : {line, volume, lines, sheets}) OK(hipFreeArray(a));
  OK(hipFree(out));
}

template <class E, int N> void linear_memory(bool normalized_read) {
  using T = typename Vector<E, N>::type;
  using F = typename Vector<float, N>::type;
  const int n = 37;
  const std::vector<E> v = pixels<E>(n * N, 21);
  E* memory = device_copy(v);
  hipResourceDesc r{};
  r.resType = hipResourceTypeLinear;
  r.res.linear.devPtr = memory;
  r.res.linear.desc = channels_of<E>(N);
  r.res.linear.sizeInBytes = n * sizeof(T);
  const hipTextureDesc t = description(hipFilterModePoint, hipAddressModeClamp, false, normalized_read);
  hipTextureObject_t object = nullptr;
  OK(hipCreateTextureObject(&object, &r, &t, nullptr));
  float* out = nullptr;
  OK(hipMalloc((void**)&out, (n + 4) * 16));
  if (normalized_read) fetch<F><<<1, 32>>>(object, (F*)out, n + 4);
  else fetch<T><<<1, 32>>>(object, (T*)out, n + 4);
  const std::vector<float> reals = host_copy((const float*)out, (n + 4) * N);
  const std::vector<E> same = host_copy((const E*)out, (n + 4) * N);
  for (int i = 0; i < (n + 4) * N; ++i) {
    const int k = i - 2 * N;
    const bool inside = k >= 0 && k < n * N;
    if (normalized_read) compare(reals[i], inside ? meaning(v[k], true) : 0, 0, "linear memory", i);
    else compare((double)same[i], inside ? (double)v[k] : 0, 0, "linear memory", i);
  }
  RETURNS(hipErrorInvalidValue, (r.res.linear.devPtr = memory + 1, hipCreateTextureObject(&object, &r, &t, nullptr)));
  OK(hipDestroyTextureObject(object));
  OK(hipFree(memory)); OK(hipFree(out));
}

static void pitched_memory() {
  const int W = 21, H = 6;
  unsigned char* memory = nullptr;
  size_t pitch = 0;
  OK(hipMallocPitch((void**)&memory, &pitch, W * 4, H));
  const std::vector<unsigned char> v = pixels<unsigned char>(W * H * 4, 31);
  OK(hipMemcpy2D(memory, pitch, v.data(), W * 4, W * 4, H, hipMemcpyHostToDevice));
  hipResourceDesc r{};
  r.resType = hipResourceTypePitch2D;
  r.res.pitch2D.devPtr = memory;
  r.res.pitch2D.desc = channels_of<unsigned char>(4);
  r.res.pitch2D.width = W;
  r.res.pitch2D.height = H;
  r.res.pitch2D.pitchInBytes = pitch;
  const hipTextureDesc t = description(hipFilterModeLinear, hipAddressModeMirror, true, true);
  hipTextureObject_t object = nullptr;
  OK(hipCreateTextureObject(&object, &r, &t, nullptr));
  const std::vector<float> x = coordinates(W, true, 6, kPoints), y = coordinates(H, true, 7, kPoints);
  float *dx = device_copy(x), *dy = device_copy(y);
  float4* out = nullptr;
  _Float16* half_out = nullptr;
  OK(hipMalloc((void**)&out, kPoints * 16));
  OK(hipMalloc((void**)&half_out, kPoints * 8));
  sample2<float4><<<1, 64>>>(object, dx, dy, out, kPoints);
  halves<<<1, 64>>>(object, dx, dy, half_out, kPoints);
  const std::vector<float> got = host_copy((const float*)out, kPoints * 4);
  const std::vector<_Float16> half_got = host_copy(half_out, kPoints * 4);
  const Image m = model(v, W, H, 1, 4, true);
  for (int i = 0; i < kPoints * 4; ++i) {
    const double want = m.sample(axis(x[i / 4], W, true, true, hipAddressModeMirror), axis(y[i / 4], H, true, true, hipAddressModeMirror), kFlat, i % 4);
    compare(got[i], want, 1, "pitched memory", i);
    compare((double)(float)half_got[i], want, 4096, "pitched memory, half", i);  // 2^-11 and the rounding before
  }
  hipResourceDesc r_back;
  hipTextureDesc t_back;
  OK(hipGetTextureObjectResourceDesc(&r_back, object));
  OK(hipGetTextureObjectTextureDesc(&t_back, object));
  EXPECT(r_back.resType == hipResourceTypePitch2D && r_back.res.pitch2D.pitchInBytes == pitch);
  EXPECT(t_back.filterMode == hipFilterModeLinear && t_back.addressMode[1] == hipAddressModeMirror && t_back.normalizedCoords == 1);
  OK(hipDestroyTextureObject(object));
  r.res.pitch2D.pitchInBytes = pitch + 4;
  RETURNS(hipErrorInvalidValue, hipCreateTextureObject(&object, &r, &t, nullptr));
  OK(hipFree(memory)); OK(hipFree(dx)); OK(hipFree(dy)); OK(hipFree(out)); OK(hipFree(half_out));
}

static void levels_gradients_gathers() {
  const int W = 8, H = 8;
  const std::vector<float> v = pixels<float>(W * H, 41);
  const Image m = model(v, W, H, 1, 1, false);
  hipChannelFormatDesc desc = channels_of<float>(1);
  hipArray_t a;
  OK(hipMallocArray(&a, &desc, W, H, hipArrayTextureGather));
  OK(hipMemcpy2DToArray(a, 0, 0, v.data(), W * 4, W * 4, H, hipMemcpyHostToDevice));
  const hipResourceDesc r = resource_of(a);
  const hipTextureDesc t = description(hipFilterModeLinear, hipAddressModeWrap, true, false);
  hipTextureObject_t object = nullptr;
  OK(hipCreateTextureObject(&object, &r, &t, nullptr));
  const std::vector<float> x = coordinates(W, true, 8, 64), y = coordinates(H, true, 9, 64);
  float *dx = device_copy(x), *dy = device_copy(y);
  float4* out = nullptr;
  OK(hipMalloc((void**)&out, 2 * 64 * 16));
  variants<<<1, 64>>>(object, dx, dy, out, 64);
  const std::vector<float> got = host_copy((const float*)out, 2 * 64 * 4);
  for (int i = 0; i < 64; ++i) {
    const Axis ax = axis(x[i], W, true, true, hipAddressModeWrap), ay = axis(y[i], H, true, true, hipAddressModeWrap);
    for (int c = 0; c < 4; ++c) compare(got[8 * i + c], m.sample(ax, ay, kFlat, 0), 250, "one level", i);
    const int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (int c = 0; c < 4; ++c) compare(got[8 * i + 4 + c], m.at(ax.texel[order[c][0]], ay.texel[order[c][1]], 0, 0), 0, "gather", i);
  }
  OK(hipDestroyTextureObject(object));
  OK(hipFreeArray(a));
  OK(hipFree(dx)); OK(hipFree(dy)); OK(hipFree(out));
}

template <class E, int N> void surface_copies(const char* what) {
  using T = typename Vector<E, N>::type;
  const int W = 11, H = 4;
  const std::vector<E> v = pixels<E>(W * H * N, 51);
  hipChannelFormatDesc desc = channels_of<E>(N);
  hipArray_t from, to;
  OK(hipMallocArray(&from, &desc, W, H, hipArraySurfaceLoadStore));
  OK(hipMallocArray(&to, &desc, W, H, hipArraySurfaceLoadStore));
  OK(hipMemcpy2DToArray(from, 0, 0, v.data(), W * sizeof(T), W * sizeof(T), H, hipMemcpyHostToDevice));
  hipResourceDesc r = resource_of(from);
  hipSurfaceObject_t a, b;
  OK(hipCreateSurfaceObject(&a, &r));
  r = resource_of(to);
  OK(hipCreateSurfaceObject(&b, &r));
  surfaces<T><<<H, W + 1>>>(a, b, W, H);
  OK(hipDeviceSynchronize());
  std::vector<E> got(W * H * N);
  OK(hipMemcpy2DFromArray(got.data(), W * sizeof(T), to, 0, 0, W * sizeof(T), H, hipMemcpyDeviceToHost));
  for (int y = 0; y < H; ++y)
    for (int x = 1; x <= W; ++x)  // written to column W - x
      for (int c = 0; c < N; ++c) compare((double)got[((H - 1 - y) * W + W - x) * N + c], (double)v[(y * W + x - 1) * N + c], 0, what, x);
  OK(hipDestroySurfaceObject(a));
  OK(hipDestroySurfaceObject(b));
  OK(hipFreeArray(from)); OK(hipFreeArray(to));
}

static void surface_volumes() {
  const int W = 4, H = 3, D = 2;
  const std::vector<short> v = pixels<short>(W * H * D * 2, 61);
  hipChannelFormatDesc desc = channels_of<short>(2), one = channels_of<int>(1);
  hipArray_t from, to, line;
  OK(hipMalloc3DArray(&from, &desc, make_hipExtent(W, H, D), hipArraySurfaceLoadStore));
  OK(hipMalloc3DArray(&to, &desc, make_hipExtent(W, H, D), hipArraySurfaceLoadStore));
  OK(hipMallocArray(&line, &one, W, 0, hipArraySurfaceLoadStore));
  hipMemcpy3DParms p = upload(v.data(), W * 4, W, H, D, from);
  OK(hipMemcpy3D(&p));
  hipSurfaceObject_t objects[3];
  hipArray_t arrays[3] = {from, to, line};
  for (int k = 0; k < 3; ++k) {
    const hipResourceDesc r = resource_of(arrays[k]);
    OK(hipCreateSurfaceObject(&objects[k], &r));
  }
  volumes<<<1, dim3(W, H, D)>>>(objects[0], objects[1], objects[2]);
  OK(hipDeviceSynchronize());
  std::vector<short> got(v.size());
  hipMemcpy3DParms back{};
  back.srcArray = to;
  back.dstPtr = make_hipPitchedPtr(got.data(), W * 4, W, H);
  back.extent = make_hipExtent(W, H, D);
  back.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&back));
  for (size_t i = 0; i < v.size(); ++i) EXPECT_EQ((int)got[i], (int)(i % 2 ? v[i] : (short)-v[i]));
  int numbers[W];
  OK(hipMemcpy2DFromArray(numbers, W * 4, line, 0, 0, W * 4, 1, hipMemcpyDeviceToHost));
  for (int i = 0; i < W; ++i) EXPECT_EQ(numbers[i], 3 * i);
  for (int k = 0; k < 3; ++k) { OK(hipDestroySurfaceObject(objects[k])); OK(hipFreeArray(arrays[k])); }
}

// What the runtime refuses, and the driver's form of the same calls.
static void answers() {
  hipChannelFormatDesc desc = channels_of<float>(1);
  hipArray_t a, plain, cube;
  OK(hipMallocArray(&a, &desc, 4, 4, hipArrayDefault));
  OK(hipMallocArray(&plain, &desc, 4, 4, hipArrayTextureGather));
  RETURNS(hipErrorNotSupported, hipMalloc3DArray(&cube, &desc, make_hipExtent(4, 4, 6), hipArrayCubemap));
  hipResourceDesc r = resource_of(a);
  hipTextureDesc t = description(hipFilterModePoint, hipAddressModeClamp, false, false);
  hipTextureObject_t object = nullptr;
  RETURNS(hipErrorInvalidValue, hipCreateTextureObject(nullptr, &r, &t, nullptr));
  RETURNS(hipErrorInvalidValue, hipCreateTextureObject(&object, nullptr, &t, nullptr));
  RETURNS(hipErrorInvalidValue, hipCreateTextureObject(&object, &r, nullptr, nullptr));
  t.maxAnisotropy = 4;
  RETURNS(hipErrorNotSupported, hipCreateTextureObject(&object, &r, &t, nullptr));
  t.maxAnisotropy = 0;
  hipResourceViewDesc view{};
  view.format = hipResViewFormatUnsignedInt1;  // the same bits as integers
  view.width = view.height = 4;
  const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  OK(hipMemcpy2DToArray(a, 0, 0, ones, 16, 16, 4, hipMemcpyHostToDevice));
  OK(hipCreateTextureObject(&object, &r, &t, &view));
  float *x = device_copy(std::vector<float>{1.5f}), *y = device_copy(std::vector<float>{2.5f});
  unsigned* out = nullptr;
  OK(hipMalloc((void**)&out, 4));
  sample2<unsigned><<<1, 1>>>(object, x, y, out, 1);
  EXPECT_EQ(host_copy(out, 1)[0], 0x3f800000u);
  hipResourceViewDesc view_back;
  OK(hipGetTextureObjectResourceViewDesc(&view_back, object));
  EXPECT_EQ((int)view_back.format, (int)hipResViewFormatUnsignedInt1);
  OK(hipDestroyTextureObject(object));
  OK(hipDestroyTextureObject(nullptr));
  view.format = hipResViewFormatFloat4;
  RETURNS(hipErrorInvalidValue, hipCreateTextureObject(&object, &r, &t, &view));

  HIP_RESOURCE_DESC driver{};
  driver.resType = HIP_RESOURCE_TYPE_ARRAY;
  driver.res.array.hArray = a;
  HIP_TEXTURE_DESC how{};
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = HIP_TR_ADDRESS_MODE_BORDER;
  how.filterMode = HIP_TR_FILTER_MODE_LINEAR;
  how.flags = HIP_TRSF_NORMALIZED_COORDINATES;
  OK(hipTexObjectCreate(&object, &driver, &how, nullptr));
  HIP_RESOURCE_DESC driver_back;
  HIP_TEXTURE_DESC how_back;
  HIP_RESOURCE_VIEW_DESC driver_view;
  OK(hipTexObjectGetResourceDesc(&driver_back, object));
  OK(hipTexObjectGetTextureDesc(&how_back, object));
  OK(hipTexObjectGetResourceViewDesc(&driver_view, object));
  EXPECT(driver_back.resType == HIP_RESOURCE_TYPE_ARRAY && driver_back.res.array.hArray == a);
  EXPECT(how_back.flags == HIP_TRSF_NORMALIZED_COORDINATES && how_back.filterMode == HIP_TR_FILTER_MODE_LINEAR);
  EXPECT(how_back.addressMode[2] == HIP_TR_ADDRESS_MODE_BORDER);
  OK(hipTexObjectDestroy(object));
  RETURNS(hipErrorInvalidValue, hipTexObjectDestroy(object));

  hipSurfaceObject_t surface = nullptr;
  r = resource_of(plain);
  RETURNS(hipErrorInvalidValue, hipCreateSurfaceObject(&surface, &r));  // not made for surfaces
  r.resType = hipResourceTypeLinear;
  RETURNS(hipErrorInvalidValue, hipCreateSurfaceObject(&surface, &r));
  OK(hipDestroySurfaceObject(nullptr));
  (void)hipGetLastError();
  int images = 0;
  OK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
  EXPECT_EQ(images, 1);
  OK(hipFreeArray(a)); OK(hipFreeArray(plain));
  OK(hipFree(x)); OK(hipFree(y)); OK(hipFree(out));
}

int main() {
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  planes<float, 1>("float", false);
  planes<float, 2>("float2", false);
  planes<float, 4>("float4", false);
  planes<unsigned char, 1>("uchar", false);
  planes<unsigned char, 4>("uchar4, normalised", true);
  planes<signed char, 2>("char2, normalised", true);
  planes<unsigned short, 2>("ushort2, normalised", true);
  planes<short, 4>("short4", false);
  planes<short, 1>("short, normalised", true);
  planes<int, 4>("int4", false);
  planes<unsigned, 2>("uint2", false);
  planes<unsigned short, 4>("ushort4", false);
  other_dimensions(properties.major != 9);
  linear_memory<float, 1>(false);
  linear_memory<int, 4>(false);
  linear_memory<unsigned char, 4>(true);
  linear_memory<short, 2>(false);
  linear_memory<unsigned short, 1>(true);
  pitched_memory();
  if (properties.major != 9) levels_gradients_gathers();  // gfx90a has no such instructions
  surface_copies<float, 1>("surface of float");
  surface_copies<unsigned char, 4>("surface of uchar4");
  surface_copies<short, 2>("surface of short2");
  surface_copies<int, 4>("surface of int4");
  surface_copies<signed char, 2>("surface of char2");
  surface_volumes();
  answers();
  return finish();
}
