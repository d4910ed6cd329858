"""The verifier refuses every broken invariant in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from tests.ir.graphs import chain, graphs
from tinydeploy.errors import GraphError
from tinydeploy.ir import BlobStore, DType, Graph, Node, Quant, State, TensorType, verify

Change = Callable[[Graph], Graph]


def typed(index: int, type_: TensorType) -> Change:
    def change(graph: Graph) -> Graph:
        values = list(graph.values)
        values[index] = dataclasses.replace(values[index], type=type_)
        return dataclasses.replace(graph, values=tuple(values))

    return change


def with_node(index: int, **fields: object) -> Change:
    def change(graph: Graph) -> Graph:
        nodes = list(graph.nodes)
        nodes[index] = dataclasses.replace(nodes[index], **fields)  # type: ignore[arg-type]
        return dataclasses.replace(graph, nodes=tuple(nodes))

    return change


def int8(shape: tuple[int, ...], quant: Quant | None = None) -> TensorType:
    return TensorType(DType.INT8, shape, quant)


def with_state(graph: Graph, before: int, after: int) -> Graph:
    digest = graph.values[1].digest
    assert digest is not None
    return dataclasses.replace(graph, inputs=(), states=(State(before, after, digest),))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda g: dataclasses.replace(g, outputs=(9,)),
            "graph 'chain': %9 does not exist; there are 4 values",
        ),
        (with_node(0, inputs=(0, -1)), "graph 'chain': %-1 does not exist; there are 4 values"),
        (lambda g: dataclasses.replace(g, inputs=(0, 0)), "graph 'chain': %0 is defined again as an input"),
        (lambda g: dataclasses.replace(g, inputs=(0, 1)), "graph 'chain': %1 is defined again as a constant"),
        (with_node(1, outputs=(2,)), "graph 'chain': %2 is defined again by node 'soft'"),
        (
            lambda g: dataclasses.replace(g, nodes=g.nodes[::-1]),
            "node 'soft': %2 is used before it is defined",
        ),
        (lambda g: dataclasses.replace(g, nodes=g.nodes[:1]), "graph 'chain': %3 is never defined"),
        (lambda g: dataclasses.replace(g, blobs=BlobStore()), "is not in the blob store"),
        (typed(1, int8((1, 3))), "has 2 bytes, its type needs 3"),
        (typed(2, int8((1, 0))), "%2 'total': shape (1, 0) has an extent below 1"),
        (typed(2, TensorType(DType.FLOAT32, (1, 2), Quant((1.0,), (0,)))), "float32 cannot be quantized"),
        (typed(2, int8((1, 2), Quant((1.0, 2.0), (0,), 1))), "%2 'total': 2 scales but 1 zero points"),
        (typed(2, int8((1, 2), Quant((1.0, 2.0), (0, 0)))), "2 scales, the shape needs 1"),
        (typed(2, int8((1, 2), Quant((1.0,), (0,), 2))), "quantized axis 2 of a shape (1, 2)"),
        (typed(2, int8((1, 2), Quant((0.0,), (0,)))), "scale 0.0 is not a positive number"),
        (typed(2, int8((1, 2), Quant((float("nan"),), (0,)))), "scale nan is not a positive number"),
        (typed(2, int8((1, 2), Quant((1.0,), (128,)))), "zero point 128 is outside -128 to 127"),
        (lambda g: with_state(g, 0, 3), "state %0 and its next value %3 differ in type"),
        (
            lambda g: dataclasses.replace(chain(), subgraphs=(dataclasses.replace(g, outputs=(9,)),)),
            "%9 does not exist",
        ),
    ],
)
def test_broken_invariants(change: Change, words: str) -> None:
    with pytest.raises(GraphError) as caught:
        verify(change(chain()))
    assert words in str(caught.value)


def test_a_state_of_the_same_type_passes() -> None:
    verify(with_state(chain(), 0, 2))


@settings(max_examples=50, derandomize=True, deadline=None)
@given(graphs())
def test_graphs_of_a_rewriter_pass(graph: Graph) -> None:
    if states_keep_their_type(graph):
        verify(graph)


def states_keep_their_type(graph: Graph) -> bool:
    return all(graph.type(state.before) == graph.type(state.after) for state in graph.states) and all(
        map(states_keep_their_type, graph.subgraphs)
    )


def test_nodes_know_their_operator() -> None:
    node = chain().nodes[0]
    assert node.op == "Add"
    assert isinstance(node, Node)
