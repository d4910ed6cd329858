"""What the rules of ONNX's elementwise operators and reductions make of a model, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from tests.onnx_models import OnnxBuilder
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Graph


def graph_of(
    op: str, *constants: Any, opset: int = 17, kind: int = TensorProto.FLOAT, **attributes: Any
) -> Graph:
    """One node of ``op`` with a [2, 3] input and constants; None is an absent input."""
    builder = OnnxBuilder(opsets={"": opset})
    names = [builder.input("x", (2, 3), kind)]
    names += ["" if array is None else builder.constant(np.asarray(array)) for array in constants]
    builder.output(builder.node(op, *names, **attributes), kind=kind)
    return load_bytes(builder.model().SerializeToString(), "model")


def nodes_of(graph: Graph) -> list[str]:
    """Operators with what tells one function from another."""
    return [
        f"{node.op} {node.attrs.function.value}" if hasattr(node.attrs, "function") else node.op
        for node in graph.nodes
    ]


@pytest.mark.parametrize(
    ("exponent", "node"),
    [(2.0, "Unary square"), (0.5, "Unary sqrt"), (-1.0, "Unary reciprocal"), (3.0, "Binary pow")],
)
def test_powers_with_a_function_of_their_own(exponent: float, node: str) -> None:
    assert nodes_of(graph_of("Pow", np.float32(exponent))) == [node]


def test_any_number_of_operands_becomes_a_chain() -> None:
    line = np.ones((1, 3), np.float32)
    assert nodes_of(graph_of("Max", line, line)) == ["Maximum", "Maximum"]
    assert nodes_of(graph_of("Mean", line, line)) == ["Add", "Add", "Binary div"]
    assert nodes_of(graph_of("Sum")) == []


def test_bounds_that_do_not_bound_are_left_out() -> None:
    largest = float(np.finfo(np.float32).max)
    (node,) = graph_of("Clip", np.float32(-np.inf), np.float32(6)).nodes
    assert node.attrs == type(node.attrs)(None, 6.0)  # type: ignore[call-arg]
    assert nodes_of(graph_of("Clip", None, np.float32(np.inf))) == []
    assert nodes_of(graph_of("Clip", opset=7, min=-largest, max=largest)) == []


def test_bounds_that_the_model_computes() -> None:
    builder = OnnxBuilder()
    x, low = builder.input("x", (2, 3)), builder.input("low", ())
    builder.output(builder.node("Clip", x, low, builder.constant(np.array(1, np.float32))))
    graph = load_bytes(builder.model().SerializeToString(), "model")
    assert nodes_of(graph) == ["Maximum", "Clip"]


def test_reductions_without_axes() -> None:
    (everything,) = graph_of("ReduceSum").nodes
    assert everything.attrs.axes == (0, 1)  # type: ignore[attr-defined]
    (nothing,) = graph_of("ReduceL1", opset=18, noop_with_empty_axes=1).nodes
    assert nothing.attrs.axes == ()  # type: ignore[attr-defined]


def test_norms_of_integers_are_computed_in_float() -> None:
    graph = graph_of("ReduceL2", kind=TensorProto.INT32)
    assert nodes_of(graph) == ["Cast", "Reduce l2", "Cast"]


INFINITE = {"alpha": float("inf")}
REFUSED: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str, str], ...] = (
    ("Cast", (), {"to": TensorProto.DOUBLE}, "it casts to double, which is not supported", "use float32"),
    ("TopK", (np.array([9]),), {}, "it takes 9 elements along an axis of 3", "choose a number from 1"),
    ("Elu", (), INFINITE, "needed: its parameters are finite numbers; got alpha inf", "repair the model"),
)


@pytest.mark.parametrize(("op", "constants", "attributes", "reason", "remedy"), REFUSED)
def test_what_is_not_supported(
    op: str, constants: tuple[Any, ...], attributes: dict[str, Any], reason: str, remedy: str
) -> None:
    builder = OnnxBuilder()
    names = [builder.input("x", (2, 3)), *map(builder.constant, constants)]
    made = builder.node(op, *names, outputs=2 if op == "TopK" else 1, **attributes)
    builder.output(
        made[0] if op == "TopK" else made,
        (2, 9 if op == "TopK" else 3),
        attributes.get("to", TensorProto.FLOAT),
    )
    with pytest.raises(UnsupportedError) as caught:
        load_bytes(builder.model().SerializeToString(), "model")
    (gap,) = caught.value.gaps
    assert reason in gap.reason
    assert remedy in gap.remedy


FAULTS = (
    ("BitShift", (np.uint8(1),), {"direction": "UP"}, "direction is 'UP'; allowed are LEFT and RIGHT"),
    ("ArgMax", (), {"axis": 2}, "axis 2 of 2 dimensions"),
    ("Gelu", (), {"approximate": "erf"}, "approximate is 'erf'; allowed are none and tanh"),
)


@pytest.mark.parametrize(("op", "constants", "attributes", "message"), FAULTS)
def test_what_contradicts_itself(
    op: str, constants: tuple[Any, ...], attributes: dict[str, Any], message: str
) -> None:
    builder = OnnxBuilder(opsets={"": 20})
    kind = TensorProto.UINT8 if op == "BitShift" else TensorProto.FLOAT
    names = [builder.input("x", (2, 3), kind), *map(builder.constant, constants)]
    made = builder.node(op, *names, **attributes)
    builder.output(made, (2, 3), TensorProto.INT64 if op == "ArgMax" else kind)
    with pytest.raises(ModelError, match=message):
        load_bytes(builder.model().SerializeToString(), "model")
