/* ST USART with SR and DR registers (STM32 F1, F2, F4, L1). */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { SR = 0x00, DR = 0x04, BRR = 0x08, CR1 = 0x0C };

#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define CR1_RXNEIE (1u << 5)
#define CR1_UE (1u << 13)
#define SR_ORE (1u << 3)
#define SR_RXNE (1u << 5)
#define SR_TC (1u << 6)
#define SR_TXE (1u << 7)

static volatile uint32_t *td_usart(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

void td_uart_init(uint32_t clock_hz) {
    *td_usart(CR1) = 0u;
    *td_usart(BRR) = (clock_hz + TD_UART_BAUD / 2u) / TD_UART_BAUD;
    *td_usart(CR1) = CR1_UE | CR1_RE | CR1_TE | CR1_RXNEIE;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return (*td_usart(CR1) & CR1_TE) != 0u;
}

/* A lost byte must not stop reception: reading SR and then DR clears its flag, which interrupts
 * too. The frame's CRC tells. */
void td_uart_isr(void) {
    uint32_t status = *td_usart(SR);
    while ((status & (SR_RXNE | SR_ORE)) != 0u) {
        const uint32_t data = *td_usart(DR);
        if ((status & SR_RXNE) != 0u) {
            td_uart_received((uint8_t)(data & 0xFFu));
        }
        status = *td_usart(SR);
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while ((*td_usart(SR) & SR_TXE) == 0u) {
        }
        *td_usart(DR) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_usart(SR) & SR_TC) == 0u) {
    }
}
