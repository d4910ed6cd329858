/* What the runtime uses of <string.h>, for compilers that come without a C library. They map to
 * the compiler's builtins, which -ffreestanding would otherwise switch off: a copy of four bytes is
 * a load and a store, everything else calls td_string.c. */
#ifndef TD_STRING_H
#define TD_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

#ifdef __cplusplus
}
#endif

#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memmove(to, from, size) __builtin_memmove(to, from, size)
#define memset(to, value, size) __builtin_memset(to, value, size)
#define memcmp(a, b, size) __builtin_memcmp(a, b, size)
#define strlen(text) __builtin_strlen(text)

#endif
