"""What an import rule sees of its node, and how it answers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
from onnx import NodeProto

from tinydeploy.errors import Gap, GraphError, ModelError
from tinydeploy.frontends.onnx.attributes import Attributes
from tinydeploy.frontends.onnx.builder import Builder, Ref
from tinydeploy.frontends.onnx.scope import Binding, Constant
from tinydeploy.frontends.onnx.types import OTHER_TYPES, held, permuted, reshaped
from tinydeploy.ir import Array, Attrs, Quant, TensorType
from tinydeploy.ops import OPS, Site, check
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.transpose import Transpose

MAX_ELEMENTS = 1 << 26
"""Elements of one value; far above any real model."""

AT_COMPILE_TIME = (
    "make it a constant of the model: export with fixed shapes, or fold its computation with onnxsim"
)


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The node is not supported; the reasons are among the context's gaps."""


class Context(Attributes):
    """One node while it is imported.

    ``inputs_given`` counts inputs up to the last that is there, ``outputs_wanted`` outputs likewise.
    """

    def __init__(
        self,
        node: NodeProto,
        *,
        name: str,
        opset: int,
        place: str,
        builder: Builder,
        inputs: Sequence[Binding | None],
        attributes: Sequence[object],
    ) -> None:
        self._place = place
        super().__init__(attributes, self.fault)  # type: ignore[arg-type]
        self.name = name
        self.op = node.op_type
        self.domain = "" if node.domain == "ai.onnx" else node.domain
        self.opset = opset
        self._builder = builder
        self._inputs = list(inputs)
        while self._inputs and self._inputs[-1] is None:
            self._inputs.pop()
        self.inputs_given = len(self._inputs)
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        self.outputs_wanted = len(outputs)
        self._names = tuple(outputs)
        self._emitted: set[int] = set()
        self.gaps: list[Gap] = []
        self.results: tuple[Ref | Constant, ...] = ()

    # What the node has

    @property
    def key(self) -> str:
        """The operator's name, with its domain where that is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def input(self, i: int) -> Ref:
        """The value of an input that must be there; constants become values of the graph."""
        ref = self.optional(i)
        if ref is None:
            raise self.fault(f"input {i} is missing")
        return ref

    def optional(self, i: int) -> Ref | None:
        """The value of an input, or None where it is absent."""
        binding = self._inputs[i] if i < len(self._inputs) else None
        if binding is None or isinstance(binding, Ref):
            return None if binding is None else self._builder.ref(binding.id)
        if binding.ref is None:
            binding.ref = self._constant(binding.array, binding.name, None)
        return binding.ref

    def constant(self, i: int) -> Array | None:
        """The data of an input that is a constant, else None."""
        binding = self._inputs[i] if i < len(self._inputs) else None
        if isinstance(binding, Ref):
            return self._builder.array(binding)
        return None if binding is None else binding.array

    def need_constant(self, i: int, what: str) -> Array:
        """The data of an input that must be constant; ``what`` names it in the refusal."""
        if i >= len(self._inputs) or self._inputs[i] is None:
            raise self.fault(f"input {i} ({what}) is missing")
        array = self.constant(i)
        if array is None:
            self.refuse(
                f"needs {what} at compile time, and it is computed from the model's inputs", AT_COMPILE_TIME
            )
        return array

    def is_fixed(self, ref: Ref) -> bool:
        """Whether a value does not depend on the model's inputs: weights, dequantized ones too."""
        return self._builder.is_fixed(ref)

    def array(self, ref: Ref) -> Array | None:
        """The data of a value that is a constant, else None."""
        return self._builder.array(self._builder.ref(ref.id))

    @property
    def given(self) -> tuple[Binding | None, ...]:
        """The node's inputs, for ``substitute``."""
        return tuple(self._inputs)

    def substitute(self, *inputs: Binding | None) -> None:
        """From now on the node has these inputs: so that one operator's rule can end in another's."""
        self._inputs = list(inputs)
        while self._inputs and self._inputs[-1] is None:
            self._inputs.pop()
        self.inputs_given = len(self._inputs)

    # What the node becomes

    def emit(self, attrs: Attrs, *inputs: Ref | None, like: Quant | None = None, tag: str = "") -> Ref:
        """Add a node of one output; its type is what the operator infers, quantized as ``like`` says."""
        (ref,) = self.emit_all(attrs, *inputs, quants=(like,), tag=tag)
        return ref

    def emit_all(
        self, attrs: Attrs, *inputs: Ref | None, quants: Sequence[Quant | None] = (), tag: str = ""
    ) -> tuple[Ref, ...]:
        """Add a node; the result is all its outputs. What the operator does not support becomes a gap."""
        builder = self._builder
        current = tuple(None if ref is None else builder.ref(ref.id) for ref in inputs)
        name = f"{self.name}/{tag}" if tag else self.name
        site = Site(
            name,
            attrs,
            tuple(None if ref is None else ref.type for ref in current),
            (),
            tuple(None if ref is None else builder.array(ref) for ref in current),
        )
        types = self._inferred(site, tuple(quants))
        try:
            check.check_operands(site, name)
            found = check.gaps(dataclasses.replace(site, outputs=types))
        except (ArithmeticError, LookupError, ValueError, GraphError) as error:
            raise self._bad_shapes(site) from error
        self.gaps += [dataclasses.replace(gap, node=self.name, op=self.key) for gap in found]
        label = self._names[0] if self._names else self.name
        names = (f"{label}/{tag}" if tag else label, *(f"{label}/{tag}{k}" for k in range(1, len(types))))
        made = builder.node(name, attrs, current, tuple(zip(names, types, strict=True)))
        self._emitted.update(ref.id for ref in made)
        return made

    def literal(self, array: Array, tag: str = "", quant: Quant | None = None) -> Ref:
        """A constant; its element type is that of the array."""
        return self._constant(np.asarray(array), f"{self.name}/{tag}" if tag else self.name, quant)

    def transpose(self, ref: Ref, perm: Sequence[int]) -> Ref:
        """Axis i of the result is axis ``perm[i]``; constants are turned at once."""
        order = tuple(perm)
        if order == tuple(range(ref.rank)):
            return ref
        quant = permuted(ref.type.quant, order)
        array = self._builder.array(ref)
        if array is not None:
            type_ = TensorType(ref.dtype, tuple(ref.shape[axis] for axis in order), quant)
            return self._builder.constant(ref.name, type_, array.transpose(order))
        return self.emit(Transpose(order), ref, like=quant, tag="transpose")

    def reshape(self, ref: Ref, shape: Sequence[int]) -> Ref:
        """The same elements under another shape, which is final: no -1, no 0."""
        wanted = tuple(int(extent) for extent in shape)
        if wanted == ref.shape:
            return ref
        if math.prod(wanted) != ref.type.elements:
            raise self.fault(f"shape {list(wanted)} for the elements of {list(ref.shape)}")
        try:
            quant = reshaped(ref.type.quant, ref.shape, wanted)
        except ValueError as error:
            self.refuse(str(error), "quantize the tensor with one scale")
        array = self._builder.array(ref)
        if array is not None:
            return self._builder.constant(
                ref.name, TensorType(ref.dtype, wanted, quant), array.reshape(wanted)
            )
        return self.emit(Reshape(wanted), ref, like=quant, tag="reshape")

    def tagged(self, ref: Ref, quant: Quant) -> Ref:
        """The same value, known to be quantized: for integers that the format itself does not describe."""
        found = self._builder.tag(ref, quant)
        if found is None:
            self.refuse(
                f"{ref.name!r} is read as plain integers or with another scale elsewhere",
                "give every reader of a quantized tensor the same scale and zero point",
            )
        return found

    def set(self, *outputs: Ref | Array) -> None:
        """The node's outputs, in order; values made here take the outputs' names. Arrays are known now."""
        results: list[Ref | Constant] = []
        for index, ref in enumerate(outputs):
            wanted = self._names[index] if index < len(self._names) else ""
            if not isinstance(ref, Ref):
                results.append(Constant(wanted or self.name, ref))
                continue
            earlier = any(isinstance(other, Ref) and ref.id == other.id for other in results)
            mine = ref.id in self._emitted and not earlier
            results.append(self._builder.rename(ref, wanted) if wanted and mine else ref)
        self.results = tuple(results)

    def set_constant(self, array: Array) -> None:
        """The node's only output is known now."""
        self.results = (Constant(self._names[0] if self._names else self.name, array),)

    # What cannot be

    def refuse(self, reason: str, remedy: str) -> NoReturn:
        """Something about the node is not supported."""
        self.gaps.append(Gap(self.name, self.key, reason, remedy))
        raise Refused(reason)

    def fault(self, what: str) -> ModelError:
        """The file contradicts itself at this node."""
        return ModelError(what, where=self._place, fix="Export or download the model again")

    def _constant(self, array: Array, name: str, quant: Quant | None) -> Ref:
        found = held(array)
        if found is None:
            self.refuse(f"constant {name!r} has elements of type {array.dtype}", OTHER_TYPES)
        dtype, data = found
        if data.size == 0:
            self.refuse(f"constant {name!r} of shape {list(data.shape)} has no elements", "remove the node")
        return self._builder.constant(name, TensorType(dtype, data.shape, quant), data)

    def _inferred(self, site: Site[Attrs], quants: tuple[Quant | None, ...]) -> tuple[TensorType, ...]:
        try:
            types = OPS[type(site.attrs).__name__].infer(site)
        except (ArithmeticError, LookupError, ValueError, GraphError) as error:
            raise self._bad_shapes(site) from error
        result: list[TensorType] = []
        for index, type_ in enumerate(types):
            if any(extent <= 0 for extent in type_.shape):
                self.refuse(f"its result of shape {list(type_.shape)} has no elements", "remove the node")
            if math.prod(type_.shape) > MAX_ELEMENTS:
                self.refuse(
                    f"its result of shape {list(type_.shape)} has more than {MAX_ELEMENTS:,} elements",
                    "make the tensor smaller",
                )
            quant = quants[index] if index < len(quants) and quants[index] is not None else type_.quant
            result.append(TensorType(type_.dtype, type_.shape, quant))
        return tuple(result)

    def _bad_shapes(self, site: Site[Attrs]) -> ModelError:
        given = ", ".join(
            "nothing" if type_ is None else f"{type_.dtype.value}{list(type_.shape)}" for type_ in site.inputs
        )
        return self.fault(f"the operator cannot take inputs {given}")


Rule = Callable[[Context], None]
"""Reads a node through its context, emits nodes, and sets the outputs; refuses what is not supported."""
