/* Pins of GPIO1 and GPIO2 on i.MX RT1050 and RT1060: their pads AD_B0, AD_B1, B0 and B1 lie in one
 * row in IOMUXC. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define GPIO1 0x401B8000u
#define PORT_DISTANCE 0x4000u
#define MUX_AD_B0_00 0x401F80BCu /* a pad's function */
#define PAD_AD_B0_00 0x401F82ACu /* and its electrical settings */

enum { GDIR = 0x04, DR_SET = 0x84, DR_CLEAR = 0x88 };
enum { PINS_PER_PORT = 32, FUNCTION_GPIO = 5 };

/* Pull-up 100 kohm: an open line reads as idle; 100 MHz, middle drive. */
#define PAD_SETTINGS ((2u << 14) | (1u << 13) | (1u << 12) | (2u << 6) | (6u << 3))

static void td_hand_over(const td_pin *pin, uint32_t function) {
    const uint32_t pad = (pin->port - GPIO1) / PORT_DISTANCE * PINS_PER_PORT + pin->pin;
    *td_register(PAD_AD_B0_00 + 4u * pad) = PAD_SETTINGS;
    *td_register(MUX_AD_B0_00 + 4u * pad) = function;
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        td_hand_over(&td_pins[i], td_pins[i].alternate);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(pin->port + (high ? DR_SET : DR_CLEAR)) = 1u << pin->pin;
    *td_register(pin->port + GDIR) |= 1u << pin->pin;
    td_hand_over(pin, FUNCTION_GPIO);
}
