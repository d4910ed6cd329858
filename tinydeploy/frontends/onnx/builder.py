"""The graph while it is imported: values may still be renamed, and told how they are quantized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, Graph, Quant, Rewriter, TensorType


@dataclass(frozen=True, slots=True)
class Ref:
    """A value under construction, as it is known at this moment."""

    id: int
    type: TensorType
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def rank(self) -> int:
        return len(self.type.shape)


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    attrs: Attrs
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]


class Builder:
    """Values and nodes in the order of their making."""

    def __init__(self) -> None:
        self._refs: list[Ref] = []
        self._arrays: dict[int, Array] = {}
        self._inputs: list[int] = []
        self._nodes: list[_Node] = []
        self._read: set[int] = set()
        self._fixed: set[int] = set()

    @property
    def count(self) -> int:
        """How many values there are; a value made later has no smaller id."""
        return len(self._refs)

    def ref(self, value: int) -> Ref:
        """A value as it is known now."""
        return self._refs[value]

    def array(self, ref: Ref) -> Array | None:
        """The data of a constant, None for other values."""
        return self._arrays.get(ref.id)

    def is_fixed(self, ref: Ref) -> bool:
        """Whether a value is a constant or computed from constants alone, as dequantized weights are."""
        return ref.id in self._arrays or ref.id in self._fixed

    def value(self, name: str, type_: TensorType) -> Ref:
        """A value that nothing makes yet."""
        ref = Ref(len(self._refs), type_, name)
        self._refs.append(ref)
        return ref

    def input(self, name: str, type_: TensorType) -> Ref:
        ref = self.value(name, type_)
        self._inputs.append(ref.id)
        return ref

    def constant(self, name: str, type_: TensorType, array: Array) -> Ref:
        """A constant; the array has the type's shape and numpy element type."""
        ref = self.value(name, type_)
        self._arrays[ref.id] = np.asarray(array, order="C")
        return ref

    def node(
        self,
        name: str,
        attrs: Attrs,
        inputs: tuple[Ref | None, ...],
        outputs: tuple[tuple[str, TensorType], ...],
    ) -> tuple[Ref, ...]:
        made = tuple(self.value(*output) for output in outputs)
        ids = tuple(None if ref is None else ref.id for ref in inputs)
        self._read.update(value for value in ids if value is not None)
        if all(value is None or self.is_fixed(self._refs[value]) for value in ids):
            self._fixed.update(ref.id for ref in made)
        self._nodes.append(_Node(name, attrs, ids, tuple(ref.id for ref in made)))
        return made

    def rename(self, ref: Ref, name: str) -> Ref:
        return self._replace(Ref(ref.id, self._refs[ref.id].type, name))

    def tag(self, ref: Ref, quant: Quant) -> Ref | None:
        """Let a plain value count as quantized; None where it is read as plain numbers already, or quantized
        otherwise. Constants give a constant of their own."""
        type_ = self._refs[ref.id].type
        if type_.quant == quant:
            return self._refs[ref.id]
        tagged = TensorType(type_.dtype, type_.shape, quant)
        if (array := self.array(ref)) is not None:
            return self.constant(ref.name, tagged, array)
        if type_.quant is not None or ref.id in self._read:
            return None
        return self._replace(Ref(ref.id, tagged, self._refs[ref.id].name))

    def freeze(self, name: str, outputs: tuple[Ref, ...], states: tuple[tuple[Ref, Ref], ...] = ()) -> Graph:
        """The graph. Each pair of ``states`` is an input that becomes a state, and its next value."""
        rewriter = Rewriter.empty(name)
        variables = {before.id for before, _ in states}
        ids: dict[int, int] = {}
        for value in self._inputs:
            ref = self._refs[value]
            make = rewriter.free_value if value in variables else rewriter.input
            ids[value] = make(ref.name, ref.type)
        for value, array in self._arrays.items():
            ref = self._refs[value]
            ids[value] = rewriter.constant(ref.name, ref.type, array)
        for node in self._nodes:
            made = rewriter.node(
                node.name,
                node.attrs,
                tuple(None if value is None else ids[value] for value in node.inputs),
                tuple((self._refs[value].name, self._refs[value].type) for value in node.outputs),
            )
            ids.update(zip(node.outputs, made, strict=True))
        for output in outputs:
            rewriter.output(ids[output.id])
        for before, after in states:
            zeros = np.zeros(before.type.shape, before.type.dtype.numpy)
            rewriter.state(ids[before.id], ids[after.id], zeros)
        return rewriter.freeze()

    def _replace(self, ref: Ref) -> Ref:
        self._refs[ref.id] = ref
        return ref
