/* The integer arithmetic of quantized inference; the C twin of tinydeploy/fixed_point.py.
 *
 * Signed right shifts are arithmetic: every compiler this targets (gcc, clang, armclang, IAR)
 * defines them so. */
#ifndef TD_FIXED_POINT_H
#define TD_FIXED_POINT_H

#include <stdint.h>

#include "td_dsp.h"
#include "tinydeploy.h"

/* round(a * b / 2^31), ties upwards. Not both INT32_MIN. */
static inline int32_t td_doubling_high_mul(int32_t a, int32_t b) {
    const int64_t product = (int64_t)a * (int64_t)b;
    return (int32_t)((product + ((int64_t)1 << 30)) >> 31);
}

/* The same for |a| < 2^30: on cores with DSP instructions it is SMMULR of the doubled a. */
static inline int32_t td_doubling_high_mul_small(int32_t a, int32_t b) {
#if TD_DSP_NATIVE
    int32_t product;
    __asm__("smmulr %0, %1, %2" : "=r"(product) : "r"(a * 2), "r"(b));
    return product;
#else
    return td_doubling_high_mul(a, b);
#endif
}

/* round(value / 2^exponent), ties away from zero; exponent 0 to 31. */
static inline int32_t td_rounding_shift_right(int32_t value, int32_t exponent) {
    const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    const int32_t remainder = value & mask;
    const int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + (remainder > threshold ? 1 : 0);
}

/* value * 2^exponent in two's complement, wrapping as a 32-bit register does; exponent 0 to 31. */
static inline int32_t td_shift_left(int32_t value, int32_t exponent) {
    return (int32_t)((uint32_t)value << exponent);
}

/* value * 2^exponent, saturated to 32 bits; exponent 1 to 31. */
static inline int32_t td_saturating_shift_left(int32_t value, int32_t exponent) {
    const int32_t limit = (int32_t)(((uint32_t)1 << (31 - exponent)) - 1u);
    if (value > limit) {
        return INT32_MAX;
    }
    return value < -limit - 1 ? INT32_MIN : td_shift_left(value, exponent);
}

static inline int32_t td_clamp(int32_t value, int32_t low, int32_t high) {
    const int32_t raised = value < low ? low : value;
    return raised > high ? high : raised;
}

static inline int8_t td_saturate_int8(int32_t value) {
#if TD_DSP_NATIVE
    int32_t saturated;
    __asm__("ssat %0, #8, %1" : "=r"(saturated) : "r"(value));
    return (int8_t)saturated;
#else
    return (int8_t)td_clamp(value, -128, 127);
#endif
}

/* An accumulator times multiplier * 2^(shift - 31), rounded twice as TFLite does; shift <= 0. */
static inline int32_t td_requantize(int32_t value, int32_t multiplier, int32_t shift) {
    return td_rounding_shift_right(td_doubling_high_mul(value, multiplier), -shift);
}

/* The same for |value| < 2^30 and a right shift from 1 to 31, where no intermediate sum leaves 32
 * bits: one rounding multiplication, one rounding shift. */
static inline int32_t td_requantize_small(int32_t value, int32_t multiplier, int32_t right_shift) {
    const int32_t product = td_doubling_high_mul_small(value, multiplier);
    const int32_t half = (int32_t)((uint32_t)1 << (right_shift - 1));
    return (product + (product >> 31) + half) >> right_shift;
}

/* The same for any shift from -31 to 30. */
static inline int32_t td_requantize_any(int32_t value, int32_t multiplier, int32_t shift) {
    return shift > 0 ? td_doubling_high_mul(td_shift_left(value, shift), multiplier)
                     : td_requantize(value, multiplier, shift);
}

/* round(product / 2^exponent), ties to even; exponent 1 to 62. */
static inline int64_t td_shift_half_even(int64_t product, int32_t exponent) {
    const int64_t below_half = ((int64_t)1 << (exponent - 1)) - 1;
    return (product + below_half + ((product >> exponent) & 1)) >> exponent;
}

