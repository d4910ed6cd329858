/* Core cycles on the RP2040, whose cores have no cycle counter: SysTick gives the cycle, within 24
 * bits, and TIMER, which ticks once per microsecond, how often those went round. Both count from
 * one oscillator, so that the sum is exact. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

#define TIMERAWL (TD_COUNTER_BASE + 0x28u)
#define SYST_CSR 0xE000E010u
#define SYST_RVR 0xE000E014u
#define SYST_CVR 0xE000E018u

#define SYST_ON_CORE_CLOCK 5u
#define SYST_BITS 24
#define SYST_MASK ((1u << SYST_BITS) - 1u)
#define TICK_HZ 1000000u
#define CYCLES_PER_TICK_OF_FALLBACK 12u /* core and tick then count the same clock */

static uint64_t td_timer_cycles;
static uint32_t td_timer_ticks;
static uint32_t td_timer_low;

void td_counter_start(void) {
    *td_register(SYST_RVR) = SYST_MASK;
    *td_register(SYST_CVR) = 0u; /* any write clears it */
    *td_register(SYST_CSR) = SYST_ON_CORE_CLOCK;
    td_timer_low = SYST_MASK - *td_register(SYST_CVR);
    td_timer_ticks = *td_register(TIMERAWL);
}

bool td_counter_is_of_instructions(void) {
    return false;
}

static uint32_t td_cycles_per_tick(void) {
    const td_clock_state *clock = td_clock();
    return clock->status == TD_CLOCK_OK ? TD_CORE_HZ / TICK_HZ : CYCLES_PER_TICK_OF_FALLBACK;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t state = td_core_mask();
    const uint32_t low = SYST_MASK - *td_register(SYST_CVR);
    const uint32_t ticks = *td_register(TIMERAWL);
    td_core_unmask(state);
    const uint64_t estimate = (uint64_t)(ticks - td_timer_ticks) * td_cycles_per_tick();
    const uint32_t exact = (low - td_timer_low) & SYST_MASK;
    /* The nearest number to the estimate that ends in these 24 bits. */
    const uint64_t rounds = (estimate - exact + (1u << (SYST_BITS - 1))) >> SYST_BITS;
    td_timer_cycles += (rounds << SYST_BITS) + exact;
    td_timer_ticks = ticks;
    td_timer_low = low;
    return td_timer_cycles;
}
