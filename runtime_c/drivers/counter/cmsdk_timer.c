/* Arm CMSDK APB timer, counting down, as a counter of single instructions. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"
#include "td_vernier.h"

#define CTRL (TD_COUNTER_BASE + 0x0u)
#define VALUE (TD_COUNTER_BASE + 0x4u)
#define RELOAD (TD_COUNTER_BASE + 0x8u)

#define CTRL_ENABLE (1u << 0)

void td_counter_start(void) {
    *td_register(CTRL) = 0u;
    *td_register(RELOAD) = UINT32_MAX;
    *td_register(VALUE) = UINT32_MAX;
    *td_register(CTRL) = CTRL_ENABLE;
}

bool td_counter_is_of_instructions(void) {
    return true;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t state = td_core_mask();
    uint32_t seen, reads, now;
    __asm__ volatile(TD_VERNIER("ldr %[now], [%[value]]\n mvns %[now], %[now]\n", 2)
                     : [seen] "=&l"(seen), [reads] "=&l"(reads), [now] "=&l"(now)
                     : [value] "l"(td_register(VALUE))
                     : "cc", "memory");
    td_core_unmask(state);
    return td_vernier(seen, reads);
}
