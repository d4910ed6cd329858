/* Samples between the pixels of a region. No place, NaN and infinities included, leads outside of
 * the image. */
#ifndef TD_ROI_H
#define TD_ROI_H

#include <stdint.h>

#include "td_index.h"
#include "td_math_round.h"

#define TD_ROI_MAX_SAMPLES 64

/* The two pixels around a place on an axis, and what each weighs; nothing where it lies outside. */
typedef struct {
    int32_t lower;
    int32_t upper;
    float lower_weight;
    float upper_weight;
} td_roi_sample;

static inline td_roi_sample td_roi_sample_at(float place, int32_t extent) {
    td_roi_sample sample = {0, 0, 0.0f, 0.0f};
    if (place >= -1.0f && place <= (float)extent) {
        const float cut = place > 0.0f ? place : 0.0f;
        const int32_t whole = (int32_t)cut;
        sample.lower = whole < extent - 1 ? whole : extent - 1;
        sample.upper = sample.lower + 1 < extent ? sample.lower + 1 : extent - 1;
        sample.upper_weight = sample.lower < sample.upper ? cut - (float)sample.lower : 0.0f;
        sample.lower_weight = 1.0f - sample.upper_weight;
    }
    return sample;
}

/* How many samples a bin of `size` pixels has along one side, where its size decides. */
static inline int32_t td_roi_samples(float size) {
    const float asked = td_ceilf(size);
    if (!(asked > 0.0f)) {
        return 0;
    }
    return asked <= (float)TD_ROI_MAX_SAMPLES ? (int32_t)asked : TD_ROI_MAX_SAMPLES;
}

#endif
