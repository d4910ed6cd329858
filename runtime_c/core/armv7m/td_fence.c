/* The stack's fence on Armv7-M cores: an MPU region without access, where there is an MPU. */
#include "td_cpu.h"

#include "td_fault.h"
#include "td_internal.h"

#define MPU_TYPE 0xE000ED90u
#define MPU_CTRL 0xE000ED94u
#define MPU_RBAR 0xE000ED9Cu
#define MPU_RASR 0xE000EDA0u

#define MPU_REGIONS (0xFFu << 8)
#define RBAR_REGION_0 (1u << 4)
#define RASR_NO_ACCESS_256 ((1u << 28) | (7u << 1) | 1u) /* never executable, 2^(7+1) bytes, on */
#define CTRL_ON_OVER_DEFAULT_MAP 5u

void td_stack_fence(void) {
    if ((*td_register(MPU_TYPE) & MPU_REGIONS) != 0u) {
        *td_register(MPU_RBAR) = (uint32_t)(uintptr_t)td_stack_low | RBAR_REGION_0;
        *td_register(MPU_RASR) = RASR_NO_ACCESS_256;
        *td_register(MPU_CTRL) = CTRL_ON_OVER_DEFAULT_MAP;
    }
}
