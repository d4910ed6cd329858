"""Boards without hardware: the same image runs in QEMU or on our own model of the chip."""

from tinydeploy.emulate.base import Emulator
from tinydeploy.emulate.line import Line
from tinydeploy.emulate.select import available_emulators, open_emulator, start_emulator
from tinydeploy.emulate.server import LineServer

__all__ = ["Emulator", "Line", "LineServer", "available_emulators", "open_emulator", "start_emulator"]
