"""What a Cortex-M7 tells debuggers about itself: its ROM table, which leads to the system control space."""

from __future__ import annotations

ROM_TABLE = 0xE00F_D000
_SYSTEM_CONTROL = 0xE000_E000
_PRESENT = 3
# Registers PIDR4, PIDR0 to PIDR3 and CIDR0 to CIDR3 of each component (Cortex-M7 TRM, tables of section 9).
_PERIPHERAL_4, _PERIPHERAL_0, _COMPONENT_0 = 0xFD0, 0xFE0, 0xFF0
_COMPONENTS: dict[int, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    ROM_TABLE: (0x00, (0x49, 0x04, 0x0A, 0x00), (0x0D, 0x10, 0x05, 0xB1)),
    _SYSTEM_CONTROL: (0x04, (0x0C, 0xB0, 0x0B, 0x00), (0x0D, 0xE0, 0x05, 0xB1)),
}


def rom_table() -> dict[int, int]:
    """Words by their addresses."""
    words = {ROM_TABLE: (_SYSTEM_CONTROL - ROM_TABLE & 0xFFFF_F000) | _PRESENT, ROM_TABLE + 4: 0}
    for base, (fourth, peripheral, component) in _COMPONENTS.items():
        words[base + _PERIPHERAL_4] = fourth
        words |= {base + _PERIPHERAL_0 + 4 * index: value for index, value in enumerate(peripheral)}
        words |= {base + _COMPONENT_0 + 4 * index: value for index, value in enumerate(component)}
    return words
