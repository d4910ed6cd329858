"""What is plugged in: debug probes by their serial ports, drives of probes and bootloaders by their names."""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from serial.tools import list_ports

from tinydeploy.errors import ToolError
from tinydeploy.flash.base import FoundProbe, Job

DRIVES_VARIABLE = "TINYDEPLOY_DRIVES"

# USB vendor, its products (none: all), and what it is called.
_PROBES: tuple[tuple[int, tuple[int, ...], str], ...] = (
    (0x0483, (0x3748, 0x374B, 0x374D, 0x374E, 0x374F, 0x3752, 0x3753, 0x3754), "ST-LINK"),
    (0x0D28, (0x0204,), "DAPLink"),
    (0x1366, (), "J-Link"),
    (0x2E8A, (0x000C,), "Pico debug probe"),
    (0x303A, (0x1001,), "Espressif USB"),
    (0x1A86, (), "CH340 serial adapter"),
    (0x10C4, (), "CP210x serial adapter"),
    (0x0403, (0x6001, 0x6010, 0x6014, 0x6015), "FTDI serial adapter"),
    (0x2341, (), "Arduino"),
    (0x16C0, (), "Teensy"),
)
_DEBUGGERS = frozenset({0x0483, 0x0D28, 0x1366, 0x2E8A})
_BRIDGES = frozenset({0x303A, 0x1A86, 0x10C4, 0x0403})


def serial_probes() -> tuple[FoundProbe, ...]:
    """Everything known that has a serial port. A probe without one is found by its tool alone."""
    found = []
    for port in list_ports.comports():
        title = probe_title(port.vid, port.pid)
        if title:
            found.append(FoundProbe(port.serial_number or port.device, title, port.vid, port.device))
    return tuple(sorted(found, key=lambda probe: (probe.title, probe.serial)))


def debug_probes() -> tuple[FoundProbe, ...]:
    """The debug probes among them; one with several ports counts once."""
    by_serial = {probe.serial: probe for probe in serial_probes() if probe.vendor_id in _DEBUGGERS}
    return tuple(by_serial.values())


def serial_bridges() -> tuple[FoundProbe, ...]:
    """Those among them that lead to the UART of a chip, or are the chip's own USB serial port."""
    return tuple(probe for probe in serial_probes() if probe.vendor_id in _BRIDGES)


def probe_title(vendor: int | None, product: int | None) -> str:
    """What a USB device is called; empty where it is nothing that flashes boards."""
    for known, products, title in _PROBES:
        if vendor == known and (not products or product in products):
            return title
    return ""


def choose_probe(job: Job, found: Sequence[FoundProbe]) -> FoundProbe | None:
    """The probe that was asked for, or the only one; None where the tool has to find out.

    Raises ToolError that lists them where several of one maker are plugged in and none was asked for.
    """
    if job.serial is not None:
        asked = job.serial.lower()
        return next((probe for probe in found if asked in (probe.serial.lower(), probe.port.lower())), None)
    vendors = [probe.vendor_id for probe in found]
    if any(vendors.count(vendor) > 1 for vendor in vendors):
        listed = ", ".join(f"{probe.serial} ({probe.title})" for probe in found)
        raise job.error(f"several probes are plugged in: {listed}", fix="Choose one with --probe SERIAL")
    return found[0] if len(found) == 1 else None


def drives() -> tuple[Path, ...]:
    """Mounted drives, those of the folders in ``TINYDEPLOY_DRIVES`` too."""
    found: list[Path] = []
    for root in _drive_folders():
        try:
            found += [path for path in sorted(root.iterdir()) if path.is_dir()]
        except OSError:
            continue
    if sys.platform == "win32":
        found += [
            Path(f"{letter}:\\") for letter in "DEFGHIJKLMNOPQRSTUVWXYZ" if os.path.exists(f"{letter}:\\")
        ]
    return tuple(found)


def find_drives(label: str) -> tuple[Path, ...]:
    """The drives of that name. A second one is called ``LABEL1`` by Linux, ``LABEL 1`` by macOS."""
    name = re.compile(re.escape(label) + r" ?\d?\Z", re.IGNORECASE)
    return tuple(path for path in drives() if name.match(label_of(path)))


def label_of(drive: Path) -> str:
    """A drive's name: that of its folder, or where it has none what its bootloader's file says."""
    if drive.name:
        return drive.name
    try:
        text = (drive / "INFO_UF2.TXT").read_text(errors="replace")
    except OSError:
        return ""
    boards = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Board-ID")]
    return boards[0] if boards else ""


def _drive_folders() -> Iterable[Path]:
    given = os.environ.get(DRIVES_VARIABLE, "")
    yield from (Path(part) for part in given.split(os.pathsep) if part)
    if sys.platform == "darwin":
        yield Path("/Volumes")
    elif sys.platform != "win32":
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            return
        yield from (Path("/run/media") / user, Path("/media") / user, Path("/media"))


def unknown_drive(job: Job) -> ToolError:
    """The error where no drive of the board is mounted."""
    return job.error(
        f"no drive named {job.probe.config} is mounted",
        fix="Plug the board in (hold BOOT or press reset twice where it has a bootloader), mount the drive, "
        "or give its folder with --probe",
    )
