/* memcpy, memmove, memset, memcmp, strlen: what compilers call. By words where both ends allow it.
 */
#include "td_cpu.h"

#include <stdint.h>
#include <string.h>

#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen

/* May alias any type. */
typedef uint32_t __attribute__((may_alias)) td_word;

enum { WORD = sizeof(td_word), UNROLL = 4 * WORD };

static inline uint32_t td_misaligned(uintptr_t address) {
    return (uint32_t)(address % WORD);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    uint8_t *out = (uint8_t *)to;
    const uint8_t *in = (const uint8_t *)from;
    if (td_misaligned((uintptr_t)out | (uintptr_t)in) == 0u) {
        td_word *out_word = (td_word *)to;
        const td_word *in_word = (const td_word *)from;
        for (; size >= UNROLL; size -= UNROLL) {
            const td_word a = in_word[0], b = in_word[1], c = in_word[2], d = in_word[3];
            out_word[0] = a;
            out_word[1] = b;
            out_word[2] = c;
            out_word[3] = d;
            in_word += 4;
            out_word += 4;
        }
        for (; size >= WORD; size -= WORD) {
            *out_word++ = *in_word++;
        }
        out = (uint8_t *)out_word;
        in = (const uint8_t *)in_word;
    }
    while (size-- != 0u) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    uint8_t *out = (uint8_t *)to;
    const uint8_t *in = (const uint8_t *)from;
    if ((uintptr_t)to <= (uintptr_t)from || (uintptr_t)to >= (uintptr_t)from + size) {
        while (size-- != 0u) {
            *out++ = *in++;
        }
    } else {
        while (size-- != 0u) {
            out[size] = in[size];
        }
    }
    return to;
}

void *memset(void *to, int value, size_t size) {
    uint8_t *out = (uint8_t *)to;
    const uint8_t byte = (uint8_t)value;
    while (size != 0u && td_misaligned((uintptr_t)out) != 0u) {
        *out++ = byte;
        size--;
    }
    const td_word word = byte * 0x01010101u;
    td_word *out_word = (td_word *)(void *)out;
    for (; size >= WORD; size -= WORD) {
        *out_word++ = word;
    }
    out = (uint8_t *)out_word;
    while (size-- != 0u) {
        *out++ = byte;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t size) {
    const uint8_t *left = (const uint8_t *)a;
    const uint8_t *right = (const uint8_t *)b;
    for (; size != 0u; size--, left++, right++) {
        if (*left != *right) {
            return (int)*left - (int)*right;
        }
    }
    return 0;
}

size_t strlen(const char *text) {
    size_t size = 0u;
    while (text[size] != '\0') {
        size++;
    }
    return size;
}
