/* Float data as steps of int8, chosen when the model runs: float data times integer weights. */
#ifndef TD_HYBRID_H
#define TD_HYBRID_H

#include <stdint.h>

#include "td_math_round.h"

/* To the nearest whole number, ties away from zero, cut to [low, high]; NaN becomes low. */
static inline int8_t td_round_step(float value, int32_t low, int32_t high) {
    if (!(value > (float)low)) {
        return (int8_t)low;
    }
    if (value >= (float)high) {
        return (int8_t)high;
    }
    const int32_t whole = (int32_t)value;
    const float rest = value - (float)whole;
    return (int8_t)(whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0));
}

/* Steps of `count` numbers around zero, -127 to 127; the result is their scale. */
static inline float td_steps_symmetric(const float *values, int8_t *steps, int32_t count) {
    float size = 0.0f;
    for (int32_t k = 0; k < count; ++k) {
        const float magnitude = td_absf(values[k]);
        size = magnitude > size ? magnitude : size;
    }
    const float inverse = size > 0.0f ? 127.0f / size : 0.0f;
    for (int32_t k = 0; k < count; ++k) {
        steps[k] = td_round_step(values[k] * inverse, -127, 127);
    }
    return size > 0.0f ? size / 127.0f : 1.0f;
}

/* Steps of `count` numbers, -128 to 127, with a zero point; the result is their scale. */
static inline float td_steps_asymmetric(const float *values, int8_t *steps, int32_t count,
                                        int32_t *zero_point) {
    float low = 0.0f;
    float high = 0.0f;
    for (int32_t k = 0; k < count; ++k) {
        low = values[k] < low ? values[k] : low;
        high = values[k] > high ? values[k] : high;
    }
    const float spread = high - low;
    const float scale = spread > 0.0f ? spread / 255.0f : 1.0f;
    const float below = low / scale;
    const float above = high / scale;
    const float zero = 128.0f - below < 127.0f + above ? -128.0f - below : 127.0f - above;
    *zero_point = spread > 0.0f ? td_round_step(zero, -128, 127) : 0;
    const float inverse = 1.0f / scale;
    for (int32_t k = 0; k < count; ++k) {
        steps[k] = td_round_step((float)*zero_point + values[k] * inverse, -128, 127);
    }
    return scale;
}

#endif
