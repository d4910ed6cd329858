/* Cortex-M0 and its like: no MPU to fence the stack, no status that tells one fault from another,
 * the vector table where the hardware looks for it. */
#include "td_cpu.h"

#include "td_fault.h"
#include "td_internal.h"

void td_core_init(void) {
}

bool td_fault_is_of_stack(void) {
    return false;
}

void td_fault_put_status(void) {
}
