"""Every board and chip file loads, and says only what exists; broken files are told apart in words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tinydeploy.boards import Board, Kind, Tier, all_boards, load_board
from tinydeploy.boards.chip_file import load_chip
from tinydeploy.errors import TinyDeployError
from tinydeploy.resources import boards_dir

CHIPS = sorted((boards_dir() / "chips").glob("*.toml"))


@pytest.mark.parametrize("path", CHIPS, ids=lambda path: path.stem)
def test_every_chip_loads_under_its_file_name(path: Path) -> None:
    assert load_chip(path).name == path.stem


@pytest.mark.parametrize("board", all_boards(), ids=lambda board: board.name)
def test_every_board_loads_under_its_names(board: Board) -> None:
    assert board.path.stem == board.name
    for name in (board.name, *board.aliases):
        assert load_board(name).name == board.name
    assert bool(board.emulators) == (board.tier is Tier.RUNS)


def test_the_boards() -> None:
    nucleo = load_board("nucleo-f746zg")
    assert nucleo.clock_hz == 216_000_000
    assert nucleo.chip.flash_bytes == 1024 * 1024
    assert sum(region.size for region in nucleo.chip.regions if region.origin >= 0x20000000) == 320 * 1024
    assert [(pin.port, pin.pin) for pin in nucleo.pins] == [("gpiod", 8), ("gpiod", 9)]
    assert load_board("host").is_host
    assert load_board("qemu-m4").emulators[0].machine == "mps2-an386"
    microbit = load_board("bbc-microbit-v1")
    assert (microbit.chip.ram_bytes, microbit.chip.flash_bytes) == (16 * 1024, 256 * 1024)
    (large,) = load_board("qemu-m0").emulators
    assert {(found.device, found.name, found.value) for found in large.properties} == {
        ("nrf51-soc", "flash-size", 1 << 20),
        ("nrf51-soc", "sram-size", 1 << 20),
    }
    riscv = load_board("qemu-rv32").chip
    assert riscv.interrupt_controller == "plic"
    assert [step.value for step in riscv.reset] == [0x7777]


def test_an_unknown_board_lists_the_known_ones_and_the_closest() -> None:
    with pytest.raises(TinyDeployError) as caught:
        load_board("nucleo-f746zh")
    supported = ", ".join(board.name for board in all_boards())
    assert "bbc-microbit-v1, " in supported
    assert str(caught.value) == (
        f"board 'nucleo-f746zh' is not supported. Supported: {supported}. "
        "Did you mean nucleo-f746zg or nucleo-f746 or nucleo-h743zi? "
        "A board of your own is a file: --board ./mine.toml"
    )
    with pytest.raises(TinyDeployError, match=r"4\.1\. A board of your own is a file: --board \./mine"):
        load_board("zzz")


def test_a_board_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text((boards_dir() / "qemu-m4.toml").read_text().replace('"qemu-m4"', '"mine"', 1))
    assert load_board(mine).name == "mine"
    assert load_board(str(mine)).chip.name == "mps2-an386"
    monkeypatch.setenv("TINYDEPLOY_BOARD_PATH", str(tmp_path))
    assert load_board("mine").path == mine
    assert "mine" in [board.name for board in all_boards()]


def test_a_chip_of_ones_own_lies_beside_the_board(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text((boards_dir() / "qemu-m4.toml").read_text())
    (tmp_path / "chips").mkdir()
    chip = (boards_dir() / "chips" / "mps2-an386.toml").read_text()
    (tmp_path / "chips" / "mps2-an386.toml").write_text(chip.replace("size = 0x1000000", "size = 0x800000"))
    sizes = [region.size for region in load_board(mine).chip.regions if region.kind is Kind.RAM]
    assert sizes == [0x400000, 0x800000]


def test_a_board_path_that_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYDEPLOY_BOARD_PATH", "/nowhere")
    with pytest.raises(TinyDeployError, match="TINYDEPLOY_BOARD_PATH: /nowhere: is not a folder"):
        all_boards()


CHIP_FAULTS = {
    "unknown key": (
        "reset_hz = 25",
        'colour = "red"\nreset_hz = 25',
        r"colour: unknown key\. Known here: .*cpu",
    ),
    "missing key": ("interrupts = 32\n", "", r"interrupts: this key is missing"),
    "wrong type": (
        "interrupts = 32",
        'interrupts = "many"',
        r"interrupts: got 'many', a whole number is allowed",
    ),
    "boolean as number": ("interrupts = 32", "interrupts = true", r"interrupts: got True, a whole number"),
    "out of range": ("interrupts = 32", "interrupts = 4096", r"interrupts: got 4096, 0 to 496 are allowed"),
    "unknown cpu": ('"cortex-m4"', '"cortex-m9"', r"cpu: got 'cortex-m9', allowed: host, cortex-m0"),
    "overlap": (
        "origin = 0x21000000",
        "origin = 0x20200000",
        r"region: SSRAM23 \(ends at 0x20400000\) and PSRAM \(starts at 0x20200000\) overlap",
    ),
    "outside": (
        "origin = 0x21000000",
        "origin = 0xFFFFFFFF",
        r"region\[2\]\.size: got 16777216, 1 to 1 are allowed",
    ),
    "layout kind": (
        'data = "SSRAM23"',
        'data = "SSRAM1"',
        r"layout\.data: got 'SSRAM1', ram regions .* SSRAM23, PSRAM",
    ),
    "constants kind": (
        'data = "SSRAM23"',
        'data = "SSRAM23"\nconstants = "PSRAM"',
        r"layout\.constants: got 'PSRAM', flash regions are allowed: SSRAM1",
    ),
    "stack size": (
        "stack_bytes = 8192",
        "stack_bytes = 1001",
        r"layout\.stack_bytes: got 1001, multiples of 32",
    ),
    "counter": (
        'block = "timer0"',
        'block = "timer9"',
        r"counter\.block: got 'timer9', the chip has the blocks scs",
    ),
    "interrupt controller": (
        "interrupts = 32\n",
        'interrupts = 32\ninterrupt_controller = "gic"\n',
        r"interrupt_controller: got 'gic', the chip has the blocks scs",
    ),
    "twice": ('name = "timer0"', 'name = "uart0"', r"block: the name 'uart0' is used twice"),
    "irq": ("irq = 0 ", "irq = 99 ", r"block: uart0: irq 99, the chip has 0 to 31"),
    "not a word": (
        'name = "PSRAM"',
        'name = "P;}"',
        r"region\[2\]\.name: got 'P;}', allowed: a word of letters",
    ),
    "comment in title": ('"Cortex-M4 on', '"*/ on', r"title: got '\*/ on .*', allowed: letters, digits"),
    "no toml": ("[layout]", "[layout", r"is not valid TOML: "),
    "no table": ("[layout]", "layout = 1\n[other]", r"layout: got 1, a table is allowed"),
    "no list": (
        '[[block]]\nname = "scs"',
        '[block]\nname = "scs"',
        r"(is not valid TOML|write it as \[\[block\]\])",
    ),
}


@pytest.mark.parametrize("fault", CHIP_FAULTS)
def test_a_faulty_chip_file_names_file_and_key(fault: str, tmp_path: Path) -> None:
    before, after, message = CHIP_FAULTS[fault]
    text = (boards_dir() / "chips" / "mps2-an386.toml").read_text()
    assert before in text
    path = tmp_path / "chip.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(TinyDeployError, match=rf"{path}: {message}"):
        load_chip(path)


CLOCK_FAULTS = {
    "value outside mask": (
        "mask = 0x10000000, value = 0x10000000",
        "mask = 0x1, value = 0x10000000",
        r"clock\[0\]\.step\[0\]\.value: 0x10000000 has bits outside the mask 0x1",
    ),
    "unknown action": (
        'do = "wait"',
        'do = "hope"',
        r"clock\[0\]\.step\[3\]\.do: got 'hope', allowed: write, wait",
    ),
    "unknown block": (
        'block = "pwr"',
        'block = "psu"',
        r"clock\[0\]\.step\[1\]\.block: got 'psu', allowed: scs",
    ),
}


@pytest.mark.parametrize("fault", CLOCK_FAULTS)
def test_a_faulty_clock_table_names_the_step(fault: str, tmp_path: Path) -> None:
    before, after, message = CLOCK_FAULTS[fault]
    text = (boards_dir() / "chips" / "stm32f746zg.toml").read_text()
    path = tmp_path / "chip.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(TinyDeployError, match=rf"{path}: {message}"):
        load_chip(path)


BOARD_FAULTS = {
    "chip": (
        'chip = "stm32f746zg"',
        'chip = "z80"',
        r"chip: no chip 'z80'\. Known: atmega328p, .*, host, .*, stm32u575zi-q\. Write ",
    ),
    "clock": ('"hse-bypass-8mhz"', '"sundial"', r"clock: got 'sundial', allowed: hse-bypass-8mhz"),
    "uart": ('block = "usart3"', 'block = "gpiod"', r"uart\.block: got 'gpiod', allowed: usart1"),
    "pin": ("pin = 8", "pin = 32", r"pin\[0\]\.pin: got 32, 0 to 31 are allowed"),
    "probe": ('tool = "openocd"', 'tool = "hammer"', r"probe\[0\]\.tool: got 'hammer', allowed: openocd"),
    "emulator": (
        'kind = "unicorn"',
        'kind = "dream"',
        r"emulator\[0\]\.kind: got 'dream', allowed: qemu, unicorn",
    ),
    "aliases": ('aliases = ["nucleo-f746zg"]', 'aliases = "x"', r"aliases: got 'x', a list is allowed"),
    "tier": ('tier = "runs"', 'tier = "best"', r"tier: got 'best', allowed: runs, builds, library"),
    "library": (
        'tier = "runs"',
        'tier = "library"',
        r"tier: got 'library', but the chip stm32f746zg has firmware",
    ),
}


@pytest.mark.parametrize("fault", BOARD_FAULTS)
def test_a_faulty_board_file_names_file_and_key(fault: str, tmp_path: Path) -> None:
    before, after, message = BOARD_FAULTS[fault]
    text = (boards_dir() / "nucleo-f746.toml").read_text()
    assert before in text
    path = tmp_path / "board.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(TinyDeployError, match=rf"{path}: {message}"):
        load_board(path)


def test_a_missing_board_file() -> None:
    with pytest.raises(TinyDeployError, match=r"mine\.toml: cannot be read \(.*No such file"):
        load_board("./mine.toml")


def test_caches_and_rest_survive_a_copy(tmp_path: Path) -> None:
    """A copied pair of files is the same board: nothing depends on where they lie."""
    shutil.copytree(boards_dir(), tmp_path / "boards")
    copy = load_board(tmp_path / "boards" / "nucleo-f746.toml")
    original = load_board("nucleo-f746")
    assert (copy.chip.blocks, copy.chip.clocks, copy.pins) == (
        original.chip.blocks,
        original.chip.clocks,
        original.pins,
    )
