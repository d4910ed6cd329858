/* The calls of images whose model is exchanged: what the slots hold, and the steps of an update. An
 * update lives within one session; the next HELLO forgets it, and the old model is still active. */
#include "td_rpc_internal.h"

#if TD_RPC_LEVEL > TD_RPC_NONE && TD_SLOTS

#include "td_crc32.h"
#include "td_slot.h"

static td_rpc_status td_rpc_slot_status(td_slot_status status) {
    switch (status) {
    case TD_SLOT_OK:
        return TD_RPC_DONE;
    case TD_SLOT_OTHER_ABI:
        return TD_RPC_OTHER_ABI;
    case TD_SLOT_OTHER_LAYOUT:
        return TD_RPC_OTHER_LAYOUT;
    case TD_SLOT_OTHER_IMAGE:
        return TD_RPC_OTHER_IMAGE;
    case TD_SLOT_OUT_OF_RANGE:
        return TD_RPC_OUT_OF_RANGE;
    case TD_SLOT_NOT_BEGUN:
        return TD_RPC_NO_UPDATE;
    case TD_SLOT_OLD_COUNTER:
        return TD_RPC_OLD_COUNTER;
    case TD_SLOT_DAMAGED:
        return TD_RPC_DAMAGED;
    case TD_SLOT_NOT_TRUSTED:
        return TD_RPC_NOT_TRUSTED;
    default:
        return TD_RPC_FLASH_FAILED;
    }
}

void td_rpc_slot_forget(td_rpc *rpc) {
    if (rpc->config->slots != NULL) {
        rpc->config->slots->open = false;
    }
}

/* 0: the image and what is active; 1 and 2: what slot 0 and 1 hold. */
static td_rpc_status td_rpc_slot_info(const td_slots *slots, td_rpc_in in, td_rpc_out *out) {
    if (in.size != 4u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint32_t which = td_get32(in.bytes);
    if (which > TD_SLOT_COUNT) {
        return TD_RPC_BAD_INDEX;
    }
    if (which == 0u) {
        (void)td_rpc_put64(out, slots->model->layout);
        (void)td_rpc_put64(out, slots->model->own);
        (void)td_rpc_put32(out, slots->active);
        (void)td_rpc_put32(out, slots->model->bytes);
        (void)td_rpc_put32(out, td_slots_capacity());
        (void)td_rpc_put32(out, TD_SLOT_BLOCK_BYTES);
        (void)td_rpc_put32(out, td_slot_flash.program_bytes);
        (void)td_rpc_put32(out, slots->model->part_count);
        return TD_RPC_DONE;
    }
    const bool valid = slots->valid[which - 1u];
    const td_slot_header *header = &slots->headers[which - 1u];
    (void)td_rpc_put64(out, valid ? header->model : 0u);
    (void)td_rpc_put32(out, valid ? 1u : 0u);
    (void)td_rpc_put32(out, valid ? header->counter : 0u);
    return TD_RPC_DONE;
}

/* CRC-32 of what is known of each part of the layout, from a part on, as many as fit. */
static td_rpc_status td_rpc_slot_parts(const td_slots *slots, td_rpc_in in, td_rpc_out *out) {
    if (in.size != 4u) {
        return TD_RPC_BAD_LENGTH;
    }
    for (uint32_t part = td_get32(in.bytes); part < slots->model->part_count; part++) {
        if (!td_rpc_put32(out, slots->model->parts[part])) {
            break;
        }
    }
    return TD_RPC_DONE;
}

/* CRC-32 of each block of the active constants, from a block on, as many as fit. */
static td_rpc_status td_rpc_slot_sums(const td_slots *slots, td_rpc_in in, td_rpc_out *out) {
    if (in.size != 4u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint32_t total = slots->model->bytes;
    const uint32_t first = td_get32(in.bytes);
    if (first > total / TD_SLOT_BLOCK_BYTES) {
        return TD_RPC_OUT_OF_RANGE;
    }
    for (uint32_t at = first * TD_SLOT_BLOCK_BYTES; at < total && td_rpc_room(out) >= 4u;
         at += TD_SLOT_BLOCK_BYTES) {
        const uint32_t left = total - at;
        const uint32_t size = left < TD_SLOT_BLOCK_BYTES ? left : TD_SLOT_BLOCK_BYTES;
        (void)td_rpc_put32(out, td_crc32(0u, td_slots_payload(slots) + at, size));
    }
    return TD_RPC_DONE;
}

static td_rpc_status td_rpc_slot_begin(td_slots *slots, td_rpc_in in) {
    if (in.size != 16u) {
        return TD_RPC_BAD_LENGTH;
    }
    return td_rpc_slot_status(
        td_slots_begin(slots, td_get32(in.bytes), td_get64(&in.bytes[8]), td_get32(&in.bytes[4])));
}

static td_rpc_status td_rpc_slot_write(td_slots *slots, td_rpc_in in) {
    if (in.size <= 4u) {
        return TD_RPC_BAD_LENGTH;
    }
    return td_rpc_slot_status(
        td_slots_write(slots, td_get32(in.bytes), &in.bytes[4], (uint32_t)(in.size - 4u)));
}

static td_rpc_status td_rpc_slot_copy(td_slots *slots, td_rpc_in in) {
    if (in.size != 8u) {
        return TD_RPC_BAD_LENGTH;
    }
    return td_rpc_slot_status(
        td_slots_write(slots, td_get32(in.bytes), NULL, td_get32(&in.bytes[4])));
}

/* Switches between runs: the model starts afresh with the new constants. */
static td_rpc_status td_rpc_slot_commit(td_rpc *rpc, td_rpc_in in) {
    td_slot_header header;
    if (in.size < sizeof header) {
        return TD_RPC_BAD_LENGTH;
    }
    if (rpc->stepping) {
        return TD_RPC_STEPPING;
    }
    memcpy(&header, in.bytes, sizeof header);
    if (header.signature_bytes != in.size - sizeof header) {
        return TD_RPC_BAD_LENGTH;
    }
    const td_slot_status status =
        td_slots_commit(rpc->config->slots, &header, &in.bytes[sizeof header]);
    if (status == TD_SLOT_OK) {
        td_rpc_restart_model(rpc);
    }
    return td_rpc_slot_status(status);
}

td_rpc_status td_rpc_slot(td_rpc *rpc, uint8_t call, td_rpc_in in, td_rpc_out *out) {
    td_slots *slots = rpc->config->slots;
    if (slots == NULL) {
        return TD_RPC_NOT_SUPPORTED;
    }
    switch (call) {
    case TD_RPC_SLOT_INFO:
        return td_rpc_slot_info(slots, in, out);
    case TD_RPC_SLOT_PARTS:
        return td_rpc_slot_parts(slots, in, out);
    case TD_RPC_SLOT_SUMS:
        return td_rpc_slot_sums(slots, in, out);
    case TD_RPC_SLOT_BEGIN:
        return td_rpc_slot_begin(slots, in);
    case TD_RPC_SLOT_WRITE:
        return td_rpc_slot_write(slots, in);
    case TD_RPC_SLOT_COPY:
        return td_rpc_slot_copy(slots, in);
    default:
        return td_rpc_slot_commit(rpc, in);
    }
}

#else

typedef int td_rpc_slots_is_not_compiled;

#endif
