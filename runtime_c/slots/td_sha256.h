/* SHA-256 (FIPS 180-4), in about 1 KB of code. */
#ifndef TD_SHA256_H
#define TD_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { TD_SHA256_BYTES = 32 };

/* The digest of `size` bytes. */
void td_sha256(const uint8_t *bytes, size_t size, uint8_t digest[TD_SHA256_BYTES]);

#endif
