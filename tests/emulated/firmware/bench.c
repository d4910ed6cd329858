/* A test bench: reports its clock in three lines, then answers commands of one byte with one line
 * each. */
#include "td_board.h"

static void put_number(uint64_t value) {
    uint8_t text[21];
    size_t at = sizeof text;
    text[--at] = (uint8_t)'\n';
    do {
        text[--at] = (uint8_t)('0' + (char)(value % 10u));
        value /= 10u;
    } while (value != 0u);
    td_uart_write(&text[at], sizeof text - at);
}

/* A loop of three instructions; an instruction that no core has; an address where no board has
 * anything. */
#if defined(__riscv)
#define SPIN "1: addi %0, %0, -1\n nop\n bnez %0, 1b\n"
#define UNDEFINED "unimp"
#define LOW_REGISTER "+r"
#else
#define SPIN ".syntax unified\n1: subs %0, %0, #1\n nop\n bne 1b\n"
#define UNDEFINED "udf #0"
#define LOW_REGISTER "+l"
#endif
#define NOWHERE 0xE8000000u

static void spin(uint32_t rounds) {
    __asm__ volatile(SPIN : LOW_REGISTER(rounds)::"cc");
}

static void measure(void) {
    const uint64_t start = td_counter();
    spin(100000u);
    const uint64_t stop = td_counter();
    put_number(stop - start);
}

/* Deeper than any stack. */
static int recurse(int depth) {
    volatile int here[64];
    here[0] = depth;
    return depth == 0 ? 0 : recurse(depth - 1) + here[0];
}

static volatile float one = 1.0f;

static void command(uint8_t byte) {
    volatile int zero = 0;
    switch (byte) {
    case 'm':
        measure();
        break;
    case 'f':
        put_number((uint64_t)(one * 3.0f));
        break;
    case 'b':
        put_number(*(volatile uint32_t *)(uintptr_t)NOWHERE);
        break;
    case 'z':
        put_number((uint64_t)(10 / zero));
        break;
    case 'u':
        __asm__ volatile(UNDEFINED);
        break;
    case 'o':
        put_number((uint64_t)recurse(1 << 20));
        break;
    case 'r':
        td_restart();
    default: /* an echo */
        put_number(byte);
        break;
    }
}

void td_app_main(void) {
    const td_clock_state *clock = td_clock();
    put_number((uint64_t)clock->status);
    put_number(clock->failed_step);
    put_number(clock->core_hz);
    for (;;) {
        uint8_t byte;
        if (td_uart_read(&byte, 1u) == 1u) {
            command(byte);
        } else {
            td_uart_wait();
        }
    }
}
