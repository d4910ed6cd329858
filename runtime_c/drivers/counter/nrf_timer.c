/* Nordic TIMER with 32 bits as a counter of single instructions. Its prescaler makes a tick last a
 * whole number of nanoseconds: 125. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"
#include "td_vernier.h"

#define TASKS_START (TD_COUNTER_BASE + 0x000u)
#define TASKS_CAPTURE0 (TD_COUNTER_BASE + 0x040u)
#define MODE (TD_COUNTER_BASE + 0x504u)
#define BITMODE (TD_COUNTER_BASE + 0x508u)
#define PRESCALER (TD_COUNTER_BASE + 0x510u)
#define CC0 (TD_COUNTER_BASE + 0x540u)

#define MODE_TIMER 0u
#define BITMODE_32 3u
#define PRESCALER_8_MHZ 1u /* 16 MHz / 2^1 */

void td_counter_start(void) {
    *td_register(MODE) = MODE_TIMER;
    *td_register(BITMODE) = BITMODE_32;
    *td_register(PRESCALER) = PRESCALER_8_MHZ;
    *td_register(TASKS_START) = 1u;
}

bool td_counter_is_of_instructions(void) {
    return true;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t state = td_core_mask();
    uint32_t seen, reads, now;
    __asm__ volatile(
        TD_VERNIER("str %[one], [%[capture]]\n ldr %[now], [%[value]]\n", 2)
        : [seen] "=&l"(seen), [reads] "=&l"(reads), [now] "=&l"(now)
        : [capture] "l"(td_register(TASKS_CAPTURE0)), [value] "l"(td_register(CC0)), [one] "l"(1u)
        : "cc", "memory");
    td_core_unmask(state);
    return td_vernier(seen, reads);
}
