#include "board.h"

#include <string.h>

#include "td_ring.h"

#define OUTPUT_BYTES (1u << 20)

static struct {
    board_options options;
    td_ring ring;
    uint8_t ring_bytes[256];
    td_rpc rpc;
    td_rpc_config config;
    td_state state;
    fake_arena arena;
    uint8_t buffer[TD_RPC_BUFFER_BYTES(BOARD_PAYLOAD)];
    uint8_t output[OUTPUT_BYTES];
    size_t output_bytes;
    uint64_t ticks;
    uint32_t resets;
    uint32_t scratch[16];
} board;

_Static_assert(sizeof board.ring_bytes >= TD_RPC_FRAME_BYTES(BOARD_PAYLOAD) || BOARD_PAYLOAD > 64u,
               "the ring holds a frame");

static size_t board_read(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    return td_ring_take(&board.ring, bytes, capacity);
}

static void board_write(void *context, const uint8_t *bytes, size_t size) {
    (void)context;
    if (size <= OUTPUT_BYTES - board.output_bytes) {
        memcpy(&board.output[board.output_bytes], bytes, size);
        board.output_bytes += size;
    }
}

static uint64_t board_ticks(void *context) {
    (void)context;
    board.ticks += 1000u;
    return board.ticks;
}

static void board_reset(void *context) {
    (void)context;
    board.resets++;
}

static bool board_allows(void *context, uintptr_t address, size_t size, bool write) {
    const uintptr_t start = (uintptr_t)board.scratch;
    (void)context;
    (void)write;
    return address >= start && address - start <= sizeof board.scratch &&
           size <= sizeof board.scratch - (address - start);
}

void board_boot(const board_options *options) {
    board.options = *options;
    (void)td_ring_init(&board.ring, board.ring_bytes, sizeof board.ring_bytes);
    memset(&board.arena, 0xA5, sizeof board.arena);
    memset(&board.state, 0, sizeof board.state);
    fake_runs = 0;
    board.output_bytes = 0;
    board.config = (td_rpc_config){
        .model = &fake_model,
        .state = &board.state,
        .arena = &board.arena,
        .arena_bytes = options->arena_bytes != 0u ? options->arena_bytes : sizeof board.arena,
        .board = "memory-board",
        .traced = !options->untraced,
        .buffer = board.buffer,
        .buffer_bytes = sizeof board.buffer,
        .payload_bytes = BOARD_PAYLOAD,
        .read = board_read,
        .write = board_write,
        .counter = options->no_counter ? NULL : board_ticks,
        .counts = TD_RPC_COUNTS_TICKS,
        .counter_hz = 1000000u,
        .reset = options->no_reset ? NULL : board_reset,
        .memory_allowed = options->no_memory_limits ? NULL : board_allows,
    };
    if (td_rpc_init(&board.rpc, &board.config) != TD_OK) {
        board.output_bytes = OUTPUT_BYTES; /* silent for ever */
    }
}

void board_receive(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        td_ring_put(&board.ring, bytes[i]);
    }
}

void board_poll(void) {
    while (td_rpc_poll(&board.rpc)) {
    }
}

size_t board_sent(uint8_t *to, size_t capacity) {
    const size_t count = board.output_bytes < capacity ? board.output_bytes : capacity;
    memcpy(to, board.output, count);
    memmove(board.output, &board.output[count], board.output_bytes - count);
    board.output_bytes -= count;
    return count;
}

uint32_t board_lost(void) {
    return board.ring.lost;
}

uint32_t board_resets(void) {
    return board.resets;
}

uint32_t board_counter(void) {
    return board.arena.counter;
}

uint8_t *board_scratch(void) {
    return (uint8_t *)board.scratch;
}
