"""The whole way from a float graph and samples to an integer graph and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tinydeploy.ir import DType, Graph
from tinydeploy.passes import PASSES, Pass, layout, run_passes
from tinydeploy.passes.flatten_dense import flatten_dense
from tinydeploy.passes.unroll_recurrent import unroll_recurrent
from tinydeploy.quantize.apply import Interface, apply, interface_steps
from tinydeploy.quantize.calibrate import Tell, calibrate, silent
from tinydeploy.quantize.equalize import equalize
from tinydeploy.quantize.evaluate import Comparison, compare
from tinydeploy.quantize.groups import int4_weights, narrowable
from tinydeploy.quantize.interface import normalised, scaled
from tinydeploy.quantize.mixed import search
from tinydeploy.quantize.moments import Moments, moments_of
from tinydeploy.quantize.options import Budget, Options
from tinydeploy.quantize.prepare import check_float, dequantize_weights, fuse_clamps, pools_to_means
from tinydeploy.quantize.report import Effect, Report, layer_reports, outliers_of
from tinydeploy.quantize.rounding import Grid, adaptive, corrected_bias
from tinydeploy.quantize.rules import Kind
from tinydeploy.quantize.samples import Port, Samples
from tinydeploy.quantize.scales import along
from tinydeploy.quantize.scheme import Choice, Steps, choose_steps, quantized_values, rules_of
from tinydeploy.quantize.studied import Built, Precision, Prepared, Studied
from tinydeploy.quantize.weights import Integers, Layer, int8_scales, int8_weights, layer_of, with_bias

MAX_STUDIED = 64
"""Samples that adaptive rounding and bias correction look at."""


@dataclass(frozen=True, slots=True)
class Quantized:
    """A quantized model: ``graph`` with Quantize and Dequantize around its tensors, as files hold it, and
    ``integer``, the same as operators on integers, which is what compiles."""

    graph: Graph
    integer: Graph
    report: Report


def prepare(graph: Graph, options: Options, where: str = "") -> Prepared:
    """The float graph as calibration runs it.

    Raises TinyDeployError where the graph is quantized already or the options do not fit it.
    """
    graph = dequantize_weights(graph)
    check_float(graph, where or graph.name)
    adapted = normalised(layout(graph), options.normalisation, options.input_type)
    ready = run_passes(adapted.graph, _float_passes(options))
    return Prepared(ready, replace(adapted, graph=ready))


def _float_passes(options: Options) -> tuple[Pass, ...]:
    left_out = {"integerize"} | (set() if options.fold_batch_norm else {"fold-batch-norm"})
    before = tuple(step for step in PASSES if step.name not in left_out)
    own = (
        Pass("unroll-recurrent", unroll_recurrent),
        Pass("flatten-dense", flatten_dense),
        Pass("fuse-clamps", fuse_clamps),
        Pass("pools-to-means", pools_to_means),
    )
    return before + own + ((Pass("equalize", equalize),) if options.equalize else ())


def study(prepared: Prepared, samples: Samples, options: Options, tell: Tell = silent) -> Studied:
    """Run the float graph over the samples: once for ranges, once more where weights need it."""
    graph = prepared.graph
    ready = scaled(samples.limited(options.samples), prepared.adapted.scale)
    observers = calibrate(graph, ready, quantized_values(graph), tell)
    layers = {
        index: layer_of(graph, index) for index, rule in enumerate(rules_of(graph)) if rule.kind is Kind.DOT
    }
    moments: Mapping[int, Moments] = {}
    if options.adapts or options.bias_correction or options.budget.asked:
        moments = moments_of(graph, tuple(layers), ready.limited(MAX_STUDIED), tell)
    return Studied(prepared, ready, observers, moments, layers)


def plain_precision(studied: Studied, options: Options) -> Precision:
    """The same precision everywhere, as the options ask."""
    return Precision(narrow=narrowable(studied.layers) if options.weight_bits == 4 else frozenset())


def build(studied: Studied, options: Options, precision: Precision) -> Built:
    """The model in a precision."""
    graph = studied.prepared.graph
    given = studied.prepared.adapted.given
    known = {} if given is None else {graph.inputs[0]: interface_steps(given, DType.INT8)}
    choice = Choice(options.method, options.activations, precision.wide, known)
    steps = choose_steps(graph, studied.observers, choice)
    integers = {
        index: _integers(studied, layer, steps, options, index in precision.narrow)
        for index, layer in studied.layers.items()
    }
    quantized = apply(graph, steps, integers, Interface(options.input_type, options.output_type))
    return Built(steps, integers, quantized, run_passes(quantized, PASSES))


def _integers(
    studied: Studied, layer: Layer, steps: Mapping[int, Steps], options: Options, narrow: bool
) -> Integers:
    data_value = studied.prepared.graph.nodes[layer.index].inputs[0]
    if data_value is None:
        raise ValueError(f"{layer.name}: no data")
    data = steps[data_value].quant
    moments = studied.moments.get(layer.index)
    if narrow:
        made = int4_weights(layer, data, moments if options.adapts else None)
    elif moments is not None and options.adapts:
        quant = int8_scales(layer, data)
        unit = along(quant.scales, 0, 2) + 0.0 * layer.matrix
        whole = layer.shaped(adaptive(layer.matrix, Grid(unit, 127), moments).astype("int8"))
        made = with_bias(layer, data, whole, quant)
    else:
        made = int8_weights(layer, data)
    if moments is None or not options.bias_correction:
        return made
    real = replace(layer, weights=made.real()).matrix
    bias = corrected_bias(layer.bias, layer.matrix, real, moments)
    return with_bias(replace(layer, bias=bias), data, made.weights, made.quant, made.bits, made.group)


def quantize_graph(
    graph: Graph, opened: Callable[[tuple[Port, ...]], Samples], options: Options, tell: Tell = silent
) -> Quantized:
    """Quantize a float graph; ``opened`` gives the samples for its inputs.

    Raises TinyDeployError where options, graph or samples do not fit together, BudgetError where no
    precision keeps the budget.
    """
    options.check()
    prepared = prepare(graph, options)
    samples = opened(prepared.ports)
    studied = study(prepared, samples, options, tell)
    precision = plain_precision(studied, options)
    if options.budget.asked:
        precision = search(studied, options, precision, build, tell)
    built = build(studied, options, precision)
    compared = _compared(studied, built, options, tell)
    effects = _effects(graph, opened, options, compared, tell) if options.effects else ()
    return Quantized(built.graph, built.integer, _report(studied, built, options, compared, effects))


def _effects(
    graph: Graph,
    opened: Callable[[tuple[Port, ...]], Samples],
    options: Options,
    full: Comparison,
    tell: Tell,
) -> tuple[Effect, ...]:
    """What each option that is on does to the outputs' ratio: the model without it beside the model."""
    switches: dict[str, Callable[[Options], Options]] = {
        "batch norm folded": lambda chosen: replace(chosen, fold_batch_norm=False),
        "cross-layer equalization": lambda chosen: replace(chosen, equalize=False),
        "bias correction": lambda chosen: replace(chosen, bias_correction=False),
        "adaptive rounding": lambda chosen: replace(chosen, adaptive_rounding=False),
    }
    on = (options.fold_batch_norm, options.equalize, options.bias_correction, options.adapts)
    found: list[Effect] = []
    for (name, without), chosen in zip(switches.items(), on, strict=True):
        if not chosen:
            continue
        other = without(replace(options, effects=False, budget=Budget()))
        prepared = prepare(graph, other)
        studied = study(prepared, opened(prepared.ports), other, tell)
        built = build(studied, other, plain_precision(studied, other))
        ratio = _compared(studied, built, other, tell).outputs.sqnr_db
        found.append(Effect(name, ratio, full.outputs.sqnr_db))
    return tuple(found)


