#ifndef TD_RECURRENT_H
#define TD_RECURRENT_H

/* What the float kernels of recurrent networks share: dot products, lengths and rarer activations.
 */

#include <stdint.h>

#include "td_math.h"

/* Dot product of n elements, four sums side by side: the order of additions is fixed. */
static inline float td_recurrent_dot(const float *a, const float *b, int32_t n) {
    float sum0 = 0.0f;
    float sum1 = 0.0f;
    float sum2 = 0.0f;
    float sum3 = 0.0f;
    const int32_t whole = n - n % 4;
    for (int32_t k = 0; k < whole; k += 4) {
        sum0 += a[k] * b[k];
        sum1 += a[k + 1] * b[k + 1];
        sum2 += a[k + 2] * b[k + 2];
        sum3 += a[k + 3] * b[k + 3];
    }
    for (int32_t k = whole; k < n; ++k) {
        sum0 += a[k] * b[k];
    }
    return (sum0 + sum1) + (sum2 + sum3);
}

/* A sequence's length, kept within 0 and the number of steps. */
static inline int32_t td_recurrent_length(int32_t length, int32_t steps) {
    return length < 0 ? 0 : length > steps ? steps : length;
}

/* x, at most `limit` away from zero; not-a-number stays what it is. */
static inline float td_recurrent_clip(float x, float limit) {
    return x > limit ? limit : x < -limit ? -limit : x;
}

static inline float td_recurrent_relu(float x) {
    return x < 0.0f ? 0.0f : x;
}

static inline float td_recurrent_leaky_relu(float x, float alpha) {
    return x < 0.0f ? alpha * x : x;
}

static inline float td_recurrent_thresholded_relu(float x, float alpha) {
    return x < alpha ? 0.0f : x;
}

static inline float td_recurrent_hard_sigmoid(float x, float alpha, float beta) {
    const float line = alpha * x + beta;
    return line < 0.0f ? 0.0f : line > 1.0f ? 1.0f : line;
}

static inline float td_recurrent_elu(float x, float alpha) {
    return x < 0.0f ? alpha * td_expm1f(x) : x;
}

static inline float td_recurrent_softsign(float x) {
    return x / (1.0f + (x < 0.0f ? -x : x));
}

#endif
