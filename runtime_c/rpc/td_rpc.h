/* The device's end of the serial RPC: one model, served over one line of bytes. docs/rpc.md holds
 * the wire format. Like littlefs, it owns nothing: the caller brings buffers and callbacks.
 *
 * Every request is executed at most once. The host draws a session number in HELLO; a booted device
 * has none and refuses everything else. The last answer is kept and sent again for a repeated
 * request. */
#ifndef TD_RPC_H
#define TD_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "td_cobs.h"
#include "tinydeploy.h"

#define TD_RPC_NONE 0  /* nothing is compiled */
#define TD_RPC_IO 1    /* identify, describe, inputs, run, outputs, steps, reset */
#define TD_RPC_DEBUG 2 /* and memory access; never in an image that ships */

#ifndef TD_RPC_LEVEL
#define TD_RPC_LEVEL TD_RPC_IO
#endif

/* 1: the image holds slots for the constants of its model, and the calls that update them. */
#ifndef TD_SLOTS
#define TD_SLOTS 0
#endif

/* Raised when a frame, a header or a call changes its meaning. HELLO's frame never changes. */
#define TD_RPC_VERSION 1u

#define TD_RPC_HEADER_BYTES 16u
#define TD_RPC_CRC_BYTES 4u

/* Bounds of the payload that a device may choose. */
#define TD_RPC_MIN_PAYLOAD 64u
#define TD_RPC_MAX_PAYLOAD 65536u

/* Buffer that td_rpc needs: the body being received and the answer being kept. */
#define TD_RPC_BUFFER_BYTES(payload) (2u * ((payload) + TD_RPC_HEADER_BYTES + TD_RPC_CRC_BYTES))

/* Longest frame on the line, delimiters included: what a receive ring must hold. */
#define TD_RPC_FRAME_BYTES(payload)                                                                \
    (TD_COBS_BYTES((payload) + TD_RPC_HEADER_BYTES + TD_RPC_CRC_BYTES) + 2u)

/* What `counter` counts. */
typedef enum {
    TD_RPC_COUNTS_NOTHING = 0,
    TD_RPC_COUNTS_CYCLES = 1,
    TD_RPC_COUNTS_INSTRUCTIONS = 2,
    TD_RPC_COUNTS_TICKS = 3 /* of a clock of counter_hz that is not the core's */
} td_rpc_counts;

typedef struct {
    const td_model *model;
    td_state *state; /* inside the model's NAME_t */
    void *arena;     /* aligned to TD_ALIGN_BYTES */
    size_t arena_bytes;

    const char *board; /* what HELLO tells; cut to what the payload holds */
    bool traced;       /* the model was compiled with TD_TRACE 1: instance CRCs exist */

    uint8_t *buffer;      /* TD_RPC_BUFFER_BYTES(payload_bytes) */
    size_t buffer_bytes;  /* its size */
    size_t payload_bytes; /* most bytes beyond the header of one request or answer */

    void *context; /* first argument of every hook below */

    /* Moves up to `capacity` received bytes to `bytes` and returns how many; never waits. */
    size_t (*read)(void *context, uint8_t *bytes, size_t capacity);

    /* Sends all bytes, waiting until the hardware has taken the last one: an interrupt left over
     * for sending would fall into the run that is counted next. */
    void (*write)(void *context, const uint8_t *bytes, size_t size);

    /* A free-running counter that does not wrap within one run; NULL: none. */
    uint64_t (*counter)(void *context);
    td_rpc_counts counts; /* what it counts; ignored where counter is NULL */
    uint32_t counter_hz;  /* how often per second; 0: unknown */

    /* Restarts the device once the last byte has left; NULL: not supported. */
    void (*reset)(void *context);

    /* Debug images: may these bytes be read (or written)? NULL: all of them. */
    bool (*memory_allowed)(void *context, uintptr_t address, size_t size, bool write);

    /* Images with slots: those of the model, booted; NULL: it cannot be updated. */
    struct td_slots *slots;
} td_rpc_config;

/* Private to the server, but public in size; the caller only provides the memory. */
typedef struct {
    const td_rpc_config *config;
    td_cobs_decoder decoder;
    uint8_t *answer;        /* the kept answer: header, payload, CRC */
    size_t answer_bytes;    /* with its CRC */
    uint64_t session;       /* 0: none since boot */
    uint64_t last_session;  /* the one before: a late copy of its HELLO must not end this one */
    uint32_t sequence;      /* of the kept answer */
    uint32_t request_crc;   /* of the request it answers */
    td_status model_status; /* what init() said */
    uint32_t step;          /* steps done of a step-by-step run */
    bool stepping;          /* a step-by-step run has begun and not ended */
    bool outputs_ready;     /* outputs hold the result of the last run */
} td_rpc;

/* TD_ERROR_NULL: a required field is NULL. TD_ERROR_ARENA_SIZE: the buffer is too small for the
 * payload, or the payload out of bounds. `config` must outlive `rpc`. The model is left alone until
 * a HELLO. */
td_status td_rpc_init(td_rpc *rpc, const td_rpc_config *config) TD_MUST_CHECK;

/* Takes what has arrived, at most 64 bytes, and executes the requests that these complete. Returns
 * false when nothing had arrived: then the main loop may sleep until the next interrupt. */
bool td_rpc_poll(td_rpc *rpc);

#endif
