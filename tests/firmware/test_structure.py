"""What is proved of an image without its board: every violation is found, in words, and no image has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tinydeploy.boards import Board, all_boards, load_board
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Firmware, build_firmware
from tinydeploy.firmware.structure import Load, Piece, Structure, check_structure, find_faults, read_structure
from tinydeploy.toolchain import cpu_spec, select

MODEL = Path(__file__).parent.parent / "emulated" / "firmware" / "tiny_model.c"
BUILDABLE = [board.name for board in all_boards() if not board.is_host and board.chip.is_buildable]
ARM, RISCV, BOOT = "nucleo-f746", "qemu-rv32", "rpi-pico"


def build(board: Board, folder: Path, compiler: str = "gcc") -> Firmware:
    toolchain = select(compiler, cpu_spec(board.chip.cpu))
    return build_firmware(board, toolchain, [MODEL], [], folder, "io", 64)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Structure]:
    """One image of each kind of chip; nothing writes to them."""
    folder = tmp_path_factory.mktemp("images")
    return {name: read_structure(build(load_board(name), folder / name).elf) for name in (ARM, RISCV, BOOT)}


@pytest.mark.full  # tests/boards/test_coverage.py builds them, and building checks
@pytest.mark.parametrize("name", BUILDABLE)
def test_every_board_s_image_holds(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    assert not [*find_faults(board, read_structure(build(board, tmp_path).elf))]


def test_every_vector_is_looked_at(images: dict[str, Structure]) -> None:
    """The base of the tests below: the images have what they doctor, and nothing is wrong with them."""
    board = load_board(ARM)
    image = images[ARM]
    start = image.places["td_vectors"]
    assert image.word(start) == image.places["td_stack_high"]
    assert image.word(start + 4) == image.places["Reset_Handler"] | 1 == image.entry
    assert image.word(start + 4 * (16 + 39)) == image.places["td_uart_isr"] | 1
    assert image.word(start - 4) is None
    for name, found in images.items():
        assert not [*find_faults(load_board(name), found)]
    check_structure(board, image)


Change = Callable[[Structure], Structure]


def word(index: int, value: int | Callable[[int], int]) -> Change:
    """Another word in the vector table."""

    def changed(image: Structure) -> Structure:
        address = image.places["td_vectors"] + 4 * index
        before = image.word(address)
        assert before is not None
        after = value(before) if callable(value) else value
        return replace(image, loads=tuple(patched(load, address, after) for load in image.loads))

    return changed


def patched(load: Load, address: int, value: int) -> Load:
    at = address - load.load_address
    if not 0 <= at < len(load.data):
        return load
    return replace(load, data=load.data[:at] + value.to_bytes(4, "little") + load.data[at + 4 :])


def place(name: str, value: int | None) -> Change:
    """A symbol elsewhere, or none of that name."""

    def changed(image: Structure) -> Structure:
        places = {key: at for key, at in image.places.items() if key != name}
        return replace(image, places=places if value is None else {**places, name: value})

    return changed


def moved_load(address: int) -> Change:
    return lambda image: replace(
        image, loads=(*image.loads, replace(image.loads[0], load_address=address, data=bytes(8)))
    )


def moved_section(name: str, address: int) -> Change:
    def changed(image: Structure) -> Structure:
        def move(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
            return tuple(replace(one, address=address) if one.name == name else one for one in pieces)

        return replace(image, written=move(image.written), fixed=move(image.fixed))

    return changed


FLASHES = "FLASH 0x08000000 to 0x08100000"
RAMS = "ITCM 0x00000000 to 0x00004000, DTCM 0x20000000 to 0x20010000, SRAM 0x20010000 to 0x20050000"
VIOLATIONS: dict[str, tuple[Change, str]] = {
    "machine": (
        lambda image: replace(image, machine="EM_RISCV"),
        "the ELF file is for EM_RISCV, cortex-m7 needs EM_ARM",
    ),
    "object file": (
        lambda image: replace(image, is_executable=False),
        "the ELF file is not an executable (ET_EXEC)",
    ),
    "float ABI": (
        lambda image: replace(image, flags=0x05000200),
        "the ELF flags under 0xff000600 are 0x05000200, cortex-m7 needs 0x05000400 (the ABI, and whether",
    ),
    "nothing": (lambda image: replace(image, loads=()), "there is nothing to load"),
    "segment in RAM": (
        moved_load(0x20000000),
        "the segment at 0x20000000 to 0x20000008 is loaded outside of the flash regions: " + FLASHES,
    ),
    "segment over the end": (
        moved_load(0x080FFFFC),
        "the segment at 0x080ffffc to 0x08100004 is loaded outside of the flash regions: " + FLASHES,
    ),
    "segments": (
        moved_load(0x08000010),
        "and at 0x08000010 to 0x08000018 overlap",
    ),
    "code in RAM": (
        moved_section(".text", 0x20020000),
        ", outside of the flash regions: " + FLASHES,
    ),
    "data in flash": (
        moved_section(".bss", 0x08080000),
        ", outside of the ram regions: " + RAMS,
    ),
    "variable": (
        lambda image: replace(image, variables=(Piece("lost", 0x2004FFFE, 4),)),
        "the variable lost lies at 0x2004fffe to 0x20050002, outside of the ram regions: " + RAMS,
    ),
    "sections": (moved_section(".bss", 0x20000100), ") and .bss (from 0x20000100) overlap"),
    "no stack": (place("td_stack_high", None), "there is no symbol td_stack_high"),
    "stack not lowest": (
        place("td_stack_low", 0x20000100),
        "the stack begins at 0x20000100, not where DTCM does: 0x20000000",
    ),
    "stack size": (
        place("td_stack_high", 0x20001000),
        "the stack has 4096 bytes, the chip's layout wants 8192",
    ),
    "stack alignment": (
        place("td_stack_high", 0x20002004),
        "the stack's top is 0x20002004, multiples of 8 are allowed",
    ),
    "stack over the end": (
        place("td_stack_high", 0x20010008),
        "the stack, 0x20000000 to 0x20010008, leaves DTCM, which ends at 0x20010000",
    ),
    "no reset handler": (place("Reset_Handler", None), "there is no function Reset_Handler"),
    "entry": (
        lambda image: replace(image, entry=0x08000000),
        "the ELF entry is 0x08000000, Reset_Handler is 0x",
    ),
    "reset handler": (
        place("Reset_Handler", 0x20000000),
        "Reset_Handler lies at 0x20000000, outside of FLASH: 0x08000000 to 0x08100000",
    ),
    "no vectors": (place("td_vectors", None), "there is no vector table (td_vectors)"),
    "vectors elsewhere": (
        place("td_vectors", 0x08000200),
        "the vector table lies at 0x08000200, the chip looks for it at 0x08000000",
    ),
    "vector alignment": (
        place("td_vectors", 0x08000100),
        "the vector table lies at 0x08000100, 114 vectors need a multiple of 512",
    ),
    "vectors cut off": (
        place("td_vectors", 0x080FFFFC),
        "the vector table has 0 words, 114 are needed",
    ),
    "stack pointer": (
        word(0, 0x20001000),
        "the initial stack pointer is 0x20001000, td_stack_high is 0x20002000",
    ),
    "stack pointer elsewhere": (
        word(0, 0x20010004),
        "the initial stack pointer is 0x20010004, multiples of 8 in DTCM are allowed: 0x20000000 to",
    ),
    "reset vector": (word(1, lambda value: value + 16), ", Reset_Handler with its Thumb bit is 0x"),
    "no Thumb bit": (word(3, lambda value: value & ~1), ", without the Thumb bit"),
    "no function": (word(20, 0x08000003), "vector 20 is 0x08000003, where no function begins"),
    "UART's vector": (
        lambda image: word(16 + 39, image.places["td_fault_entry"] | 1)(image),
        "vector 55 (interrupt 39, usart3) is 0x",
    ),
    "no UART": (place("td_uart_isr", None), "there is no function td_uart_isr"),
    "function in RAM": (
        lambda image: word(21, 0x20000101)(replace(image, functions=image.functions | {0x20000100})),
        "vector 21 is 0x20000101, outside of the flash regions: " + FLASHES,
    ),
}


@pytest.mark.parametrize("name", [*VIOLATIONS])
def test_a_violation_is_told(images: dict[str, Structure], name: str) -> None:
    """What, where, what was got and what is allowed."""
    change, message = VIOLATIONS[name]
    faults = [*find_faults(load_board(ARM), change(images[ARM]))]
    assert any(message in fault for fault in faults), faults
    with pytest.raises(ToolError) as caught:
        check_structure(load_board(ARM), change(images[ARM]))
    assert caught.value.what == faults[0]
    assert caught.value.where == f"{images[ARM].path}, for {ARM}"
    assert caught.value.fix == "Check the chip's [layout] and regions"


def test_risc_v_starts_at_the_start_of_the_code(images: dict[str, Structure]) -> None:
    board, image = load_board(RISCV), images[RISCV]
    assert board.chip.layout is not None
    start = board.chip.region(board.chip.layout.code).origin
    assert image.entry == image.places["Reset_Handler"] == start
    (late,) = find_faults(board, replace(place("Reset_Handler", start + 8)(image), entry=start + 8))
    assert late == (
        f"Reset_Handler, where the chip jumps to, lies at {start + 8:#010x}, "
        f"the chip looks for it at {start:#010x}"
    )
    (floats,) = find_faults(board, replace(image, flags=0x3))
    assert floats.startswith(
        "the ELF flags under 0x00000006 are 0x00000002, rv32imc needs 0x00000000 (the ABI"
    )


def test_a_boot_block_comes_first(images: dict[str, Structure]) -> None:
    board, image = load_board(BOOT), images[BOOT]
    layout = board.chip.layout
    assert layout is not None
    code = board.chip.region(layout.code)
    assert image.places["td_vectors"] == code.origin + layout.vectors_offset > code.origin
    gone = {name: at for name, at in image.places.items() if at != code.origin}
    assert [*find_faults(board, replace(image, places=gone))] == [
        f"there is no boot block {layout.boot} at the start of {code.name}, {code.origin:#010x}"
    ]


def test_a_file_that_is_no_elf_of_32_bits_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.elf"
    path.write_bytes(b"not an ELF file")
    with pytest.raises(ToolError, match=r"x\.elf: is not a readable ELF file \("):
        read_structure(path)
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    with pytest.raises(ToolError, match=r"x\.elf: the image has 64 bits, little endian; 32, little endian,"):
        read_structure(path)
