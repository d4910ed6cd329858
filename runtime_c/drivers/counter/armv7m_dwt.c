/* The cycle counter of Armv7-M and Armv8-M Mainline cores. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define DWT_CTRL (TD_COUNTER_BASE + 0x000u)
#define DWT_CYCCNT (TD_COUNTER_BASE + 0x004u)
#define DWT_LAR (TD_COUNTER_BASE + 0xFB0u)
#define DEMCR 0xE000EDFCu

#define DEMCR_TRCENA (1u << 24)
#define LAR_UNLOCK 0xC5ACCE55u
#define CTRL_CYCCNTENA (1u << 0)

static uint64_t td_counter_extended;

void td_counter_start(void) {
    *td_register(DEMCR) |= DEMCR_TRCENA;
    *td_register(DWT_LAR) = LAR_UNLOCK; /* Cortex-M7 locks the registers at reset */
    *td_register(DWT_CYCCNT) = 0u;
    *td_register(DWT_CTRL) |= CTRL_CYCCNTENA;
}

bool td_counter_is_of_instructions(void) {
    return false;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t now = *td_register(DWT_CYCCNT);
    td_counter_extended += (uint32_t)(now - (uint32_t)td_counter_extended);
    return td_counter_extended;
}
