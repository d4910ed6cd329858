/* CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320): the same value as zlib's crc32(). */
#ifndef TD_CRC32_H
#define TD_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what `crc` covers followed by `size` bytes. Start with crc = 0. About ten instructions
 * a byte on a Cortex-M and a table of 64 bytes. */
uint32_t td_crc32(uint32_t crc, const void *bytes, size_t size);

#endif
