/* The calls of level io: who are you, what do you run, inputs, run, outputs, reset. */
#include "td_rpc_internal.h"

#if TD_RPC_LEVEL > TD_RPC_NONE

/* Appends the length of a text and as much of it, from `offset` on, as there is room for. */
static td_rpc_status td_rpc_put_text(td_rpc_out *out, const char *text, uint32_t offset) {
    const size_t length = strlen(text);
    if (offset > length) {
        return TD_RPC_OUT_OF_RANGE;
    }
    if (!td_rpc_put32(out, (uint32_t)length)) {
        return TD_RPC_TOO_LARGE;
    }
    const size_t left = length - offset;
    const size_t room = td_rpc_room(out);
    (void)td_rpc_put(out, &text[offset], left < room ? left : room);
    return TD_RPC_DONE;
}

static uint32_t td_rpc_capabilities(const td_rpc_config *config) {
    uint32_t bits = 0u;
    if (config->traced) {
        bits |= TD_RPC_CAN_TRACE;
    }
    if (config->counter != NULL) {
        bits |= TD_RPC_CAN_COUNT;
    }
    if (config->reset != NULL) {
        bits |= TD_RPC_CAN_RESET;
    }
    if (TD_RPC_LEVEL >= TD_RPC_DEBUG) {
        bits |= TD_RPC_CAN_MEMORY;
    }
    if (TD_SLOTS && config->slots != NULL) {
        bits |= TD_RPC_CAN_UPDATE;
    }
    return bits;
}

void td_rpc_restart_model(td_rpc *rpc) {
    const td_rpc_config *config = rpc->config;
    config->state->trace = NULL;
    config->state->trace_context = NULL;
    rpc->model_status = config->model->init(config->state, config->arena, config->arena_bytes);
    if (rpc->model_status == TD_OK) {
        config->model->reset(config->state);
    }
    rpc->step = 0u;
    rpc->stepping = false;
    rpc->outputs_ready = false;
}

td_rpc_status td_rpc_model_failed(td_status status, td_rpc_out *out) {
    out->size = 0u;
    (void)td_rpc_put32(out, (uint32_t)status);
    return TD_RPC_MODEL_FAILED;
}

td_rpc_status td_rpc_hello(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_rpc_config *config = rpc->config;
    const bool counts = config->counter != NULL;
    (void)in; /* td_rpc_begin has read it */
    (void)td_rpc_put32(out, TD_RPC_VERSION);
    (void)td_rpc_put32(out, TD_RUNTIME_ABI);
    (void)td_rpc_put32(out, TD_RPC_LEVEL);
    (void)td_rpc_put32(out, td_rpc_capabilities(config));
    (void)td_rpc_put32(out, (uint32_t)config->payload_bytes);
    (void)td_rpc_put32(out, counts ? (uint32_t)config->counts : (uint32_t)TD_RPC_COUNTS_NOTHING);
    (void)td_rpc_put32(out, counts ? config->counter_hz : 0u);
    (void)td_rpc_put32(out, (uint32_t)rpc->model_status);
    return td_rpc_put_text(out, config->board, 0u);
}

td_rpc_status td_rpc_describe_model(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_model *model = rpc->config->model;
    if (in.size != 4u) {
        return TD_RPC_BAD_LENGTH;
    }
    (void)td_rpc_put64(out, model->hash);
    (void)td_rpc_put32(out, model->arena_bytes);
    (void)td_rpc_put32(out, model->step_count);
    (void)td_rpc_put32(out, model->instance_count);
    (void)td_rpc_put32(out, model->input_count);
    (void)td_rpc_put32(out, model->output_count);
    return td_rpc_put_text(out, model->name, td_get32(in.bytes));
}

