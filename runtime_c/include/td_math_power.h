/* Powers: a logarithm to base 2 in two floats, since large exponents magnify its error. */
#ifndef TD_MATH_POWER_H
#define TD_MATH_POWER_H

#include "td_math_exp.h"

/* The leading 12 bits of x: products of two such parts are exact. */
static inline float td_upper_part(float x) {
    return td_float_of(td_float_bits(x) & 0xfffff000u);
}

/* log2 of 2^n * (1 + f) as the sum of the result, which has 12 bits, and of *low. */
static inline float td_log2_parts(int32_t n, float f, float *low) {
    /* s = f / (2 + f) in two parts; 2 + f in two parts too. */
    const float divisor = 2.0f + f;
    const float s = f / divisor;
    const float s_high = td_upper_part(s);
    const float d_high = td_upper_part(divisor);
    const float d_low = f - (d_high - 2.0f);
    const float s_low = ((f - s_high * d_high) - s_high * d_low) / divisor;
    const float z = s * s;
    const float tail =
        s * z * (((1.17981665e-1f * z + 1.4268301e-1f) * z + 2.0000173e-1f) * z + 3.333333e-1f);
    /* atanh(s), then times 2 / ln(2) = 2.884765625 + 6.24457e-4 */
    const float a_high = td_upper_part(s_high + (s_low + tail));
    const float a_low = (s_high - a_high) + (s_low + tail);
    const float p_high = a_high * 2.884765625f;
    const float p_low = a_low * 2.88539008f + a_high * 6.24456777e-4f;
    const float exponent = (float)n;
    const float high = td_upper_part(exponent + (p_high + p_low));
    *low = ((exponent - high) + p_high) + p_low;
    return high;
}

/* x^y for a positive finite x and a finite y. */
static inline float td_power_of_positive(float x, float y) {
    float f, log_low;
    const int32_t n = td_log_reduce(x, &f);
    const float log_high = td_log2_parts(n, f, &log_low);
    const float rough = y * log_high;
    if (rough > 130.0f) {
        return td_infinityf();
    }
    if (rough < -152.0f) {
        return 0.0f;
    }
    const float y_high = td_upper_part(y);
    const float high = y_high * log_high;
    const float low = (y - y_high) * log_high + y * log_low;
    const float sum = high + low;
    const int32_t whole = (int32_t)(sum < 0.0f ? sum - 0.5f : sum + 0.5f);
    const float rest = (high - (float)whole) + low;
    return td_scale_by_power(1.0f + td_expm1_near_zero(rest * 0.69314718f), whole);
}

/* As C's powf: special cases of annex F. */
static inline float td_powf(float x, float y) {
    if (x == 1.0f || y == 0.0f) {
        return 1.0f;
    }
    if (td_is_nanf(x) || td_is_nanf(y)) {
        return td_nanf();
    }
    const float size = td_absf(x);
    if (td_is_inff(y)) {
        return size == 1.0f ? 1.0f : ((size > 1.0f) == (y > 0.0f) ? td_infinityf() : 0.0f);
    }
    const bool whole = td_truncf(y) == y;
    const bool odd = whole && td_absf(y) < 16777216.0f && ((int32_t)y & 1) != 0;
    const bool negative = (td_float_bits(x) & TD_SIGN_BIT) != 0u;
    float result;
    if (x == 0.0f || td_is_inff(x)) {
        result = (x == 0.0f) == (y > 0.0f) ? 0.0f : td_infinityf();
    } else if (negative && !whole) {
        return td_nanf();
    } else {
        result = td_power_of_positive(size, y);
    }
    return negative && odd ? -result : result;
}

#endif
