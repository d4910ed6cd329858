"""Which tool flashes a board, OpenOCD's command line, and what happens where a tool fails or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.flash.images import pattern, write_elf
from tinydeploy.boards import Board, Probe, load_board
from tinydeploy.errors import TinyDeployError, ToolError
from tinydeploy.firmware import Segment
from tinydeploy.flash import FoundProbe, flash_board, flasher_for, flashers_for, serial_probes, tool
from tinydeploy.flash.tool import CommandTool

NUCLEO = load_board("nucleo-f746")
ELF = Path("/build/my model {v2}.elf")
ST_LINK = FoundProbe("066BFF31", "ST-LINK", 0x0483, "/dev/ttyACM0")

# For each tool a probe of a board file; the command lines are golden.
PROBES = {
    "openocd": Probe("openocd", "board/st_nucleo_f7.cfg"),
    "esptool": Probe("esptool", "esp32c3/0x0"),
    "avrdude": Probe("avrdude", "atmega328p/arduino"),
    "bossac": Probe("bossac", "0x10000"),
    "teensy": Probe("teensy", "TEENSY41"),
    "cubeprogrammer": Probe("cubeprogrammer", "SWD"),
}


def behind(*probes: Probe) -> Board:
    return replace(NUCLEO, probes=probes)


@pytest.fixture(autouse=True)
def _nothing_is_plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serial.tools.list_ports.comports", list)
    monkeypatch.setenv("TINYDEPLOY_DRIVES", "/nowhere")


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return write_elf(tmp_path / "image.elf", [Segment(0x0800_0000, pattern(64))])


def fake_tool(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, says: str = "", code: int = 0, name: str = "openocd"
) -> Path:
    """A program that notes its arguments."""
    script = folder / name
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/arguments\necho "{says}" >&2\nexit {code}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "arguments"


def command_tool(board: Board, probe: str | None = None) -> CommandTool:
    found = flasher_for(board, probe)
    assert isinstance(found, CommandTool)
    return found


@pytest.mark.parametrize("name", PROBES)
def test_the_command_line(name: str, golden: Golden) -> None:
    golden("\n".join(command_tool(behind(PROBES[name]), "066BFF31").command(ELF)) + "\n")


def test_without_a_serial_number_the_tool_chooses() -> None:
    assert "adapter serial 066BFF31" in command_tool(NUCLEO, "066BFF31").command(ELF)
    assert not any("adapter serial" in part for part in command_tool(NUCLEO).command(ELF))


def test_a_configuration_beside_the_boards_file_wins(tmp_path: Path) -> None:
    (tmp_path / "own.cfg").write_text("")
    board = replace(behind(Probe("openocd", "own.cfg")), path=tmp_path / "board.toml")
    assert command_tool(board).command(ELF)[2] == str(tmp_path / "own.cfg")


def test_a_serial_number_is_no_command() -> None:
    assert r"adapter serial 1\;\ shutdown" in command_tool(NUCLEO, "1; shutdown").command(ELF)
    with pytest.raises(
        ToolError, match=r"probe '1\\nx' is no serial number, port or folder\. Give --probe as"
    ):
        flasher_for(NUCLEO, "1\nx")


def test_a_drive_may_have_any_name(tmp_path: Path) -> None:
    """Where drives are mounted, users' names are part of the path."""
    assert (
        flasher_for(behind(Probe("drive", "NODE_F746ZG", "bin")), str(tmp_path / "jürgen's 出力")).find()
        == ()
    )


