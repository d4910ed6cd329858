#include "td_cpu.h"

#include "td_board.h"
#include "td_fault.h"
#include "td_internal.h"

enum { HEX_DIGITS = 8 };

static const uint8_t td_end_of_frame[1] = {0u};

void td_put_text(const char *text) {
    size_t size = 0u;
    while (text[size] != '\0') {
        size++;
    }
    td_uart_write((const uint8_t *)text, size);
}

void td_put_hex(const char *name, uint32_t value) {
    uint8_t digits[HEX_DIGITS];
    for (uint32_t i = 0u; i < HEX_DIGITS; i++) {
        digits[i] = (uint8_t)"0123456789abcdef"[(value >> (28u - 4u * i)) & 0xFu];
    }
    td_put_text(name);
    td_uart_write(digits, sizeof digits);
}

void td_fault_begin(uint32_t exception) {
    td_uart_write(td_end_of_frame, sizeof td_end_of_frame);
    td_put_hex("TD-FAULT exception=", exception);
}

void td_fault_end(void) {
    td_put_text("\r\n");
    td_uart_write(td_end_of_frame, sizeof td_end_of_frame);
    td_uart_drain();
}

bool td_is_on_stack(uintptr_t at, size_t size) {
    const uintptr_t low = (uintptr_t)td_stack_low + TD_STACK_FENCE_BYTES;
    const uintptr_t high = (uintptr_t)td_stack_high;
    return at >= low && at <= high - size;
}
