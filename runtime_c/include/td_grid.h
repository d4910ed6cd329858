/* Places between pixels that a model computed: where they lie, and which pixels lie around them. No
 * place, NaN and infinities included, leads outside of the image.
 */
#ifndef TD_GRID_H
#define TD_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "td_math_round.h"

/* A number from -1 to 1 as a place along `extent` pixels. */
static inline float td_grid_place(float number, int32_t extent, bool align_corners) {
    return align_corners ? (number + 1.0f) * 0.5f * (float)(extent - 1)
                         : ((number + 1.0f) * (float)extent - 1.0f) * 0.5f;
}

/* Outside of the image the place that it mirrors. */
static inline float td_grid_reflect(float place, int32_t extent, bool align_corners) {
    const float low = align_corners ? 0.0f : -0.5f;
    const float high = align_corners ? (float)(extent - 1) : (float)extent - 0.5f;
    const float period = 2.0f * (high - low);
    if (!(period > 0.0f)) {
        return 0.0f;
    }
    if (place >= low && place <= high) {
        return place;
    }
    const float walked = td_fmodf(td_absf(place - low), period);
    return low + (walked > period * 0.5f ? period - walked : walked);
}

/* Cut to [low, high]; NaN becomes low. */
static inline float td_grid_cut(float place, int32_t low, int32_t high) {
    return place >= (float)low ? (place <= (float)high ? place : (float)high) : (float)low;
}

/* The pixel that tap `tap`, no further than `extent` outside, shows of the mirrored image. */
static inline int32_t td_grid_mirror(int32_t tap, int32_t extent, bool align_corners) {
    const int32_t period = align_corners ? 2 * extent - 2 : 2 * extent;
    if (period == 0) {
        return 0;
    }
    int32_t walked = tap % period;
    walked = walked < 0 ? walked + period : walked;
    return walked < extent ? walked : period - walked - (align_corners ? 0 : 1);
}

/* Cut to a pixel that exists. */
static inline int32_t td_grid_clamp(int32_t tap, int32_t extent) {
    return tap < 0 ? 0 : (tap < extent ? tap : extent - 1);
}

/* Cut to [0, extent]. */
static inline int32_t td_grid_cut_whole(int32_t place, int32_t extent) {
    return place < 0 ? 0 : (place < extent ? place : extent);
}

/* Rounded with ties away from zero and cut to [-far, far]; NaN becomes -far. */
static inline int32_t td_grid_whole(float number, int32_t far) {
    return (int32_t)td_grid_cut(td_truncf(number + td_copysignf(0.5f, number)), -far, far);
}

/* Keys' cubic filter with slope -0.75: the weights of the four pixels around `fraction`. */
static inline void td_grid_cubic(float fraction, float *weights) {
    const float a = -0.75f;
    const float left = fraction + 1.0f;
    const float other = 1.0f - fraction;
    const float right = 2.0f - fraction;
    weights[0] = ((a * left - 5.0f * a) * left + 8.0f * a) * left - 4.0f * a;
    weights[1] = ((a + 2.0f) * fraction - (a + 3.0f)) * fraction * fraction + 1.0f;
    weights[2] = ((a + 2.0f) * other - (a + 3.0f)) * other * other + 1.0f;
    weights[3] = ((a * right - 5.0f * a) * right + 8.0f * a) * right - 4.0f * a;
}

#endif
