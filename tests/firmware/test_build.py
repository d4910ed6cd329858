"""Images: what lies where, what they weigh, and what is said where they do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tinydeploy.boards import Board, Kind, load_board
from tinydeploy.errors import BudgetError, TinyDeployError
from tinydeploy.firmware import Firmware, build_firmware, read_image, runtime_sources
from tinydeploy.firmware.build import place_arena
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import CPUS, NAMES, CpuSpec, cpu_spec, select

MODEL = Path(__file__).parent.parent / "emulated" / "firmware" / "tiny_model.c"
BOARDS = ["nucleo-f746", "qemu-m4"]


def build(
    board: Board, folder: Path, *, compiler: str = "gcc", level: str = "io", arena: int = 64
) -> Firmware:
    toolchain = select(compiler, cpu_spec(board.chip.cpu))
    return build_firmware(board, toolchain, [MODEL], [], folder, level, arena)


@pytest.mark.parametrize("compiler", NAMES)
@pytest.mark.parametrize("level", ["none", "io", "debug"])
@pytest.mark.parametrize("board", BOARDS)
def test_every_image_compiles_without_warnings(board: str, level: str, compiler: str, tmp_path: Path) -> None:
    """And all its files hold the same bytes."""
    firmware = build(load_board(board), tmp_path, compiler=compiler, level=level)
    image = read_image(firmware.elf)
    sizes = firmware.sizes
    assert firmware.map.is_file()
    assert firmware.compiler.startswith(f"{compiler} ")
    assert sizes.flash_bytes == sum(len(segment.data) for segment in image.segments)
    assert sizes.flash_bytes >= sizes.text_bytes + sizes.rodata_bytes + sizes.data_bytes
    assert sizes.stack_bytes == 8192
    assert sizes.arena_bytes == 64
    start = min(segment.address for segment in image.segments)
    content = firmware.bin.read_bytes()
    for segment in image.segments:
        assert content[segment.address - start :][: len(segment.data)] == segment.data
    assert hex_content(firmware.hex) == {
        segment.address + at: byte for segment in image.segments for at, byte in enumerate(segment.data)
    }


def hex_content(path: Path) -> dict[int, int]:
    """Intel HEX, read back; checks every record's sum."""
    content: dict[int, int] = {}
    upper = 0
    for line in path.read_text().splitlines():
        record = bytes.fromhex(line.removeprefix(":"))
        assert sum(record) & 0xFF == 0
        size, address, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        data = record[4 : 4 + size]
        if kind == 4:
            upper = int.from_bytes(data, "big") << 16
        elif kind == 0:
            content |= {upper + address + at: byte for at, byte in enumerate(data)}
    return content


def test_levels_cost_what_they_bring(tmp_path: Path) -> None:
    board = load_board("nucleo-f746")
    flash = [
        build(board, tmp_path / level, level=level).sizes.flash_bytes for level in ("none", "io", "debug")
    ]
    assert flash == sorted(flash)
    assert flash[0] < 5_000
    assert flash[2] < 10_000


@pytest.mark.parametrize("board", BOARDS)
def test_the_image_lies_where_the_chip_says(board: str, tmp_path: Path) -> None:
    chip = load_board(board).chip
    assert chip.layout is not None
    image = read_image(build(load_board(board), tmp_path).elf)
    code, data = chip.region(chip.layout.code), chip.region(chip.layout.data)
    assert all(code.origin <= segment.address and segment.end <= code.end for segment in image.segments)
    assert image.symbols["td_vectors"] == code.origin
    assert image.symbols["td_stack_low"] == data.origin, "an overflow must leave the memory"
    assert image.symbols["td_stack_high"] == data.origin + chip.layout.stack_bytes
    assert image.symbol_at(image.symbols["td_boot"] + 2) == "td_boot+0x2"


@pytest.mark.parametrize("compiler", NAMES)
def test_constants_may_lie_apart_from_the_code(compiler: str, tmp_path: Path) -> None:
    """The .hex then holds both regions, the .bin only what lies in one piece."""
    board = load_board("qemu-m55")
    firmware = build(board, tmp_path, compiler=compiler)
    image = read_image(firmware.elf)
    regions = [
        region.name
        for segment in image.segments
        for region in board.chip.regions
        if region.origin <= segment.address and segment.end <= region.end
    ]
    assert sorted({*regions}) == ["ITCM", "SRAM1"]
    assert len(regions) == len(image.segments)
    apart = sum(
        len(segment.data)
        for segment, region in zip(image.segments, regions, strict=True)
        if region == "SRAM1"
    )
    assert firmware.sizes.flash_bytes - apart <= firmware.bin.stat().st_size < firmware.sizes.flash_bytes
    assert len(hex_content(firmware.hex)) == firmware.sizes.flash_bytes


