#include "td_cpu.h"

#include "td_registers.h"

static uint32_t td_read(const td_register_step *step) {
    const uintptr_t at = step->address;
    switch (step->bytes) {
    case 1u:
        return *(const volatile uint8_t *)at;
    case 2u:
        return *(const volatile uint16_t *)at;
    default:
        return *(const volatile uint32_t *)at;
    }
}

static void td_write(const td_register_step *step, uint32_t value) {
    const uintptr_t at = step->address;
    switch (step->bytes) {
    case 1u:
        *(volatile uint8_t *)at = (uint8_t)value;
        break;
    case 2u:
        *(volatile uint16_t *)at = (uint16_t)value;
        break;
    default:
        *(volatile uint32_t *)at = value;
        break;
    }
}

static bool td_wait_for(const td_register_step *step) {
    for (uint32_t i = 0u; i < step->tries; i++) {
        if ((td_read(step) & step->mask) == step->value) {
            return true;
        }
    }
    return false;
}

size_t td_registers_apply(const td_register_step *steps, size_t count) {
    for (size_t i = 0u; i < count; i++) {
        const td_register_step *step = &steps[i];
        if (step->tries == 0u) {
            td_write(step, (td_read(step) & ~step->mask) | step->value);
            (void)td_read(step); /* the bus has taken the write before the next step begins */
        } else if (!td_wait_for(step)) {
            return i;
        }
    }
    return count;
}
