/* ST GPIO with MODER and AFR registers (STM32 F0, F2, F3, F4, F7, G, H, L, U, W). */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

enum { MODER = 0x00, OSPEEDR = 0x08, PUPDR = 0x0C, BSRR = 0x18, AFR = 0x20 };
enum { MODE_OUTPUT = 1, MODE_ALTERNATE = 2, SPEED_HIGH = 2, PULL_UP = 1 };

/* Writes one field of `width` bits; `index` counts fields of the register. */
static void td_set_field(uint32_t address, uint32_t index, uint32_t width, uint32_t value) {
    volatile uint32_t *at = td_register(address);
    const uint32_t shift = index * width;
    const uint32_t mask = ((1u << width) - 1u) << shift;
    *at = (*at & ~mask) | (value << shift);
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        const td_pin *pin = &td_pins[i];
        td_set_field(pin->port + AFR + 4u * (pin->pin / 8u), pin->pin % 8u, 4u, pin->alternate);
        td_set_field(pin->port + OSPEEDR, pin->pin, 2u, SPEED_HIGH);
        td_set_field(pin->port + PUPDR, pin->pin, 2u, PULL_UP); /* an open line reads as idle */
        td_set_field(pin->port + MODER, pin->pin, 2u, MODE_ALTERNATE);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(pin->port + BSRR) = 1u << (high ? pin->pin : pin->pin + 16u);
    td_set_field(pin->port + MODER, pin->pin, 2u, MODE_OUTPUT);
}
