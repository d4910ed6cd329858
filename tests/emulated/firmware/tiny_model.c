/* A model by hand: out = in + 1, and a sum over a loop, so that a run costs something. */
#include "td_app.h"

enum { SIZE = 16, ROUNDS = 1000 };

typedef struct {
    int8_t in[SIZE];
    int8_t out[SIZE];
} tiny_arena;

static td_status tiny_init(td_state *state, void *arena, size_t arena_bytes) {
    if (arena_bytes < sizeof(tiny_arena)) {
        return TD_ERROR_ARENA_SIZE;
    }
    state->arena = (uint8_t *)arena;
    state->next_step = 0u;
    return TD_OK;
}

static void *tiny_input(td_state *state, uint32_t index) {
    return index == 0u ? ((tiny_arena *)(void *)state->arena)->in : NULL;
}

static const void *tiny_output(const td_state *state, uint32_t index) {
    return index == 0u ? ((const tiny_arena *)(const void *)state->arena)->out : NULL;
}

static td_status tiny_run(td_state *state) {
    tiny_arena *arena = (tiny_arena *)(void *)state->arena;
    for (uint32_t round = 0u; round < ROUNDS; round++) {
        for (uint32_t i = 0u; i < SIZE; i++) {
            ((volatile int8_t *)arena->out)[i] = (int8_t)(arena->in[i] + 1);
        }
    }
    return TD_OK;
}

static td_status tiny_step(td_state *state) {
    (void)tiny_run(state);
    return TD_DONE;
}

static void tiny_reset(td_state *state) {
    state->next_step = 0u;
}

static const int32_t tiny_shape[2] = {1, SIZE};
static const td_tensor tiny_inputs[1] = {
    {"in", TD_INT8, SIZE, 2u, tiny_shape, 0.5f, -3},
};
static const td_tensor tiny_outputs[1] = {
    {"out", TD_INT8, SIZE, 2u, tiny_shape, 0.5f, -3},
};

static const td_model tiny = {
    .name = "tiny",
    .hash = 0x0123456789abcdefu,
    .arena_bytes = sizeof(tiny_arena),
    .step_count = 1u,
    .instance_count = 1u,
    .input_count = 1u,
    .output_count = 1u,
    .inputs = tiny_inputs,
    .outputs = tiny_outputs,
    .init = tiny_init,
    .input = tiny_input,
    .output = tiny_output,
    .run = tiny_run,
    .step = tiny_step,
    .reset = tiny_reset,
};

const td_model *const td_app_model = &tiny;
