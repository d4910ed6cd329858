/* Runs of bytes in tensors: the one use of the C library in generated models. */
#ifndef TD_COPY_H
#define TD_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The two do not overlap. */
static inline void td_copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static inline void td_fill(void *to, int8_t value, size_t bytes) {
    memset(to, value, bytes);
}

#endif
