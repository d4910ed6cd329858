/* What all Cortex-M cores share: reset, FPU, interrupts, sleep. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define NVIC_ISER 0xE000E100u
#define NVIC_ICER 0xE000E180u
#define SCB_AIRCR 0xE000ED0Cu
#define SCB_CPACR 0xE000ED88u
#define SYST_CSR 0xE000E010u

#define AIRCR_RESET 0x05FA0004u
#define CPACR_FPU (0xFu << 20)

enum { BITS_PER_REGISTER = 32 };

void Reset_Handler(void) __attribute__((noreturn));

static inline void td_barrier(void) {
    __asm__ volatile("dsb\n isb" ::: "memory");
}

/* The processor has loaded the stack pointer. The FPU must be on before the compiler's first use
 * of it, even for copies. */
void Reset_Handler(void) {
    (void)td_core_mask();
#if defined(TD_CPU_HAS_FPU)
    *td_register(SCB_CPACR) |= CPACR_FPU;
    td_barrier();
#endif
    td_boot();
}

void td_core_enable_interrupt(uint32_t number) {
    *td_register(NVIC_ISER + 4u * (number / BITS_PER_REGISTER)) = 1u
                                                                  << (number % BITS_PER_REGISTER);
}

uint32_t td_core_mask(void) {
    uint32_t state;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(state)::"memory");
    return state;
}

void td_core_unmask(uint32_t state) {
    __asm__ volatile("msr primask, %0" ::"r"(state) : "memory");
}

void td_core_wait(void) {
    __asm__ volatile("dsb\n wfi" ::: "memory");
}

void td_core_halt(void) {
    (void)td_core_mask();
    *td_register(SYST_CSR) = 0u;
    for (uint32_t first = 0u; first < TD_INTERRUPT_COUNT; first += BITS_PER_REGISTER) {
        *td_register(NVIC_ICER + first / 8u) = UINT32_MAX;
    }
    for (;;) {
        td_core_wait();
    }
}

void td_core_reset(void) {
    td_barrier();
    *td_register(SCB_AIRCR) = AIRCR_RESET;
    td_barrier();
    for (;;) {
        /* until the reset takes effect */
    }
}
