"""Running a flash tool: its progress as it comes, an end to every wait, one line where it fails."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from abc import ABC, abstractmethod
from pathlib import Path

from tinydeploy.flash.base import FoundProbe, Job, Progress, converted, work_folder
from tinydeploy.flash.cpuid import cpuid_part, part_name
from tinydeploy.flash.discover import choose_probe, debug_probes
from tinydeploy.flash.reasons import explain

TIMEOUT_S = 180.0
_END_S = 5.0
_SHOWN_LINES = 6
_CPUID = re.compile(r"tinydeploy: CPUID (0x[0-9a-f]{8})")
_PERCENT = re.compile(r"(\d{1,3})(?:\.\d+)?\s*%")


class CommandTool(ABC):
    """A flash tool with a command line. ``install`` is the command that brings it.

    ``takes`` is the file that it is given: the ``elf``, or ``hex`` or ``bin`` made from it.
    ``stages`` maps patterns of its output to what a user reads meanwhile.
    """

    name: str
    program: str
    install: str
    takes = "elf"
    is_tested = False
    stages: tuple[tuple[str, str], ...] = ()

    def __init__(self, job: Job) -> None:
        self.job = job
        self.chosen: FoundProbe | None = None

    @abstractmethod
    def command(self, image: Path) -> list[str]:
        """The command line that programs, verifies and starts the image."""

    def prepare(self, elf: Path, folder: Path) -> Path:
        """The file that the tool takes; ``folder`` is for files made from the image."""
        return elf if self.takes == "elf" else converted(self.job, elf, self.takes, folder)

    def is_available(self) -> bool:
        return shutil.which(self.program) is not None

    def find(self) -> tuple[FoundProbe, ...]:
        return debug_probes()

    def flash(self, elf: Path, progress: Progress) -> None:
        path = shutil.which(self.program)
        if path is None:
            raise self.job.error(
                f"{self.program} is not on PATH", fix=f"Install it ({self.install}), or use --emulate"
            )
        self.chosen = choose_probe(self.job, self.find())
        with work_folder(self.job) as folder:
            image = self.prepare(elf, folder)
            self.run([path, *self.command(image)[1:]], progress)

    def run(self, command: list[str], progress: Progress) -> None:
        """Run a command of the tool to its end; raises ToolError with the reason where it fails."""
        code, output = self._run(command, progress)
        self.check(output)
        if code:
            reason = explain(output)
            if reason is not None:
                raise self.job.error(reason.what, fix=reason.fix)
            raise self.job.error(f"{self.program} failed:\n  {_last_errors(output)}")

    def check(self, output: str) -> None:
        """Raise where the tool found another core than the board's."""
        found = _CPUID.search(output)
        if found is not None:
            wanted = part_name(cpuid_part(self.job.board.chip.cpu) or 0)
            raise self.job.error(
                f"the connected chip is not this board's: its core is {part_name(int(found[1], 16))}, "
                f"{self.job.board.chip.title} has {wanted}",
                fix="Give --board the board that is plugged in; `tinydeploy boards` lists them",
            )

    def _run(self, command: list[str], progress: Progress) -> tuple[int, str]:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise self.job.error(f"{self.program} cannot be started ({error.strerror})") from error
        output = bytearray()
        reader = threading.Thread(target=self._follow, args=(process, output, progress), daemon=True)
        try:
            reader.start()
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise self.job.error(
                f"{self.program} did not end within {TIMEOUT_S:.0f} s",
                fix="Unplug the board, plug it in again and try again",
            ) from None
        finally:  # whatever ends this, Ctrl-C too, ends the tool
            if process.poll() is None:
                process.kill()
                process.wait(_END_S)
            reader.join(_END_S)
            if process.stdout is not None:
                process.stdout.close()
        return code, output.decode(errors="replace")

    def _follow(self, process: subprocess.Popen[bytes], output: bytearray, progress: Progress) -> None:
        """Collect the output; tools end their progress lines with a carriage return."""
        stage = self.program
        assert process.stdout is not None
        while piece := process.stdout.read1(4096):  # type: ignore[attr-defined]
            output += piece
            text = output[-200 - len(piece) :].decode(errors="replace")
            for pattern, shown in self.stages:
                if re.search(pattern, piece.decode(errors="replace")):
                    stage = shown
            percents = _PERCENT.findall(text)
            progress(stage, min(int(percents[-1]), 100) if percents else 0, 100 if percents else None)


def _last_errors(output: str) -> str:
    """A tool's first complaints, or the last that it said."""
    lines = [line.rstrip() for line in output.replace("\r", "\n").splitlines() if line.strip()]
    errors = [line for line in lines if re.search("error|fail", line, re.IGNORECASE)]
    shown = errors[:_SHOWN_LINES] or lines[-_SHOWN_LINES:]
    return "\n  ".join(shown) if shown else "it gave no reason"
