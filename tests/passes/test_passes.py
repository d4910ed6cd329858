"""Passes: text in, text out, and a graph with nothing to do stays the same object."""

from __future__ import annotations

import numpy as np
import pytest

from tinydeploy.errors import GraphError
from tinydeploy.ir import DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.ops.add import Add
from tinydeploy.ops.reshape import Reshape
from tinydeploy.passes import PASSES, Pass, fold_constants, remove_unused, run_passes

VECTOR = TensorType(DType.INT8, (4,), Quant((0.5,), (0,)))


def graph(*, constant: bool = False, unused: bool = False) -> Graph:
    """``(a reshaped) + b``, b from a reshaped constant, beside a sum that nobody reads."""
    rewriter = Rewriter.empty("passes")
    square = TensorType(DType.INT8, (2, 2), VECTOR.quant)
    a = rewriter.input("a", square)
    b = rewriter.input("b", VECTOR)
    if constant:
        table = rewriter.constant("table", square, np.arange(4, dtype=np.int8).reshape(2, 2))
        (b,) = rewriter.node("flat table", Reshape((4,)), (table,), (("flat table", VECTOR),))
    (flat,) = rewriter.node("flat", Reshape((4,)), (a,), (("flat", VECTOR),))
    if unused:
        (idle,) = rewriter.node("idle", Add(), (flat, flat), (("idle", VECTOR),))
        rewriter.node("idle too", Add(), (idle, idle), (("idle too", VECTOR),))
    (total,) = rewriter.node("total", Add(), (flat, b), (("total", VECTOR),))
    rewriter.output(total)
    return rewriter.freeze()


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_constants_are_folded() -> None:
    folded = fold_constants(graph(constant=True))
    assert names(folded) == ["flat", "total"]
    (value,) = folded.constants()
    assert folded.values[value].name == "flat table"
    assert folded.array(value).tolist() == [0, 1, 2, 3]


def test_unused_chains_are_removed() -> None:
    assert names(remove_unused(graph(unused=True))) == ["flat", "total"]


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.name)
def test_nothing_to_do(step: Pass) -> None:
    before = graph()
    assert step.run(before) is before


def test_observers_see_every_pass() -> None:
    seen: list[str] = []
    run_passes(graph(), PASSES, lambda name, _graph: seen.append(name))
    assert seen == [step.name for step in PASSES]


def test_a_pass_that_breaks_the_graph_is_named_with_those_before_it() -> None:
    def breaking(before: Graph) -> Graph:
        rewriter = Rewriter(before)
        rewriter.remove_node(len(before.nodes) - 1)
        return rewriter.freeze()

    with pytest.raises(
        GraphError,
        match=r"pass breaking broke the graph, after the passes remove-unused: .*lost its producer",
    ):
        run_passes(graph(), (Pass("remove-unused", remove_unused), Pass("breaking", breaking)))
    with pytest.raises(GraphError, match="pass breaking broke the graph, as the first pass"):
        run_passes(graph(), (Pass("breaking", breaking),))
