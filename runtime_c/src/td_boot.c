/* From reset to the application: the order in which a board comes to life. */
#include "td_cpu.h"

#include <string.h>

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

void td_boot(void) {
    memcpy(td_data_start, td_data_load, (size_t)(td_data_end - td_data_start));
    memset(td_bss_start, 0, (size_t)(td_bss_end - td_bss_start));
    td_core_init();
    td_clock_init();
    (void)td_registers_apply(td_enable_steps, TD_ENABLE_STEP_COUNT);
    td_pins_init();
    td_signals_init();
    td_uart_init(td_clock()->uart_hz);
    td_counter_start();
    td_counter_calibrate();
    td_core_unmask(0u);
    td_app_main();
    for (;;) {
        td_core_wait();
    }
}

void td_restart(void) {
    td_uart_drain();
    td_core_reset();
}
