"""The real OpenOCD, which writes an image into the model of a chip through JTAG, verifies and starts it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.emulated.conftest import Builder
from tests.emulated.conftest import builder as builder
from tests.flash.images import pattern, write_elf
from tinydeploy.boards import load_board
from tinydeploy.emulate.remote_bitbang import RemoteBitbang
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Segment, read_image
from tinydeploy.flash import flash_board
from tinydeploy.resources import boards_dir
from tinydeploy.rpc import Client

FLASH = 0x0800_0000
CONFIG = """adapter driver remote_bitbang
remote_bitbang host 127.0.0.1
remote_bitbang port {port}
transport select jtag
gdb_port disabled
tcl_port disabled
telnet_port disabled
source [find target/stm32f7x.cfg]
stm32f7x.cpu configure -event reset-start {{}}
"""

pytestmark = pytest.mark.emulated


@pytest.fixture
def chip() -> Iterator[RemoteBitbang]:
    if shutil.which("openocd") is None:
        pytest.skip("openocd is not installed")
    with RemoteBitbang(load_board("nucleo-f746")) as chip:
        yield chip


@pytest.fixture
def board_file(chip: RemoteBitbang, tmp_path: Path) -> Path:
    """The board with another OpenOCD configuration, which lies beside it."""
    folder = tmp_path / "my boards"
    folder.mkdir()
    (folder / "model.cfg").write_text(CONFIG.format(port=chip.port))
    text = (boards_dir() / "nucleo-f746.toml").read_text()
    path = folder / "mine.toml"
    path.write_text(text.replace("board/st_nucleo_f7.cfg", "model.cfg"))
    return path


def content(chip: RemoteBitbang, segment: Segment) -> bytes:
    return chip.target.content[segment.address - FLASH : segment.end - FLASH]


def test_firmware_is_written_and_runs(
    chip: RemoteBitbang, board_file: Path, builder: Builder, cli: Cli
) -> None:
    elf = builder.model("nucleo-f746").elf
    done = cli("flash", elf, "--board", board_file, "--json")
    assert done.code == 0, done.stderr
    assert done.json["tool"] == "openocd"
    segments = read_image(elf).segments
    assert [content(chip, segment) for segment in segments] == [segment.data for segment in segments]
    used = max(segment.end for segment in segments) - FLASH
    assert set(chip.target.content[used:]) == {0xFF}
    with Client.connect(chip.uart) as client:
        assert client.describe().name == "tiny"


def test_scattered_bytes_are_written(chip: RemoteBitbang, board_file: Path, tmp_path: Path) -> None:
    segments = (Segment(FLASH, pattern(1000)), Segment(FLASH + 0x8004, pattern(6, 3)))
    elf = write_elf(tmp_path / "my image {2}.elf", segments, FLASH)
    flash_board(load_board(board_file), elf)
    assert [content(chip, segment) for segment in segments] == [segment.data for segment in segments]


def test_another_core_is_refused_before_anything_is_erased(
    chip: RemoteBitbang, board_file: Path, tmp_path: Path
) -> None:
    elf = write_elf(tmp_path / "image.elf", [Segment(FLASH, pattern(100))], FLASH)
    found = load_board(board_file)
    other = replace(found, chip=replace(found.chip, cpu="cortex-m33", title="STM32U575ZI"))
    with pytest.raises(
        ToolError, match=r"not this board's: its core is a cortex-m7, STM32U575ZI has a cortex-m33"
    ):
        flash_board(other, elf)
    assert set(chip.target.content) == {0xFF}


def test_a_chip_that_vanishes_is_one_line(chip: RemoteBitbang, board_file: Path, tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "image.elf", [Segment(FLASH, pattern(100))], FLASH)
    chip.__exit__()
    with pytest.raises(ToolError, match=r"^board nucleo-f746: .*openocd"):
        flash_board(load_board(board_file), elf)