def test_the_arena_takes_the_cheapest_region_that_holds_it() -> None:
    chip = load_board("nucleo-f746").chip
    assert place_arena(chip, 40_000, 4_000).name == "DTCM"
    assert place_arena(chip, 60_000, 4_000).name == "SRAM"
    with pytest.raises(BudgetError) as caught:
        place_arena(chip, 300_000, 4_000)
    assert str(caught.value) == (
        "chip stm32f746zg: the arena needs 300000 bytes of RAM in one piece, "
        "at most 262144 are free (in SRAM). Choose a smaller model or a board with more RAM"
    )


@pytest.mark.parametrize("compiler", NAMES)
def test_a_large_arena_moves_to_the_next_region(compiler: str, tmp_path: Path) -> None:
    image = read_image(build(load_board("nucleo-f746"), tmp_path, compiler=compiler, arena=200_000).elf)
    assert image.symbols["td_app_arena"] == 0x20010000
    assert image.sizes.arena_bytes == 200_000


@pytest.mark.parametrize("compiler", NAMES)
def test_an_image_too_large_for_the_flash(compiler: str, tmp_path: Path) -> None:
    board = load_board("nucleo-f746")
    regions = tuple(
        replace(region, size=0x800) if region.kind is Kind.FLASH else region for region in board.chip.regions
    )
    small = replace(board, chip=replace(board.chip, regions=regions))
    with pytest.raises(
        BudgetError, match=r"board nucleo-f746: the image needs \d+ bytes of FLASH, \d+ more"
    ) as caught:
        build(small, tmp_path, compiler=compiler)
    assert str(caught.value).endswith("Choose a smaller model or a larger board")


def test_a_block_without_driver_is_named(tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    blocks = tuple(
        replace(block, type="pl011") if block.name == "uart0" else block for block in board.chip.blocks
    )
    with pytest.raises(TinyDeployError) as caught:
        runtime_sources(replace(board, chip=replace(board.chip, blocks=blocks)))
    said = str(caught.value)
    assert "there is no uart driver for IP blocks of type 'pl011'. Drivers: arm_pl011, cmsdk_uart, " in said


@pytest.mark.parametrize("cpu", [cpu for cpu in CPUS.values() if not cpu.is_host], ids=lambda cpu: cpu.key)
def test_every_core_has_startup_code(cpu: CpuSpec) -> None:
    for folder in cpu.core:
        assert list((runtime_dir() / "core" / folder).glob("*.c"))


def test_a_trap_handler_needs_no_vectors(tmp_path: Path) -> None:
    """Where a controller tells who interrupted, the image starts with the code."""
    image = read_image(build(load_board("qemu-rv32"), tmp_path).elf)
    chip = load_board("qemu-rv32").chip
    assert chip.layout is not None
    assert image.symbols["Reset_Handler"] == image.entry == chip.region(chip.layout.code).origin
    assert "td_vectors" not in image.symbols
    text = (tmp_path / "obj" / "td_board_config.c").read_text()
    assert "{0x00100000u, 0x0000FFFFu, 0x00007777u, 0u, 4u}, /* reset */" in text
    assert "{0x00000000u," not in text, "a block without an address is not memory"


def test_host_and_unknown_levels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        TinyDeployError, match=r"host: the host runs programs, not firmware\. Give another --board"
    ):
        build(load_board("host"), tmp_path)
    with pytest.raises(TinyDeployError, match=r"--rpc 'all' is not supported\. Supported: none, io, debug"):
        build(load_board("qemu-m4"), tmp_path, level="all")


def test_a_file_that_is_no_image(tmp_path: Path) -> None:
    path = tmp_path / "model.elf"
    path.write_bytes(b"not an ELF file")
    with pytest.raises(TinyDeployError, match=r"model\.elf: is not a readable ELF firmware \("):
        read_image(path)
    with pytest.raises(
        TinyDeployError, match=r"missing\.elf: is not a readable ELF firmware \(.*No such file"
    ):
        read_image(tmp_path / "missing.elf")


def test_the_generated_board_data_is_readable(tmp_path: Path) -> None:
    """Comments carry the chip file's words, so that the C explains itself."""
    build(load_board("nucleo-f746"), tmp_path)
    text = (tmp_path / "obj" / "td_board_config.c").read_text()
    assert "{0x40023804u, 0x0F437FFFu, 0x09403604u, 0u, 4u}, /* PLL 8 MHz / 4 x 216 / 2 */" in text
    assert text.count("td_uart_isr") == 1
