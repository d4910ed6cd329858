/* Circular functions and their inverses. */
#ifndef TD_MATH_TRIG_H
#define TD_MATH_TRIG_H

#include "td_math_round.h"

#define TD_HALF_PI 1.57079633f
#define TD_PI 3.14159265f

/* 32 bits of 2/pi from the bit of weight 2^-1-first on; bits before the point are zero. */
static inline uint32_t td_two_over_pi_bits(int32_t first) {
    static const uint32_t words[8] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                      0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const int32_t place = first + 32;
    const int32_t word = place >> 5;
    const int32_t bit = place & 31;
    return bit == 0 ? words[word] : (words[word] << bit) | (words[word + 1] >> (32 - bit));
}

/* Splits a finite x into quarter turns and a rest of at most pi / 4; the result is the number of
 * quarter turns modulo 4. The product with 2/pi is made in integers of 96 bits, which holds for
 * every float. */
static inline int32_t td_quarter_turns(float x, float *rest) {
    const float size = td_absf(x);
    if (size < 0.785f) {
        *rest = x;
        return 0;
    }
    int32_t exponent;
    const uint64_t mantissa = td_split(size, &exponent);
    /* Bits of 2/pi that make whole turns are left out. */
    const int32_t first = exponent - 2;
    const uint64_t low = mantissa * td_two_over_pi_bits(first + 64);
    const uint64_t middle = mantissa * td_two_over_pi_bits(first + 32) + (low >> 32);
    const uint32_t high =
        (uint32_t)mantissa * td_two_over_pi_bits(first) + (uint32_t)(middle >> 32);
    /* high holds 2 bits of quarter turns, then the fraction of one goes on in middle. */
    uint64_t fraction = ((uint64_t)high << 34) | ((middle & 0xffffffffu) << 2);
    const bool up = (fraction >> 63) != 0u;
    const int32_t turns = (int32_t)(high >> 30) + (up ? 1 : 0);
    fraction = up ? ~fraction + 1u : fraction;
    float scale = 2.3283064e-10f * TD_HALF_PI;
    for (int32_t k = 0; k < 7 && (fraction >> 56) == 0u; ++k) {
        fraction <<= 8;
        scale *= 0.00390625f;
    }
    const float distance = (float)(uint32_t)(fraction >> 32) * scale;
    const bool negative = (td_float_bits(x) & TD_SIGN_BIT) != 0u;
    *rest = up != negative ? -distance : distance;
    return negative ? -turns & 3 : turns & 3;
}

/* sin and cos for |x| up to pi / 4. */
static inline float td_sin_near_zero(float x) {
    const float z = x * x;
    const float p = ((2.7182373e-6f * z - 1.9839327e-4f) * z + 8.333329e-3f) * z - 1.6666667e-1f;
    return z > 0.0f ? x + x * z * p : x;
}

static inline float td_cos_near_zero(float x) {
    const float z = x * x;
    const float p = ((-2.7209552e-7f * z + 2.4799512e-5f) * z - 1.3888883e-3f) * z + 4.1666668e-2f;
    return 1.0f - (0.5f * z - z * z * p);
}

static inline float td_sinf(float x) {
    if (td_is_nanf(x) || td_is_inff(x)) {
        return td_nanf();
    }
    float rest;
    const int32_t turns = td_quarter_turns(x, &rest);
    const float result = (turns & 1) != 0 ? td_cos_near_zero(rest) : td_sin_near_zero(rest);
    return (turns & 2) != 0 ? -result : result;
}

static inline float td_cosf(float x) {
    if (td_is_nanf(x) || td_is_inff(x)) {
        return td_nanf();
    }
    float rest;
    const int32_t turns = td_quarter_turns(x, &rest);
    const float result = (turns & 1) != 0 ? td_sin_near_zero(rest) : td_cos_near_zero(rest);
    return ((turns + 1) & 2) != 0 ? -result : result;
}

static inline float td_tanf(float x) {
    if (td_is_nanf(x) || td_is_inff(x)) {
        return td_nanf();
    }
    float rest;
    const int32_t turns = td_quarter_turns(x, &rest);
    const float sine = td_sin_near_zero(rest), cosine = td_cos_near_zero(rest);
    return (turns & 1) != 0 ? -cosine / sine : sine / cosine;
}

static inline float td_atanf(float x) {
    const float size = td_absf(x);
    if (td_is_nanf(x)) {
        return x;
    }
    float start = 0.0f, t = size;
    if (size > 2.41421356f) {
        start = TD_HALF_PI;
        t = -1.0f / size;
    } else if (size > 0.414213562f) {
        start = 0.5f * TD_HALF_PI;
        t = (size - 1.0f) / (size + 1.0f);
    }
    const float z = t * t;
    const float p =
        ((((4.7439653e-2f * z - 8.476412e-2f) * z + 1.1044753e-1f) * z - 1.4282016e-1f) * z +
         1.9999905e-1f) *
            z -
        3.333333e-1f;
    return td_copysignf(start + (t + t * z * p), x);
}

/* asin for |x| up to 1/2. */
static inline float td_asin_near_zero(float x) {
    const float z = x * x;
    const float p =
        ((((3.7565213e-2f * z + 1.4402598e-2f) * z + 3.1817615e-2f) * z + 4.451572e-2f) * z +
         7.500511e-2f) *
            z +
        1.666666e-1f;
    return x + x * z * p;
}

static inline float td_asinf(float x) {
    const float size = td_absf(x);
    if (size <= 0.5f) {
        return td_asin_near_zero(x);
    }
    const float half = td_asin_near_zero(td_sqrtf(0.5f * (1.0f - size)));
    return td_copysignf(TD_HALF_PI - 2.0f * half, x);
}

static inline float td_acosf(float x) {
    const float size = td_absf(x);
    if (size <= 0.5f) {
        return TD_HALF_PI - td_asin_near_zero(x);
    }
    const float turn = 2.0f * td_asin_near_zero(td_sqrtf(0.5f * (1.0f - size)));
    return x < 0.0f ? TD_PI - turn : turn;
}

#endif