static inline int32_t td_clamp_wide(int64_t value, int32_t low, int32_t high) {
    const int64_t raised = value < low ? low : value;
    return (int32_t)(raised > high ? high : raised);
}

/* An accumulator times multiplier * 2^(shift - 31), rounded once, ties to even, as ONNX does; shift
 * from -31 to 30. */
static inline int32_t td_requantize_half_even(int32_t value, int32_t multiplier, int32_t shift) {
    return (int32_t)td_shift_half_even((int64_t)value * (int64_t)multiplier, 31 - shift);
}

/* The same where no product lies half-way between two results, and shift <= -2: one high
 * multiplication, one rounding shift. right_shift is -1 - shift. */
static inline int32_t td_requantize_once(int32_t value, int32_t multiplier, int32_t right_shift) {
    const int32_t high = (int32_t)(((int64_t)value * (int64_t)multiplier) >> 32);
    return (high + (int32_t)((uint32_t)1 << (right_shift - 1))) >> right_shift;
}

/* A sum of 64 bits, below 2^47, times multiplier * 2^(shift - 15), rounded once, ties upwards, as
 * TFLite does it: the multiplier has 15 bits; shift from -31 to 7. */
static inline int32_t td_requantize_wide(int64_t value, int32_t multiplier, int32_t shift) {
    const int32_t exponent = 15 - shift;
    return (int32_t)((value * multiplier + ((int64_t)1 << (exponent - 1))) >> exponent);
}

/* Such a sum times multiplier * 2^(shift - 31), with all 31 bits of the multiplier, rounded once,
 * ties to even. */
static inline int32_t td_requantize_wide_half_even(int64_t value, int32_t multiplier,
                                                   int32_t shift) {
    const int64_t low = (value & 0xffff) * multiplier;
    const int64_t high = (value >> 16) * multiplier + (low >> 16);
    const int32_t exponent = 15 - shift;
    const int64_t whole = high >> exponent;
    const int64_t over = high & (((int64_t)1 << exponent) - 1);
    const int64_t half = (int64_t)1 << (exponent - 1);
    const int rest = (low & 0xffff) != 0 || (whole & 1) != 0;
    return (int32_t)(whole + (over > half || (over == half && rest) ? 1 : 0));
}

/* Number of zero bits above the highest one bit; value > 0. */
static inline int32_t td_leading_zeros(uint32_t value) {
#if defined(__GNUC__) && __SIZEOF_INT__ == 4
    return (int32_t)__builtin_clz(value);
#else
    int32_t zeros = 0;
    while ((value & 0x80000000u) == 0u) {
        value <<= 1;
        ++zeros;
    }
    return zeros;
#endif
}

/* floor(2^62 / x), at most 2^31, by long division; x >= 2^31. */
static inline uint32_t td_reciprocal(uint32_t x) {
    uint64_t rest = (uint64_t)1 << 30;
    uint32_t quotient = 0;
    for (int32_t bit = 0; bit < 32; ++bit) {
        rest <<= 1;
        quotient <<= 1;
        if (rest >= x) {
            rest -= x;
            quotient |= 1u;
        }
    }
    return quotient;
}

/* The whole part of the square root, bit by bit; value < 2^62. */
static inline uint32_t td_root(uint64_t value) {
    uint32_t root = 0;
    for (uint32_t bit = (uint32_t)1 << 30; bit != 0; bit >>= 1) {
        const uint64_t larger = root | bit;
        if (larger * larger <= value) {
            root = (uint32_t)larger;
        }
    }
    return root;
}

/* 1 / (1 + x) for x in [0, 1), argument and result in Q0.31 (three Newton steps). */
static inline int32_t td_one_over_one_plus_x(int32_t x) {
    const int32_t half_denominator = (int32_t)(((uint32_t)x + (uint32_t)INT32_MAX + 1u) >> 1);
    int32_t result = 1515870810 + td_doubling_high_mul(half_denominator, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = ((int32_t)1 << 29) - td_doubling_high_mul(half_denominator, result);
        result += td_saturating_shift_left(td_doubling_high_mul(result, error), 2);
    }
    return td_saturating_shift_left(result, 1);
}

#endif
