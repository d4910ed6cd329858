/* Renesas pin function select of RA8: one register per pin, behind a write protection ("RA8D1 Group
 * User's Manual: Hardware"). A port's base address is that of its pin 0. Untested on
 * hardware. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define PROTECTION 0x40400D14u /* of the secure state */
#define PROTECTION_OFF 0x00u   /* lets the next bit be written */
#define PINS_WRITABLE 0x40u
#define PROTECTION_ON 0x80u

#define PIN_HIGH (1u << 0)
#define PIN_OUTPUT (1u << 2)
#define PIN_PULL_UP (1u << 4)
#define PIN_MIDDLE_DRIVE (1u << 10)
#define PIN_OF_PERIPHERAL (1u << 16)
#define PIN_FUNCTION_AT 24u

static void td_protect(uint8_t first, uint8_t second) {
    volatile uint8_t *at = (volatile uint8_t *)(uintptr_t)PROTECTION;
    *at = first;
    *at = second;
}

static void td_pin_write(const td_pin *pin, uint32_t bits) {
    td_protect(PROTECTION_OFF, PINS_WRITABLE);
    *td_register(pin->port + 4u * pin->pin) = bits;
    td_protect(PROTECTION_OFF, PROTECTION_ON);
}

/* The function is chosen while the pin is still a plain input. */
void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        const td_pin *pin = &td_pins[i];
        const uint32_t bits = PIN_PULL_UP | PIN_MIDDLE_DRIVE | (pin->alternate << PIN_FUNCTION_AT);
        td_pin_write(pin, bits);
        td_pin_write(pin, bits | PIN_OF_PERIPHERAL);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    td_pin_write(pin, PIN_OUTPUT | PIN_MIDDLE_DRIVE | (high ? PIN_HIGH : 0u));
}
