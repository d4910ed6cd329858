"""``tinydeploy run``: a model on a board with the user's inputs."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tinydeploy import build
from tinydeploy.boards import Board
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    Compiler,
    Emulate,
    FirmwareFile,
    Json,
    OptionalModel,
    PlaceName,
    Port,
    Real,
    reads_model,
    toolchain_for,
)
from tinydeploy.cli.targets import board_for, model_on_board, refuse_board_options
from tinydeploy.device import Source, check_model, connect
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.ir import Array, DType, Quant, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, TensorInfo
from tinydeploy.staging import staged
from tinydeploy.verify import InputPort, load_inputs, ports_of
from tinydeploy.verify.samples import Sample

Outputs = tuple[Array, ...]


@reads_model
def run(
    input_: Annotated[Path, typer.Option("--input", metavar="IN.npz", help="Arrays in0, in1, ...")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT.npz", help="Gets out0, out1, ...")],
    options: ImportOptions,
    model: OptionalModel = None,
    board: PlaceName = None,
    emulate: Emulate = False,
    real: Real = False,
    repeat: Annotated[int, typer.Option(min=1, help="Run K times; keys become outJ_stepK.")] = 1,
    firmware: FirmwareFile = None,
    port: Port = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a model on a board.

    An input array has the input's shape, or one more leading axis for several samples; the outputs then have
    it too. Without MODEL the board's own description gives the shapes, and --port alone reaches a board.
    Example: tinydeploy run kws.tflite --board qemu-m4 --emulate --input in.npz -o out.npz
    """
    found = board_for(board, port, firmware)
    refuse_board_options(found, emulate=emulate, port=port, firmware=firmware)
    source = Source(found, emulate, port)
    if model is None:
        samples, answers = _without_model(source, firmware, input_, repeat, real=real)
    else:
        builds = firmware is None and port is None
        compiled = build.compile_graph(load(model, options), target_of(found.chip.cpu))
        samples = load_inputs(input_, ports_of(compiled.graph), real=real)
        compiler = toolchain_for(str(found.path), toolchain) if builds else None
        if compiler is not None and found.is_host:
            with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
                program = build_host(compiled, Path(folder), compiler)
                sequence = [sample for sample in samples for _ in range(repeat)]
                answers = _collect((a.outputs for a in program.run(sequence)), len(sequence))
        else:
            with model_on_board(compiled, source, compiler, firmware, trace=False) as client:
                check_model(client, compiled)
                answers = _infer(client, samples, repeat)
    arrays = _columns(answers, len(samples), repeat)
    save(output, arrays)
    figures = {"samples": len(samples), "repeat": repeat, "output": str(output), "arrays": sorted(arrays)}
    console.result(figures, as_json=as_json, text=f"ran {len(samples)} samples, wrote {output}")


def _without_model(
    source: Source, firmware: Path | None, path: Path, repeat: int, *, real: bool
) -> tuple[list[Sample], list[Outputs]]:
    _need_board(source.board)
    with connect(source, firmware) as client:
        ports = [_port(tensor) for tensor in client.describe().inputs]
        samples = load_inputs(path, ports, real=real)
        return samples, _infer(client, samples, repeat)


def _need_board(board: Board) -> None:
    if board.is_host:
        raise TinyDeployError("the board host needs a MODEL", fix="Give one, or name the board that runs one")


def _port(tensor: TensorInfo) -> InputPort:
    quant = Quant((tensor.scale,), (tensor.zero_point,)) if tensor.scale else None
    return InputPort(tensor.name, TensorType(DType[tensor.dtype.name], tensor.shape, quant))


def _infer(client: Client, samples: Sequence[Sample], repeat: int) -> list[Outputs]:
    """Every sample ``repeat`` times, state variables kept between its repetitions."""

    def outputs() -> Iterator[Outputs]:
        for sample in samples:
            client.reset_model()
            for _ in range(repeat):
                yield client.infer(sample).outputs

    return _collect(outputs(), len(samples) * repeat)


def _collect(outputs: Iterator[Outputs], total: int) -> list[Outputs]:
    collected: list[Outputs] = []
    with console.progress("running", total) as tell:
        for answer in outputs:
            collected.append(answer)
            tell(len(collected))
    return collected


def _columns(answers: Sequence[Outputs], samples: int, repeat: int) -> dict[str, Array]:
    columns: dict[str, list[Array]] = {}
    for index, outputs in enumerate(answers):
        for number, array in enumerate(outputs):
            key = f"out{number}" if repeat == 1 else f"out{number}_step{index % repeat}"
            columns.setdefault(key, []).append(array)
    return {key: column[0] if samples == 1 else np.stack(column) for key, column in columns.items()}


def save(path: Path, arrays: dict[str, Array]) -> None:
    """Write an .npz file, complete or not at all; raises TinyDeployError where that fails."""
    if not path.parent.is_dir():
        reason = os.strerror(errno.ENOTDIR if path.parent.exists() else errno.ENOENT)
        raise TinyDeployError(f"cannot write: {reason}", where=str(path), fix="Make its folder first")
    with staged(path.parent) as work, (work / path.name).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
