"""A graph built anew with its transposes and reshapes held back until something needs them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, Graph, Node, Quant, Rewriter, TensorType
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.transpose import Transpose
from tinydeploy.passes.layout.arrangement import Arrangement, Shape, axis_in_base, plain


@dataclass(frozen=True, slots=True)
class View:
    """A value of the source as it lies in a value of the new graph."""

    base: int
    arrangement: Arrangement


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A constant seen through Dequantize: as good as a constant where elements are reordered."""

    name: str
    attrs: Attrs
    constant: int


class Rebuild:
    """The new graph, and what every value of the source is in it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._rewriter = Rewriter.empty(graph.name)
        self._types: dict[int, TensorType] = {}
        self._names: dict[int, str] = {}
        self._arrays: dict[int, Array] = {}
        self._scaled: dict[int, _Scaled] = {}
        self._views: dict[int, View] = {}
        self._made: dict[tuple[int, Arrangement, Shape], int] = {}
        for value in graph.inputs:
            self._define(value, self._rewriter.input(graph.values[value].name, graph.type(value)))
        for value in graph.constants():
            new = self._constant(graph.values[value].name, graph.type(value), graph.array(value))
            self._define(value, new)
        for state in graph.states:
            new = self._rewriter.free_value(graph.values[state.before].name, graph.type(state.before))
            self._define(state.before, new)

    # What is known

    def view(self, value: int) -> View:
        return self._views[value]

    def type(self, new: int) -> TensorType:
        return self._types[new]

    def is_constant(self, value: int) -> bool:
        """Whether reordering a value of the source costs nothing at run time."""
        base = self._views[value].base
        return base in self._arrays or base in self._scaled

    # Making values

    def hold(self, value: int, view: View) -> None:
        """A value of the source is only another arrangement: nothing is made."""
        self._views[value] = view

    def emit(
        self, node: Node, attrs: Attrs, inputs: tuple[int | None, ...], type_: TensorType, output: int = 0
    ) -> int:
        """A node in the place of a source's node with one output of interest; the result is its new value."""
        name = self.graph.values[node.outputs[output]].name
        (new,) = self._rewriter.node(node.name, attrs, inputs, ((name, type_),))
        self._know(new, name, type_)
        if isinstance(attrs, Dequantize) and inputs[0] in self._arrays and inputs[0] is not None:
            self._scaled[new] = _Scaled(node.name, attrs, inputs[0])
        return new

    def retyped(self, node: Node) -> bool:
        """Where the operand is a constant, the node is one, of its output's type. Says whether it is."""
        value, output = node.inputs[0], node.outputs[0]
        if value is None or self._views[value].base not in self._arrays:
            return False
        type_ = self.graph.type(output)
        array = self._arrays[self.made(value)]
        self._define(output, self._constant(self.graph.values[output].name, type_, array))
        return True

    def copy(self, node: Node) -> None:
        """A source's node as it is, all its operands made."""
        inputs = tuple(None if value is None else self.made(value) for value in node.inputs)
        values = self.graph.values
        outputs = tuple((values[out].name, values[out].type) for out in node.outputs)
        for out, new in zip(
            node.outputs, self._rewriter.node(node.name, node.attrs, inputs, outputs), strict=True
        ):
            self._define(out, new)
        if isinstance(node.attrs, Dequantize) and inputs[0] in self._arrays and inputs[0] is not None:
            self._scaled[self._views[node.outputs[0]].base] = _Scaled(node.name, node.attrs, inputs[0])

    def made(self, value: int) -> int:
        """A value of the source, in its own shape and order."""
        view, type_ = self._views[value], self.graph.type(value)
        return self.arranged(view, type_.shape, type_.quant, self.graph.values[value].name)

    def arranged(self, view: View, shape: Shape, quant: Quant | None, name: str) -> int:
        """The elements of a view as a value of this shape: at worst a transpose, done now for constants."""
        source = self._types[view.base]
        if view.arrangement.is_plain and source.shape == shape:
            return view.base
        key = (view.base, view.arrangement.simplified(), shape)
        if key not in self._made:
            self._made[key] = self._arranged(view, shape, quant, name)
        return self._made[key]

    def freeze(self) -> Graph:
        graph = self.graph
        for value in graph.outputs:
            self._rewriter.output(self.made(value))
        for state in graph.states:
            initial = graph.blobs.array(state.initial, graph.type(state.before))
            self._rewriter.state(self._views[state.before].base, self.made(state.after), initial)
        return self._rewriter.freeze()

    # Inside

    def _arranged(self, view: View, shape: Shape, quant: Quant | None, name: str) -> int:
        source = self._types[view.base]
        if (array := self._arrays.get(view.base)) is not None:
            type_ = TensorType(source.dtype, shape, quant)
            return self._constant(name, type_, np.ascontiguousarray(view.arrangement.of(array, shape)))
        if (scaled := self._scaled.get(view.base)) is not None:
            made = self._rescaled(view, scaled, shape, name)
            if made is not None:
                return made
        current = view.base
        if view.arrangement.is_plain:
            return self._node(
                f"{name}/reshape", Reshape(shape), current, TensorType(source.dtype, shape, quant), name
            )
        dims, order = self._axes(view, shape)
        if dims != source.shape:
            between = TensorType(
                source.dtype, dims, _carried(source.quant, view.arrangement, source.shape, dims)
            )
            current = self._node(f"{name}/reshape", Reshape(dims), current, between, f"{name}/reshape")
        turned = tuple(dims[axis] for axis in order)
        label = name if turned == shape else _turning(name)
        type_ = TensorType(
            source.dtype, turned, quant if turned == shape or quant is None or quant.per_tensor else None
        )
        current = self._node(_turning(name), Transpose(order), current, type_, label)
        if turned != shape:
            current = self._node(
                f"{name}/shape", Reshape(shape), current, TensorType(source.dtype, shape, quant), name
            )
        return current

    def _axes(self, view: View, shape: Shape) -> tuple[Shape, Shape]:
        """The transpose in the axes of base and value where both have them, else in the fewest dims."""
        source = self._types[view.base].shape
        if len(source) == len(shape):
            axes = [axis_in_base(view.arrangement, shape, source, axis) for axis in range(len(shape))]
            ones = [axis for axis in range(len(source)) if axis not in axes and source[axis] == 1]
            if len(ones) == axes.count(None):
                order = tuple(ones.pop(0) if axis is None else axis for axis in axes)
                if tuple(source[axis] for axis in order) == shape:
                    return source, order
        simple = view.arrangement.simplified()
        return simple.dims, simple.order

    def _rescaled(self, view: View, scaled: _Scaled, shape: Shape, name: str) -> int | None:
        """Dequantize of the reordered constant; None where its quantized axis does not survive."""
        type_ = self._types[scaled.constant]
        quant = type_.quant
        if quant is not None and quant.axis is not None:
            axis = axis_in_value(view.arrangement, shape, type_.shape, quant.axis)
            if axis is None:
                return None
            quant = dataclasses.replace(quant, axis=axis)
        array = np.ascontiguousarray(view.arrangement.of(self._arrays[scaled.constant], shape))
        constant = self._constant(self._names[scaled.constant], TensorType(type_.dtype, shape, quant), array)
        return self._node(
            scaled.name, scaled.attrs, constant, TensorType(self._types[view.base].dtype, shape), name
        )

    def _node(self, node: str, attrs: Attrs, source: int, type_: TensorType, name: str) -> int:
        (new,) = self._rewriter.node(node, attrs, (source,), ((name, type_),))
        self._know(new, name, type_)
        return new

    def _constant(self, name: str, type_: TensorType, array: Array) -> int:
        new = self._rewriter.constant(name, type_, array)
        self._know(new, name, type_)
        self._arrays[new] = array
        return new

    def _know(self, new: int, name: str, type_: TensorType) -> None:
        self._types[new] = type_
        self._names[new] = name

    def _define(self, value: int, new: int) -> None:
        type_ = self.graph.type(value)
        self._know(new, self.graph.values[value].name, type_)
        self._views[value] = View(new, plain(type_.shape))