td_rpc_status td_rpc_describe_tensor(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_model *model = rpc->config->model;
    if (in.size != 12u) {
        return TD_RPC_BAD_LENGTH;
    }
    const bool is_output = td_get32(in.bytes) != 0u;
    const uint32_t index = td_get32(&in.bytes[4]);
    if (index >= (is_output ? model->output_count : model->input_count)) {
        return TD_RPC_BAD_INDEX;
    }
    const td_tensor *tensor = is_output ? &model->outputs[index] : &model->inputs[index];
    uint32_t scale_bits;
    memcpy(&scale_bits, &tensor->scale, sizeof scale_bits);
    (void)td_rpc_put32(out, (uint32_t)tensor->dtype);
    (void)td_rpc_put32(out, tensor->bytes);
    (void)td_rpc_put32(out, scale_bits);
    (void)td_rpc_put32(out, (uint32_t)tensor->zero_point);
    (void)td_rpc_put32(out, tensor->rank);
    for (uint32_t axis = 0u; axis < tensor->rank; axis++) {
        if (!td_rpc_put32(out, (uint32_t)tensor->shape[axis])) {
            return TD_RPC_TOO_LARGE;
        }
    }
    return td_rpc_put_text(out, tensor->name, td_get32(&in.bytes[8]));
}

td_rpc_status td_rpc_write_input(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_rpc_config *config = rpc->config;
    if (in.size < 8u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint32_t index = td_get32(in.bytes);
    const uint32_t offset = td_get32(&in.bytes[4]);
    const size_t size = in.size - 8u;
    if (index >= config->model->input_count) {
        return TD_RPC_BAD_INDEX;
    }
    if (!td_rpc_within(offset, size, config->model->inputs[index].bytes)) {
        return TD_RPC_OUT_OF_RANGE;
    }
    if (rpc->model_status != TD_OK) {
        return td_rpc_model_failed(rpc->model_status, out);
    }
    if (rpc->stepping) {
        return TD_RPC_STEPPING;
    }
    uint8_t *input = (uint8_t *)config->model->input(config->state, index);
    if (input == NULL) {
        return TD_RPC_BAD_INDEX;
    }
    rpc->outputs_ready = false; /* inputs and outputs may share memory */
    memcpy(&input[offset], &in.bytes[8], size);
    return TD_RPC_DONE;
}

td_rpc_status td_rpc_run(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_rpc_config *config = rpc->config;
    if (in.size != 0u) {
        return TD_RPC_BAD_LENGTH;
    }
    if (rpc->stepping) {
        return TD_RPC_STEPPING;
    }
    if (rpc->model_status != TD_OK) {
        return td_rpc_model_failed(rpc->model_status, out);
    }
    rpc->outputs_ready = false;
    config->state->trace = NULL;
    const uint64_t start = td_rpc_count(rpc);
    const td_status status = config->model->run(config->state);
    const uint64_t stop = td_rpc_count(rpc);
    if (status != TD_OK && status != TD_DONE) {
        return td_rpc_model_failed(status, out);
    }
    rpc->outputs_ready = true;
    (void)td_rpc_put64(out, stop - start);
    return TD_RPC_DONE;
}

td_rpc_status td_rpc_read_output(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    const td_rpc_config *config = rpc->config;
    if (in.size != 12u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint32_t index = td_get32(in.bytes);
    const uint32_t offset = td_get32(&in.bytes[4]);
    const uint32_t size = td_get32(&in.bytes[8]);
    if (index >= config->model->output_count) {
        return TD_RPC_BAD_INDEX;
    }
    if (!td_rpc_within(offset, size, config->model->outputs[index].bytes)) {
        return TD_RPC_OUT_OF_RANGE;
    }
    if (!rpc->outputs_ready) {
        return TD_RPC_NO_OUTPUT;
    }
    const uint8_t *output = (const uint8_t *)config->model->output(config->state, index);
    if (output == NULL) {
        return TD_RPC_BAD_INDEX;
    }
    return td_rpc_put(out, &output[offset], size) ? TD_RPC_DONE : TD_RPC_TOO_LARGE;
}

td_rpc_status td_rpc_reset_model(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    (void)out;
    if (in.size != 0u) {
        return TD_RPC_BAD_LENGTH;
    }
    td_rpc_restart_model(rpc);
    return TD_RPC_DONE;
}

td_rpc_status td_rpc_reset_device(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    (void)out;
    if (in.size != 0u) {
        return TD_RPC_BAD_LENGTH;
    }
    return rpc->config->reset != NULL ? TD_RPC_DONE : TD_RPC_NOT_SUPPORTED;
}

#else

typedef int td_rpc_calls_are_not_compiled;

#endif
