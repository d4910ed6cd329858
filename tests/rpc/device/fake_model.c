/* out = image + counter in two steps, the second a segment of two instances that alternate row by
 * row; sum = words + counter in the third. Image and words are destroyed by the run. */
#include <stdbool.h>
#include <string.h>

#include "fake_model.h"

fake_faults fake_fault;
uint32_t fake_runs;

static const int32_t image_shape[2] = {FAKE_ROWS, FAKE_ROW_BYTES};
static const int32_t words_shape[1] = {FAKE_WORDS};
static const int32_t sum_shape[1] = {1};

static const td_tensor fake_inputs[2] = {
    {"image/a name that is longer than one payload of sixty-four bytes, so that it travels in "
     "parts",
     TD_INT8, FAKE_ROWS * FAKE_ROW_BYTES, 2, image_shape, 0.5f, -1},
    {"words", TD_INT16, FAKE_WORDS * 2, 1, words_shape, 0.0f, 0},
};
static const td_tensor fake_outputs[2] = {
    {"out", TD_INT8, FAKE_ROWS * FAKE_ROW_BYTES, 2, image_shape, 0.25f, 3},
    {"sum", TD_INT32, 4, 1, sum_shape, 0.0f, 0},
};

static fake_arena *arena_of(const td_state *state) {
    return (fake_arena *)(void *)state->arena;
}

static void trace(td_state *state, uint32_t instance, uint32_t row, uint8_t *bytes, size_t size) {
    const fake_faults *fault = &fake_fault;
    if (fault->flip_instance_plus_1 == instance + 1u && fault->flip_row == row &&
        (fault->flip_only_in_run == 0u || fault->flip_only_in_run == fake_runs + 1u)) {
        bytes[size - 1u] ^= 1u;
    }
    if (state->trace != NULL) {
        state->trace(state->trace_context, instance, row, bytes, size);
    }
}

static void add_counter(td_state *state) {
    fake_arena *a = arena_of(state);
    for (uint32_t row = 0; row < FAKE_ROWS; row++) {
        uint8_t *to = &a->first[row * FAKE_ROW_BYTES];
        for (uint32_t i = 0; i < FAKE_ROW_BYTES; i++) {
            to[i] = (uint8_t)(a->image[row * FAKE_ROW_BYTES + i] + a->counter);
        }
        trace(state, 0, row, to, FAKE_ROW_BYTES);
    }
    memset(a->image, 0xEE, sizeof a->image);
}

static void segment(td_state *state) {
    fake_arena *a = arena_of(state);
    for (uint32_t row = 0; row < FAKE_ROWS; row++) {
        for (uint32_t i = 0; i < FAKE_ROW_BYTES; i++) {
            a->ring[i] = a->first[row * FAKE_ROW_BYTES + i] ^ 0x55u;
        }
        trace(state, 1, row, a->ring, FAKE_ROW_BYTES);
        for (uint32_t at = 0; at < FAKE_ROW_BYTES; at += FAKE_BAND_BYTES) {
            const uint32_t start = row * FAKE_ROW_BYTES + at;
            for (uint32_t i = 0; i < FAKE_BAND_BYTES; i++) {
                a->out[start + i] = a->ring[at + i] ^ 0x55u;
            }
            trace(state, 2, start / FAKE_BAND_BYTES, &a->out[start], FAKE_BAND_BYTES);
        }
    }
}

static void finish(td_state *state) {
    fake_arena *a = arena_of(state);
    a->sum = (int32_t)a->counter;
    for (uint32_t i = 0; i < FAKE_WORDS; i++) {
        a->sum += a->words[i];
        a->words[i] = -1;
    }
    for (uint32_t extra = 0; extra <= fake_fault.extra_instances; extra++) {
        trace(state, 3u + extra, 0, (uint8_t *)&a->sum, sizeof a->sum);
    }
    a->counter++;
    fake_runs++;
}

static void fake_reset(td_state *state) {
    arena_of(state)->counter = 0;
    state->next_step = 0;
}

static td_status fake_init(td_state *state, void *arena, size_t arena_bytes) {
    if (arena_bytes < sizeof(fake_arena)) {
        return TD_ERROR_ARENA_SIZE;
    }
    state->arena = (uint8_t *)arena;
    fake_reset(state);
    return TD_OK;
}

static void *fake_input(td_state *state, uint32_t index) {
    fake_arena *a = arena_of(state);
    return index == 0u ? (void *)a->image : index == 1u ? (void *)a->words : NULL;
}

static const void *fake_output(const td_state *state, uint32_t index) {
    const fake_arena *a = arena_of(state);
    return index == 0u ? (const void *)a->out : index == 1u ? (const void *)&a->sum : NULL;
}

static td_status fake_step(td_state *state) {
    static void (*const steps[3])(td_state *) = {add_counter, segment, finish};
    if (fake_fault.fail != TD_OK) {
        return fake_fault.fail;
    }
    steps[state->next_step](state);
    state->next_step = (state->next_step + 1u) % 3u;
    return state->next_step == 0u && !fake_fault.never_done ? TD_DONE : TD_OK;
}

static td_status fake_run(td_state *state) {
    td_status status = fake_step(state);
    while (status == TD_OK && state->next_step != 0u) {
        status = fake_step(state);
    }
    return status == TD_DONE ? TD_OK : status;
}

const td_model fake_model = {
    .name = "fake",
    .hash = 0x0123456789ABCDEFu,
    .arena_bytes = sizeof(fake_arena),
    .step_count = 3,
    .instance_count = 4,
    .input_count = 2,
    .output_count = 2,
    .inputs = fake_inputs,
    .outputs = fake_outputs,
    .init = fake_init,
    .input = fake_input,
    .output = fake_output,
    .run = fake_run,
    .step = fake_step,
    .reset = fake_reset,
};
