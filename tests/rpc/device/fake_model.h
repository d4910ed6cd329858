/* A model for tests of the RPC: small, and every run shows in its outputs. */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stdbool.h>

#include "tinydeploy.h"

enum { FAKE_ROWS = 2, FAKE_ROW_BYTES = 150, FAKE_BAND_BYTES = 15, FAKE_WORDS = 3 };

typedef struct {
    uint8_t image[FAKE_ROWS * FAKE_ROW_BYTES];
    int16_t words[FAKE_WORDS];
    uint8_t first[FAKE_ROWS * FAKE_ROW_BYTES];
    uint8_t ring[FAKE_ROW_BYTES];
    uint8_t out[FAKE_ROWS * FAKE_ROW_BYTES];
    int32_t sum;
    uint32_t counter; /* the model's state: runs since reset */
} fake_arena;

/* How the model misbehaves; all zero: it does not. */
typedef struct {
    uint32_t flip_instance_plus_1; /* damages a row of this instance ... */
    uint32_t flip_row;
    uint32_t flip_only_in_run; /* ... and, if not 0, only in this run since boot */
    uint32_t extra_instances;  /* the last step reports so many more */
    td_status fail;            /* run() and step() return it */
    bool never_done;
} fake_faults;

extern fake_faults fake_fault;
extern uint32_t fake_runs; /* completed since boot */
extern const td_model fake_model;

#endif
