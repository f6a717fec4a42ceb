// Copies and fills of every form, checked against host loops.
#include "check.h"

#define N 4096

__constant__ int table[16];
__device__ int counters[8];
__managed__ int shared_count = 41;

static unsigned char pattern(size_t i) { return (unsigned char)(i * 37 + 11); }

int main() {
  std::vector<unsigned char> host(N), back(N);
  for (size_t i = 0; i < N; ++i) host[i] = pattern(i);
  unsigned char *a = nullptr, *b = nullptr, *pinned = nullptr;
  OK(hipMalloc((void**)&a, N));
  OK(hipMalloc((void**)&b, N));
  OK(hipHostMalloc((void**)&pinned, N, 0));
  hipStream_t s;
  OK(hipStreamCreate(&s));
  const auto same = [&](size_t n) { return std::memcmp(host.data(), back.data(), n) == 0; };
  const auto clear = [&] { std::fill(back.begin(), back.end(), 0); };

  OK(hipMemcpy(a, host.data(), N, hipMemcpyHostToDevice));
  OK(hipMemcpy(b, a, N, hipMemcpyDeviceToDevice));
  OK(hipMemcpy(back.data(), b, N, hipMemcpyDefault));
  EXPECT(same(N));
  clear();
  OK(hipMemset(a, 0, N));
  OK(hipMemcpyAsync(a, host.data(), N, hipMemcpyHostToDevice, s));
  OK(hipMemcpyAsync(pinned, a, N, hipMemcpyDeviceToHost, s));
  OK(hipStreamSynchronize(s));
  EXPECT(std::memcmp(pinned, host.data(), N) == 0);
  OK(hipMemcpyHtoD(b, host.data(), N));
  OK(hipMemcpyDtoD(a, b, N));
  OK(hipMemcpyDtoH(back.data(), a, N));
  EXPECT(same(N));
  clear();
  OK(hipMemcpyHtoDAsync(b, host.data(), N, s));
  OK(hipMemcpyDtoDAsync(a, b, N, s));
  OK(hipMemcpyDtoHAsync(back.data(), a, N, s));
  OK(hipMemcpyWithStream(back.data(), a, N, hipMemcpyDeviceToHost, s));
  EXPECT(same(N));
  clear();
  OK(hipMemcpyPeer(b, 0, a, 0, N));
  OK(hipMemcpyPeerAsync(back.data(), 0, b, 0, N, s));
  OK(hipStreamSynchronize(s));
  EXPECT(same(N));
  clear();
  OK(hipMemcpy_spt(a, host.data(), N, hipMemcpyHostToDevice));
  OK(hipMemcpyAsync_spt(back.data(), a, N, hipMemcpyDeviceToHost, nullptr));
  OK(hipStreamSynchronize(hipStreamPerThread));
  EXPECT(same(N));
  RETURNS(hipErrorInvalidMemcpyDirection, hipMemcpy(a, host.data(), N, (hipMemcpyKind)77));
  RETURNS(hipErrorInvalidValue, hipMemcpy(nullptr, host.data(), N, hipMemcpyHostToDevice));
  RETURNS(hipErrorInvalidValue, hipMemcpy(a, host.data(), N + 1, hipMemcpyHostToDevice));  // beyond the allocation
  OK(hipMemcpy(nullptr, nullptr, 0, hipMemcpyHostToDevice));

  // Two dimensions: a 20x10 window of a pitched image.
  unsigned char* image = nullptr;
  size_t pitch = 0;
  OK(hipMallocPitch((void**)&image, &pitch, 60, 10));
  const auto window = [&](int x, int width) {  // back holds rows of `width`, host rows of 60
    bool good = true;
    for (int y = 0; y < 10; ++y)
      for (int i = 0; i < width; ++i) good = good && back[y * width + i] == host[y * 60 + x + i];
    return good;
  };
  OK(hipMemcpy2D(image, pitch, host.data(), 60, 60, 10, hipMemcpyHostToDevice));
  clear();
  OK(hipMemcpy2D(back.data(), 20, image + 7, pitch, 20, 10, hipMemcpyDeviceToHost));
  EXPECT(window(7, 20));
  clear();
  OK(hipMemcpy2DAsync(back.data(), 20, image + 9, pitch, 20, 10, hipMemcpyDeviceToHost, s));
  OK(hipStreamSynchronize(s));
  EXPECT(window(9, 20));
  OK(hipMemcpy2D_spt(image, pitch, host.data(), 60, 60, 10, hipMemcpyHostToDevice));
  clear();
  OK(hipMemcpy2DAsync_spt(back.data(), 20, image + 3, pitch, 20, 10, hipMemcpyDeviceToHost, hipStreamPerThread));
  OK(hipStreamSynchronize_spt(nullptr));
  EXPECT(window(3, 20));
  RETURNS(hipErrorInvalidPitchValue, hipMemcpy2D(image, 10, host.data(), 60, 60, 10, hipMemcpyHostToDevice));
  hip_Memcpy2D d{};
  d.srcMemoryType = hipMemoryTypeDevice;
  d.srcDevice = image;
  d.srcPitch = pitch;
  d.srcXInBytes = 5;
  d.srcY = 2;
  d.dstMemoryType = hipMemoryTypeHost;
  d.dstHost = back.data();
  d.dstPitch = 20;
  d.WidthInBytes = 20;
  d.Height = 4;
  clear();
  OK(hipMemcpyParam2D(&d));
  for (int y = 0; y < 4; ++y) EXPECT(std::memcmp(&back[y * 20], &host[(y + 2) * 60 + 5], 20) == 0);
  clear();
  OK(hipMemcpyParam2DAsync(&d, s));
  OK(hipStreamSynchronize(s));
  EXPECT(std::memcmp(&back[20], &host[3 * 60 + 5], 20) == 0);
  clear();
  OK(hipDrvMemcpy2DUnaligned(&d));
  EXPECT(std::memcmp(&back[60], &host[5 * 60 + 5], 20) == 0);

  // Three dimensions: 12x5x6 bytes.
  hipPitchedPtr cube;
  OK(hipMalloc3D(&cube, make_hipExtent(12, 5, 6)));
  hipMemcpy3DParms p{};
  p.srcPtr = make_hipPitchedPtr(host.data(), 12, 12, 5);
  p.dstPtr = cube;
  p.extent = make_hipExtent(12, 5, 6);
  p.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&p));
  hipMemcpy3DParms q{};
  q.srcPtr = cube;
  q.srcPos = make_hipPos(2, 1, 3);
  q.dstPtr = make_hipPitchedPtr(back.data(), 4, 4, 3);
  q.extent = make_hipExtent(4, 3, 2);
  q.kind = hipMemcpyDeviceToHost;
  const auto inner = [&] {
    bool good = true;
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 4; ++x) good = good && back[(z * 3 + y) * 4 + x] == host[((z + 3) * 5 + y + 1) * 12 + x + 2];
    return good;
  };
  clear();
  OK(hipMemcpy3D(&q));
  EXPECT(inner());
  clear();
  OK(hipMemcpy3DAsync(&q, s));
  OK(hipStreamSynchronize(s));
  EXPECT(inner());
  OK(hipMemcpy3D_spt(&p));
  clear();
  OK(hipMemcpy3DAsync_spt(&q, hipStreamPerThread));
  OK(hipStreamSynchronize(hipStreamPerThread));
  EXPECT(inner());
  HIP_MEMCPY3D driver{};
  driver.srcMemoryType = hipMemoryTypeDevice;
  driver.srcDevice = cube.ptr;
  driver.srcPitch = cube.pitch;
  driver.srcHeight = 5;
  driver.srcXInBytes = 2;
  driver.srcY = 1;
  driver.srcZ = 3;
  driver.dstMemoryType = hipMemoryTypeHost;
  driver.dstHost = back.data();
  driver.dstPitch = 4;
  driver.dstHeight = 3;
  driver.WidthInBytes = 4;
  driver.Height = 3;
  driver.Depth = 2;
  clear();
  OK(hipDrvMemcpy3D(&driver));
  EXPECT(inner());
  clear();
  OK(hipDrvMemcpy3DAsync(&driver, s));
  OK(hipStreamSynchronize(s));
  EXPECT(inner());
