/* The RISC-V counter of retired instructions: exact wherever the core has it. */
#include "td_cpu.h"

#include "td_internal.h"

void td_counter_start(void) {
}

bool td_counter_is_of_instructions(void) {
    return true;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    uint32_t high, low, again;
    __asm__ volatile("1: csrr %0, minstreth\n"
                     "   csrr %1, minstret\n"
                     "   csrr %2, minstreth\n"
                     "   bne %0, %2, 1b\n"
                     : "=&r"(high), "=&r"(low), "=&r"(again)::"memory");
    return ((uint64_t)high << 32) | low;
}
