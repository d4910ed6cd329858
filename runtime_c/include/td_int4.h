/* Weights of 4 bits, two to a byte, the first in the low half. */
#ifndef TD_INT4_H
#define TD_INT4_H

#include <stdint.h>

/* The step at `index`, -8 to 7. */
static inline int32_t td_int4(const int8_t *packed, int32_t index) {
    const int32_t byte = packed[index >> 1];
    return (index & 1) != 0 ? byte >> 4 : (int32_t)((uint32_t)byte << 28) >> 28;
}

/* The first step of the byte that `pair` is. */
static inline int32_t td_int4_low(int32_t pair) {
    return (int32_t)((uint32_t)pair << 28) >> 28;
}

/* The factor, 1 to 16, of group `index` of packed weights. */
static inline int32_t td_int4_factor(const int8_t *factors, int32_t index) {
    const uint32_t byte = (uint32_t)factors[index >> 1];
    return (int32_t)((byte >> ((uint32_t)(index & 1) * 4u)) & 15u) + 1;
}

#endif
