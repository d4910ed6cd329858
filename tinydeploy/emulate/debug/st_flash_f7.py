"""What a probe reads of an STM32F74x or F75x before it programs it (RM0385 sections 40 and 41)."""

from __future__ import annotations

from tinydeploy.emulate.blocks.st_flash_f7 import ProgrammableFlash

DEVICE_ID = 0x1001_6449
DEVICE_ID_AT = 0xE004_2000
FLASH_KIB_AT = 0x1FF0_F442
CORE_TAP = 0x5BA0_0477
BOUNDARY_TAP = 0x0644_9041
BOUNDARY_IR_BITS = 5

__all__ = ["ProgrammableFlash"]
