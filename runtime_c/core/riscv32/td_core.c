/* RISC-V cores of 32 bits, in machine mode: reset, interrupts, sleep, the stack's fence. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_fault.h"
#include "td_internal.h"

#define MSTATUS_MIE 8u

#define PMP_LOCKED_NAPOT_NO_ACCESS 0x98u /* locked: machine mode obeys too */

void Reset_Handler(void) __attribute__((noreturn));

/* Lies at the start of the code, where the chip jumps to. */
__attribute__((naked, section(".vectors"), used)) void Reset_Handler(void) {
    __asm__ volatile("csrci mstatus, 8\n"
                     ".option push\n"
                     ".option norelax\n"
                     "la gp, __global_pointer$\n"
                     ".option pop\n"
                     "la sp, td_stack_high\n"
                     "la t0, td_trap_entry\n"
                     "csrw mtvec, t0\n"
                     "j td_boot\n");
}

/* A locked region without access over the lowest bytes of the stack. A core without physical memory
 * protection traps at the first of these writes, and goes on behind them. */
void td_stack_fence(void) {
    const uintptr_t region =
        ((uintptr_t)td_stack_low >> 2) | (uintptr_t)(TD_STACK_FENCE_BYTES / 8u - 1u);
    uintptr_t trap;
    __asm__ volatile("la %[trap], 1f\n"
                     "csrrw %[trap], mtvec, %[trap]\n"
                     "csrw pmpaddr0, %[region]\n"
                     "csrw pmpcfg0, %[access]\n"
                     ".balign 4\n"
                     "1: csrw mtvec, %[trap]\n"
                     : [trap] "=&r"(trap)
                     : [region] "r"(region), [access] "r"(PMP_LOCKED_NAPOT_NO_ACCESS)
                     : "memory");
}

void td_core_init(void) {
    td_stack_fence();
    td_interrupts_start();
}

uint32_t td_core_mask(void) {
    uint32_t status;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return (status & MSTATUS_MIE) == 0u ? 1u : 0u;
}

void td_core_unmask(uint32_t state) {
    if (state == 0u) {
        __asm__ volatile("csrsi mstatus, 8" ::: "memory");
    }
}

void td_core_wait(void) {
    __asm__ volatile("fence\n wfi" ::: "memory");
}

void td_core_halt(void) {
    (void)td_core_mask();
    td_interrupts_stop();
    for (;;) {
        td_core_wait();
    }
}

/* The architecture has no reset of its own: the chip's file says which registers restart it. */
void td_core_reset(void) {
    (void)td_core_mask();
    (void)td_registers_apply(td_reset_steps, TD_RESET_STEP_COUNT);
    for (;;) {
        /* until the reset takes effect */
    }
}
