/* Arm CMSDK APB UART (MPS2 and MPS3 boards). */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { DATA = 0x00, STATE = 0x04, CTRL = 0x08, INTCLEAR = 0x0C, BAUDDIV = 0x10 };

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define CTRL_TX (1u << 0)
#define CTRL_RX (1u << 1)
#define CTRL_RX_INTERRUPT (1u << 3)
#define INT_RX (1u << 1)
#define LEAST_DIVIDER 16u

static volatile uint32_t *td_cmsdk(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

void td_uart_init(uint32_t clock_hz) {
    const uint32_t divider = clock_hz / TD_UART_BAUD;
    *td_cmsdk(BAUDDIV) = divider < LEAST_DIVIDER ? LEAST_DIVIDER : divider;
    *td_cmsdk(CTRL) = CTRL_TX | CTRL_RX | CTRL_RX_INTERRUPT;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return (*td_cmsdk(CTRL) & CTRL_TX) != 0u;
}

void td_uart_isr(void) {
    *td_cmsdk(INTCLEAR) = INT_RX;
    while ((*td_cmsdk(STATE) & STATE_RX_FULL) != 0u) {
        td_uart_received((uint8_t)(*td_cmsdk(DATA) & 0xFFu));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_cmsdk(STATE) & STATE_TX_FULL) != 0u) {
        }
        *td_cmsdk(DATA) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_cmsdk(STATE) & STATE_TX_FULL) != 0u) {
    }
}
