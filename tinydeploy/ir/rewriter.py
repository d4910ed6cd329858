"""The one way to make a changed graph: collect edits, freeze once."""

from __future__ import annotations

from tinydeploy.errors import GraphError
from tinydeploy.ir.blobs import blob_of, digest_of
from tinydeploy.ir.graph import Attrs, Graph, Node, State, Value
from tinydeploy.ir.types import Array, TensorType


class Rewriter:
    """Edits of one graph. Value ids of the source stay valid until ``freeze``, which renumbers.

    Also builds graphs from nothing: start from ``Rewriter.empty(name)``.
    """

    def __init__(self, graph: Graph) -> None:
        self._name = graph.name
        self._values = list(graph.values)
        self._nodes: list[Node | None] = list(graph.nodes)
        self._before: dict[int, list[Node]] = {}
        self._inputs = list(graph.inputs)
        self._outputs = list(graph.outputs)
        self._states = list(graph.states)
        self._subgraphs = graph.subgraphs
        self._blobs = graph.blobs
        self._new_blobs: dict[str, bytes] = {}
        self._replaced: dict[int, int] = {}
        self._frozen = False

    @classmethod
    def empty(cls, name: str) -> Rewriter:
        return cls(Graph(name, (), (), (), ()))

    def input(self, name: str, type_: TensorType) -> int:
        """Add an input of the graph; the result is its value id."""
        value = self._value(name, type_)
        self._inputs.append(value)
        return value

    def constant(self, name: str, type_: TensorType, array: Array) -> int:
        """Add a constant; ``array`` must have the type's shape and numpy element type."""
        if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
            raise GraphError(
                f"constant {name!r} is {array.dtype}{list(array.shape)}, "
                f"its type says {type_.dtype.value}{list(type_.shape)}"
            )
        blob = blob_of(array)
        digest = digest_of(blob)
        self._new_blobs[digest] = blob
        return self._value(name, type_, digest)

    def output(self, value: int) -> None:
        """Add an output of the graph."""
        self._outputs.append(value)

    def node(
        self,
        name: str,
        attrs: Attrs,
        inputs: tuple[int | None, ...],
        outputs: tuple[tuple[str, TensorType], ...],
        *,
        before: int | None = None,
    ) -> tuple[int, ...]:
        """Add a node at the end, or before the source's node ``before``; the result is its outputs' ids."""
        ids = tuple(self._value(out_name, type_) for out_name, type_ in outputs)
        new = Node(name, attrs, inputs, ids)
        if before is None:
            self._nodes.append(new)
        else:
            self._before.setdefault(before, []).append(new)
        return ids

    def state(self, before: int, after: int, initial: Array) -> None:
        """Make ``before`` (a value without producer) a state variable that ``after`` updates."""
        blob = blob_of(initial)
        digest = digest_of(blob)
        self._new_blobs[digest] = blob
        self._states.append(State(before, after, digest))

    def free_value(self, name: str, type_: TensorType) -> int:
        """Add a value without producer, to be defined by ``state``."""
        return self._value(name, type_)

    def replace_node(self, index: int, node: Node) -> None:
        """Put another node, with the same outputs or some of them replaced, in the place of one."""
        self._nodes[index] = node

    def remove_node(self, index: int) -> None:
        """Drop a node; its outputs must be replaced or unused by the time of ``freeze``."""
        self._nodes[index] = None

    def replace_value(self, old: int, new: int) -> None:
        """Let every reader of ``old``, the graph's outputs included, read ``new``."""
        self._replaced[old] = new

    def freeze(self) -> Graph:
        """The changed graph: unused constants dropped, values numbered in order of definition."""
        if self._frozen:
            raise GraphError("a rewriter freezes only once")
        self._frozen = True
        nodes = [self._resolved(node) for node in self._ordered_nodes()]
        outputs = tuple(self._resolve(value) for value in self._outputs)
        states = [State(s.before, self._resolve(s.after), s.initial) for s in self._states]
        used = {value for node in nodes for value in node.inputs if value is not None}
        used |= {*outputs, *(state.after for state in states)}
        order = list(self._inputs)
        order += [i for i, value in enumerate(self._values) if value.is_constant and i in used]
        order += [state.before for state in states]
        order += [value for node in nodes for value in node.outputs]
        new_id = {old: new for new, old in enumerate(order)}
        if dangling := used - new_id.keys():
            raise GraphError(f"%{min(dangling)} lost its producer", where=f"graph {self._name!r}")
        return Graph(
            name=self._name,
            values=tuple(self._values[old] for old in order),
            nodes=tuple(
                Node(
                    node.name,
                    node.attrs,
                    tuple(None if value is None else new_id[value] for value in node.inputs),
                    tuple(new_id[value] for value in node.outputs),
                )
                for node in nodes
            ),
            inputs=tuple(new_id[value] for value in self._inputs),
            outputs=tuple(new_id[value] for value in outputs),
            states=tuple(State(new_id[s.before], new_id[s.after], s.initial) for s in states),
            subgraphs=self._subgraphs,
            blobs=self._blobs.with_blobs(self._new_blobs),
        )

    def _value(self, name: str, type_: TensorType, digest: str | None = None) -> int:
        self._values.append(Value(name, type_, digest))
        return len(self._values) - 1

    def _ordered_nodes(self) -> list[Node]:
        ordered: list[Node] = []
        for index, node in enumerate(self._nodes):
            ordered += self._before.get(index, [])
            if node is not None:
                ordered.append(node)
        return ordered

    def _resolve(self, value: int) -> int:
        seen = {value}
        while value in self._replaced:
            value = self._replaced[value]
            if value in seen:
                raise GraphError(f"%{value} is replaced by itself")
            seen.add(value)
        return value

    def _resolved(self, node: Node) -> Node:
        inputs = tuple(None if value is None else self._resolve(value) for value in node.inputs)
        return Node(node.name, node.attrs, inputs, node.outputs)
