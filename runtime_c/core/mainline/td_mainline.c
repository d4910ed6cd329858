/* Cortex-M cores from M3 on: vector table, faults that say what they are, caches. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_fault.h"
#include "td_internal.h"

#define SCB_VTOR 0xE000ED08u
#define SCB_CCR 0xE000ED14u
#define SCB_SHCSR 0xE000ED24u
#define SCB_CFSR 0xE000ED28u
#define SCB_HFSR 0xE000ED2Cu
#define SCB_MMFAR 0xE000ED34u
#define SCB_BFAR 0xE000ED38u
#define SCB_CCSIDR 0xE000ED80u
#define SCB_CSSELR 0xE000ED84u
#define SCB_ICIALLU 0xE000EF50u
#define SCB_DCISW 0xE000EF60u

#define CCR_DIVIDE_BY_ZERO (1u << 4)
#define SHCSR_FAULTS (7u << 16) /* memory, bus, usage */
#define CCR_DATA_CACHE (1u << 16)
#define CCR_INSTRUCTION_CACHE (1u << 17)

/* Memory or bus fault while pushing; stack limit (Armv8-M). */
#define CFSR_STACK ((1u << 4) | (1u << 12) | (1u << 20))

extern const uintptr_t td_vectors[];

static inline void td_barrier(void) {
    __asm__ volatile("dsb\n isb" ::: "memory");
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

void td_core_init(void) {
    td_stack_fence();
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

bool td_fault_is_of_stack(void) {
    return (*td_register(SCB_CFSR) & CFSR_STACK) != 0u;
}

void td_fault_put_status(void) {
    td_put_hex(" cfsr=", *td_register(SCB_CFSR));
    td_put_hex(" hfsr=", *td_register(SCB_HFSR));
    td_put_hex(" mmfar=", *td_register(SCB_MMFAR));
    td_put_hex(" bfar=", *td_register(SCB_BFAR));
}
