/* The free-running counter of the FPGAIO block on Arm MPS2 and MPS3 boards, as a counter of single
 * instructions. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"
#include "td_vernier.h"

#define COUNTER (TD_COUNTER_BASE + 0x18u)
#define PRESCALE (TD_COUNTER_BASE + 0x1Cu)

void td_counter_start(void) {
    *td_register(PRESCALE) = 0u;
    *td_register(COUNTER) = 0u;
}

bool td_counter_is_of_instructions(void) {
    return true;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t state = td_core_mask();
    uint32_t seen, reads, now;
    __asm__ volatile(TD_VERNIER("ldr %[now], [%[value]]\n", 1)
                     : [seen] "=&l"(seen), [reads] "=&l"(reads), [now] "=&l"(now)
                     : [value] "l"(td_register(COUNTER))
                     : "cc", "memory");
    td_core_unmask(state);
    return td_vernier(seen, reads);
}
