"""Options that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError
from tinydeploy.kernels.targets import Target, target_of
from tinydeploy.toolchain import Toolchain, cpu_spec, select

Model = Annotated[Path, typer.Argument(help="A trained, quantized network (.tflite).", show_default=False)]
OptionalModel = Annotated[
    Path | None, typer.Argument(help="A trained, quantized network (.tflite).", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
BoardName = Annotated[
    str, typer.Option("--board", metavar="NAME|FILE.toml", help="The board; see `tinydeploy boards`.")
]
OptionalBoard = Annotated[
    str | None, typer.Option("--board", metavar="NAME|FILE.toml", help="Generate for this board's core.")
]
Core = Annotated[
    str | None, typer.Option("--core", metavar="CORE", help="Generate for a core, such as cortex-m4.")
]
Name = Annotated[
    str | None, typer.Option("--name", help="Prefix of all C names; by default from the file's name.")
]
Compiler = Annotated[str | None, typer.Option("--toolchain", metavar="gcc|zig", help="The C compiler.")]
Emulate = Annotated[bool, typer.Option("--emulate", help="Run the board in its emulator.")]
Port = Annotated[
    str | None,
    typer.Option("--port", metavar="PORT", help="Serial port, socket://HOST:PORT or rfc2217://HOST:PORT."),
]
FirmwareFile = Annotated[
    Path | None, typer.Option("--firmware", metavar="ELF", help="Use this image instead of building one.")
]
RpcLevel = Annotated[str, typer.Option("--rpc", metavar="none|io|debug", help="What the serial line may do.")]
Real = Annotated[bool, typer.Option("--float", help="Quantize real-valued inputs.")]


def target_for(board: str | None, core: str | None) -> Target:
    """The target that --board or --core asks for, the host by default; raises where both are given."""
    if board is not None and core is not None:
        raise TinyDeployError("--board and --core are both given", fix="Give one of them")
    if board is not None:
        return target_of(load_board(board).chip.cpu)
    return target_of(core or "host")


def toolchain_for(board: str, toolchain: str | None) -> Toolchain:
    """The compiler for a board: the one asked for, else the first that is installed."""
    return select(toolchain, cpu_spec(load_board(board).chip.cpu))
