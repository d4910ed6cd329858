/* The clock tree, from a table. A wait that times out gives the tree up: the internal oscillator
 * takes over, and the board still talks. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

static td_clock_state td_clock_now;

void td_clock_init(void) {
    const size_t done = td_registers_apply(td_clock_steps, TD_CLOCK_STEP_COUNT);
    if (done == TD_CLOCK_STEP_COUNT) {
        td_clock_now.status = TD_CLOCK_OK;
        td_clock_now.core_hz = TD_CORE_HZ;
        td_clock_now.uart_hz = TD_UART_HZ;
        return;
    }
    (void)td_registers_apply(td_fallback_steps, TD_FALLBACK_STEP_COUNT);
    td_clock_now.status = TD_CLOCK_FALLBACK;
    td_clock_now.failed_step = (uint32_t)done;
    td_clock_now.core_hz = TD_RESET_HZ;
    td_clock_now.uart_hz = TD_RESET_HZ;
}

const td_clock_state *td_clock(void) {
    return &td_clock_now;
}
