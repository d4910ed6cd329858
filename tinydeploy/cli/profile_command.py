"""``tinydeploy profile``: what a run costs on a board."""

from __future__ import annotations

from tinydeploy import build
from tinydeploy.boards import load_board
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Compiler,
    Emulate,
    FirmwareFile,
    Json,
    Model,
    Port,
    target_for,
    toolchain_for,
)
from tinydeploy.cli.targets import model_on_board, refuse_board_options
from tinydeploy.device import Source, check_model
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.rpc import CounterUnit
from tinydeploy.verify import make_samples

WARM_UP_RUNS = 1


def profile(
    model: Model,
    board: BoardName,
    emulate: Emulate = False,
    port: Port = None,
    firmware: FirmwareFile = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Count what one run costs, on an image without any instrumentation.

    Emulators count instructions exactly; real boards count cycles. The first run warms up, the second, with
    another input, is counted. Example: tinydeploy profile kws.tflite --board qemu-m4 --emulate
    """
    found = load_board(board)
    refuse_board_options(found, emulate=emulate, port=port, firmware=firmware)
    if found.is_host:
        raise TinyDeployError("the host counts nothing", fix="Name an emulated board, such as qemu-m4")
    compiled = build.compile_graph(load(model), target_for(board, None))
    builds = firmware is None and port is None
    compiler = toolchain_for(board, toolchain) if builds else None
    samples = make_samples(compiled.graph, WARM_UP_RUNS + 3)[2:]
    source = Source(found, emulate, port)
    with model_on_board(compiled, source, compiler, firmware, trace=False) as client:
        check_model(client, compiled)
        for sample in samples:
            count = client.infer(sample).count
        unit = client.device.counter_unit
    exact = emulate or unit is CounterUnit.INSTRUCTIONS
    macs = compiled.library.macs
    figures: dict[str, object] = {
        "model": compiled.graph.name,
        "board": found.name,
        "toolchain": f"{compiler.name} {compiler.version}" if compiler else None,
        "macs": macs,
        "instructions": count if exact else None,
        "cycles": None if exact else count,
        "cycles_are": None if exact else "measured",
        "instructions_per_mac": round(count / macs, 4) if exact and macs else None,
    }
    text = f"{compiled.library.prefix} on {found.name}: {count:,} {'instructions' if exact else 'cycles'}"
    if macs:
        text += f", {count / macs:.3f} per MAC"
    console.result(figures, as_json=as_json, text=text)
