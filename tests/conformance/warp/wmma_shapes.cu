// nvcuda::wmma in every documented shape and type: 16x16x16, 32x8x16, 8x32x16 half and bfloat16, int8, tf32, double, half accumulators, layouts
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
using namespace nvcuda;
template <class T> __host__ __device__ T make(int v) { return (T)v; }
template <> __host__ __device__ __half make<__half>(int v) { return __float2half((float)v); }
template <> __host__ __device__ __nv_bfloat16 make<__nv_bfloat16>(int v) { return __float2bfloat16((float)v); }
template <class T, class S, class E, int M, int N, int K, class LA, class LB>
__global__ void tile(const S* a, const S* b, const E* c, E* d, wmma::layout_t out) {
  int w = threadIdx.x / 32; a += w * M * K; b += w * K * N; c += w * M * N; d += w * M * N;
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa; wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb; wmma::fragment<wmma::accumulator, M, N, K, E> fc, fd;
  wmma::load_matrix_sync(fa, a, std::is_same<LA, wmma::row_major>::value ? K : M); wmma::load_matrix_sync(fb, b, std::is_same<LB, wmma::row_major>::value ? N : K);
  wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  wmma::fill_fragment(fd, make<E>(0)); wmma::mma_sync(fd, fa, fb, fc);
  for (int i = 0; i < fd.num_elements; ++i) fd.x[i] = fd.x[i] + fc.x[i];
  wmma::store_matrix_sync(d, fd, out == wmma::mem_row_major ? N : M, out);
}
template <class T, class S, class E, int M, int N, int K, class LA, class LB> void go(const char* name, wmma::layout_t out, int lo, int hi) {
  const int W = 3; static S a[W * 512], b[W * 512]; static E c[W * 256], d[W * 256]; unsigned q = M * 131 + N * 17 + K; auto rnd = [&] { q = q * 1664525u + 1013904223u; return lo + (int)((q >> 16) % (unsigned)(hi - lo + 1)); };
  static int ia[W][32][32], ib[W][32][32], ic[W][32][32];
  for (int w = 0; w < W; ++w) { for (int r = 0; r < M; ++r) for (int k = 0; k < K; ++k) { int v = ia[w][r][k] = rnd(); a[w * M * K + (std::is_same<LA, wmma::row_major>::value ? r * K + k : k * M + r)] = make<S>(v); } for (int k = 0; k < K; ++k) for (int n = 0; n < N; ++n) { int v = ib[w][k][n] = rnd(); b[w * K * N + (std::is_same<LB, wmma::row_major>::value ? k * N + n : n * K + k)] = make<S>(v); } for (int r = 0; r < M; ++r) for (int n = 0; n < N; ++n) { int v = ic[w][r][n] = rnd() % 5; c[w * M * N + r * N + n] = make<E>(v); } }
  S *da, *db; E *dc, *dd; CHECK(cudaMalloc(&da, sizeof a)); CHECK(cudaMalloc(&db, sizeof b)); CHECK(cudaMalloc(&dc, sizeof c)); CHECK(cudaMalloc(&dd, sizeof d)); CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(dc, c, sizeof c, cudaMemcpyHostToDevice));
  tile<T, S, E, M, N, K, LA, LB><<<1, 32 * W>>>(da, db, dc, dd, out); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost)); int bad = 0;
  for (int w = 0; w < W; ++w) for (int r = 0; r < M; ++r) for (int n = 0; n < N; ++n) { int s = 2 * ic[w][r][n]; for (int k = 0; k < K; ++k) s += ia[w][r][k] * ib[w][k][n]; bad += (float)d[w * M * N + (out == wmma::mem_row_major ? r * N + n : n * M + r)] != (float)s; }
  printf("%s: bad %d\n", name, bad); cudaFree(da); cudaFree(db); cudaFree(dc); cudaFree(dd);
}
using R = wmma::row_major; using C = wmma::col_major;
int main() {
  go<__half, __half, float, 16, 16, 16, R, C>("f16 16x16x16 rc", wmma::mem_row_major, -4, 4); go<__half, __half, float, 32, 8, 16, C, R>("f16 32x8x16 cr", wmma::mem_col_major, -4, 4); go<__half, __half, float, 8, 32, 16, R, R>("f16 8x32x16 rr", wmma::mem_row_major, -4, 4);
  go<__half, __half, __half, 16, 16, 16, C, C>("f16 acc cc", wmma::mem_col_major, -3, 3); go<__half, __half, __half, 8, 32, 16, C, C>("f16 acc 8x32 cc", wmma::mem_row_major, -3, 3);
  go<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, R, R>("bf16 rr", wmma::mem_row_major, -4, 4); go<__nv_bfloat16, __nv_bfloat16, float, 32, 8, 16, R, C>("bf16 32x8 rc", wmma::mem_row_major, -4, 4);
  go<signed char, signed char, int, 16, 16, 16, R, C>("s8 rc", wmma::mem_row_major, -100, 100); go<unsigned char, unsigned char, int, 32, 8, 16, R, C>("u8 32x8 rc", wmma::mem_col_major, 0, 200); go<signed char, signed char, int, 8, 32, 16, C, R>("s8 8x32 cr", wmma::mem_row_major, -100, 100);
  go<wmma::precision::tf32, float, float, 16, 16, 8, R, C>("tf32 rc", wmma::mem_row_major, -20, 20); go<double, double, double, 8, 8, 4, R, C>("f64 rc", wmma::mem_row_major, -1000, 1000); go<double, double, double, 8, 8, 4, C, R>("f64 cr", wmma::mem_col_major, -1000, 1000);
  return 0;
}
