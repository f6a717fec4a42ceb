// PTX as it is written in real code: text from macros and pieces, several statements, scopes, predicates, loops, matching constraints, wide arithmetic
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define OP_ADD "add"
#define TYPE_U32 ".u32 "
#define BINARY(name, op) __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b) { uint32_t r; asm(op " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
BINARY(ptx_xor, "xor.b32")
BINARY(ptx_min, "min.u32")
BINARY(ptx_mulhi, "mul.hi.u32")
#define PTX_PREFETCH(p) asm volatile("prefetch.global.L1 [%0];" ::"l"(p))
__device__ void add128(uint32_t r[4], const uint32_t a[4], const uint32_t b[4]) {
  asm("add.cc.u32 %0, %4, %8;\n\t" "addc.cc.u32 %1, %5, %9;\n\t" "addc.cc.u32 %2, %6, %10;\n\t" "addc.u32 %3, %7, %11;"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}
__device__ void mul64(uint32_t r[4], uint64_t a, uint64_t b) {
  asm("{\n\t.reg .u32 a0, a1, b0, b1;\n\tmov.b64 {a0, a1}, %4;\n\tmov.b64 {b0, b1}, %5;\n\t"
      "mul.lo.u32 %0, a0, b0;\n\tmul.hi.u32 %1, a0, b0;\n\tmad.lo.cc.u32 %1, a0, b1, %1;\n\tmadc.hi.u32 %2, a0, b1, 0;\n\t"
      "mad.lo.cc.u32 %1, a1, b0, %1;\n\tmadc.hi.cc.u32 %2, a1, b0, %2;\n\taddc.u32 %3, 0, 0;\n\tmad.lo.cc.u32 %2, a1, b1, %2;\n\tmadc.hi.u32 %3, a1, b1, %3;\n\t}"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]) : "l"(a), "l"(b));
}
__device__ int popc_loop(unsigned x) {
  int n; asm("{\n\t.reg .pred p;\n\t.reg .u32 x, t;\n\tmov.u32 x, %1;\n\tmov.u32 %0, 0;\nLOOP:\n\tsetp.eq.u32 p, x, 0;\n\t@p bra DONE;\n\tsub.u32 t, x, 1;\n\tand.b32 x, x, t;\n\tadd.s32 %0, %0, 1;\n\tbra LOOP;\nDONE:\n\t}" : "=r"(n) : "r"(x)); return n;
}
template <int SHIFT> __device__ unsigned funnel(unsigned a, unsigned b) { unsigned r; asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "n"(SHIFT)); return r; }
template <unsigned LUT> __device__ unsigned logic3(unsigned a, unsigned b, unsigned c) { unsigned r; asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"(LUT)); return r; }
__global__ void k(unsigned* out, const unsigned* in) {
  int t = threadIdx.x, n = blockDim.x; unsigned a = in[t], b = in[t + 96], c = in[t + 192], r;
  PTX_PREFETCH(in + t);
  asm(OP_ADD TYPE_U32 "%0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); out[t] = r + ptx_xor(a, c) + ptx_min(b, c) + ptx_mulhi(a, b);
  uint32_t x[4] = {a, b, c, ~a}, y[4] = {~b, c ^ a, b, a}, z[4]; add128(z, x, y); out[n + t] = z[0] ^ z[1] * 3 ^ z[2] * 5 ^ z[3] * 7;
  mul64(z, (uint64_t)a << 32 | b, (uint64_t)c << 32 | ~a); out[2 * n + t] = z[0] ^ z[1] * 3 ^ z[2] * 5 ^ z[3] * 7;
  out[3 * n + t] = popc_loop(a & 0xffff) * 100 + popc_loop(b); out[4 * n + t] = funnel<7>(a, b) ^ funnel<39>(b, c) ^ logic3<0xe8>(a, b, c) ^ logic3<0x1e>(c, b, a);
  r = a; asm("{ .reg .u32 t; .reg .pred p, q; setp.gt.u32 p|q, %0, %1; mov.u32 t, 1; @p shl.b32 t, t, 4; { .reg .u32 t; mov.u32 t, 99; @q add.u32 %0, %0, t; } add.u32 %0, %0, t; }" : "+r"(r) : "r"(b)); out[5 * n + t] = r;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); out[6 * n + t] = r;
  unsigned lo, hi; asm("{ .reg .b16 a0, a1, b0, b1; mov.b32 {a0, a1}, %2; mov.b32 {b0, b1}, %3; mov.b32 %0, {a1, b0}; mov.b32 %1, {b1, a0}; }" : "=r"(lo), "=r"(hi) : "r"(a), "r"(b)); out[7 * n + t] = lo * 3 + hi;
  int s; asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c)); unsigned v; asm("vadd2.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(0)); out[8 * n + t] = s + v;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(c)); int s2; asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(s2) : "r"(a), "r"(b), "r"(c)); out[9 * n + t] = s ^ s2;
  int bx, bd; asm("mov.u32 %0, %%ctaid.x;" : "=r"(bx)); asm("mov.u32 %0, %%ntid.x;" : "=r"(bd)); unsigned tx; asm("mov.u32 %0, %%tid.x;" : "=r"(tx)); out[10 * n + t] = bx * bd + tx;
  long long w; asm("{ .reg .s64 a, b; cvt.s64.s32 a, %1; cvt.s64.s32 b, %2; mul.lo.s64 %0, a, b; shr.s64 %0, %0, 3; }" : "=l"(w) : "r"((int)a), "r"((int)b)); out[11 * n + t] = (unsigned)(w >> 20) ^ (unsigned)w;
}
int main() {
  const int n = 96; static unsigned in[288], h[12 * n]; unsigned q = 12345; for (int i = 0; i < 288; ++i) { q = q * 1664525u + 1013904223u; in[i] = q ^ q >> 13; } unsigned *d, *o; CHECK(cudaMalloc(&d, sizeof in)); CHECK(cudaMalloc(&o, sizeof h)); CHECK(cudaMemcpy(d, in, sizeof in, cudaMemcpyHostToDevice));
  k<<<1, n>>>(o, d); CHECK(cudaGetLastError()); CHECK(cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost)); int bad[12] = {0};
  for (int t = 0; t < n; ++t) { unsigned a = in[t], b = in[t + 96], c = in[t + 192]; typedef unsigned __int128 W; auto mix = [](W v) { return (unsigned)v ^ (unsigned)(v >> 32) * 3 ^ (unsigned)(v >> 64) * 5 ^ (unsigned)(v >> 96) * 7; };
    bad[0] += h[t] != a + b + (a ^ c) + (b < c ? b : c) + (unsigned)((uint64_t)a * b >> 32); W x = (W)~a << 96 | (W)c << 64 | (W)b << 32 | a, y = (W)a << 96 | (W)b << 64 | (W)(c ^ a) << 32 | ~b; bad[1] += h[n + t] != mix(x + y); bad[2] += h[2 * n + t] != mix((W)((uint64_t)a << 32 | b) * ((uint64_t)c << 32 | ~a));
    bad[3] += h[3 * n + t] != (unsigned)(__builtin_popcount(a & 0xffff) * 100 + __builtin_popcount(b)); auto f = [](unsigned l, unsigned hh, int s) { return hh << s | l >> (32 - s); }; bad[4] += h[4 * n + t] != (f(a, b, 7) ^ f(b, c, 7) ^ ((a & b) | (a & c) | (b & c)) ^ (c ^ (b | a)));
    unsigned r = a; bool p = r > b; if (!p) r += 99; r += p ? 16 : 1; bad[5] += h[5 * n + t] != r; bad[6] += h[6 * n + t] != a * b + c; bad[7] += h[7 * n + t] != ((a >> 16 | b << 16) * 3 + (b >> 16 | a << 16));
    int s = c; unsigned v = 0; for (int i = 0; i < 4; ++i) { int xx = a >> 8 * i & 255, yy = b >> 8 * i & 255; s += xx > yy ? xx - yy : yy - xx; } for (int i = 0; i < 2; ++i) { int z = (short)(a >> 16 * i) + (short)(b >> 16 * i); z = z > 32767 ? 32767 : z < -32768 ? -32768 : z; v |= (unsigned)(z & 0xffff) << 16 * i; } bad[8] += h[8 * n + t] != s + v;
    int d4 = c; for (int i = 0; i < 4; ++i) d4 += (int)(a >> 8 * i & 255) * (signed char)(b >> 8 * i); int d2 = c; for (int i = 0; i < 2; ++i) d2 += (short)(a >> 16 * i) * (int)(b >> (16 + 8 * i) & 255); bad[9] += h[9 * n + t] != (unsigned)(d4 ^ d2); bad[10] += h[10 * n + t] != (unsigned)t; long long w = (long long)(int)a * (int)b >> 3; bad[11] += h[11 * n + t] != ((unsigned)(w >> 20) ^ (unsigned)w); }
  printf("blocks:"); for (int i = 0; i < 12; ++i) printf(" %d", bad[i]); printf("\n%08x %08x\n", h[5], h[11 * n + 95]);
  return 0;
}
