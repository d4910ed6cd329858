"""What can be proved of an image without its board: the chip's boot finds it, and it stays in memory.

Sources: "ELF for the Arm Architecture" (AAELF32) 5.2, the RISC-V ELF psABI, and for the vector table the
architecture manuals of Armv6-M, Armv7-M and Armv8-M (B1.5, VTOR).
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from tinydeploy.boards import Board, Chip, Kind, Layout, Region
from tinydeploy.errors import ToolError
from tinydeploy.firmware.render import CORE_VECTORS
from tinydeploy.toolchain import cpu_spec

_WITHOUT_VTOR = ("cortex-m0",)
_LEAST_VTOR_ALIGNMENT = 128
_STACK_ALIGNMENT = 256  # of the linker script, for the fence
_ARM_FLAGS = 0xFF00_0600  # the version of the EABI, and where floats are passed
_ARM_EABI5_HARD, _ARM_EABI5_SOFT = 0x0500_0400, 0x0500_0200
_RISCV_FLAGS = 0x0000_0006  # where floats are passed
_NO_BITS = "SHT_NOBITS"
_WRITE, _ALLOC = 1, 2


@dataclass(frozen=True, slots=True)
class Piece:
    """A named range of addresses: a section or a symbol."""

    name: str
    address: int
    size: int

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True, slots=True)
class Load:
    """A loadable segment with bytes: where a loader puts them, and where the program sees them."""

    load_address: int
    address: int
    data: bytes

    @property
    def load_end(self) -> int:
        return self.load_address + len(self.data)


@dataclass(frozen=True, slots=True)
class Structure:
    """What of an ELF file decides whether it starts. Functions' addresses have no Thumb bit.

    ``written`` are sections that change at run time, ``fixed`` the others; both take memory.
    ``variables`` are the symbols within ``written``, ``places`` all symbols by name.
    """

    path: Path
    machine: str
    is_executable: bool
    flags: int
    entry: int
    loads: tuple[Load, ...]
    written: tuple[Piece, ...]
    fixed: tuple[Piece, ...]
    variables: tuple[Piece, ...]
    functions: frozenset[int]
    places: dict[str, int]

    def word(self, address: int) -> int | None:
        """The word that a loader puts at an address; None where it puts none."""
        for load in self.loads:
            at = address - load.load_address
            if at >= 0 and at + 4 <= len(load.data):
                return int(struct.unpack_from("<I", load.data, at)[0])
        return None


def read_structure(path: Path) -> Structure:
    """Read an ELF file; raises ToolError where it is none of 32 bits, little endian."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            if elf.elfclass != 32 or not elf.little_endian:
                order = "little" if elf.little_endian else "big"
                raise ToolError(
                    f"the image has {elf.elfclass} bits, {order} endian; 32, little endian, is allowed",
                    where=str(path),
                )
            return _structure(path, elf)
    except (ELFError, OSError) as error:
        raise ToolError(f"is not a readable ELF file ({error})", where=str(path)) from error


def check_structure(board: Board, image: Structure) -> None:
    """Raises ToolError for the first thing that would keep the image from running as the chip's file says."""
    for fault in find_faults(board, image):
        raise ToolError(
            fault, where=f"{image.path}, for {board.name}", fix="Check the chip's [layout] and regions"
        )


def find_faults(board: Board, image: Structure) -> Iterator[str]:
    """All of them, in words: what, where, got, allowed. The later ones rely on the earlier."""
    chip = board.chip
    assert chip.layout is not None
    yield from _file_faults(chip, image)
    yield from _segment_faults(chip, image)
    yield from _memory_faults(chip, image)
    yield from _stack_faults(chip, chip.layout, image)
    yield from _boot_faults(chip, chip.layout, image)
    if chip.interrupt_controller is None:
        yield from _vector_faults(board, chip.layout, image)


def _file_faults(chip: Chip, image: Structure) -> Iterator[str]:
    spec = cpu_spec(chip.cpu)
    if spec.arch == "arm":
        machine, mask = "EM_ARM", _ARM_FLAGS
        flags = _ARM_EABI5_HARD if "fpu" in spec.features else _ARM_EABI5_SOFT
    else:
        machine, mask, flags = "EM_RISCV", _RISCV_FLAGS, 0
    if image.machine != machine:
        yield f"the ELF file is for {image.machine}, {chip.cpu} needs {machine}"
    if not image.is_executable:
        yield "the ELF file is not an executable (ET_EXEC)"
    if image.machine == machine and image.flags & mask != flags:
        yield (
            f"the ELF flags under {mask:#010x} are {image.flags & mask:#010x}, {chip.cpu} needs "
            f"{flags:#010x} (the ABI, and whether the FPU passes floats)"
        )


