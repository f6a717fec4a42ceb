// Arrays, on a target with image instructions: creation, queries, copies in and out.
#include "check.h"

int main() {
  const int W = 10, H = 6;
  hipChannelFormatDesc desc = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat), got;
  hipArray_t a = nullptr, b = nullptr, cube = nullptr, line = nullptr;
  OK(hipMallocArray(&a, &desc, W, H, hipArraySurfaceLoadStore));
  HIP_ARRAY_DESCRIPTOR d2{(size_t)W, (size_t)H, HIP_AD_FORMAT_FLOAT, 1}, d2_got;
  OK(hipArrayCreate(&b, &d2));
  HIP_ARRAY3D_DESCRIPTOR d3{4, 3, 2, HIP_AD_FORMAT_UNSIGNED_INT8, 4, 0}, d3_got;
  OK(hipArray3DCreate(&cube, &d3));
  hipExtent extent;
  unsigned flags = 0;
  OK(hipArrayGetInfo(&got, &extent, &flags, a));
  EXPECT(got.x == 32 && got.y == 0 && got.f == hipChannelFormatKindFloat);
  EXPECT(extent.width == 10 && extent.height == 6 && extent.depth == 0);
  EXPECT_EQ(flags, (unsigned)hipArraySurfaceLoadStore);
  OK(hipGetChannelDesc(&got, cube));
  EXPECT(got.x == 8 && got.w == 8 && got.f == hipChannelFormatKindUnsigned);
  OK(hipArrayGetDescriptor(&d2_got, b));
  EXPECT(d2_got.Width == 10 && d2_got.Format == HIP_AD_FORMAT_FLOAT && d2_got.NumChannels == 1);
  OK(hipArray3DGetDescriptor(&d3_got, cube));
  EXPECT(d3_got.Depth == 2 && d3_got.NumChannels == 4);
  OK(hipMalloc3DArray(&line, &desc, make_hipExtent(W, 0, 0), 0));
  hipChannelFormatDesc mixed = hipCreateChannelDesc(32, 16, 0, 0, hipChannelFormatKindFloat);
  hipArray_t none = nullptr;
  RETURNS(hipErrorInvalidValue, hipMallocArray(&none, &mixed, W, H, 0));

  float host[H][W], back[H][W];
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < W; ++x) host[y][x] = y * 100.0f + x;
  hipStream_t s;
  OK(hipStreamCreate(&s));
  const auto clear = [&] { std::memset(back, 0, sizeof back); };
  const auto same = [&] { return std::memcmp(host, back, sizeof host) == 0; };
  OK(hipMemcpy2DToArray(a, 0, 0, host, W * 4, W * 4, H, hipMemcpyHostToDevice));
  OK(hipMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, W * 4, H, hipMemcpyDeviceToDevice));
  OK(hipMemcpy2DFromArray(back, W * 4, b, 0, 0, W * 4, H, hipMemcpyDeviceToHost));
  EXPECT(same());
  clear();
  OK(hipMemcpy2DToArrayAsync(b, 0, 0, host, W * 4, W * 4, H, hipMemcpyHostToDevice, s));
  OK(hipMemcpy2DFromArrayAsync(back, W * 4, b, 0, 0, W * 4, H, hipMemcpyDeviceToHost, s));
  OK(hipStreamSynchronize(s));
  EXPECT(same());
  clear();
  OK(hipMemcpy2DToArray_spt(b, 0, 0, host, W * 4, W * 4, H, hipMemcpyHostToDevice));
  OK(hipMemcpy2DFromArray_spt(back, W * 4, b, 0, 0, W * 4, H, hipMemcpyDeviceToHost));
  EXPECT(same());
  clear();
  OK(hipMemcpy2DToArrayAsync_spt(b, 0, 0, host, W * 4, W * 4, H, hipMemcpyHostToDevice, hipStreamPerThread));
  OK(hipMemcpy2DFromArrayAsync_spt(back, W * 4, b, 0, 0, W * 4, H, hipMemcpyDeviceToHost, hipStreamPerThread));
  OK(hipStreamSynchronize(hipStreamPerThread));
  EXPECT(same());
  clear();
  OK(hipMemcpyToArray(b, 0, 0, host, sizeof host, hipMemcpyHostToDevice));  // runs on over the rows
  OK(hipMemcpyFromArray(back, b, 0, 0, sizeof back, hipMemcpyDeviceToHost));
  EXPECT(same());
  clear();
  OK(hipMemcpyFromArray_spt(back, b, 8, 1, 64, hipMemcpyDeviceToHost));  // from row 1, element 2: into row 2
  EXPECT(std::memcmp(back, &host[1][2], 64) == 0);
  clear();
  RETURNS(hipErrorInvalidValue, hipMemcpy2DToArray(a, 4, 0, host, W * 4, W * 4, H, hipMemcpyHostToDevice));

  // One-dimensional arrays of the driver interface, offsets in bytes.
  OK(hipMemcpyHtoA(line, 8, host[1], 16));
  OK(hipMemcpyAtoH(back, line, 8, 16));
  EXPECT(std::memcmp(back, host[1], 16) == 0);
  OK(hipMemcpyHtoAAsync(line, 0, host[2], 40, s));
  OK(hipMemcpyAtoHAsync(back, line, 0, 40, s));
  OK(hipStreamSynchronize(s));
  EXPECT(std::memcmp(back, host[2], 40) == 0);
  void* linear = nullptr;
  OK(hipMalloc(&linear, 64));
  OK(hipMemcpyAtoD(linear, line, 4, 36));
  OK(hipMemcpyDtoA(line, 0, linear, 36));
  OK(hipMemcpyAtoA(a, 0, line, 0, 36));
  OK(hipMemcpy2DFromArray(back, W * 4, a, 0, 0, 36, 1, hipMemcpyDeviceToHost));
  EXPECT(std::memcmp(back, &host[2][1], 36) == 0);

  // A box of a three-dimensional array; extents are in elements.
  unsigned char voxels[2][3][4][4], out[2][3][4][4];
  for (size_t i = 0; i < sizeof voxels; ++i) (&voxels[0][0][0][0])[i] = (unsigned char)(i * 7);
  hipMemcpy3DParms p{};
  p.srcPtr = make_hipPitchedPtr(voxels, 16, 4, 3);
  p.dstArray = cube;
  p.extent = make_hipExtent(4, 3, 2);
  p.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&p));
  hipMemcpy3DParms q{};
  q.srcArray = cube;
  q.dstPtr = make_hipPitchedPtr(out, 16, 4, 3);
  q.extent = make_hipExtent(4, 3, 2);
  q.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&q));
  EXPECT(std::memcmp(voxels, out, sizeof voxels) == 0);

  OK(hipFreeArray(a));
  OK(hipArrayDestroy(b));
  OK(hipFreeArray(cube));
  RETURNS(hipErrorContextIsDestroyed, hipFreeArray(cube));
  RETURNS(hipErrorInvalidHandle, hipArrayGetInfo(&got, &extent, &flags, cube));
  return finish();
}
