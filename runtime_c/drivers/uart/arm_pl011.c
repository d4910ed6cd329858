/* Arm PrimeCell UART (PL011), with its FIFOs. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { DR = 0x00, FR = 0x18, IBRD = 0x24, FBRD = 0x28, LCR_H = 0x2C };
enum { CR = 0x30, IFLS = 0x34, IMSC = 0x38, ICR = 0x44 };

#define FR_BUSY (1u << 3)
#define FR_RX_EMPTY (1u << 4)
#define FR_TX_FULL (1u << 5)
#define LCR_8N1_FIFO (7u << 4)
#define CR_ON ((1u << 0) | (1u << 8) | (1u << 9)) /* UART, transmitter, receiver */
#define IFLS_LEAST 0u                             /* interrupts at an eighth of the FIFO */
#define INT_RX (1u << 4)
#define INT_RX_TIMEOUT (1u << 6) /* fewer bytes than that, and then silence */

static volatile uint32_t *td_pl011(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

/* The divider counts 16ths of a bit in 64ths: clock * 64 / (16 * rate). */
void td_uart_init(uint32_t clock_hz) {
    const uint32_t divider = (4u * clock_hz + TD_UART_BAUD / 2u) / TD_UART_BAUD;
    *td_pl011(CR) = 0u;
    *td_pl011(IBRD) = divider >> 6;
    *td_pl011(FBRD) = divider & 0x3Fu;
    *td_pl011(LCR_H) = LCR_8N1_FIFO; /* after the divider: this write takes it over */
    *td_pl011(IFLS) = IFLS_LEAST;
    *td_pl011(IMSC) = INT_RX | INT_RX_TIMEOUT;
    *td_pl011(CR) = CR_ON;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return *td_pl011(CR) == CR_ON;
}

void td_uart_isr(void) {
    *td_pl011(ICR) = INT_RX | INT_RX_TIMEOUT;
    while ((*td_pl011(FR) & FR_RX_EMPTY) == 0u) {
        td_uart_received((uint8_t)(*td_pl011(DR) & 0xFFu));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_pl011(FR) & FR_TX_FULL) != 0u) {
        }
        *td_pl011(DR) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_pl011(FR) & FR_BUSY) != 0u) {
    }
}
