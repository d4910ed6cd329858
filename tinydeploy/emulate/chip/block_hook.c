/* Called by Unicorn at the start of every translation block: counts instructions, and stops the
 * emulation where Python asked for it. Compiled on the user's machine; Unicorn's functions come as
 * pointers, so that neither its headers nor its library are needed to build this. */
#include <stddef.h>
#include <stdint.h>

#define REGIONS 16

typedef struct {
    uint64_t base;
    uint64_t size;
    const uint8_t *bytes; /* the host's memory behind the region */
    uint64_t *known;      /* per halfword: size and count of the block there; NULL: may change */
} hook_region;

typedef struct {
    uint64_t instructions; /* in all blocks begun so far */
    uint64_t before;       /* the same at the start of the present block */
    uint64_t deadline;     /* stop at the first block from here on */
    uint32_t stop;         /* stop at the next block */
    uint32_t interrupt;    /* stop at the next block that runs with PRIMASK clear */
    uint32_t stopped;      /* told to Python: it was this hook that stopped */
    int32_t primask;       /* Unicorn's number of the register */
    int (*emu_stop)(void *engine);
    int (*reg_read)(void *engine, int number, void *value);
    uint64_t region_count;
    hook_region regions[REGIONS];
} hook_state;

void td_block_hook(void *engine, uint64_t address, uint32_t size, void *user);

/* Thumb: a halfword that begins with 11101, 11110 or 11111 begins a 32-bit instruction. */
static uint32_t count_instructions(const uint8_t *bytes, uint32_t size) {
    uint32_t count = 0;
    for (uint32_t at = 0; at < size; count++) {
        at += (bytes[at + 1] & 0xF8u) >= 0xE8u ? 4u : 2u;
    }
    return count;
}

static uint32_t block_instructions(const hook_state *state, uint64_t address, uint32_t size) {
    for (uint64_t i = 0; i < state->region_count; i++) {
        const hook_region *region = &state->regions[i];
        const uint64_t offset = address - region->base;
        if (offset >= region->size || size > region->size - offset) {
            continue;
        }
        if (region->known == NULL) {
            return count_instructions(&region->bytes[offset], size);
        }
        uint64_t *known = &region->known[offset / 2u];
        if (*known >> 32 != size) {
            *known = (uint64_t)size << 32 | count_instructions(&region->bytes[offset], size);
        }
        return (uint32_t)*known;
    }
    return size / 2u;
}

static int must_stop(const hook_state *state, void *engine) {
    if (state->stop != 0 || state->instructions >= state->deadline) {
        return 1;
    }
    if (state->interrupt != 0) {
        uint32_t masked = 0;
        state->reg_read(engine, state->primask, &masked);
        return masked == 0;
    }
    return 0;
}

void td_block_hook(void *engine, uint64_t address, uint32_t size, void *user) {
    hook_state *state = (hook_state *)user;
    if (must_stop(state, engine)) {
        state->stopped = 1;
        state->emu_stop(engine); /* the block is not executed, and begins anew after the stop */
        return;
    }
    state->before = state->instructions;
    state->instructions += block_instructions(state, address, size);
}
