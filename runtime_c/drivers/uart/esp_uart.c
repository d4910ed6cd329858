/* Espressif's UART of the ESP32-C3's generation (TRM 26): FIFOs of 128 bytes. It divides the
 * crystal's clock, so that its rate does not depend on how the core is clocked. */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum {
    FIFO = 0x00,
    INT_ENA = 0x0C,
    INT_CLR = 0x10,
    CLKDIV = 0x14,
    STATUS = 0x1C,
    CONF0 = 0x20,
    CONF1 = 0x24,
    FSM_STATUS = 0x6C,
    CLK_CONF = 0x78
};

#define INT_RX_FULL (1u << 0)
#define INT_RX_TIMEOUT (1u << 8)
#define INT_RX (INT_RX_FULL | INT_RX_TIMEOUT)
#define STATUS_RX_COUNT 0x3FFu
#define STATUS_TX_SHIFT 16
#define STATUS_TX_COUNT 0x3FFu
#define CONF0_8N1 (0x1Cu | (1u << 28)) /* and the clock of the FIFOs */
#define CONF0_FIFO_RESET ((1u << 17) | (1u << 18))
#define CONF1_RX_AT_ONE_BYTE 1u
#define CONF1_RX_TIMEOUT (1u << 21)
#define FSM_TX 0xF0u
#define CLOCK_OF_CRYSTAL ((3u << 20) | (1u << 22) | (1u << 24) | (1u << 25))
#define CLOCK_RESET (1u << 23)
#define CLOCK_DIVIDER_SHIFT 12

enum { FIFO_BYTES = 128, STEPS_PER_CLOCK = 16, DIVIDER_LIMIT = 4096 };

static volatile uint32_t *td_esp(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

/* The rate's divider has 12 bits and 4 bits of fraction; a first divider serves slow rates. */
void td_uart_init(uint32_t clock_hz) {
    const uint32_t first = 1u + clock_hz / DIVIDER_LIMIT / TD_UART_BAUD;
    const uint32_t rate = first * TD_UART_BAUD;
    const uint32_t steps = (clock_hz * STEPS_PER_CLOCK + rate / 2u) / rate;
    const uint32_t clock = CLOCK_OF_CRYSTAL | ((first - 1u) << CLOCK_DIVIDER_SHIFT);
    *td_esp(INT_ENA) = 0u;
    *td_esp(CLK_CONF) = clock | CLOCK_RESET;
    *td_esp(CLK_CONF) = clock;
    *td_esp(CLKDIV) = (steps / STEPS_PER_CLOCK) | ((steps % STEPS_PER_CLOCK) << 20);
    *td_esp(CONF0) = CONF0_8N1 | CONF0_FIFO_RESET;
    *td_esp(CONF0) = CONF0_8N1;
    *td_esp(CONF1) = CONF1_RX_AT_ONE_BYTE | CONF1_RX_TIMEOUT;
    *td_esp(INT_CLR) = UINT32_MAX;
    *td_esp(INT_ENA) = INT_RX;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return *td_esp(INT_ENA) == INT_RX;
}

void td_uart_isr(void) {
    while ((*td_esp(STATUS) & STATUS_RX_COUNT) != 0u) {
        td_uart_received((uint8_t)(*td_esp(FIFO) & 0xFFu));
    }
    *td_esp(INT_CLR) = INT_RX; /* a byte that came in between asserts it again */
}

static uint32_t td_esp_unsent(void) {
    return (*td_esp(STATUS) >> STATUS_TX_SHIFT) & STATUS_TX_COUNT;
}

void td_uart_write(const uint8_t *from, size_t size) {
    for (size_t i = 0u; i < size; i++) {
        while (td_esp_unsent() >= FIFO_BYTES) {
        }
        *td_esp(FIFO) = from[i];
    }
}

void td_uart_drain(void) {
    while (td_esp_unsent() != 0u || (*td_esp(FSM_STATUS) & FSM_TX) != 0u) {
    }
}
