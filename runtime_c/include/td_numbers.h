/* Arithmetic of plain integers that C leaves open, and conversions between them and floats.
 *
 * Everything wraps as two's complement does, whatever the operands; a quotient by 0 is 0. Shorter
 * types use the functions of 32 bits. */
#ifndef TD_NUMBERS_H
#define TD_NUMBERS_H

#include "td_math_power.h"

/* a / b, cut towards zero. */
static inline int32_t td_quotient_i32(int32_t a, int32_t b) {
    if (b == 0 || b == -1) {
        return b == 0 ? 0 : (int32_t)(0u - (uint32_t)a);
    }
    return a / b;
}

static inline int64_t td_quotient_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) {
        return b == 0 ? 0 : (int64_t)((uint64_t)0 - (uint64_t)a);
    }
    return a / b;
}

static inline uint32_t td_quotient_u32(uint32_t a, uint32_t b) {
    return b == 0u ? 0u : a / b;
}

/* a - b * (a / b): the sign of a. */
static inline int32_t td_remainder_i32(int32_t a, int32_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t td_remainder_i64(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline uint32_t td_remainder_u32(uint32_t a, uint32_t b) {
    return b == 0u ? 0u : a % b;
}

/* The remainder with the sign of b. */
static inline int32_t td_modulo_i32(int32_t a, int32_t b) {
    const int32_t rest = td_remainder_i32(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int64_t td_modulo_i64(int64_t a, int64_t b) {
    const int64_t rest = td_remainder_i64(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline uint32_t td_modulo_u32(uint32_t a, uint32_t b) {
    return td_remainder_u32(a, b);
}

static inline float td_modulof(float a, float b) {
    const float rest = td_fmodf(a, b);
    return (rest < 0.0f && b > 0.0f) || (rest > 0.0f && b < 0.0f) ? rest + b : rest;
}

/* a / b, cut towards minus infinity. */
static inline int32_t td_floor_quotient_i32(int32_t a, int32_t b) {
    const int32_t rest = td_remainder_i32(a, b);
    return td_quotient_i32(a, b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}

static inline int64_t td_floor_quotient_i64(int64_t a, int64_t b) {
    const int64_t rest = td_remainder_i64(a, b);
    return td_quotient_i64(a, b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}

static inline uint32_t td_floor_quotient_u32(uint32_t a, uint32_t b) {
    return td_quotient_u32(a, b);
}

/* base^exponent modulo 2^64; a negative power is cut towards zero. */
static inline int64_t td_power_i64(int64_t base, int64_t exponent) {
    if (exponent < 0) {
        if (base == 1 || base == -1) {
            return (exponent & 1) != 0 ? base : 1;
        }
        return 0;
    }
    uint64_t result = 1u, factor = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left != 0u; left >>= 1) {
        if ((left & 1u) != 0u) {
            result *= factor;
        }
        factor *= factor;
    }
    return (int64_t)result;
}

/* A float cut towards zero and to [low, high]; NaN becomes 0. */
static inline int32_t td_saturate_i32(float x, int32_t low, int32_t high) {
    if (td_is_nanf(x)) {
        return 0;
    }
    if (x <= (float)low) {
        return low;
    }
    return x >= (float)high ? high : (int32_t)x;
}

static inline uint32_t td_saturate_u32(float x) {
    if (!(x > 0.0f)) {
        return 0u;
    }
    return x >= 4294967296.0f ? 0xffffffffu : (uint32_t)x;
}

static inline int64_t td_saturate_i64(float x) {
    const bool negative = x < 0.0f;
    if (td_is_nanf(x)) {
        return 0;
    }
    if (td_absf(x) >= 9223372036854775808.0f) {
        return negative ? -9223372036854775807 - 1 : 9223372036854775807;
    }
    int32_t exponent;
    const int64_t mantissa = td_split(td_absf(x), &exponent);
    const int64_t size =
        exponent >= 0 ? mantissa << exponent : (exponent > -24 ? mantissa >> -exponent : 0);
    return negative ? -size : size;
}

/* The nearest float; ties to the even one. */
static inline float td_float_of_i64(int64_t x) {
    uint64_t size = x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x;
    int32_t shift = 0;
    uint64_t lost = 0u;
    for (; size > 0xffffffffu; ++shift) {
        lost |= size & 1u;
        size >>= 1;
    }
    const float result = (float)((uint32_t)size | (lost != 0u ? 1u : 0u)) * td_power_of_two(shift);
    return x < 0 ? -result : result;
}

/* base^exponent for a whole base. Where the exponent has a fraction, the result is cut towards zero
 * and to [low, high]; what a whole number is but for rounding counts as one. */
static inline int64_t td_power_real(int64_t base, float exponent, int64_t low, int64_t high) {
    if (td_truncf(exponent) == exponent && td_absf(exponent) < 2147483648.0f) {
        return td_power_i64(base, (int32_t)exponent);
    }
    const float exact = td_powf(td_float_of_i64(base), exponent);
    const float nearest = td_roundevenf(exact);
    const bool near = td_absf(exact - nearest) <= 1e-6f * td_absf(exact);
    const int64_t result = td_saturate_i64(near ? nearest : exact);
    return result < low ? low : (result > high ? high : result);
}

#endif
