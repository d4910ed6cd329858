"""Flashing with OpenOCD: its own file for the board, its ``program`` command."""

from __future__ import annotations

import re
from pathlib import Path

from tinydeploy.flash.cpuid import cpuid_part
from tinydeploy.flash.tool import CommandTool
from tinydeploy.resources import boards_dir

_CPUID_AT = 0xE000ED00
_PART_MASK = 0xFFF0


class OpenOcd(CommandTool):
    """A board behind a probe that OpenOCD knows; ``config`` is its file, or one beside board files."""

    name = program = "openocd"
    install = "apt-get install openocd"
    is_tested = True
    stages = (
        (r"Programming Started", "writing"),
        (r"Verify Started", "verifying"),
        (r"Resetting Target", "starting"),
    )

    def command(self, image: Path) -> list[str]:
        """The arguments behind ``openocd``; paths are quoted for OpenOCD's Tcl."""
        serial = self.job.serial
        chosen = ["-c", f"adapter serial {_tcl_word(serial)}"] if serial else []
        program = f"program {_tcl_word(str(image.resolve()))} verify reset exit"
        return [self.program, "-f", self._config(), *chosen, *self._check_core(), "-c", program]

    def _config(self) -> str:
        for folder in (self.job.board.path.parent, boards_dir()):
            if (folder / self.job.probe.config).is_file():
                return str((folder / self.job.probe.config).resolve())
        return self.job.probe.config

    def _check_core(self) -> list[str]:
        """Compare the core's identity before anything is erased."""
        part = cpuid_part(self.job.board.chip.cpu)
        if part is None:
            return []
        test = (
            f"if {{![catch {{set td_id [read_memory {_CPUID_AT:#x} 32 1]}}] && "
            f"($td_id & {_PART_MASK:#x}) != {part:#x}}} "
            "{echo [format {tinydeploy: CPUID 0x%08x} $td_id]; shutdown error}"
        )
        return ["-c", "init", "-c", test]


def _tcl_word(text: str) -> str:
    """A text as one word of Tcl."""
    return re.sub(r"([^A-Za-z0-9_./:-])", r"\\\1", text)
