/* Frames, sessions and at-most-once: everything about a request except what it asks for. */
#include "td_rpc_internal.h"

#if TD_RPC_LEVEL > TD_RPC_NONE

#include "td_crc32.h"

/* Offsets in the header; the payload follows. */
enum { AT_KIND = 0, AT_CALL = 1, AT_STATUS = 2, AT_FLAGS = 3, AT_SEQUENCE = 4, AT_SESSION = 8 };

typedef struct {
    uint8_t call;
    uint32_t sequence;
    uint64_t session;
    uint32_t crc;
    td_rpc_in payload;
} td_rpc_request;

bool td_rpc_put(td_rpc_out *out, const void *bytes, size_t size) {
    if (size > td_rpc_room(out)) {
        return false;
    }
    if (size != 0u) {
        memcpy(&out->bytes[out->size], bytes, size);
    }
    out->size += size;
    return true;
}

bool td_rpc_put32(td_rpc_out *out, uint32_t value) {
    uint8_t bytes[4];
    td_set32(bytes, value);
    return td_rpc_put(out, bytes, sizeof bytes);
}

bool td_rpc_put64(td_rpc_out *out, uint64_t value) {
    uint8_t bytes[8];
    td_set64(bytes, value);
    return td_rpc_put(out, bytes, sizeof bytes);
}

/* Writes the header in front of a payload and the CRC behind it; the size of all three. */
static size_t td_rpc_seal(uint8_t *body, td_rpc_kind kind, td_rpc_status status,
                          const td_rpc_request *request, size_t payload_bytes) {
    const size_t size = TD_RPC_HEADER_BYTES + payload_bytes;
    body[AT_KIND] = (uint8_t)kind;
    body[AT_CALL] = request->call;
    body[AT_STATUS] = (uint8_t)status;
    body[AT_FLAGS] = 0u;
    td_set32(&body[AT_SEQUENCE], request->sequence);
    td_set64(&body[AT_SESSION], request->session);
    td_set32(&body[size], td_crc32(0u, body, size));
    return size + TD_RPC_CRC_BYTES;
}

static void td_rpc_send(const td_rpc *rpc, const uint8_t *body, size_t size) {
    td_cobs_write(body, size, rpc->config->write, rpc->config->context);
}

/* Sends a frame without payload that leaves the kept answer alone: a refusal or a notice. */
static void td_rpc_send_short(const td_rpc *rpc, td_rpc_kind kind, td_rpc_status status,
                              const td_rpc_request *request) {
    uint8_t body[TD_RPC_HEADER_BYTES + TD_RPC_CRC_BYTES];
    td_rpc_send(rpc, body, td_rpc_seal(body, kind, status, request, 0u));
}

/* False: not a request that arrived whole; nothing may be believed of it, not even its sequence
 * number. */
static bool td_rpc_open(const uint8_t *body, size_t size, td_rpc_request *request) {
    if (size < TD_RPC_HEADER_BYTES + TD_RPC_CRC_BYTES) {
        return false;
    }
    const size_t covered = size - TD_RPC_CRC_BYTES;
    request->crc = td_get32(&body[covered]);
    if (request->crc != td_crc32(0u, body, covered) || body[AT_KIND] != TD_RPC_REQUEST) {
        return false;
    }
    request->call = body[AT_CALL];
    request->sequence = td_get32(&body[AT_SEQUENCE]);
    request->session = td_get64(&body[AT_SESSION]);
    request->payload.bytes = &body[TD_RPC_HEADER_BYTES];
    request->payload.size = covered - TD_RPC_HEADER_BYTES;
    return true;
}

static td_rpc_status td_rpc_dispatch(td_rpc *rpc, const td_rpc_request *request, td_rpc_out *out) {
    switch (request->call) {
    case TD_RPC_HELLO:
        return td_rpc_hello(rpc, request->payload, out);
    case TD_RPC_DESCRIBE_MODEL:
        return td_rpc_describe_model(rpc, request->payload, out);
    case TD_RPC_DESCRIBE_TENSOR:
        return td_rpc_describe_tensor(rpc, request->payload, out);
    case TD_RPC_WRITE_INPUT:
        return td_rpc_write_input(rpc, request->payload, out);
    case TD_RPC_RUN:
        return td_rpc_run(rpc, request->payload, out);
    case TD_RPC_READ_OUTPUT:
        return td_rpc_read_output(rpc, request->payload, out);
    case TD_RPC_STEP:
        return td_rpc_step(rpc, request->payload, out);
    case TD_RPC_RESET_MODEL:
        return td_rpc_reset_model(rpc, request->payload, out);
    case TD_RPC_RESET_DEVICE:
        return td_rpc_reset_device(rpc, request->payload, out);
#if TD_RPC_LEVEL >= TD_RPC_DEBUG
    case TD_RPC_READ_MEMORY:
        return td_rpc_read_memory(rpc, request->payload, out);
    case TD_RPC_WRITE_MEMORY:
        return td_rpc_write_memory(rpc, request->payload, out);
#endif
#if TD_SLOTS
    case TD_RPC_SLOT_INFO:
    case TD_RPC_SLOT_PARTS:
    case TD_RPC_SLOT_SUMS:
    case TD_RPC_SLOT_BEGIN:
    case TD_RPC_SLOT_WRITE:
    case TD_RPC_SLOT_COPY:
    case TD_RPC_SLOT_COMMIT:
        return td_rpc_slot(rpc, request->call, request->payload, out);
#endif
    default:
        return TD_RPC_NOT_SUPPORTED;
    }
}

