"""Boards that are drives: a folder that behaves as a probe's or a bootloader's drive does."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flash.images import pattern, write_elf
from tinydeploy.boards import Board, Probe, load_board
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Segment
from tinydeploy.flash import drive, flash_board
from tinydeploy.flash.discover import find_drives
from tinydeploy.flash.uf2 import from_uf2

FLASH = 0x0800_0000
SEGMENTS = (Segment(FLASH, pattern(40_000)), Segment(FLASH + 40_004, pattern(16, 5)))
CONTENT = SEGMENTS[0].data + b"\xff" * 4 + SEGMENTS[1].data


def board(form: str, label: str = "NODE_F746ZG") -> Board:
    return replace(load_board("nucleo-f746"), probes=(Probe("drive", label, form, 0xE48BFF56),))


class FakeDrive:
    """Takes the file a moment after it is complete, goes away and comes back with what it has to say."""

    def __init__(self, folder: Path, says: str = "", returns: bool = True) -> None:
        self.folder = folder
        self.taken = b""
        self._says = says
        self._returns = returns
        self._thread = threading.Thread(target=self._work, daemon=True)
        folder.mkdir(parents=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(10)

    def _work(self) -> None:
        size = -1
        for _ in range(500):
            time.sleep(0.02)
            files = [path for path in self.folder.iterdir() if path.name.startswith("firmware")]
            if files and files[0].stat().st_size == size > 0:
                self.taken = files[0].read_bytes()
                shutil.rmtree(self.folder)
                break
            size = files[0].stat().st_size if files else -1
        time.sleep(0.1)
        if self._returns:
            self.folder.mkdir()
            if self._says:
                (self.folder / "FAIL.TXT").write_text(self._says)


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return write_elf(tmp_path / "image.elf", SEGMENTS, FLASH)


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TINYDEPLOY_DRIVES", str(tmp_path / "media"))
    return tmp_path / "media"


def test_a_binary_is_copied_and_taken(mounts: Path, elf: Path) -> None:
    fake = FakeDrive(mounts / "NODE_F746ZG")
    stages: list[tuple[str, int, int | None]] = []
    used = flash_board(board("bin"), elf, progress=lambda *what: stages.append(what))
    fake.join()
    assert (used.name, used.is_tested) == ("drive", True)
    assert fake.taken == CONTENT
    assert stages[0] == ("copying", 16384, len(CONTENT))
    assert stages[-2:] == [("copying", len(CONTENT), len(CONTENT)), ("waiting for the drive", 0, None)]


def test_intel_hex_is_copied(mounts: Path, elf: Path) -> None:
    fake = FakeDrive(mounts / "NODE_F746ZG 1")
    flash_board(board("hex"), elf)
    fake.join()
    lines = fake.taken.decode().split()
    assert lines[0] == ":020000040800F2"
    assert lines[-1] == ":00000001FF"


def test_a_bootloader_goes_for_good(mounts: Path, elf: Path) -> None:
    fake = FakeDrive(mounts / "RPI-RP2", returns=False)
    flash_board(board("uf2", "RPI-RP2"), elf)
    fake.join()
    family, segments = from_uf2(fake.taken)
    assert family == 0xE48B_FF56
    assert segments[0].data[: len(CONTENT)] == CONTENT
    assert not fake.folder.exists()


def test_the_drives_reason_is_the_message(mounts: Path, elf: Path) -> None:
    fake = FakeDrive(mounts / "NODE_F746ZG", says="\r\nThe hex file cannot be decoded.\r\nmore\r\n")
    with pytest.raises(ToolError) as caught:
        flash_board(board("bin"), elf)
    fake.join()
    assert str(caught.value) == (
        "board nucleo-f746: the drive refused the image: The hex file cannot be decoded. "
        "Copy again; on a second failure use a debug probe"
    )


def test_a_failure_of_an_earlier_try_counts_no_more(mounts: Path, elf: Path) -> None:
    fake = FakeDrive(mounts / "NODE_F746ZG")
    (mounts / "NODE_F746ZG" / "FAIL.TXT").write_text("old")
    flash_board(board("bin"), elf)
    fake.join()


def test_a_drive_that_does_nothing(mounts: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mounts / "NODE_F746ZG").mkdir(parents=True)
    monkeypatch.setattr(drive, "TAKE_S", 0.2)
    with pytest.raises(ToolError, match=r"did not take the file within 0 s\. Unplug the board, plug it in"):
        flash_board(board("bin"), elf)


def test_a_drive_that_stays_away(mounts: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "RETURN_S", 0.2)
    fake = FakeDrive(mounts / "NODE_F746ZG", returns=False)
    with pytest.raises(
        ToolError, match=r"did not come back, .*not known.*\. Mount it and look for FAIL\.TXT"
    ):
        flash_board(board("bin"), elf)
    fake.join()


def test_no_drive_several_drives_and_one_that_is_named(mounts: Path, elf: Path) -> None:
    with pytest.raises(ToolError) as caught:
        flash_board(board("bin"), elf)
    assert str(caught.value) == (
        "board nucleo-f746: no drive named NODE_F746ZG is mounted. Plug the board in (hold BOOT or press "
        "reset twice where it has a bootloader), mount the drive, or give its folder with --probe"
    )
    for name in ("NODE_F746ZG", "NODE_F746ZG1", "NODE_F746ZGX"):
        (mounts / name).mkdir(parents=True)
    first, second = find_drives("node_f746zg")
    with pytest.raises(ToolError, match=rf"several such drives are mounted: {first}, {second}\. Choose one"):
        flash_board(board("bin"), elf)
    fake = FakeDrive(mounts / "elsewhere")
    flash_board(board("bin"), elf, str(fake.folder))
    fake.join()
    assert fake.taken == CONTENT
    with pytest.raises(ToolError, match=r"/nowhere is not a mounted drive\. Give the drive's folder"):
        flash_board(board("bin"), elf, "/nowhere")


def test_a_full_drive(mounts: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mounts / "NODE_F746ZG").mkdir(parents=True)
    usage = shutil.disk_usage(mounts)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=100))
    with pytest.raises(
        ToolError, match=r"has 100 bytes free, the image needs 40020\. Is this the board's drive"
    ):
        flash_board(board("bin"), elf)
    assert not list((mounts / "NODE_F746ZG").iterdir())


def test_a_drive_that_fails_meanwhile_keeps_no_half_file(
    mounts: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mounts / "NODE_F746ZG").mkdir(parents=True)
    calls: list[int] = []

    def fsync(number: int) -> None:
        calls.append(number)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(
        ToolError, match=r"took 32768 of 40020 bytes \(Input/output error\)\. Is it write-prot"
    ):
        flash_board(board("bin"), elf)
    assert not list((mounts / "NODE_F746ZG").iterdir())
