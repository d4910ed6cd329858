"""The ESP32-C3: its image as the ROM finds it in flash, and that it answers in a model of the chip."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path

import pytest

from tests.emulated.esp32c3_chip import DROM, IROM, MARK, Esp32C3, control_registers
from tests.flash.esp_rom import EspRom
from tests.tflite_builder import ModelBuilder
from tinydeploy.boards import Board, Tier, load_board
from tinydeploy.boards.chip_file import load_chip
from tinydeploy.build import compile_graph
from tinydeploy.device import Build, build_model, verify_device
from tinydeploy.errors import BudgetError, TinyDeployError
from tinydeploy.firmware import Firmware, build_firmware, read_image
from tinydeploy.flash import flash_board
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.kernels.targets import target_of
from tinydeploy.resources import boards_dir
from tinydeploy.rpc import Client, RefusedError
from tinydeploy.toolchain import NAMES, available, cpu_spec, select
from tinydeploy.verify import make_samples

BOARD = load_board("esp32-c3-devkitm-1")
CPU = cpu_spec(BOARD.chip.cpu)
MIE = 0x304

needs_esptool = pytest.mark.skipif(
    importlib.util.find_spec("esptool") is None, reason="esptool is not installed"
)


def built(folder: Path, compiler: str) -> Build:
    """The RPC server, with memory access, around a small network; skips where there is no such compiler."""
    if compiler not in available(CPU):
        pytest.skip(f"no {compiler} for {CPU.key} is installed")
    builder = ModelBuilder(seed=7).input((1, 8, 8, 2)).conv2d(8, (3, 3), stride=(2, 2)).reshape((1, 128))
    graph = load_bytes(builder.fully_connected(10).softmax().output().build(), "tiny")
    compiled = compile_graph(graph, target_of(BOARD.chip.cpu))
    return build_model(compiled, BOARD, select(compiler, CPU), folder, rpc_level="debug", trace=True)


@pytest.fixture(scope="module", params=NAMES)
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    return built(tmp_path_factory.mktemp("esp"), request.param)


@pytest.fixture
def firmware(build: Build) -> Firmware:
    return build.firmware


def test_the_board() -> None:
    assert load_board("esp32-c3") == BOARD
    assert BOARD.tier is Tier.BUILDS
    assert (BOARD.chip.ram_bytes, BOARD.chip.flash_bytes) == (384 << 10, 4 << 20)
    assert BOARD.clock_hz == 40_000_000


def test_the_rom_finds_its_mark_and_the_entry_behind_it(firmware: Firmware) -> None:
    content = firmware.bin.read_bytes()
    assert content[:8] == struct.pack("<II", 0xAEDB041D, 0xAEDB041D) == MARK
    assert content[0] != 0xE9  # else the ROM takes it for an image with segments
    image = read_image(firmware.elf)
    assert image.entry == image.symbols["Reset_Handler"] == IROM + 8


def test_code_and_constants_are_one_piece_seen_through_two_buses(firmware: Firmware) -> None:
    """And the initial values of variables are read where the constants are."""
    image = read_image(firmware.elf)
    code, constants, data = sorted(image.segments, key=lambda segment: segment.address)
    assert code.address == IROM
    assert constants.address == code.end
    assert data.address == constants.end
    assert firmware.bin.read_bytes() == code.data + constants.data + data.data
    assert image.symbols["td_data_load"] - DROM == data.address - IROM
    tables = [at for name, at in image.symbols.items() if name.startswith("tiny_bias_")]
    assert tables
    assert all(constants.address <= at - DROM + IROM < constants.end for at in tables)


def test_traps_enter_by_a_table(firmware: Firmware) -> None:
    """32 jumps of four bytes to the same place, at a multiple of 256."""
    image = read_image(firmware.elf)
    table = image.symbols["td_esp_vectors"]
    assert table % 256 == 0
    code = min(image.segments, key=lambda segment: segment.address)
    words = struct.unpack_from("<32I", code.data, table - code.address)
    assert {word & 0xFFF for word in words} == {0x06F}
    assert {table + 4 * index + _jump(word) for index, word in enumerate(words)} == {
        image.symbols["td_trap_entry"]
    }


def test_no_register_is_named_that_the_core_does_not_have(firmware: Firmware) -> None:
    code = min(read_image(firmware.elf).segments, key=lambda segment: segment.address).data[8:]
    named = set(control_registers(code))
    assert {0x300, 0x305, 0x340, 0x341, 0x342, 0x7E0, 0x7E1, 0x7E2} <= named
    assert MIE not in named


def _jump(word: int) -> int:
    """The offset of a ``jal``."""
    raw = (word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
    return raw - (1 << 21) if word >> 31 else raw


def test_an_image_that_is_too_large_names_the_flash(tmp_path: Path) -> None:
    source = tmp_path / "large.c"
    source.write_text(
        '#include "td_board.h"\nstatic const char td_large[0x400000] = {1};\n'
        "void td_app_main(void) {\n    td_uart_write((const uint8_t *)td_large, sizeof td_large);\n}\n"
    )
    with pytest.raises(
        BudgetError, match=r"board esp32-c3-devkitm-1: the image needs \d+ bytes of [ID]ROM, "
    ):
        build_firmware(BOARD, select(None, CPU), [], [], tmp_path / "out", "none", app=source)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('view_of = "IROM"', 'view_of = "SRAM"'),
        ("origin = 0x3C000000\nsize = 0x400000", "origin = 0x3C000000\nsize = 0x200000"),
        ('view_of = "IROM"', 'view_of = "DROM"'),
    ],
)
def test_a_view_shows_the_whole_of_the_code_region(before: str, after: str, tmp_path: Path) -> None:
    text = (boards_dir() / "chips" / "esp32c3.toml").read_text()
    assert before in text
    (tmp_path / "chip.toml").write_text(text.replace(before, after))
    with pytest.raises(
        TinyDeployError, match=r"region: DROM is a view of \w+; views of the code region, IROM, of its kind"
    ):
        load_chip(tmp_path / "chip.toml")


@pytest.mark.emulated
class TestInTheModel:
    def test_it_boots_and_every_row_has_the_bits_of_the_reference(self, build: Build) -> None:
        chip = Esp32C3(build.firmware.bin.read_bytes())
        with Client.connect(chip) as client:
            assert client.device.board == BOARD.name
            found = verify_device(client, build.compiled, make_samples(build.compiled.graph, 3))
        assert found.bit_exact
        assert chip.baud == pytest.approx(115_200, rel=0.002)
        assert not any(chip.watchdogs.values())
        assert chip.registers[0xC0058] & 0xFFF == 0  # the core on the crystal, by 1
        assert [chip.registers[0x9004 + 4 * pin] >> 12 & 7 for pin in (20, 21)] == [0, 0]

    def test_it_restarts(self, firmware: Firmware) -> None:
        chip = Esp32C3(firmware.bin.read_bytes())
        Client.connect(chip).reset_device()
        with Client.connect(chip) as again:
            assert again.device.board == BOARD.name
        assert chip.boots == 2

    def test_memory_is_read_where_loads_of_bytes_are_allowed(self, firmware: Firmware) -> None:
        image = read_image(firmware.elf)
        with Client.connect(Esp32C3(firmware.bin.read_bytes())) as client:
            assert client.read_memory(DROM + 1, 7) == MARK[1:]
            with pytest.raises(RefusedError):
                client.read_memory(image.symbols["td_boot"], 4)

    @needs_esptool
    def test_what_esptool_writes_boots(self, firmware: Firmware) -> None:
        with EspRom() as rom:
            flash_board(BOARD, firmware.elf, rom.port)
        with Client.connect(Esp32C3(bytes(rom.flash))) as client:
            assert client.device.board == BOARD.name


def test_other_chips_keep_one_region_for_both() -> None:
    board: Board = load_board("qemu-rv32")
    assert all(region.view_of is None for region in board.chip.regions)
