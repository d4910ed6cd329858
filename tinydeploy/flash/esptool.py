"""Flashing Espressif chips with esptool, which pip brings: through the bootloader in their ROM."""

from __future__ import annotations

import shutil
from pathlib import Path

from tinydeploy.flash.base import no_progress
from tinydeploy.flash.commands import PortTool


class Esptool(PortTool):
    """``config`` is ``CHIP/OFFSET``, such as ``esp32c3/0x0``: where in flash the chip looks for its image."""

    name = program = "esptool"
    install = "pip install esptool"
    stages = ((r"Erasing", "erasing"), (r"Writing at", "writing"), (r"Hash of data verified", "verified"))

    def prepare(self, elf: Path, folder: Path) -> Path:
        """The image with the header and the checksums that the ROM wants."""
        image = folder / "firmware.bin"
        tool = shutil.which(self.program) or self.program
        self.run([tool, "--chip", self._chip, "elf2image", "-o", str(image), str(elf)], no_progress)
        return image

    def command(self, image: Path) -> list[str]:
        offset = self.job.probe.config.partition("/")[2] or "0x0"
        where = ["--chip", self._chip, "--port", self.port(), "--after", "hard-reset"]
        return [self.program, *where, "write-flash", offset, str(image)]

    @property
    def _chip(self) -> str:
        return self.job.probe.config.partition("/")[0]
