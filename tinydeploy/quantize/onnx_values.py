"""Names of tensors in an ONNX file, and the order of their axes there.

Our images are NHWC, those of ONNX NCHW. A value of the graph may exist in the file under several names, each
with its axes in another order; a transpose is written only where no name has the order that is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinydeploy.ir import Array, DType, Graph, Quant

Order = tuple[int, ...]
"""Axis i of the file's tensor is axis ``order[i]`` of the graph's value."""

TO_NCHW: Order = (0, 3, 1, 2)

ELEMENTS = {
    DType.INT4: TensorProto.INT4,
    DType.INT8: TensorProto.INT8,
    DType.UINT8: TensorProto.UINT8,
    DType.INT16: TensorProto.INT16,
    DType.UINT16: TensorProto.UINT16,
    DType.INT32: TensorProto.INT32,
    DType.UINT32: TensorProto.UINT32,
    DType.INT64: TensorProto.INT64,
    DType.FLOAT32: TensorProto.FLOAT,
    DType.BOOL: TensorProto.BOOL,
}


def same(rank: int) -> Order:
    """The graph's own order."""
    return tuple(range(rank))


@dataclass(frozen=True, slots=True)
class Form:
    """One name of a value and its order of axes."""

    order: Order
    name: str


class Values:
    """Collects nodes and initializers of a file, and knows under which names the graph's values are there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._forms: dict[int, list[Form]] = {}
        self._lazy: dict[int, Callable[[Order], str]] = {}
        self._used: set[str] = set()
        self._outputs: set[str] = set()

    def unique(self, name: str) -> str:
        """``name``, with a number where it is taken."""
        base = name or "value"
        found, count = base, 1
        while found in self._used:
            count += 1
            found = f"{base}_{count}"
        self._used.add(found)
        return found

    def output(self, value: int) -> str:
        """The name of an output of the graph, in its own order.

        An input, a constant or a value that is an output twice gets a copy under a name of its own.
        """
        own = self.graph.values[value].name
        name = self.want(value)
        if name in self._outputs or value in self.graph.inputs or self.is_deferred(value):
            copy = self.unique(own)
            self.add("Identity", [name], [copy])
            name = copy
        self._outputs.add(name)
        return name

    def define(self, value: int, order: Order, name: str | None = None) -> str:
        """A new name for a value in an order; the first one is the graph's own."""
        found = self.unique(self.graph.values[value].name) if name is None else name
        self._forms.setdefault(value, []).append(Form(order, found))
        return found

    def defer(self, value: int, make: Callable[[Order], str]) -> None:
        """Let a value be made in whatever order it is asked for."""
        self._lazy[value] = make

    def alias(self, value: int, order: Order, name: str) -> None:
        """An existing name that is also a form of ``value``."""
        self._forms.setdefault(value, []).append(Form(order, name))

    def forms(self, value: int) -> tuple[Form, ...]:
        return tuple(self._forms.get(value, ()))

    def rank(self, value: int) -> int:
        return len(self.graph.type(value).shape)

    def is_deferred(self, value: int) -> bool:
        """Whether a value takes any order at no cost: constants and what is dequantized from them."""
        return self.graph.values[value].is_constant or value in self._lazy

    def any_form(self, value: int) -> Form:
        """A form of a value that is there already, else its own order."""
        forms = self.forms(value)
        if forms:
            return forms[-1]
        order = same(self.rank(value))
        return Form(order, self.want(value, order))

    def want(self, value: int, order: Order | None = None) -> str:
        """The name of a value in an order, by default the graph's own; transposes where there is none."""
        wanted = same(self.rank(value)) if order is None else order
        for form in self.forms(value):
            if form.order == wanted:
                return form.name
        if value in self._lazy:
            name = self._lazy[value](wanted)
            self.alias(value, wanted, name)
            return name
        if self.graph.values[value].is_constant:
            return self._constant(value, wanted)
        source = self.forms(value)[0]
        name = self.define(value, wanted)
        permutation = [source.order.index(axis) for axis in wanted]
        self.add("Transpose", [source.name], [name], perm=permutation)
        return name

    def _constant(self, value: int, order: Order) -> str:
        name = self.define(value, order)
        array = self.graph.array(value).transpose(order)
        self.initializer(name, array, self.graph.type(value).dtype)
        return name

    def initializer(self, name: str, array: Array, dtype: DType) -> None:
        """Add a constant; ``name`` must be unique already."""
        packed = np.ascontiguousarray(array)
        if dtype is DType.INT4:
            self.initializers.append(helper.make_tensor(name, TensorProto.INT4, packed.shape, packed.ravel()))
        else:
            self.initializers.append(numpy_helper.from_array(packed, name))

    def literal(self, name: str, array: Array) -> str:
        """A constant that only the file has."""
        found = self.unique(name)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), found))
        return found

    def scales(self, name: str, quant: Quant, dtype: DType) -> tuple[str, str]:
        """The names of a scale and a zero point."""
        shape: tuple[int, ...] = () if quant.axis is None else (len(quant.scales),)
        scale = np.array(quant.scales, np.float32).reshape(shape)
        zero = np.array(quant.zero_points, dtype.numpy).reshape(shape)
        names = self.literal(f"{name}_scale", scale), self.unique(f"{name}_zero_point")
        self.initializer(names[1], zero, dtype)
        return names

    def add(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        """Add a node; it is named after its first output."""
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
