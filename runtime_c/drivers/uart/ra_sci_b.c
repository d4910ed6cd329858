/* Renesas SCI_B as a UART (RA8), clocked by the peripheral bus, without FIFO ("RA8D1 Group User's
 * Manual: Hardware"). Untested on hardware.
 *
 * The interrupt is the event of received data, which the ICU must link to it. A byte with a framing
 * error raises another event, which is not linked, and stops reception until the next byte is sent.
 */
#include "td_cpu.h"

#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"

enum { RDR = 0x00, TDR = 0x04, CCR0 = 0x08, CCR1 = 0x0C, CCR2 = 0x10, CCR3 = 0x14, CCR4 = 0x18 };
enum { CSR = 0x48, CFCLR = 0x68 };

#define CCR0_RE (1u << 0)
#define CCR0_TE (1u << 4)
#define CCR0_RIE (1u << 16)
#define CCR1_IDLE_HIGH (3u << 4) /* TXD while the transmitter is off */
#define CCR2_RESERVED 4u         /* of smart cards, as after reset */
#define CCR2_DOUBLE_SPEED (1u << 4)
#define CCR2_BRR_AT 8u
#define CCR2_MODULATED (1u << 16)
#define CCR2_PRESCALER_AT 20u
#define CCR2_MDDR_AT 24u
#define CCR3_BUS_CLOCK (1u << 7)
#define CCR3_8_BITS (2u << 8)
#define CCR3_LEAST_FIRST (1u << 12)
#define CSR_ERRORS ((1u << 24) | (1u << 27) | (1u << 28)) /* overrun, parity, framing */
#define CSR_TX_ROOM (1u << 29)
#define CSR_TX_END (1u << 30)
#define CSR_RECEIVED (1u << 31)

#define ICU_LINKS 0x4000C300u /* one register per interrupt */
#define ICU_LINK_PENDING (1u << 16)

#define CLOCKS_PER_BIT 16u
#define MOST_DIVIDER 256u
#define MOST_PRESCALER 3u
#define MODULATION_ONE 256u

static volatile uint32_t *td_sci(uint32_t offset) {
    return td_register(TD_UART_BASE + offset);
}

/* The rate is clock / (16 * 4^prescaler * divider), of which the modulation lets m of 256 pulses
 * pass: rounding the divider down makes the rate too high by less than 2, m brings it back. */
static uint32_t td_sci_rate(uint32_t clock_hz) {
    uint32_t prescaler = 0u;
    uint32_t unit = CLOCKS_PER_BIT * TD_UART_BAUD;
    while (clock_hz / unit > MOST_DIVIDER && prescaler < MOST_PRESCALER) {
        prescaler++;
        unit *= 4u;
    }
    const uint32_t divider = clock_hz < unit ? 1u : clock_hz / unit;
    const uint32_t pulse_hz = clock_hz / MODULATION_ONE;
    const uint32_t modulation = (unit * divider + pulse_hz / 2u) / pulse_hz;
    uint32_t bits = CCR2_RESERVED | CCR2_DOUBLE_SPEED | ((divider - 1u) << CCR2_BRR_AT) |
                    (prescaler << CCR2_PRESCALER_AT);
    if (modulation < MODULATION_ONE) {
        bits |= CCR2_MODULATED | (modulation << CCR2_MDDR_AT);
    }
    return bits;
}

void td_uart_init(uint32_t clock_hz) {
    *td_sci(CCR0) = 0u;
    *td_sci(CCR3) = CCR3_BUS_CLOCK | CCR3_8_BITS | CCR3_LEAST_FIRST;
    *td_sci(CCR2) = td_sci_rate(clock_hz);
    *td_sci(CCR1) = CCR1_IDLE_HIGH;
    *td_sci(CCR4) = 0u;
    *td_sci(CFCLR) = CSR_ERRORS;
    *td_sci(CCR0) = CCR0_RE | CCR0_TE | CCR0_RIE;
    td_core_enable_interrupt(TD_UART_IRQ);
}

bool td_uart_is_on(void) {
    return (*td_sci(CCR0) & CCR0_TE) != 0u;
}

/* The link's flag goes first, so that a byte that comes now raises it again. An overrun can only
 * have happened while a byte waited here, and stops reception until it is cleared. */
void td_uart_isr(void) {
    *td_register(ICU_LINKS + 4u * TD_UART_IRQ) &= ~ICU_LINK_PENDING;
    while ((*td_sci(CSR) & CSR_RECEIVED) != 0u) {
        td_uart_received((uint8_t)(*td_sci(RDR) & 0xFFu));
        *td_sci(CFCLR) = CSR_ERRORS;
    }
}

void td_uart_write(const uint8_t *from, size_t size) {
    *td_sci(CFCLR) = CSR_ERRORS;
    for (size_t i = 0u; i < size; i++) {
        while ((*td_sci(CSR) & CSR_TX_ROOM) == 0u) {
        }
        *td_sci(TDR) = from[i];
    }
}

void td_uart_drain(void) {
    while ((*td_sci(CSR) & CSR_TX_END) == 0u) {
    }
}
