"""Firmware of a benchmark for a board: the generated model inside the harness."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mlperf_tiny import streaming
from mlperf_tiny.catalogue import Bench, InputKind, Metric, ResultKind
from mlperf_tiny.dut import Mode
from tinydeploy.boards import Board
from tinydeploy.build import Compiled, compile_graph, write_files
from tinydeploy.device import build_model
from tinydeploy.device.cycles import can_sum_cycles, sum_cycles
from tinydeploy.device.measure import measuring_samples
from tinydeploy.errors import TinyDeployError
from tinydeploy.features import c_files, sww_log_mel
from tinydeploy.firmware import Firmware, build_firmware
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import Toolchain

ENERGY_BAUD = 9600
"""The rate at which the benchmark's power boards listen."""

MILLI = 1000

EXECUTED_HZ = 25_000_000
"""Instructions that an emulator executes per second of a window; more of a faster board are only counted."""


@dataclass(frozen=True, slots=True)
class BenchBuild:
    """A benchmark's image. ``millicycles`` is what a count of the board's counter stands for, in thousandths
    of a cycle; ``cycles_are`` names its origin."""

    bench: Bench
    board: Board
    mode: Mode
    compiled: Compiled
    firmware: Firmware
    millicycles: int
    cycles_are: str


def compile_bench(bench: Bench, model: Path, board: Board) -> Compiled:
    """The benchmark's model, compiled for the board's core under the benchmark's name.

    Raises TinyDeployError where the model is not of the shape that the harness serves.
    """
    graph = load(model)
    inputs = [graph.type(value) for value in graph.inputs]
    outputs = [graph.type(value) for value in graph.outputs]
    if len(inputs) != 1 or len(outputs) != 1 or inputs[0].bytes != inputs[0].elements:
        raise TinyDeployError(
            "the harness takes models of one int8 input and one int8 output", where=str(model)
        )
    return compile_graph(graph, target_of(board.chip.cpu), name=bench.id)


