/* A board with slots in this process: the RPC server, a generated model, and a NOR flash whose
 * power can fail within any operation. Its RAM is forgotten at boot, its flash is not. */
#include <setjmp.h>
#include <string.h>

#include "td_flash.h"
#include "td_ring.h"
#include "td_rpc.h"
#include "td_slot.h"

#ifndef PROGRAM_BYTES
#define PROGRAM_BYTES 8u
#endif

enum { ERASE_BYTES = 1024, SLOT_BYTES = 4096, PAYLOAD = 256, RING = 1024, OUTPUT = 1 << 16 };
enum { ARENA = 1 << 14, KEY_BYTES = 16 };

extern const td_model *const td_app_model;
extern const td_slot_model *const td_app_slots;

void device_boot(void);
void device_receive(const uint8_t *bytes, size_t size);
void device_poll(void);
size_t device_sent(uint8_t *to);
uint8_t *device_flash(void);
size_t device_flash_bytes(void);
void device_cut(uint32_t operation, uint32_t seed);
uint32_t device_operations(void);
uint32_t device_faults(void);
void device_fail(bool fails);
void device_trust(const uint8_t *key);

static uint8_t flash[2 * SLOT_BYTES] __attribute__((aligned(8)));
static uint8_t arena[ARENA] __attribute__((aligned(8)));
static uint8_t buffer[TD_RPC_BUFFER_BYTES(PAYLOAD)];
static uint8_t received[RING];
static uint8_t sent[OUTPUT];
static size_t sent_bytes;
static td_ring ring;
static td_state state;
static td_slots slots;
static td_rpc rpc;
static td_rpc_config config;
static jmp_buf power_off;
static bool is_on;
static uint32_t operations, cut_at, noise, faults;
static bool flash_fails;
static uint8_t key[KEY_BYTES];
static bool needs_key;

const td_slot_memory td_slot_flash = {
    SLOT_BYTES, ERASE_BYTES, PROGRAM_BYTES, {{flash, 100u}, {flash + SLOT_BYTES, 104u}}};

static uint8_t draw(void) {
    noise ^= noise << 13;
    noise ^= noise >> 17;
    noise ^= noise << 5;
    return (uint8_t)(noise >> 24);
}

/* True where the power fails within this operation. */
static bool begin(void) {
    operations++;
    return operations == cut_at;
}

bool td_flash_erase(uint32_t unit, const uint8_t *base, size_t size) {
    uint8_t *cells = &flash[base - flash];
    if (size != ERASE_BYTES || base != &flash[(unit - 100u) * ERASE_BYTES]) {
        faults++;
    }
    const bool cut = begin();
    for (size_t i = 0; i < size; i++) {
        cells[i] = cut ? (uint8_t)(cells[i] | draw()) : 0xFFu;
    }
    if (cut) {
        longjmp(power_off, 1);
    }
    return !flash_fails;
}

bool td_flash_program(const uint8_t *to, const uint8_t *from, size_t size) {
    uint8_t *cells = &flash[to - flash];
    if ((size_t)(to - flash) % PROGRAM_BYTES != 0u || size % PROGRAM_BYTES != 0u) {
        faults++;
    }
    for (size_t at = 0; at < size; at += PROGRAM_BYTES) {
        const bool cut = begin();
        for (size_t i = at; i < at + PROGRAM_BYTES; i++) {
            faults += cells[i] != 0xFFu ? 1u : 0u; /* with ECC a unit is written once */
            cells[i] = (uint8_t)(cells[i] & (cut ? from[i] | draw() : from[i]));
        }
        if (cut) {
            longjmp(power_off, 1);
        }
    }
    return !flash_fails;
}

/* The digest of the header and a key stands for a signature. */
bool td_slot_trust(const td_slot_header *header, const uint8_t *signature, size_t size) {
    uint8_t content[sizeof *header + KEY_BYTES];
    uint8_t digest[TD_SHA256_BYTES];
    if (!needs_key) {
        return true;
    }
    memcpy(content, header, sizeof *header);
    memcpy(&content[sizeof *header], key, KEY_BYTES);
    td_sha256(content, sizeof content, digest);
    return size == sizeof digest && memcmp(digest, signature, size) == 0;
}

static size_t take(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    return td_ring_take(&ring, bytes, capacity);
}

static void put(void *context, const uint8_t *bytes, size_t size) {
    (void)context;
    if (sent_bytes + size <= sizeof sent) {
        memcpy(&sent[sent_bytes], bytes, size);
        sent_bytes += size;
    }
}

void device_boot(void) {
    const td_rpc_config fresh = {
        .model = td_app_model,
        .state = &state,
        .arena = arena,
        .arena_bytes = sizeof arena,
        .board = "desk",
        .traced = true,
        .buffer = buffer,
        .buffer_bytes = sizeof buffer,
        .payload_bytes = PAYLOAD,
        .read = take,
        .write = put,
        .slots = &slots,
    };
    config = fresh;
    cut_at = 0;
    operations = 0;
    sent_bytes = 0;
    memset(arena, 0x5A, sizeof arena);
    memset(&state, 0x5A, sizeof state);
    is_on = td_ring_init(&ring, received, RING);
    td_slots_boot(&slots, td_app_slots);
    is_on = is_on && td_rpc_init(&rpc, &config) == TD_OK;
}

void device_receive(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; is_on && i < size; i++) {
        td_ring_put(&ring, bytes[i]);
    }
}

void device_poll(void) {
    if (setjmp(power_off) != 0) {
        is_on = false;
        return;
    }
    while (is_on && td_rpc_poll(&rpc)) {
    }
}

size_t device_sent(uint8_t *to) {
    const size_t size = sent_bytes;
    memcpy(to, sent, size);
    sent_bytes = 0;
    return size;
}

uint8_t *device_flash(void) {
    return flash;
}

size_t device_flash_bytes(void) {
    return sizeof flash;
}

void device_cut(uint32_t operation, uint32_t seed) {
    operations = 0;
    cut_at = operation;
    noise = seed | 1u;
}

uint32_t device_operations(void) {
    return operations;
}

uint32_t device_faults(void) {
    return faults;
}

void device_fail(bool fails) {
    flash_fails = fails;
}

void device_trust(const uint8_t *with) {
    needs_key = with != NULL;
    if (needs_key) {
        memcpy(key, with, KEY_BYTES);
    }
}
