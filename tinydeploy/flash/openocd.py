"""Flashing with OpenOCD: its own file for the board, its ``program`` command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tinydeploy.boards import Probe
from tinydeploy.errors import ToolError
from tinydeploy.toolchain.process import run_tool

_NO_PROBE = re.compile(
    r"open failed|unable to open|no device found|Could not find.*device|not found on", re.I
)
_SERIAL = re.compile(r"[A-Za-z0-9:._-]+\Z")


class OpenOcd:
    """One board behind a probe that OpenOCD knows."""

    name = "openocd"

    def __init__(self, board: str, probe: Probe, serial: str | None = None) -> None:
        if serial is not None and not _SERIAL.match(serial):
            raise ToolError(
                f"probe {serial!r} is not a serial number", fix="Give --probe as the tool prints it"
            )
        self._board = board
        self._probe = probe
        self._serial = serial

    def command(self, elf: Path) -> list[str]:
        """The arguments behind ``openocd``; the path is quoted for OpenOCD's Tcl."""
        chosen = ["-c", f"adapter serial {self._serial}"] if self._serial else []
        program = f"program {_tcl_word(str(elf.resolve()))} verify reset exit"
        return [self.name, "-f", self._probe.config, *chosen, "-c", program]

    def flash(self, elf: Path) -> None:
        where = f"board {self._board}"
        path = shutil.which(self.name)
        if path is None:
            raise ToolError(
                "openocd is not on PATH",
                where=where,
                fix="Install it (apt-get install openocd), or use --emulate",
            )
        try:
            run_tool([path, *self.command(elf)[1:]], doing=where)
        except ToolError as error:
            if _NO_PROBE.search(error.what):
                raise ToolError(
                    "no debug probe is connected, or this user may not open it",
                    where=where,
                    fix="Connect the board's debug port, or use --emulate",
                ) from error
            raise


def _tcl_word(text: str) -> str:
    """A text as one word of Tcl."""
    return re.sub(r"([^A-Za-z0-9_./:-])", r"\\\1", text)
