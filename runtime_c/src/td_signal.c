/* The pins of td_signal_set. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_internal.h"

void td_signal_set(td_signal signal, bool high) {
    for (size_t i = 0u; i < td_signal_count; i++) {
        if (td_signal_pins[i].signal == signal) {
            td_pin_drive(&td_signal_pins[i].pin, high);
        }
    }
}

void td_signals_init(void) {
    for (size_t i = 0u; i < td_signal_count; i++) {
        td_pin_drive(&td_signal_pins[i].pin, true);
    }
}
