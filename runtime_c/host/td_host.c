/* Runs a model as a process of the desk: inputs on stdin, records on stdout.
 *
 * Usage: PROGRAM SAMPLES. For every sample the bytes of all inputs are read in order, the model
 * runs step by step, and the outputs are written. A record is a kind ('T' row of a kernel instance,
 * 'O' output, 'E' error), two numbers, a size and that many bytes; numbers are 32-bit
 * little-endian. The arena comes from malloc in its exact size, so that sanitizers see every byte
 * outside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "td_shadow.h"
#include "tinydeploy.h"

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
/* Windows replaces line ends in text, and these are bytes. */
static void td_use_bytes(void) {
    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
}
#else
static void td_use_bytes(void) {
}
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define TD_POISON(bytes, size) ASAN_POISON_MEMORY_REGION(bytes, size)
#define TD_UNPOISON(bytes, size) ASAN_UNPOISON_MEMORY_REGION(bytes, size)
#else
#define TD_POISON(bytes, size) ((void)(bytes), (void)(size))
#define TD_UNPOISON(bytes, size) ((void)(bytes), (void)(size))
#endif

extern const td_model *const td_app_model;

static void put_number(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
        (void)putchar((int)((value >> shift) & 0xffu));
    }
}

static void put_record(char kind, uint32_t a, uint32_t b, const void *bytes, size_t size) {
    (void)putchar(kind);
    put_number(a);
    put_number(b);
    put_number((uint32_t)size);
    if (size > 0u) {
        (void)fwrite(bytes, 1u, size, stdout);
    }
}

static void put_row(void *context, uint32_t instance, uint32_t row, const void *bytes,
                    size_t size) {
    (void)context;
    put_record('T', instance, row, bytes, size);
}

static int fail(td_status status) {
    put_record('E', (uint32_t)status, 0u, NULL, 0u);
    return EXIT_FAILURE;
}

/* Destroys what is dead in `step`; `next` walks through the ranges. */
static void bury(uint8_t *arena, uint32_t arena_bytes, uint32_t step, uint32_t *next) {
    TD_UNPOISON(arena, arena_bytes);
    for (; *next < td_app_dead_range_count && td_app_dead_ranges[*next].step == step; ++*next) {
        const td_dead_range *const range = &td_app_dead_ranges[*next];
        memset(arena + range->offset, 0xa5, range->size);
        TD_POISON(arena + range->offset, range->size);
    }
}

static int run_sample(const td_model *model, td_state *state) {
    for (uint32_t index = 0u; index < model->input_count; ++index) {
        const size_t size = model->inputs[index].bytes;
        if (fread(model->input(state, index), 1u, size, stdin) != size) {
            return fail(TD_ERROR_NULL);
        }
    }
    td_status status = TD_OK;
    uint32_t next = 0u;
    for (uint32_t step = 0u; status == TD_OK; ++step) {
        bury(state->arena, model->arena_bytes, step, &next);
        status = model->step(state);
    }
    TD_UNPOISON(state->arena, model->arena_bytes);
    if (status != TD_DONE) {
        return fail(status);
    }
    for (uint32_t index = 0u; index < model->output_count; ++index) {
        put_record('O', index, 0u, model->output(state, index), model->outputs[index].bytes);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const td_model *const model = td_app_model;
    const long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    void *const arena = malloc(model->arena_bytes > 0u ? model->arena_bytes : 4u);
    td_state state;
    td_use_bytes();
    if (arena == NULL) {
        return fail(TD_ERROR_NULL);
    }
    const td_status status = model->init(&state, arena, model->arena_bytes);
    int result = status == TD_OK ? EXIT_SUCCESS : fail(status);
    state.trace = put_row;
    for (long sample = 0; sample < samples && result == EXIT_SUCCESS; ++sample) {
        result = run_sample(model, &state);
    }
    free(arena);
    return result;
}
