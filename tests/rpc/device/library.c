/* The board as a shared library, and its framing by itself, for ctypes. */
#include <string.h>

#include "board.h"
#include "td_crc32.h"

size_t library_encode(const uint8_t *body, size_t size, uint8_t *to);
size_t library_decode(const uint8_t *line, size_t size, size_t max_body, uint8_t *to);
uint32_t library_crc32(uint32_t crc, const uint8_t *bytes, size_t size);
fake_faults *library_faults(void);
uint32_t library_runs(void);

typedef struct {
    uint8_t *to;
    size_t size;
} collected;

static void collect(void *context, const uint8_t *bytes, size_t size) {
    collected *all = (collected *)context;
    memcpy(&all->to[all->size], bytes, size);
    all->size += size;
}

size_t library_encode(const uint8_t *body, size_t size, uint8_t *to) {
    collected all = {to, 0};
    td_cobs_write(body, size, collect, &all);
    return all.size;
}

/* Every body found in `line`, each behind its size as four little-endian bytes. */
size_t library_decode(const uint8_t *line, size_t size, size_t max_body, uint8_t *to) {
    static uint8_t buffer[4096];
    td_cobs_decoder decoder;
    size_t used = 0;
    td_cobs_init(&decoder, buffer, max_body < sizeof buffer ? max_body : sizeof buffer);
    for (size_t i = 0; i < size; i++) {
        size_t body;
        if (td_cobs_feed(&decoder, line[i], &body)) {
            const uint32_t head = (uint32_t)body;
            memcpy(&to[used], &head, 4);
            memcpy(&to[used + 4], buffer, body);
            used += 4 + body;
        }
    }
    return used;
}

uint32_t library_crc32(uint32_t crc, const uint8_t *bytes, size_t size) {
    return td_crc32(crc, bytes, size);
}

fake_faults *library_faults(void) {
    return &fake_fault;
}

uint32_t library_runs(void) {
    return fake_runs;
}
