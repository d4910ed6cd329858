/* Boards whose peripherals own their pins. */
#include "td_cpu.h"

#include "td_internal.h"

void td_pins_init(void) {
}

void td_pin_drive(const td_pin *pin, bool high) {
    (void)pin;
    (void)high;
}
