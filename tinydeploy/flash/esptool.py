"""Flashing Espressif chips with esptool, which pip brings: through the bootloader in their ROM."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from tinydeploy.flash.base import FoundProbe, Progress, work_folder
from tinydeploy.flash.commands import PortTool
from tinydeploy.flash.discover import choose_probe, serial_bridges

_BAUD = 460_800


class Esptool(PortTool):
    """``config`` is ``CHIP/OFFSET``, such as ``esp32c3/0x0``: esptool's name of the chip, and where in flash
    the image begins.

    It works with the bootloader in the chip's ROM alone, without the program that esptool would load into
    RAM: so all that it does can be tested against a model of the ROM. esptool compares MD5 sums in the end.
    """

    name = program = "esptool"
    install = 'pip install "tinydeploy[esptool]"'
    takes = "bin"
    is_tested = True
    stages = (
        (r"Connecting", "connecting"),
        (r"Erasing", "erasing"),
        (r"Writing at|Wrote", "writing"),
        (r"Verifying|Hash of data verified", "verifying"),
    )

    def is_available(self) -> bool:
        return importlib.util.find_spec("esptool") is not None

    def find(self) -> tuple[FoundProbe, ...]:
        return serial_bridges()

    def command(self, image: Path) -> list[str]:
        """The arguments behind ``esptool``, which ``flash`` runs as a module of this Python."""
        chip, _, offset = self.job.probe.config.partition("/")
        line = ["--port", self.port(), "--baud", str(_BAUD)]
        return [
            *(self.program, "--chip", chip, *line, "--no-stub", "--after", "hard-reset"),
            *("write-flash", "--compress", offset or "0x0", str(image)),
        ]

    def flash(self, elf: Path, progress: Progress) -> None:
        if not self.is_available():
            raise self.job.error(
                "esptool is not installed", fix=f"Install it ({self.install}), or use --emulate"
            )
        self.chosen = choose_probe(self.job, self.find())
        with work_folder(self.job) as folder:
            image = self.prepare(elf, folder)
            self.run([sys.executable, "-m", *self.command(image)], progress)
