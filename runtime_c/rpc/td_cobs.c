#include "td_cobs.h"

#define TD_COBS_FULL 0xFFu /* the code of a block of 254 bytes, which stands for no zero */

static const uint8_t td_cobs_delimiter = 0u;

void td_cobs_write(const uint8_t *body, size_t size, td_write_fn write, void *context) {
    size_t start = 0u;
    bool more = true;
    write(context, &td_cobs_delimiter, 1u);
    while (more) {
        size_t end = start;
        while (end < size && end - start < TD_COBS_FULL - 1u && body[end] != 0u) {
            end++;
        }
        const size_t length = end - start;
        const uint8_t code = (uint8_t)(length + 1u);
        write(context, &code, 1u);
        if (length != 0u) {
            write(context, &body[start], length);
        }
        more = end < size;
        start = code == TD_COBS_FULL ? end : end + 1u;
    }
    write(context, &td_cobs_delimiter, 1u);
}

static void td_cobs_restart(td_cobs_decoder *decoder) {
    decoder->size = 0u;
    decoder->code = 0u;
    decoder->remaining = 0u;
    decoder->broken = false;
}

static void td_cobs_store(td_cobs_decoder *decoder, uint8_t byte) {
    if (decoder->size == decoder->capacity) {
        decoder->broken = true;
        return;
    }
    decoder->buffer[decoder->size] = byte;
    decoder->size++;
}

void td_cobs_init(td_cobs_decoder *decoder, uint8_t *buffer, size_t capacity) {
    decoder->buffer = buffer;
    decoder->capacity = capacity;
    td_cobs_restart(decoder);
}

bool td_cobs_feed(td_cobs_decoder *decoder, uint8_t byte, size_t *size) {
    if (byte == 0u) {
        const bool whole = decoder->code != 0u && decoder->remaining == 0u && !decoder->broken;
        *size = decoder->size;
        td_cobs_restart(decoder);
        return whole;
    }
    if (decoder->broken) {
        return false;
    }
    if (decoder->remaining != 0u) {
        td_cobs_store(decoder, byte);
        decoder->remaining--;
        return false;
    }
    if (decoder->code != 0u && decoder->code != TD_COBS_FULL) {
        td_cobs_store(decoder, 0u);
    }
    decoder->code = byte;
    decoder->remaining = (uint8_t)(byte - 1u);
    return false;
}
