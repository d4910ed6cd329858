/* Answers each byte with what td_counter() counts for a loop of 60 million instructions. */
#include "td_board.h"

#define ROUNDS 20000000u

static void put_number(uint64_t value) {
    uint8_t text[21];
    size_t at = sizeof text;
    text[--at] = (uint8_t)'\n';
    do {
        text[--at] = (uint8_t)('0' + (char)(value % 10u));
        value /= 10u;
    } while (value != 0u);
    td_uart_write(&text[at], sizeof text - at);
}

static void spin(uint32_t rounds) {
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n nop\n bne 1b\n" : "+l"(rounds)::"cc");
}

void td_app_main(void) {
    for (;;) {
        uint8_t byte;
        if (td_uart_read(&byte, 1u) == 1u) {
            const uint64_t start = td_counter();
            spin(ROUNDS);
            put_number(td_counter() - start);
        } else {
            td_uart_wait();
        }
    }
}
