"""Chips and boards as data: what the memory map, the clock, the pins and the serial line are."""

from tinydeploy.boards.catalogue import all_boards, board_folders, load_board
from tinydeploy.boards.chip_file import CPU_KEYS
from tinydeploy.boards.model import (
    Action,
    Block,
    Board,
    Chip,
    Clock,
    Counter,
    EmulatorChoice,
    Kind,
    Layout,
    Pin,
    Probe,
    QemuProperty,
    Region,
    RegisterStep,
    Tier,
    Uart,
)

__all__ = [
    "CPU_KEYS",
    "Action",
    "Block",
    "Board",
    "Chip",
    "Clock",
    "Counter",
    "EmulatorChoice",
    "Kind",
    "Layout",
    "Pin",
    "Probe",
    "QemuProperty",
    "Region",
    "RegisterStep",
    "Tier",
    "Uart",
    "all_boards",
    "board_folders",
    "load_board",
]
