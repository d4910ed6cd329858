/* Nordic GPIO with several ports. A peripheral chooses its pins: `alternate` is the number of its
 * select register, for the UART 0 to 3 = RTS, TXD, CTS, RXD. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

enum { OUTSET = 0x508, OUTCLR = 0x50C, PIN_CNF = 0x700, PSEL = 0x508 };
enum { CTS = 2, PINS_PER_PORT = 32 };

#define PORT_OFFSET_MASK 0xFFFu
#define PORT_DISTANCE 0x300u
#define CNF_OUTPUT 3u     /* driven, input buffer off */
#define CNF_INPUT_UP 0xCu /* pulled up: an open line reads as idle */

static uint32_t td_select(const td_pin *pin) {
    return (pin->port & PORT_OFFSET_MASK) / PORT_DISTANCE * PINS_PER_PORT + pin->pin;
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        const td_pin *pin = &td_pins[i];
        const bool listens = pin->alternate >= CTS;
        *td_register(pin->port + OUTSET) = 1u << pin->pin; /* an idle line is high */
        *td_register(pin->port + PIN_CNF + 4u * pin->pin) = listens ? CNF_INPUT_UP : CNF_OUTPUT;
        *td_register(TD_UART_BASE + PSEL + 4u * pin->alternate) = td_select(pin);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(pin->port + (high ? OUTSET : OUTCLR)) = 1u << pin->pin;
    *td_register(pin->port + PIN_CNF + 4u * pin->pin) = CNF_OUTPUT;
}
