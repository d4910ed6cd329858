"""``tinydeploy flash``: an image onto a board, or into its emulator, which then serves on a port."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build as line
from tinydeploy import demo
from tinydeploy.boards import Board, Tier, load_board, need_firmware
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Compiler,
    Emulate,
    Json,
    RpcLevel,
    Slots,
    reads_model,
    target_for,
    toolchain_for,
)
from tinydeploy.device import build_model
from tinydeploy.emulate import LineServer, start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import read_image
from tinydeploy.flash import flash_board
from tinydeploy.frontends import ImportOptions, load

LAST_BUILDS = Path("build")


@reads_model
def flash(
    options: ImportOptions,
    what: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL|FIRMWARE]",
            help="A model or an .elf; by default the last build in ./build, else the demo model.",
            show_default=False,
        ),
    ] = None,
    board: BoardName = "nucleo-f746",
    emulate: Emulate = False,
    probe: Annotated[
        str | None,
        typer.Option(
            "--probe", metavar="SERIAL", help="Which probe, if there are several; also a port or a drive."
        ),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            "--tool", metavar="NAME", help="How to flash; by default the board's first that is there."
        ),
    ] = None,
    tcp_port: Annotated[
        int, typer.Option("--tcp-port", min=0, max=65535, help="Port of the emulated serial line; 0: any.")
    ] = 0,
    rpc: RpcLevel = "io",
    slots: Slots = False,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Put an image on a board and start it.

    With --emulate the image runs in the board's emulator, whose serial line is served on a TCP port until
    Ctrl-C. Example: tinydeploy flash kws.tflite --board nucleo-f746 --emulate
    """
    found = load_board(board)
    need_firmware(found)
    if found.is_host:
        raise TinyDeployError("the host has no flash", fix="Name a board; `tinydeploy boards` lists them")
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        elf, origin = _image(what, options, found, Path(folder), rpc=rpc, slots=slots, toolchain=toolchain)
        figures: dict[str, object] = {
            "board": found.name,
            "image": origin,
            "flash_bytes": read_image(elf).sizes.flash_bytes,
            "emulated": emulate,
        }
        if emulate:
            _serve(found, elf, tcp_port, figures, as_json=as_json)
        else:
            with console.stages() as progress:
                used = flash_board(found, elf, probe=probe, tool=tool, progress=progress)
            figures |= {"tool": used.name, "tool_tested": used.is_tested}
            figures["tier"] = found.tier.value
            doubts = [] if used.is_tested else [f"{used.name}: only its command line is tested"]
            doubts += ["this board: untested on hardware"] if found.tier is Tier.BUILDS else []
            note = f" ({'; '.join(doubts)})" if doubts else ""
            console.result(figures, as_json=as_json, text=f"flashed {origin} to {found.name}{note}")


def _serve(board: Board, elf: Path, port: int, figures: dict[str, object], *, as_json: bool) -> None:
    with start_emulator(board, elf) as emulator:
        server = LineServer(emulator.uart, port)
        text = (
            f"flashed {figures['image']} to {board.name} (emulated)\n"
            f"serial line: {server.url}\n"
            f"try: tinydeploy run --port {server.url} --input in.npz -o out.npz\n"
            "Ctrl-C ends it"
        )
        console.result({**figures, "port": server.url}, as_json=as_json, text=text)
        try:
            with suppress(KeyboardInterrupt):
                server.serve_forever()
        finally:
            server.close()


def _image(
    what: Path | None,
    options: ImportOptions,
    board: Board,
    folder: Path,
    *,
    rpc: str,
    slots: bool,
    toolchain: str | None,
) -> tuple[Path, str]:
    """The ELF to flash and its name for the user."""
    if what is None:
        last = _last_build(board)
        if last is not None:
            return last, f"{last} (the last build for {board.name})"
        model, origin = demo.model_path(), "the demo model"
    elif what.suffix == ".elf":
        return what, str(what)
    else:
        model, origin = what, str(what)
    compiled = line.compile_graph(load(model, options), target_for(str(board.path), None), slots=slots)
    compiler = toolchain_for(str(board.path), toolchain)
    return build_model(compiled, board, compiler, folder, rpc_level=rpc, trace=True).firmware.elf, origin


def _last_build(board: Board) -> Path | None:
    """The newest image under ./build that was made for the board: its work files name it."""
    marker = f'"{board.name}"'
    images = [
        path
        for path in LAST_BUILDS.rglob("*.elf")
        if (path.parent / "obj" / "td_board_config.h").is_file()
        and marker in (path.parent / "obj" / "td_board_config.h").read_text(encoding="utf-8")
    ]
    return max(images, key=lambda path: path.stat().st_mtime, default=None)
