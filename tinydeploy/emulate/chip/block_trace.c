/* A second block hook: which blocks a function and all that it calls execute, how often, and how
 * often each was left by a jump. That is what a sum of costs by instruction class needs. Built like
 * block_hook.c. Where that one stops the emulation, Unicorn does not call this one for the block.
 */
#include <stddef.h>
#include <stdint.h>

/* One block in one window. Free while `count` is 0. */
typedef struct {
    uint64_t address;
    uint32_t size;
    uint32_t window;
    uint64_t count;
    uint64_t taken;   /* left for another address than the one behind it */
    uint64_t through; /* entered from the block that ends at its address */
} trace_entry;

/* A window lasts from a call of the function at `entry` to its return. */
typedef struct {
    uint64_t entry; /* odd: no window begins */
    uint64_t leave; /* where the present window ends */
    uint64_t previous_end;
    trace_entry *previous; /* NULL outside windows */
    trace_entry *entries;
    uint64_t entry_mask; /* their number, a power of two, minus 1 */
    uint64_t used;
    int (*reg_read)(void *engine, int number, void *value);
    uint32_t windows;
    uint32_t is_full;
    int32_t link; /* Unicorn's number of the link register */
} trace_state;

void td_block_trace(void *engine, uint64_t address, uint32_t size, void *user);

/* The entry of a block in the present window; NULL where the table has no room. */
static trace_entry *find_entry(trace_state *state, uint64_t address, uint32_t size) {
    const uint64_t key = (address >> 1) + (uint64_t)state->windows * 40503u;
    uint64_t at = (key * 0x9E3779B97F4A7C15u) >> 20;
    for (;; at++) {
        trace_entry *entry = &state->entries[at & state->entry_mask];
        if (entry->count == 0u) {
            if (state->used * 2u > state->entry_mask) {
                return NULL;
            }
            state->used++;
            entry->address = address;
            entry->size = size;
            entry->window = state->windows;
            return entry;
        }
        if (entry->address == address && entry->window == state->windows && entry->size == size) {
            return entry;
        }
    }
}

/* Whether a block belongs to a window; begins and ends windows. */
static int is_inside(trace_state *state, void *engine, uint64_t address) {
    if (state->previous == NULL && address == state->entry) {
        uint32_t link = 0u;
        (void)state->reg_read(engine, state->link, &link);
        state->leave = link & ~1u;
        state->windows++;
        return 1;
    }
    if (state->previous != NULL && address == state->leave) {
        state->previous->taken++;
        state->previous = NULL;
    }
    return state->previous != NULL;
}

void td_block_trace(void *engine, uint64_t address, uint32_t size, void *user) {
    trace_state *state = (trace_state *)user;
    if (!is_inside(state, engine, address)) {
        return;
    }
    trace_entry *entry = find_entry(state, address, size);
    if (entry == NULL) {
        state->is_full = 1u;
        return;
    }
    entry->count++;
    if (state->previous != NULL && state->previous_end == address) {
        entry->through++;
    } else if (state->previous != NULL) {
        state->previous->taken++;
    }
    state->previous = entry;
    state->previous_end = address + size;
}
