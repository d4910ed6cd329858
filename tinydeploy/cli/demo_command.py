"""``tinydeploy demo``: the whole line on a bundled model, as a newcomer's first command."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build as line
from tinydeploy import demo as bundle
from tinydeploy.boards import Board, load_board
from tinydeploy.cli import console
from tinydeploy.cli.options import BoardName, Compiler, Json, target_for, toolchain_for
from tinydeploy.device import Build, build_model, emulated, verify_device
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.verify import Comparison, make_samples

VERIFIED_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Result:
    """What the board answered."""

    right: int
    images: int
    instructions: int
    compared: Comparison


def demo(
    board: BoardName = "nucleo-f746",
    images: Annotated[int, typer.Option(min=1, help="How many test images to classify.")] = 100,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Compile, build, flash, run and verify the bundled model on an emulated board.

    The model reads handwritten digits. Nothing is needed beyond pip. Example: tinydeploy demo
    """
    found = load_board(board)
    if not found.emulators or found.is_host:
        raise TinyDeployError(f"{found.name} has no emulator", fix="Use --board nucleo-f746 or qemu-m4")
    compiled = line.compile_graph(load(bundle.model_path()), target_for(board, None), name="digits")
    compiler = toolchain_for(board, toolchain)
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        plain = build_model(compiled, found, compiler, Path(folder, "plain"))
        traced = build_model(compiled, found, compiler, Path(folder, "traced"), trace=True)
        with console.progress(f"running on {found.name}", images + VERIFIED_SAMPLES) as tell:
            result = _run(found, plain, traced, images, tell)
        _report(found, plain, result, as_json=as_json)
    if not result.compared.bit_exact:
        raise typer.Exit(console.ANSWER_IS_NO)


def _run(board: Board, plain: Build, traced: Build, images: int, tell: Callable[[int], None]) -> Result:
    inputs, labels = bundle.samples()
    images = min(images, len(inputs))
    right = instructions = 0
    with emulated(board, plain.firmware.elf) as client:
        for index in range(images):
            answer = client.infer([inputs[index : index + 1]])
            right += int(answer.outputs[0].argmax() == labels[index])
            instructions = answer.count
            tell(index + 1)
    data = [(inputs[index : index + 1],) for index in range(VERIFIED_SAMPLES)]
    samples = make_samples(traced.compiled.graph, VERIFIED_SAMPLES, data)
    with emulated(board, traced.firmware.elf) as client:
        compared = verify_device(client, traced.compiled, samples, lambda done: tell(images + done))
    return Result(right, images, instructions, compared)


def _report(board: Board, build: Build, result: Result, *, as_json: bool) -> None:
    card, figures = bundle.card(), build.figures()
    exact = result.compared.bit_exact
    accuracy = result.right / result.images
    shown: dict[str, object] = {
        "model": card.name,
        "task": card.task,
        "board": board.name,
        "toolchain": build.firmware.compiler,
        "accuracy": accuracy,
        "images": result.images,
        "accuracy_on_desk": card.accuracy_int8,
        "instructions": result.instructions,
        "bit_exact": exact,
        **{key: figures[key] for key in ("flash_bytes", "ram_bytes", "arena_bytes", "weights_bytes", "macs")},
    }
    rows = (
        ("model", f"{card.name}: {card.task}"),
        ("board", f"{board.title}, {board.chip.cpu}, emulated"),
        ("compiler", build.firmware.compiler),
        ("accuracy", f"{accuracy:.1%} of {result.images} images, computed on the board"),
        ("flash", f"{figures['flash_bytes']:,} bytes, {figures['weights_bytes']:,} of them weights"),
        ("RAM", f"{figures['ram_bytes']:,} bytes, {figures['arena_bytes']:,} of them tensors"),
        ("instructions", f"{result.instructions:,} per image, for {figures['macs']:,} multiply-accumulates"),
        ("bit-exact", "yes" if exact else "NO"),
    )
    console.result(shown, as_json=as_json, text=console.table("tinydeploy demo", rows))
