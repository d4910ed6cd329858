"""The process that uses pyOCD: ``python -m tinydeploy.flash.pyocd_worker BOARD.toml TARGET IMAGE [SERIAL]``.

What it prints is read by ``pyocd.PyOcd``; the exit status is 1 where anything failed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyocd.core.exceptions import Error as PyOcdError
from pyocd.core.helpers import ConnectHelper
from pyocd.flash.file_programmer import FileProgrammer

from tinydeploy.boards import Board, load_board
from tinydeploy.firmware import read_image
from tinydeploy.flash.cpuid import cpuid_part

_CPUID_AT = 0xE000_ED00
_PART_MASK = 0xFFF0
_PIECE = 4096


def program(board: Board, target: str, elf: Path, serial: str | None, say: Any) -> str:
    """Write, read back and start an image; the reason why it failed, or nothing."""
    session = ConnectHelper.session_with_chosen_probe(
        blocking=False, return_first=True, unique_id=serial, target_override=target, no_config=True
    )
    if session is None:
        return "No connected debug probes"
    with session:
        chip = session.target
        found = chip.read32(_CPUID_AT)
        part = cpuid_part(board.chip.cpu)
        if part is not None and found & _PART_MASK != part:
            return f"tinydeploy: CPUID {found:#010x}"
        chip.reset_and_halt()
        say("writing 0%")
        FileProgrammer(session, progress=lambda done: say(f"writing {done * 100:.0f}%")).program(
            str(elf), file_format="elf"
        )
        say("verifying 0%")
        for segment in read_image(elf).segments:
            for at in range(0, len(segment.data), _PIECE):
                piece = segment.data[at : at + _PIECE]
                if bytes(chip.read_memory_block8(segment.address + at, len(piece))) != piece:
                    return "Verify Failed"
        chip.reset()
    return ""


def main(arguments: Sequence[str]) -> int:
    board, target, elf, *serial = arguments

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    try:
        reason = program(load_board(board), target, Path(elf), serial[0] if serial else None, say)
    except PyOcdError as error:
        reason = f"Error: {error}"
    if reason:
        say(reason)
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
