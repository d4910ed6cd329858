/* NXP LPUART with FIFOs (i.MX RT, newer Kinetis and LPC). */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { BAUD = 0x10, STAT = 0x14, CTRL = 0x18, DATA = 0x1C, FIFO = 0x28, WATER = 0x2C };

#define BAUD_OVERSAMPLED (15u << 24) /* 16 samples of a bit */
#define SAMPLES 16u
#define STAT_ERRORS (0xFu << 16) /* overrun, noise, framing, parity; written back to clear */
#define STAT_RX_FULL (1u << 21)
#define STAT_TX_COMPLETE (1u << 22)
#define STAT_TX_ROOM (1u << 23)
#define CTRL_ON ((1u << 18) | (1u << 19)) /* receiver, transmitter */
#define CTRL_RX_INTERRUPT (1u << 21)
#define FIFO_ON_AND_EMPTY ((1u << 3) | (1u << 7) | (1u << 14) | (1u << 15))
#define WATER_ONE_BYTE 0u

static volatile uint32_t *td_lpuart(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

void td_uart_init(uint32_t clock_hz) {
    const uint32_t rate = SAMPLES * TD_UART_BAUD;
    *td_lpuart(CTRL) = 0u;
    *td_lpuart(BAUD) = BAUD_OVERSAMPLED | ((clock_hz + rate / 2u) / rate);
    *td_lpuart(FIFO) = FIFO_ON_AND_EMPTY;
    *td_lpuart(WATER) = WATER_ONE_BYTE;
    *td_lpuart(CTRL) = CTRL_ON | CTRL_RX_INTERRUPT;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return (*td_lpuart(CTRL) & CTRL_ON) == CTRL_ON;
}

/* After an overrun nothing is received until it is cleared; the frame's CRC tells of the loss. */
void td_uart_isr(void) {
    *td_lpuart(STAT) = STAT_ERRORS;
    while ((*td_lpuart(STAT) & STAT_RX_FULL) != 0u) {
        td_uart_received((uint8_t)(*td_lpuart(DATA) & 0xFFu));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_lpuart(STAT) & STAT_TX_ROOM) == 0u) {
        }
        *td_lpuart(DATA) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_lpuart(STAT) & STAT_TX_COMPLETE) == 0u) {
    }
}
