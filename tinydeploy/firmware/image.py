"""What a linked image holds: its loadable bytes, its sizes, and the .bin and .hex made from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tinydeploy.errors import TinyDeployError

_FLAG_WRITE = 1
_FLAG_ALLOC = 2
_HEX_BYTES = 16
_FILL = b"\xff"


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that a loader or a flash tool puts at a physical address."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of an image. ``flash_bytes`` = code + constants + initial values of ``.data``.

    ``arena_bytes`` is the model's arena; ``stack_bytes`` the region kept for the stack, not its worst case.
    """

    flash_bytes: int
    text_bytes: int
    rodata_bytes: int
    data_bytes: int
    bss_bytes: int
    arena_bytes: int
    stack_bytes: int


@dataclass(frozen=True, slots=True)
class Image:
    """An ELF file, read once. ``symbols`` are addresses of functions and objects, without Thumb bit.

    ``sections`` are the sizes of those that take memory.
    """

    path: Path
    entry: int
    segments: tuple[Segment, ...]
    sections: dict[str, int]
    symbols: dict[str, int]
    sizes: Sizes

    def symbol_at(self, address: int) -> str:
        """The name of the last symbol at or below an address, with the offset; empty where there is none."""
        below = [(value, name) for name, value in self.symbols.items() if value <= address]
        if not below:
            return ""
        value, name = max(below)
        return name if value == address else f"{name}+{address - value:#x}"


def read_image(path: Path) -> Image:
    """Read an ELF firmware; raises TinyDeployError where the file is not one."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            sections = _sections(elf)
            segments = tuple(_segments(elf))
            return Image(path, elf["e_entry"], segments, sections, _symbols(elf), _sizes(sections, segments))
    except (ELFError, OSError, UnicodeDecodeError) as error:
        raise TinyDeployError(f"is not a readable ELF firmware ({error})", where=str(path)) from error


def write_bin(segments: Sequence[Segment], path: Path) -> Path:
    """The flash content as plain bytes from the lowest address on; gaps hold what erased flash holds."""
    ordered = sorted(segments, key=lambda segment: segment.address)
    content = b""
    for segment in ordered:
        content += _FILL * (segment.address - ordered[0].address - len(content)) + segment.data
    path.write_bytes(content)
    return path


def write_hex(segments: Sequence[Segment], entry: int, path: Path) -> Path:
    """The flash content as Intel HEX with 32-bit addresses."""
    lines: list[str] = []
    for segment in sorted(segments, key=lambda segment: segment.address):
        upper = -1
        at = 0
        while at < len(segment.data):
            address = segment.address + at
            if address >> 16 != upper:
                upper = address >> 16
                lines.append(_hex_record(0, 4, upper.to_bytes(2, "big")))
            size = min(_HEX_BYTES, 0x10000 - (address & 0xFFFF))
            chunk = segment.data[at : at + size]
            lines.append(_hex_record(address & 0xFFFF, 0, chunk))
            at += len(chunk)
    lines += [_hex_record(0, 5, entry.to_bytes(4, "big")), _hex_record(0, 1, b"")]
    path.write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")
    return path


def writable_bytes(objects: Sequence[Path], without: str) -> int:
    """Bytes of ``.data`` and ``.bss`` in object files, the section ``without`` left out."""
    total = 0
    for path in objects:
        with path.open("rb") as stream:
            for section in ELFFile(stream).iter_sections():
                flags = section["sh_flags"]
                if flags & _FLAG_ALLOC and flags & _FLAG_WRITE and section.name != without:
                    total += section["sh_size"] + section["sh_addralign"]
    return total


def _hex_record(address: int, kind: int, data: bytes) -> str:
    record = bytes([len(data)]) + address.to_bytes(2, "big") + bytes([kind]) + data
    return ":" + (record + bytes([-sum(record) & 0xFF])).hex().upper()


def _segments(elf: ELFFile) -> Iterator[Segment]:
    """Loaders take the segments with bytes in the file, at their physical address."""
    for segment in elf.iter_segments("PT_LOAD"):
        if segment["p_filesz"] > 0:
            yield Segment(segment["p_paddr"], bytes(segment.data()))


def _symbols(elf: ELFFile) -> dict[str, int]:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return {}
    found: dict[str, int] = {}
    for symbol in table.iter_symbols():
        kind = symbol["st_info"]["type"]
        if kind in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE") and symbol.name and symbol.name[0] not in "$.":
            value = symbol["st_value"]
            found[symbol.name] = value & ~1 if kind == "STT_FUNC" else value
    return found


def _sections(elf: ELFFile) -> dict[str, int]:
    return {
        section.name: section["sh_size"]
        for section in elf.iter_sections()
        if section["sh_flags"] & _FLAG_ALLOC and section["sh_size"] > 0
    }


def _sizes(sections: dict[str, int], segments: Sequence[Segment]) -> Sizes:
    return Sizes(
        flash_bytes=sum(len(segment.data) for segment in segments),
        text_bytes=sections.get(".text", 0),
        rodata_bytes=sections.get(".rodata", 0),
        data_bytes=sections.get(".data", 0),
        bss_bytes=sections.get(".bss", 0),
        arena_bytes=sections.get(".arena", 0),
        stack_bytes=sections.get(".stack", 0),
    )
