"""Small ONNX models that tests generate: float networks of the kinds people deploy, seeded weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Float32 = npt.NDArray[np.float32]

OPSET = 17
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass
class OnnxBuilder:
    """Nodes, weights and ports of one graph, in the order of calls. Every name is unique."""

    seed: int = 0
    opsets: dict[str, int] = field(default_factory=lambda: {"": OPSET})
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)

    def input(self, name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, shape: Sequence[int] | None = None, kind: int = TensorProto.FLOAT) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, kind, None if shape is None else list(shape)))
        return name

    def constant(self, array: npt.NDArray[Any], name: str = "") -> str:
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape: int, spread: float | None = None, name: str = "") -> str:
        """Normal numbers; by default their spread keeps the size of what they multiply."""
        deviation = spread if spread is not None else 1 / np.sqrt(shape[-2] if len(shape) > 1 else 4)
        return self.constant((self._generator.standard_normal(shape) * deviation).astype(np.float32), name)

    def node(self, op: str, *inputs: str, outputs: int = 1, name: str = "", **attributes: Any) -> Any:
        """A node; the result is the name of its output, or all of them."""
        name = name or f"{op.lower()}{len(self.nodes)}"
        made = [f"{name}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def model(self, name: str = "model") -> onnx.ModelProto:
        """The checked model."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        model = onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opsets, ir_version=8)
        )
        onnx.checker.check_model(model)
        return model


@dataclass(frozen=True)
class Recurrent:
    """A recurrent node of a test; absent parts are left out of the model."""

    kind: str
    steps: int = 5
    batch: int = 1
    inputs: int = 3
    hidden: int = 4
    direction: str = "forward"
    bias: bool = True
    lengths: tuple[int, ...] = ()
    initial: bool = False
    peepholes: bool = False
    layout: int = 0
    attributes: tuple[tuple[str, Any], ...] = ()


def add_recurrent(builder: OnnxBuilder, case: Recurrent, data: str = "") -> list[str]:
    """An LSTM, GRU or RNN on ``data``, or on an input of its own; the result is the names of its outputs."""
    gates, directions = GATES[case.kind], 2 if case.direction == "bidirectional" else 1
    rows, number = gates * case.hidden, len(builder.nodes)
    first = (case.batch, case.steps) if case.layout else (case.steps, case.batch)
    state = (case.batch, directions) if case.layout else (directions, case.batch)
    operands = [
        data or builder.input(f"x{number}", (*first, case.inputs)),
        builder.weights(directions, rows, case.inputs, spread=0.5),
        builder.weights(directions, rows, case.hidden, spread=0.5),
        builder.weights(directions, 2 * rows, spread=0.5) if case.bias else "",
        builder.constant(np.array(case.lengths, np.int32)) if case.lengths else "",
        builder.input(f"hidden{number}", (*state, case.hidden)) if case.initial else "",
    ]
    if case.kind == "LSTM":
        operands.append(builder.input(f"cell{number}", (*state, case.hidden)) if case.initial else "")
        operands.append(builder.weights(directions, 3 * case.hidden, spread=0.5) if case.peepholes else "")
    while not operands[-1]:
        operands.pop()
    attributes = dict(case.attributes)
    if case.layout:
        attributes["layout"] = case.layout
    made: list[str] = builder.node(
        case.kind,
        *operands,
        outputs=3 if case.kind == "LSTM" else 2,
        hidden_size=case.hidden,
        direction=case.direction,
        **attributes,
    )
    return made


def add_recurrent_network(
    builder: OnnxBuilder, kind: str, steps: int = 16, inputs: int = 8, hidden: int = 16
) -> None:
    """A sequence through one recurrent layer, its last state through a dense layer and a softmax."""
    attributes = (("linear_before_reset", 1),) if kind == "GRU" else ()
    case = Recurrent(kind, steps, 1, inputs, hidden, attributes=attributes)
    last = add_recurrent(builder, case)[1]
    flat = builder.node("Reshape", last, builder.constant(np.array([1, hidden], np.int64)))
    dense = builder.node("Gemm", flat, builder.weights(hidden, 4), builder.weights(4))
    builder.output(builder.node("Softmax", dense, axis=-1))


