/* Firmware of the benchmarks: the protocol of td_mlperf.h around one model, on any board.
 *
 * The build says which benchmark it is (TD_MLPERF_...); kinds of inputs and results follow from it.
 */
#include "td_cpu.h"

#include <string.h>

#include "td_app.h"
#include "td_board.h"
#include "td_board_config.h"
#include "td_mlperf.h"
#include "td_quantize.h"

/* How the runner's bytes become the model's input. */
#define TD_MLPERF_INPUT_STEPS 0  /* int8 steps as they are */
#define TD_MLPERF_INPUT_PIXELS 1 /* uint8, minus 128 */
#define TD_MLPERF_INPUT_FLOATS 2 /* float32, quantized here */

/* What is answered. */
#define TD_MLPERF_RESULT_SCORES 0 /* every output, as real number */
#define TD_MLPERF_RESULT_ERROR 1  /* mean squared error between input and output */

#if TD_MLPERF_INPUT == TD_MLPERF_INPUT_FLOATS
#define TD_BUFFER_BYTES (4u * TD_MLPERF_INPUT_BYTES)
#else
#define TD_BUFFER_BYTES TD_MLPERF_INPUT_BYTES
#endif

/* What the counter counts, in thousandths of a cycle: 1000 where it counts cycles. */
#ifndef TD_MLPERF_MILLICYCLES_PER_COUNT
#define TD_MLPERF_MILLICYCLES_PER_COUNT 1000u
#endif

/* On emulators only: of so many runs in a row one is executed, the others count as long as it.
 * Their results are the same: nothing in a run depends on the run before. */
#ifndef TD_MLPERF_RUNS_PER_EXECUTION
#define TD_MLPERF_RUNS_PER_EXECUTION 1u
#endif

/* 1: the model hears a stream; see td_mlperf_stream.h. */
#ifndef TD_MLPERF_STREAM
#define TD_MLPERF_STREAM 0
#endif
#if TD_MLPERF_STREAM
#include "td_mlperf_stream.h"
#endif

enum { PULSE_LOOPS = 100000 };

static td_state app_state;
static td_mlperf app_mlperf;
static uint8_t app_buffer[TD_BUFFER_BYTES] TD_ALIGNED(4);
#if TD_MLPERF_INPUT == TD_MLPERF_INPUT_FLOATS
static int8_t app_steps[TD_MLPERF_INPUT_BYTES];
#endif

static void app_write(void *context, const char *text, size_t size) {
    (void)context;
    td_uart_write((const uint8_t *)text, size);
}

/* Counts of runs that were not executed, of the last one that was, and runs since the last input.
 */
static uint64_t app_skipped;
static uint64_t app_last;
static uint32_t app_runs;

static bool app_load(void *context, const uint8_t *bytes, size_t size) {
    (void)context;
    app_runs = 0u;
    if (size != sizeof app_buffer) {
        return false;
    }
#if TD_MLPERF_INPUT == TD_MLPERF_INPUT_FLOATS
    const td_tensor *const input = &td_app_model->inputs[0];
    for (size_t i = 0u; i < TD_MLPERF_INPUT_BYTES; ++i) {
        float value;
        memcpy(&value, bytes + 4u * i, sizeof value);
        app_steps[i] = (int8_t)td_quantize(value, input->scale, input->zero_point, -128, 127);
    }
#else
    (void)bytes;
#endif
    return true;
}

/* A run consumes the model's input, so every run gets it anew. */
static void app_execute(void) {
    void *const input = td_app_model->input(&app_state, 0u);
#if TD_MLPERF_INPUT == TD_MLPERF_INPUT_FLOATS
    memcpy(input, app_steps, sizeof app_steps);
#elif TD_MLPERF_INPUT == TD_MLPERF_INPUT_PIXELS
    const uint32_t *const from = (const uint32_t *)(const void *)app_buffer;
    uint32_t *const to = (uint32_t *)input;
    for (size_t i = 0u; i < sizeof app_buffer / 4u; ++i) {
        to[i] = from[i] ^ 0x80808080u;
    }
#else
    memcpy(input, app_buffer, sizeof app_buffer);
#endif
    (void)td_app_model->run(&app_state);
}

static void app_infer(void *context) {
    (void)context;
    if (app_runs++ % TD_MLPERF_RUNS_PER_EXECUTION == 0u) {
        const uint64_t before = td_counter();
        app_execute();
        app_last = td_counter() - before;
    } else {
        app_skipped += app_last;
    }
}

static float app_real(const td_tensor *tensor, const int8_t *steps, size_t index) {
    return td_dequantize(steps[index], tensor->scale, tensor->zero_point);
}

static int64_t app_thousandths(float value) {
    return (int64_t)(value * 1000.0f + (value < 0.0f ? -0.5f : 0.5f));
}

static bool app_result(void *context, size_t index, int64_t *thousandths) {
    (void)context;
    const td_tensor *const output = &td_app_model->outputs[0];
    const int8_t *const steps = (const int8_t *)td_app_model->output(&app_state, 0u);
#if TD_MLPERF_RESULT == TD_MLPERF_RESULT_ERROR
    if (index > 0u) {
        return false;
    }
    float sum = 0.0f;
    for (size_t i = 0u; i < TD_MLPERF_INPUT_BYTES; ++i) {
        float value;
        memcpy(&value, app_buffer + 4u * i, sizeof value);
        const float difference = app_real(output, steps, i) - value;
        sum += difference * difference;
    }
    *thousandths = app_thousandths(sum / (float)TD_MLPERF_INPUT_BYTES);
#else
    if (index >= output->bytes) {
        return false;
    }
    *thousandths = app_thousandths(app_real(output, steps, index));
#endif
    return true;
}

static uint64_t app_microseconds(void *context) {
    (void)context;
    const uint64_t counts = td_counter() + app_skipped;
    const uint64_t cycles = counts * TD_MLPERF_MILLICYCLES_PER_COUNT / 1000u;
    const uint32_t hz = td_clock()->core_hz;
    return cycles / hz * 1000000u + cycles % hz * 1000000u / hz;
}

static void app_pulse(void *context) {
    (void)context;
    td_signal_set(TD_SIGNAL_TIMING, false);
    for (int32_t loop = 0; loop < PULSE_LOOPS; ++loop) {
        __asm__ volatile("nop");
    }
    td_signal_set(TD_SIGNAL_TIMING, true);
}

#if TD_MLPERF_STREAM
static bool app_extra(void *context, const char *command, const char *argument) {
    (void)context;
    (void)argument;
    return td_mlperf_stream_command(&app_mlperf, &app_state, command);
}
#endif

void td_app_main(void) {
    static const td_mlperf_config config = {
        .mode = TD_MLPERF_MODE,
        .vendor = TD_MLPERF_VENDOR,
        .benchmark = TD_MLPERF_BENCHMARK,
        .buffer = app_buffer,
        .buffer_bytes = sizeof app_buffer,
        .write = app_write,
        .load = app_load,
        .infer = app_infer,
        .result = app_result,
        .microseconds = app_microseconds,
        .pulse = app_pulse,
#if TD_MLPERF_STREAM
        .extra = app_extra,
#endif
    };
    if (td_app_model->init(&app_state, td_app_arena, TD_APP_ARENA_BYTES) != TD_OK) {
        return;
    }
    td_mlperf_start(&app_mlperf, &config);
    for (;;) {
        uint8_t bytes[64];
        const size_t size = td_uart_read(bytes, sizeof bytes);
        td_mlperf_receive(&app_mlperf, bytes, size);
        if (size == 0u) {
            td_uart_wait();
        }
    }
}
