/* Feeds the server noise, damaged frames, and whole frames with any content, so that its parser and
 * its length checks meet everything. Arguments: seed, bytes. Sanitizers judge; exit 1 only where a
 * sound request afterwards goes unanswered. Prints how often each
 * status was answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "td_crc32.h"

enum { MAX_BODY = 400 };

static uint64_t seed;

static uint32_t draw(uint32_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % below;
}

typedef struct {
    uint8_t bytes[2 * MAX_BODY];
    size_t size;
} line;

static void append(void *context, const uint8_t *bytes, size_t size) {
    line *to = (line *)context;
    memcpy(&to->bytes[to->size], bytes, size);
    to->size += size;
}

static void set32(uint8_t *to, uint32_t value) {
    memcpy(to, &value, 4);
}

/* A number that length checks may trip over. */
static uint32_t edge(void) {
    static const uint32_t edges[] = {
        0,   1,   2,   3,       8,           56,          64,          149,
        150, 299, 300, 0xFFFFu, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFF0u, 0xFFFFFFFFu};
    return draw(4) == 0u ? draw(400) : edges[draw(16)];
}

/* A whole request; `payload` bytes of it are words of edge values. */
static line request(uint8_t call, uint32_t sequence, uint64_t session, size_t payload) {
    uint8_t body[MAX_BODY] = {1, call};
    line made = {.size = 0};
    const size_t size = 16 + payload;
    set32(&body[4], sequence);
    memcpy(&body[8], &session, 8);
    for (size_t at = 16; at + 4 <= size; at += 4) {
        set32(&body[at], edge());
    }
    if (call == 0x01) {
        set32(&body[16], draw(20) == 0u ? 2u : 1u); /* the version */
    }
    if (call == 0x12 && payload >= 8 && draw(2) == 0u) {
        set32(&body[16], 0);
        set32(&body[20], draw(30));
    }
    if (call == 0x13 && payload >= 4) {
        set32(&body[16], draw(5));
    }
    if ((call == 0x20 || call == 0x21) && payload >= 8 && draw(2) == 0u) {
        const uint64_t near = (uint64_t)(uintptr_t)board_scratch() + draw(70);
        memcpy(&body[16], &near, 8);
    }
    set32(&body[size], td_crc32(0, body, size));
    td_cobs_write(body, size + 4, append, &made);
    return made;
}

static void damage(line *victim) {
    for (uint32_t times = 1 + draw(4); times != 0u && victim->size > 2u; times--) {
        const uint32_t at = draw((uint32_t)victim->size);
        switch (draw(3)) {
        case 0:
            victim->bytes[at] = (uint8_t)draw(256);
            break;
        case 1:
            memmove(&victim->bytes[at], &victim->bytes[at + 1], victim->size - at - 1);
            victim->size--;
            break;
        default:
            victim->size = at + 1;
            break;
        }
    }
}

/* The status of the last answer that `from` brings forth; -1: none. */
static int feed(const line *from) {
    static uint8_t sent[1 << 20];
    uint8_t body[MAX_BODY];
    td_cobs_decoder decoder;
    int status = -1;
    for (size_t at = 0; at < from->size; at += 100) {
        board_receive(&from->bytes[at], from->size - at < 100 ? from->size - at : 100);
        board_poll();
    }
    const size_t size = board_sent(sent, sizeof sent);
    td_cobs_init(&decoder, body, sizeof body);
    for (size_t at = 0; at < size; at++) {
        size_t body_size;
        if (td_cobs_feed(&decoder, sent[at], &body_size) && body[0] == 2u) {
            status = body[2];
        }
    }
    return status;
}

static line noise(void) {
    line made = {.size = draw(sizeof made.bytes)};
    for (size_t i = 0; i < made.size; i++) {
        made.bytes[i] = (uint8_t)(draw(8) == 0u ? 0u : draw(256));
    }
    return made;
}

static line any_request(uint32_t sequence, uint64_t session) {
    static const uint8_t calls[] = {2, 3, 0x10, 0x11, 0x12, 0x13, 0x14, 0x20, 0x21, 0x22};
    uint8_t call = calls[draw(10)];
    if (draw(20) == 0u) {
        call = (uint8_t)draw(256);
    }
    /* Most calls take words; half of them get as many as they want. */
    size_t payload = draw(3) == 0u ? draw(MAX_BODY - 24) : 4 * draw(9);
    if (draw(2) == 0u) {
        const bool is_bare = call == 0x11 || call == 0x14;
        payload = is_bare ? 0 : call == 0x02 ? 4 : call == 0x13 ? 20 : 12;
    }
    return request(call, sequence, draw(100) == 0u ? session + 1u : session, payload);
}

/* Power on, with a model of some mood. */
static void boot(void) {
    const board_options options = {0};
    fake_fault = (fake_faults){0};
    board_boot(&options);
    if (draw(2) == 0u) {
        fake_fault.extra_instances = draw(20);
        fake_fault.fail = draw(4) == 0u ? TD_ERROR_NULL : TD_OK;
        fake_fault.never_done = draw(4) == 0u;
    }
}

int main(int argc, char **argv) {
    const size_t limit = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000u;
    uint64_t session = 7;
    uint32_t sequence = 0;
    size_t fed = 0;
    size_t statuses[16] = {0};
    seed = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1u) * 0x9E3779B97F4A7C15u + 1u;
    boot();
    while (fed < limit) {
        line next = sequence == 0u ? request(1, 0, session, 4) : any_request(sequence, session);
        if (draw(5) == 0u) {
            damage(&next);
        } else if (draw(8) == 0u) {
            next = noise();
        }
        int status = feed(&next);
        fed += next.size;
        if (draw(10) == 0u) {
            status = feed(&next); /* again */
            fed += next.size;
        }
        if (status >= 0) {
            statuses[status & 15]++;
            sequence++;
        }
        if ((status >= 1 && status <= 4) || draw(300) == 0u) {
            session++; /* out of step: begin again */
            sequence = 0;
        }
        if (draw(100) == 0u) {
            boot();
        }
    }
    for (int status = 0; status < 16; status++) {
        printf("%zu ", statuses[status]);
    }
    const line hello = request(1, 0, session + 1, 4);
    const int status = feed(&hello);
    return status == 0 || status == 4 ? 0 : 1;
}
