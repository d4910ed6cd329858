#include "td_ring.h"

bool td_ring_init(td_ring *ring, uint8_t *bytes, uint32_t capacity) {
    if (capacity == 0u || (capacity & (capacity - 1u)) != 0u) {
        return false;
    }
    ring->bytes = bytes;
    ring->mask = capacity - 1u;
    ring->head = 0u;
    ring->tail = 0u;
    ring->lost = 0u;
    return true;
}

size_t td_ring_take(td_ring *ring, uint8_t *to, size_t size) {
    const uint32_t tail = ring->tail;
    const uint32_t waiting = ring->head - tail;
    const size_t count = size < waiting ? size : waiting;
    for (size_t i = 0; i < count; i++) {
        to[i] = ring->bytes[(tail + (uint32_t)i) & ring->mask];
    }
    ring->tail = tail + (uint32_t)count;
    return count;
}
