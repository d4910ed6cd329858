"""What a way to flash a board is to the rest of tinydeploy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tinydeploy.boards import Board, Probe
from tinydeploy.errors import ToolError
from tinydeploy.firmware import read_image
from tinydeploy.firmware.image import write_bin, write_hex
from tinydeploy.flash.uf2 import to_uf2

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much, where that is known."""


def no_progress(_stage: str, _done: int, _total: int | None) -> None:
    """For callers that show nothing."""


@dataclass(frozen=True, slots=True)
class FoundProbe:
    """A probe, drive or bootloader that is plugged in. ``serial`` is what ``--probe`` takes."""

    serial: str
    title: str
    vendor_id: int = 0
    port: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A board, one way to flash it, and the probe that was asked for."""

    board: Board
    probe: Probe
    serial: str | None = None

    def __post_init__(self) -> None:
        if self.serial is not None and not (self.serial and self.serial.isprintable()):
            raise ToolError(
                f"probe {self.serial!r} is no serial number, port or folder",
                fix="Give --probe as the tool prints it",
            )

    @property
    def where(self) -> str:
        return f"board {self.board.name}"

    def error(self, what: str, fix: str = "") -> ToolError:
        return ToolError(what, where=self.where, fix=fix)


class Flasher(Protocol):
    """Programs a board, verifies it and lets it run. It never touches option bytes or fuses.

    ``name`` is the tool in board files; ``is_tested`` False where only the command line was checked, because
    nothing here stands in for the hardware.
    """

    name: str
    is_tested: bool

    def is_available(self) -> bool:
        """Whether the tool is installed, or the drive there."""

    def find(self) -> tuple[FoundProbe, ...]:
        """What is plugged in that this tool could use."""

    def flash(self, elf: Path, progress: Progress) -> None:
        """Carry it out; raises ToolError in one line with what to do. Every wait has an end."""


@contextmanager
def work_folder(job: Job) -> Iterator[Path]:
    """A folder for files made from the image, gone afterwards; what the disk refuses is one line."""
    try:
        with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
            yield Path(folder)
    except OSError as error:
        raise job.error(
            f"no work file can be written ({error.strerror or error})", fix="Set TMPDIR to a folder with room"
        ) from error


def converted(job: Job, elf: Path, form: str, folder: Path) -> Path:
    """The image in the form ``bin``, ``hex`` or ``uf2``, as a file in ``folder``."""
    image = read_image(elf)
    path = folder / f"firmware.{form}"
    if form == "uf2":
        path.write_bytes(to_uf2(image.segments, job.probe.family))
    elif form == "hex":
        write_hex(image.segments, image.entry, path)
    else:
        write_bin(image.segments, path)
    return path
