"""Layout: images stay channels last from end to end, and every graph means what it meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Golden
from tests.onnx_models import OnnxBuilder
from tinydeploy.frontends import AS_IS, ImportOptions, Layout
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Graph, to_text
from tinydeploy.ops.check import verify
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes.layout import layout
from tinydeploy.passes.layout.arrangement import plain

NHWC = ImportOptions(layout=Layout.NHWC)


def imported(builder: OnnxBuilder, options: ImportOptions = AS_IS) -> Graph:
    return load_bytes(builder.model().SerializeToString(), "net", options=options)


def count(graph: Graph, op: str = "Transpose") -> int:
    return sum(node.op == op for node in graph.nodes)


def same(before: Graph, after: Graph, seed: int = 0) -> None:
    """Both graphs verify and give the same results."""
    verify(after)
    generator = np.random.default_rng(seed)
    inputs = [
        generator.standard_normal(before.type(value).shape).astype(before.type(value).dtype.numpy)
        for value in before.inputs
    ]
    pairs = zip(Interpreter(before).run(inputs), Interpreter(after).run(inputs), strict=True)
    for wanted, got in pairs:
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def conv(b: OnnxBuilder, x: str, inputs: int, outputs: int, size: int = 3, **attributes: Any) -> str:
    name: str = b.node(
        "Conv",
        x,
        b.weights(outputs, inputs, size, size),
        b.weights(outputs),
        pads=[size // 2] * 4,
        **attributes,
    )
    return name


def classifier() -> OnnxBuilder:
    """Everything between channels-first convolutions that a transpose passes; a dense layer at the end."""
    b = OnnxBuilder(1)
    x = b.input("image", (1, 3, 8, 6))
    stem = b.node("Relu", conv(b, x, 3, 4))
    scaled = b.node("Mul", stem, b.weights(4, 1, 1))
    left = b.node("Sigmoid", conv(b, scaled, 4, 4, size=1))
    gate = b.node("ReduceMean", left, axes=[2, 3], keepdims=1)
    gated = b.node("Mul", left, b.node("HardSigmoid", gate))
    right = b.node("MaxPool", scaled, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    both = b.node("Concat", gated, right, axis=1)
    padded = b.node("Pad", both, b.constant(np.array([0, 1, 0, 0, 0, 1, 2, 0])))
    cut = b.node(
        "Slice",
        padded,
        b.constant(np.array([1, 2])),
        b.constant(np.array([9, 10])),
        b.constant(np.array([1, 2])),
    )
    added = b.node("Add", cut, conv(b, cut, 8, 8))
    pooled = b.node("AveragePool", added, kernel_shape=[2, 2], strides=[2, 2])
    flat = b.node("Flatten", b.node("LeakyRelu", pooled))
    b.output(b.node("Softmax", b.node("Gemm", flat, b.weights(5, 96), b.weights(5), transB=1)))
    return b


def test_a_classifier_keeps_one_transpose_at_its_boundary() -> None:
    before = imported(classifier())
    assert count(before) == 10
    after = layout(before)
    assert [node.inputs[0] for node in after.nodes if node.op == "Transpose"] == [after.inputs[0]]
    same(before, after)


def test_with_channels_last_at_the_interface_none_is_left() -> None:
    graph = imported(classifier(), NHWC)
    assert graph.type(graph.inputs[0]).shape == (1, 8, 6, 3)
    after = layout(graph)
    assert count(after) == 0
    same(graph, after)


def residual(quantized: str = "tensor") -> OnnxBuilder:
    """Two convolutions and a sum between QuantizeLinear and DequantizeLinear."""
    b = OnnxBuilder(2)
    generator = np.random.default_rng(2)

    def steps(x: str, scale: float) -> str:
        parameters = (b.constant(np.array(scale, np.float32)), b.constant(np.array(3, np.int8)))
        name: str = b.node("DequantizeLinear", b.node("QuantizeLinear", x, *parameters), *parameters)
        return name

    def weights(*shape: int) -> str:
        data = b.constant(generator.integers(-128, 128, shape).astype(np.int8))
        scales = np.full(() if quantized == "tensor" else shape[0], 0.01, np.float32)
        zeros = np.zeros(scales.shape, np.int8)
        attributes: dict[str, Any] = {} if quantized == "tensor" else {"axis": 0}
        name: str = b.node("DequantizeLinear", data, b.constant(scales), b.constant(zeros), **attributes)
        return name

    x = steps(b.input("image", (1, 2, 5, 5)), 0.05)
    one = steps(b.node("Relu", b.node("Conv", x, weights(4, 2, 3, 3), pads=[1] * 4)), 0.1)
    two = steps(b.node("Conv", one, weights(4, 4, 1, 1)), 0.1)
    total = steps(b.node("Add", one, two), 0.1)
    flat = steps(b.node("Reshape", total, b.constant(np.array([1, -1]))), 0.1)
    b.output(steps(b.node("Gemm", flat, weights(3, 100), transB=1), 0.2))
    return b


@pytest.mark.parametrize("quantized", ["tensor", "axis"])
def test_quantize_and_dequantize_are_transparent(quantized: str) -> None:
    before = imported(residual(quantized), NHWC)
    after = layout(before)
    assert count(after) == 0
    same(before, after)


def test_the_graph_in_text(golden: Golden) -> None:
    b = OnnxBuilder(3)
    x = b.input("image", (1, 2, 4, 4))
    y = b.node("Relu", b.node("Conv", x, b.weights(2, 2, 1, 1)))
    b.output(
        b.node("Add", b.node("Conv", y, b.weights(2, 2, 1, 1)), b.constant(np.ones((2, 1, 1), np.float32)))
    )
    before = imported(b)
    golden(f"{to_text(before)}\n{to_text(layout(before))}")


def test_a_sequence_needs_no_transpose_for_its_extents_of_one() -> None:
    b = OnnxBuilder(4)
    x = b.input("sound", (1, 1, 40))
    y = b.node("Relu", b.node("Conv", x, b.weights(4, 1, 3)))
    z = b.node(
        "Conv",
        b.node(
            "BatchNormalization", y, *(b.weights(4) for _ in range(3)), b.constant(np.ones(4, np.float32))
        ),
        b.weights(6, 4, 3),
    )
    b.output(b.node("GlobalAveragePool", z))
    before = imported(b)
    after = layout(before)
    assert count(after) == 0
    same(before, after)


def test_a_channel_shuffle_is_one_transpose() -> None:
    b = OnnxBuilder(5)
    x = conv(b, b.input("image", (1, 4, 4, 4)), 4, 8)
    split = b.node("Reshape", x, b.constant(np.array([1, 2, 4, 4, 4])))
    turned = b.node("Transpose", split, perm=[0, 2, 1, 3, 4])
    joined = b.node("Reshape", turned, b.constant(np.array([1, 8, 4, 4])))
    b.output(conv(b, joined, 8, 2))
    before = imported(b, NHWC)
    after = layout(before)
    assert count(after) == 1
    same(before, after)


def test_what_needs_its_own_order_gets_it() -> None:
    """A product of matrices of the image's rows: nothing may pass it."""
    b = OnnxBuilder(6)
    x = conv(b, b.input("image", (1, 2, 4, 4)), 2, 2)
    b.output(b.node("MatMul", x, b.node("Transpose", x, perm=[0, 1, 3, 2])))
    before = imported(b)
    after = layout(before)
    assert count(after) == 3
    same(before, after)


