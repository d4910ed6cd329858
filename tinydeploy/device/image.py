"""A compiled model to the firmware that serves it, with the figures of ``build --json``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tinydeploy.boards import Board, Kind
from tinydeploy.build import Compiled, check_ram, write_files
from tinydeploy.codegen import Library
from tinydeploy.errors import BudgetError
from tinydeploy.firmware import Firmware, StackBound, build_firmware, check_stack, stack_bound
from tinydeploy.toolchain import Toolchain, cpu_spec

SLOT_HEAD_BYTES = 256
"""What precedes the constants in a slot: TD_SLOT_HEAD_BYTES of td_slot.h."""


@dataclass(frozen=True, slots=True)
class Build:
    """A model built for a board. ``stack`` is None where the architecture's code cannot be read."""

    board: Board
    compiled: Compiled
    firmware: Firmware
    stack: StackBound | None

    def moved(self, source: Path, target: Path) -> Build:
        """The same build after its files moved from one folder to another."""
        return replace(self, firmware=self.firmware.moved(source, target))

    @property
    def stack_bytes(self) -> int:
        """The worst case of the stack; where it is not known, the whole region kept for it."""
        return self.firmware.sizes.stack_bytes if self.stack is None else self.stack.bytes

    def figures(self) -> dict[str, object]:
        """Bytes of the image and who holds them. ``stack_bytes`` is proved, not the region kept for it."""
        sizes, library = self.firmware.sizes, self.compiled.library
        code = code_bytes(self.firmware.elf, library)
        tables, weights = library.table_bytes, library.weights_bytes
        return {
            **self.compiled.figures(),
            "board": self.board.name,
            "toolchain": self.firmware.compiler,
            "flash_bytes": sizes.flash_bytes,
            "code_bytes": code,
            "table_bytes": tables,
            "runtime_bytes": sizes.flash_bytes - code - tables - weights,
            "ram_bytes": sizes.arena_bytes + sizes.data_bytes + sizes.bss_bytes + self.stack_bytes,
            "stack_bytes": self.stack_bytes,
            "stack_reserved_bytes": sizes.stack_bytes,
            "elf": str(self.firmware.elf),
            "bin": str(self.firmware.bin),
            "hex": str(self.firmware.hex),
            "map": str(self.firmware.map),
        }


def build_model(
    compiled: Compiled,
    board: Board,
    toolchain: Toolchain,
    folder: Path,
    *,
    rpc_level: str = "io",
    trace: bool = False,
    optimize: str = "-O2",
) -> Build:
    """Build the firmware of a model into ``folder``; its generated C goes to ``folder/model``.

    With ``trace`` the image reports every row on demand; without, it is what a product runs. A model that was
    compiled with slots can be exchanged later; ``NAME.slots.json`` then says for which others. Raises
    BudgetError where the board is too small, or its stack, and ToolError where a tool fails.
    """
    library = compiled.library
    largest = max((region.size for region in board.chip.regions if region.kind is Kind.RAM), default=0)
    check_ram(compiled, largest, f"{board.name} has {{:,}} in one piece")
    if library.block is not None:
        _check_slot(board, len(library.block.payload))
        write_files({f"{library.prefix}.slots.json": library.block.layout.to_json()}, folder)
    sources = folder / "model"
    write_files({**library.files, **library.descriptor}, sources)
    firmware = build_firmware(
        board,
        toolchain,
        [sources / name for name in (*library.sources, *library.descriptor)],
        [sources],
        folder,
        rpc_level,
        compiled.plan.arena_bytes,
        {"TD_TRACE": int(trace)},
        name=library.prefix,
        optimize=optimize,
        slots=library.block is not None,
    )
    floats = "fpu" in cpu_spec(board.chip.cpu).features
    stack = stack_bound(firmware.elf, firmware.stack_usage, library.prefix, floats=floats)
    if stack is not None:
        check_stack(stack, firmware.sizes.stack_bytes, f"board {board.name}")
    return Build(board, compiled, firmware, stack)


def _check_slot(board: Board, needed_bytes: int) -> None:
    slots = board.chip.slots
    if slots is not None and needed_bytes > slots.size - SLOT_HEAD_BYTES:
        raise BudgetError(
            f"the model's constants need {needed_bytes:,} bytes, a slot has {slots.size - SLOT_HEAD_BYTES:,}",
            where=f"board {board.name}",
            fix="Choose a smaller model, or leave out --slots",
        )


def code_bytes(elf: Path, library: Library) -> int:
    """Bytes of the model's functions and private constants in an image, weights and tables left out."""
    total = 0
    with elf.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if not isinstance(section, SymbolTableSection):
                continue
            for symbol in section.iter_symbols():
                kind = symbol["st_info"]["type"]
                mine = (
                    symbol.name.startswith(f"{library.prefix}_") and symbol.name not in library.data_symbols
                )
                if mine and kind in ("STT_FUNC", "STT_OBJECT"):
                    total += symbol["st_size"]
    return total
