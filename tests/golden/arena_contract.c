/* The arena's contract on one model: refusals by code, canaries around an arena of the exact size.
 */
#include "model.h"
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARIES 64

static void check(int holds, const char *what) {
    if (!holds) {
        (void)printf("%s\n", what);
        exit(1);
    }
}

static void run(model_t *model) {
    memcpy(model_in0(model), sample, sizeof sample);
    check(model_run(model) == TD_OK, "the run fails");
    check(memcmp(model_out0(model), expected, sizeof expected) == 0, "the answer differs");
}

int main(void) {
    static uint8_t block[CANARIES + MODEL_ARENA_BYTES + CANARIES] TD_ALIGNED(4);
    uint8_t *const arena = block + CANARIES;
    model_t model;
    memset(block, 0xA5, sizeof block);
    check(model_init(NULL, arena, MODEL_ARENA_BYTES) == TD_ERROR_NULL, "no model");
    check(model_init(&model, NULL, MODEL_ARENA_BYTES) == TD_ERROR_NULL, "no arena");
    check(model_init(&model, arena + 1, MODEL_ARENA_BYTES) == TD_ERROR_ARENA_ALIGN, "aligned + 1");
    check(model_init(&model, arena, MODEL_ARENA_BYTES - 1u) == TD_ERROR_ARENA_SIZE,
          "one byte short");
    check(model_run(&model) == TD_ERROR_NOT_INITIALIZED, "a run after a refusal");
    for (size_t k = 0; k < sizeof block; ++k) {
        check(block[k] == 0xA5, "a refusal or init writes to the arena");
    }
    check(model_init(&model, arena, MODEL_ARENA_BYTES) == TD_OK, "the exact size");
    for (int invoke = 0; invoke < 3; ++invoke) {
        run(&model);
    }
    for (size_t k = 0; k < CANARIES; ++k) {
        check(block[k] == 0xA5 && arena[MODEL_ARENA_BYTES + k] == 0xA5, "a canary is dead");
    }
    /* The same in memory whose neighbours the address sanitizer guards. */
    uint8_t *const heap = malloc(MODEL_ARENA_BYTES);
    check(heap != NULL && model_init(&model, heap, MODEL_ARENA_BYTES) == TD_OK,
          "an arena on the heap");
    run(&model);
    free(heap);
    (void)printf("ok\n");
    return 0;
}
