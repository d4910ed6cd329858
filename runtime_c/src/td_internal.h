/* Between startup, drivers and the rendered board data; not for applications. */
#ifndef TD_INTERNAL_H
#define TD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "td_board.h"
#include "td_registers.h"

/* A pin that a peripheral drives: `alternate` is the number of its function. */
typedef struct {
    uint32_t port; /* base address */
    uint32_t pin;
    uint32_t alternate;
} td_pin;

/* A pin that an observer watches; its `alternate` is not used. */
typedef struct {
    td_signal signal;
    td_pin pin;
} td_signal_pin;

/* A part of the address space that a debug image may touch. */
typedef struct {
    uint32_t start;
    uint32_t size;
    bool writable;
} td_range;

/* Rendered from the chip's and the board's files (td_board_config.c). */
extern const td_register_step td_clock_steps[];
extern const td_register_step td_fallback_steps[];
extern const td_register_step td_enable_steps[];
extern const td_register_step td_reset_steps[];
extern const td_pin td_pins[];
extern const td_signal_pin td_signal_pins[];
extern const size_t td_signal_count;
extern const td_range td_ranges[];

/* The lowest bytes of the stack, where every access faults; startup sets it up where it can. */
#define TD_STACK_FENCE_BYTES 256u

/* The linker script's. */
extern uint8_t td_stack_low[];
extern uint8_t td_stack_high[];
extern uint8_t td_data_start[];
extern uint8_t td_data_end[];
extern const uint8_t td_data_load[];
extern uint8_t td_bss_start[];
extern uint8_t td_bss_end[];

/* core/: what every core of an architecture has. */
void td_core_init(void);
void td_core_enable_interrupt(uint32_t number);
uint32_t td_core_mask(void); /* the earlier state, for td_core_unmask; 0: interrupts were on */
void td_core_unmask(uint32_t state);
void td_core_wait(void);
void td_core_halt(void) __attribute__((noreturn));
void td_core_reset(void) __attribute__((noreturn));

void td_boot(void) __attribute__((noreturn));
void td_clock_init(void);

/* drivers/uart/: one of them is linked. */
void td_uart_init(uint32_t clock_hz);
void td_uart_drain(void);
void td_uart_isr(void);
bool td_uart_is_on(void);

/* drivers/interrupts/, for cores without an interrupt controller of their own: one is linked, and
 * td_core_enable_interrupt is its. */
void td_interrupts_start(void);     /* before the first one is enabled; the core masks them */
void td_interrupts_stop(void);      /* none wakes the core any more */
uint32_t td_interrupts_claim(void); /* the number of the most urgent one; 0: none */
void td_interrupts_complete(uint32_t number);

/* src/td_uart.c: the driver hands over what it received. */
void td_uart_received(uint8_t byte);

/* drivers/counter/: one of them is linked. */
void td_counter_start(void);
bool td_counter_is_of_instructions(void); /* else of cycles */
uint64_t td_counter_raw(void);

/* src/td_counter.c: measures what a call of td_counter costs. */
void td_counter_calibrate(void);

/* drivers/pins/: one of them is linked. */
void td_pins_init(void);
void td_pin_drive(const td_pin *pin, bool high); /* as an output */

/* src/td_signal.c */
void td_signals_init(void);

#endif
