/* The calls of debug images: read and write memory. Whole, aligned words are accessed as words, so
 * that peripheral registers can be reached too. */
#include "td_rpc_internal.h"

#if TD_RPC_LEVEL >= TD_RPC_DEBUG

enum { WORD_BYTES = 4 };

/* TD_RPC_DONE when [address, address + size) exists and the board allows the access. */
static td_rpc_status td_rpc_check_memory(const td_rpc *rpc, uint64_t address, size_t size,
                                         bool write) {
    const td_rpc_config *config = rpc->config;
    if (address > UINTPTR_MAX || size > UINTPTR_MAX - (uintptr_t)address) {
        return TD_RPC_OUT_OF_RANGE;
    }
    if (config->memory_allowed != NULL &&
        !config->memory_allowed(config->context, (uintptr_t)address, size, write)) {
        return TD_RPC_DENIED;
    }
    return TD_RPC_DONE;
}

static bool td_rpc_is_words(uintptr_t address, size_t size) {
    return address % WORD_BYTES == 0u && size % WORD_BYTES == 0u;
}

td_rpc_status td_rpc_read_memory(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    if (in.size != 12u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint64_t wide = td_get64(in.bytes);
    const uint32_t size = td_get32(&in.bytes[8]);
    const td_rpc_status status = td_rpc_check_memory(rpc, wide, size, false);
    if (status != TD_RPC_DONE) {
        return status;
    }
    if (size > td_rpc_room(out)) {
        return TD_RPC_TOO_LARGE;
    }
    const uintptr_t address = (uintptr_t)wide;
    const bool words = td_rpc_is_words(address, size);
    for (size_t at = 0u; at < size; at += words ? WORD_BYTES : 1u) {
        if (words) {
            (void)td_rpc_put32(out, *(const volatile uint32_t *)(address + at));
        } else {
            out->bytes[out->size] = *(const volatile uint8_t *)(address + at);
            out->size++;
        }
    }
    return TD_RPC_DONE;
}

td_rpc_status td_rpc_write_memory(td_rpc *rpc, td_rpc_in in, td_rpc_out *out) {
    (void)out;
    if (in.size < 8u) {
        return TD_RPC_BAD_LENGTH;
    }
    const uint64_t wide = td_get64(in.bytes);
    const uint8_t *from = &in.bytes[8];
    const size_t size = in.size - 8u;
    const td_rpc_status status = td_rpc_check_memory(rpc, wide, size, true);
    if (status != TD_RPC_DONE) {
        return status;
    }
    const uintptr_t address = (uintptr_t)wide;
    const bool words = td_rpc_is_words(address, size);
    for (size_t at = 0u; at < size; at += words ? WORD_BYTES : 1u) {
        if (words) {
            *(volatile uint32_t *)(address + at) = td_get32(&from[at]);
        } else {
            *(volatile uint8_t *)(address + at) = from[at];
        }
    }
    return TD_RPC_DONE;
}

#else

typedef int td_rpc_memory_is_not_compiled;

#endif
