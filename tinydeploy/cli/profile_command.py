"""``tinydeploy profile``: what a run costs on a board."""

from __future__ import annotations

from rich.table import Table

from tinydeploy import build
from tinydeploy.boards import Board, load_board
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Compiler,
    Emulate,
    FirmwareFile,
    Json,
    Model,
    Port,
    reads_model,
    target_for,
    toolchain_for,
)
from tinydeploy.cli.targets import image_of, refuse_board_options
from tinydeploy.device import Measurement, RunCost, Source, can_sum_cycles, connect, measure, sum_cycles
from tinydeploy.device.measure import measuring_samples, per_mac, shares
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.rpc import CounterUnit

UNCALIBRATED = "estimated, uncalibrated for these kernels"
_BAR_CELLS = 20


@reads_model
def profile(
    model: Model,
    options: ImportOptions,
    board: BoardName,
    emulate: Emulate = False,
    port: Port = None,
    firmware: FirmwareFile = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Count what one run costs, in all and step by step, on an image without any instrumentation.

    Emulators count instructions exactly; real boards count cycles. The first run warms up, the second, with
    another input, is counted. Example: tinydeploy profile kws.tflite --board qemu-m4 --emulate
    """
    found = load_board(board)
    refuse_board_options(found, emulate=emulate, port=port, firmware=firmware)
    if found.is_host:
        raise TinyDeployError("the host counts nothing", fix="Name an emulated board, such as qemu-m4")
    compiled = build.compile_graph(load(model, options), target_for(board, None))
    builds = firmware is None and port is None
    compiler = toolchain_for(board, toolchain) if builds else None
    cost: RunCost | None = None
    with image_of(compiled, found, compiler, firmware, trace=False) as elf:
        with connect(Source(found, emulate, port), elf) as client:
            measured = measure(client, compiled)
            unit = client.device.counter_unit
        if emulate and elf is not None and can_sum_cycles(found):
            warm_up, sample = measuring_samples(compiled)
            cost = sum_cycles(found, elf, compiled.library.prefix, [warm_up], sample)
    exact = emulate or unit is CounterUnit.INSTRUCTIONS
    name = f"{compiler.name} {compiler.version}" if compiler else None
    figures = {
        "model": compiled.graph.name,
        "board": found.name,
        "toolchain": name,
        **_figures(measured, cost, compiled.library.macs, exact=exact),
    }
    prefix, macs = compiled.library.prefix, compiled.library.macs
    console.result(figures, as_json=as_json, text=_table(measured, cost, found, prefix, macs, exact=exact))


def _figures(measured: Measurement, cost: RunCost | None, macs: int, *, exact: bool) -> dict[str, object]:
    count = measured.count
    found: dict[str, object] = {
        "macs": macs,
        "instructions": count if exact else None,
        "instructions_per_mac": per_mac(count, macs) if exact else None,
        "cycles": None if exact else count,
        "cycles_are": None if exact else "measured",
    }
    if cost is not None:
        found |= {
            "cycle_sum": cost.run.cycle_sum,
            "cycles": cost.run.cycle_sum,
            "cycles_are": UNCALIBRATED,
        }
    layers: list[dict[str, object]] = []
    parts = shares([layer.count for layer in measured.layers])
    for index, (layer, share) in enumerate(zip(measured.layers, parts, strict=True)):
        shown: dict[str, object] = {
            "name": layer.name,
            "op": layer.op,
            "schedule": layer.schedule,
            "instructions" if exact else "cycles": layer.count,
            "macs": layer.macs,
            "share": share,
        }
        if cost is not None:
            shown["cycle_sum"] = cost.steps[index].cycle_sum
        layers.append(shown)
    return {**found, "layers": layers}


def _table(
    measured: Measurement, cost: RunCost | None, board: Board, prefix: str, macs: int, *, exact: bool
) -> Table:
    unit = "instructions" if exact else "cycles"
    title = f"{prefix} on {board.name}: {measured.count:,} {unit}"
    title += f", {measured.count / macs:.3f} per MAC" if macs else ""
    title += f", cycle sum {cost.run.cycle_sum:,} ({UNCALIBRATED})" if cost else ""
    parts = shares([layer.count for layer in measured.layers])
    rows = [
        (
            f"{layer.title} ({layer.schedule})",
            layer.count,
            f"{layer.count / layer.macs:.2f}" if layer.macs else "",
            f"{share:.1%}",
            "█" * round(share * _BAR_CELLS),
        )
        for layer, share in zip(measured.layers, parts, strict=True)
    ]
    return console.table(title, rows, ("step", unit, "per MAC", "share", ""))
