/* ST GPIO with CRL and CRH registers (STM32 F1). A pin's `alternate` is its CNF and MODE bits: 11
 * for what a peripheral drives (push-pull, 50 MHz), 8 for an input, which is pulled up. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

enum { CRL = 0x00, BSRR = 0x10 };
enum { FIELD_BITS = 4, FIELDS = 8, OUTPUT_10_MHZ = 1 };

static void td_configure(const td_pin *pin, uint32_t bits) {
    volatile uint32_t *at = td_register(pin->port + CRL + 4u * (pin->pin / FIELDS));
    const uint32_t shift = pin->pin % FIELDS * FIELD_BITS;
    *at = (*at & ~(0xFu << shift)) | (bits << shift);
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        const td_pin *pin = &td_pins[i];
        *td_register(pin->port + BSRR) =
            1u << pin->pin; /* an input is pulled up: an open line idles */
        td_configure(pin, pin->alternate);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(pin->port + BSRR) = 1u << (high ? pin->pin : pin->pin + 16u);
    td_configure(pin, OUTPUT_10_MHZ);
}
