// The device library's functions on arrays: one kernel per function and type.
#include <hip/hip_runtime.h>
#define ONE(name, T, expression)                                                         \
    extern "C" __global__ void name(const T *x, const T *y, T *out, int n) {             \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                   \
        if (i >= n) return;                                                              \
        T a = x[i];                                                                      \
        T b = y[i];                                                                      \
        (void)b;                                                                         \
        out[i] = expression;                                                             \
    }
#define BOTH(name, call, callf) ONE(name##_f64, double, call) ONE(name##_f32, float, callf)
BOTH(sin, sin(a), sinf(a))
BOTH(cos, cos(a), cosf(a))
BOTH(tan, tan(a), tanf(a))
BOTH(asin, asin(a), asinf(a))
BOTH(acos, acos(a), acosf(a))
BOTH(atan, atan(a), atanf(a))
BOTH(atan2, atan2(a, b), atan2f(a, b))
BOTH(sinh, sinh(a), sinhf(a))
BOTH(cosh, cosh(a), coshf(a))
BOTH(tanh, tanh(a), tanhf(a))
BOTH(exp, exp(a), expf(a))
BOTH(exp2, exp2(a), exp2f(a))
BOTH(expm1, expm1(a), expm1f(a))
BOTH(log, log(a), logf(a))
BOTH(log2, log2(a), log2f(a))
BOTH(log10, log10(a), log10f(a))
BOTH(log1p, log1p(a), log1pf(a))
BOTH(pow, pow(a, b), powf(a, b))
BOTH(sqrt, sqrt(a), sqrtf(a))
BOTH(cbrt, cbrt(a), cbrtf(a))
BOTH(rsqrt, rsqrt(a), rsqrtf(a))
BOTH(hypot, hypot(a, b), hypotf(a, b))
BOTH(fmod, fmod(a, b), fmodf(a, b))
BOTH(remainder, remainder(a, b), remainderf(a, b))
BOTH(ldexp, ldexp(a, (int)(b * 4)), ldexpf(a, (int)(b * 4)))
BOTH(nextafter, nextafter(a, b), nextafterf(a, b))
BOTH(round, round(a), roundf(a))
BOTH(division, a / b, a / b)

// bfloat16: every operation rounds to nearest even once.
#define BFLOAT(name, expression)                                                                  \
    extern "C" __global__ void bf16_##name(const __bf16 *x, const __bf16 *y, __bf16 *out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
        if (i >= n) return;                                                                       \
        __bf16 a = x[i], b = y[i];                                                                \
        out[i] = expression;                                                                      \
    }
BFLOAT(add, a + b)
BFLOAT(sub, a - b)
BFLOAT(mul, a * b)
BFLOAT(div, a / b)
BFLOAT(less, a < b ? a : b)
BFLOAT(negate, -a)
BFLOAT(chain, (__bf16)(a * b) - a)
BFLOAT(integer, (__bf16)(float)(int)(a > (__bf16)-100.0f && a < (__bf16)100.0f ? a : (__bf16)1.0f))
extern "C" __global__ void bf16_from_f32(const float *x, const float *, __bf16 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (__bf16)x[i];
}
