"""Which tensors get steps, which of them share a scale, and which scale that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinydeploy.ir import DType, Graph, Quant
from tinydeploy.passes.unroll_recurrent import tied_values
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.ranges import Method, Range, choose_range
from tinydeploy.quantize.rules import Kind, Rule, fixed_quant, fixed_range, rule_of
from tinydeploy.quantize.scales import activation_quant


@dataclass(frozen=True, slots=True)
class Steps:
    """How a tensor is held: element type and scale."""

    dtype: DType
    quant: Quant


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user decides about activations.

    ``wide`` are the values that get int16 whatever ``dtype`` is; ``given`` are scales known beforehand.
    """

    method: Method = Method.ROBUST
    dtype: DType = DType.INT8
    wide: frozenset[int] = frozenset()
    given: Mapping[int, Steps] = field(default_factory=dict)


def rules_of(graph: Graph) -> tuple[Rule, ...]:
    """The rule of every node."""
    return tuple(rule_of(graph, node) for node in graph.nodes)


def quantized_values(graph: Graph) -> tuple[int, ...]:
    """The activations that get a scale: data and results of every node with an integer form, ascending."""
    found: set[int] = set()
    for node, rule in zip(graph.nodes, rules_of(graph), strict=True):
        if rule.kind is not Kind.REAL:
            found.update(node.outputs)
            found.update(value for index in rule.data if (value := node.inputs[index]) is not None)
    return tuple(sorted(value for value in found if not graph.values[value].is_constant))


def tied_groups(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Values that share one scale, constants included; single values are groups too.

    Values that one role of a recurrent network has at different times share it as well.
    """
    parent: dict[int, int] = {value: value for value in quantized_values(graph)}

    def root(value: int) -> int:
        parent.setdefault(value, value)
        while parent[value] != value:
            value = parent[value]
        return value

    for node, rule in zip(graph.nodes, rules_of(graph), strict=True):
        if rule.kind is Kind.TIED:
            for index in rule.data:
                value = node.inputs[index]
                if value is not None:
                    first, second = root(node.outputs[0]), root(value)
                    parent[max(first, second)] = min(first, second)
            for extra in node.outputs[1:]:
                parent[root(extra)] = root(node.outputs[0])
    for roles in tied_values(graph):
        known = [value for value in roles if value in parent]
        for value in known[1:]:
            first, second = root(known[0]), root(value)
            parent[max(first, second)] = min(first, second)
    groups: dict[int, list[int]] = {}
    for value in sorted(parent):
        groups.setdefault(root(value), []).append(value)
    return tuple(tuple(group) for group in groups.values())


def choose_steps(graph: Graph, observers: Mapping[int, Observer], choice: Choice) -> dict[int, Steps]:
    """Type and scale of every quantized activation, and of the constants that are tied to one."""
    producers = graph.producers()
    rules = rules_of(graph)
    found: dict[int, Steps] = {}
    for group in tied_groups(graph):
        sources = [
            value
            for value in group
            if value not in producers or rules[producers[value]].kind is not Kind.TIED
        ]
        dtype = DType.INT16 if choice.wide & set(group) else choice.dtype
        steps = _group_steps(graph, sources or list(group), observers, choice, dtype)
        found.update(dict.fromkeys(group, steps))
    return found


def _group_steps(
    graph: Graph, sources: list[int], observers: Mapping[int, Observer], choice: Choice, dtype: DType
) -> Steps:
    given = [choice.given[value] for value in sources if value in choice.given]
    if given:
        return given[0]
    producers, rules = graph.producers(), rules_of(graph)
    ops = [
        graph.nodes[producers[value]].op
        if value in producers and rules[producers[value]].kind is Kind.FIXED
        else ""
        for value in sources
    ]
    if ops[0] and len(set(ops)) == 1:
        return Steps(dtype, fixed_quant(ops[0], dtype))
    ranges = [
        fixed_range(op) if op else _observed(graph, value, observers, choice.method, dtype)
        for value, op in zip(sources, ops, strict=True)
    ]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    return Steps(dtype, activation_quant(low, high, dtype))


def _observed(
    graph: Graph, value: int, observers: Mapping[int, Observer], method: Method, dtype: DType
) -> Range:
    if graph.values[value].is_constant:
        array = graph.array(value)
        return float(array.min()), float(array.max())
    return choose_range(method, observers[value], dtype)