#if HIP_VERSION_MAJOR >= 7
  hipMemcpy3DPeerParms peer{};
  peer.srcPtr = cube;
  peer.srcPos = make_hipPos(2, 1, 3);
  peer.dstPtr = make_hipPitchedPtr(back.data(), 4, 4, 3);
  peer.extent = make_hipExtent(4, 3, 2);
  clear();
  OK(hipMemcpy3DPeer(&peer));
  EXPECT(inner());
  clear();
  OK(hipMemcpy3DPeerAsync(&peer, s));
  OK(hipStreamSynchronize(s));
  EXPECT(inner());
  void *to[] = {back.data(), back.data() + 100}, *from[] = {a, a + 200};
  size_t sizes[] = {50, 60}, failed = 0;
  hipMemcpyAttributes none{};
  size_t index = 0;
  OK(hipMemcpyBatchAsync(to, from, sizes, 2, &none, &index, 1, &failed, s));
  OK(hipStreamSynchronize(s));
  EXPECT(std::memcmp(&back[100], &host[200], 60) == 0);
  hipMemcpy3DBatchOp boxes[1] = {};
  boxes[0].src.type = hipMemcpyOperandTypePointer;
  boxes[0].src.op.ptr.ptr = (char*)cube.ptr + (3 * 5 + 1) * cube.pitch + 2;
  boxes[0].src.op.ptr.rowLength = cube.pitch;
  boxes[0].src.op.ptr.layerHeight = 5;
  boxes[0].dst.type = hipMemcpyOperandTypePointer;
  boxes[0].dst.op.ptr.ptr = back.data();
  boxes[0].extent = make_hipExtent(4, 3, 2);
  clear();
  OK(hipMemcpy3DBatchAsync(1, boxes, &failed, 0, s));
  OK(hipStreamSynchronize(s));
  EXPECT(inner());