def _segment_faults(chip: Chip, image: Structure) -> Iterator[str]:
    """Loaders write flash alone: RAM is filled by startup."""
    if not image.loads:
        yield "there is nothing to load"
    for load in image.loads:
        if _region(chip, Kind.FLASH, load.load_address, load.load_end) is None:
            yield (
                f"the segment at {_span(load.load_address, load.load_end)} is loaded outside of the "
                f"flash regions: {_named(chip, Kind.FLASH)}"
            )
    ordered = sorted(image.loads, key=lambda load: load.load_address)
    for low, high in itertools.pairwise(ordered):
        if low.load_end > high.load_address:
            yield (
                f"the segments at {_span(low.load_address, low.load_end)} and at "
                f"{_span(high.load_address, high.load_end)} overlap"
            )


def _memory_faults(chip: Chip, image: Structure) -> Iterator[str]:
    for kind, pieces in ((Kind.FLASH, image.fixed), (Kind.RAM, image.written)):
        for piece in pieces:
            if _region(chip, kind, piece.address, piece.end) is None:
                yield (
                    f"the section {piece.name} lies at {_span(piece.address, piece.end)}, outside of the "
                    f"{kind.value} regions: {_named(chip, kind)}"
                )
    for piece in image.variables:
        if _region(chip, Kind.RAM, piece.address, piece.end) is None:
            yield (
                f"the variable {piece.name} lies at {_span(piece.address, piece.end)}, outside of the "
                f"ram regions: {_named(chip, Kind.RAM)}"
            )
    ordered = sorted((*image.fixed, *image.written), key=lambda piece: piece.address)
    for low, high in itertools.pairwise(ordered):
        if low.end > high.address:
            yield (
                f"the sections {low.name} (to {low.end:#010x}) and {high.name} (from {high.address:#010x}) "
                "overlap"
            )


