/* Pins of the RP2350: IO_BANK0 says who drives a pin, PADS_BANK0 how, SIO is where firmware drives
 * it. A pin's port is IO_BANK0. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define PADS_BANK0 0x40038000u
#define SIO 0xD0000000u

enum { CTRL = 0x04, PAD = 0x04, OUT_SET = 0x18, OUT_CLR = 0x20, OE_SET = 0x38 };
enum { FUNCTION_SIO = 5 };

/* Input on, Schmitt trigger, 4 mA, pull-up: an open line reads as idle. With bit 8 the pad would
 * stay isolated, as it is after reset. */
#define PAD_PERIPHERAL ((1u << 6) | (1u << 4) | (1u << 3) | (1u << 1))

/* The function first: what leaves the pad must be right when its isolation ends. */
static void td_hand_over(const td_pin *pin, uint32_t function) {
    *td_register(pin->port + CTRL + 8u * pin->pin) = function;
    *td_register(PADS_BANK0 + PAD + 4u * pin->pin) = PAD_PERIPHERAL;
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        td_hand_over(&td_pins[i], td_pins[i].alternate);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(SIO + (high ? OUT_SET : OUT_CLR)) = 1u << pin->pin;
    *td_register(SIO + OE_SET) = 1u << pin->pin;
    td_hand_over(pin, FUNCTION_SIO);
}
