/* Bits of floats, rounding to whole numbers, remainders and square roots: all exact. */
#ifndef TD_MATH_ROUND_H
#define TD_MATH_ROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TD_SIGN_BIT 0x80000000u
#define TD_INFINITY_BITS 0x7f800000u
#define TD_NAN_BITS 0x7fc00000u
#define TD_MANTISSA_BITS 0x007fffffu

static inline uint32_t td_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float td_float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float td_infinityf(void) {
    return td_float_of(TD_INFINITY_BITS);
}

static inline float td_nanf(void) {
    return td_float_of(TD_NAN_BITS);
}

static inline bool td_is_nanf(float x) {
    return (td_float_bits(x) & ~TD_SIGN_BIT) > TD_INFINITY_BITS;
}

static inline bool td_is_inff(float x) {
    return (td_float_bits(x) & ~TD_SIGN_BIT) == TD_INFINITY_BITS;
}

static inline float td_absf(float x) {
    return td_float_of(td_float_bits(x) & ~TD_SIGN_BIT);
}

/* The size of x with the sign of s. */
static inline float td_copysignf(float x, float s) {
    return td_float_of((td_float_bits(x) & ~TD_SIGN_BIT) | (td_float_bits(s) & TD_SIGN_BIT));
}

/* NaN where one of the two is. */
static inline float td_minimumf(float a, float b) {
    return a < b || td_is_nanf(a) ? a : b;
}

static inline float td_maximumf(float a, float b) {
    return a > b || td_is_nanf(a) ? a : b;
}

/* 2^n; n from -126 to 127. */
static inline float td_power_of_two(int32_t n) {
    return td_float_of((uint32_t)(n + 127) << 23);
}

/* Whether x has no fraction bits because of its size; NaN and infinities too. */
static inline bool td_is_large(float x) {
    return (td_float_bits(x) & ~TD_SIGN_BIT) >= 0x4b000000u;
}

static inline float td_truncf(float x) {
    return td_is_large(x) ? x : td_copysignf((float)(int32_t)x, x);
}

static inline float td_floorf(float x) {
    const float whole = td_truncf(x);
    return whole > x ? whole - 1.0f : whole;
}

static inline float td_ceilf(float x) {
    const float whole = td_truncf(x);
    return whole < x ? td_copysignf(whole + 1.0f, x) : whole;
}

/* To the nearest whole number, ties to the even one. */
static inline float td_roundevenf(float x) {
    if (td_is_large(x)) {
        return x;
    }
    const float size = td_absf(x);
    const int32_t whole = (int32_t)size;
    const float rest = size - (float)whole;
    const bool up = rest > 0.5f || (rest == 0.5f && (whole & 1) != 0);
    return td_copysignf((float)(whole + (up ? 1 : 0)), x);
}

/* To the nearest whole number, ties away from zero. */
static inline float td_roundf(float x) {
    if (td_is_large(x)) {
        return x;
    }
    const float size = td_absf(x);
    const int32_t whole = (int32_t)size;
    const bool up = size - (float)whole >= 0.5f;
    return td_copysignf((float)(whole + (up ? 1 : 0)), x);
}

/* The mantissa of a positive float as a whole number, its exponent so that x = mantissa *
 * 2^exponent. */
static inline uint32_t td_split(float x, int32_t *exponent) {
    const uint32_t bits = td_float_bits(x);
    const int32_t field = (int32_t)((bits >> 23) & 0xffu);
    *exponent = (field > 0 ? field : 1) - 150;
    return (bits & TD_MANTISSA_BITS) | (field > 0 ? 0x00800000u : 0u);
}

/* x - n * y with the whole n that is nearest to x / y towards zero; the sign of x. */
static inline float td_fmodf(float x, float y) {
    const float size = td_absf(x), divisor = td_absf(y);
    if (td_is_nanf(x) || td_is_nanf(y) || td_is_inff(x) || divisor == 0.0f) {
        return td_nanf();
    }
    if (size < divisor) {
        return x;
    }
    int32_t from, to;
    uint32_t rest = td_split(size, &from);
    const uint32_t step = td_split(divisor, &to);
    rest %= step;
    for (; from > to && rest != 0u; --from) {
        rest = (rest << 1) % step;
    }
    /* Powers of two in two halves, since subnormal ones have no float of their own. */
    const int32_t half = to / 2;
    return td_copysignf((float)rest * td_power_of_two(half) * td_power_of_two(to - half), x);
}

/* Correctly rounded. */
static inline float td_sqrtf(float x) {
#if defined(__arm__) && defined(__ARM_FP)
#if __ARM_FP & 4
#define TD_NATIVE_SQRT 1
#endif
#endif
#if defined(TD_NATIVE_SQRT)
    float root;
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
#else
    if (!(x > 0.0f) || td_is_inff(x)) {
        return x < 0.0f ? td_nanf() : x;
    }
    int32_t exponent;
    uint32_t mantissa = td_split(x, &exponent);
    for (; mantissa < 0x00800000u; --exponent) {
        mantissa <<= 1;
    }
    if ((exponent & 1) == 0) {
        mantissa <<= 1;
        exponent -= 1;
    }
    /* The root of mantissa * 2^23 has 24 bits, made one at a time; the rest rounds it. */
    uint32_t root = 0u, rest = 0u;
    uint32_t digits = mantissa << 7;
    for (int32_t bit = 0; bit < 24; ++bit) {
        rest = (rest << 2) | (digits >> 30);
        digits <<= 2;
        root <<= 1;
        if (rest > 2u * root) {
            rest -= 2u * root + 1u;
            root += 1u;
        }
    }
    root += rest > root ? 1u : 0u;
    return (float)root * td_power_of_two((exponent - 23) / 2);
#endif
}

#endif
