/* The 256 bytes at the start of an RP2040's flash (datasheet 2.8.1.3.1). The boot ROM copies them
 * to the end of SRAM, checks the CRC in their last word and jumps to them. They let the flash be
 * read as memory: by serial read, command 03h with 24 address bits, which every SPI flash knows
 * without being asked first; then they start the image through its vector table, 256 bytes into
 * flash.
 *
 * The code must not care where it lies. It may use all registers; nothing returns to the boot ROM.
 */
#include "td_cpu.h"

/* Offsets of the SSI (4.10): CTRLR0 0x00, CTRLR1 0x04, SSIENR 0x08, SER 0x10, BAUDR 0x14 and, out
 * of reach of a short store, SPI_CTRLR0 0xF4.
 *
 * The last word is the CRC-32 of the 252 bytes before it, polynomial 0x04C11DB7, most significant
 * bit first, from 0xFFFFFFFF, not inverted at the end. A changed block needs a new one: the test of
 * boot blocks tells it. */
__asm__(".syntax unified\n"
        ".pushsection .boot, \"ax\", %progbits\n"
        ".balign 4\n"
        ".thumb\n"
        "td_boot2:\n"
        "ldr r4, 1f\n"
        "movs r0, #0\n"
        "str r0, [r4, #0x08]\n" /* SSI off: only then it takes settings */
        "movs r1, #4\n"
        "str r1, [r4, #0x14]\n" /* 125 MHz / 4 = 31 MHz; 03h ends at 50 MHz */
        "movs r1, #1\n"
        "str r1, [r4, #0x10]\n" /* the one chip select */
        "ldr r2, 2f\n"
        "str r2, [r4, #0x00]\n" /* one line, frames of 32 bits, read behind a command */
        "str r0, [r4, #0x04]\n" /* one frame per access */
        "ldr r2, 3f\n"
        "movs r3, #0xF4\n"
        "str r2, [r4, r3]\n" /* what is sent for an access: 03h, 24 bits of address */
        "str r1, [r4, #0x08]\n"
        "ldr r2, 4f\n"
        "ldr r3, 5f\n"
        "str r2, [r3]\n" /* VTOR */
        "ldr r0, [r2, #0]\n"
        "ldr r1, [r2, #4]\n"
        "msr msp, r0\n"
        "bx r1\n"
        ".balign 4\n"
        "1: .word 0x18000000\n"                                /* SSI */
        "2: .word (31 << 16) | (3 << 8)\n"                     /* DFS_32, TMOD */
        "3: .word (0x03 << 24) | (2 << 8) | ((24 / 4) << 2)\n" /* XIP_CMD, INST_L, ADDR_L */
        "4: .word 0x10000100\n"                                /* the vectors */
        "5: .word 0xE000ED08\n"                                /* VTOR */
        ".org td_boot2 + 252\n"
        ".word 0xCA823491\n"
        ".popsection\n");