def test_flashing_runs_the_tool(tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = fake_tool(tmp_path, monkeypatch, says="** Verified OK **")
    flash_board(NUCLEO, elf)
    assert arguments.read_text().splitlines() == command_tool(NUCLEO).command(elf)[1:]


def test_a_tool_gets_the_file_that_it_takes(
    tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bossac").write_text(f'#!/bin/sh\nfor last; do :; done; cp "$last" {tmp_path}/taken\n')
    (tmp_path / "bossac").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    used = flash_board(behind(PROBES["bossac"]), elf, "/dev/ttyACM3")
    assert (tmp_path / "taken").read_bytes() == pattern(64)
    assert used.is_tested is False


def test_progress_is_read_from_the_output(tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path, monkeypatch, says="** Programming Started ** 40%")
    seen: list[tuple[str, int, int | None]] = []
    flash_board(NUCLEO, elf, progress=lambda *what: seen.append(what))
    assert ("writing", 40, 100) in seen


@pytest.mark.parametrize("says", ["Error: open failed", "Error: unable to open CMSIS-DAP device 0x0:0x0"])
def test_a_missing_probe_is_one_line(
    tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    fake_tool(tmp_path, monkeypatch, says=says, code=1)
    with pytest.raises(ToolError) as caught:
        flash_board(NUCLEO, elf)
    assert str(caught.value) == (
        "board nucleo-f746: no debug probe is connected, or this user may not open it. "
        "Connect the board's debug port, or use --emulate"
    )


def test_a_chip_of_another_core_is_one_line(
    tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path, monkeypatch, says="tinydeploy: CPUID 0x410fc241", code=1)
    with pytest.raises(ToolError) as caught:
        flash_board(NUCLEO, elf)
    assert str(caught.value) == (
        "board nucleo-f746: the connected chip is not this board's: its core is a cortex-m4, "
        "STM32F746ZG has a cortex-m7. Give --board the board that is plugged in; "
        "`tinydeploy boards` lists them"
    )


def test_other_failures_are_passed_on(tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path, monkeypatch, says="Error: flash write failed at 0x08000000", code=1)
    with pytest.raises(ToolError, match=r"board nucleo-f746: openocd failed:\n  Error: flash write failed"):
        flash_board(NUCLEO, elf)


def test_a_tool_that_hangs_is_ended(tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path, monkeypatch)
    (tmp_path / "openocd").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    monkeypatch.setattr(tool, "TIMEOUT_S", 0.5)
    with pytest.raises(ToolError, match=r"openocd did not end within 0 s\. Unplug the board, plug it in"):
        flash_board(NUCLEO, elf)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_ctrl_c_ends_the_tool_too(tmp_path: Path, elf: Path) -> None:
    (tmp_path / "openocd").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    (tmp_path / "openocd").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    program = [sys.executable, "-m", "tinydeploy", "flash", str(elf), "--board", "nucleo-f746"]
    with subprocess.Popen(
        program,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells ignore it in the background
    ) as process:
        for _ in range(400):
            if (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().strip():
                break
            time.sleep(0.05)
        time.sleep(0.3)  # until the tool is waited for
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode != 0
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_missing_tool_is_one_line(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError) as caught:
        flash_board(NUCLEO, elf, tool="openocd")
    assert str(caught.value) == (
        "board nucleo-f746: openocd is not on PATH. Install it (apt-get install openocd), or use --emulate"
    )


def test_a_disk_without_room_is_one_line(elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path, monkeypatch, name="bossac")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tinydeploy.flash.base.write_bin", full)
    with pytest.raises(ToolError) as caught:
        flash_board(behind(PROBES["bossac"]), elf)
    assert str(caught.value) == (
        "board nucleo-f746: no work file can be written (No space left on device). "
        "Set TMPDIR to a folder with room"
    )


def test_boards_without_probe(elf: Path) -> None:
    with pytest.raises(TinyDeployError) as caught:
        flash_board(load_board("qemu-m4"), elf)
    text = "board qemu-m4: has no debug probe: it exists only as an emulator. Add --emulate"
    assert str(caught.value) == text
    with pytest.raises(TinyDeployError, match=r"board host: has no debug probe\. Choose a board"):
        flash_board(load_board("host"), elf)


class TestChoosing:
    def test_the_first_way_that_is_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        board = behind(PROBES["openocd"], Probe("drive", "NODE", "bin"), PROBES["cubeprogrammer"])
        assert [way.name for way in flashers_for(board)] == ["openocd", "drive", "cubeprogrammer"]
        monkeypatch.setenv("PATH", "/nowhere")
        assert flasher_for(board).name == "openocd"
        (tmp_path / "NODE").mkdir()
        monkeypatch.setenv("TINYDEPLOY_DRIVES", str(tmp_path))
        assert flasher_for(board).name == "drive"
        assert flasher_for(board, tool="cubeprogrammer").name == "cubeprogrammer"
        with pytest.raises(
            TinyDeployError, match=r"not flashed by 'x'\. It is flashed by: openocd, drive, c"
        ):
            flasher_for(board, tool="x")

    def plug(self, monkeypatch: pytest.MonkeyPatch, *serials: str) -> None:
        from serial.tools.list_ports_common import ListPortInfo

        ports = []
        for index, serial in enumerate(serials):
            port = ListPortInfo(f"/dev/ttyACM{index}")
            port.vid, port.pid, port.serial_number = 0x0483, 0x374B, serial
            ports.append(port)
        other = ListPortInfo("/dev/ttyS0")
        monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [other, *ports])

    def test_probes_are_found_by_their_ports(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plug(monkeypatch, "066BFF31")
        assert serial_probes() == (ST_LINK,)

    def test_several_probes_are_listed(
        self, tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.plug(monkeypatch, "A1", "B2")
        arguments = fake_tool(tmp_path, monkeypatch)
        with pytest.raises(ToolError) as caught:
            flash_board(NUCLEO, elf)
        assert str(caught.value) == (
            "board nucleo-f746: several probes are plugged in: A1 (ST-LINK), B2 (ST-LINK). "
            "Choose one with --probe SERIAL"
        )
        assert not arguments.exists()
        flash_board(NUCLEO, elf, "B2")
        assert "adapter serial B2" in arguments.read_text()

    def test_a_board_with_a_bootloader_needs_its_port(
        self, tmp_path: Path, elf: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = fake_tool(tmp_path, monkeypatch, name="bossac")
        with pytest.raises(
            ToolError, match=r"no board is plugged in\. Connect it, or give its port with --p"
        ):
            flash_board(behind(PROBES["bossac"]), elf)
        self.plug(monkeypatch, "A1")
        flash_board(behind(PROBES["bossac"]), elf)
        assert "ttyACM0" in arguments.read_text()
