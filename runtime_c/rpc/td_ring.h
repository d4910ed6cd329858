/* A ring of bytes between one producer (a UART's interrupt handler) and one consumer (the main
 * loop) of the same core. Neither ever waits for the other and no interrupt needs masking: only the
 * producer moves `head`, only the consumer moves `tail`, and every access is volatile, so that the
 * byte is there before the index that announces it. */
#ifndef TD_RING_H
#define TD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    volatile uint8_t *bytes;
    uint32_t mask;          /* capacity - 1 */
    volatile uint32_t head; /* bytes ever put; wraps with its type */
    volatile uint32_t tail; /* bytes ever taken; wraps with its type */
    volatile uint32_t lost; /* bytes refused because the ring was full */
} td_ring;

/* `capacity` is a power of two of at most 2^31 and at least one frame, TD_RPC_FRAME_BYTES(payload);
 * false, and nothing done, where it is not a power of two. The caller owns `bytes`. */
bool td_ring_init(td_ring *ring, uint8_t *bytes, uint32_t capacity);

/* Consumer: moves up to `size` bytes to `to`; how many there were. */
size_t td_ring_take(td_ring *ring, uint8_t *to, size_t size);

/* Producer: appends one byte; a full ring loses it, and the frame's CRC tells. */
static inline void td_ring_put(td_ring *ring, uint8_t byte) {
    const uint32_t head = ring->head;
    if (head - ring->tail > ring->mask) {
        ring->lost = ring->lost + 1u;
        return;
    }
    ring->bytes[head & ring->mask] = byte;
    ring->head = head + 1u;
}

#endif
