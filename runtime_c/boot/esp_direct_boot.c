/* Direct boot of Espressif's RISC-V chips: the ROM finds the mark at the start of the flash, maps
 * the flash for code and for data, and jumps behind it (ESP32-C3 from silicon revision 3 on). */
#include "td_cpu.h"

#include <stdint.h>

#define DIRECT_BOOT 0xAEDB041Du

extern const uint32_t td_direct_boot[2];

__attribute__((section(".boot"), used))
const uint32_t td_direct_boot[2] = {DIRECT_BOOT, DIRECT_BOOT};
