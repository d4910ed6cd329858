/* RISC-V platform-level interrupt controller; machine mode of hart 0 is its context 0. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define PRIORITY (TD_INTERRUPTS_BASE + 0x000000u)
#define ENABLE (TD_INTERRUPTS_BASE + 0x002000u)
#define THRESHOLD (TD_INTERRUPTS_BASE + 0x200000u)
#define CLAIM (TD_INTERRUPTS_BASE + 0x200004u)

enum { BITS_PER_REGISTER = 32 };

#define MIE_EXTERNAL (1u << 11)

void td_interrupts_start(void) {
    __asm__ volatile("csrw mie, %0" ::"r"(MIE_EXTERNAL) : "memory");
}

void td_interrupts_stop(void) {
    __asm__ volatile("csrw mie, zero" ::: "memory");
}

void td_core_enable_interrupt(uint32_t number) {
    *td_register(THRESHOLD) = 0u;
    *td_register(PRIORITY + 4u * number) = 1u;
    *td_register(ENABLE + 4u * (number / BITS_PER_REGISTER)) |= 1u << (number % BITS_PER_REGISTER);
}

uint32_t td_interrupts_claim(void) {
    return *td_register(CLAIM);
}

void td_interrupts_complete(uint32_t number) {
    *td_register(CLAIM) = number;
}