def test_nothing_to_do() -> None:
    b = OnnxBuilder(7)
    b.output(b.node("Transpose", b.node("Relu", b.input("x", (2, 3))), perm=[1, 0]))
    graph = imported(b)
    assert layout(graph) is graph
    b = OnnxBuilder(8)
    b.output(b.node("Relu", b.input("x", (2, 3))))
    graph = imported(b)
    assert layout(graph) is graph


Step = Callable[[OnnxBuilder, np.random.Generator, str, tuple[int, ...]], tuple[str, tuple[int, ...]]]


def _shape(values: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def _turn(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    order = g.permutation(len(shape)).tolist()
    return b.node("Transpose", x, perm=order), tuple(shape[axis] for axis in order)


def _regroup(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    factors = [f for extent in shape for f in ((2, extent // 2) if extent % 2 == 0 else (extent,))]
    cuts = sorted(g.choice(len(factors) + 1, size=min(3, len(factors)), replace=False).tolist())
    parts = [factors[a:c] for a, c in zip([0, *cuts], [*cuts, len(factors)], strict=True)]
    new = tuple(int(np.prod(part)) for part in parts)
    return b.node("Reshape", x, b.constant(_shape(new))), new


def _function(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    return b.node(["Relu", "Tanh", "Abs"][g.integers(3)], x), shape


def _broadcast(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    table = tuple(extent if g.integers(2) else 1 for extent in shape)[g.integers(len(shape)) :]
    return b.node(["Add", "Mul", "Max"][g.integers(3)], x, b.weights(*table, spread=1.0)), shape


def _twice(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    other = b.node(
        "Transpose",
        b.node("Transpose", x, perm=list(range(len(shape)))[::-1]),
        perm=list(range(len(shape)))[::-1],
    )
    return b.node("Sub", x, b.node("Relu", other)), shape


def _reduce(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    axis, keep = int(g.integers(len(shape))), int(g.integers(2)) or len(shape) == 1
    op = ["ReduceMean", "ReduceMax"][g.integers(2)]
    new = tuple(1 if i == axis else e for i, e in enumerate(shape) if keep or i != axis)
    return b.node(op, x, axes=[axis], keepdims=int(keep)), new


def _pad(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    pads = g.integers(0, 2, 2 * len(shape))
    new = tuple(int(e + pads[i] + pads[len(shape) + i]) for i, e in enumerate(shape))
    return b.node("Pad", x, b.constant(pads.astype(np.int64))), new


def _cut(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    axis = int(np.argmax(shape))
    new = tuple(e - 1 if i == axis and e > 1 else e for i, e in enumerate(shape))
    start = b.constant(_shape((shape[axis] - new[axis],)))
    return b.node("Slice", x, start, b.constant(_shape((shape[axis],))), b.constant(_shape((axis,)))), new


def _join(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    axis = int(g.integers(len(shape)))
    other = b.weights(*shape, spread=1.0) if g.integers(2) else b.node("Tanh", x)
    return b.node("Concat", x, other, axis=axis), tuple(
        2 * e if i == axis else e for i, e in enumerate(shape)
    )


def _soft(
    b: OnnxBuilder, g: np.random.Generator, x: str, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...]]:
    return b.node("Softmax", x, axis=int(g.integers(len(shape)))), shape


STEPS: tuple[Step, ...] = (
    _turn,
    _turn,
    _turn,
    _regroup,
    _function,
    _broadcast,
    _twice,
    _reduce,
    _pad,
    _cut,
    _join,
    _soft,
)


@pytest.mark.parametrize("seed", range(60))
def test_random_chains_keep_their_meaning(seed: int) -> None:
    generator = np.random.default_rng(seed)
    b = OnnxBuilder(seed)
    shape: tuple[int, ...] = (2, 3, 4, 2)[: int(generator.integers(2, 5))]
    x = b.input("x", shape)
    for _ in range(12):
        step = STEPS[generator.integers(len(STEPS))]
        if np.prod(shape) < 500 and 0 < len(shape) < 7:
            x, shape = step(b, generator, x, shape)
    b.output(x)
    before = imported(b)
    after = layout(before)
    assert count(after) <= count(before)
    same(before, after, seed)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), extents=st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
def test_arrangements_compose_as_arrays_do(data: st.DataObject, extents: list[int]) -> None:
    base = np.arange(int(np.prod(extents))).reshape(extents)
    value, arrangement = base, plain(tuple(extents))
    for _ in range(data.draw(st.integers(0, 4))):
        order = tuple(data.draw(st.permutations(range(value.ndim))))
        turned = arrangement.transposed(value.shape, order)
        assert turned is not None
        value, arrangement = value.transpose(order), turned
        flat = arrangement.reshaped((value.size,))
        assert flat is not None
        shape = tuple(
            data.draw(st.sampled_from([(value.size,), (1, value.size), value.shape, (2, value.size // 2)]))
        )
        reshaped = arrangement.reshaped(shape) if np.prod(shape) == value.size else None
        if reshaped is not None:
            value, arrangement = value.reshape(shape), reshaped
        for kept in (arrangement, arrangement.simplified()):
            assert np.array_equal(kept.of(base, value.shape), value)
