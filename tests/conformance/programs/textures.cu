// Textures and surfaces against a model on the host, by the rules of the CUDA C++ programming guide: filters, addressing, layers,
// surfaces as bytes. Prints the number of texels that differ.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const cudaError_t error_ = (call);                                                   \
    if (error_ != cudaSuccess) {                                                         \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));        \
      return 1;                                                                          \
    }                                                                                    \
  } while (0)

constexpr int kWidth = 12, kHeight = 6, kLayers = 3, kSamples = 256;

__global__ void sample(cudaTextureObject_t texture, float4* out) {
  const int i = threadIdx.x;
  out[i] = tex2D<float4>(texture, (i % 16 - 2) * 0.75f, (i / 16 - 4) * 0.6875f);
}

__global__ void sample_normalized(cudaTextureObject_t texture, float4* out) {
  const int i = threadIdx.x;
  out[i] = tex2D<float4>(texture, (i % 16 - 4) * 0.140625f, (i / 16 - 5) * 0.21875f);
}

// The sum of a pixel's neighbours, clamped at the border, to the mirrored place of another layer.
__global__ void neighbours(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
  int sum = surf2DLayeredread<int>(from, x * 4, y, layer);
  int left, right;
  surf2DLayeredread(&left, from, (x - 1) * 4, y, layer, cudaBoundaryModeClamp);
  surf2DLayeredread(&right, from, (x + 1) * 4, y, layer, cudaBoundaryModeClamp);
  sum += left + right;
  surf2DLayeredwrite(sum, to, (kWidth - 1 - x) * 4, y, (layer + 1) % kLayers);
}

// A surface of four bytes, read and written as one word.
__global__ void invert(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(~surf2Dread<unsigned>(surface, x * 4, y), surface, x * 4, y);
  surf2Dwrite(0u, surface, (kWidth + x) * 4, y, cudaBoundaryModeZero);
}

static unsigned hashed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  return x * 0x846ca68bu;
}

static int placed(long k, int n, int mode) {  // -1: border
  if (mode == cudaAddressModeBorder) return k < 0 || k >= n ? -1 : static_cast<int>(k);
  if (mode == cudaAddressModeClamp) return static_cast<int>(k < 0 ? 0 : k >= n ? n - 1 : k);
  const long period = mode == cudaAddressModeWrap ? n : 2 * n, r = ((k % period) + period) % period;
  return static_cast<int>(r < n ? r : 2 * n - 1 - r);
}

static double expected(const std::vector<uchar4>& image, double x, double y, int mode, int channel) {
  const double u = x - 0.5, v = y - 0.5, i = std::floor(u), j = std::floor(v);
  double sum = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const int column = placed(static_cast<long>(i) + (corner & 1), kWidth, mode);
    const int row = placed(static_cast<long>(j) + (corner >> 1), kHeight, mode);
    const double weight = (corner & 1 ? u - i : 1 - u + i) * (corner & 2 ? v - j : 1 - v + j);
    if (column < 0 || row < 0) continue;
    const uchar4 p = image[row * kWidth + column];
    const unsigned char bytes[4] = {p.x, p.y, p.z, p.w};
    sum += weight * bytes[channel] / 255.0;
  }
  return sum;
}

int main() {
  std::vector<uchar4> image(kWidth * kHeight);
  for (size_t k = 0; k < image.size(); ++k) {
    const unsigned h = hashed(static_cast<unsigned>(k) + 1);
    image[k] = make_uchar4(h & 255, h >> 8 & 255, h >> 16 & 255, h >> 24);
  }
  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), words = cudaCreateChannelDesc<int>();
  cudaArray_t pixels;
  CHECK(cudaMallocArray(&pixels, &bytes, kWidth, kHeight, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(pixels, 0, 0, image.data(), kWidth * 4, kWidth * 4, kHeight, cudaMemcpyHostToDevice));
  float4* out;
  CHECK(cudaMalloc(&out, kSamples * sizeof(float4)));
  std::vector<float4> got(kSamples);
  const cudaTextureAddressMode modes[] = {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap, cudaAddressModeMirror};
  const char* names[] = {"clamp", "border", "wrap", "mirror"};
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = pixels;
  for (int m = 0; m < 4; ++m) {
    const bool normalized = m >= 2;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = modes[m];
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeNormalizedFloat;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    if (normalized) sample_normalized<<<1, kSamples>>>(texture, out);
    else sample<<<1, kSamples>>>(texture, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), out, kSamples * sizeof(float4), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int k = 0; k < kSamples; ++k) {
      const double x = normalized ? (k % 16 - 4) * 0.140625 * kWidth : (k % 16 - 2) * 0.75;
      const double y = normalized ? (k / 16 - 5) * 0.21875 * kHeight : (k / 16 - 4) * 0.6875;
      const float channels[4] = {got[k].x, got[k].y, got[k].z, got[k].w};
      for (int c = 0; c < 4; ++c) bad += !(std::fabs(channels[c] - expected(image, x, y, modes[m], c)) < 0.004);
    }
    std::printf("linear, %s: %d differ\n", names[m], bad);
    CHECK(cudaDestroyTextureObject(texture));
  }

  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  invert<<<1, dim3(kWidth, kHeight)>>>(surface);
  std::vector<uchar4> inverted(image.size());
  CHECK(cudaMemcpy2DFromArray(inverted.data(), kWidth * 4, pixels, 0, 0, kWidth * 4, kHeight, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (size_t k = 0; k < image.size(); ++k) {
    bad += inverted[k].x != 255 - image[k].x || inverted[k].y != 255 - image[k].y || inverted[k].z != 255 - image[k].z ||
           inverted[k].w != 255 - image[k].w;
  }
  std::printf("bytes as words: %d differ\n", bad);

  std::vector<int> sheets(kWidth * kHeight * kLayers), sums(sheets.size());
  for (size_t k = 0; k < sheets.size(); ++k) sheets[k] = static_cast<int>(hashed(static_cast<unsigned>(k)) % 100000);
  cudaArray_t from, to;
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kLayers);
  CHECK(cudaMalloc3DArray(&from, &words, extent, cudaArrayLayered | cudaArraySurfaceLoadStore));
  CHECK(cudaMalloc3DArray(&to, &words, extent, cudaArrayLayered | cudaArraySurfaceLoadStore));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(sheets.data(), kWidth * 4, kWidth, kHeight);
  copy.dstArray = from;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaSurfaceObject_t source, target;
  resource.res.array.array = from;
  CHECK(cudaCreateSurfaceObject(&source, &resource));
  resource.res.array.array = to;
  CHECK(cudaCreateSurfaceObject(&target, &resource));
  neighbours<<<kLayers, dim3(kWidth, kHeight)>>>(source, target);
  cudaMemcpy3DParms back = {};
  back.srcArray = to;
  back.dstPtr = make_cudaPitchedPtr(sums.data(), kWidth * 4, kWidth, kHeight);
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&back));
  bad = 0;
  for (int layer = 0; layer < kLayers; ++layer)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const int* row = &sheets[(layer * kHeight + y) * kWidth];
        const int want = row[x] + row[x > 0 ? x - 1 : 0] + row[x + 1 < kWidth ? x + 1 : x];
        bad += sums[(((layer + 1) % kLayers) * kHeight + y) * kWidth + kWidth - 1 - x] != want;
      }
  std::printf("layers: %d differ\n", bad);
  return 0;
}
