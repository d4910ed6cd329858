/* The report of a fault: what all cores share, and what each of them adds. One line of text between
 * two zero bytes, which end whatever frame was under way:
 * TD-FAULT exception=3 stack=ok pc=... lr=... (docs/emulators.md) */
#ifndef TD_FAULT_H
#define TD_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* src/td_fault.c: sends by polling, from whatever stack it is called on. */
void td_put_text(const char *text);
void td_put_hex(const char *name, uint32_t value);

/* Begins and ends the line. */
void td_fault_begin(uint32_t exception);
void td_fault_end(void);

/* Whether `size` bytes at `at` lie in the stack, above its fence. */
bool td_is_on_stack(uintptr_t at, size_t size);

/* core/: makes the stack's lowest bytes inaccessible, where the core can. */
void td_stack_fence(void);

/* core/: the status registers say that the stack had no room for the exception's frame. */
bool td_fault_is_of_stack(void);

/* core/: the status registers, as " name=value". */
void td_fault_put_status(void);

#endif
