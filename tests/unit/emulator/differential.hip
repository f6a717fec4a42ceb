// The same expressions as device kernels and as host functions: both must give the same bits.
// CASE(name, result, input, expression over a, b, c)
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define CASE(name, R, T, ...)                                                              \
    static __device__ __attribute__((noinline)) R f_##name(T a, T b, T c) { return (R)(__VA_ARGS__); } \
    extern "C" __global__ void name(const T *x, const T *y, const T *z, R *out, int n) {    \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
        if (i < n) out[i] = f_##name(x[i], y[i], z[i]);                                    \
    }
#else
#define CASE(name, R, T, ...)                                                              \
    static R f_##name(T a, T b, T c) { return (R)(__VA_ARGS__); }                          \
    extern "C" void name(const T *x, const T *y, const T *z, R *out, int n) {              \
        for (int i = 0; i < n; ++i) out[i] = f_##name(x[i], y[i], z[i]);                   \
    }
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

#define INTEGER(T, U)                                                                      \
    CASE(T##_add, T, T, a + b)                                                             \
    CASE(T##_sub, T, T, a - b)                                                             \
    CASE(T##_mul, T, T, a * b)                                                             \
    CASE(T##_mad, T, T, a * b + c)                                                         \
    CASE(T##_div, T, T, b == 0 || (b == (T)-1 && (T)-1 < 0) ? a : (T)(a / b))               \
    CASE(T##_rem, T, T, b == 0 || (b == (T)-1 && (T)-1 < 0) ? a : (T)(a % b))               \
    CASE(T##_and, T, T, (a & b) | c)                                                       \
    CASE(T##_xor, T, T, (a ^ b) & ~c)                                                      \
    CASE(T##_shl, T, T, (U)a << (b & (sizeof(T) * 8 - 1)))                                 \
    CASE(T##_shr, T, T, a >> (b & (sizeof(T) * 8 - 1)))                                    \
    CASE(T##_min, T, T, a < b ? a : b)                                                     \
    CASE(T##_max, T, T, a > b ? a : b)                                                     \
    CASE(T##_med, T, T, (a < b ? a : b) > c ? (a < b ? a : b) : ((a < b ? b : a) < c ? (a < b ? b : a) : c)) \
    CASE(T##_clz, T, T, a == 0 ? 99 : __builtin_clzll((u64)(U)a))                          \
    CASE(T##_ctz, T, T, a == 0 ? 99 : __builtin_ctzll((u64)(U)a))                          \
    CASE(T##_pop, T, T, __builtin_popcountll((u64)(U)a))                                   \
    CASE(T##_neg, T, T, -a)                                                                \
    CASE(T##_cmp, i32, T, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a >= c) + 16 * (a > c) + 32 * (b != c)) \
    CASE(T##_sel, T, T, a < b ? c : (T)(a + c))                                            \
    CASE(T##_to_f32, f32, T, a)                                                            \
    CASE(T##_to_f64, f64, T, a)                                                            \
    CASE(T##_to_i64, i64, T, a)                                                            \
    CASE(T##_to_i8, i8, T, a)                                                              \
    CASE(T##_rot, T, T, ((U)a << (c & (sizeof(T) * 8 - 1))) | ((U)a >> ((sizeof(T) * 8 - (c & (sizeof(T) * 8 - 1))) & (sizeof(T) * 8 - 1))))
INTEGER(i8, u8)
INTEGER(u8, u8)
INTEGER(i16, u16)
INTEGER(u16, u16)
INTEGER(i32, u32)
INTEGER(u32, u32)
INTEGER(i64, u64)
INTEGER(u64, u64)

CASE(u32_mulhi, u32, u32, ((u64)a * b) >> 32)
CASE(i32_mulhi, i32, i32, ((i64)a * b) >> 32)
CASE(u64_widemul, u64, u32, (u64)a * b + c)
CASE(i64_widemul, i64, i32, (i64)a * b + c)
CASE(u32_bswap, u32, u32, __builtin_bswap32(a))
CASE(u64_bswap, u64, u64, __builtin_bswap64(a))
CASE(u32_bitreverse, u32, u32, __builtin_bitreverse32(a))
CASE(u64_bitreverse, u64, u64, __builtin_bitreverse64(a))
CASE(u32_bfe, u32, u32, (a >> (b & 31)) & ((1u << (c & 15)) - 1))
CASE(u32_funnel, u32, u32, (u32)((((u64)a << 32) | b) >> (c & 31)))
CASE(u32_addsat, u32, u32, __builtin_elementwise_add_sat(a, b))
CASE(i32_addsat, i32, i32, __builtin_elementwise_add_sat(a, b))
CASE(u32_subsat, u32, u32, __builtin_elementwise_sub_sat(a, b))
CASE(i32_subsat, i32, i32, __builtin_elementwise_sub_sat(a, b))
CASE(i16_addsat, i16, i16, __builtin_elementwise_add_sat(a, b))
CASE(u16_subsat, u16, u16, __builtin_elementwise_sub_sat(a, b))
CASE(u8_perm, u32, u32, (a & 0xff) << 24 | (a >> 8 & 0xff) << 8 | (b & 0xff00) << 8 | b >> 24)
CASE(u32_sad, u32, u32, (a > b ? a - b : b - a) + c)
CASE(u64_carry, u64, u64, a + b + (a + b < a) + c)
CASE(u32_loop, u32, u32, ({ u32 s = 0; for (u32 k = 0; k < (a & 31); ++k) { if (k & 1) s += b ^ k; else s = s * 3 + c; if (s & 0x10000) continue; s ^= k << 7; } s; }))
CASE(u32_switch, u32, u32, ({ u32 s; switch (a & 7) { case 0: s = b + c; break; case 1: s = b * c; break; case 2: s = b - c; break; case 3: s = b | c; break; case 4: s = ~b; break; default: s = c >> 3; } s; }))
CASE(u32_gcd, u32, u32, ({ u32 x = a & 0xffff, y = (b & 0xffff) | 1; while (y) { u32 t = x % y; x = y; y = t; } x; }))
CASE(i32_array, i32, i32, ({ i32 v[8]; for (int k = 0; k < 8; ++k) v[k] = a * k + b; v[c & 7] += 5; v[(a ^ c) & 7] + v[(b ^ c) & 7]; }))

#define FLOATING(T, U)                                                                     \
    CASE(T##_add, T, T, a + b)                                                             \
    CASE(T##_sub, T, T, a - b)                                                             \
    CASE(T##_mul, T, T, a * b)                                                             \
    CASE(T##_mad, T, T, (T)(a * b) + c)                                                    \
    CASE(T##_fma, T, T, __builtin_elementwise_fma(a, b, c))                                \
    CASE(T##_fms, T, T, __builtin_elementwise_fma(a, b, -c))                               \
    CASE(T##_fnma, T, T, __builtin_elementwise_fma(-a, __builtin_elementwise_abs(b), c))   \
    CASE(T##_div, T, T, a / b)                                                             \
    CASE(T##_sqrt, T, T, __builtin_elementwise_sqrt(a))                                    \
    CASE(T##_neg, T, T, -a)                                                                \
    CASE(T##_abs, T, T, __builtin_elementwise_abs(a))                                      \
    CASE(T##_floor, T, T, __builtin_elementwise_floor(a))                                  \
    CASE(T##_ceil, T, T, __builtin_elementwise_ceil(a))                                    \
    CASE(T##_trunc, T, T, __builtin_elementwise_trunc(a))                                  \
    CASE(T##_rint, T, T, __builtin_elementwise_roundeven(a))                               \
    CASE(T##_copysign, T, T, __builtin_elementwise_copysign(a, b))                         \
    CASE(T##_lt, i32, T, (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a >= c) + 16 * (a > c) + 32 * (b != c) + 64 * (a != a) + 128 * !(a < c)) \
    CASE(T##_select, T, T, a < b ? c : a)                                                  \
    CASE(T##_to_i32, i32, T, (a > (T)-30000 && a < (T)30000) ? (i32)a : 7)                 \
    CASE(T##_to_u32, u32, T, (a > (T)0 && a < (T)60000) ? (u32)a : 7)                      \
    CASE(T##_to_i64, i64, T, (a > (T)-60 && a < (T)60) ? (i64)(a * (T)1000) : 7)     \
    CASE(T##_to_f16, f16, T, a)                                                            \
    CASE(T##_to_f32, f32, T, a)                                                            \
    CASE(T##_to_f64, f64, T, a)                                                            \
    CASE(T##_horner, T, T, ((a * b + c) * b + a) * c - b)                                  \
    CASE(T##_relu, T, T, a > (T)0 ? a : (T)0)
FLOATING(f16, u16)
FLOATING(f32, u32)
FLOATING(f64, u64)

typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
CASE(pk_f16_add, f16x2, f16x2, a + b)
CASE(pk_f16_mul, f16x2, f16x2, a * b - c)
CASE(pk_f16_fma, f16x2, f16x2, __builtin_elementwise_fma(a, b, c))
CASE(pk_f16_swap, f16x2, f16x2, a.yx + b * c.xx)
CASE(pk_f16_const, f16x2, f16x2, a * (f16)2 + (f16x2){1, (f16)-0.5})
CASE(pk_f16_neg, f16x2, f16x2, __builtin_elementwise_fma(-a, b, -c.yx))
CASE(pk_i16_add, i16x2, i16x2, a + b)
CASE(pk_i16_sub, i16x2, i16x2, a - b.yx)
CASE(pk_i16_mad, i16x2, i16x2, a * b + c)
CASE(pk_i16_max, i16x2, i16x2, __builtin_elementwise_max(a, __builtin_elementwise_min(b, c)))
CASE(pk_u16_max, u16x2, u16x2, __builtin_elementwise_max(a, __builtin_elementwise_min(b, c)))
CASE(pk_u16_shift, u16x2, u16x2, (a << (b & (u16)15)) ^ (a >> (c & (u16)15)))
CASE(pk_i16_shift, i16x2, i16x2, a >> (c & (i16)15))
CASE(pk_i16_const, i16x2, i16x2, a + (i16x2){-1, 5})
CASE(pk_f32_add, f32x2, f32x2, a + b)
CASE(pk_f32_mul, f32x2, f32x2, a * b + c.yx)
CASE(pk_f32_fma, f32x2, f32x2, __builtin_elementwise_fma(a, b, c))
CASE(pk_f32_const, f32x2, f32x2, a * 2.0f + (f32x2){3.0f, 0.5f})
CASE(pk_f32_scalar, f32x2, f32x2, a.x * b)
