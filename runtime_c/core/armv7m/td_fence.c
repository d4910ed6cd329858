/* What the MPU of Armv7-M cores forbids, where there is one: the stack's lowest bytes, and on cores
 * with caches the parts of the external address space where the chip has nothing. The core may read
 * ahead from there (Cortex-M7: memory by the default map), and a bus without an answer locks it up.
 */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_fault.h"
#include "td_internal.h"

#define MPU_TYPE 0xE000ED90u
#define MPU_CTRL 0xE000ED94u
#define MPU_RBAR 0xE000ED9Cu
#define MPU_RASR 0xE000EDA0u

#define MPU_REGIONS (0xFFu << 8)
#define RBAR_REGION(number) ((1u << 4) | (number)) /* the higher number wins */
#define RASR_NO_ACCESS (1u << 28)                  /* nor execution */
#define RASR_SIZE(exponent) ((((exponent) - 1u) << 1) | 1u)
#define RASR_OPEN(eighths) ((uint32_t)(eighths) << 8)
#define CTRL_ON_OVER_DEFAULT_MAP 5u

void td_stack_fence(void) {
    if ((*td_register(MPU_TYPE) & MPU_REGIONS) != 0u) {
#if TD_HAS_CACHES
        *td_register(MPU_RBAR) = RBAR_REGION(0u);
        *td_register(MPU_RASR) = RASR_NO_ACCESS | RASR_OPEN(TD_OPEN_EIGHTHS) | RASR_SIZE(32u);
#endif
        *td_register(MPU_RBAR) = (uint32_t)(uintptr_t)td_stack_low | RBAR_REGION(1u);
        *td_register(MPU_RASR) = RASR_NO_ACCESS | RASR_SIZE(8u);
        *td_register(MPU_CTRL) = CTRL_ON_OVER_DEFAULT_MAP;
    }
}