def _stack_faults(chip: Chip, layout: Layout, image: Structure) -> Iterator[str]:
    """The stack lies lowest in its region, so that an overflow leaves it instead of eating data."""
    data = chip.region(layout.data)
    missing = [name for name in ("td_stack_low", "td_stack_high") if name not in image.places]
    if missing:
        yield f"there is no symbol {missing[0]}"
        return
    low, high = image.places["td_stack_low"], image.places["td_stack_high"]
    lowest = -(-data.origin // _STACK_ALIGNMENT) * _STACK_ALIGNMENT
    if low != lowest:
        yield f"the stack begins at {low:#010x}, not where {data.name} does: {lowest:#010x}"
    if high - low != layout.stack_bytes:
        yield f"the stack has {high - low} bytes, the chip's layout wants {layout.stack_bytes}"
    if high % 8:
        yield f"the stack's top is {high:#010x}, multiples of 8 are allowed"
    if not data.origin <= low <= high <= data.end:
        yield f"the stack, {_span(low, high)}, leaves {data.name}, which ends at {data.end:#010x}"


def _boot_faults(chip: Chip, layout: Layout, image: Structure) -> Iterator[str]:
    code = chip.region(layout.code)
    start = code.origin + layout.vectors_offset
    reset = image.places.get("Reset_Handler")
    if reset is None:
        yield "there is no function Reset_Handler"
        return
    thumb = 0 if chip.interrupt_controller else 1
    if image.entry != reset | thumb:
        yield f"the ELF entry is {image.entry:#010x}, Reset_Handler is {reset | thumb:#010x}"
    if not code.origin <= reset < code.end:
        yield f"Reset_Handler lies at {reset:#010x}, outside of {code.name}: {_range(code)}"
    first = reset if chip.interrupt_controller else image.places.get("td_vectors")
    what = "Reset_Handler, where the chip jumps to," if chip.interrupt_controller else "the vector table"
    if first is None:
        yield "there is no vector table (td_vectors)"
    elif layout.boot is None or layout.vectors_offset:
        if first != start:
            yield f"{what} lies at {first:#010x}, the chip looks for it at {start:#010x}"
    elif not code.origin < first < code.end:
        yield f"{what} lies at {first:#010x}, not behind the boot block at {code.origin:#010x}"
    if layout.boot is not None and (
        image.word(code.origin) is None or code.origin not in image.places.values()
    ):
        yield f"there is no boot block {layout.boot} at the start of {code.name}, {code.origin:#010x}"


def _vector_faults(board: Board, layout: Layout, image: Structure) -> Iterator[str]:
    chip = board.chip
    first, reset = image.places.get("td_vectors"), image.places.get("Reset_Handler")
    top, handler = image.places.get("td_stack_high"), image.places.get("td_uart_isr")
    if first is None or reset is None or top is None:
        return  # said already
    count = CORE_VECTORS + chip.interrupts
    alignment = max(_LEAST_VTOR_ALIGNMENT, 1 << (4 * count - 1).bit_length())
    if chip.cpu not in _WITHOUT_VTOR and first % alignment:
        yield f"the vector table lies at {first:#010x}, {count} vectors need a multiple of {alignment}"
    words = [image.word(first + 4 * index) for index in range(count)]
    if None in words:
        yield f"the vector table has {words.index(None)} words, {count} are needed"
        return
    table = [word for word in words if word is not None]
    data = chip.region(layout.data)
    if table[0] != top:
        yield f"the initial stack pointer is {table[0]:#010x}, td_stack_high is {top:#010x}"
    if table[0] % 8 or not data.origin < table[0] <= data.end:
        yield (
            f"the initial stack pointer is {table[0]:#010x}, multiples of 8 in {data.name} are allowed: "
            f"{_range(data)}"
        )
    if table[1] != reset | 1:
        yield f"the reset vector is {table[1]:#010x}, Reset_Handler with its Thumb bit is {reset | 1:#010x}"
    for index, word in enumerate(table[1:], 1):
        if not word & 1:
            yield f"vector {index} is {word:#010x}, without the Thumb bit"
        elif word & ~1 not in image.functions:
            yield f"vector {index} is {word:#010x}, where no function begins"
        elif _region(chip, Kind.FLASH, word & ~1, word + 1) is None:
            yield f"vector {index} is {word:#010x}, outside of the flash regions: {_named(chip, Kind.FLASH)}"
    assert board.uart is not None
    irq = chip.block(board.uart.block).irq
    assert irq is not None
    if handler is None:
        yield "there is no function td_uart_isr"
    elif table[CORE_VECTORS + irq] != handler | 1:
        yield (
            f"vector {CORE_VECTORS + irq} (interrupt {irq}, {board.uart.block}) is "
            f"{table[CORE_VECTORS + irq]:#010x}, td_uart_isr is {handler | 1:#010x}"
        )


def _region(chip: Chip, kind: Kind, start: int, end: int) -> Region | None:
    """The region of that kind with all bytes from ``start`` to before ``end``."""
    return next(
        (
            region
            for region in chip.regions
            if region.kind is kind and region.origin <= start and end <= region.end
        ),
        None,
    )


def _named(chip: Chip, kind: Kind) -> str:
    return ", ".join(f"{region.name} {_range(region)}" for region in chip.regions if region.kind is kind)


def _range(region: Region) -> str:
    return _span(region.origin, region.end)


def _span(start: int, end: int) -> str:
    return f"{start:#010x} to {end:#010x}"


def _structure(path: Path, elf: ELFFile) -> Structure:
    sections = list(elf.iter_sections())
    placed = [section for section in sections if section["sh_flags"] & _ALLOC and section["sh_size"] > 0]
    changing = {index for index, section in enumerate(sections) if _is_written(section)}
    symbols = [
        symbol
        for table in sections
        if isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols()
        if symbol.name and symbol.name[0] not in "$."
    ]
    places: dict[str, int] = {}
    for symbol in symbols:
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] != "STT_FILE":
            places[symbol.name] = symbol["st_value"] & (~1 if symbol["st_info"]["type"] == "STT_FUNC" else ~0)
    return Structure(
        path=path,
        machine=elf["e_machine"],
        is_executable=elf["e_type"] == "ET_EXEC",
        flags=elf["e_flags"],
        entry=elf["e_entry"],
        loads=tuple(
            Load(segment["p_paddr"], segment["p_vaddr"], bytes(segment.data()))
            for segment in elf.iter_segments("PT_LOAD")
            if segment["p_filesz"] > 0
        ),
        written=tuple(_piece(section) for section in placed if _is_written(section)),
        fixed=tuple(_piece(section) for section in placed if not _is_written(section)),
        variables=tuple(
            Piece(symbol.name, symbol["st_value"], symbol["st_size"])
            for symbol in symbols
            if symbol["st_shndx"] in changing
        ),
        functions=frozenset(
            symbol["st_value"] & ~1 for symbol in symbols if symbol["st_info"]["type"] == "STT_FUNC"
        ),
        places=places,
    )


def _is_written(section: Section) -> bool:
    flags = section["sh_flags"]
    return bool(flags & _ALLOC) and (bool(flags & _WRITE) or section["sh_type"] == _NO_BITS)


def _piece(section: Section) -> Piece:
    return Piece(section.name, section["sh_addr"], section["sh_size"])
