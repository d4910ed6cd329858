/* Single instructions from a coarse timer, under an emulator that lets every instruction last the
 * same time (QEMU -icount).
 *
 * One tick of the timer lasts TD_COUNTER_PER_TICK instructions. A vernier finds the place within
 * the tick: the timer is read every TD_COUNTER_PER_TICK + 1 instructions, so that each read falls
 * one instruction later within its tick, until one more tick than reads has gone by. The
 * instructions spent on that are taken off all later values. */
#ifndef TD_VERNIER_H
#define TD_VERNIER_H

#include <stdint.h>

#include "td_board_config.h"

#define TD_VERNIER_TEXT_OF(x) #x
#define TD_VERNIER_TEXT(x) TD_VERNIER_TEXT_OF(x)

/* Thumb code that leaves what the first read saw in %[seen] and how many reads it took after that,
 * 1 to TD_COUNTER_PER_TICK, in %[reads]; it works in %[now]. `read` is code of `length`
 * instructions that reads the timer, counting up, into %[now]. Each read is at a branch target: an
 * emulator that knows time at block starts only knows it exactly there. Between two reads: read,
 * sub, sub, beq (or read, mov, mov, nop), the nops, add, b = TD_COUNTER_PER_TICK + 1 instructions.
 */
#define TD_VERNIER(read, length)                                                                   \
    "   .syntax unified\n   b 1f\n"                                                                \
    "1:\n" read "   mov %[seen], %[now]\n"                                                         \
    "   movs %[reads], #0\n"                                                                       \
    "   nop\n"                                                                                     \
    "2:\n" TD_VERNIER_NOPS(length) "   adds %[reads], %[reads], #1\n"                              \
                                   "   b 3f\n"                                                     \
                                   "3:\n" read "   subs %[now], %[now], %[seen]\n"                 \
                                   "   subs %[now], %[now], %[reads]\n"                            \
                                   "   beq 2b\n"

#define TD_VERNIER_NOPS(length)                                                                    \
    "   .rept " TD_VERNIER_TEXT(TD_COUNTER_PER_TICK) " - 4 - " #length "\n   nop\n   .endr\n"

/* Instructions since the start, without those that verniers have cost. */
uint64_t td_vernier(uint32_t seen, uint32_t reads);

#endif
