/* ST USART and LPUART with ISR, RDR and TDR registers, without FIFO. Whoever includes this defines
 * td_usart_divider. */
#ifndef ST_USART_V2_H
#define ST_USART_V2_H

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { CR1 = 0x00, CR3 = 0x08, BRR = 0x0C, ISR = 0x1C, RDR = 0x24, TDR = 0x28 };

#define CR1_UE (1u << 0)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_RXNEIE (1u << 5)
#define CR3_OVRDIS (1u << 12) /* a lost byte must not stop reception: the frame's CRC tells */
#define ISR_RXNE (1u << 5)
#define ISR_TC (1u << 6)
#define ISR_TXE (1u << 7)

/* What BRR must hold for the board's rate. */
static uint32_t td_usart_divider(uint32_t clock_hz);

static volatile uint32_t *td_usart(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

void td_uart_init(uint32_t clock_hz) {
    *td_usart(CR1) = 0u;
    *td_usart(BRR) = td_usart_divider(clock_hz);
    *td_usart(CR3) = CR3_OVRDIS;
    *td_usart(CR1) = CR1_UE | CR1_RE | CR1_TE | CR1_RXNEIE;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return (*td_usart(CR1) & CR1_TE) != 0u;
}

void td_uart_isr(void) {
    while ((*td_usart(ISR) & ISR_RXNE) != 0u) {
        td_uart_received((uint8_t)(*td_usart(RDR) & 0xFFu));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_usart(ISR) & ISR_TXE) == 0u) {
        }
        *td_usart(TDR) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_usart(ISR) & ISR_TC) == 0u) {
    }
}

#endif
