"""What tools print when flashing fails, and the one line that it becomes."""

from __future__ import annotations

import pytest

from tinydeploy.flash.reasons import REASONS, UDEV_RULE, explain

# Lines of the real tools, one for each way that they say it.
SAYS: dict[str, tuple[str, str, str]] = {
    "openocd, no probe": ("Error: open failed", "no debug probe is connected", "Connect the board's"),
    "openocd, no CMSIS-DAP": (
        "Error: unable to find a matching CMSIS-DAP device\nno device found",
        "no debug probe is connected",
        "or use --emulate",
    ),
    "pyocd, no probe": ("No connected debug probes", "no debug probe is connected", "Connect the board"),
    "stm32prog, no probe": ("Error: No debug probe detected.", "no debug probe is connected", "Connect"),
    "udev": (
        "Error: libusb_open() failed with LIBUSB_ERROR_ACCESS\nError: open failed",
        "this user may not open the debug probe",
        f"Allow it, then plug the probe in again: {UDEV_RULE}",
    ),
    "busy": (
        "Error: libusb_claim_interface() failed with LIBUSB_ERROR_BUSY",
        "another program uses the debug probe or its port",
        "Close the other program (an IDE, a debugger, a serial monitor), then try again",
    ),
    "locked port": (
        "[Errno 11] Could not exclusively lock port /dev/ttyACM0: Resource temporarily unavailable",
        "another program uses the debug probe or its port",
        "Close the other program",
    ),
    "driver": (
        "Error: libusb_open() failed with LIBUSB_ERROR_NOT_SUPPORTED",
        "the debug probe has no driver",
        "Install its driver: ST's STSW-LINK009, or WinUSB through Zadig; on Linux libusb-1.0",
    ),
    "pyocd without libusb": ("usb.core.NoBackendError: No backend available", "has no driver", "libusb-1.0"),
    "serial group": (
        "could not open port '/dev/ttyUSB0': [Errno 13] Permission denied: '/dev/ttyUSB0'",
        "this user may not open the serial port",
        "Add yourself to the port's group (often dialout) and log in again",
    ),
    "several": (
        "Error: multiple devices found",
        "several debug probes are plugged in",
        "Choose one with --probe SERIAL",
    ),
    "old ST-LINK": (
        "Error: STLINK firmware too old, please upgrade",
        "the debug probe's own firmware is too old",
        "STSW-LINK007",
    ),
    "no power": (
        "Info : Target voltage: 0.012345\nError: target voltage may be too low for reliable debugging",
        "the board has no power",
        "Plug its supply in, and check the jumper that feeds the chip",
    ),
    "read protection": (
        "Error: Cannot read protection info: RDP level 1",
        "the chip is locked against writing or debugging",
        "Unlock it with the maker's tool: that erases the chip, so nothing here does it",
    ),
    "nRF lock": ("** Warning: APPROTECT is enabled", "the chip is locked", "Unlock it"),
    "other chip on JTAG": (
        "Warn : JTAG tap: stm32f7x.cpu UNEXPECTED idcode: 0x2ba01477",
        "the connected chip is not this board's",
        "Give --board the board that is plugged in; `tinydeploy boards` lists them",
    ),
    "other ST chip": (
        "Error: Cannot identify target as a STM32 family.",
        "the connected chip is not this board's",
        "--board",
    ),
    "other Espressif chip": (
        "A fatal error occurred: This chip is ESP32-S3, not ESP32-C3. Wrong chip argument?",
        "the connected chip is not this board's",
        "--board",
    ),
    "esptool, boot mode": (
        "A fatal error occurred: Failed to connect to ESP32-C3: No serial data received.",
        "the board does not answer in its boot mode",
        "(hold BOOT, press reset twice, or press the program button), and use a cable with data lines",
    ),
    "avrdude": ("avrdude: stk500_recv(): programmer is not responding", "boot mode", "Start its bootloader"),
    "bossac": ("No device found on /dev/ttyACM0", "boot mode", "Start its bootloader"),
    "openocd, verify": (
        "** Verify Failed **",
        "the flash does not hold what was written",
        "Try again with a shorter cable or a slower probe; if it stays so, the flash is worn",
    ),
    "esptool, verify": ("MD5 of file does not match data in flash!", "does not hold", "Try"),
    "target silent": (
        "Error: init mode failed (unable to connect to the target)",
        "the debug probe works, but the chip does not answer",
        "Check power and debug cable, and hold reset while it connects",
    ),
    "pyocd, target": (
        "Error: Target not detected. Check connection to target. Potentially reduce debug clock.",
        "the chip does not answer",
        "hold reset",
    ),
    "no IDR": ("Error: Error connecting DP: cannot read IDR", "the chip does not answer", "Check power"),
    "disk": (
        "OSError: [Errno 28] No space left on device",
        "the disk is full",
        "Free some space, or set TMPDIR to a folder on another disk",
    ),
    "old openocd": (
        "Error: Can't find board/st_nucleo_u5.cfg",
        "the flash tool does not know this board",
        "Install a newer version of it",
    ),
    "esptool, port denied": (
        "([Errno 13] could not open port /dev/ttyUSB0: [Errno 13] Permission denied: '/dev/ttyUSB0')",
        "this user may not open the serial port",
        "dialout",
    ),
    "esptool, port busy": (
        "([Errno 16] could not open port /dev/ttyUSB0: [Errno 16] Device or resource busy)",
        "another program uses the debug probe or its port",
        "Close the other program",
    ),
    "esptool, no port": (
        "([Errno 2] could not open port /dev/ttyUSB9: [Errno 2] No such file or directory: '/dev/ttyUSB9')",
        "there is no such serial port",
        "Connect the board, and give the port",
    ),
    "esptool, no port of Windows": (
        "(could not open port 'COM7': FileNotFoundError(2, 'not found', None, 2))",
        "there is no such serial port",
        "with --probe",
    ),
    "esptool, not in its boot mode": (
        "Failed to connect to ESP32-C3: Wrong boot mode detected (0x8)!",
        "the board does not answer in its boot mode",
        "hold BOOT",
    ),
    "esptool, line lost": (
        "Lost connection, retrying...\ncould not open port /dev/ttyUSB0: [Errno 2] No such file or directory",
        "the serial line broke off while the board was written",
        "Plug the board in again",
    ),
    "esptool, too large": (
        "Input image (length 5000000) at offset 0x00000000 will not fit in 4194304 bytes of flash.",
        "the image is larger than the board's flash",
        "Give --board",
    ),
    "esptool, encrypted": (
        "Detected flash encryption and secure download mode enabled.",
        "the chip is locked against writing or debugging",
        "Unlock it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAYS)
def test_a_known_failure_is_one_line(case: str) -> None:
    output, what, fix = SAYS[case]
    reason = explain(output)
    assert reason is not None
    assert what in reason.what
    assert fix in reason.fix
    assert "\n" not in reason.what + reason.fix


def test_every_reason_has_a_case() -> None:
    met = {explain(output) for output, _, _ in SAYS.values()}
    assert met == set(REASONS)


def test_what_is_not_known_stays_the_tools_own() -> None:
    assert explain("Error: flash write failed at 0x08000000") is None
