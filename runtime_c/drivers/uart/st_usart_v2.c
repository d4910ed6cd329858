/* ST USART with ISR, RDR and TDR registers (STM32 F0, F3, F7, G, H, L, U, W). */
#include "td_cpu.h"

#include "st_usart_v2.h"

static uint32_t td_usart_divider(uint32_t clock_hz) {
    return (clock_hz + TD_UART_BAUD / 2u) / TD_UART_BAUD;
}
