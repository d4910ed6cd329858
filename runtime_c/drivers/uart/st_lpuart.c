/* ST LPUART (STM32 G, H, L, U, W): its divider counts 256ths of a clock. */
#include "td_cpu.h"

#include "st_usart_v2.h"

/* clock * 256 / rate in 32 bits: the whole clocks per bit, and 256ths of what is left. */
static uint32_t td_usart_divider(uint32_t clock_hz) {
    const uint32_t whole = clock_hz / TD_UART_BAUD;
    const uint32_t rest = clock_hz % TD_UART_BAUD;
    return 256u * whole + (256u * rest + TD_UART_BAUD / 2u) / TD_UART_BAUD;
}
