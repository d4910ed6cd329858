/* The shadow run: before each step the host harness destroys what the memory plan calls dead. */
#ifndef TD_SHADOW_H
#define TD_SHADOW_H

#include <stdint.h>

/* `size` bytes at `offset` of the arena hold nothing that step `step` may read. */
typedef struct {
    uint32_t step;
    uint32_t offset;
    uint32_t size;
} td_dead_range;

/* Generated for each model, in order of steps. */
extern const td_dead_range td_app_dead_ranges[];
extern const uint32_t td_app_dead_range_count;

#endif