def recurrent_network(kind: str) -> onnx.ModelProto:
    """One recurrent network alone."""
    builder = OnnxBuilder(seed=3)
    add_recurrent_network(builder, kind)
    return builder.model(kind.lower())


def add_transformer(
    builder: OnnxBuilder,
    blocks: int = 2,
    length: int = 16,
    width: int = 64,
    heads: int = 4,
    hidden: int = 128,
) -> None:
    """Encoder blocks as PyTorch exports them: attention and two dense layers, each with its residual path
    and normalisation; then the mean over the sequence and four classes."""
    value = builder.input("tokens", (1, length, width))
    for _ in range(blocks):
        seen = _attention(builder, value, length, width, heads)
        value = _normalised(builder, builder.node("Add", value, seen), width)
        inner = _gelu(builder, _dense(builder, value, width, hidden))
        value = _normalised(builder, builder.node("Add", value, _dense(builder, inner, hidden, width)), width)
    pooled = builder.node("ReduceMean", value, axes=[1], keepdims=0)
    builder.output(builder.node("Gemm", pooled, builder.weights(width, 4), builder.weights(4)))


def transformer() -> onnx.ModelProto:
    """Two encoder blocks of width 64."""
    builder = OnnxBuilder(seed=5)
    add_transformer(builder)
    return builder.model("transformer")


def sequence_networks() -> onnx.ModelProto:
    """A transformer, a GRU and an LSTM side by side: one build for all of them."""
    builder = OnnxBuilder(seed=7)
    add_transformer(builder, length=4)
    for kind in ("GRU", "LSTM"):
        add_recurrent_network(builder, kind, steps=3)
    return builder.model("sequences")


def _dense(builder: OnnxBuilder, value: str, inputs: int, outputs: int) -> str:
    product = builder.node("MatMul", value, builder.weights(inputs, outputs))
    return str(builder.node("Add", product, builder.weights(outputs, spread=0.1)))


def _normalised(builder: OnnxBuilder, value: str, width: int) -> str:
    scale = builder.constant(np.linspace(0.8, 1.2, width, dtype=np.float32))
    return str(builder.node("LayerNormalization", value, scale, builder.weights(width, spread=0.1), axis=-1))


def _gelu(builder: OnnxBuilder, value: str) -> str:
    """x * (1 + erf(x / sqrt 2)) / 2, as exporters write it."""
    one, half = (builder.constant(np.array(number, np.float32)) for number in (1, 0.5))
    root = builder.constant(np.array(np.sqrt(2), np.float32))
    inner = builder.node("Add", builder.node("Erf", builder.node("Div", value, root)), one)
    return str(builder.node("Mul", builder.node("Mul", value, inner), half))


def _attention(builder: OnnxBuilder, value: str, length: int, width: int, heads: int) -> str:
    each = width // heads
    split = builder.constant(np.array([1, length, heads, each], np.int64))
    orders = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
    parts = {
        name: builder.node(
            "Transpose", builder.node("Reshape", _dense(builder, value, width, width), split), perm=order
        )
        for name, order in orders.items()
    }
    scale = builder.constant(np.array(1 / np.sqrt(each), np.float32))
    scores = builder.node("Mul", builder.node("MatMul", parts["query"], parts["key"]), scale)
    seen = builder.node("MatMul", builder.node("Softmax", scores, axis=-1), parts["value"])
    joined = builder.node("Transpose", seen, perm=[0, 2, 1, 3])
    flat = builder.node("Reshape", joined, builder.constant(np.array([1, length, width], np.int64)))
    return _dense(builder, flat, width, width)
