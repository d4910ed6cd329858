/* The performance counter of Espressif's RISC-V cores, set to cycles (ESP32-C3 TRM 1.4: mpcer,
 * mpcmr, mpccr). It has 32 bits and is extended to 64 with every read. */
#include "td_cpu.h"

#include "td_internal.h"

#define EVENT_CYCLES 1u
#define COUNT_ON 1u

static uint64_t td_counter_extended;

void td_counter_start(void) {
    __asm__ volatile("csrw 0x7E0, %0\n csrw 0x7E2, zero\n csrw 0x7E1, %1" ::"r"(EVENT_CYCLES),
                     "r"(COUNT_ON));
}

bool td_counter_is_of_instructions(void) {
    return false;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, 0x7E2" : "=r"(now)::"memory");
    td_counter_extended += (uint32_t)(now - (uint32_t)td_counter_extended);
    return td_counter_extended;
}
