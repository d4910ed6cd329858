/* Functions of int16 steps: tables with a line between two entries; the C twin of
 * tinydeploy/ops/wide_tables.py. */
#ifndef TD_WIDE_H
#define TD_WIDE_H

#include <stdint.h>

#include "td_fixed_point.h"

static inline int32_t td_saturate_int16(int32_t value) {
    return td_clamp(value, INT16_MIN, INT16_MAX);
}

/* How a step reaches the table: multiplier below 2^15, right shift from 0 to 30. */
static inline int32_t td_wide_brought(int32_t step, int32_t multiplier, int32_t shift) {
    const int32_t half = shift > 0 ? (int32_t)((uint32_t)1 << (shift - 1)) : 0;
    return (step * multiplier + half) >> shift;
}

/* The table's value at `size` in entries of `bits` bits, times 2^bits; entries are lowered by 2^15.
 */
static inline int32_t td_wide_entry(int32_t size, int32_t bits, const int16_t *table) {
    const int32_t entry = size >> bits;
    const int32_t low = table[entry];
    const int32_t rest = size & (((int32_t)1 << bits) - 1);
    return (low + 32768) * ((int32_t)1 << bits) + rest * (table[entry + 1] - low);
}

/* Steps of 2^-15 of the sigmoid. */
static inline int32_t td_wide_sigmoid(int32_t step, int32_t multiplier, int32_t shift,
                                      const int16_t *table) {
    const int32_t data = td_wide_brought(step, multiplier, shift);
    const int32_t size = data < 0 ? -data : data;
    const int32_t result = size >> 9 >= 255 ? 0x7fff * 1024 : td_wide_entry(size, 9, table);
    return (data >= 0 ? result + 512 : 33554432 - result + 511) >> 10;
}

/* Steps of 2^-15 of the hyperbolic tangent. */
static inline int32_t td_wide_tanh(int32_t step, int32_t multiplier, int32_t shift,
                                   const int16_t *table) {
    const int32_t data = td_wide_brought(step, multiplier, shift);
    const int32_t size = data < 0 ? -data : data;
    const int32_t result = size >> 8 >= 255 ? 0xffff * 256 : td_wide_entry(size, 8, table);
    return (data >= 0 ? result - 8388608 + 128 : -result + 8388608 + 127) >> 8;
}

/* The value of a table of 512 lines at an int16 number. */
static inline int32_t td_on_line(int32_t value, const int16_t *table) {
    const int32_t index = (value >> 7) + 256;
    const int32_t slope = table[index + 1] - table[index];
    return table[index] + ((slope * (value & 127) + 64) >> 7);
}

/* What scales a sum of exponentials to 1: TFLite's 1 / (1 + x), and the shift that goes with it. */
static inline int32_t td_wide_reciprocal(int32_t sum, const int16_t *table, int32_t *shift) {
    const int32_t headroom = td_leading_zeros((uint32_t)sum);
    const int64_t raised = ((int64_t)sum << (headroom - 1)) + 8192;
    *shift = 31 - headroom;
    return td_on_line(td_saturate_int16((int32_t)(raised >> 14) - 98304), table);
}

#endif
