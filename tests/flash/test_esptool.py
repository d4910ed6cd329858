"""The real esptool with a model of the ESP32-C3's ROM at the other end of the line."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flash.esp_rom import ESP32S3, EspRom
from tests.flash.images import pattern, write_elf
from tinydeploy.boards import Probe, load_board
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Segment
from tinydeploy.flash import FoundProbe, flash_board, flasher_for
from tinydeploy.flash.discover import serial_bridges
from tinydeploy.flash.esptool import Esptool

START = 0x4200_0000
SEGMENTS = (Segment(START, pattern(5000)), Segment(START + 6000, pattern(3000, 9)))
BOARD = replace(load_board("nucleo-f746"), name="esp", probes=(Probe("esptool", "esp32c3/0x0"),))

needs_esptool = pytest.mark.skipif(
    importlib.util.find_spec("esptool") is None, reason="esptool is not installed"
)


@pytest.fixture(autouse=True)
def _nothing_is_plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serial.tools.list_ports.comports", list)


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return write_elf(tmp_path / "my image.elf", SEGMENTS, START + 8)


@needs_esptool
@pytest.mark.parametrize("offset", [0, 0x10000])
def test_an_image_is_written_and_verified(elf: Path, offset: int) -> None:
    board = replace(BOARD, probes=(Probe("esptool", f"esp32c3/{offset:#x}"),))
    stages: list[tuple[str, int, int | None]] = []
    with EspRom() as rom:
        rom.flash[:] = bytes(len(rom.flash))  # an older image
        used = flash_board(board, elf, rom.port, progress=lambda *what: stages.append(what))
    written = bytes(rom.flash[offset:])
    for segment in SEGMENTS:
        at = segment.address - START
        assert written[at : at + len(segment.data)] == segment.data
    assert set(written[5000:6000]) == {0xFF}
    assert set(rom.flash[offset + 0x3000 :]) == {0}  # nothing is erased beyond the image's sectors
    assert rom.bauds == [460_800]
    assert stages[-1][0] == "verifying"
    assert all(done <= (total or 0) for _, done, total in stages)
    assert used.is_tested


@needs_esptool
@pytest.mark.slow
def test_a_board_that_does_not_answer(elf: Path) -> None:
    with EspRom(silent=True) as rom, pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf, rom.port)
    assert str(caught.value) == (
        "board esp: the board does not answer in its boot mode. Start its bootloader (hold BOOT, press reset "
        "twice, or press the program button), and use a cable with data lines"
    )


@needs_esptool
def test_another_chip_is_refused_before_anything_is_erased(elf: Path) -> None:
    with EspRom(ESP32S3) as rom, pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf, rom.port)
    assert str(caught.value) == (
        "board esp: the connected chip is not this board's. Give --board the board that is plugged in; "
        "`tinydeploy boards` lists them"
    )
    assert set(rom.flash) == {0xFF}


@needs_esptool
@pytest.mark.slow
def test_a_line_that_breaks_off(elf: Path) -> None:
    noise = hashlib.shake_128(b"noise").digest(5000)  # zlib finds nothing in it
    write_elf(elf, [Segment(START, noise)], START)
    with EspRom(gone_after=2) as rom, pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf, rom.port)
    assert str(caught.value) == (
        "board esp: the serial line broke off while the board was written. Plug the board in again, with "
        "another cable or at another port, then try again"
    )


@needs_esptool
def test_flash_that_holds_something_else(elf: Path) -> None:
    with EspRom(worn=True) as rom, pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf, rom.port)
    assert str(caught.value).startswith("board esp: the flash does not hold what was written. Try again")


@needs_esptool
def test_a_port_that_is_not_there(elf: Path) -> None:
    with pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf, "/dev/ttyNOWHERE")
    assert str(caught.value) == (
        "board esp: there is no such serial port. Connect the board, and give the port that it gets with "
        "--probe"
    )


@needs_esptool
def test_an_image_that_the_flash_has_no_room_for(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "large.elf", [Segment(START, bytes((4 << 20) + 1))], START)
    with (
        EspRom() as rom,
        pytest.raises(ToolError, match=r"the image is larger than the board's flash\. Give"),
    ):
        flash_board(BOARD, elf, rom.port)


def test_esptool_is_not_installed(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinydeploy.flash.esptool.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf)
    assert str(caught.value) == (
        "board esp: esptool is not installed. "
        'Install it (pip install "tinydeploy[esptool]"), or use --emulate'
    )


class TestPorts:
    def plug(self, monkeypatch: pytest.MonkeyPatch, *usb: tuple[int, int]) -> None:
        from serial.tools.list_ports_common import ListPortInfo

        ports = []
        for index, (vendor, product) in enumerate(usb):
            port = ListPortInfo(f"/dev/ttyUSB{index}")
            port.vid, port.pid, port.serial_number = vendor, product, f"S{index}"
            ports.append(port)
        monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)

    @pytest.mark.parametrize(
        ("usb", "title"),
        [
            ((0x303A, 0x1001), "Espressif USB"),
            ((0x10C4, 0xEA60), "CP210x serial adapter"),
            ((0x1A86, 0x55D3), "CH340 serial adapter"),
            ((0x0403, 0x6010), "FTDI serial adapter"),
        ],
    )
    def test_bridges_and_the_chips_own_port_are_proposed(
        self, usb: tuple[int, int], title: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.plug(monkeypatch, usb)
        assert serial_bridges() == (FoundProbe("S0", title, usb[0], "/dev/ttyUSB0"),)

    def test_a_debug_probe_beside_it_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plug(monkeypatch, (0x0483, 0x374B), (0x10C4, 0xEA60))
        tool = flasher_for(BOARD)
        assert isinstance(tool, Esptool)
        assert [probe.port for probe in tool.find()] == ["/dev/ttyUSB1"]

    def test_several_are_listed(self, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Esptool, "is_available", lambda _self: True)
        self.plug(monkeypatch, (0x10C4, 0xEA60), (0x10C4, 0xEA60))
        with pytest.raises(ToolError) as caught:
            flash_board(BOARD, elf)
        assert str(caught.value) == (
            "board esp: several probes are plugged in: S0 (CP210x serial adapter), "
            "S1 (CP210x serial adapter). Choose one with --probe SERIAL"
        )

    def test_none_is_one_line(self, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Esptool, "is_available", lambda _self: True)
        with pytest.raises(ToolError) as caught:
            flash_board(BOARD, elf)
        assert str(caught.value) == (
            "board esp: no board is plugged in. Connect it, or give its port with --probe"
        )
