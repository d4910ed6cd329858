/* Faults and interrupts that nobody expected: registers go out over the serial line, by polling and
 * on a stack of its own, so that a stack overflow is reported too. Then the core halts. */
#include "td_cpu.h"

#include "td_fault.h"
#include "td_internal.h"

enum { FAULT_STACK_WORDS = 128 };

/* What the core pushes on exception entry. */
typedef struct {
    uint32_t r0, r1, r2, r3, r12, lr, pc, xpsr;
} td_frame;

/* What td_fault_entry pushes below it, on the fault stack. */
typedef struct {
    uint32_t r8, r9, r10, r11, r4, r5, r6, r7;
} td_saved;

uint32_t td_fault_stack[FAULT_STACK_WORDS] __attribute__((aligned(8)));

void td_fault_entry(void);
void td_fault_report(const td_frame *frame, const td_saved *saved) __attribute__((noreturn, used));

/* Where the stack overflowed, the core could not push a frame, and the pointer leads nowhere. */
static bool td_frame_exists(const td_frame *frame) {
    return !td_fault_is_of_stack() && td_is_on_stack((uintptr_t)frame, sizeof *frame);
}

static void td_put_frame(const td_frame *frame) {
    td_put_hex(" pc=", frame->pc);
    td_put_hex(" lr=", frame->lr);
    td_put_hex(" xpsr=", frame->xpsr);
    td_put_hex(" r0=", frame->r0);
    td_put_hex(" r1=", frame->r1);
    td_put_hex(" r2=", frame->r2);
    td_put_hex(" r3=", frame->r3);
    td_put_hex(" r12=", frame->r12);
}

static void td_put_saved(const td_saved *saved) {
    td_put_hex(" r4=", saved->r4);
    td_put_hex(" r5=", saved->r5);
    td_put_hex(" r6=", saved->r6);
    td_put_hex(" r7=", saved->r7);
    td_put_hex(" r8=", saved->r8);
    td_put_hex(" r9=", saved->r9);
    td_put_hex(" r10=", saved->r10);
    td_put_hex(" r11=", saved->r11);
}

void td_fault_report(const td_frame *frame, const td_saved *saved) {
    if (td_uart_is_on()) {
        uint32_t exception;
        __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
        td_fault_begin(exception);
        td_put_text(td_frame_exists(frame) ? " stack=ok" : " stack=overflow");
        td_put_hex(" sp=", (uint32_t)(uintptr_t)frame);
        if (td_frame_exists(frame)) {
            td_put_frame(frame);
        }
        td_put_saved(saved);
        td_fault_put_status();
        td_fault_end();
    }
    td_core_halt();
}

/* r0 = the frame on the stack that was in use, r1 = the registers that the core did not push. Only
 * Armv6-M instructions. */
__attribute__((naked)) void td_fault_entry(void) {
    __asm__ volatile("mrs r0, msp\n"
                     "mov r1, lr\n"
                     "movs r2, #4\n"
                     "tst r1, r2\n"
                     "beq 1f\n"
                     "mrs r0, psp\n"
                     "1: ldr r2, 2f\n"
                     "mov sp, r2\n"
                     "push {r4-r7}\n"
                     "mov r4, r8\n"
                     "mov r5, r9\n"
                     "mov r6, r10\n"
                     "mov r7, r11\n"
                     "push {r4-r7}\n"
                     "mov r1, sp\n"
                     "ldr r2, 3f\n"
                     "bx r2\n"
                     ".balign 4\n"
                     "2: .word td_fault_stack + 512\n"
                     "3: .word td_fault_report\n");
}
