/* The block by which an RP2350's boot ROM recognises an image (datasheet 5.9): an executable for
 * its Arm cores in secure state, started through the vector table 512 bytes into flash. */
#include "td_cpu.h"

#include <stdint.h>

#define BLOCK_START 0xFFFFDED3u
#define BLOCK_END 0xAB123579u

/* An item's type in the lowest byte, then its words. */
#define IMAGE_TYPE 0x42u
#define VECTOR_TABLE 0x03u
#define LAST 0xFFu
#define ITEM(type, words) ((type) | ((uint32_t)(words) << 8))

#define EXECUTABLE (1u << 16)
#define SECURE (2u << 20)
#define RP2350 (1u << 28) /* the field before, 0, means Arm */

#define VECTORS_AT 0x10000200u
#define THIS_BLOCK_ALONE 0u

__attribute__((section(".boot"), used)) static const uint32_t td_image_def[] = {
    BLOCK_START,           ITEM(IMAGE_TYPE, 1) | EXECUTABLE | SECURE | RP2350,
    ITEM(VECTOR_TABLE, 2), VECTORS_AT,
    ITEM(LAST, 3), /* words of the items before it */
    THIS_BLOCK_ALONE,      BLOCK_END,
};