#endif

  // Symbols.
  int values[16], got[16] = {};
  for (int i = 0; i < 16; ++i) values[i] = i * i - 5;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values));
  OK(hipMemcpyFromSymbol(got, HIP_SYMBOL(table), 8 * 4, 4 * 4));
  EXPECT(std::memcmp(got, values + 4, 32) == 0);
  OK(hipMemcpyToSymbolAsync(HIP_SYMBOL(counters), values, 32, 0, hipMemcpyHostToDevice, s));
  OK(hipMemcpyFromSymbolAsync(got, HIP_SYMBOL(counters), 32, 0, hipMemcpyDeviceToHost, s));
  OK(hipStreamSynchronize(s));
  EXPECT(std::memcmp(got, values, 32) == 0);
  OK(hipMemcpyToSymbol_spt(HIP_SYMBOL(counters), values + 1, 4, 8, hipMemcpyHostToDevice));
  OK(hipMemcpyFromSymbol_spt(got, HIP_SYMBOL(counters), 4, 8, hipMemcpyDeviceToHost));
  EXPECT_EQ(got[0], values[1]);
  OK(hipMemcpyToSymbolAsync_spt(HIP_SYMBOL(counters), values + 2, 4, 8, hipMemcpyHostToDevice, hipStreamPerThread));
  OK(hipMemcpyFromSymbolAsync_spt(got, HIP_SYMBOL(counters), 4, 8, hipMemcpyDeviceToHost, hipStreamPerThread));
  OK(hipStreamSynchronize(hipStreamPerThread));
  EXPECT_EQ(got[0], values[2]);
  RETURNS(hipErrorInvalidValue, hipMemcpyToSymbol(HIP_SYMBOL(counters), values, 36));
  RETURNS(hipErrorInvalidSymbol, hipMemcpyToSymbol(&failures, values, 4));
  RETURNS(hipErrorInvalidMemcpyDirection, hipMemcpyToSymbol(HIP_SYMBOL(counters), values, 4, 0, hipMemcpyDeviceToHost));
  void* address = nullptr;
  size_t size = 0;
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(counters)));
  OK(hipGetSymbolSize(&size, HIP_SYMBOL(counters)));
  EXPECT_EQ(size, 32u);
  OK(hipMemcpy(got, address, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(got[0], values[0]);
  EXPECT_EQ(shared_count, 41);
  shared_count = 42;
  OK(hipMemcpyFromSymbol(got, HIP_SYMBOL(shared_count), 4));
  EXPECT_EQ(got[0], 42);

  // Fills.
  const auto fetch = [&](size_t n) { OK(hipMemcpy(back.data(), a, n, hipMemcpyDeviceToHost)); };
  OK(hipMemset(a, 0x1ab, N));  // the low byte counts
  fetch(N);
  EXPECT(back[0] == 0xab && back[N - 1] == 0xab);
  OK(hipMemsetAsync(a, 1, 100, s));
  OK(hipStreamSynchronize(s));
  fetch(101);
  EXPECT(back[99] == 1 && back[100] == 0xab);
  OK(hipMemset_spt(a, 2, 8));
  OK(hipMemsetAsync_spt(a + 8, 3, 8, hipStreamPerThread));
  OK(hipStreamSynchronize(hipStreamPerThread));
  fetch(17);
  EXPECT(back[7] == 2 && back[15] == 3 && back[16] == 1);
  OK(hipMemsetD8(a, 9, 4));
  OK(hipMemsetD16(a + 4, 0x1234, 2));
  OK(hipMemsetD32(a + 8, 0x01020304, 2));
  fetch(17);
  EXPECT(back[3] == 9 && back[4] == 0x34 && back[7] == 0x12 && back[8] == 4 && back[15] == 1 && back[16] == 1);
  OK(hipMemsetD8Async(a, 10, 4, s));
  OK(hipMemsetD16Async(a + 4, 0x5678, 2, s));
  OK(hipMemsetD32Async(a + 8, 0x0a0b0c0d, 2, s));
  OK(hipStreamSynchronize(s));
  fetch(17);
  EXPECT(back[3] == 10 && back[4] == 0x78 && back[8] == 0x0d && back[16] == 1);
  OK(hipMemset2D(a, 64, 5, 10, 3));
  fetch(200);
  EXPECT(back[0] == 5 && back[9] == 5 && back[64 + 9] == 5 && back[64 + 10] == 1 && back[2 * 64] == 5);
  OK(hipMemset2DAsync(a, 64, 6, 10, 2, s));
  OK(hipMemset2DAsync_spt(a + 32, 64, 7, 4, 2, hipStreamPerThread));
  OK(hipStreamSynchronize(s));
  OK(hipStreamSynchronize(hipStreamPerThread));
  OK(hipMemset2D_spt(a + 48, 64, 8, 4, 2));
  fetch(200);
  EXPECT(back[64] == 6 && back[64 + 35] == 7 && back[64 + 51] == 8);
  RETURNS(hipErrorInvalidValue, hipMemset2D(a, 8, 5, 10, 3));
  RETURNS(hipErrorInvalidValue, hipMemset(back.data(), 0, 10));  // pageable host memory
  RETURNS(hipErrorInvalidValue, hipMemset(a, 0, N + 1));
  OK(hipMemset3D(cube, 4, make_hipExtent(12, 5, 6)));
  OK(hipMemset3DAsync(cube, 3, make_hipExtent(2, 5, 6), s));
  OK(hipStreamSynchronize(s));
  OK(hipMemset3D_spt(cube, 2, make_hipExtent(1, 1, 6)));
  OK(hipMemset3DAsync_spt(cube, 1, make_hipExtent(1, 1, 1), hipStreamPerThread));
  OK(hipStreamSynchronize(hipStreamPerThread));
  q.srcPos = make_hipPos(0, 0, 0);
  OK(hipMemcpy3D(&q));
  EXPECT(back[0] == 1 && back[1] == 3 && back[2] == 4 && back[4] == 3 && back[12] == 2);
#if HIP_VERSION_MAJOR >= 7
  OK(hipMemsetD2D8(a, 64, 0x11, 4, 2));
  OK(hipMemsetD2D16(a + 8, 64, 0x2233, 4, 2));
  OK(hipMemsetD2D32(a + 16, 64, 0x44556677, 4, 2));
  fetch(200);
  EXPECT(back[64 + 3] == 0x11 && back[64 + 8] == 0x33 && back[64 + 15] == 0x22 && back[64 + 31] == 0x44);
  OK(hipMemsetD2D8Async(a, 64, 1, 4, 2, s));
  OK(hipMemsetD2D16Async(a + 8, 64, 2, 4, 2, s));
  OK(hipMemsetD2D32Async(a + 16, 64, 3, 4, 2, s));
  OK(hipStreamSynchronize(s));
  fetch(200);
  EXPECT(back[64 + 3] == 1 && back[64 + 8] == 2 && back[64 + 28] == 3);
#endif
  return finish();
}
