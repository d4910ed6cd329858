"""Why flashing failed: what tools print, and the one line that a user gets instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

UDEV_RULE = (
    """echo 'SUBSYSTEM=="usb", ATTRS{idVendor}=="0483|0d28|1366|2e8a|303a|2341", TAG+="uaccess"' """
    "| sudo tee /etc/udev/rules.d/70-tinydeploy.rules && sudo udevadm control --reload"
)


@dataclass(frozen=True, slots=True)
class Reason:
    """``pattern`` in a tool's output means ``what``; ``fix`` is what the user can do."""

    pattern: re.Pattern[str]
    what: str
    fix: str


def _reason(pattern: str, what: str, fix: str) -> Reason:
    return Reason(re.compile(pattern, re.IGNORECASE), what, fix)


_CONNECT = "Connect the board's debug port, or use --emulate"
_OTHER = "Close the other program (an IDE, a debugger, a serial monitor), then try again"

# The first that matches counts: the particular before the general.
REASONS: tuple[Reason, ...] = (
    _reason(
        r"LIBUSB_ERROR_ACCESS|insufficient permission|access denied \(insufficient|libusb_open.*-3\b",
        "this user may not open the debug probe",
        f"Allow it, then plug the probe in again: {UDEV_RULE}",
    ),
    _reason(
        r"LIBUSB_ERROR_BUSY|device or resource busy|unable to claim interface|probe already in use"
        r"|ST-?LINK.*already in use|exclusively lock",
        "another program uses the debug probe or its port",
        _OTHER,
    ),
    _reason(
        r"LIBUSB_ERROR_NOT_SUPPORTED|LIBUSB_ERROR_NOT_FOUND|no libusb.*backend|NoBackendError",
        "the debug probe has no driver",
        "Install its driver: ST's STSW-LINK009, or WinUSB through Zadig; on Linux libusb-1.0",
    ),
    _reason(
        r"could not open port.*permission denied|permission denied.*(/dev/tty|port)",
        "this user may not open the serial port",
        "Add yourself to the port's group (often dialout) and log in again",
    ),
    _reason(
        r"Lost connection|stopped responding|Packet content transfer stopped|Write timeout",
        "the serial line broke off while the board was written",
        "Plug the board in again, with another cable or at another port, then try again",
    ),
    _reason(
        r"could not open port.*(?:No such file|FileNotFoundError)",
        "there is no such serial port",
        "Connect the board, and give the port that it gets with --probe",
    ),
    _reason(
        r"will not fit in \d+ bytes of flash",
        "the image is larger than the board's flash",
        "Give --board the board that is plugged in, or choose a smaller model",
    ),
    _reason(
        r"multiple (?:devices|debug probes|probes|matching)|more than one.*(?:probe|device)",
        "several debug probes are plugged in",
        "Choose one with --probe SERIAL",
    ),
    _reason(
        r"firmware.*(?:too old|upgrade)|upgrade.*firmware",
        "the debug probe's own firmware is too old",
        "Update it with the maker's tool (STSW-LINK007, or DAPLink's web page)",
    ),
    _reason(
        r"target voltage (?:may be too low|: 0\.)|VTarget.*too low|Target voltage: 0\.0",
        "the board has no power",
        "Plug its supply in, and check the jumper that feeds the chip",
    ),
    _reason(
        r"read(?:out)?[- ]protect|RDP level|device is locked|protected sector|APPROTECT|flash.*is protected"
        r"|debug.*(?:is )?locked|is secured|Detected flash encryption|Secure Boot V\d detected",
        "the chip is locked against writing or debugging",
        "Unlock it with the maker's tool: that erases the chip, so nothing here does it",
    ),
    _reason(
        r"UNEXPECTED idcode|Cannot identify target as|This chip is .* not |no flash bank found for address"
        r"|Wrong chip|Device signature.*expected|device ID.*does not match|Target type .* not recognized",
        "the connected chip is not this board's",
        "Give --board the board that is plugged in; `tinydeploy boards` lists them",
    ),
    _reason(
        r"Wrong boot mode|No serial data received|Invalid head of packet|not in sync"
        r"|programmer is not responding|SAM-BA operation failed|No device found on (?:/dev|COM)"
        r"|Unable to open device.*Teensy|error opening USB device|Unable to find.*bootloader",
        "the board does not answer in its boot mode",
        "Start its bootloader (hold BOOT, press reset twice, or press the program button), "
        "and use a cable with data lines",
    ),
    _reason(
        r"Verify Failed|checksum mismatch|contents differ|verification error|Verification of flash failed"
        r"|mismatch.*verif|verif.*mismatch|MD5 of file does not match",
        "the flash does not hold what was written",
        "Try again with a shorter cable or a slower probe; if it stays so, the flash is worn",
    ),
    _reason(
        r"unable to connect to the target|cannot read IDR|Error connecting DP|Could not find MEM-AP"
        r"|init mode failed|No STM32 target found|Unable to get core ID|JTAG scan chain interrogation failed"
        r"|No ACK|SWD/JTAG communication failure|Target not examined"
        r"|Target not detected",
        "the debug probe works, but the chip does not answer",
        "Check power and debug cable, and hold reset while it connects",
    ),
    _reason(
        r"No space left on device",
        "the disk is full",
        "Free some space, or set TMPDIR to a folder on another disk",
    ),
    _reason(
        r"Can't find (?:board|target|interface)/|Invalid command name|invalid subcommand",
        "the flash tool does not know this board",
        "Install a newer version of it",
    ),
    _reason(
        r"open failed|unable to open|no device found|Could not find.*device|not found on"
        r"|No available debug probe|No connected debug probe|No ST-?LINK detected"
        r"|No debug probe detected|no probe",
        "no debug probe is connected, or this user may not open it",
        _CONNECT,
    ),
)


def explain(output: str) -> Reason | None:
    """The first known reason in a tool's output."""
    return next((reason for reason in REASONS if reason.pattern.search(output)), None)
