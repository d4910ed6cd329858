#include "td_cpu.h"

#include <string.h>

#include "td_crc32.h"
#include "td_slot.h"
#include "tinydeploy.h"

enum { MOST_UNIT = 32 };

_Static_assert(sizeof(td_slot_header) == 96, "the header's size is that of docs/slots.md");

__attribute__((weak)) bool td_slot_trust(const td_slot_header *header, const uint8_t *signature,
                                         size_t size) {
    (void)header;
    (void)signature;
    (void)size;
    return true;
}

static const uint8_t *td_slot_base(uint32_t index) {
    return td_slot_flash.place[index].base;
}

const uint8_t *td_slots_payload(const td_slots *slots) {
    return slots->active == TD_SLOT_OWN ? (const uint8_t *)slots->model->constants
                                        : td_slot_base(slots->active) + TD_SLOT_HEAD_BYTES;
}

uint32_t td_slots_capacity(void) {
    return td_slot_flash.slot_bytes - TD_SLOT_HEAD_BYTES;
}

/* Whether a header belongs to this image, and its payload to it. */
static td_slot_status td_slot_check(const td_slot_model *model, const td_slot_header *header,
                                    const uint8_t *payload, const uint8_t *signature) {
    uint8_t digest[TD_SHA256_BYTES];
    if (header->magic != TD_SLOT_MAGIC || header->version != TD_SLOT_VERSION ||
        header->crc != td_crc32(0u, header, offsetof(td_slot_header, crc)) ||
        header->signature_bytes > TD_SLOT_SIGNATURE_BYTES) {
        return TD_SLOT_DAMAGED;
    }
    if (header->abi != TD_RUNTIME_ABI) {
        return TD_SLOT_OTHER_ABI;
    }
    if (header->layout != model->layout || header->payload_bytes != model->bytes) {
        return TD_SLOT_OTHER_LAYOUT;
    }
    if (header->own != model->own) {
        return TD_SLOT_OTHER_IMAGE;
    }
    td_sha256(payload, header->payload_bytes, digest);
    if (memcmp(digest, header->digest, sizeof digest) != 0) {
        return TD_SLOT_DAMAGED;
    }
    return td_slot_trust(header, signature, header->signature_bytes) ? TD_SLOT_OK
                                                                     : TD_SLOT_NOT_TRUSTED;
}

/* Serial numbers (RFC 1982): the difference tells, so that they may wrap. */
static bool td_slot_is_newer(uint32_t counter, uint32_t than) {
    const uint32_t ahead = counter - than;
    return ahead != 0u && ahead < 0x80000000u;
}

static void td_slot_bind(const td_slots *slots) {
    const uint64_t hash =
        slots->active == TD_SLOT_OWN ? slots->model->own : slots->headers[slots->active].model;
    slots->model->use(td_slots_payload(slots), hash);
}

void td_slots_boot(td_slots *slots, const td_slot_model *model) {
    memset(slots, 0, sizeof *slots);
    slots->model = model;
    slots->active = TD_SLOT_OWN;
    for (uint32_t index = 0u; index < TD_SLOT_COUNT; index++) {
        const uint8_t *base = td_slot_base(index);
        td_slot_header *header = &slots->headers[index];
        memcpy(header, base, sizeof *header);
        slots->valid[index] = model->bytes <= td_slots_capacity() &&
                              td_slot_check(model, header, base + TD_SLOT_HEAD_BYTES,
                                            base + sizeof *header) == TD_SLOT_OK;
        if (slots->valid[index] &&
            (slots->active == TD_SLOT_OWN ||
             td_slot_is_newer(header->counter, slots->headers[slots->active].counter))) {
            slots->active = index;
        }
    }
    td_slot_bind(slots);
}

td_slot_status td_slots_begin(td_slots *slots, uint32_t abi, uint64_t layout, uint32_t bytes) {
    slots->open = false;
    if (abi != TD_RUNTIME_ABI) {
        return TD_SLOT_OTHER_ABI;
    }
    if (layout != slots->model->layout || bytes != slots->model->bytes) {
        return TD_SLOT_OTHER_LAYOUT;
    }
    if (bytes > td_slots_capacity()) {
        return TD_SLOT_OUT_OF_RANGE;
    }
    slots->target = slots->active == 0u ? 1u : 0u;
    slots->valid[slots->target] = false;
    const td_slot_place *place = &td_slot_flash.place[slots->target];
    const uint32_t unit_bytes = td_slot_flash.erase_bytes;
    for (uint32_t at = 0u; at < TD_SLOT_HEAD_BYTES + bytes; at += unit_bytes) {
        if (!td_flash_erase(place->first_unit + at / unit_bytes, place->base + at, unit_bytes)) {
            return TD_SLOT_FLASH_FAILED;
        }
    }
    slots->next = 0u;
    slots->open = true;
    return TD_SLOT_OK;
}

/* Programs bytes that end within a unit: the rest of it stays erased. */
static bool td_slot_program(const uint8_t *to, const uint8_t *from, uint32_t size) {
    const uint32_t rest = size % td_slot_flash.program_bytes;
    uint8_t last[MOST_UNIT];
    if (size != rest && !td_flash_program(to, from, size - rest)) {
        return false;
    }
    if (rest == 0u) {
        return true;
    }
    memset(last, 0xFF, sizeof last);
    memcpy(last, &from[size - rest], rest);
    return td_flash_program(to + (size - rest), last, td_slot_flash.program_bytes);
}

td_slot_status td_slots_write(td_slots *slots, uint32_t offset, const uint8_t *from,
                              uint32_t size) {
    const uint32_t length = slots->model->bytes;
    if (!slots->open || offset != slots->next) {
        return TD_SLOT_NOT_BEGUN;
    }
    if (size > length - offset ||
        (size % td_slot_flash.program_bytes != 0u && size != length - offset)) {
        return TD_SLOT_OUT_OF_RANGE;
    }
    const uint8_t *source = from != NULL ? from : td_slots_payload(slots) + offset;
    const uint8_t *to = td_slot_base(slots->target) + TD_SLOT_HEAD_BYTES + offset;
    if (!td_slot_program(to, source, size)) {
        slots->open = false;
        return TD_SLOT_FLASH_FAILED;
    }
    slots->next = offset + size;
    return TD_SLOT_OK;
}

td_slot_status td_slots_commit(td_slots *slots, const td_slot_header *header,
                               const uint8_t *signature) {
    const uint8_t *base = td_slot_base(slots->target);
    if (!slots->open || slots->next != slots->model->bytes) {
        return TD_SLOT_NOT_BEGUN;
    }
    slots->open = false;
    const td_slot_status status =
        td_slot_check(slots->model, header, base + TD_SLOT_HEAD_BYTES, signature);
    if (status != TD_SLOT_OK) {
        return status;
    }
    if (slots->active != TD_SLOT_OWN &&
        !td_slot_is_newer(header->counter, slots->headers[slots->active].counter)) {
        return TD_SLOT_OLD_COUNTER;
    }
    const uint32_t size = header->signature_bytes;
    if ((size != 0u && !td_slot_program(base + sizeof *header, signature, size)) ||
        !td_slot_program(base, (const uint8_t *)header, sizeof *header) ||
        memcmp(base, header, sizeof *header) != 0 ||
        memcmp(base + sizeof *header, signature, size) != 0) {
        return TD_SLOT_FLASH_FAILED;
    }
    slots->headers[slots->target] = *header;
    slots->valid[slots->target] = true;
    slots->active = slots->target;
    td_slot_bind(slots);
    return TD_SLOT_OK;
}
