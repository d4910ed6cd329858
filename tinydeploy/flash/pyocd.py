"""Flashing with pyOCD, which pip brings: CMSIS-DAP and ST-LINK probes. ``pyocd_worker`` is what it runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from tinydeploy.flash.base import Progress
from tinydeploy.flash.discover import choose_probe
from tinydeploy.flash.tool import CommandTool


class PyOcd(CommandTool):
    """``config`` is pyOCD's name of the target. A process of its own ends hung probes too."""

    name = program = "pyocd"
    install = 'pip install "tinydeploy[pyocd]"'
    is_tested = True
    stages = ((r"writing", "writing"), (r"verifying", "verifying"))

    def is_available(self) -> bool:
        return importlib.util.find_spec("pyocd") is not None

    def command(self, image: Path) -> list[str]:
        worker = [sys.executable, "-m", "tinydeploy.flash.pyocd_worker"]
        serial = [self.job.serial] if self.job.serial else []
        board = [str(self.job.board.path), self.job.probe.config]
        return [*worker, *board, str(image), *serial]

    def flash(self, elf: Path, progress: Progress) -> None:
        if not self.is_available():
            raise self.job.error(
                "pyocd is not installed", fix=f"Install it ({self.install}), or use --emulate"
            )
        self.chosen = choose_probe(self.job, self.find())
        self.run(self.command(elf), progress)
