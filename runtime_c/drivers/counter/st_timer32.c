/* ST general-purpose timer with 32 bits, for cores without a cycle counter. It counts cycles of the
 * core where its bus runs as fast as the core. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define CR1 (TD_COUNTER_BASE + 0x00u)
#define EGR (TD_COUNTER_BASE + 0x14u)
#define CNT (TD_COUNTER_BASE + 0x24u)
#define PSC (TD_COUNTER_BASE + 0x28u)
#define ARR (TD_COUNTER_BASE + 0x2Cu)

#define CR1_CEN (1u << 0)
#define EGR_UG (1u << 0) /* takes PSC over and sets CNT to 0 */

static uint64_t td_counter_extended;

void td_counter_start(void) {
    *td_register(CR1) = 0u;
    *td_register(PSC) = 0u;
    *td_register(ARR) = UINT32_MAX;
    *td_register(EGR) = EGR_UG;
    *td_register(CR1) = CR1_CEN;
}

bool td_counter_is_of_instructions(void) {
    return false;
}

__attribute__((noinline)) uint64_t td_counter_raw(void) {
    const uint32_t now = *td_register(CNT);
    td_counter_extended += (uint32_t)(now - (uint32_t)td_counter_extended);
    return td_counter_extended;
}
