/* Runs the self-test of the model `NAME` and sends "STATUS BAD_STEP" over the UART; then it halts,
 * which ends simavr. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdlib.h>

#include HEADER

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static uint8_t arena[ARENA_BYTES] TD_ALIGNED(8);
static JOIN(NAME, _t) model;

static void put(const char *text) {
    for (; *text != '\0'; text++) {
        loop_until_bit_is_set(UCSR0A, UDRE0);
        UDR0 = (uint8_t)*text;
    }
}

int main(void) {
    char digits[12];
    uint32_t bad_step = 0;
    UCSR0B = (uint8_t)(1u << TXEN0);
    td_status status = JOIN(NAME, _init)(&model, arena, sizeof arena);
    if (status == TD_OK) {
        status = JOIN(NAME, _selftest)(&model, &bad_step);
    }
    put(itoa((int)status, digits, 10));
    put(" ");
    put(ltoa((long)bad_step, digits, 10));
    put("\n");
    loop_until_bit_is_set(UCSR0A, UDRE0);
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
