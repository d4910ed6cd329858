/* What a model whose constants are exchanged tells the slots (runtime_c/slots): which code its
 * constants belong to, and how to take others. */
#ifndef TD_SLOT_MODEL_H
#define TD_SLOT_MODEL_H

#include <stdint.h>

typedef struct {
    uint64_t layout;       /* of the generated code and of the block of constants */
    uint64_t own;          /* hash of the model that is linked into the image */
    const void *constants; /* its block */
    uint32_t bytes;        /* of the block */
    uint32_t part_count;   /* the layout's parts: interface, steps, constants */
    const uint32_t *parts; /* CRC-32 of each, to tell which one differs */
    void (*use)(const void *constants, uint64_t hash); /* the next init binds this block */
} td_slot_model;

#endif
