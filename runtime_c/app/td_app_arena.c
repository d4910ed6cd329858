#include "td_cpu.h"

#include "td_app.h"

/* .bss.*: the compilers then know that it takes no place in the image. Eight-byte aligned for the
 * widest loads. */
uint8_t td_app_arena[TD_APP_ARENA_BYTES]
    __attribute__((section(".bss.td_app_arena"))) TD_ALIGNED(8);
