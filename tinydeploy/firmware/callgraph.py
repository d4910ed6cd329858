"""Who calls whom in a linked image, and what each function takes from the stack: read from the code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Symbol, SymbolTableSection

from tinydeploy.errors import ToolError
from tinydeploy.firmware import riscv, thumb
from tinydeploy.firmware.instruction import Flow, Instruction

_FLAG_EXECUTABLE = 4
_SWEEPS: dict[str, Callable[[bytes, int], Iterator[tuple[int, Instruction]]]] = {
    "EM_ARM": thumb.sweep,
    "EM_RISCV": riscv.sweep,
}
_INDIRECT = (Flow.CALL_REGISTER, Flow.JUMP_REGISTER)
_DIRECT = (Flow.CALL, Flow.JUMP, Flow.JUMP_IF)


@dataclass(frozen=True, slots=True)
class Function:
    """One function of an image.

    ``pushed_bytes`` is the sum of all that its instructions take from the stack, on whatever path: its frame
    at most, unless ``moves_stack`` says that it also changes the stack pointer by what only run time knows.
    ``targets`` are the addresses of other functions that it calls or jumps to. ``is_indirect``: it also calls
    through pointers.
    """

    name: str
    address: int
    pushed_bytes: int
    moves_stack: bool
    targets: frozenset[int]
    is_indirect: bool


@dataclass(frozen=True, slots=True)
class CallGraph:
    """The functions of an image by address, and the initial bytes of its objects by name."""

    functions: dict[int, Function]
    objects: dict[str, bytes]

    def named(self, name: str) -> Function:
        """The function of that name; raises ToolError where there is none."""
        for function in self.functions.values():
            if function.name == name:
                return function
        raise ToolError(f"the image has no function {name}")

    def starting(self, *prefixes: str) -> list[Function]:
        """The functions whose names start with one of the prefixes, in the order of addresses."""
        return [found for found in self.functions.values() if found.name.startswith(prefixes)]


def can_read(elf: Path) -> bool:
    """Whether the instructions of an image's architecture are understood here."""
    with elf.open("rb") as stream:
        return ELFFile(stream)["e_machine"] in _SWEEPS


def read_call_graph(elf: Path) -> CallGraph:
    """Read the functions of an image; raises ToolError for an architecture that is not understood."""
    with elf.open("rb") as stream:
        file = ELFFile(stream)
        machine = file["e_machine"]
        if machine not in _SWEEPS:
            raise ToolError(f"call graphs of {machine} are not supported. Supported: {', '.join(_SWEEPS)}")
        symbols = _symbols(file)
        code = {
            index: (section["sh_addr"], bytes(section.data()))
            for index, section in enumerate(file.iter_sections())
            if section["sh_flags"] & _FLAG_EXECUTABLE and section["sh_size"]
        }
        objects = {
            symbol.name: _content(file, symbol["st_value"], symbol["st_size"])
            for symbol in symbols
            if symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_size"]
        }
    return _Reader(machine, symbols, code).read(objects)


class _Reader:
    def __init__(self, machine: str, symbols: list[Symbol], code: dict[int, tuple[int, bytes]]) -> None:
        self._sweep = _SWEEPS[machine]
        self._code = tuple(code.values())
        self._extents: dict[int, tuple[int, str]] = {}
        marks: dict[int, bool] = {}
        for symbol in symbols:
            address = symbol["st_value"]
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                start = address & ~1
                known = self._extents.get(start, (0, symbol.name))
                self._extents[start] = (max(known[0], symbol["st_size"]), min(known[1], symbol.name))
            elif symbol.name[:2] in ("$t", "$d", "$x") and symbol["st_shndx"] in code:
                marks[address] = symbol.name[1] == "d"
        self._starts = sorted(self._extents)
        self._marks = sorted(marks.items())

    def read(self, objects: dict[str, bytes]) -> CallGraph:
        return CallGraph({start: self._function(start) for start in self._starts}, objects)

    def _function(self, start: int) -> Function:
        size, name = self._extents[start]
        pushed, moves, indirect = 0, False, False
        targets: set[int] = set()
        for low, high in self._code_parts(start, start + size):
            for address, found in self._sweep(self._bytes(low, high), low):
                pushed += found.pushed
                moves |= found.moves_stack
                indirect |= found.flow in _INDIRECT
                if found.flow in _DIRECT:
                    targets.add(self._containing(address + found.offset, name))
        calls_itself = self._jumps_back(start, size)
        return Function(
            name, start, pushed, moves, frozenset(targets if calls_itself else targets - {start}), indirect
        )

    def _jumps_back(self, start: int, size: int) -> bool:
        """Whether a function calls itself; jumps within it are loops.

        On Armv6-M, whose branches reach 2 KiB, compilers jump with BL inside of large functions.
        """
        return any(
            found.flow is Flow.CALL and address + found.offset == start
            for low, high in self._code_parts(start, start + size)
            for address, found in self._sweep(self._bytes(low, high), low)
        )

    def _code_parts(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The parts of a range that hold instructions; mapping symbols tell where data begins and ends."""
        at = bisect_right(self._marks, low, key=lambda mark: mark[0])
        is_data = self._marks[at - 1][1] if at else False
        for address, next_is_data in [*self._marks[at:], (high, True)]:
            end = min(address, high)
            if not is_data and end > low:
                yield low, end
            if address >= high:
                return
            low, is_data = end, next_is_data

    def _containing(self, address: int, caller: str) -> int:
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            start = self._starts[index]
            if address < start + self._extents[start][0]:
                return start
        raise ToolError(f"{caller} jumps to {address:#x}, where the image has no function")

    def _bytes(self, low: int, high: int) -> bytes:
        for address, data in self._code:
            if address <= low and high <= address + len(data):
                return data[low - address : high - address]
        raise ToolError(f"the image has no code at {low:#x}")


def _symbols(file: ELFFile) -> list[Symbol]:
    table = file.get_section_by_name(".symtab")
    return list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []


def _content(file: ELFFile, address: int, size: int) -> bytes:
    """The initial bytes of an object; none where it has no bytes in the file."""
    for section in file.iter_sections():
        start = section["sh_addr"]
        if section["sh_type"] == "SHT_PROGBITS" and start <= address < start + section["sh_size"]:
            return bytes(section.data()[address - start :][:size])
    return b""
