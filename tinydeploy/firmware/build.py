"""From C files to a firmware image for a board: runtime, drivers, application and model in one ELF."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tinydeploy.boards import Board, Chip, Kind, Region, need_firmware
from tinydeploy.errors import BudgetError, TinyDeployError, ToolError
from tinydeploy.firmware.image import Image, Sizes, read_image, writable_bytes, write_bin, write_hex
from tinydeploy.firmware.render import render_board
from tinydeploy.firmware.structure import check_structure, read_structure
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import Toolchain, cpu_spec

RPC_LEVELS = {"none": 0, "io": 1, "debug": 2}
_ARENA_SECTION = ".bss.td_app_arena"
_SECTIONS = {".text", ".rodata", ".stack", ".data", ".arena", ".bss"}
_OVERFLOW = re.compile(r"(?:region|in region) [`']?(\w+)'?:? overflowed by (\d+) bytes")


@dataclass(frozen=True, slots=True)
class Firmware:
    """The files of one build, and their sizes. ``hex`` holds what ``elf`` loads.

    So does ``bin``, except for constants that the chip's layout puts apart from the code.
    ``stack_usage`` are files in which gcc tells the frames of functions.
    """

    elf: Path
    bin: Path
    hex: Path
    map: Path
    sizes: Sizes
    compiler: str
    stack_usage: tuple[Path, ...] = ()

    def moved(self, source: Path, target: Path) -> Firmware:
        """The same firmware after its files moved from one folder to another."""
        elf, bin_, hex_, map_ = (
            target / path.relative_to(source) for path in (self.elf, self.bin, self.hex, self.map)
        )
        usage = tuple(target / path.relative_to(source) for path in self.stack_usage)
        return replace(self, elf=elf, bin=bin_, hex=hex_, map=map_, stack_usage=usage)


def build_firmware(
    board: Board,
    toolchain: Toolchain,
    model_sources: Sequence[Path],
    model_include_dirs: Sequence[Path],
    out_dir: Path,
    rpc_level: str = "io",
    arena_bytes: int = 0,
    defines: Mapping[str, str | int] | None = None,
    *,
    app: Path | None = None,
    name: str = "firmware",
    optimize: str = "-O3",
    slots: bool = False,
) -> Firmware:
    """Compile and link an image into ``out_dir`` (``NAME.elf .bin .hex .map``, work files in ``obj/``).

    ``model_sources`` define ``td_app_model``. ``app`` replaces the application of ``rpc_level`` by a file
    that defines ``td_app_main``; it need not use a model. ``defines`` reach all files. ``slots``: the model's
    constants can be exchanged, and the code keeps out of the chip's slots.
    Raises BudgetError where the image does not fit, ToolError where a tool fails.
    """
    if board.is_host:
        raise TinyDeployError(
            "the host runs programs, not firmware", where=board.name, fix="Give another --board"
        )
    need_firmware(board)
    if rpc_level not in RPC_LEVELS:
        raise TinyDeployError(f"--rpc {rpc_level!r} is not supported. Supported: {', '.join(RPC_LEVELS)}")
    if slots:
        board = _beside_slots(board, rpc_level)
    work = out_dir / "obj"
    arena_kept = max(arena_bytes, 8)
    macros = {
        "TD_RPC_LEVEL": RPC_LEVELS[rpc_level],
        "TD_APP_ARENA_BYTES": f"{arena_kept}u",
        **({"TD_SLOTS": 1} if slots else {}),
        **(defines or {}),
    }
    includes = [work, *_include_dirs(), *([runtime_dir() / "slots"] if slots else []), *model_include_dirs]
    layout = board.chip.layout
    assert layout is not None
    render_board(board, layout.data, work, slots=slots)
    sources = [*runtime_sources(board), work / "td_board_config.c", *_app_sources(rpc_level, app)]
    runtime = toolchain.compile(
        [*sources, *(_slot_sources(board) if slots else [])],
        out_dir=work / "runtime",
        include_dirs=includes,
        defines=macros,
        optimize="-Os",
        extra=toolchain.stack_flags,
    )
    model = toolchain.compile(
        model_sources,
        out_dir=work / "model",
        include_dirs=includes,
        defines=macros,
        optimize=optimize,
        extra=toolchain.stack_flags,
    )
    objects = [*runtime, *model]
    region = place_arena(board.chip, arena_kept, writable_bytes(objects, _ARENA_SECTION))
    render_board(board, region.name, work, slots=slots)
    return _link(board, toolchain, objects, out_dir, name)


def runtime_sources(board: Board) -> list[Path]:
    """The C files that every image for a board needs: core, startup, and the drivers of its IP blocks."""
    root = runtime_dir()
    chip = board.chip
    assert board.uart is not None
    assert chip.counter is not None
    pin_types = sorted({chip.block(port).type for port in board.ports}) or ["none"]
    controller = chip.interrupt_controller
    drivers = [
        *([_driver("interrupts", chip.block(controller).type, board)] if controller else []),
        _driver("uart", chip.block(board.uart.block).type, board),
        _driver("counter", chip.block(chip.counter.block).type, board),
        *[_driver("pins", pin_type, board) for pin_type in pin_types],
    ]
    folders = [root / "core" / name for name in cpu_spec(chip.cpu).core]
    core = [path for folder in folders for path in sorted(folder.glob("*.c"))]
    boot = [] if chip.layout is None or chip.layout.boot is None else [_boot_block(chip, chip.layout.boot)]
    return [*boot, *core, *sorted((root / "src").glob("*.c")), *drivers, root / "rpc" / "td_ring.c"]


def _beside_slots(board: Board, rpc_level: str) -> Board:
    """The board with a code region that ends where its slots begin."""
    slots, layout = board.chip.slots, board.chip.layout
    if slots is None or layout is None:
        raise TinyDeployError(
            "has no slots for models: its chip's file has no [slots]",
            where=f"board {board.name}",
            fix="Leave out --slots",
        )
    if RPC_LEVELS[rpc_level] == 0:
        raise TinyDeployError("--slots needs the serial line", fix="Leave out --rpc none")
    code = board.chip.region(layout.code)
    kept = replace(code, size=min(place.origin for place in slots.places) - code.origin)
    regions = tuple(kept if region is code else region for region in board.chip.regions)
    return replace(board, chip=replace(board.chip, regions=regions))


def _slot_sources(board: Board) -> list[Path]:
    """The slots, and the driver that writes them."""
    slots = board.chip.slots
    assert slots is not None
    driver = _driver("flash", board.chip.block(slots.block).type, board)
    return [*sorted((runtime_dir() / "slots").glob("*.c")), driver]


def _boot_block(chip: Chip, name: str) -> Path:
    """The file whose section ``.boot`` a boot ROM reads before anything runs."""
    path = runtime_dir() / "boot" / f"{name}.c"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.c")))
        raise TinyDeployError(f"there is no boot block {name!r}. Known: {known}", where=str(chip.path))
    return path


def place_arena(chip: Chip, arena_bytes: int, static_bytes: int) -> Region:
    """The cheapest RAM region with room for the arena; the data region also holds stack and static data.

    Raises BudgetError that names the largest arena the chip could hold.
    """
    assert chip.layout is not None
    taken = {chip.layout.data: chip.layout.stack_bytes + static_bytes}
    room = {
        region.name: region.size - taken.get(region.name, 0)
        for region in chip.regions
        if region.kind is Kind.RAM
    }
    for region in sorted(chip.regions, key=lambda region: region.cost):
        if room.get(region.name, -1) >= arena_bytes:
            return region
    largest = max(room, key=lambda name: room[name])
    raise BudgetError(
        f"the arena needs {arena_bytes} bytes of RAM in one piece, at most {max(room[largest], 0)} are free "
        f"(in {largest})",
        where=f"chip {chip.name}",
        fix="Choose a smaller model or a board with more RAM",
    )


def _link(board: Board, toolchain: Toolchain, objects: Sequence[Path], out_dir: Path, name: str) -> Firmware:
    elf = out_dir / f"{name}.elf"
    map_file = elf.with_suffix(".map")
    try:
        toolchain.link_firmware(objects, out_dir / "obj" / "board.ld", elf, map_file)
    except ToolError as error:
        overflow = _OVERFLOW.search(error.what)
        if overflow is None:
            raise
        raise _too_large(board, overflow[1], int(overflow[2])) from error
    image = read_image(elf)
    _check_image(image)
    check_structure(board, read_structure(elf))
    assert board.chip.layout is not None
    code = board.chip.region(board.chip.layout.code)
    in_one_piece = [segment for segment in image.segments if code.origin <= segment.address < code.end]
    return Firmware(
        elf=elf,
        bin=write_bin(in_one_piece, elf.with_suffix(".bin")),
        hex=write_hex(image.segments, image.entry, elf.with_suffix(".hex")),
        map=map_file,
        sizes=image.sizes,
        compiler=f"{toolchain.name} {toolchain.version}",
        stack_usage=tuple(path for path in (o.with_suffix(".su") for o in objects) if path.is_file()),
    )


def _too_large(board: Board, region: str, excess: int) -> BudgetError:
    size = board.chip.region(region).size
    return BudgetError(
        f"the image needs {size + excess} bytes of {region}, {excess} more than the {size} there are",
        where=f"board {board.name}",
        fix="Choose a smaller model or a larger board",
    )


def _check_image(image: Image) -> None:
    """A section that the linker script does not name would land where the linker likes."""
    unplaced = sorted(image.sections.keys() - _SECTIONS)
    if unplaced:
        raise ToolError(
            f"the linker script has no place for the sections {', '.join(unplaced)}", where=str(image.path)
        )


def _driver(role: str, block_type: str, board: Board) -> Path:
    folder = runtime_dir() / "drivers" / role
    path = folder / f"{block_type}.c"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.c")))
        raise TinyDeployError(
            f"there is no {role} driver for IP blocks of type {block_type!r}. Drivers: {known}",
            where=str(board.chip.path),
            fix=f"Write {path}",
        )
    return path


def _include_dirs() -> list[Path]:
    root = runtime_dir()
    return [root / "include", root / "src", root / "rpc", root / "app"]


def _app_sources(rpc_level: str, app: Path | None) -> list[Path]:
    root = runtime_dir()
    if app is not None:
        return [app]
    arena = root / "app" / "td_app_arena.c"
    if RPC_LEVELS[rpc_level] == 0:
        return [root / "app" / "td_main_none.c", arena]
    rpc = [path for path in sorted((root / "rpc").glob("*.c")) if path.name != "td_ring.c"]
    return [root / "app" / "td_main_rpc.c", arena, *rpc]
