/* A function whose class-cycle sum is known by hand (test_cycles.py), called once at boot. */
#include "td_board.h"
#include "tinydeploy.h"

static const uint32_t words[2] = {1u, 2u};

void td_probe(const uint32_t *from);
void td_probe_helper(void);

/* Ten turns of a loop with two loads in a row, an IT block, a call. */
__attribute__((naked)) void td_probe(const uint32_t *from TD_UNUSED) {
    __asm__ volatile("push {r4, lr}\n"
                     "movs r4, #10\n"
                     "1: ldr r2, [r0]\n"
                     "ldr r3, [r0, #4]\n"
                     "subs r4, #1\n"
                     "bne 1b\n"
                     "cmp r2, r3\n"
                     "ite ls\n"
                     "movls r2, #1\n"
                     "movhi r2, #2\n"
                     "udiv r2, r3, r2\n"
                     "bl td_probe_helper\n"
                     "pop {r4, pc}\n");
}

__attribute__((naked)) void td_probe_helper(void) {
    __asm__ volatile("bx lr\n");
}

void td_app_main(void) {
    static const uint8_t done = 1u;
    td_probe(words);
    td_uart_write(&done, sizeof done);
}
