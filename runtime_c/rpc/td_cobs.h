/* Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999): a body of any bytes becomes one
 * without zeros, so that a zero always ends a frame and a receiver that lost its place finds it
 * again at the next zero. */
#ifndef TD_COBS_H
#define TD_COBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that `size` bytes become, without the delimiters. */
#define TD_COBS_BYTES(size) ((size) + (size) / 254u + 1u)

typedef void (*td_write_fn)(void *context, const uint8_t *bytes, size_t size);

/* Writes delimiter, encoded body, delimiter through `write`, in pieces and without a buffer. The
 * leading delimiter ends whatever noise or half frame stands on the line. */
void td_cobs_write(const uint8_t *body, size_t size, td_write_fn write, void *context);

/* Takes a stream apart, byte by byte. The caller owns the buffer, as long as the longest body; a
 * longer body is skipped, never stored. */
typedef struct {
    uint8_t *buffer;
    size_t capacity;
    size_t size;       /* bytes of the body so far */
    uint8_t code;      /* length code of the present block; 0: no block yet */
    uint8_t remaining; /* bytes that the present block still wants */
    bool broken;       /* too long: skip to the next delimiter */
} td_cobs_decoder;

void td_cobs_init(td_cobs_decoder *decoder, uint8_t *buffer, size_t capacity);

/* True when `byte` ended a well-formed body: its `*size` bytes lie in the buffer until the next
 * call. Broken and empty bodies vanish silently. */
bool td_cobs_feed(td_cobs_decoder *decoder, uint8_t byte, size_t *size);

#endif
