"""The graph of imported operators, value by value; tensors that nobody reads are left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinydeploy.errors import ModelError
from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Subgraph, Tensor, short
from tinydeploy.frontends.tflite.tensors import type_of
from tinydeploy.frontends.tflite.validate import REPAIR
from tinydeploy.frontends.tflite.variables import Assign, Key, Read
from tinydeploy.ir import Array, Graph, Rewriter, TensorType
from tinydeploy.ops.requantize import Requantize


class Builder:
    """Makes the graph of a subgraph.

    ``tensors`` are what its operators compute with; where one has another type than the file's, the ends of
    the model keep the file's type and convert.
    """

    def __init__(
        self,
        subgraph: Subgraph,
        tensors: list[Tensor],
        initial: Mapping[Key, Array],
        name: str,
        where: str,
    ) -> None:
        self._subgraph = subgraph
        self._tensors = tensors
        self._initial = initial
        self._where = where
        self._rewriter = Rewriter.empty(name)
        self._values: dict[int, int] = {}
        self._variables: dict[Key, int] = {}
        self._states: dict[Key, tuple[int, TensorType]] = {}
        self._updates: dict[int, int] = {}
        self._kept: list[int] = []
        for index in subgraph.inputs:
            tensor = subgraph.tensors[index]
            if index in self._values:
                raise self._fault(tensor, "is an input twice")
            if tensor.data is not None:
                raise self._fault(tensor, "is an input and a constant")
            self._values[index] = self._rewriter.input(tensor.name, type_of(tensor))
        for index in subgraph.inputs:
            if tensors[index].dtype is not subgraph.tensors[index].dtype:
                self._values[index] = self._converted(self._values[index], tensors[index])

    def node(self, context: Context, imported: Imported) -> None:
        inputs = tuple(None if index is None else self._value(index) for index in imported.inputs)
        made = [self._tensors[index] for index in imported.makes] or [context.output_at(imported.output)]
        for output in made:
            if output.index in self._values or output.data is not None:
                raise self._fault(output, f"is made by {context.name!r} and already has a value")
        types = tuple((output.name, type_of(output)) for output in made)
        values = self._rewriter.node(context.name, imported.attrs, inputs, types)
        self._values.update(zip((output.index for output in made), values, strict=True))
        for variable, after in imported.updates:
            if variable in self._updates:
                raise self._fault(self._tensors[variable], f"is updated by {context.name!r} and before")
            self._updates[variable] = after

    def read(self, context: Context, step: Read) -> None:
        output = self._tensors[step.output]
        if output.index in self._values:
            raise self._fault(output, f"is made by {context.name!r} and already has a value")
        if step.variable not in self._variables:
            type_ = type_of(output)
            self._variables[step.variable] = self._rewriter.free_value(step.variable[1], type_)
            self._states[step.variable] = self._variables[step.variable], type_
        self._values[output.index] = self._variables[step.variable]

    def assign(self, step: Assign) -> None:
        self._variables[step.variable] = self._value(step.value)

    def freeze(self) -> Graph:
        for index in self._subgraph.outputs:
            value, original = self._value(index), self._subgraph.tensors[index]
            if self._tensors[index].dtype is not original.dtype:
                value = self._converted(value, original)
            self._rewriter.output(value)
        for key, (before, type_) in self._states.items():
            first = self._initial.get(key, np.zeros(type_.shape, type_.dtype.numpy))
            if first.shape != type_.shape or first.dtype != type_.dtype.numpy:
                raise ModelError(
                    f"it starts as {first.dtype}{list(first.shape)} and is read as "
                    f"{type_.dtype.value}{list(type_.shape)}",
                    where=f"{self._where}: variable {short(key[1])}",
                    fix=REPAIR,
                )
            self._rewriter.state(before, self._variables[key], first)
        for variable in self._kept:
            after = self._updates.get(variable, variable)
            first = _first(self._tensors[variable])
            self._rewriter.state(self._values[variable], self._values[after], first)
        return self._rewriter.freeze()

    def _converted(self, value: int, to: Tensor) -> int:
        type_ = type_of(to)
        attrs = Requantize(dtype=type_.dtype)
        (made,) = self._rewriter.node(f"{to.name}/{type_.dtype.value}", attrs, (value,), ((to.name, type_),))
        return made

    def _fault(self, tensor: Tensor, what: str) -> ModelError:
        return ModelError(f"it {what}", where=f"{self._where}: {tensor.label}", fix=REPAIR)

    def _value(self, index: int) -> int:
        if index not in self._values:
            tensor = self._tensors[index]
            if tensor.variable:
                self._values[index] = self._rewriter.free_value(tensor.name, type_of(tensor))
                self._kept.append(index)
            elif tensor.data is None:
                raise self._fault(tensor, "is read before anything has made it")
            else:
                self._values[index] = self._rewriter.constant(tensor.name, type_of(tensor), tensor.array())
        return self._values[index]


def _first(variable: Tensor) -> Array:
    """What a variable tensor holds before the first run: its buffer's content, or what stands for 0."""
    if variable.data is not None:
        return variable.array()
    type_ = type_of(variable)
    zero = type_.quant.zero_point if type_.quant is not None else 0
    return np.full(type_.shape, zero, type_.dtype.numpy)
