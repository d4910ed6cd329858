#include "td_cpu.h"

#include "td_vernier.h"

static uint64_t td_vernier_ticks; /* extended to 64 bits */
static uint64_t td_vernier_cost;  /* instructions that verniers have cost so far */

uint64_t td_vernier(uint32_t seen, uint32_t reads) {
    td_vernier_ticks += (uint32_t)(seen - (uint32_t)td_vernier_ticks);
    const uint64_t now = td_vernier_ticks * TD_COUNTER_PER_TICK +
                         (uint32_t)(TD_COUNTER_PER_TICK - reads) - td_vernier_cost;
    td_vernier_cost += reads * (TD_COUNTER_PER_TICK + 1u);
    return now;
}
