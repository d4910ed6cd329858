"""The text form of a graph: one line per definition, parses back to an equal graph.

    graph "kws" {
      input %0 "input_1": int8[1, 49, 10, 1] @ 0.58:83
      const %1 "weights": int8[2, 1, 1, 4] @ axis 0 (0.1:0, 0.2:0) = sha256:...
      %2 "sum": int8[1, 25, 5, 64] @ 0.02:-128 = Conv2D(stride=(2, 2)) "conv" (%0, %1, -)
      output %2
    }

Names are JSON strings in ASCII, attributes are keyword arguments in Python's own syntax, members of closed
sets are written ``Class.MEMBER``, and an absent optional input is ``-``.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import typing
from collections.abc import Iterator, Mapping
from enum import Enum

from tinydeploy.errors import GraphError
from tinydeploy.ir.blobs import BlobStore
from tinydeploy.ir.graph import Attrs, Graph, Node, State, Value
from tinydeploy.ir.types import DType, Quant, TensorType


def to_text(graph: Graph) -> str:
    """The text of a graph, subgraphs included; the data of constants is named by digest only."""
    return "\n".join(_lines(graph, "")) + "\n"


def _lines(graph: Graph, indent: str) -> Iterator[str]:
    inner = indent + "  "
    yield f"{indent}graph {json.dumps(graph.name)} {{"
    for value in graph.inputs:
        yield f"{inner}input {_definition(graph, value)}"
    for value in graph.constants():
        yield f"{inner}const {_definition(graph, value)} = sha256:{graph.values[value].digest}"
    for state in graph.states:
        yield f"{inner}state {_definition(graph, state.before)} -> %{state.after} = sha256:{state.initial}"
    for node in graph.nodes:
        outputs = ", ".join(_definition(graph, value) for value in node.outputs)
        inputs = ", ".join("-" if value is None else f"%{value}" for value in node.inputs)
        yield f"{inner}{outputs} = {attrs_text(node.attrs)} {json.dumps(node.name)} ({inputs})"
    for value in graph.outputs:
        yield f"{inner}output %{value}"
    for subgraph in graph.subgraphs:
        yield from _lines(subgraph, inner)
    yield f"{indent}}}"


def _definition(graph: Graph, value: int) -> str:
    return f"%{value} {json.dumps(graph.values[value].name)}: {type_text(graph.type(value))}"


def type_text(type_: TensorType) -> str:
    """``int8[1, 8] @ 0.5:-128``, or ``@ axis 0 (0.5:0, 0.25:0)`` per channel."""
    text = f"{type_.dtype.value}[{', '.join(map(str, type_.shape))}]"
    if type_.quant is None:
        return text
    pairs = ", ".join(
        f"{scale!r}:{zero}" for scale, zero in zip(type_.quant.scales, type_.quant.zero_points, strict=True)
    )
    return f"{text} @ {pairs}" if type_.quant.per_tensor else f"{text} @ axis {type_.quant.axis} ({pairs})"


def attrs_text(attrs: Attrs) -> str:
    """``Conv2D(stride=(1, 1), padding=...)``."""
    fields = dataclasses.fields(attrs)  # type: ignore[arg-type]
    pairs = (f"{field.name}={_literal(getattr(attrs, field.name))}" for field in fields)
    return f"{type(attrs).__name__}({', '.join(pairs)})"


def _literal(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return ascii(value)
    return repr(value)


_STRING = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"[-+.0-9a-z]+"
_TYPE = rf"[a-z0-9]+\[[0-9, ]*\](?: @ (?:axis \d+ \([^)]*\)|{_NUMBER}:-?\d+))?"
_VALUE = re.compile(rf"%(?P<id>[0-9]+) (?P<name>{_STRING}): (?P<type>{_TYPE})(?:, )?")
_CONST = re.compile(rf"const (?P<value>%[0-9]+ {_STRING}: {_TYPE}) = sha256:(?P<digest>[0-9a-f]{{64}})")
_STATE = re.compile(
    rf"state (?P<value>%[0-9]+ {_STRING}: {_TYPE}) -> %(?P<after>[0-9]+) = sha256:(?P<digest>[0-9a-f]{{64}})"
)
_NODE = re.compile(
    rf"(?P<outputs>(?:%[0-9]+ {_STRING}: {_TYPE}(?:, )?)*) ?= (?P<attrs>\w+\(.*\)) (?P<name>{_STRING}) "
    r"\((?P<inputs>[-%0-9, ]*)\)"
)
_TYPE_PARTS = re.compile(
    r"(?P<dtype>[a-z0-9]+)\[(?P<shape>[0-9, ]*)\]"
    r"(?: @ (?:axis (?P<axis>\d+) \((?P<many>[^)]*)\)|(?P<one>.*)))?"
)


def from_text(text: str, operators: Mapping[str, type[Attrs]], blobs: BlobStore | None = None) -> Graph:
    """Parse a graph. ``operators`` maps the name of each operator to its attributes' class.

    Raises GraphError with the line's number where the text is not a graph.
    """
    reader = _Reader(text, operators, blobs or BlobStore())
    graph = reader.graph()
    reader.expect_end()
    return graph


class _Reader:
    def __init__(self, text: str, operators: Mapping[str, type[Attrs]], blobs: BlobStore) -> None:
        self._lines = [line.strip() for line in text.splitlines()]
        self._next = 0
        self._operators = operators
        self._blobs = blobs

    def fail(self, message: str) -> GraphError:
        return GraphError(message, where=f"line {self._next}")

    def line(self) -> str:
        while self._next < len(self._lines):
            self._next += 1
            if line := self._lines[self._next - 1]:
                return line
        raise self.fail("the text ends inside a graph")

    def expect_end(self) -> None:
        if any(self._lines[self._next :]):
            self._next += 1
            raise self.fail("text after the graph")

    def graph(self) -> Graph:
        return self._graph(self.line())

    def _graph(self, head: str) -> Graph:
        match = re.fullmatch(rf"graph ({_STRING}) \{{", head)
        if not match:
            raise self.fail(f"expected a graph, got {head[:60]!r}")
        values: dict[int, Value] = {}
        inputs: list[int] = []
        outputs: list[int] = []
        nodes: list[Node] = []
        states: list[State] = []
        subgraphs: list[Graph] = []
        while (line := self.line()) != "}":
            if line.startswith("graph "):
                subgraphs.append(self._graph(line))
            elif line.startswith("input "):
                inputs += self._define(values, line.removeprefix("input "))
            elif line.startswith("output "):
                outputs.append(self._id(line.removeprefix("output "), "output"))
            elif const := _CONST.fullmatch(line):
                self._define(values, const["value"], const["digest"])
            elif state := _STATE.fullmatch(line):
                (before,) = self._define(values, state["value"])
                states.append(State(before, self._number(state["after"]), state["digest"]))
            elif node := _NODE.fullmatch(line):
                nodes.append(self._node(values, node))
            else:
                raise self.fail(f"cannot read {line[:60]!r}")
        if sorted(values) != list(range(len(values))):
            raise self.fail("value ids are not 0, 1, 2, ...")
        return Graph(
            self._name(match[1]),
            tuple(values[index] for index in range(len(values))),
            tuple(nodes),
            tuple(inputs),
            tuple(outputs),
            tuple(states),
            tuple(subgraphs),
            self._blobs,
        )

    def _define(self, values: dict[int, Value], text: str, digest: str | None = None) -> list[int]:
        ids: list[int] = []
        position = 0
        while position < len(text):
            match = _VALUE.match(text, position)
            if not match:
                raise self.fail(f"expected a value, got {text[position : position + 60]!r}")
            position = match.end()
            index = self._number(match["id"])
            if index in values:
                raise self.fail(f"%{index} is defined twice")
            values[index] = Value(self._name(match["name"]), self._type(match["type"]), digest)
            ids.append(index)
        return ids

    def _type(self, text: str) -> TensorType:
        match = _TYPE_PARTS.fullmatch(text)
        try:
            if not match:
                raise ValueError(text)
            dtype = DType(match["dtype"])
            shape = tuple(int(part) for part in match["shape"].split(",") if part.strip())
            pairs = match["one"] or match["many"]
            if not pairs:
                return TensorType(dtype, shape)
            split = [pair.rsplit(":", 1) for pair in pairs.split(",")]
            axis = None if match["axis"] is None else int(match["axis"])
            quant = Quant(tuple(float(s) for s, _ in split), tuple(int(z) for _, z in split), axis)
        except ValueError:
            raise self.fail(f"cannot read the type {text[:60]!r}") from None
        return TensorType(dtype, shape, quant)

    def _node(self, values: dict[int, Value], match: re.Match[str]) -> Node:
        parts = [part.strip() for part in match["inputs"].split(",")] if match["inputs"].strip() else []
        inputs = tuple(None if part == "-" else self._id(part, "input") for part in parts)
        attrs = self._attrs(match["attrs"])
        return Node(self._name(match["name"]), attrs, inputs, tuple(self._define(values, match["outputs"])))

    def _name(self, text: str) -> str:
        try:
            return str(json.loads(text))
        except ValueError:
            raise self.fail(f"cannot read the name {text[:60]}") from None

    def _number(self, digits: str) -> int:
        if len(digits) > 9:
            raise self.fail(f"cannot read the value id {digits[:60]!r}")
        return int(digits)

    def _id(self, text: str, what: str) -> int:
        if not re.fullmatch(r"%[0-9]+", text):
            raise self.fail(f"cannot read the {what} {text[:60]!r}")
        return self._number(text[1:])

    def _attrs(self, text: str) -> Attrs:
        try:
            call = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise self.fail(f"cannot read the attributes {text[:60]!r}") from None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise self.fail(f"cannot read the attributes {text[:60]!r}")
        cls = self._operators.get(call.func.id)
        if cls is None:
            raise self.fail(f"unknown operator {call.func.id!r}")
        enums = _enums_of(cls)
        arguments = {str(item.arg): self._evaluate(item.value, enums) for item in call.keywords}
        try:
            return cls(**arguments)
        except TypeError as error:
            raise self.fail(f"{call.func.id}: {error}") from None

    def _evaluate(self, node: ast.expr, enums: Mapping[str, type[Enum]]) -> object:
        if isinstance(node, ast.Tuple):
            return tuple(self._evaluate(item, enums) for item in node.elts)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in enums:
            members = enums[node.value.id].__members__
            if node.attr in members:
                return members[node.attr]
        try:
            return ast.literal_eval(node)
        except (TypeError, ValueError):
            raise self.fail(f"cannot read the attribute {ast.unparse(node)!r}") from None


def _enums_of(cls: type[Attrs]) -> dict[str, type[Enum]]:
    found: dict[str, type[Enum]] = {}
    pending = list(typing.get_type_hints(cls).values())
    while pending:
        hint = pending.pop()
        pending += typing.get_args(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            found[hint.__name__] = hint
    return found
