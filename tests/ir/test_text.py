"""The text form: what it looks like, that it parses back, and what is said of text that is no graph."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ir.graphs import HOSTILE, chain, graphs, pair_type
from tinydeploy.errors import GraphError
from tinydeploy.ir import BlobStore, DType, Quant, Rewriter, TensorType, from_text, to_text, type_text, verify
from tinydeploy.ops import ATTRS
from tinydeploy.ops.add import Add

CHAIN = """\
graph "chain" {
  input %0 "data": int8[1, 2] @ 0.5:0
  const %1 "constant": int8[1, 2] @ 0.5:0 = sha256:DIGEST
  %2 "total": int8[1, 2] @ 0.5:0 = Add(activation=Activation.NONE, rounding=Rounding.TFLITE) "sum" (%0, %1)
  %3 "p": int8[1, 2] @ 0.00390625:-128 = Softmax(beta=1.0, rounding=Rounding.TFLITE, wide=False) "soft" (%2)
  output %3
}
"""


def test_text_of_a_graph() -> None:
    graph = chain()
    digest = graph.values[1].digest
    assert digest is not None
    assert to_text(graph) == CHAIN.replace("DIGEST", digest)


def test_text_of_types() -> None:
    assert type_text(TensorType(DType.FLOAT32, ())) == "float32[]"
    per_axis = TensorType(DType.INT8, (2, 3), Quant((0.5, 0.1), (0, -1), 0))
    assert type_text(per_axis) == "int8[2, 3] @ axis 0 (0.5:0, 0.1:-1)"


@settings(max_examples=150, derandomize=True, deadline=None)
@given(graphs())
def test_every_graph_parses_back(graph: object) -> None:
    text = to_text(graph)  # type: ignore[arg-type]
    assert text.isascii()
    assert from_text(text, ATTRS) == graph


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_parse_back(name: str) -> None:
    edit = Rewriter.empty(name)
    value = edit.input(name, pair_type())
    results = edit.node(name, Add(), (value, None), ((name, pair_type()), (name, pair_type())))
    edit.output(results[1])
    graph = edit.freeze()
    assert from_text(to_text(graph), ATTRS) == graph
    assert len(to_text(graph).splitlines()) == 5


def test_blobs_come_along() -> None:
    graph = chain()
    again = from_text(to_text(graph), ATTRS, graph.blobs)
    verify(again)
    assert again.array(1).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('graph "chain" {', "grph {", "line 1: expected a graph, got 'grph {'"),
        ("  output %3", "  utput %3", "line 6: cannot read 'utput %3'"),
        ("output %3", "output 3", "line 6: cannot read the output '3'"),
        ("output %3", "output %three", "line 6: cannot read the output '%three'"),
        ('%0 "data"', '%7 "data"', "line 7: value ids are not 0, 1, 2, ..."),
        ('%0 "data"', '%2 "data"', "line 4: %2 is defined twice"),
        ('%0 "data": int8', '0 "data": int8', "line 2: expected a value, got"),
        ("int8[1, 2] @ 0.5:0\n", "int9[1, 2] @ 0.5:0\n", "line 2: cannot read the type 'int9[1, 2] @ 0.5:0'"),
        ("int8[1, 2] @ 0.5:0\n", "int8[1, 2] @ x.y:0\n", "line 2: cannot read the type"),
        ('"data": int8[1, 2]', '"data": int8[1  2]', "line 2: cannot read the type"),
        ('"data"', '"da\\ta\\x"', "line 2: cannot read the name"),
        ("output %3", "output %" + "3" * 5000, "line 6: cannot read the value id '333"),
        ("Add(", "Nope(", "line 4: unknown operator 'Nope'"),
        (
            "Add(activation=Activation.NONE, rounding=Rounding.TFLITE)",
            "Add(activation=)",
            "line 4: cannot read the attributes",
        ),
        (
            "Add(activation=Activation.NONE, rounding=Rounding.TFLITE)",
            "Add(x)(y=1)",
            "line 4: cannot read the attributes",
        ),
        ("Add(activation=Activation.NONE, rounding=Rounding.TFLITE)", "Add(size=3)", "line 4: Add: "),
        ("Activation.NONE", "Activation.SOME", "line 4: cannot read the attribute 'Activation.SOME'"),
        ("Activation.NONE", "__import__('os')", "line 4: cannot read the attribute \"__import__('os')\""),
        ("(%0, %1)", "(%0, 1)", "line 4: cannot read the input '1'"),
        ("  output %3\n}\n", "  output %3\n", "line 6: the text ends inside a graph"),
        ("  output %3\n}\n", "  output %3\n}\nmore", "line 8: text after the graph"),
    ],
)
def test_text_that_is_no_graph(old: str, new: str, words: str) -> None:
    text = to_text(chain())
    assert old in text
    with pytest.raises(GraphError) as caught:
        from_text(text.replace(old, new, 1), ATTRS)
    assert words in str(caught.value)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.integers(0, 1 << 30))
def test_broken_text_is_refused_in_words(seed: int) -> None:
    rng = random.Random(seed)
    text = list(to_text(chain()))
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(text))
        text[place : place + rng.randrange(3)] = rng.choice('%"()[]{}=,:@ 019axé\n\\.-')
    with contextlib.suppress(GraphError):
        from_text("".join(text), ATTRS, BlobStore())
