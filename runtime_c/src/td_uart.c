/* The receiving half that all UART drivers share: interrupt -> ring -> application. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"
#include "td_ring.h"

static uint8_t td_uart_bytes[TD_UART_RING_BYTES];

/* Initialised, because the interrupt may come before anything else runs. */
static td_ring td_uart_ring = {.bytes = td_uart_bytes, .mask = TD_UART_RING_BYTES - 1u};

void td_uart_received(uint8_t byte) {
    td_ring_put(&td_uart_ring, byte);
}

size_t td_uart_read(uint8_t *to, size_t size) {
    return td_ring_take(&td_uart_ring, to, size);
}

void td_uart_wait(void) {
    /* Masked, so that a byte between the look and the sleep still ends the sleep. */
    const uint32_t state = td_core_mask();
    if (td_uart_ring.head == td_uart_ring.tail) {
        td_core_wait();
    }
    td_core_unmask(state);
}
