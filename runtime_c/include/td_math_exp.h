/* Exponentials and logarithms, and what is made of them: hyperbolic functions, sigmoid, erf. */
#ifndef TD_MATH_EXP_H
#define TD_MATH_EXP_H

#include "td_math_round.h"

#define TD_LN2_HIGH 0.693359375f /* 10 bits, so that its product with an exponent is exact */
#define TD_LN2_LOW -2.12194440e-4f

/* exp(r) - 1 for |r| up to ln(2) / 2. */
static inline float td_expm1_near_zero(float r) {
    const float p =
        ((((1.9915585e-4f * r + 1.3942047e-3f) * r + 8.33327e-3f) * r + 4.1666344e-2f) * r +
         1.6666667e-1f) *
            r +
        0.5f;
    return r + r * r * p;
}

/* Splits x into n * ln(2) + rest; |x| below 200. */
static inline int32_t td_exp_reduce(float x, float *rest) {
    const float turns = x * 1.44269504f;
    const int32_t n = (int32_t)(turns < 0.0f ? turns - 0.5f : turns + 0.5f);
    *rest = (x - (float)n * TD_LN2_HIGH) - (float)n * TD_LN2_LOW;
    return n;
}

/* x * 2^n rounded once; n from -252 to 254. */
static inline float td_scale_by_power(float x, int32_t n) {
    const int32_t half = n / 2;
    return x * td_power_of_two(half) * td_power_of_two(n - half);
}

static inline float td_expf(float x) {
    if (td_is_nanf(x)) {
        return x;
    }
    if (x > 89.0f) {
        return td_infinityf();
    }
    if (x < -104.0f) {
        return 0.0f;
    }
    float rest;
    const int32_t n = td_exp_reduce(x, &rest);
    return td_scale_by_power(1.0f + td_expm1_near_zero(rest), n);
}

/* exp(x) - 1, precise near zero. */
static inline float td_expm1f(float x) {
    if (!(td_absf(x) > 0.34f)) {
        return td_absf(x) < 1e-8f ? x : td_expm1_near_zero(x);
    }
    if (x > 40.0f || x < -20.0f || td_is_nanf(x)) {
        return x < 0.0f ? -1.0f : td_expf(x);
    }
    float rest;
    const int32_t n = td_exp_reduce(x, &rest);
    const float scale = td_power_of_two(n);
    return scale * td_expm1_near_zero(rest) + (scale - 1.0f);
}

/* Splits a positive finite x into 2^n * (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). */
static inline int32_t td_log_reduce(float x, float *f) {
    int32_t n = 0;
    if (x < 1.17549435e-38f) {
        x *= 16777216.0f;
        n = -24;
    }
    const uint32_t shifted = td_float_bits(x) + (0x3f800000u - 0x3f3504f3u);
    n += (int32_t)(shifted >> 23) - 127;
    *f = td_float_of((shifted & TD_MANTISSA_BITS) + 0x3f3504f3u) - 1.0f;
    return n;
}

/* Natural logarithm of 2^n * (1 + f). */
static inline float td_log_of_parts(int32_t n, float f) {
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float tail =
        z * (((2.3596333e-1f * z + 2.8536603e-1f) * z + 4.0000346e-1f) * z + 6.666666e-1f);
    const float half_square = 0.5f * f * f;
    const float exponent = (float)n;
    const float small = s * (half_square + tail) + exponent * TD_LN2_LOW;
    return exponent * TD_LN2_HIGH + (f - (half_square - small));
}

static inline float td_logf(float x) {
    if (!(x > 0.0f)) {
        return x == 0.0f ? -td_infinityf() : td_nanf();
    }
    if (td_is_inff(x)) {
        return x;
    }
    float f;
    const int32_t n = td_log_reduce(x, &f);
    return td_log_of_parts(n, f);
}

/* log(1 + x), precise near zero. */
static inline float td_log1pf(float x) {
    if (x > -0.29f && x < 0.41f) {
        return td_absf(x) < 1e-8f ? x : td_log_of_parts(0, x);
    }
    const float sum = 1.0f + x;
    if (!(sum > 0.0f) || td_is_inff(sum)) {
        return td_logf(sum);
    }
    /* What the sum lost, as a share of it. */
    const float lost = x > 1.0f ? 1.0f - (sum - x) : x - (sum - 1.0f);
    return td_logf(sum) + lost / sum;
}

