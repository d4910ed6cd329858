/* A board of memory only: a ring that tests fill and an output that they empty. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_model.h"
#include "td_rpc.h"

#ifndef BOARD_PAYLOAD
#define BOARD_PAYLOAD 64u
#endif

typedef struct {
    size_t arena_bytes; /* what init() is given; 0: enough */
    bool untraced;
    bool no_counter;
    bool no_reset;
    bool no_memory_limits;
} board_options;

/* Power on: session, ring, model and its state are gone. */
void board_boot(const board_options *options);

/* What the UART's interrupt does. */
void board_receive(const uint8_t *bytes, size_t size);

/* What the main loop does, until nothing is left to do. */
void board_poll(void);

/* Moves what the device has sent to `to`; how much. */
size_t board_sent(uint8_t *to, size_t capacity);

uint32_t board_lost(void);    /* bytes that the ring had no room for */
uint32_t board_resets(void);  /* restarts that the host asked for */
uint32_t board_counter(void); /* the model's state variable */
uint8_t *board_scratch(void); /* 64 bytes that a debug session may touch */

#endif
