/* See the header. The model sees the newest TD_MLPERF_FRAMES frames; a score above
 * TD_MLPERF_THRESHOLD in output 0 is a detection. */
#include "td_mlperf_stream.h"

#include <string.h>

#include "td_app.h"
#include "td_board.h"
#include "td_mlperf_mel.h"

enum { SCORES = 4096, DETECTIONS = 256 };

#define FEATURES (TD_MLPERF_FRAMES * TD_MLPERF_FEATURES)

static int16_t window[TD_MLPERF_WINDOW + 1]; /* the sample before the frame, then the frame */
static uint32_t filled;                      /* samples of the window that are new */
static int8_t features[FEATURES];
static int8_t scores[SCORES];
static uint32_t strides;                /* runs of the model since the start */
static uint32_t detections[DETECTIONS]; /* stride at which the score rose above the threshold */
static uint32_t detection_count;
static bool above;
static uint64_t scratch[(TD_MLPERF_MEL_SCRATCH_BYTES + 7u) / 8u];

static void start(void) {
    memset(window, 0, sizeof window);
    memset(features, 0, sizeof features);
    filled = 0u;
    strides = 0u;
    detection_count = 0u;
    above = false;
}

/* A whole frame lies in the window: its features, one run, the score. */
static void run_stride(td_state *state) {
    td_signal_set(TD_SIGNAL_PROCESSING, true);
    memmove(features, features + TD_MLPERF_FEATURES, FEATURES - TD_MLPERF_FEATURES);
    td_mel_frame(&td_mlperf_mel, window + 1, window[0], scratch,
                 features + FEATURES - TD_MLPERF_FEATURES);
    memcpy(td_app_model->input(state, 0u), features, FEATURES);
    (void)td_app_model->run(state);
    td_signal_set(TD_SIGNAL_PROCESSING, false);
    const int8_t score = *(const int8_t *)td_app_model->output(state, 0u);
    if (strides < SCORES) {
        scores[strides] = score;
    }
    const bool found = score > TD_MLPERF_THRESHOLD;
    td_signal_set(TD_SIGNAL_DETECTION, found);
    if (found && !above && detection_count < DETECTIONS) {
        detections[detection_count++] = strides;
    }
    above = found;
    ++strides;
}

static void take(td_state *state, const uint8_t *bytes, size_t size) {
    for (size_t i = 0u; i + 1u < size; i += 2u) {
        window[1u + filled++] = (int16_t)(uint16_t)(bytes[i] | (uint32_t)bytes[i + 1u] << 8);
        if (filled == TD_MLPERF_WINDOW) {
            run_stride(state);
            memmove(window, window + TD_MLPERF_STRIDE,
                    (TD_MLPERF_WINDOW + 1 - TD_MLPERF_STRIDE) * sizeof window[0]);
            filled = TD_MLPERF_WINDOW - TD_MLPERF_STRIDE;
        }
    }
}

static void print_signed(const td_mlperf_config *config, int32_t value) {
    td_mlperf_print(config, value < 0 ? "-" : "");
    td_mlperf_print_number(config, (uint64_t)(value < 0 ? -value : value));
}

static void stop(const td_mlperf_config *config) {
    const uint32_t known = strides < SCORES ? strides : SCORES;
    td_mlperf_print(config, "target activations: [");
    for (uint32_t i = 0u; i < known; ++i) {
        td_mlperf_print(config, i == 0u ? "" : ",");
        print_signed(config, scores[i]);
    }
    td_mlperf_print(config, "]\r\nm-detections-[");
    for (uint32_t i = 0u; i < detection_count; ++i) {
        td_mlperf_print(config, i == 0u ? "" : ",");
        td_mlperf_print_number(config, detections[i]);
    }
    td_mlperf_print(config, "]\r\n");
}

static bool equal(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

bool td_mlperf_stream_command(td_mlperf *mlperf, td_state *state, const char *command) {
    if (equal(command, "start")) {
        start();
    } else if (equal(command, "stop")) {
        stop(mlperf->config);
    } else if (equal(command, "pcm")) {
        take(state, mlperf->config->buffer, mlperf->loaded);
        td_mlperf_print(mlperf->config, "m-strides-");
        td_mlperf_print_number(mlperf->config, strides);
        td_mlperf_print(mlperf->config, "\r\n");
    } else {
        return false;
    }
    return true;
}
