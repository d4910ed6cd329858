"""Our own emulator of whole chips on Unicorn: composed of the IP blocks that the chip's file names."""

from tinydeploy.emulate.chip.emulator import UnicornEmulator
from tinydeploy.emulate.chip.trace import BlockTrace

__all__ = ["BlockTrace", "UnicornEmulator"]
