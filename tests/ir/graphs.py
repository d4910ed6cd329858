"""Graphs for the tests of the intermediate representation: small, drawn, and with hostile names."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.ops.add import Add
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax

HOSTILE = (
    "",
    '"',
    "\\",
    'a" (%0) "b',
    'x) = Add() "y" (%0, %1)',
    '%1 "v": int8[1] @ 0.5:0 = Add(activation=Activation.NONE) "n" (%0)',
    "a -> %1 = sha256:" + "0" * 64,
    "(((",
    ")))",
    ") ",
    "}\n}",
    "line\r\nline\u2028line\x0b\x1c\x85end",
    "*/ /* ??/ // \\",
    "\u202egnp.exe\u2066",
    "\ud800",
    "入力 é 🙂",
    "{{ name }} {% x %}",
    "\0\x07\x1b[31m\x7f",
)

NAMES = (
    st.sampled_from(HOSTILE) | st.text(max_size=12) | st.text(alphabet='"\\()%1= ->,:@\n{}[]', max_size=24)
)
SCALES = st.floats(1e-30, 1e30)


@st.composite
def int8_types(draw: st.DrawFn) -> TensorType:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    axis = draw(st.none() | st.integers(0, len(shape) - 1)) if shape else None
    count = 1 if axis is None else shape[axis]
    quant = Quant(
        tuple(draw(SCALES) for _ in range(count)),
        tuple(draw(st.integers(-128, 127)) for _ in range(count)),
        axis,
    )
    return TensorType(DType.INT8, shape, draw(st.sampled_from([quant, None])))


@st.composite
def graphs(draw: st.DrawFn, depth: int = 1) -> Graph:
    """Any structure that the text form can hold; operators need not fit their types."""
    edit = Rewriter.empty(draw(NAMES))
    values = [edit.input(draw(NAMES), draw(int8_types())) for _ in range(draw(st.integers(0, 3)))]
    for _ in range(draw(st.integers(0, 2))):
        dtype = draw(st.sampled_from([DType.INT8, DType.INT32, DType.FLOAT32, DType.BOOL]))
        shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
        data = np.full(shape, draw(st.integers(0, 1)), dtype.numpy)
        values.append(edit.constant(draw(NAMES), TensorType(dtype, shape), data))
    state = None
    if draw(st.booleans()):
        state = edit.free_value(draw(NAMES), TensorType(DType.INT16, (2,)))
        values.append(state)
    made: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        operands = [st.sampled_from([*values, *made]), st.none()] if values or made else [st.none()]
        inputs = tuple(draw(st.lists(st.one_of(operands), max_size=3)))
        outputs = tuple((draw(NAMES), draw(int8_types())) for _ in range(draw(st.integers(1, 2))))
        made += edit.node(draw(NAMES), draw(attributes()), inputs, outputs)
    if state is not None:
        edit.state(state, draw(st.sampled_from([state, *made])), np.zeros(2, np.int16))
    for value in draw(st.lists(st.sampled_from([*values, *made]), max_size=3)) if values or made else []:
        edit.output(value)
    graph = edit.freeze()
    if depth == 0 or draw(st.booleans()):
        return graph
    inner = draw(graphs(depth=depth - 1))
    return Graph(
        graph.name,
        graph.values,
        graph.nodes,
        graph.inputs,
        graph.outputs,
        graph.states,
        (inner,),
        graph.blobs,
    )


@st.composite
def attributes(draw: st.DrawFn) -> Add | Conv2D | Reshape | Softmax:
    pairs = st.tuples(st.integers(0, 9), st.integers(0, 9))
    activation = draw(st.sampled_from(Activation))
    return draw(
        st.one_of(
            st.just(Add(activation)),
            st.builds(
                Conv2D,
                stride=pairs,
                dilation=pairs,
                padding=st.tuples(pairs, pairs),
                activation=st.just(activation),
                rounding=st.sampled_from(Rounding),
            ),
            st.builds(Reshape, st.lists(st.integers(1, 9), max_size=3).map(tuple)),
            st.builds(Softmax, st.floats(1e-9, 1e9)),
        )
    )


def pair_type(scale: float = 0.5) -> TensorType:
    return TensorType(DType.INT8, (1, 2), Quant((scale,), (0,)))


def chain() -> Graph:
    """%0 input, %1 constant, %2 = %0 + %1 ("sum"), %3 = softmax(%2) ("soft"), output %3."""
    edit = Rewriter.empty("chain")
    data = edit.input("data", pair_type())
    constant = edit.constant("constant", pair_type(), np.array([[1, 2]], np.int8))
    (total,) = edit.node("sum", Add(), (data, constant), (("total", pair_type()),))
    soft = TensorType(DType.INT8, (1, 2), Quant((1 / 256,), (-128,)))
    (result,) = edit.node("soft", Softmax(), (total,), (("p", soft),))
    edit.output(result)
    return edit.freeze()
