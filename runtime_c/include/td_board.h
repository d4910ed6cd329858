/* What firmware may ask of its board: clock, serial line, counter, sleep, restart. Implemented by
 * the startup code and by one driver per IP block; the board's data chooses the drivers. */
#ifndef TD_BOARD_H
#define TD_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The application; called once, with clock, serial line and counter running and interrupts on.
 * When it returns, the board sleeps for ever. */
void td_app_main(void);

typedef enum {
    TD_CLOCK_OK = 0,      /* the clock that the board's file asks for */
    TD_CLOCK_FALLBACK = 1 /* a wait timed out; the internal oscillator runs */
} td_clock_status;

typedef struct {
    td_clock_status status;
    uint32_t failed_step; /* index of the step that timed out, in the chip file's table */
    uint32_t core_hz;
    uint32_t uart_hz; /* what the UART's baud rate is divided from */
} td_clock_state;

/* The result of clock initialisation; valid for good. */
const td_clock_state *td_clock(void);

/* Moves up to `size` received bytes to `to`; never waits. Returns how many. */
size_t td_uart_read(uint8_t *to, size_t size);

/* Sends all bytes, waiting while the transmitter is busy. */
void td_uart_write(const uint8_t *from, size_t size);

/* Sleeps until an interrupt, unless received bytes are waiting. */
void td_uart_wait(void);

/* Cycles or, under QEMU, exactly the instructions since boot, without those of earlier calls of
 * this function. Not for interrupt handlers: it extends a hardware counter to 64 bits. The hardware
 * counter wraps; between two calls it must not wrap twice (19 s at 216 MHz). */
uint64_t td_counter(void);

/* Pins that tell an observer what the firmware does; a board's file says which it has. */
typedef enum {
    TD_SIGNAL_TIMING = 0,     /* a falling edge starts or ends a measurement */
    TD_SIGNAL_PROCESSING = 1, /* high while the model works */
    TD_SIGNAL_DETECTION = 2   /* high when something was found */
} td_signal;

/* Drives the pin of a signal; nothing where the board has none. All are high after boot. */
void td_signal_set(td_signal signal, bool high);

/* Sends what is under way and restarts the chip. */
void td_restart(void) __attribute__((noreturn));

#endif
