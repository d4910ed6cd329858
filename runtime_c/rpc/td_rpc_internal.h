/* Shared by the server's files; not for others. Numbers here are the wire's: docs/rpc.md and
 * tinydeploy/rpc/protocol.py carry the same ones, and a test compares them. */
#ifndef TD_RPC_INTERNAL_H
#define TD_RPC_INTERNAL_H

#include <string.h>

#include "td_rpc.h"

typedef enum { TD_RPC_REQUEST = 1, TD_RPC_ANSWER = 2, TD_RPC_WORKING = 3 } td_rpc_kind;

typedef enum {
    TD_RPC_HELLO = 0x01,
    TD_RPC_DESCRIBE_MODEL = 0x02,
    TD_RPC_DESCRIBE_TENSOR = 0x03,
    TD_RPC_WRITE_INPUT = 0x10,
    TD_RPC_RUN = 0x11,
    TD_RPC_READ_OUTPUT = 0x12,
    TD_RPC_STEP = 0x13,
    TD_RPC_RESET_MODEL = 0x14,
    TD_RPC_RESET_DEVICE = 0x15,
    TD_RPC_READ_MEMORY = 0x20,
    TD_RPC_WRITE_MEMORY = 0x21,
    TD_RPC_LOAD_CODE = 0x22, /* reserved */
    TD_RPC_CALL_CODE = 0x23, /* reserved */
    TD_RPC_SLOT_INFO = 0x30,
    TD_RPC_SLOT_PARTS = 0x31,
    TD_RPC_SLOT_SUMS = 0x32,
    TD_RPC_SLOT_BEGIN = 0x33,
    TD_RPC_SLOT_WRITE = 0x34,
    TD_RPC_SLOT_COPY = 0x35,
    TD_RPC_SLOT_COMMIT = 0x36
} td_rpc_call;

typedef enum {
    TD_RPC_DONE = 0,
    TD_RPC_NO_SESSION = 1,
    TD_RPC_OTHER_SESSION = 2,
    TD_RPC_BAD_SEQUENCE = 3,
    TD_RPC_BAD_VERSION = 4,
    TD_RPC_NOT_SUPPORTED = 5,
    TD_RPC_BAD_LENGTH = 6,
    TD_RPC_BAD_INDEX = 7,
    TD_RPC_OUT_OF_RANGE = 8,
    TD_RPC_TOO_LARGE = 9,
    TD_RPC_MODEL_FAILED = 10,
    TD_RPC_NO_OUTPUT = 11,
    TD_RPC_STEPPING = 12,
    TD_RPC_TRACE_FULL = 13,
    TD_RPC_DENIED = 14,
    TD_RPC_OTHER_ABI = 15,
    TD_RPC_OTHER_LAYOUT = 16,
    TD_RPC_OTHER_IMAGE = 17,
    TD_RPC_NO_UPDATE = 18,
    TD_RPC_OLD_COUNTER = 19,
    TD_RPC_DAMAGED = 20,
    TD_RPC_NOT_TRUSTED = 21,
    TD_RPC_FLASH_FAILED = 22
} td_rpc_status;

enum {
    TD_RPC_CAN_TRACE = 1,
    TD_RPC_CAN_COUNT = 2,
    TD_RPC_CAN_RESET = 4,
    TD_RPC_CAN_MEMORY = 8,
    TD_RPC_CAN_CODE = 16, /* reserved */
    TD_RPC_CAN_UPDATE = 32
};

typedef enum {
    TD_RPC_STEP_COUNTS = 0,
    TD_RPC_STEP_INSTANCES = 1,
    TD_RPC_STEP_ROWS = 2,
    TD_RPC_STEP_BYTES = 3
} td_rpc_step_mode;

/* The payload of a request. */
typedef struct {
    const uint8_t *bytes;
    size_t size;
} td_rpc_in;

/* The payload of an answer; `size` never passes `capacity`. */
typedef struct {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
} td_rpc_out;

/* Numbers on the wire are little endian. */
static inline uint32_t td_get32(const uint8_t *from) {
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static inline uint64_t td_get64(const uint8_t *from) {
    return (uint64_t)td_get32(from) | (uint64_t)td_get32(from + 4) << 32;
}

static inline void td_set32(uint8_t *to, uint32_t value) {
    to[0] = (uint8_t)(value & 0xFFu);
    to[1] = (uint8_t)((value >> 8) & 0xFFu);
    to[2] = (uint8_t)((value >> 16) & 0xFFu);
    to[3] = (uint8_t)(value >> 24);
}

static inline void td_set64(uint8_t *to, uint64_t value) {
    td_set32(to, (uint32_t)(value & 0xFFFFFFFFu));
    td_set32(to + 4, (uint32_t)(value >> 32));
}

static inline size_t td_rpc_room(const td_rpc_out *out) {
    return out->capacity - out->size;
}

/* Appends bytes and returns true; where there is no room, appends nothing and returns false. */
bool td_rpc_put(td_rpc_out *out, const void *bytes, size_t size);
bool td_rpc_put32(td_rpc_out *out, uint32_t value);
bool td_rpc_put64(td_rpc_out *out, uint64_t value);

/* Is [offset, offset + size) within [0, limit)? Without overflow. */
static inline bool td_rpc_within(uint32_t offset, size_t size, uint32_t limit) {
    return offset <= limit && size <= limit - offset;
}

/* The board's counter, 0 where there is none. */
static inline uint64_t td_rpc_count(const td_rpc *rpc) {
    const td_rpc_config *config = rpc->config;
    return config->counter != NULL ? config->counter(config->context) : 0u;
}

/* One function per call. They check every length before they touch a byte. */
td_rpc_status td_rpc_hello(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_describe_model(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_describe_tensor(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_write_input(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_run(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_read_output(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_step(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_reset_model(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_reset_device(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_read_memory(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);
td_rpc_status td_rpc_write_memory(td_rpc *rpc, td_rpc_in in, td_rpc_out *out);

/* All calls of the slots (td_rpc_slots.c), and what a new session does to an update. */
td_rpc_status td_rpc_slot(td_rpc *rpc, uint8_t call, td_rpc_in in, td_rpc_out *out);
void td_rpc_slot_forget(td_rpc *rpc);

/* What a failed model answers: TD_RPC_MODEL_FAILED with its status. */
td_rpc_status td_rpc_model_failed(td_status status, td_rpc_out *out);

/* Initialises the model afresh: no state, no half-finished run, no outputs. */
void td_rpc_restart_model(td_rpc *rpc);

#endif
