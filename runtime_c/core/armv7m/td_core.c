/* Cortex-M cores: reset, FPU, caches, interrupts, sleep. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define NVIC_ISER 0xE000E100u
#define NVIC_ICER 0xE000E180u
#define SCB_VTOR 0xE000ED08u
#define SCB_AIRCR 0xE000ED0Cu
#define SCB_CCR 0xE000ED14u
#define SCB_SHCSR 0xE000ED24u
#define SCB_CCSIDR 0xE000ED80u
#define SCB_CSSELR 0xE000ED84u
#define SCB_CPACR 0xE000ED88u
#define MPU_TYPE 0xE000ED90u
#define MPU_CTRL 0xE000ED94u
#define MPU_RBAR 0xE000ED9Cu
#define MPU_RASR 0xE000EDA0u
#define SCB_ICIALLU 0xE000EF50u
#define SCB_DCISW 0xE000EF60u
#define SYST_CSR 0xE000E010u

#define AIRCR_RESET 0x05FA0004u
#define CCR_DIVIDE_BY_ZERO (1u << 4)
#define SHCSR_FAULTS (7u << 16) /* memory, bus, usage */
#define CCR_DATA_CACHE (1u << 16)
#define CCR_INSTRUCTION_CACHE (1u << 17)
#define CPACR_FPU (0xFu << 20)

#define MPU_REGIONS (0xFFu << 8)
#define RBAR_REGION_0 (1u << 4)
#define RASR_NO_ACCESS_256 ((1u << 28) | (7u << 1) | 1u) /* never executable, 2^(7+1) bytes, on */
#define CTRL_ON_OVER_DEFAULT_MAP 5u

enum { BITS_PER_REGISTER = 32, ENABLE_REGISTERS = 16 };

extern const uintptr_t td_vectors[];
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

#if TD_HAS_CACHES
/* Sets and ways of the data cache from CCSIDR, as Armv7-M ARM B3.2 tells. */
static void td_invalidate_data_cache(void) {
    *td_register(SCB_CSSELR) = 0u;
    td_barrier();
    const uint32_t geometry = *td_register(SCB_CCSIDR);
    const uint32_t last_set = (geometry >> 13) & 0x7FFFu;
    const uint32_t last_way = (geometry >> 3) & 0x3FFu;
    const uint32_t way_shift = last_way == 0u ? 0u : (uint32_t)__builtin_clz(last_way);
    const uint32_t set_shift = (geometry & 7u) + 4u;
    for (uint32_t set = 0u; set <= last_set; set++) {
        for (uint32_t way = 0u; way <= last_way; way++) {
            *td_register(SCB_DCISW) = (way << way_shift) | (set << set_shift);
        }
    }
}

static void td_caches_on(void) {
    td_barrier();
    *td_register(SCB_ICIALLU) = 0u;
    td_barrier();
    *td_register(SCB_CCR) |= CCR_INSTRUCTION_CACHE;
    td_invalidate_data_cache();
    td_barrier();
    *td_register(SCB_CCR) |= CCR_DATA_CACHE;
    td_barrier();
}
#endif

/* The lowest 256 bytes of the stack become a fence: below the stack there may be memory that
 * swallows an overflow silently. */
static void td_fence_stack(void) {
#if defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)
    if ((*td_register(MPU_TYPE) & MPU_REGIONS) != 0u) {
        *td_register(MPU_RBAR) = (uint32_t)(uintptr_t)td_stack_low | RBAR_REGION_0;
        *td_register(MPU_RASR) = RASR_NO_ACCESS_256;
        *td_register(MPU_CTRL) = CTRL_ON_OVER_DEFAULT_MAP;
    }
#endif
}

void td_core_init(void) {
    td_fence_stack();
    *td_register(SCB_VTOR) = (uint32_t)(uintptr_t)td_vectors;
    *td_register(SCB_CCR) |= CCR_DIVIDE_BY_ZERO;
    /* Taken as HardFault, a fault whose frame cannot be pushed would lock the core up; taken as
     * itself, the failed push escalates to HardFault, which runs. */
    *td_register(SCB_SHCSR) |= SHCSR_FAULTS;
    td_barrier();
#if TD_HAS_CACHES
    td_caches_on();
#endif
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
    for (uint32_t i = 0u; i < ENABLE_REGISTERS; i++) {
        *td_register(NVIC_ICER + 4u * i) = UINT32_MAX;
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
