/* A counter that hides its own cost: two calls in a row differ by 0, so that the difference of two
 * calls is the cost of what lies between them. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_internal.h"

enum { ROUNDS = 4 };

static uint64_t td_counter_hidden;
static uint32_t td_counter_cost;

__attribute__((noinline)) uint64_t td_counter(void) {
    const uint64_t now = td_counter_raw() - td_counter_hidden;
    td_counter_hidden += td_counter_cost;
    return now;
}

void td_counter_calibrate(void) {
    uint32_t least = UINT32_MAX; /* the first rounds fill caches */
    for (uint32_t i = 0u; i < ROUNDS; i++) {
        const uint64_t before = td_counter();
        const uint32_t cost = (uint32_t)(td_counter() - before);
        least = cost < least ? cost : least;
    }
    td_counter_cost = least;
}
