"""Which value a name means: a graph's names, those of the graphs around it, and a function's attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto

from tinydeploy.errors import Gap
from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.ir import Array


@dataclass(slots=True, eq=False)
class Constant:
    """A value known at import; it enters the graph when a rule takes it as an operand."""

    name: str
    array: Array
    ref: Ref | None = None


@dataclass(slots=True, eq=False)
class Unknown:
    """A value that cannot be had. ``gap`` says why, where that is told only once the value is read."""

    gap: Gap | None = None


@dataclass(slots=True, eq=False)
class Absent:
    """An optional input that the call of a function leaves out."""


Binding = Ref | Constant
"""What a rule can see."""


@dataclass(slots=True)
class Scope:
    """The names of a graph, of a branch inside ``parent``, or of a function's body.

    ``opsets`` are the versions of operators by domain; ``attributes`` what references to a function's
    attributes mean; ``prefix`` goes before the names of nodes.
    """

    opsets: Mapping[str, int]
    prefix: str = ""
    parent: Scope | None = None
    attributes: Mapping[str, AttributeProto] | None = None
    depth: int = 0
    names: dict[str, Binding | Unknown | Absent] = field(default_factory=dict)

    def find(self, name: str) -> Binding | Unknown | Absent | None:
        scope: Scope | None = self
        while scope is not None:
            if (found := scope.names.get(name)) is not None:
                return found
            scope = scope.parent
        return None

    def branch(self, prefix: str) -> Scope:
        """The scope of a graph inside this one."""
        return Scope(self.opsets, prefix, self, self.attributes, self.depth + 1)

    def body(self, opsets: Mapping[str, int], prefix: str, attributes: Mapping[str, AttributeProto]) -> Scope:
        """The scope of the body of a function that is called here."""
        return Scope(opsets, prefix, None, attributes, self.depth + 1)
