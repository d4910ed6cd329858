/* Traps: interrupts go to their driver; faults, and interrupts that nobody expected, go out over
 * the serial line, by polling and on a stack of their own. Then the core halts. */
#include "td_cpu.h"

#include "td_board_config.h"
#include "td_fault.h"
#include "td_internal.h"

#define CAUSE_EXTERNAL_INTERRUPT 0x8000000Bu

enum { FAULT_STACK_WORDS = 160, FIRST_INTERRUPT = 16 };

/* What td_trap_entry stores on a fault, at the top of the fault stack: x0 (unused) to x31. */
typedef struct {
    uint32_t x[32];
} td_frame;

uint32_t td_fault_stack[FAULT_STACK_WORDS] __attribute__((aligned(16)));

void td_trap_entry(void);
void td_trap_interrupt(void) __attribute__((used));
void td_fault_report(const td_frame *frame) __attribute__((noreturn, used));

static void td_report(uint32_t exception, const td_frame *frame) {
    static const char *const names[32] = {
        "",     " ra=", " sp=", " gp=", " tp=",  " t0=",  " t1=", " t2=", " s0=", " s1=", " a0=",
        " a1=", " a2=", " a3=", " a4=", " a5=",  " a6=",  " a7=", " s2=", " s3=", " s4=", " s5=",
        " s6=", " s7=", " s8=", " s9=", " s10=", " s11=", " t3=", " t4=", " t5=", " t6=",
    };
    uint32_t cause, value, pc;
    __asm__ volatile("csrr %0, mcause\n csrr %1, mtval\n csrr %2, mepc"
                     : "=r"(cause), "=r"(value), "=r"(pc));
    td_fault_begin(exception);
    const bool ok = frame == NULL || td_is_on_stack(frame->x[2], 0u);
    td_put_text(ok ? " stack=ok" : " stack=overflow");
    td_put_hex(" pc=", pc);
    td_put_hex(" mcause=", cause);
    td_put_hex(" mtval=", value);
    for (uint32_t i = 1u; frame != NULL && i < 32u; i++) {
        td_put_hex(names[i], frame->x[i]);
    }
    td_fault_end();
}

void td_fault_report(const td_frame *frame) {
    if (td_uart_is_on()) {
        uint32_t cause;
        __asm__ volatile("csrr %0, mcause" : "=r"(cause));
        td_report(cause, frame);
    }
    td_core_halt();
}

void td_trap_interrupt(void) {
    uint32_t cause;
    __asm__ volatile("csrr %0, mcause" : "=r"(cause));
    const uint32_t number = cause == CAUSE_EXTERNAL_INTERRUPT ? td_interrupts_claim() : 0u;
    if (number == TD_UART_IRQ) {
        td_uart_isr();
        td_interrupts_complete(number);
    } else if (number != 0u || cause != CAUSE_EXTERNAL_INTERRUPT) {
        td_report(FIRST_INTERRUPT + number, NULL);
        td_core_halt();
    }
}

/* An interrupt runs on the stack that is in use and saves what C functions may change. A fault
 * leaves that stack alone. */
__attribute__((naked, aligned(4))) void td_trap_entry(void) {
    __asm__ volatile("csrw mscratch, t0\n"
                     "csrr t0, mcause\n"
                     "bgez t0, 1f\n"
                     "csrr t0, mscratch\n"
                     "addi sp, sp, -64\n"
                     "sw ra, 0(sp)\n"
                     "sw t0, 4(sp)\n"
                     "sw t1, 8(sp)\n"
                     "sw t2, 12(sp)\n"
                     "sw t3, 16(sp)\n"
                     "sw t4, 20(sp)\n"
                     "sw t5, 24(sp)\n"
                     "sw t6, 28(sp)\n"
                     "sw a0, 32(sp)\n"
                     "sw a1, 36(sp)\n"
                     "sw a2, 40(sp)\n"
                     "sw a3, 44(sp)\n"
                     "sw a4, 48(sp)\n"
                     "sw a5, 52(sp)\n"
                     "sw a6, 56(sp)\n"
                     "sw a7, 60(sp)\n"
                     "call td_trap_interrupt\n"
                     "lw ra, 0(sp)\n"
                     "lw t0, 4(sp)\n"
                     "lw t1, 8(sp)\n"
                     "lw t2, 12(sp)\n"
                     "lw t3, 16(sp)\n"
                     "lw t4, 20(sp)\n"
                     "lw t5, 24(sp)\n"
                     "lw t6, 28(sp)\n"
                     "lw a0, 32(sp)\n"
                     "lw a1, 36(sp)\n"
                     "lw a2, 40(sp)\n"
                     "lw a3, 44(sp)\n"
                     "lw a4, 48(sp)\n"
                     "lw a5, 52(sp)\n"
                     "lw a6, 56(sp)\n"
                     "lw a7, 60(sp)\n"
                     "addi sp, sp, 64\n"
                     "mret\n"
                     "1: la t0, td_fault_stack + 512\n"
                     "sw x1, 4(t0)\n"
                     "sw x2, 8(t0)\n"
                     "sw x3, 12(t0)\n"
                     "sw x4, 16(t0)\n"
                     "sw x6, 24(t0)\n"
                     "sw x7, 28(t0)\n"
                     "sw x8, 32(t0)\n"
                     "sw x9, 36(t0)\n"
                     "sw x10, 40(t0)\n"
                     "sw x11, 44(t0)\n"
                     "sw x12, 48(t0)\n"
                     "sw x13, 52(t0)\n"
                     "sw x14, 56(t0)\n"
                     "sw x15, 60(t0)\n"
                     "sw x16, 64(t0)\n"
                     "sw x17, 68(t0)\n"
                     "sw x18, 72(t0)\n"
                     "sw x19, 76(t0)\n"
                     "sw x20, 80(t0)\n"
                     "sw x21, 84(t0)\n"
                     "sw x22, 88(t0)\n"
                     "sw x23, 92(t0)\n"
                     "sw x24, 96(t0)\n"
                     "sw x25, 100(t0)\n"
                     "sw x26, 104(t0)\n"
                     "sw x27, 108(t0)\n"
                     "sw x28, 112(t0)\n"
                     "sw x29, 116(t0)\n"
                     "sw x30, 120(t0)\n"
                     "sw x31, 124(t0)\n"
                     "csrr t1, mscratch\n"
                     "sw t1, 20(t0)\n"
                     "mv a0, t0\n"
                     "mv sp, t0\n"
                     "j td_fault_report\n");
}
