/* The interrupt matrix of the ESP32-C3 and the controller behind it (TRM 1.5, 8). The matrix leads
 * each peripheral to one of the core's 31 lines. All go to line 11, so that their cause is the
 * number that RISC-V gives to external interrupts. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_internal.h"

#define STATUS (TD_INTERRUPTS_BASE + 0x0F8u) /* a bit per peripheral */
#define LINES_ENABLED (TD_INTERRUPTS_BASE + 0x104u)
#define LINE_TYPES (TD_INTERRUPTS_BASE + 0x108u) /* 0: level */
#define LINE_PRIORITY (TD_INTERRUPTS_BASE + 0x114u)
#define THRESHOLD (TD_INTERRUPTS_BASE + 0x194u)

enum { LINE = 11, BITS_PER_REGISTER = 32 };

void td_esp_vectors(void);

/* This core enters traps by a table, of one jump for exceptions and one per line, at a multiple of
 * 256 bytes. */
__attribute__((naked, used, aligned(256))) void td_esp_vectors(void) {
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".option norelax\n"
                     ".rept 32\n"
                     "j td_trap_entry\n"
                     ".endr\n"
                     ".option pop\n");
}

static volatile uint32_t *td_line_of(uint32_t peripheral) {
    return td_register(TD_INTERRUPTS_BASE + 4u * peripheral);
}

void td_interrupts_start(void) {
    __asm__ volatile("csrw mtvec, %0" ::"r"((uintptr_t)td_esp_vectors | 1u) : "memory");
    *td_register(LINES_ENABLED) = 0u;
    for (uint32_t i = 0u; i < TD_INTERRUPT_COUNT; i++) {
        *td_line_of(i) = 0u; /* to no line */
    }
    *td_register(LINE_TYPES) = 0u;
    *td_register(LINE_PRIORITY + 4u * LINE) = 1u;
    *td_register(THRESHOLD) = 1u; /* the least priority that is let through */
}

void td_interrupts_stop(void) {
    *td_register(LINES_ENABLED) = 0u;
}

void td_core_enable_interrupt(uint32_t number) {
    *td_line_of(number) = LINE;
    *td_register(LINES_ENABLED) |= 1u << LINE;
}

uint32_t td_interrupts_claim(void) {
    for (uint32_t first = 0u; first < TD_INTERRUPT_COUNT; first += BITS_PER_REGISTER) {
        uint32_t status = *td_register(STATUS + first / 8u);
        for (uint32_t i = first; status != 0u; i++, status >>= 1) {
            if ((status & 1u) != 0u && *td_line_of(i) == LINE) {
                return i;
            }
        }
    }
    return 0u;
}

/* Lines are level-triggered: the peripheral takes its request back. */
void td_interrupts_complete(uint32_t number) {
    (void)number;
}
