"""Images onto real boards: probes, bootloaders, drives. Emulated boards are ``tinydeploy.emulate``."""

from tinydeploy.flash.base import Flasher, FoundProbe, Job, Progress
from tinydeploy.flash.discover import serial_probes
from tinydeploy.flash.select import flash_board, flasher_for, flashers_for

__all__ = [
    "Flasher",
    "FoundProbe",
    "Job",
    "Progress",
    "flash_board",
    "flasher_for",
    "flashers_for",
    "serial_probes",
]
