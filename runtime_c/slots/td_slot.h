/* Two places in flash (A/B) for the constants of a model, beside those that are linked into the
 * image.
 *
 * A slot is a header and a payload. The header is written last, so a slot is whole or no slot:
 * after a power cut at any moment the device has the old model or the new one. Boot takes the valid
 * slot with the newest counter, else the other, else the linked constants. docs/slots.md has the
 * format. */
#ifndef TD_SLOT_H
#define TD_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "td_flash.h"
#include "td_sha256.h"
#include "td_slot_model.h"

#define TD_SLOT_MAGIC 0x4C534454u /* "TDSL" */
#define TD_SLOT_VERSION 1u
#define TD_SLOT_HEAD_BYTES 256u   /* header and signature; the payload follows */
#define TD_SLOT_BLOCK_BYTES 1024u /* what the checksums for differences cover */
#define TD_SLOT_COUNT 2u
#define TD_SLOT_OWN 2u /* as the active slot: the linked constants */

/* In flash as on the wire, little endian and without gaps. */
typedef struct {
    uint32_t magic;
    uint32_t version;
    uint32_t abi; /* TD_RUNTIME_ABI of the image */
    uint32_t payload_bytes;
    uint64_t layout;
    uint64_t own; /* the model of the image that the slot was made for: a new image starts with its
                     own */
    uint64_t model;   /* the hash of this one */
    uint32_t counter; /* newer is larger, modulo 2^32 */
    uint32_t signature_bytes;
    uint8_t digest[TD_SHA256_BYTES]; /* SHA-256 of the payload */
    uint32_t reserved[3];
    uint32_t crc; /* CRC-32 of everything before */
} td_slot_header;

#define TD_SLOT_SIGNATURE_BYTES (TD_SLOT_HEAD_BYTES - (uint32_t)sizeof(td_slot_header))

typedef enum {
    TD_SLOT_OK = 0,
    TD_SLOT_OTHER_ABI,    /* made for another runtime */
    TD_SLOT_OTHER_LAYOUT, /* made for other code */
    TD_SLOT_OTHER_IMAGE,  /* made for an image with another model of its own */
    TD_SLOT_OUT_OF_RANGE, /* a length or an offset */
    TD_SLOT_NOT_BEGUN,    /* no update is under way, or its bytes come in another order */
    TD_SLOT_OLD_COUNTER,  /* not newer than what runs */
    TD_SLOT_DAMAGED,      /* header or payload are not what their checksums say */
    TD_SLOT_NOT_TRUSTED,  /* td_slot_trust refused it */
    TD_SLOT_FLASH_FAILED  /* the driver reported an error */
} td_slot_status;

typedef struct td_slots {
    const td_slot_model *model;
    uint32_t active; /* 0, 1 or TD_SLOT_OWN */
    bool valid[TD_SLOT_COUNT];
    td_slot_header headers[TD_SLOT_COUNT]; /* of the valid ones */
    bool open;                             /* an update is under way, in the slot `target` */
    uint32_t target;
    uint32_t next; /* bytes of its payload so far */
} td_slots;

/* Asked before a slot becomes active and at boot, once header and payload are whole. The image's
 * own definition replaces this one, which trusts everything; it checks `signature` over the header,
 * whose digest binds the payload. */
bool td_slot_trust(const td_slot_header *header, const uint8_t *signature, size_t size);

/* Chooses a slot and binds its constants: the next init of the model takes them. */
void td_slots_boot(td_slots *slots, const td_slot_model *model);

/* The constants that run, or ran when the power failed. */
const uint8_t *td_slots_payload(const td_slots *slots);

/* Most bytes of a payload. */
uint32_t td_slots_capacity(void);

/* Erases the slot that is not active. Begun again, an update starts anew. */
td_slot_status td_slots_begin(td_slots *slots, uint32_t abi, uint64_t layout, uint32_t bytes);

/* The next bytes of the payload, from `from` or, where that is NULL, from the same place of the
 * active one. `offset` is where the last ones ended, `size` a multiple of the program unit but at
 * the end. */
td_slot_status td_slots_write(td_slots *slots, uint32_t offset, const uint8_t *from, uint32_t size);

/* Checks header and payload, writes the header and binds the new constants. Whatever fails, the old
 * ones stay active. */
td_slot_status td_slots_commit(td_slots *slots, const td_slot_header *header,
                               const uint8_t *signature);

#endif
