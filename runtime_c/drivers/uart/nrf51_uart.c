/* Nordic UART of nRF51 (and nRF52 beside its UARTE): six bytes of receive buffer. Its clock is
 * always 16 MHz. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

#define STARTRX (TD_UART_BASE + 0x000u)
#define STARTTX (TD_UART_BASE + 0x008u)
#define RXDRDY (TD_UART_BASE + 0x108u)
#define TXDRDY (TD_UART_BASE + 0x11Cu)
#define INTENSET (TD_UART_BASE + 0x304u)
#define ENABLE (TD_UART_BASE + 0x500u)
#define RXD (TD_UART_BASE + 0x518u)
#define TXD (TD_UART_BASE + 0x51Cu)
#define BAUDRATE (TD_UART_BASE + 0x524u)

#define INT_RXDRDY (1u << 2)
#define ENABLE_UART 4u
#define UART_HZ 16000000u

/* Rate * 2^32 / clock, rounded to the register's 20 bits. */
#define BAUD_VALUE (uint32_t)(((((uint64_t)TD_UART_BAUD << 32) / UART_HZ) + 0x800u) & 0xFFFFF000u)

static bool td_sent_before; /* TXDRDY is yet to come for the byte before */

void td_uart_init(uint32_t clock_hz) {
    (void)clock_hz;
    *td_register(ENABLE) = ENABLE_UART; /* first: until then QEMU takes no other write */
    *td_register(BAUDRATE) = BAUD_VALUE;
    *td_register(RXDRDY) = 0u;
    *td_register(TXDRDY) = 0u;
    *td_register(INTENSET) = INT_RXDRDY;
    *td_register(STARTRX) = 1u;
    *td_register(STARTTX) = 1u;
    td_core_enable_interrupt(TD_UART_IRQ);
}

/* In QEMU, ENABLE does not read back. */
bool td_uart_is_on(void) {
    return *td_register(BAUDRATE) == BAUD_VALUE;
}

void td_uart_isr(void) {
    while (*td_register(RXDRDY) != 0u) {
        *td_register(RXDRDY) = 0u; /* before the read: it frees the buffer for the next byte */
        td_uart_received((uint8_t)(*td_register(RXD) & 0xFFu));
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        td_uart_drain();
        *td_register(TXD) = from[i];
        td_sent_before = true;
    }
}

void td_uart_drain(void) {
    if (td_sent_before) {
        while (*td_register(TXDRDY) == 0u) {
        }
        *td_register(TXDRDY) = 0u;
        td_sent_before = false;
    }
}
