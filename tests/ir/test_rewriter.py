"""The rewriter: each edit, what ``freeze`` leaves out, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.graphs import chain, pair_type
from tinydeploy.errors import GraphError
from tinydeploy.ir import DType, Node, Rewriter, TensorType, to_text, verify
from tinydeploy.ops.add import Add
from tinydeploy.ops.quantized import Activation


def body(graph: object) -> list[str]:
    """Nodes and outputs of a graph as text, types left out."""
    lines = to_text(graph).splitlines()[1:-1]  # type: ignore[arg-type]
    return [line.strip() for line in lines if " = " in line or "output" in line]


def test_no_edit_gives_an_equal_graph() -> None:
    graph = chain()
    again = Rewriter(graph).freeze()
    assert again == graph
    assert hash(again) == hash(graph)


def test_a_node_before_another_and_readers_that_follow() -> None:
    graph = chain()
    edit = Rewriter(graph)
    (doubled,) = edit.node("double", Add(), (2, 2), (("doubled", pair_type()),), before=1)
    soft = graph.nodes[1]
    edit.replace_node(1, Node(soft.name, soft.attrs, (doubled,), soft.outputs))
    result = edit.freeze()
    verify(result)
    assert [node.name for node in result.nodes] == ["sum", "double", "soft"]
    assert [node.inputs for node in result.nodes] == [(0, 1), (2, 2), (3,)]


def test_replaced_values_reach_every_reader_and_the_outputs() -> None:
    edit = Rewriter(chain())
    edit.remove_node(0)
    edit.replace_value(2, 0)
    result = edit.freeze()
    verify(result)
    assert [node.name for node in result.nodes] == ["soft"]
    assert result.nodes[0].inputs == (0,)
    # The constant lost its reader and is gone.
    assert list(result.constants()) == []
    edit = Rewriter(chain())
    edit.replace_value(3, 2)
    edit.remove_node(1)
    assert edit.freeze().outputs == (2,)


def test_chains_of_replacements_are_followed() -> None:
    edit = Rewriter(chain())
    edit.replace_value(3, 2)
    edit.replace_value(2, 0)
    assert edit.freeze().outputs == (0,)


def test_constants_of_one_content_share_a_blob() -> None:
    edit = Rewriter.empty("twins")
    array = np.array([[1, 2]], np.int8)
    first, second = (edit.constant(name, pair_type(), array.copy()) for name in "ab")
    edit.output(first)
    edit.output(second)
    graph = edit.freeze()
    assert len(graph.blobs) == 1
    assert graph.array(0).tolist() == graph.array(1).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        graph.array(0)[0, 0] = 3


def test_states() -> None:
    edit = Rewriter.empty("counter")
    step = edit.input("step", pair_type())
    before = edit.free_value("count", pair_type())
    (after,) = edit.node("sum", Add(Activation.NONE), (before, step), (("next", pair_type()),))
    edit.state(before, after, np.array([[5, 6]], np.int8))
    edit.output(after)
    graph = edit.freeze()
    verify(graph)
    (state,) = graph.states
    assert (state.before, state.after) == (1, 2)
    assert graph.blobs[state.initial] == b"\x05\x06"


def test_what_a_rewriter_refuses() -> None:
    edit = Rewriter(chain())
    edit.remove_node(0)
    with pytest.raises(GraphError, match="graph 'chain': %2 lost its producer"):
        edit.freeze()
    with pytest.raises(GraphError, match="a rewriter freezes only once"):
        edit.freeze()
    edit = Rewriter(chain())
    edit.replace_value(2, 3)
    edit.replace_value(3, 2)
    with pytest.raises(GraphError, match="is replaced by itself"):
        edit.freeze()
    expected = r"constant 'c' is int16\[2\], its type says int8\[1, 2\]"
    with pytest.raises(GraphError, match=expected):
        Rewriter.empty("g").constant("c", pair_type(), np.zeros(2, np.int16))


def test_producers_and_consumers() -> None:
    graph = chain()
    assert graph.producers() == {2: 0, 3: 1}
    assert graph.consumers() == {0: (0,), 1: (0,), 2: (1,)}
    with pytest.raises(KeyError, match="%0 is not a constant"):
        graph.array(0)


def test_types_know_their_size() -> None:
    assert TensorType(DType.INT4, (3, 3)).bytes == 5
    assert TensorType(DType.INT64, ()).bytes == 8
    assert DType.UINT8.limits == (0, 255)
    assert DType.INT4.limits == (-8, 7)
    assert not DType.FLOAT32.is_integer
