/* Conversion between real numbers and quantized steps, for the edges of a model. */
#ifndef TD_QUANTIZE_H
#define TD_QUANTIZE_H

#include <stdint.h>

/* round(value / scale) + zero_point, ties away from zero, saturated to [low, high]; NaN becomes
 * low. */
static inline int32_t td_quantize(float value, float scale, int32_t zero_point, int32_t low,
                                  int32_t high) {
    const float steps = value / scale;
    if (!(steps > (float)(low - zero_point))) {
        return low;
    }
    if (steps >= (float)(high - zero_point)) {
        return high;
    }
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    const int32_t up = rest >= 0.5f ? 1 : 0;
    const int32_t down = rest <= -0.5f ? 1 : 0;
    return whole + up - down + zero_point;
}

/* The same with ties to even, as ONNX does. */
static inline int32_t td_quantize_half_even(float value, float scale, int32_t zero_point,
                                            int32_t low, int32_t high) {
    const float steps = value / scale;
    if (!(steps > (float)(low - zero_point))) {
        return low;
    }
    if (steps >= (float)(high - zero_point)) {
        return high;
    }
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    const int32_t odd = whole & 1;
    const int32_t up = rest > 0.5f || (rest == 0.5f && odd == 1) ? 1 : 0;
    const int32_t down = rest < -0.5f || (rest == -0.5f && odd == 1) ? 1 : 0;
    return whole + up - down + zero_point;
}

static inline float td_dequantize(int32_t step, float scale, int32_t zero_point) {
    return (float)(step - zero_point) * scale;
}

#endif