/* Calls of which the host is told that the device has begun them. */
static bool td_rpc_takes_long(uint8_t call) {
    return call == TD_RPC_RUN || call == TD_RPC_STEP || call == TD_RPC_SLOT_BEGIN ||
           call == TD_RPC_SLOT_COPY || call == TD_RPC_SLOT_COMMIT;
}

/* Executes a request that is new in its session and keeps the answer. */
static void td_rpc_execute(td_rpc *rpc, const td_rpc_request *request) {
    td_rpc_out out = {&rpc->answer[TD_RPC_HEADER_BYTES], 0u, rpc->config->payload_bytes};
    rpc->sequence = request->sequence;
    rpc->request_crc = request->crc;
    if (td_rpc_takes_long(request->call)) {
        td_rpc_send_short(rpc, TD_RPC_WORKING, TD_RPC_DONE, request);
    }
    const td_rpc_status status = td_rpc_dispatch(rpc, request, &out);
    rpc->answer_bytes = td_rpc_seal(rpc->answer, TD_RPC_ANSWER, status, request, out.size);
    td_rpc_send(rpc, rpc->answer, rpc->answer_bytes);
    if (request->call == TD_RPC_RESET_DEVICE && status == TD_RPC_DONE) {
        rpc->session = 0u;
        rpc->last_session = 0u;
        rpc->config->reset(rpc->config->context);
    }
}

/* HELLO with a new session number begins that session, unless the versions differ. */
static void td_rpc_begin(td_rpc *rpc, const td_rpc_request *request) {
    if (request->session == 0u || request->session == rpc->last_session) {
        td_rpc_send_short(rpc, TD_RPC_ANSWER, TD_RPC_OTHER_SESSION, request);
    } else if (request->sequence != 0u) {
        td_rpc_send_short(rpc, TD_RPC_ANSWER, TD_RPC_BAD_SEQUENCE, request);
    } else if (request->payload.size < 4u || td_get32(request->payload.bytes) != TD_RPC_VERSION) {
        uint8_t body[TD_RPC_HEADER_BYTES + 4u + TD_RPC_CRC_BYTES];
        td_set32(&body[TD_RPC_HEADER_BYTES], TD_RPC_VERSION);
        td_rpc_send(rpc, body, td_rpc_seal(body, TD_RPC_ANSWER, TD_RPC_BAD_VERSION, request, 4u));
    } else {
        rpc->last_session = rpc->session;
        rpc->session = request->session;
#if TD_SLOTS
        td_rpc_slot_forget(rpc);
#endif
        td_rpc_restart_model(rpc);
        td_rpc_execute(rpc, request);
    }
}

static void td_rpc_handle(td_rpc *rpc, const td_rpc_request *request) {
    if (request->session != rpc->session || rpc->session == 0u) {
        if (request->call == TD_RPC_HELLO) {
            td_rpc_begin(rpc, request);
        } else {
            td_rpc_send_short(rpc, TD_RPC_ANSWER,
                              rpc->session == 0u ? TD_RPC_NO_SESSION : TD_RPC_OTHER_SESSION,
                              request);
        }
        return;
    }
    const uint32_t ahead = request->sequence - rpc->sequence;
    if (ahead == 1u) {
        td_rpc_execute(rpc, request);
    } else if (ahead == 0u && request->crc == rpc->request_crc) {
        td_rpc_send(rpc, rpc->answer, rpc->answer_bytes);
    } else if (ahead < 0x80000000u) {
        td_rpc_send_short(rpc, TD_RPC_ANSWER, TD_RPC_BAD_SEQUENCE, request);
    } /* else a late copy of a request that the host has long had its answer to */
}

td_status td_rpc_init(td_rpc *rpc, const td_rpc_config *config) {
    if (rpc == NULL || config == NULL || config->model == NULL || config->state == NULL ||
        config->arena == NULL || config->board == NULL || config->buffer == NULL ||
        config->read == NULL || config->write == NULL) {
        return TD_ERROR_NULL;
    }
    if (config->payload_bytes < TD_RPC_MIN_PAYLOAD || config->payload_bytes > TD_RPC_MAX_PAYLOAD ||
        config->buffer_bytes < TD_RPC_BUFFER_BYTES(config->payload_bytes)) {
        return TD_ERROR_ARENA_SIZE;
    }
    const size_t body_bytes = TD_RPC_BUFFER_BYTES(config->payload_bytes) / 2u;
    memset(rpc, 0, sizeof *rpc);
    rpc->config = config;
    rpc->answer = &config->buffer[body_bytes];
    rpc->model_status = TD_ERROR_NOT_INITIALIZED;
    td_cobs_init(&rpc->decoder, config->buffer, body_bytes);
    return TD_OK;
}

bool td_rpc_poll(td_rpc *rpc) {
    uint8_t arrived[64];
    const size_t count = rpc->config->read(rpc->config->context, arrived, sizeof arrived);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        td_rpc_request request;
        if (td_cobs_feed(&rpc->decoder, arrived[i], &size) &&
            td_rpc_open(rpc->decoder.buffer, size, &request)) {
            td_rpc_handle(rpc, &request);
        }
    }
    return count != 0u;
}

#else

/* Level 0 leaves an empty object. */
typedef int td_rpc_is_not_compiled;

#endif
