"""``tinydeploy update``: a new model into an image that runs, where only its constants changed."""

from __future__ import annotations

from tinydeploy import build as line
from tinydeploy.boards import load_board
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Emulate,
    FirmwareFile,
    Json,
    Model,
    Port,
    reads_model,
    target_for,
)
from tinydeploy.device import Source, connect
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.slots import Update, read_known, update_model


@reads_model
def update(
    model: Model,
    options: ImportOptions,
    board: BoardName,
    emulate: Emulate = False,
    firmware: FirmwareFile = None,
    port: Port = None,
    as_json: Json = False,
) -> None:
    """Send a new training of the same network to a board whose image was built with --slots.

    Only blocks that changed go over the line, into the slot that is not active; until the end the old model
    runs, and after a power cut one of the two does. --firmware names the image on the board: with it a
    refusal tells what is compiled into code. With --adapter a merged LoRA adapter is sent.
    Example: tinydeploy update kws_v2.tflite --board nucleo-f746 --port /dev/ttyACM0
    """
    found = load_board(board)
    if found.is_host:
        raise TinyDeployError(
            "the host has no flash to update", fix="Name a board; `tinydeploy boards` lists them"
        )
    if emulate and firmware is None:
        raise TinyDeployError(
            "an emulated board needs the image that is updated",
            fix="Give --firmware with an image built with --slots",
        )
    compiled = line.compile_graph(load(model, options), target_for(board, None), slots=True)
    known = read_known(firmware) if firmware is not None else None
    session = connect(Source(found, emulate, port), firmware if emulate else None)
    with session as client, console.stages() as tell:
        done = update_model(
            client, compiled, known=known, progress=lambda at, total: tell("updating", at, total)
        )
    figures: dict[str, object] = {
        "model": compiled.graph.name,
        "board": found.name,
        "before": f"{done.before:016x}",
        "after": f"{done.after:016x}",
        "blocks": done.blocks,
        "changed_blocks": done.changed_blocks,
        "payload_bytes": done.payload_bytes,
        "sent_bytes": done.sent_bytes,
        "counter": done.counter,
    }
    console.result(figures, as_json=as_json, text=console.printable(_text(compiled.graph.name, done)))


def _text(name: str, done: Update) -> str:
    if done.before == done.after:
        return f"{name} with hash {done.after:016x} runs already; nothing was sent"
    return (
        f"{name}: {done.changed_blocks} of {done.blocks} blocks changed, {done.sent_bytes:,} of "
        f"{done.payload_bytes:,} bytes sent\n"
        f"the board ran {done.before:016x} and runs {done.after:016x} now (update {done.counter})"
    )
