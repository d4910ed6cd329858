/* Arm CMSDK APB timer as a counter of single instructions under an emulator that lets every
 * instruction last the same time (QEMU -icount).
 *
 * One tick of the timer lasts TD_COUNTER_PER_TICK instructions. A vernier finds the place within
 * the tick: the timer is read every TD_COUNTER_PER_TICK + 1 instructions, so that each read falls
 * one instruction later within its tick, until one more tick than reads has gone by. The
 * instructions spent on that are taken off all later values. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define CTRL (TD_COUNTER_BASE + 0x0u)
#define VALUE (TD_COUNTER_BASE + 0x4u)
#define RELOAD (TD_COUNTER_BASE + 0x8u)

#define CTRL_ENABLE (1u << 0)

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static uint64_t td_counter_ticks;   /* extended to 64 bits */
static uint64_t td_counter_vernier; /* instructions that the vernier itself has cost so far */

void td_counter_start(void) {
    *td_register(CTRL) = 0u;
    *td_register(RELOAD) = UINT32_MAX;
    *td_register(VALUE) = UINT32_MAX;
    *td_register(CTRL) = CTRL_ENABLE;
}

/* Returns how many reads after the first it took, 1 to TD_COUNTER_PER_TICK; `*first` is what the
 * first read saw. Each read is at a branch target: an emulator that knows time at block starts only
 * knows it exactly there. Between two reads: ldr, sub, sub, beq (or ldr, mov, nop, nop), the nops,
 * add, b = TD_COUNTER_PER_TICK + 1 instructions. */
static uint32_t td_counter_reads(uint32_t *first) {
    uint32_t reads, seen, now;
    __asm__ volatile("   b 1f\n"
                     "1: ldr %[seen], [%[value]]\n"
                     "   movs %[reads], #0\n"
                     "   nop\n"
                     "   nop\n"
                     "2: .rept " TEXT(TD_COUNTER_PER_TICK) " - 5\n"
                                                           "   nop\n"
                                                           "   .endr\n"
                                                           "   adds %[reads], %[reads], #1\n"
                                                           "   b 3f\n"
                                                           "3: ldr %[now], [%[value]]\n"
                                                           "   subs %[now], %[seen], %[now]\n"
                                                           "   subs %[now], %[now], %[reads]\n"
                                                           "   beq 2b\n"
                     : [seen] "=&l"(seen), [reads] "=&l"(reads), [now] "=&l"(now)
                     : [value] "l"(td_register(VALUE))
                     : "cc", "memory");
    *first = seen;
    return reads;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t state = td_core_mask();
    uint32_t seen;
    const uint32_t reads = td_counter_reads(&seen);
    td_core_unmask(state);
    const uint32_t ticks = UINT32_MAX - seen;
    td_counter_ticks += (uint32_t)(ticks - (uint32_t)td_counter_ticks);
    const uint64_t now =
        td_counter_ticks * TD_COUNTER_PER_TICK + (TD_COUNTER_PER_TICK - reads) - td_counter_vernier;
    td_counter_vernier += (uint64_t)reads * (TD_COUNTER_PER_TICK + 1u);
    return now;
}
