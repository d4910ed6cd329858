"""``build --slots`` and ``update`` as a shell sees them, and what chips and boards without slots say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.slots.desk import compiled, small
from tinydeploy.boards import load_board
from tinydeploy.device import build_model
from tinydeploy.errors import BudgetError, TinyDeployError
from tinydeploy.firmware import build_firmware
from tinydeploy.resources import boards_dir
from tinydeploy.toolchain import cpu_spec, select

BOARD = "nucleo-f746"


@pytest.mark.emulated
def test_an_update_of_an_emulated_board(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="unicorn is not installed")
    first, second, clamped = small(tmp_path, 0), small(tmp_path, 1), small(tmp_path, 0, activation="RELU6")
    built = cli("build", first, "--board", BOARD, "--slots", "-o", tmp_path / "build", "--json")
    assert built.code == 0, built.stderr
    elf = Path(built.json["elf"])
    assert json.loads(elf.with_suffix(".slots.json").read_text())["parts"][0]["name"] == "the interface"
    place = ("--board", BOARD, "--emulate", "--firmware", elf)
    done = cli("update", second, *place, "--json")
    assert done.code == 0, done.stderr
    found = done.json
    assert found["before"] != found["after"]
    assert found["blocks"] == found["changed_blocks"] == 2
    assert found["sent_bytes"] == found["payload_bytes"]
    assert found["counter"] == 1
    again = cli("update", first, *place)
    assert re.search(r"small_0_RELU_3 with hash [0-9a-f]{16} runs already; nothing was sent", again.stdout)
    refused = cli("update", clamped, *place)
    assert refused.code == 1
    assert (
        "step 0 (Conv2D 'tensor_3'): the clamp -128..22 is compiled into code, the device has"
        in refused.stderr
    )
    assert "Flash an image of this model, built with --slots" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--board", "host"), "the host has no flash to update"),
        (("--board", BOARD, "--emulate"), "an emulated board needs the image that is updated"),
        (("--board", BOARD), "it is not said how to reach nucleo-f746"),
    ],
)
def test_what_is_missing(arguments: tuple[str, ...], message: str, cli: Cli, tmp_path: Path) -> None:
    outcome = cli("update", small(tmp_path, 0), *arguments)
    assert outcome.code == 1
    assert message in outcome.stderr


def test_a_board_without_slots(tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    toolchain = select(None, cpu_spec(board.chip.cpu))
    with pytest.raises(
        TinyDeployError, match=r"has no slots for models: its chip's file has no \[slots\]"
    ) as error:
        build_firmware(board, toolchain, [], [], tmp_path, slots=True)
    assert error.value.fix == "Leave out --slots"


def test_slots_need_the_line(tmp_path: Path) -> None:
    board = load_board(BOARD)
    toolchain = select(None, cpu_spec(board.chip.cpu))
    with pytest.raises(TinyDeployError, match="--slots needs the serial line"):
        build_firmware(board, toolchain, [], [], tmp_path, "none", slots=True)


def board_with(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The board with a chip whose file is changed."""
    chip = (boards_dir() / "chips" / "stm32f746zg.toml").read_text()
    for old, new in changes:
        assert old in chip
        chip = chip.replace(old, new, 1)
    (tmp_path / "chips").mkdir()
    (tmp_path / "chips" / "stm32f746zg.toml").write_text(chip)
    board = tmp_path / "mine.toml"
    board.write_text((boards_dir() / "nucleo-f746.toml").read_text())
    return board


def test_constants_that_are_too_large(tmp_path: Path) -> None:
    board = load_board(
        str(
            board_with(
                tmp_path, ("size = 0x40000\nerase_bytes = 0x40000", "size = 0x400\nerase_bytes = 0x400")
            )
        )
    )
    model = compiled(small(tmp_path, 0), "cortex-m7")
    toolchain = select(None, cpu_spec(board.chip.cpu))
    with pytest.raises(BudgetError, match=r"the model's constants need 1,\d+ bytes, a slot has 768"):
        build_model(model, board, toolchain, tmp_path / "build")


PLACES = "place = [{ origin = 0x08080000, unit = 6 }, { origin = 0x080C0000, unit = 7 }]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (PLACES, "place = [{ origin = 0x08080000, unit = 6 }]", "got 1, two places are allowed"),
        ("program_bytes = 4", "program_bytes = 12", "got 12, powers of two are allowed"),
        ("\nsize = 0x40000\nerase", "\nsize = 0x50000\nerase", "got 0x50000, multiples of erase_bytes"),
        ("origin = 0x080C0000", "origin = 0x080E0000", "are not two pieces at the end of FLASH"),
        ('block = "flash"\nsize', 'block = "flush"\nsize', "got 'flush', the chip has the blocks"),
    ],
)
def test_a_faulty_chip_file(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match=re.escape(message)) as error:
        load_board(str(board_with(tmp_path, (old, new))))
    assert "slots" in error.value.where