def build_bench(
    bench: Bench,
    compiled: Compiled,
    board: Board,
    toolchain: Toolchain,
    folder: Path,
    *,
    mode: Mode = Mode.PERFORMANCE,
    vendor: str = "tinydeploy",
    emulated: bool = False,
    optimize: str = "-O2",
) -> BenchBuild:
    """Build the harness around a compiled model into ``folder``.

    Energy firmware talks at 9600 baud. For an emulated board, whose counter counts instructions, the image
    tells times in estimated cycles. Raises BudgetError where the board is too small, ToolError where a tool
    fails.
    """
    if mode is Mode.ENERGY and board.uart is not None:
        board = dataclasses.replace(board, uart=dataclasses.replace(board.uart, baud=ENERGY_BAUD))
    millicycles, origin, shared = MILLI, "measured", 1
    if emulated:
        millicycles, origin = estimated_millicycles(compiled, board, toolchain)
        shared = max(1, board.clock_hz // EXECUTED_HZ)
        origin += f", one run in {shared} executed" if shared > 1 else ""
    library = compiled.library
    sources = folder / "model"
    extra = feature_files(bench, compiled)
    write_files({**library.files, **library.descriptor, **extra}, sources)
    harness = harness_dir()
    stream = [harness / "td_mlperf_stream.c"] if extra else []
    firmware = build_firmware(
        board,
        toolchain,
        [
            *(sources / name for name in (*library.sources, *library.descriptor)),
            *(sources / name for name in extra if name.endswith(".c")),
            *stream,
            harness / "td_mlperf.c",
            runtime_dir() / "app" / "td_app_arena.c",
        ],
        [sources, harness],
        folder,
        "io",
        compiled.plan.arena_bytes,
        {
            **harness_defines(bench, compiled, mode, vendor, millicycles),
            "TD_MLPERF_RUNS_PER_EXECUTION": f"{shared}u",
        },
        app=harness / "td_mlperf_main.c",
        name=bench.id,
        optimize=optimize,
    )
    return BenchBuild(bench, board, mode, compiled, firmware, millicycles, origin)


def harness_dir() -> Path:
    """The folder of the harness's C files."""
    return Path(str(files("mlperf_tiny").joinpath("harness")))


def harness_defines(
    bench: Bench, compiled: Compiled, mode: Mode, vendor: str, millicycles: int
) -> dict[str, str | int]:
    """What makes the harness that of one benchmark. Raises TinyDeployError for a vendor's name that the
    protocol cannot carry."""
    if not vendor.isascii() or not vendor.isprintable() or set(vendor) & set('[]"\\%') or not vendor:
        raise TinyDeployError(
            f"the vendor's name {vendor!r:.40} holds characters that the protocol does not carry",
            fix='Use letters, digits and spaces without [ ] " \\ %',
        )
    graph = compiled.graph
    stream: dict[str, str | int] = {}
    if bench.metric is Metric.DETECTIONS:
        stream = {
            "TD_MLPERF_STREAM": 1,
            "TD_MLPERF_WINDOW": streaming.WINDOW,
            "TD_MLPERF_STRIDE": streaming.STRIDE,
            "TD_MLPERF_FRAMES": streaming.FRAMES,
            "TD_MLPERF_FEATURES": graph.type(graph.inputs[0]).elements // streaming.FRAMES,
            "TD_MLPERF_THRESHOLD": streaming.THRESHOLD,
        }
    return {
        "TD_TRACE": 0,
        **stream,
        "TD_MLPERF_MODE": "TD_MLPERF_ENERGY" if mode is Mode.ENERGY else "TD_MLPERF_PERFORMANCE",
        "TD_MLPERF_BENCHMARK": f'"{bench.id}"',
        "TD_MLPERF_VENDOR": f'"{vendor}"',
        "TD_MLPERF_INPUT": _INPUTS[bench.input],
        "TD_MLPERF_RESULT": _RESULTS[bench.result],
        "TD_MLPERF_INPUT_BYTES": f"{math.prod(graph.type(graph.inputs[0]).shape)}u",
        "TD_MLPERF_MILLICYCLES_PER_COUNT": f"{millicycles}u",
    }


def feature_files(bench: Bench, compiled: Compiled) -> dict[str, str]:
    """The C that makes features of samples, for a benchmark that hears a stream; else nothing."""
    if bench.metric is not Metric.DETECTIONS:
        return {}
    quant = compiled.graph.type(compiled.graph.inputs[0]).quant
    if quant is None:
        raise TinyDeployError("the model's input is not quantized", where=bench.id)
    return c_files(sww_log_mel(quant.scale, quant.zero_point), "td_mlperf_mel")


_INPUTS = {
    InputKind.STEPS: "TD_MLPERF_INPUT_STEPS",
    InputKind.PIXELS: "TD_MLPERF_INPUT_PIXELS",
    InputKind.FLOATS: "TD_MLPERF_INPUT_FLOATS",
}
_RESULTS = {
    ResultKind.SCORES: "TD_MLPERF_RESULT_SCORES",
    ResultKind.ERROR: "TD_MLPERF_RESULT_ERROR",
}


def estimated_millicycles(compiled: Compiled, board: Board, toolchain: Toolchain) -> tuple[int, str]:
    """Thousandths of a cycle per instruction of this model on this core, and where the figure is from.

    One run is priced by the core's class table where there is one; else an instruction counts as a cycle.
    """
    if not can_sum_cycles(board):
        return MILLI, "instructions counted as cycles (no table for this core)"
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        build = build_model(compiled, board, toolchain, Path(folder))
        warm_up, sample = measuring_samples(compiled)
        cost = sum_cycles(
            board, build.firmware.elf, compiled.library.prefix, [warm_up], sample, by_step=False
        ).run
    ratio = cost.cycle_sum * MILLI // cost.instructions
    return ratio, f"estimated from the class table of {board.chip.cpu}, zero wait states"
