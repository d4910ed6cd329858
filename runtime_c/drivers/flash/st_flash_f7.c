/* Flash interface of the STM32F74x and F75x (RM0385 section 3), words at a time, for supplies from
 * 2.7 to 3.6 V. Option bytes are never touched. The core stalls while it fetches code from the bank
 * that is erased: up to 2 s for a sector of 256 KB. */
#include "td_cpu.h"

#include <string.h>

#include "td_board.h"
#include "td_board_config.h"
#include "td_flash.h"
#include "td_internal.h"

enum { KEYR = 0x04, SR = 0x0C, CR = 0x10 };
enum { WORD = 4, LINE = 32 };

#define KEY_1 0x45670123u
#define KEY_2 0xCDEF89ABu
#define SR_EOP (1u << 0)
#define SR_ERRORS 0xF2u /* operation, write protection, alignment, parallelism, sequence */
#define SR_BSY (1u << 16)
#define CR_PG (1u << 0)
#define CR_SER (1u << 1)
#define CR_SECTOR_AT 3
#define CR_SIZE_WORD (2u << 8)
#define CR_START (1u << 16)
#define CR_LOCK (1u << 31)

#define SCB_DCIMVAC 0xE000EF5Cu /* invalidates the data cache's line of an address */

/* Polls that last longer than the longest operation: each takes 10 cycles or more. */
#define ERASE_POLLS (td_clock()->core_hz / 2u)
#define PROGRAM_POLLS (td_clock()->core_hz / 10000u)

static volatile uint32_t *td_flash_register(uint32_t offset) {
    return td_register(TD_FLASH_BASE + offset);
}

static inline void td_flash_barrier(void) {
    __asm__ volatile("dsb" ::: "memory");
}

/* Waits for the end of what is under way; false: it does not end, or it ended badly. */
static bool td_flash_wait(uint32_t polls) {
    uint32_t status = *td_flash_register(SR);
    while ((status & SR_BSY) != 0u && polls != 0u) {
        polls--;
        status = *td_flash_register(SR);
    }
    return (status & (SR_BSY | SR_ERRORS)) == 0u;
}

static bool td_flash_open(void) {
    *td_flash_register(SR) = SR_EOP | SR_ERRORS; /* what an earlier operation left */
    if ((*td_flash_register(CR) & CR_LOCK) != 0u) {
        *td_flash_register(KEYR) = KEY_1;
        *td_flash_register(KEYR) = KEY_2;
    }
    return (*td_flash_register(CR) & CR_LOCK) == 0u && td_flash_wait(PROGRAM_POLLS);
}

/* Locks the interface and drops what the data cache holds of the changed bytes. */
static void td_flash_close(const uint8_t *base, size_t size) {
    *td_flash_register(CR) = CR_LOCK;
    td_flash_barrier();
#if TD_HAS_CACHES
    const uint32_t first = (uint32_t)(uintptr_t)base & ~(uint32_t)(LINE - 1);
    for (uint32_t at = first; at < (uint32_t)(uintptr_t)base + size; at += LINE) {
        *td_register(SCB_DCIMVAC) = at;
    }
    td_flash_barrier();
#else
    (void)base;
    (void)size;
#endif
}

bool td_flash_erase(uint32_t unit, const uint8_t *base, size_t size) {
    bool done = td_flash_open();
    if (done) {
        *td_flash_register(CR) = CR_SIZE_WORD | CR_SER | unit << CR_SECTOR_AT;
        *td_flash_register(CR) = CR_SIZE_WORD | CR_SER | unit << CR_SECTOR_AT | CR_START;
        td_flash_barrier();
        done = td_flash_wait(ERASE_POLLS);
    }
    td_flash_close(base, size);
    return done;
}

bool td_flash_program(const uint8_t *to, const uint8_t *from, size_t size) {
    bool done = td_flash_open();
    if (done) {
        *td_flash_register(CR) = CR_SIZE_WORD | CR_PG;
    }
    for (size_t at = 0u; done && at < size; at += WORD) {
        uint32_t word;
        memcpy(&word, &from[at], WORD);
        *td_register((uint32_t)(uintptr_t)(to + at)) = word;
        td_flash_barrier(); /* one access each: the store buffer would join them */
        done = td_flash_wait(PROGRAM_POLLS);
    }
    td_flash_close(to, size);
    return done;
}
