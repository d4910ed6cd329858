"""Flashing with OpenOCD: its own file for the board, its ``program`` command."""

from __future__ import annotations

import re
from pathlib import Path

from tinydeploy.flash.base import Job
from tinydeploy.flash.cpuid import cpuid_part, part_name
from tinydeploy.flash.discover import choose_probe
from tinydeploy.flash.tool import CommandTool

_CPUID = re.compile(r"tinydeploy: CPUID (0x[0-9a-f]{8})")
_CPUID_AT = 0xE000ED00
_PART_MASK = 0xFFF0


class OpenOcd(CommandTool):
    """A board behind a probe that OpenOCD knows. The configuration is OpenOCD's, or a file beside the board's."""

    name = program = "openocd"
    install = "apt-get install openocd"
    is_tested = True
    stages = (
        (r"Programming Started", "writing"),
        (r"Verify Started", "verifying"),
        (r"Resetting Target", "starting"),
    )

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._serial = job.serial

    def command(self, elf: Path) -> list[str]:
        """The arguments behind ``openocd``; paths are quoted for OpenOCD's Tcl."""
        chosen = ["-c", f"adapter serial {_tcl_word(self._serial)}"] if self._serial else []
        program = f"program {_tcl_word(str(elf.resolve()))} verify reset exit"
        return [self.program, "-f", self._config(), *chosen, *self._check_core(), "-c", program]

    def find_serial(self) -> None:
        """Settle on one of the probes that are plugged in."""
        found = choose_probe(self.job, self.find())
        self._serial = found.serial if found is not None and self.job.serial is not None else self.job.serial

    def check(self, output: str) -> None:
        found = _CPUID.search(output)
        if found is not None:
            wanted = part_name(cpuid_part(self.job.board.chip.cpu) or 0)
            raise self.job.error(
                f"the connected chip is not this board's: its core is {part_name(int(found[1], 16))}, "
                f"{self.job.board.chip.title} has {wanted}",
                fix="Give --board the board that is plugged in; `tinydeploy boards` lists them",
            )

    def _config(self) -> str:
        beside = self.job.board.path.parent / self.job.probe.config
        return str(beside.resolve()) if beside.is_file() else self.job.probe.config

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
