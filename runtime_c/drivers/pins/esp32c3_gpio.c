/* GPIO and IO MUX of the ESP32-C3 (TRM 5). `alternate` is the pin's function in the IO MUX; 1 is
 * GPIO. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

enum { OUT_SET = 0x08, OUT_CLEAR = 0x0C, ENABLE_SET = 0x24, OUT_SELECT = 0x554, IO_MUX = 0x5004 };
enum { FUNCTION_GPIO = 1, SELECT_SHIFT = 12 };

#define PAD_PULL_UP (1u << 8) /* an open line reads as idle */
#define PAD_INPUT (1u << 9)
#define PAD_STRENGTH (2u << 10)
#define SIGNAL_OF_OUT_REGISTER 128u

static void td_esp_pad(const td_pin *pin, uint32_t function) {
    *td_register(pin->port + IO_MUX + 4u * pin->pin) =
        (function << SELECT_SHIFT) | PAD_STRENGTH | PAD_INPUT | PAD_PULL_UP;
}

void td_pins_init(void) {
    for (size_t i = 0u; i < TD_PIN_COUNT; i++) {
        td_esp_pad(&td_pins[i], td_pins[i].alternate);
    }
}

void td_pin_drive(const td_pin *pin, bool high) {
    *td_register(pin->port + (high ? OUT_SET : OUT_CLEAR)) = 1u << pin->pin;
    *td_register(pin->port + OUT_SELECT + 4u * pin->pin) = SIGNAL_OF_OUT_REGISTER;
    *td_register(pin->port + ENABLE_SET) = 1u << pin->pin;
    td_esp_pad(pin, FUNCTION_GPIO);
}
