/* The 16550 UART and its many copies, with byte-wide registers side by side. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { DATA = 0, IER = 1, FCR = 2, LCR = 3, LSR = 5, DIVISOR_LOW = 0, DIVISOR_HIGH = 1 };

#define IER_RECEIVED 0x01u
#define FCR_ON_AND_EMPTY 0x07u /* interrupts at one byte */
#define LCR_8N1 0x03u
#define LCR_DIVISOR 0x80u
#define LSR_RECEIVED 0x01u
#define LSR_TX_ROOM 0x20u
#define LSR_TX_EMPTY 0x40u
#define CLOCKS_PER_BIT 16u

static volatile uint8_t *td_ns16550(uint32_t offset) {
    return (volatile uint8_t *)(uintptr_t)(TD_UART_BASE + offset);
}

void td_uart_init(uint32_t clock_hz) {
    const uint32_t rate = CLOCKS_PER_BIT * TD_UART_BAUD;
    const uint32_t divisor = (clock_hz + rate / 2u) / rate;
    *td_ns16550(LCR) = LCR_DIVISOR;
    *td_ns16550(DIVISOR_LOW) = (uint8_t)(divisor & 0xFFu);
    *td_ns16550(DIVISOR_HIGH) = (uint8_t)(divisor >> 8);
    *td_ns16550(LCR) = LCR_8N1;
    *td_ns16550(FCR) = FCR_ON_AND_EMPTY;
    *td_ns16550(IER) = IER_RECEIVED;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return *td_ns16550(LCR) == LCR_8N1;
}

void td_uart_isr(void) {
    while ((*td_ns16550(LSR) & LSR_RECEIVED) != 0u) {
        td_uart_received(*td_ns16550(DATA));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_ns16550(LSR) & LSR_TX_ROOM) == 0u) {
        }
        *td_ns16550(DATA) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_ns16550(LSR) & LSR_TX_EMPTY) == 0u) {
    }
}