static inline float td_sigmoidf(float x) {
    const float e = td_expf(-td_absf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* log(1 + exp(x)) */
static inline float td_softplusf(float x) {
    return (x > 0.0f ? x : 0.0f) + td_log1pf(td_expf(-td_absf(x)));
}

static inline float td_tanhf(float x) {
    const float size = td_absf(x);
    if (size > 10.0f) {
        return td_copysignf(1.0f, x);
    }
    const float grown = td_expm1f(2.0f * size);
    const float result = size < 1.0f ? grown / (grown + 2.0f) : 1.0f - 2.0f / (grown + 2.0f);
    return td_is_nanf(x) ? x : td_copysignf(result, x);
}

static inline float td_sinhf(float x) {
    const float size = td_absf(x);
    if (size > 20.0f) {
        const float root = td_expf(0.5f * size);
        return td_copysignf(0.5f * root * root, x);
    }
    const float grown = td_expm1f(size);
    return td_copysignf(0.5f * (grown + grown / (grown + 1.0f)), x);
}

static inline float td_coshf(float x) {
    const float size = td_absf(x);
    const float root = td_expf(0.5f * size);
    const float half = 0.5f * root * root;
    return size > 20.0f ? half : half + 0.25f / half;
}

static inline float td_asinhf(float x) {
    const float size = td_absf(x);
    if (size > 1e9f) {
        return td_copysignf(td_logf(size) + 0.69314718f, x);
    }
    const float square = size * size;
    return td_copysignf(td_log1pf(size + square / (1.0f + td_sqrtf(1.0f + square))), x);
}

static inline float td_acoshf(float x) {
    if (!(x >= 1.0f)) {
        return td_nanf();
    }
    if (x > 1e9f) {
        return td_logf(x) + 0.69314718f;
    }
    const float above = x - 1.0f;
    return td_log1pf(above + td_sqrtf(above * (2.0f + above)));
}

static inline float td_atanhf(float x) {
    const float size = td_absf(x);
    return td_copysignf(0.5f * td_log1pf(2.0f * size / (1.0f - size)), x);
}

/* 1 - erf(x) for x from 1 on: exp(-x^2) times a function that is nearly 1 / x. */
static inline float td_erfc_tail(float x) {
    if (x > 10.1f) {
        return 0.0f;
    }
    const float t = 1.0f / (x + 1.0f);
    const float p =
        ((((((((2.1389265f * t - 4.8984766f) * t + 3.6691692f) * t - 1.4772022e-1f) * t -
             8.4684336e-1f) *
                t -
            2.4354772e-1f) *
               t +
           2.7723402e-1f) *
              t +
          5.644952e-1f) *
             t +
         5.641819e-1f) *
        t;
    /* The square of the upper half of x is exact. */
    const float upper = td_float_of(td_float_bits(x) & 0xfffff000u);
    return td_expf(-upper * upper) * td_expf((upper - x) * (upper + x)) * p;
}

/* erf(x) for |x| up to 1. */
static inline float td_erf_near_zero(float x) {
    const float z = x * x;
    const float p =
        ((((((-9.722143e-6f * z + 1.1286206e-4f) * z - 8.487043e-4f) * z + 5.2212514e-3f) * z -
           2.6865518e-2f) *
              z +
          1.1283784e-1f) *
             z -
         3.7612638e-1f) *
        z;
    return x * (p + 0.12837917f) + x;
}

static inline float td_erff(float x) {
    const float size = td_absf(x);
    if (size > 1.0f) {
        return td_copysignf(1.0f - td_erfc_tail(size), x);
    }
    return td_erf_near_zero(x);
}

/* 1 - erf(x), precise for large x too. */
static inline float td_erfcf(float x) {
    if (x > 1.0f) {
        return td_erfc_tail(x);
    }
    return 1.0f - td_erff(x);
}

#endif
