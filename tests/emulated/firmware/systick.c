/* Prints four lines: 0, 0, the core's clock (as the bench does), and how many ticks SysTick counts,
 * at the core's clock, while the counter counts the number behind it. */
#include "td_board.h"

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define CSR_CORE_CLOCK_ON 5u
#define LARGEST 0xFFFFFFu

static void put_number(uint64_t value, char end) {
    uint8_t text[21];
    size_t at = sizeof text;
    text[--at] = (uint8_t)end;
    do {
        text[--at] = (uint8_t)('0' + (char)(value % 10u));
        value /= 10u;
    } while (value != 0u);
    td_uart_write(&text[at], sizeof text - at);
}

void td_app_main(void) {
    put_number(0u, '\n');
    put_number(0u, '\n');
    put_number(td_clock()->core_hz, '\n');
    SYST_RVR = LARGEST;
    SYST_CVR = 0u;
    SYST_CSR = CSR_CORE_CLOCK_ON;
    const uint64_t before = td_counter();
    const uint32_t first = SYST_CVR;
    for (volatile uint32_t rounds = 0u; rounds < 10000u; rounds++) {
    }
    const uint32_t last = SYST_CVR;
    put_number(td_counter() - before, ' ');
    put_number(first - last, '\n');
}
