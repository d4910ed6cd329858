/* The stack's fence on Armv8-M Mainline cores: their stack limit register. */
#include "td_cpu.h"

#include "td_fault.h"
#include "td_internal.h"

void td_stack_fence(void) {
    __asm__ volatile("msr msplim, %0" ::"r"(&td_stack_low[TD_STACK_FENCE_BYTES]));
}
