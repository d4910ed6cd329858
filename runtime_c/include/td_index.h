/* Places from indices that a model computed: below 0 they count from the end; what still lies
 * outside of [0, extent) is cut to the nearest place inside, so that no index reads or writes
 * outside of a tensor.
 */
#ifndef TD_INDEX_H
#define TD_INDEX_H

#include <stdint.h>

static inline int32_t td_index_int32(int32_t index, int32_t extent) {
    const int32_t place = index < 0 ? index + extent : index;
    const int32_t low = place < 0 ? 0 : place;
    return low < extent ? low : extent - 1;
}

static inline int32_t td_index_int64(int64_t index, int32_t extent) {
    const int64_t place = index < 0 ? index + extent : index;
    const int64_t low = place < 0 ? 0 : place;
    return (int32_t)(low < extent ? low : extent - 1);
}

/* A length cut to [0, extent]. */
static inline int32_t td_length(int64_t length, int32_t extent) {
    const int64_t low = length < 0 ? 0 : length;
    return (int32_t)(low < extent ? low : extent);
}

#endif
