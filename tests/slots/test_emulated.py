"""The image of a NUCLEO-F746ZG erases and programs its own flash, loses power, and takes a merged adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slots.desk import Expected, compiled, small
from tinydeploy.boards import Board, load_board
from tinydeploy.device import build_model
from tinydeploy.emulate import Emulator, available_emulators
from tinydeploy.emulate.blocks.st_flash_f7 import ProgrammableFlash
from tinydeploy.errors import DeviceError
from tinydeploy.firmware import read_image
from tinydeploy.rpc import Client, Timeouts
from tinydeploy.rpc.slots import slots_info
from tinydeploy.slots import update_model
from tinydeploy.toolchain import available, cpu_spec, select

pytestmark = pytest.mark.emulated
BOARD = "nucleo-f746"
WORDS_OF_HEADER = 24


@pytest.fixture(scope="module")
def board() -> Board:
    found = load_board(BOARD)
    if "unicorn" not in available_emulators(found):
        pytest.skip("unicorn is not installed")
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Expected]:
    folder = tmp_path_factory.mktemp("trainings")
    return [Expected(compiled(small(folder, seed), "cortex-m7")) for seed in range(3)]


@pytest.fixture(scope="module", params=["gcc", "zig"])
def image(
    request: pytest.FixtureRequest,
    board: Board,
    models: list[Expected],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    cpu = cpu_spec(board.chip.cpu)
    if request.param not in available(cpu):
        pytest.skip(f"no {request.param} for {cpu.key} is installed")
    folder = tmp_path_factory.mktemp("image")
    return build_model(models[0].model, board, select(request.param, cpu), folder).firmware.elf


@pytest.fixture
def emulator(board: Board, image: Path) -> Iterator[Emulator]:
    from tinydeploy.emulate.chip import UnicornEmulator

    with UnicornEmulator(board) as emulator:
        emulator.start(image)
        yield emulator


def connect(emulator: Emulator) -> Client:
    """A session that asks again soon after the power failed."""
    return Client.connect(emulator.uart, timeouts=Timeouts(call_s=5.0, working_s=0.2))


def flash_of(emulator: Emulator) -> ProgrammableFlash:
    from tinydeploy.emulate.chip import UnicornEmulator

    assert isinstance(emulator, UnicornEmulator)
    flash = emulator.machine.programmable_flash
    assert flash is not None
    return flash


def operations_of(model: Expected) -> int:
    """One erasure, the words of the payload, those of the header."""
    assert model.model.library.block is not None
    return 1 + len(model.model.library.block.payload) // 4 + WORDS_OF_HEADER


def test_the_code_keeps_out_of_the_slots(board: Board, image: Path) -> None:
    slots = board.chip.slots
    assert slots is not None
    ends = [segment.address + len(segment.data) for segment in read_image(image).segments]
    assert max(ends) <= min(place.origin for place in slots.places)


def test_an_update_and_a_restart(emulator: Emulator, models: list[Expected]) -> None:
    own, second, third = models
    client = connect(emulator)
    own.check(client)
    for count, (model, slot) in enumerate([(second, 0), (third, 1), (own, 0)], 1):
        update_model(client, model.model)
        model.check(client)
        assert flash_of(emulator).operations == count * operations_of(model)
        client.reset_device()
        client = connect(emulator)
        model.check(client)
        assert slots_info(client).active == slot


@pytest.mark.parametrize("image", ["gcc"], indirect=True)
@pytest.mark.parametrize("place", ["erasure", "first word", "middle", "last word", "header", "header's last"])
def test_a_power_cut(place: str, emulator: Emulator, models: list[Expected]) -> None:
    own, second, third = models
    total = operations_of(second)
    cut_at = {
        "erasure": 1,
        "first word": 2,
        "middle": total // 2,
        "last word": total - WORDS_OF_HEADER,
        "header": total - WORDS_OF_HEADER + 1,
        "header's last": total,
    }[place]
    client = connect(emulator)
    update_model(client, second.model)
    flash = flash_of(emulator)
    flash.cut_at = flash.operations + cut_at
    with pytest.raises(DeviceError, match=r"the device was reset|no answer"):
        update_model(client, third.model)
    client = connect(emulator)
    second.check(client)
    update_model(client, third.model)
    third.check(client)
    assert own.hash not in (second.hash, third.hash)


@pytest.mark.parametrize("image", ["gcc"], indirect=True)
def test_flash_that_never_ends(emulator: Emulator, models: list[Expected]) -> None:
    """The driver gives up, the old model runs on, and later flash works again."""
    client = connect(emulator)
    flash_of(emulator).stuck = True
    with pytest.raises(DeviceError, match="the flash memory reported an error"):
        update_model(client, models[1].model)
    models[0].check(client)
    flash_of(emulator).stuck = False
    update_model(client, models[1].model)
    models[1].check(client)