def _compared(studied: Studied, built: Built, options: Options, tell: Tell) -> Comparison:
    graph = studied.prepared.graph
    samples = studied.samples.limited(options.compared)
    return compare(graph, built.integer, samples, tuple(built.steps), tell)


def _report(
    studied: Studied, built: Built, options: Options, compared: Comparison, effects: tuple[Effect, ...]
) -> Report:
    graph = studied.prepared.graph
    some = next(iter(studied.observers.values()), None)
    held = built.integer.type(built.integer.inputs[0]).quant
    bits = sorted({layer.bits for layer in built.integers.values()})
    return Report(
        model=graph.name,
        samples=some.samples if some is not None else 0,
        compared=compared.samples,
        method=options.method.value,
        activations=options.activations.value,
        weights=" and ".join(f"int{size}" for size in bits) or "none",
        output_sqnr_db=compared.outputs.sqnr_db,
        agreement_percent=None if compared.agreement is None else 100.0 * compared.agreement,
        weights_bytes=sum(layer.bytes for layer in built.integers.values()),
        float_weights_bytes=sum(4 * layer.weights.size for layer in built.integers.values()),
        input_scale=held.scale if held is not None else None,
        input_zero_point=held.zero_point if held is not None else None,
        normalisation=studied.prepared.adapted.how,
        layers=layer_reports(graph, built.steps, built.integers, studied.observers, compared),
        outliers=outliers_of(graph, studied.observers),
        effects=effects,
        float_nodes=_float_nodes(built.integer),
    )


def _float_nodes(graph: Graph) -> tuple[str, ...]:
    """Nodes that compute in floating point, conversions at the edges aside."""
    return tuple(
        f"{node.name} ({node.op})"
        for node in graph.nodes
        if node.op not in ("Quantize", "Dequantize")
        and any(graph.type(value).dtype is DType.FLOAT32 for value in node.outputs)
    )
