"""OpenOCD's command line, and one message where it or its probe is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError, ToolError
from tinydeploy.flash import flash_board, flasher_for

NUCLEO = load_board("nucleo-f746")
ELF = Path("/build/my model {v2}.elf")


def fake_openocd(folder: Path, monkeypatch: pytest.MonkeyPatch, *, says: str, code: int) -> None:
    """An ``openocd`` that notes its arguments."""
    script = folder / "openocd"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/arguments\necho "{says}" >&2\nexit {code}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_command_line() -> None:
    assert flasher_for(NUCLEO).command(ELF) == [
        "openocd",
        "-f",
        "board/st_nucleo_f7.cfg",
        "-c",
        r"program /build/my\ model\ \{v2\}.elf verify reset exit",
    ]
    assert flasher_for(NUCLEO, "066BFF31").command(ELF)[3:5] == ["-c", "adapter serial 066BFF31"]


def test_a_serial_number_is_no_command() -> None:
    with pytest.raises(ToolError, match=r"probe '1; shutdown' is not a serial number"):
        flasher_for(NUCLEO, "1; shutdown")


def test_flashing_runs_openocd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openocd(tmp_path, monkeypatch, says="** Verified OK **", code=0)
    flash_board(NUCLEO, ELF)
    assert (tmp_path / "arguments").read_text().splitlines() == flasher_for(NUCLEO).command(ELF)[1:]


@pytest.mark.parametrize("says", ["Error: open failed", "Error: unable to open CMSIS-DAP device 0x0:0x0"])
def test_a_missing_probe_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    fake_openocd(tmp_path, monkeypatch, says=says, code=1)
    with pytest.raises(ToolError) as caught:
        flash_board(NUCLEO, ELF)
    assert str(caught.value) == (
        "board nucleo-f746: no debug probe is connected, or this user may not open it. "
        "Connect the board's debug port, or use --emulate"
    )


def test_other_failures_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openocd(tmp_path, monkeypatch, says="Error: flash write failed at 0x08000000", code=1)
    with pytest.raises(ToolError, match=r"board nucleo-f746: openocd failed:\n  Error: flash write failed"):
        flash_board(NUCLEO, ELF)


def test_a_missing_openocd_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError) as caught:
        flash_board(NUCLEO, ELF)
    assert str(caught.value) == (
        "board nucleo-f746: openocd is not on PATH. Install it (apt-get install openocd), or use --emulate"
    )


def test_boards_without_probe() -> None:
    with pytest.raises(TinyDeployError) as caught:
        flash_board(load_board("qemu-m4"), ELF)
    text = "board qemu-m4: has no debug probe: it exists only as an emulator. Add --emulate"
    assert str(caught.value) == text
    with pytest.raises(TinyDeployError, match=r"board host: has no debug probe\. Choose a board"):
        flash_board(load_board("host"), ELF)
