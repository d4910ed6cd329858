/* Where the rows of a tensor or of a ring buffer are: the band contract between steps and kernels.
 */
#ifndef TD_ROWS_H
#define TD_ROWS_H

#include <stdint.h>

/* Row `row` of a tensor of `rows` rows that lies whole at `base`; outside it the padding row. */
static inline const int8_t *td_row(const int8_t *base, int32_t row, int32_t rows, int32_t row_bytes,
                                   const int8_t *padding) {
    return (uint32_t)row < (uint32_t)rows ? base + row * row_bytes : padding;
}

/* The same for a tensor of which a ring of `ring_rows` rows holds the newest ones. */
static inline const int8_t *td_ring_row(const int8_t *base, int32_t row, int32_t rows,
                                        int32_t ring_rows, int32_t row_bytes,
                                        const int8_t *padding) {
    return (uint32_t)row < (uint32_t)rows ? base + (row % ring_rows) * row_bytes : padding;
}

/* How many rows of a producer a consumer needs: all up to `end`, at most `rows`. */
static inline int32_t td_rows_up_to(int32_t end, int32_t rows) {
    return end < rows ? end : rows;
}

/* Copies the pixels under one line of a window to `to`: `taps` pixels of `channels` bytes,
 * `dilation` apart from column `left` on; those outside the row are filled with `zero_point`. */
static inline void td_copy_taps(int8_t *to, const int8_t *row, int32_t left, int32_t width,
                                int32_t taps, int32_t dilation, int32_t channels,
                                int32_t zero_point) {
    for (int32_t tap = 0; tap < taps; ++tap) {
        const int32_t column = left + tap * dilation;
        const int inside = (uint32_t)column < (uint32_t)width;
        for (int32_t c = 0; c < channels; ++c) {
            *to++ = inside ? row[column * channels + c] : (int8_t)zero_point;
        }
    }
}

/* Which taps of a window lie inside a row of `width` pixels: [td_first_tap, td_end_tap). The window
 * starts at column `left`, which may lie outside. */
static inline int32_t td_first_tap(int32_t left, int32_t dilation, int32_t taps) {
    const int32_t first = left < 0 ? (dilation - 1 - left) / dilation : 0;
    return first < taps ? first : taps;
}

static inline int32_t td_end_tap(int32_t left, int32_t width, int32_t dilation, int32_t taps) {
    const int32_t end = left < width ? (width - left + dilation - 1) / dilation : 0;
    return end < taps ? end : taps;
}

#endif
