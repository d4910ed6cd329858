/* What the boot ROM of an i.MX RT1060 reads from a serial flash of 8 MiB (reference manual, chapter
 * System Boot): at its start how to read the flash, 4 KiB further where the image starts.
 *
 * The flash is read with command 3Bh, two data lines, at 60 MHz: every flash knows it, without a
 * bit in a status register that would have to be set for four. The core runs from flash behind its
 * caches. */
#include "td_cpu.h"

#include <stdint.h>

#define FLASH_AT 0x60000000u
#define FLASH_BYTES 0x00800000u
#define IVT_OFFSET 0x1000u

#define TAG_FCFB 0x42464346u
#define VERSION 0x56010400u
#define SERIAL_NOR 1u
#define TWO_LINES 2u
#define CLOCK_60_MHZ 3u
#define CS_CYCLES 3u

/* Instructions of FlexSPI's look-up table: operation, lines (0 = one, 1 = two), operand. */
#define STEP(operation, lines, operand) (((operation) << 10) | ((lines) << 8) | (operand))
#define STEPS(first, second) ((first) | ((second) << 16))
#define COMMAND 0x01u
#define ADDRESS 0x02u
#define READ 0x09u
#define DUMMY 0x0Cu
#define READ_DUAL 0x3Bu

#define IVT_HEADER 0x402000D1u /* tag, 32 bytes, version 4.0 */

typedef struct {
    uint32_t tag, version, reserved_08;
    uint8_t sample_clock, cs_hold, cs_setup, column_address_bits;
    uint32_t device_mode[3];
    uint32_t configuration_commands[9];
    uint32_t controller_options;
    uint8_t device_type, lines, clock, custom_sequences;
    uint32_t reserved_48[2];
    uint32_t bytes[4]; /* at A1, A2, B1, B2 */
    uint32_t pad_overrides[4];
    uint32_t timeout_ms, command_interval, data_valid_time, busy_bit;
    uint32_t look_up[64]; /* sequences of four words; the first reads */
    uint32_t custom[16];
    uint32_t page_bytes, sector_bytes, command_clock, flash_type, block_bytes;
    uint32_t reserved_1d4[11];
} td_flexspi_configuration;

typedef struct {
    uint32_t header;
    uintptr_t entry; /* the vector table */
    uint32_t reserved_08, device_configuration, boot_data, self, signature, reserved_1c;
    uint32_t image_at, image_bytes, is_plugin;
} td_image_vectors;

typedef struct {
    td_flexspi_configuration configuration;
    uint8_t gap[IVT_OFFSET - sizeof(td_flexspi_configuration)];
    td_image_vectors vectors;
} td_boot_header;

_Static_assert(sizeof(td_flexspi_configuration) == 512u, "of the boot ROM");
_Static_assert(sizeof(td_image_vectors) == 32u + 12u, "of the boot ROM");

extern const uintptr_t td_vectors[];

__attribute__((section(".boot"), used)) static const td_boot_header td_flexspi_header = {
    .configuration =
        {
            .tag = TAG_FCFB,
            .version = VERSION,
            .cs_hold = CS_CYCLES,
            .cs_setup = CS_CYCLES,
            .device_type = SERIAL_NOR,
            .lines = TWO_LINES,
            .clock = CLOCK_60_MHZ,
            .bytes = {FLASH_BYTES},
            .look_up =
                {
                    STEPS(STEP(COMMAND, 0u, READ_DUAL), STEP(ADDRESS, 0u, 24u)),
                    STEPS(STEP(DUMMY, 1u, 8u), STEP(READ, 1u, 4u)),
                },
            .page_bytes = 256u,
            .sector_bytes = 4096u,
            .block_bytes = 65536u,
        },
    .vectors =
        {
            .header = IVT_HEADER,
            .entry = (uintptr_t)td_vectors,
            .boot_data = FLASH_AT + IVT_OFFSET + 32u,
            .self = FLASH_AT + IVT_OFFSET,
            .image_at = FLASH_AT,
            .image_bytes = FLASH_BYTES,
        },
};
