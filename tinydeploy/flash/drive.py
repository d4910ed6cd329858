"""Flashing by copying a file: probes and bootloaders that are USB drives.

The drive takes the file while it is written, goes away and comes back: without the file where all went
well, with a ``FAIL.TXT`` (DAPLink, ST-LINK) that says why where it did not. A UF2 bootloader goes for good.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from tinydeploy.flash.base import FoundProbe, Job, Progress, converted, work_folder
from tinydeploy.flash.discover import find_drives, unknown_drive

_PIECE = 16 * 1024
_POLL_S = 0.1
TAKE_S = 30.0
RETURN_S = 15.0
_FAILURES = ("FAIL.TXT", "ERROR.TXT")
_AGAIN = "Copy again; on a second failure use a debug probe"


class Drive:
    """A board that is a drive; ``config`` of the probe is the drive's name, ``--probe`` may be its folder."""

    name = "drive"
    is_tested = True

    def __init__(self, job: Job) -> None:
        self._job = job

    def is_available(self) -> bool:
        return bool(self.find())

    def find(self) -> tuple[FoundProbe, ...]:
        label = self._job.probe.config
        return tuple(FoundProbe(str(path), f"drive {label}") for path in find_drives(label))

    def flash(self, elf: Path, progress: Progress) -> None:
        with work_folder(self._job) as work:
            data = converted(self._job, elf, self._job.probe.format, work).read_bytes()
        folder = self._folder()
        target = folder / f"firmware.{self._job.probe.format}"
        for name in _FAILURES:  # of an earlier try
            with contextlib.suppress(OSError):
                (folder / name).unlink()
        self._room(folder, len(data))
        self._copy(data, target, progress)
        progress("waiting for the drive", 0, None)
        self._wait(target)

    def _folder(self) -> Path:
        if self._job.serial is not None:
            given = Path(self._job.serial)
            if not given.is_dir():
                raise self._job.error(f"{given} is not a mounted drive", fix="Give the drive's folder")
            return given
        found = self.find()
        if not found:
            raise unknown_drive(self._job)
        if len(found) > 1:
            listed = ", ".join(probe.serial for probe in found)
            raise self._job.error(f"several such drives are mounted: {listed}", fix="Choose one with --probe")
        return Path(found[0].serial)

    def _room(self, folder: Path, size: int) -> None:
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            raise self._job.error(f"the drive {folder} cannot be read ({error.strerror})", _AGAIN) from error
        if free < size:
            raise self._job.error(
                f"the drive {folder} has {free} bytes free, the image needs {size}",
                fix="Is this the board's drive? Unplug it and plug it in again",
            )

    def _copy(self, data: bytes, target: Path, progress: Progress) -> None:
        """In pieces, to the device at once. A bootloader may be gone before the last write returns."""
        done = 0
        try:
            with target.open("wb", buffering=0) as stream:
                while done < len(data):
                    done += stream.write(data[done : done + _PIECE])
                    os.fsync(stream.fileno())
                    progress("copying", done, len(data))
        except OSError as error:
            if done == len(data) and not target.parent.exists():
                return
            with contextlib.suppress(OSError):
                target.unlink()
            raise self._job.error(
                f"the drive {target.parent} took {done} of {len(data)} bytes ({error.strerror})",
                fix="Is it write-protected or unplugged? Plug the board in again, then try again",
            ) from error
        except BaseException:  # Ctrl-C: no half-written file
            with contextlib.suppress(OSError):
                target.unlink()
            raise

    def _wait(self, target: Path) -> None:
        deadline = time.monotonic() + TAKE_S
        while _has(target):
            self._failed(target.parent)
            if time.monotonic() > deadline:
                raise self._job.error(
                    f"the drive {target.parent} did not take the file within {TAKE_S:.0f} s",
                    fix="Unplug the board, plug it in and try again",
                )
            time.sleep(_POLL_S)
        if self._job.probe.format == "uf2":
            return  # the bootloader started the image
        deadline = time.monotonic() + RETURN_S
        while not target.parent.is_dir():
            if time.monotonic() > deadline:
                raise self._job.error(
                    f"the drive {target.parent} did not come back, so it is not known what it did",
                    fix="Mount it and look for FAIL.TXT",
                )
            time.sleep(_POLL_S)
        self._failed(target.parent)

    def _failed(self, folder: Path) -> None:
        for name in _FAILURES:
            try:
                lines = (folder / name).read_text(errors="replace").split("\n")
            except OSError:
                continue
            reason = next((line.strip() for line in lines if line.strip()), "it gives no reason").rstrip(".")
            raise self._job.error(f"the drive refused the image: {reason}", fix=_AGAIN)


def _has(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
