/* What the slots need of a flash memory; runtime_c/drivers/flash holds one file per type of flash
 * interface, and one of them is linked. Both functions return once the cells hold the result and
 * the core reads it, or false where the hardware reported an error or did not answer. */
#ifndef TD_FLASH_H
#define TD_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the two slots lie: rendered from the chip's file. */
typedef struct {
    const uint8_t *base;
    uint32_t first_unit; /* the driver's number of the slot's first erase unit */
} td_slot_place;

typedef struct {
    uint32_t slot_bytes;    /* a multiple of erase_bytes */
    uint32_t erase_bytes;   /* what one erasure covers */
    uint32_t program_bytes; /* what one program operation writes; a power of two up to 32 */
    td_slot_place place[2];
} td_slot_memory;

extern const td_slot_memory td_slot_flash;

/* Sets all bytes of a unit, which lies at `base`, to 0xFF. */
bool td_flash_erase(uint32_t unit, const uint8_t *base, size_t size);

/* Writes erased cells; `to` and `size` are multiples of program_bytes, in ascending order. */
bool td_flash_program(const uint8_t *to, const uint8_t *from, size_t size);

#endif
