"""What a run costs on a board, in all and step by step, on an image without any instrumentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.build import Compiled
from tinydeploy.codegen import macs_of
from tinydeploy.device.check import check_model
from tinydeploy.rpc import Client, profile
from tinydeploy.schedule import Step
from tinydeploy.verify import make_samples
from tinydeploy.verify.samples import Sample

_EXTREMES = 2
_WARM_UP_RUNS = 1


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a model. A row segment is one step: its kernels' names are joined by ``+``.

    ``title`` says operator and shapes, for people; ``count`` is what the board's counter advanced by.
    """

    name: str
    op: str
    schedule: str
    title: str
    macs: int
    count: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """The counter's advance over one run, and over each step of a run of the same input.

    The steps add up to a little more than the run: each is a call of ``NAME_step``.
    """

    count: int
    layers: tuple[Layer, ...]


def measuring_samples(compiled: Compiled) -> tuple[Sample, Sample]:
    """Two different random inputs: one to warm up, one to be measured."""
    warm_up, measured = make_samples(compiled.graph, _EXTREMES + _WARM_UP_RUNS + 1)[_EXTREMES:]
    return warm_up, measured


def count_run(client: Client, compiled: Compiled) -> int:
    """Run a board once to warm up; what its counter advances by in the second run, over another input.

    Raises DeviceError where the board runs another model.
    """
    check_model(client, compiled)
    warm_up, measured = measuring_samples(compiled)
    client.infer(warm_up)
    return client.infer(measured).count


def measure(client: Client, compiled: Compiled) -> Measurement:
    """Count a run as ``count_run`` does, then each step of another one.

    Raises DeviceError where the board runs another model.
    """
    count = count_run(client, compiled)
    warm_up, measured = measuring_samples(compiled)
    counts = profile(client, measured, [warm_up])
    layers = [
        _layer(compiled, step, found.count)
        for step, found in zip(compiled.program.steps, counts, strict=True)
    ]
    return Measurement(count, tuple(layers))


def _layer(compiled: Compiled, step: Step, count: int) -> Layer:
    graph = compiled.graph
    nodes = [graph.nodes[call.node] for call in step.calls]
    return Layer(
        name=" + ".join(node.name for node in nodes),
        op=" + ".join(node.op for node in nodes),
        schedule=" + ".join(call.kernel.instance.schedule for call in step.calls),
        title=" + ".join(call.kernel.title for call in step.calls),
        macs=sum(macs_of(graph, call.node) for call in step.calls),
        count=count,
    )


def per_mac(count: int, macs: int) -> float | None:
    """Counts per multiply-accumulate, None for a model that has none."""
    return round(count / macs, 4) if macs else None


def shares(counts: Sequence[int]) -> list[float]:
    """Each count's part of their sum."""
    total = sum(counts) or 1
    return [round(count / total, 4) for count in counts]
