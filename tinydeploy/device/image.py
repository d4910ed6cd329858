"""A compiled model to the firmware that serves it, with the figures of ``build --json``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tinydeploy.boards import Board, Kind
from tinydeploy.build import Compiled, check_ram, write_files
from tinydeploy.codegen import Library
from tinydeploy.firmware import Firmware, build_firmware
from tinydeploy.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class Build:
    """A model built for a board."""

    board: Board
    compiled: Compiled
    firmware: Firmware

    def figures(self) -> dict[str, object]:
        """Bytes of the image and who holds them; ``stack_bytes`` is the region kept for the stack."""
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
            "ram_bytes": sizes.arena_bytes + sizes.data_bytes + sizes.bss_bytes + sizes.stack_bytes,
            "stack_bytes": sizes.stack_bytes,
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
    optimize: str = "-O3",
) -> Build:
    """Build the firmware of a model into ``folder``; its generated C goes to ``folder/model``.

    With ``trace`` the image reports every row on demand; without, it is what a product runs. Raises
    BudgetError where the board is too small and ToolError where a tool fails.
    """
    library = compiled.library
    largest = max((region.size for region in board.chip.regions if region.kind is Kind.RAM), default=0)
    check_ram(compiled, largest, f"{board.name} has {{:,}} in one piece")
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
    )
    return Build(board, compiled, firmware)


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
