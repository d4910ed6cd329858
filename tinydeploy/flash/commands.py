"""Makers' flash tools: their command lines, not tested beyond that, for lack of their hardware."""

from __future__ import annotations

from pathlib import Path

from tinydeploy.flash.base import FoundProbe
from tinydeploy.flash.discover import serial_probes
from tinydeploy.flash.tool import CommandTool


class PortTool(CommandTool):
    """A tool that talks to a bootloader on a serial port."""

    def find(self) -> tuple[FoundProbe, ...]:
        return serial_probes()

    def port(self) -> str:
        """The port of the probe that was found, or what ``--probe`` says."""
        if self.chosen is not None:
            return self.chosen.port
        if self.job.serial is None:
            raise self.job.error("no board is plugged in", fix="Connect it, or give its port with --probe")
        return self.job.serial


class Avrdude(PortTool):
    """``config`` is ``PART/PROGRAMMER``, such as ``atmega328p/arduino``. It verifies by itself."""

    name = program = "avrdude"
    install = "apt-get install avrdude"
    takes = "hex"
    stages = ((r"Writing", "writing"), (r"Reading", "verifying"))

    def command(self, image: Path) -> list[str]:
        part, _, programmer = self.job.probe.config.partition("/")
        device = ["-p", part, "-c", programmer, "-P", self.port()]
        return [self.program, *device, "-D", "-U", f"flash:w:{image}:i"]


class Bossac(PortTool):
    """``config`` is the application's offset, such as ``0x2000``; 0x0 where the bootloader adds it."""

    name = program = "bossac"
    install = "apt-get install bossa-cli"
    takes = "bin"
    stages = ((r"Write", "writing"), (r"Verify", "verifying"))

    def command(self, image: Path) -> list[str]:
        options = ["-e", "-w", "-v", "-R", "--offset", self.job.probe.config]
        return [self.program, "--port", self.port().removeprefix("/dev/"), *options, str(image)]


class Teensy(CommandTool):
    """``config`` is the loader's name of the board, such as ``TEENSY41``. Its protocol cannot verify."""

    name = "teensy"
    program = "teensy_loader_cli"
    install = "apt-get install teensy-loader-cli"
    takes = "hex"
    stages = ((r"Programming", "writing"), (r"Booting", "starting"))

    def find(self) -> tuple[FoundProbe, ...]:
        return ()

    def command(self, image: Path) -> list[str]:
        return [self.program, f"--mcu={self.job.probe.config}", "-w", "-s", "-v", str(image)]


class CubeProgrammer(CommandTool):
    """ST's own tool; ``config`` is its port, such as ``SWD``."""

    name = "cubeprogrammer"
    program = "STM32_Programmer_CLI"
    install = "STM32CubeProgrammer from st.com"
    stages = ((r"Download in Progress|Erasing", "writing"), (r"Read progress|Verif", "verifying"))

    def command(self, image: Path) -> list[str]:
        serial = [f"sn={self.job.serial}"] if self.job.serial else []
        connect = ["-c", f"port={self.job.probe.config}", *serial]
        return [self.program, *connect, "-w", str(image), "-v", "-rst"]
