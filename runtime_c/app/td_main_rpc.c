/* Firmware that serves one model over the serial line. */
#include "td_cpu.h"

#include "td_app.h"
#include "td_board.h"
#include "td_board_config.h"
#include "td_internal.h"
#include "td_rpc.h"
#if TD_SLOTS
#include "td_slot.h"
#endif

_Static_assert(TD_UART_RING_BYTES >= TD_RPC_FRAME_BYTES(TD_APP_PAYLOAD_BYTES),
               "the ring must hold a frame that arrives while the model runs");

static uint8_t td_app_buffer[TD_RPC_BUFFER_BYTES(TD_APP_PAYLOAD_BYTES)];
static td_state td_app_state;
static td_rpc td_app_rpc;
#if TD_SLOTS
static td_slots td_app_slot_state;
#endif

static size_t td_app_read(void *context, uint8_t *bytes, size_t capacity) {
    (void)context;
    return td_uart_read(bytes, capacity);
}

static void td_app_write(void *context, const uint8_t *bytes, size_t size) {
    (void)context;
    td_uart_write(bytes, size);
}

static uint64_t td_app_counter(void *context) {
    (void)context;
    return td_counter();
}

static void td_app_reset(void *context) {
    (void)context;
    td_restart();
}

#if TD_RPC_LEVEL >= TD_RPC_DEBUG
/* The chip's memories and peripherals; anything else would end in a fault. */
static bool td_app_memory_allowed(void *context, uintptr_t address, size_t size, bool write) {
    (void)context;
    for (size_t i = 0u; i < TD_RANGE_COUNT; i++) {
        const td_range *range = &td_ranges[i];
        if (address >= range->start && address - range->start <= range->size &&
            size <= range->size - (address - range->start)) {
            return range->writable || !write;
        }
    }
    return false;
}
#endif

void td_app_main(void) {
    static td_rpc_config config = {
        .state = &td_app_state,
        .arena = td_app_arena,
        .arena_bytes = TD_APP_ARENA_BYTES,
        .board = TD_BOARD_NAME,
        .traced = TD_TRACE != 0,
        .buffer = td_app_buffer,
        .buffer_bytes = sizeof td_app_buffer,
        .payload_bytes = TD_APP_PAYLOAD_BYTES,
        .read = td_app_read,
        .write = td_app_write,
        .counter = td_app_counter,
        .reset = td_app_reset,
#if TD_RPC_LEVEL >= TD_RPC_DEBUG
        .memory_allowed = td_app_memory_allowed,
#endif
    };
#if TD_SLOTS
    td_slots_boot(&td_app_slot_state, td_app_slots);
    config.slots = &td_app_slot_state;
#endif
    config.model = td_app_model;
    config.counts =
        td_counter_is_of_instructions() ? TD_RPC_COUNTS_INSTRUCTIONS : TD_RPC_COUNTS_CYCLES;
    config.counter_hz = td_counter_is_of_instructions() ? 0u : td_clock()->core_hz;
    if (td_rpc_init(&td_app_rpc, &config) != TD_OK) {
        return;
    }
    for (;;) {
        if (!td_rpc_poll(&td_app_rpc)) {
            td_uart_wait();
        }
    }
}
