"""What a quantization did, layer by layer: plain data for the table, for JSON and for HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tinydeploy.ir import Graph
from tinydeploy.quantize.evaluate import PERFECT_DB, Comparison
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.scales import range_of
from tinydeploy.quantize.scheme import Steps
from tinydeploy.quantize.weights import Integers


@dataclass(frozen=True, slots=True)
class Outlier:
    """A tensor whose extreme in one sample is far from all others'; its range leaves it out or not."""

    tensor: str
    sample: int
    value: float
    usual: float
    """What 95 % of the samples stay within."""


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One tensor and the node that makes it (``op`` is ``input`` for an input).

    ``sqnr_db`` compares the real tensor with the integer one, None where the integer graph has none;
    ``clipped_percent`` of its numbers lie outside its range; ``extreme_sample`` set the largest of them.
    """

    name: str
    op: str
    activations: str
    weight_bits: int | None
    weight_bytes: int
    low: float
    high: float
    seen_low: float
    seen_high: float
    extreme_sample: int
    clipped_percent: float
    sqnr_db: float | None
    worst_channel: int | None
    worst_channel_db: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What an option changed: the outputs' ratio without and with it, all earlier options being on."""

    option: str
    before_db: float
    after_db: float


@dataclass(frozen=True, slots=True)
class Report:
    """A quantization at a glance."""

    model: str
    samples: int
    compared: int
    method: str
    activations: str
    weights: str
    output_sqnr_db: float
    agreement_percent: float | None
    weights_bytes: int
    float_weights_bytes: int
    input_scale: float | None
    input_zero_point: int | None
    normalisation: str
    layers: tuple[LayerReport, ...]
    outliers: tuple[Outlier, ...]
    effects: tuple[Effect, ...] = ()
    float_nodes: tuple[str, ...] = ()
    """Nodes that stay in floating point."""

    def as_json(self) -> dict[str, object]:
        """The report as ``--json`` prints it."""
        return asdict(self)


def layer_reports(
    graph: Graph,
    steps: Mapping[int, Steps],
    integers: Mapping[int, Integers],
    observers: Mapping[int, Observer],
    compared: Comparison,
) -> tuple[LayerReport, ...]:
    """One entry per quantized tensor, in the order of the graph."""
    producers = graph.producers()
    order = [*graph.inputs, *(state.before for state in graph.states)]
    order += [value for node in graph.nodes for value in node.outputs]
    found: list[LayerReport] = []
    for value in order:
        if value not in steps or value not in observers:
            continue
        index = producers.get(value)
        layer = integers.get(index) if index is not None else None
        observer, held = observers[value], steps[value]
        low, high = range_of(held.quant, held.dtype)
        slack = held.quant.scale / 2
        difference = compared.tensors.get(value)
        worst = difference.worst_channel() if difference is not None else (None, None)
        above, below = observer.above.most, observer.below.most
        found.append(
            LayerReport(
                name=graph.values[value].name,
                op=graph.nodes[index].op if index is not None else "input",
                activations=held.dtype.value,
                weight_bits=layer.bits if layer is not None else None,
                weight_bytes=layer.bytes if layer is not None else 0,
                low=low,
                high=high,
                seen_low=observer.low,
                seen_high=observer.high,
                extreme_sample=(above if above.value >= below.value else below).sample,
                clipped_percent=100.0
                * observer.histogram.outside(low - slack, high + slack)
                / max(observer.histogram.total, 1),
                sqnr_db=difference.sqnr_db if difference is not None else None,
                worst_channel=worst[0],
                worst_channel_db=worst[1],
            )
        )
    return tuple(found)


def outliers_of(graph: Graph, observers: Mapping[int, Observer]) -> tuple[Outlier, ...]:
    """Every tensor with samples that stick out, its furthest one; inputs and then the graph's order."""
    found: list[Outlier] = []
    for value, observer in sorted(observers.items()):
        outliers = observer.outliers()
        if outliers:
            first = outliers[0]
            side = observer.above if first.value > 0 else observer.below
            found.append(Outlier(graph.values[value].name, first.sample, first.value, side.usual()))
    return tuple(found)


def db_text(ratio: float | None) -> str:
    """A ratio for people."""
    if ratio is None:
        return "-"
    return "exact" if ratio >= PERFECT_DB else f"{ratio:.1f} dB"


COLUMNS = ("tensor", "operator", "type", "weights", "range", "clipped", "SQNR", "worst channel", "extreme in")


def rows(report: Report) -> list[tuple[str, ...]]:
    """The layers as a table under ``COLUMNS``."""
    return [
        (
            layer.name,
            layer.op,
            layer.activations,
            f"int{layer.weight_bits}" if layer.weight_bits else "-",
            f"{layer.low:.4g} to {layer.high:.4g}",
            f"{layer.clipped_percent:.3g} %",
            db_text(layer.sqnr_db),
            "-"
            if layer.worst_channel is None
            else f"{layer.worst_channel} ({db_text(layer.worst_channel_db)})",
            f"sample {layer.extreme_sample}",
        )
        for layer in report.layers
    ]


def summary(report: Report) -> list[str]:
    """The report's figures as lines for people, without the table of layers."""
    kinds = f"activations {report.activations}, weights {report.weights}"
    lines = [
        f"{report.model}: {report.samples} samples, method {report.method}, {kinds}",
        f"outputs: SQNR {db_text(report.output_sqnr_db)} on {report.compared} samples"
        + ("" if report.agreement_percent is None else f", same answer on {report.agreement_percent:.1f} %"),
        f"weights: {report.weights_bytes:,} bytes, as float32 {report.float_weights_bytes:,}",
    ]
    if report.input_scale is not None:
        lines.append(f"input: real = {report.input_scale:.9g} * (step - {report.input_zero_point})")
    if report.normalisation:
        lines.append(f"mean and std: {report.normalisation}")
    lines += [
        f"outlier: {o.tensor} reaches {o.value:.4g} in sample {o.sample}; 95 % of the samples stay within "
        f"{o.usual:.4g}"
        for o in report.outliers
    ]
    lines += [
        f"{effect.option}: outputs {db_text(effect.before_db)} -> {db_text(effect.after_db)}"
        for effect in report.effects
    ]
    if report.float_nodes:
        lines.append(f"in floating point: {', '.join(report.float_nodes)}")
    return lines
