/* Audio features in integers: log-mel energies or MFCC of a frame of 16-bit samples, as int8 steps.
 *
 * The tables come from tinydeploy.features, which also holds the exact reference. No state: the
 * caller keeps the samples. */
#ifndef TD_MEL_H
#define TD_MEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bins of the spectrum that one mel band weights. */
typedef struct {
    uint16_t first;
    uint16_t count;
} td_mel_band;

typedef struct {
    int32_t window;           /* samples of a frame, at most fft */
    int32_t fft;              /* a power of two */
    int32_t bins;             /* mel bands */
    int32_t outputs;          /* steps of a frame */
    int32_t preemphasis;      /* 32nds of the previous sample that are taken off */
    bool magnitude;           /* the bands sum magnitudes; else powers */
    bool truncate;            /* steps towards 0; else to nearest */
    bool diagonal;            /* `matrix` has one factor per output; else outputs x bins */
    int32_t log2_unit;        /* Q16, added to the log2 of a band's sum */
    int64_t epsilon;          /* added to a band's sum at the exponent 0 */
    int64_t offset;           /* Q36, in steps */
    const int16_t *shape;     /* Q15 [window] */
    const int32_t *twiddles;  /* Q30 [fft / 2][cos, sin] */
    const td_mel_band *bands; /* [bins] */
    const uint16_t *weights;  /* Q15, those of all bands in order */
    const int32_t *log2;      /* Q16 [65] */
    const int32_t *matrix;    /* Q20 */
} td_mel;

#define TD_MEL_SCRATCH_BYTES(fft, bins) (4u * (fft) + 8u * ((fft) / 2u + 1u) + 4u * (bins))

/* One frame. `before` is the sample before the first. `scratch` is 8-byte aligned and has
 * TD_MEL_SCRATCH_BYTES(fft, bins) bytes; `steps` takes `outputs` steps. */
void td_mel_frame(const td_mel *mel, const int16_t *samples, int16_t before, void *scratch,
                  int8_t *steps);

#endif
