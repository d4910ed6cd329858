"""Options that several commands share, and what they mean."""

from __future__ import annotations

import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, Layout
from tinydeploy.frontends.custom_operators import load_operators
from tinydeploy.kernels.targets import Target, target_of
from tinydeploy.toolchain import Toolchain, cpu_spec, select

Model = Annotated[Path, typer.Argument(help="A trained network (.tflite, .onnx).", show_default=False)]
OptionalModel = Annotated[
    Path | None, typer.Argument(help="A trained network (.tflite, .onnx).", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
BoardName = Annotated[
    str, typer.Option("--board", metavar="NAME|FILE.toml", help="The board; see `tinydeploy boards`.")
]
PlaceName = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar="NAME|FILE.toml",
        help="The board; by default what answers at --port, else the host. See `tinydeploy boards`.",
    ),
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
Slots = Annotated[
    bool, typer.Option("--slots", help="Keep the constants exchangeable; see docs/slots.md and `update`.")
]
Real = Annotated[bool, typer.Option("--float", help="Quantize real-valued inputs.")]

_IMPORT_OPTIONS: Mapping[str, Any] = {
    "dim": Annotated[
        list[str] | None,
        typer.Option("--dim", metavar="NAME=N", help="Size of a dynamic dimension; also INPUT:AXIS=N."),
    ],
    "state": Annotated[
        list[str] | None,
        typer.Option("--state", metavar="IN=OUT", help="Keep output OUT as input IN of the next run."),
    ],
    "value": Annotated[
        list[str] | None,
        typer.Option("--value", metavar="INPUT=X", help="Make an input constant, every element X."),
    ],
    "layout": Annotated[
        Layout,
        typer.Option("--layout", help="nhwc turns images at the interface from [N,C,H,W] to [N,H,W,C]."),
    ],
    "signature": Annotated[
        str | None,
        typer.Option("--signature", metavar="NAME", help="Which of the model's signatures to read."),
    ],
    "ops": Annotated[
        list[Path] | None,
        typer.Option("--ops", metavar="FILE.py", help="Operators of your own; see docs/custom_operators.md."),
    ],
    "adapter": Annotated[
        Path | None,
        typer.Option("--adapter", metavar="LORA.safetensors", help="Merge a LoRA adapter as PEFT saves it."),
    ],
}


def reads_model(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of ImportOptions in place of its parameter ``options``."""
    hints = typing.get_type_hints(command, include_extras=True)
    kept = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "options"
    ]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=Layout.MODEL if name == "layout" else None,
            annotation=annotation,
        )
        for name, annotation in _IMPORT_OPTIONS.items()
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        asked = {name: given.pop(name) for name in _IMPORT_OPTIONS}
        command(**given, options=import_options(**asked))

    del wrapped.__wrapped__
    signature = inspect.Signature(
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in kept] + added
    )
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    wrapped.__annotations__ = {
        **{name: item.annotation for name, item in signature.parameters.items()},
        "return": None,
    }
    return wrapped


def import_options(
    dim: list[str] | None,
    state: list[str] | None,
    value: list[str] | None,
    layout: Layout,
    signature: str | None = None,
    ops: list[Path] | None = None,
    adapter: Path | None = None,
) -> ImportOptions:
    """What the import options of a command mean; raises TinyDeployError for one that is not a pair."""
    dims = [_pair("--dim", text, "NAME=N") for text in dim or ()]
    values = [_pair("--value", text, "INPUT=X") for text in value or ()]
    return ImportOptions(
        dims=tuple((name, _size(name, number)) for name, number in dims),
        states=tuple(_pair("--state", text, "IN=OUT") for text in state or ()),
        values=tuple((name, _number(name, number)) for name, number in values),
        layout=layout,
        signature=signature,
        ops=tuple(definition for path in ops or () for definition in load_operators(path)),
        adapter=adapter,
    )


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    """The two sides of the last equals sign."""
    left, equals, right = text.rpartition("=")
    if not (left and equals and right):
        raise TinyDeployError(f"{option} {text!r} is not of the form {form}", fix=f"Write {option} {form}")
    return left, right


def _size(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 1 << 31 and len(text) <= 10):
        raise TinyDeployError(
            f"--dim {name}={text}: {text!r} is no size", fix="Give a whole number from 1 on"
        )
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise TinyDeployError(f"--value {name}={text}: {text!r} is no number", fix="Give a finite number")
    return number


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
