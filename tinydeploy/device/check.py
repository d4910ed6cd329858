"""A board's runs against the reference: CRCs of every instance, bytes only of what differs first; of float
graphs the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinydeploy.build import Compiled
from tinydeploy.errors import DeviceError
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.rpc import Client, first_difference
from tinydeploy.verify import Comparison, Mismatch, OutputTally, mismatch_at
from tinydeploy.verify.samples import Sample


def check_model(client: Client, compiled: Compiled) -> None:
    """Raise DeviceError where the board runs another model, or the same one compiled otherwise."""
    on_board = client.describe()
    wanted = int(compiled.library.hash, 16)
    instances = sum(1 for _ in compiled.program.calls())
    if (on_board.hash, on_board.instances) != (wanted, instances):
        raise DeviceError(
            f"the board runs model {on_board.name} with hash {on_board.hash:016x} "
            f"and {on_board.instances} instances, asked for was {compiled.library.prefix} with hash "
            f"{wanted:016x} and {instances}",
            where=client.where,
            fix="Flash the image of this model",
        )


def verify_device(
    client: Client,
    compiled: Compiled,
    samples: Sequence[Sample],
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Run every sample on the board and compare with the reference, from a reset model each.

    An exact graph runs step by step, all instances compared by checksum. The checksums of floats tell
    nothing, so of a graph that computes with them the outputs are compared, within the tolerance. A model
    with state variables runs the sample before first, so that what it remembers is compared too.
    """
    check_model(client, compiled)
    graph, calls = compiled.graph, list(compiled.program.calls())
    interpreter = Interpreter(graph)
    tally = OutputTally(graph)
    first: Mismatch | None = None
    for index, sample in enumerate(samples):
        history = samples[max(index - 1, 0) : index] if graph.states else ()
        interpreter.reset()
        for past in history:
            interpreter.run_all(past)
        expected = interpreter.run_all(sample)
        if tally.tolerance is None:
            rows = {instance: call.rows(expected) for instance, call in enumerate(calls)}
            bad = first_difference(client, rows, sample, history)
            if bad is not None and first is None:
                first = mismatch_at(compiled.program, index, bad.instance, bad.row)
            outputs = client.read_outputs()
        else:
            client.reset_model()
            for past in history:
                client.infer(past)
            outputs = client.infer(sample).outputs
        tally.add((expected[value] for value in graph.outputs), outputs)
        if progress is not None:
            progress(index + 1)
    compared = len(samples) * len(calls) if tally.tolerance is None else 0
    return Comparison(len(samples), tally.mismatches, tally.max_abs_diff, compared, first, tally.tolerance)
