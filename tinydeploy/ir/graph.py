"""The graph: SSA values and the nodes that make them, as plain frozen data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tinydeploy.ir.blobs import BlobStore
from tinydeploy.ir.types import Array, TensorType


class Attrs:
    """Base of the attributes of an operator; each operator declares one frozen dataclass."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Value:
    """One SSA value; its id is its index in ``Graph.values``.

    ``name`` is the model's own and may hold anything. ``digest`` names the data of a constant.
    """

    name: str
    type: TensorType
    digest: str | None = None

    @property
    def is_constant(self) -> bool:
        return self.digest is not None


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. ``inputs`` and ``outputs`` are value ids; None is an absent optional input.

    The class of ``attrs`` says which operator it is.
    """

    name: str
    attrs: Attrs
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]

    @property
    def op(self) -> str:
        return type(self.attrs).__name__


@dataclass(frozen=True, slots=True)
class State:
    """A variable that survives between runs: read as ``before``, replaced by ``after`` when a run ends.

    ``initial`` names the blob that a reset restores.
    """

    before: int
    after: int
    initial: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A model. Nodes are in an order in which they can run.

    Two graphs are equal when their structure and the digests of their constants are; ``blobs`` only holds
    the data and takes no part in comparison.
    """

    name: str
    values: tuple[Value, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: tuple[State, ...] = ()
    subgraphs: tuple[Graph, ...] = ()
    blobs: BlobStore = field(default_factory=BlobStore, compare=False, repr=False)

    def type(self, value: int) -> TensorType:
        return self.values[value].type

    def array(self, value: int) -> Array:
        """Data of a constant value."""
        constant = self.values[value]
        if constant.digest is None:
            raise KeyError(f"%{value} is not a constant")
        return self.blobs.array(constant.digest, constant.type)

    def constants(self) -> Iterator[int]:
        """Ids of the constant values."""
        return (index for index, value in enumerate(self.values) if value.is_constant)

    def producers(self) -> dict[int, int]:
        """Value id to the index of the node that makes it."""
        return {out: index for index, node in enumerate(self.nodes) for out in node.outputs}

    def consumers(self) -> dict[int, tuple[int, ...]]:
        """Value id to the indices of the nodes that read it, in order."""
        readers: dict[int, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for value in dict.fromkeys(node.inputs):
                if value is not None:
                    readers.setdefault(value, []).append(index)
        return {value: tuple(indices) for value, indices in readers.items()}
