// cooperative groups beyond the basics: nested tiles, groups as arguments, run-time sizes, coalesced shuffles, meta ranks, scans, copies
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
using namespace cooperative_groups;
namespace cg = cooperative_groups;
template <class G> __device__ int sum_of(const G& g, int v) { for (int i = g.size() / 2; i > 0; i /= 2) v += g.shfl_down(v, i); return g.shfl(v, 0); }
__device__ int rank_in(cg::thread_group g) { g.sync(); return (int)g.thread_rank() * 100 + (int)g.size(); }
__global__ void nested(int* out) {
  auto block = cg::this_thread_block(); int t = block.thread_rank(), n = block.size();
  auto warp = cg::tiled_partition<32>(block); auto quarter = cg::tiled_partition<8>(warp); auto pair = cg::tiled_partition<2>(quarter);
  out[t] = sum_of(warp, t); out[n + t] = sum_of(quarter, t); out[2 * n + t] = sum_of(pair, t);
  out[3 * n + t] = quarter.meta_group_rank() * 1000 + quarter.meta_group_size() * 100 + pair.meta_group_rank() * 10 + pair.meta_group_size();
  out[4 * n + t] = rank_in(warp); out[5 * n + t] = rank_in(block); out[6 * n + t] = rank_in(cg::tiled_partition(block, 4));
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  out[7 * n + t] = cg::reduce(tile, t ^ 5, cg::bit_xor<int>()) + cg::reduce(tile, t | 1, cg::bit_and<int>()) * 3 + cg::reduce(tile, (float)t, cg::plus<float>());
}
__global__ void coalesced(int* out) {
  int t = threadIdx.x, n = blockDim.x; out[t] = out[n + t] = out[2 * n + t] = out[3 * n + t] = -1;
  if ((t * 11) % 7 < 3) {
    cg::coalesced_group g = cg::coalesced_threads();
    out[t] = g.shfl_up(t, 1) * 1000 + g.shfl_down(t, 2); out[n + t] = g.ballot(t & 1); out[2 * n + t] = cg::exclusive_scan(g, t, cg::plus<int>());
    out[3 * n + t] = cg::reduce(g, t, [](int a, int b) { return a > b ? a : b; }) * 100 + (int)g.match_any(t % 3);
  }
}
__global__ void parts(int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block()); int t = threadIdx.x, n = blockDim.x;
  auto lab = cg::labeled_partition(warp, (t * 5 / 3) % 4); out[t] = lab.meta_group_rank() * 10000 + lab.meta_group_size() * 1000 + lab.thread_rank() * 10 + lab.any(t == 40);
  auto bin = cg::binary_partition(warp, t % 32 < t / 8); out[n + t] = bin.meta_group_rank() * 10000 + bin.meta_group_size() * 1000 + bin.size() * 10 + bin.all(t < 70);
  out[2 * n + t] = cg::inclusive_scan(bin, t & 3) + 100 * cg::inclusive_scan(warp, t & 1, cg::bit_xor<int>());
  int who = 0; cg::invoke_one(warp, [&] { who = 1; }); out[3 * n + t] = __popc(warp.ballot(who));
}
__global__ void copies(const int* in, int* out) {
  __shared__ int s[200]; auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, in, sizeof(int) * 200); cg::wait(block);
  int r = 0; for (int i = 0; i < 5; ++i) r = r * 3 + s[(threadIdx.x * 7 + i * 41) % 200]; out[block.thread_rank()] = r;
  auto warp = cg::tiled_partition<32>(block); block.sync(); cg::memcpy_async(warp, s + warp.meta_group_rank() * 40, in + 3, sizeof(int) * 33); cg::wait(warp);
  out[block.size() + block.thread_rank()] = s[warp.meta_group_rank() * 40 + warp.thread_rank()] + s[warp.meta_group_rank() * 40 + 32];
}
static unsigned long long fnv(const void* p, size_t n) { unsigned long long h = 1469598103934665603ull; for (size_t i = 0; i < n; ++i) { h ^= ((const unsigned char*)p)[i]; h *= 1099511628211ull; } return h; }
int main() {
  const int n = 96; static int h[8 * n], in[256]; int *d, *di; CHECK(cudaMalloc(&d, sizeof h)); CHECK(cudaMalloc(&di, sizeof in)); for (int i = 0; i < 256; ++i) in[i] = i * i % 97; CHECK(cudaMemcpy(di, in, sizeof in, cudaMemcpyHostToDevice));
  nested<<<1, n>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  int bad = 0; for (int t = 0; t < n; ++t) { auto run = [](int a, int k) { int b = a / k * k; return k * b + k * (k - 1) / 2; }; bad += h[t] != run(t, 32); bad += h[n + t] != run(t, 8); bad += h[2 * n + t] != run(t, 2); bad += h[3 * n + t] != (t % 32 / 8) * 1000 + 400 + (t % 8 / 2) * 10 + 4; bad += h[4 * n + t] != t % 32 * 100 + 32; bad += h[5 * n + t] != t * 100 + n; bad += h[6 * n + t] != t % 4 * 100 + 4;
    int x = 0, a = -1, s = 0; for (int i = t / 16 * 16; i < t / 16 * 16 + 16; ++i) { x ^= i ^ 5; a &= i | 1; s += i; } bad += h[7 * n + t] != x + a * 3 + s; }
  printf("nested: %d %d bad %d\n", h[77], h[3 * n + 77], bad);
  coalesced<<<1, n>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 4 * n * 4, cudaMemcpyDeviceToHost)); bad = 0;
  for (int t = 0; t < n; ++t) { int base = t & ~31, m[32], k = 0, me = -1; for (int l = 0; l < 32; ++l) if ((base + l) * 11 % 7 < 3) { if (base + l == t) me = k; m[k++] = base + l; }
    if (me < 0) { bad += h[t] != -1 || h[n + t] != -1; continue; }
    int up = me >= 1 ? m[me - 1] : t, down = me + 2 < k ? m[me + 2] : t, bal = 0, ex = 0, mx = 0, mt = 0; for (int i = 0; i < k; ++i) { if (m[i] & 1) bal |= 1 << i; if (i < me) ex += m[i]; if (m[i] > mx) mx = m[i]; if (m[i] % 3 == t % 3) mt |= 1 << i; }
    bad += h[t] != up * 1000 + down; bad += h[n + t] != bal; bad += h[2 * n + t] != ex; bad += h[3 * n + t] != mx * 100 + mt; }
  printf("coalesced: bad %d\n", bad);
  parts<<<1, n>>>(d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 4 * n * 4, cudaMemcpyDeviceToHost)); bad = 0;
  for (int t = 0; t < n; ++t) { int base = t & ~31; auto lb = [](int x) { return x * 5 / 3 % 4; }; int first[4] = {99, 99, 99, 99}, rank = 0, any = 0, groups = 0, gr = 0; for (int l = 0; l < 32; ++l) { int x = base + l, b = lb(x); if (first[b] == 99) { first[b] = l; ++groups; } if (b == lb(t)) { if (x < t) ++rank; any |= x == 40; } } for (int b = 0; b < 4; ++b) gr += first[b] < first[lb(t)];
    bad += h[t] != gr * 10000 + groups * 1000 + rank * 10 + any;
    int p = t % 32 < t / 8, cnt = 0, tot = 0, all = 1, sc = 0, xs = 0; for (int l = 0; l < 32; ++l) { int x = base + l, q = l < x / 8; tot += q; if (q == p) { ++cnt; all &= x < 70; if (x <= t) sc += x & 3; } if (x <= t) xs ^= x & 1; } bool split = tot != 0 && tot != 32;
    bad += h[n + t] != (split ? p * 10000 + 2000 : 1000) + cnt * 10 + all; bad += h[2 * n + t] != sc + 100 * xs; bad += h[3 * n + t] != 1; }
  printf("parts: %d %d bad %d\n", h[5], h[n + 70], bad);
  copies<<<1, n>>>(di, d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, d, 2 * n * 4, cudaMemcpyDeviceToHost)); bad = 0;
  for (int t = 0; t < n; ++t) { int r = 0; for (int i = 0; i < 5; ++i) r = r * 3 + in[(t * 7 + i * 41) % 200]; bad += h[t] != r; bad += h[n + t] != in[3 + t % 32] + in[35]; }
  printf("copies: bad %d %016llx\n", bad, fnv(h, 2 * n * 4));
  return 0;
}