def _turning(name: str) -> str:
    """The name of a transpose that makes a value."""
    return name if name.endswith("/transpose") else f"{name}/transpose"


def axis_in_value(arrangement: Arrangement, shape: Shape, base: Shape, axis: int) -> int | None:
    """Which axis of the value an axis of the base is, or None where it is none."""
    return next(
        (mine for mine in range(len(shape)) if axis_in_base(arrangement, shape, base, mine) == axis), None
    )


def quant_in_base(quant: Quant | None, view: View, shape: Shape, base: Shape) -> tuple[bool, Quant | None]:
    """(whether it can be, the quantization) of a value said of its base."""
    if quant is None or quant.axis is None:
        return True, quant
    axis = axis_in_base(view.arrangement, shape, base, quant.axis)
    return axis is not None, None if axis is None else dataclasses.replace(quant, axis=axis)


def _carried(quant: Quant | None, arrangement: Arrangement, base: Shape, dims: Shape) -> Quant | None:
    """The quantization of a base whose axes become ``dims``."""
    if quant is None or quant.axis is None:
        return quant
    plainly = Arrangement(arrangement.dims, tuple(range(len(arrangement.dims))))
    axis = axis_in_value(plainly, dims, base, quant.axis)
    return None if axis is None else dataclasses.replace(quant, axis=axis)
