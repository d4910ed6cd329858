#include "td_cpu.h"

#include "td_registers.h"

static bool td_wait_for(const td_register_step *step) {
    const volatile uint32_t *from = td_register(step->address);
    for (uint32_t i = 0u; i < step->tries; i++) {
        if ((*from & step->mask) == step->value) {
            return true;
        }
    }
    return false;
}

size_t td_registers_apply(const td_register_step *steps, size_t count) {
    for (size_t i = 0u; i < count; i++) {
        const td_register_step *step = &steps[i];
        if (step->tries == 0u) {
            volatile uint32_t *at = td_register(step->address);
            *at = (*at & ~step->mask) | step->value;
            (void)*at; /* the bus has taken the write before the next step begins */
        } else if (!td_wait_for(step)) {
            return i;
        }
    }
    return count;
}
