/* Register tables: what the chip and board files say about clocks and enables, as data. */
#ifndef TD_REGISTERS_H
#define TD_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t address;
    uint32_t mask;
    uint32_t value; /* within the mask */
    uint32_t tries; /* 0: write the masked bits; else wait for them, reading so often */
    uint32_t bytes; /* that the register has: 1, 2 or 4 */
} td_register_step;

/* Carries the steps out. Returns `count`, or the index of the first wait that timed out. */
size_t td_registers_apply(const td_register_step *steps, size_t count);

static inline volatile uint32_t *td_register(uint32_t address) {
    return (volatile uint32_t *)(uintptr_t)address;
}

#endif
