/* Frames on stdin (the sample before, then the frame), steps on stdout. */
#include <stdio.h>
#include <stdlib.h>

#include "front.h"

int main(void) {
    const size_t size = (size_t)front.window + 1u;
    int16_t *const samples = (int16_t *)malloc(size * sizeof(int16_t));
    void *const scratch = malloc(TD_MEL_SCRATCH_BYTES((size_t)front.fft, (size_t)front.bins));
    int8_t *const steps = (int8_t *)malloc((size_t)front.outputs);
    if (samples == NULL || scratch == NULL || steps == NULL) {
        return EXIT_FAILURE;
    }
    while (fread(samples, sizeof(int16_t), size, stdin) == size) {
        td_mel_frame(&front, samples + 1, samples[0], scratch, steps);
        (void)fwrite(steps, 1u, (size_t)front.outputs, stdout);
    }
    free(samples);
    free(scratch);
    free(steps);
    return EXIT_SUCCESS;
}
