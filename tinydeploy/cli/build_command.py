"""``tinydeploy build``: a model to a firmware image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build as line
from tinydeploy.boards import load_board, need_firmware
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Compiler,
    Json,
    Model,
    Name,
    RpcLevel,
    Slots,
    reads_model,
    target_for,
    toolchain_for,
)
from tinydeploy.device import Build, build_model
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.staging import staged


@reads_model
def build(
    model: Model,
    options: ImportOptions,
    board: BoardName,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the image.")
    ] = Path("build"),
    name: Name = None,
    rpc: RpcLevel = "io",
    trace: Annotated[
        bool, typer.Option("--trace", help="Let the image report every row, for verify --firmware.")
    ] = False,
    slots: Slots = False,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Build firmware (.elf, .bin, .hex) that serves a model over the board's serial line.

    Example: tinydeploy build kws.tflite --board nucleo-f746 -o build/kws
    """
    found = load_board(board)
    need_firmware(found)
    compiled = line.compile_graph(load(model, options), target_for(board, None), name=name, slots=slots)
    compiler = toolchain_for(board, toolchain)
    with staged(output) as work:
        made = build_model(compiled, found, compiler, work, rpc_level=rpc, trace=trace).moved(work, output)
    console.result(made.figures(), as_json=as_json, text=console.printable(_text(made)))


def _text(made: Build) -> str:
    figures = made.figures()
    rows = (
        ("flash", "flash_bytes"),
        ("  code", "code_bytes"),
        ("  weights", "weights_bytes"),
        ("  tables", "table_bytes"),
        ("  runtime", "runtime_bytes"),
        ("RAM", "ram_bytes"),
        ("  arena", "arena_bytes"),
        ("  stack", "stack_bytes"),
    )
    lines = [f"{made.compiled.library.prefix} for {made.board.name}, {made.firmware.compiler}"]
    lines += [f"  {label:<10} {figures[key]:>10,} bytes" for label, key in rows]
    return "\n".join([*lines, f"wrote {made.firmware.elf}, .bin, .hex and .map"])
