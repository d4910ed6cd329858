"""Unsigned steps become signed ones: 128 less, and so is the zero point. The interface keeps its types."""

from __future__ import annotations

import dataclasses

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, DType, Graph, Node, Quant, Rewriter, TensorType
from tinydeploy.ops.movement import fill_of, with_fill
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.ops.requantize import Requantize

SIGNED = {DType.UINT8: DType.INT8, DType.UINT16: DType.INT16}


def signed(graph: Graph) -> Graph:
    """The graph with signed steps inside, and one conversion at each input and output that is unsigned."""
    if not any(_is_unsigned(value.type) for value in graph.values):
        return graph
    return _Signed(graph).run()


def signed_type(type_: TensorType) -> TensorType:
    """The signed type of the same numbers; other types as they are."""
    if not _is_unsigned(type_) or type_.quant is None:
        return type_
    offset = _offset(type_.dtype)
    zero_points = tuple(zero_point - offset for zero_point in type_.quant.zero_points)
    quant = Quant(type_.quant.scales, zero_points, type_.quant.axis)
    return TensorType(SIGNED[type_.dtype], type_.shape, quant)


def signed_array(array: Array, type_: TensorType) -> Array:
    """The data of a constant in its signed type."""
    if not _is_unsigned(type_):
        return array
    return (array.astype(np.int64) - _offset(type_.dtype)).astype(SIGNED[type_.dtype].numpy)


def _is_unsigned(type_: TensorType) -> bool:
    return type_.quant is not None and type_.dtype in SIGNED


def _offset(dtype: DType) -> int:
    return 1 << (dtype.bits - 1)


class _Signed:
    """One graph while it is rebuilt; ``_new`` holds the signed form of each value, ``_own`` the model's."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._edit = Rewriter.empty(graph.name)
        self._new: dict[int, int] = {}
        self._own: dict[int, int] = {}

    def run(self) -> Graph:
        graph, edit = self._graph, self._edit
        for value in graph.inputs:
            self._take(value, edit.input(graph.values[value].name, graph.type(value)))
        for value in graph.constants():
            type_ = graph.type(value)
            array = signed_array(graph.array(value), type_)
            self._new[value] = edit.constant(graph.values[value].name, signed_type(type_), array)
        for state in graph.states:
            type_ = signed_type(graph.type(state.before))
            self._new[state.before] = edit.free_value(graph.values[state.before].name, type_)
        for node in graph.nodes:
            self._node(node)
        for value in graph.outputs:
            edit.output(self._model_form(value))
        for state in graph.states:
            type_ = graph.type(state.before)
            first = signed_array(graph.blobs.array(state.initial, type_), type_)
            edit.state(self._new[state.before], self._new[state.after], first)
        return edit.freeze()

    def _node(self, node: Node) -> None:
        graph = self._graph
        if isinstance(node.attrs, Reinterpret) and node.inputs[0] is not None:
            type_ = graph.type(node.outputs[0])
            name = graph.values[node.outputs[0]].name
            source = self._model_form(node.inputs[0])
            (made,) = self._edit.node(node.name, node.attrs, (source,), ((name, type_),))
            self._take(node.outputs[0], made)
            return
        operands = tuple(None if value is None else self._new[value] for value in node.inputs)
        outputs = tuple((graph.values[value].name, signed_type(graph.type(value))) for value in node.outputs)
        made_all = self._edit.node(node.name, self._attrs(node), operands, outputs)
        self._new.update(zip(node.outputs, made_all, strict=True))

    def _attrs(self, node: Node) -> Attrs:
        """What attributes say of element types and steps, in signed terms."""
        attrs, type_ = node.attrs, self._graph.type(node.outputs[0])
        if not _is_unsigned(type_):
            return attrs
        if isinstance(attrs, Quantize | Requantize):
            return dataclasses.replace(attrs, dtype=SIGNED[type_.dtype])
        fill = fill_of(attrs)
        return attrs if fill is None else with_fill(attrs, fill - _offset(type_.dtype))

    def _take(self, value: int, own: int) -> None:
        """A value that has the model's type, and its signed form."""
        type_ = self._graph.type(value)
        self._own[value] = self._new[value] = own
        if _is_unsigned(type_):
            self._new[value] = self._converted(own, value, signed_type(type_))

    def _model_form(self, value: int) -> int:
        """A value in the type that the model gives it."""
        type_ = self._graph.type(value)
        if not _is_unsigned(type_):
            return self._new[value]
        if value not in self._own:
            self._own[value] = self._converted(self._new[value], value, type_)
        return self._own[value]

    def _converted(self, source: int, value: int, type_: TensorType) -> int:
        name = self._graph.values[value].name
        attrs = Requantize(type_.dtype, Rounding.HALF_EVEN)
        (made,) = self._edit.node(name, attrs, (source,), ((name, type_),))
        return made
