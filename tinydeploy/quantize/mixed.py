"""Mixed precision under a budget: which layers get 4-bit weights, which tensors int16.

Greedy by sensitivity: every layer is tried alone, then layers change in the order of damage per byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinydeploy.errors import BudgetError
from tinydeploy.ir import DType, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize.calibrate import Tell
from tinydeploy.quantize.evaluate import Difference, IntegerModel
from tinydeploy.quantize.groups import narrowable
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.options import Options
from tinydeploy.quantize.samples import Sample
from tinydeploy.quantize.scheme import tied_groups
from tinydeploy.quantize.studied import Built, Precision, Studied

MAX_TRIED = 16
"""Samples on which a layer's sensitivity is measured."""

Build = Callable[[Studied, Options, Precision], Built]


@dataclass(frozen=True, slots=True)
class Trial:
    """A model on the samples: energy of its outputs' error, and percent of the answers that changed."""

    noise: float
    drop: float


class _Search:
    def __init__(self, studied: Studied, options: Options, build: Build, tell: Tell) -> None:
        self.studied = studied
        self.options = options
        self.build = build
        self.tell = tell
        self.samples: list[Sample] = list(studied.samples.limited(max(MAX_TRIED, options.compared)))
        self.wanted = _answers(studied.prepared.graph, self.samples)
        self.done = 0

    def built(self, precision: Precision) -> Built:
        return self.build(self.studied, self.options, precision)

    def tried(self, built: Built, count: int | None = None) -> Trial:
        """The model on the first ``count`` samples, or all."""
        model = IntegerModel(built.integer)
        difference, changed = Difference(), 0
        pairs = list(zip(self.samples, self.wanted, strict=True))[:count]
        for sample, wanted in pairs:
            got = model.outputs(model.run(sample))
            difference.add(wanted, got[0])
            changed += int(wanted.size > 1 and wanted.argmax() != got[0].argmax())
        self.done += 1
        self.tell("trying precisions", self.done, None)
        return Trial(float(difference.noise.sum()), 100.0 * changed / len(pairs))


def _answers(graph: Graph, samples: Sequence[Sample]) -> list[Floats]:
    interpreter = Interpreter(graph)
    found = []
    for sample in samples:
        interpreter.reset()
        found.append(interpreter.run(sample)[0].astype(np.float64))
    return found


def search(studied: Studied, options: Options, start: Precision, build: Build, tell: Tell) -> Precision:
    """The precision that keeps the budget with as little damage as this finds.

    Raises BudgetError with what the best model needs where none keeps it.
    """
    state = _Search(studied, options, build, tell)
    budget = options.budget
    precision = start
    if budget.ram_bytes is not None:
        needed = live_bytes(studied.prepared.graph, state.built(start))
        if needed > budget.ram_bytes:
            raise BudgetError(
                f"the activations need {needed:,} bytes in {options.activations.value}, "
                f"--budget-ram allows {budget.ram_bytes:,}",
                where=studied.prepared.graph.name,
                fix=f"The smallest budget that works is {needed}",
            )
    if budget.flash_bytes is not None:
        precision = _narrowed(state, precision, budget.flash_bytes)
    elif budget.max_drop is not None:
        precision = _narrowed(state, precision, None)
    if budget.max_drop is not None:
        precision = _widened(state, precision, budget.max_drop)
    return precision


def weight_bytes(built: Built) -> int:
    """Flash that the layers' weights take."""
    return sum(layer.bytes for layer in built.integers.values())


def _narrowed(state: _Search, start: Precision, allowed: int | None) -> Precision:
    """4-bit weights, the least sensitive layer per byte first, until ``allowed`` bytes suffice; where that is
    None, for as many layers as ``max_drop`` lets."""
    precision, built = start, state.built(start)
    if allowed is not None and weight_bytes(built) <= allowed:
        return precision
    base = state.tried(built, MAX_TRIED).noise
    ranked: list[tuple[float, int]] = []
    for index in sorted(narrowable(state.studied.layers) - start.narrow):
        alone = state.built(replace(start, narrow=start.narrow | {index}))
        saved = weight_bytes(built) - weight_bytes(alone)
        if saved > 0:
            ranked.append(((state.tried(alone, MAX_TRIED).noise - base) / saved, index))
    for _, index in sorted(ranked):
        wider = replace(precision, narrow=precision.narrow | {index})
        built = state.built(wider)
        if allowed is None:
            limit = state.options.budget.max_drop
            if limit is not None and state.tried(built).drop > limit:
                return precision
        precision = wider
        if allowed is not None and weight_bytes(built) <= allowed:
            return precision
    if allowed is not None:
        needed = weight_bytes(built)
        raise BudgetError(
            f"the weights need {needed:,} bytes with 4 bits everywhere, --budget-flash allows {allowed:,}",
            where=state.studied.prepared.graph.name,
            fix=f"The smallest budget that works is {needed}",
        )
    return precision


def _widened(state: _Search, start: Precision, allowed: float) -> Precision:
    """int16 for the tensors whose steps do most damage, until no more than ``allowed`` percent change."""
    precision, built = start, state.built(start)
    now = state.tried(built)
    if now.drop <= allowed:
        return precision
    graph = state.studied.prepared.graph
    groups = [frozenset(group) for group in tied_groups(graph)]
    inner = [group for group in groups if not group & {*graph.inputs, *graph.outputs}]
    ram = state.options.budget.ram_bytes
    base = state.tried(built, MAX_TRIED).noise
    ranked: list[tuple[float, int]] = []
    for number, group in enumerate(inner):
        alone = state.built(replace(precision, wide=precision.wide | group))
        ranked.append((state.tried(alone, MAX_TRIED).noise - base, number))
    for _, number in sorted(ranked):
        wider = replace(precision, wide=precision.wide | inner[number])
        built = state.built(wider)
        if ram is not None and live_bytes(graph, built) > ram:
            continue
        precision, now = wider, state.tried(built)
        if now.drop <= allowed:
            return precision
    raise BudgetError(
        f"{now.drop:.2f} % of the answers change at best, --max-drop allows {allowed:g}",
        where=graph.name,
        fix="Allow more flash, RAM or change, or calibrate on other samples",
    )


def live_bytes(graph: Graph, built: Built) -> int:
    """The most bytes of whole activations that live at once, each node's data and results counted."""
    last: dict[int, int] = {}
    for index, node in enumerate(graph.nodes):
        last.update({value: index for value in node.inputs if value is not None})
    last.update(dict.fromkeys(graph.outputs, len(graph.nodes)))
    sizes = {
        value: graph.type(value).elements * _bits(built, value) // 8
        for value in range(len(graph.values))
        if not graph.values[value].is_constant
    }
    live = set(graph.inputs)
    peak = 0
    for index, node in enumerate(graph.nodes):
        if node.op == "Reshape" and node.inputs[0] is not None:
            # A view: the same bytes under another name.
            sizes[node.outputs[0]] = sizes[node.inputs[0]]
            live = (live - {node.inputs[0]}) | set(node.outputs)
        live |= set(node.outputs)
        peak = max(peak, sum(sizes[value] for value in live))
        live = {value for value in live if last.get(value, -1) > index}
    return peak


def _bits(built: Built, value: int) -> int:
    steps = built.steps.get(value)
    return (steps.dtype if steps is not None else DType.FLOAT32).bits
