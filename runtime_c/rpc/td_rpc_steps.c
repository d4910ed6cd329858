/* Step-by-step runs. The answer under construction is also the table of what the trace hook saw, so
 * that tracing needs no memory of its own. */
#include "td_rpc_internal.h"

#if TD_RPC_LEVEL > TD_RPC_NONE

#include "td_crc32.h"

enum {
    TD_RPC_STEP_REQUEST_BYTES = 20,
    TD_RPC_COUNT_ENTRY_BYTES = 12,   /* step, 64-bit count */
    TD_RPC_INSTANCE_ENTRY_BYTES = 16 /* instance, rows, bytes, CRC */
};

/* What the hook works for; offsets and sizes are within the answer. */
typedef struct {
    td_rpc_out *out;
    size_t table;  /* where the entries begin */
    size_t recent; /* the entry found last: rows of one instance often come together */
    uint32_t mode;
    uint32_t instance;
    uint32_t row;
    uint32_t offset; /* in the row's bytes */
    bool full;
} td_rpc_sink;

/* The entry of an instance, made where it is new; NULL when the answer has no room for it. */
static uint8_t *td_rpc_instance_entry(td_rpc_sink *sink, uint32_t instance) {
    td_rpc_out *out = sink->out;
    if (sink->recent < out->size && td_get32(&out->bytes[sink->recent]) == instance) {
        return &out->bytes[sink->recent];
    }
    for (size_t at = sink->table; at < out->size; at += TD_RPC_INSTANCE_ENTRY_BYTES) {
        if (td_get32(&out->bytes[at]) == instance) {
            sink->recent = at;
            return &out->bytes[at];
        }
    }
    if (td_rpc_room(out) < TD_RPC_INSTANCE_ENTRY_BYTES) {
        return NULL;
    }
    sink->recent = out->size;
    (void)td_rpc_put32(out, instance);
    (void)td_rpc_put32(out, 0u);
    (void)td_rpc_put64(out, 0u);
    return &out->bytes[sink->recent];
}

static void td_rpc_sink_instance(td_rpc_sink *sink, uint32_t instance, const void *bytes,
                                 size_t size) {
    uint8_t *entry = td_rpc_instance_entry(sink, instance);
    if (entry == NULL) {
        sink->full = true;
        return;
    }
    td_set32(&entry[4], td_get32(&entry[4]) + 1u);
    td_set32(&entry[8], td_get32(&entry[8]) + (uint32_t)size);
    td_set32(&entry[12], td_crc32(td_get32(&entry[12]), bytes, size));
}

static void td_rpc_sink_bytes(td_rpc_sink *sink, const void *bytes, size_t size) {
    const uint8_t *from = (const uint8_t *)bytes;
    if (sink->out->size != sink->table || !td_rpc_put32(sink->out, (uint32_t)size) ||
        sink->offset >= size) {
        return;
    }
    const size_t left = size - sink->offset;
    const size_t room = td_rpc_room(sink->out);
    (void)td_rpc_put(sink->out, &from[sink->offset], left < room ? left : room);
}

static void td_rpc_on_row(void *context, uint32_t instance, uint32_t row, const void *bytes,
                          size_t size) {
    td_rpc_sink *sink = (td_rpc_sink *)context;
    if (sink->mode == TD_RPC_STEP_INSTANCES) {
        td_rpc_sink_instance(sink, instance, bytes, size);
    } else if (instance != sink->instance) {
        return;
    } else if (sink->mode == TD_RPC_STEP_BYTES && row == sink->row) {
        td_rpc_sink_bytes(sink, bytes, size);
    } else if (sink->mode == TD_RPC_STEP_ROWS && row >= sink->row) {
        (void)td_rpc_put32(sink->out, td_crc32(0u, bytes, size)); /* as many as there is room for */
    }
}

/* Is there room for what one more step may report? A step of a row segment reports several
 * instances; one half of the table is kept for it. */
static bool td_rpc_has_room(const td_rpc_sink *sink) {
    const size_t used = sink->out->size - sink->table;
    const size_t room = td_rpc_room(sink->out);
    switch (sink->mode) {
    case TD_RPC_STEP_COUNTS:
        return room >= TD_RPC_COUNT_ENTRY_BYTES;
    case TD_RPC_STEP_INSTANCES:
        return used < room;
    default:
        return true;
    }
}

/* One step and, in mode COUNTS, its entry. */
static td_status td_rpc_one_step(td_rpc *rpc, td_rpc_sink *sink) {
    const td_rpc_config *config = rpc->config;
    const uint64_t start = td_rpc_count(rpc);
    const td_status status = config->model->step(config->state);
    const uint64_t stop = td_rpc_count(rpc);
    if (sink->mode == TD_RPC_STEP_COUNTS) {
        (void)td_rpc_put32(sink->out, rpc->step);
        (void)td_rpc_put64(sink->out, stop - start);
    }
    rpc->step++;
    return status;
}

/* Runs up to `limit` steps; TD_DONE after the last one of the model. A model that passes its own
 * step count without saying so is at fault and ends as TD_OK. */
static td_status td_rpc_steps(td_rpc *rpc, td_rpc_sink *sink, uint32_t limit, uint32_t *count) {
    td_state *state = rpc->config->state;
    td_status status = TD_OK;
    state->trace_context = sink;
    state->trace = sink->mode == TD_RPC_STEP_COUNTS ? NULL : td_rpc_on_row;
    for (*count = 0u; *count < limit && status == TD_OK && td_rpc_has_room(sink); (*count)++) {
        if (rpc->step == rpc->config->model->step_count) {
            break;
        }
        status = td_rpc_one_step(rpc, sink);
    }
    state->trace = NULL;
    state->trace_context = NULL;
    return status;
}

td_rpc_status td_rpc_step(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    if (in.size != TD_RPC_STEP_REQUEST_BYTES) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint32_t limit = td_get32(&in.bytes[4]);
    td_rpc_sink sink = {out,
                        8u,
                        8u,
                        td_get32(in.bytes),
                        td_get32(&in.bytes[8]),
                        td_get32(&in.bytes[12]),
                        td_get32(&in.bytes[16]),
                        false};
    if (sink.mode > TD_RPC_STEP_BYTES ||
        (sink.mode != TD_RPC_STEP_COUNTS && !rpc->config->traced)) {
        return TD_RPC_NOT_SUPPORTED;
    }
    if (limit == 0u) {
        return TD_RPC_OUT_OF_RANGE;
    }
    if (rpc->model_status != TD_OK) {
        return td_rpc_model_failed(rpc->model_status, out);
    }
    if (!rpc->stepping) {
        rpc->stepping = true;
        rpc->step = 0u;
    }
    rpc->outputs_ready = false;
    out->size = sink.table; /* done flag and step count go in front when they are known */
    uint32_t count;
    const td_status status = td_rpc_steps(rpc, &sink, limit, &count);
    const bool stuck = status == TD_OK && rpc->step == rpc->config->model->step_count;
    if ((status != TD_OK && status != TD_DONE) || stuck) {
        return td_rpc_model_failed(status, out);
    }
    if (status == TD_DONE) {
        rpc->stepping = false;
        rpc->outputs_ready = true;
    }
    if (sink.full) {
        out->size = 0u;
        return TD_RPC_TRACE_FULL;
    }
    td_set32(&out->bytes[0], status == TD_DONE ? 1u : 0u);
    td_set32(&out->bytes[4], count);
    return TD_RPC_DONE;
}

#else

typedef int td_rpc_steps_are_not_compiled;

#endif
