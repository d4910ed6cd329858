"""Devicetree source (Devicetree Specification 0.4, chapter 6) to a tree of nodes; no preprocessor.

Labels, references, ``/delete-node/``, ``/delete-property/``, cells of any ``/bits/``, expressions, strings
and byte strings are read. Nodes that are given twice are merged, as dtc does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tinydeploy.boards.new.arithmetic import Arithmetic, Token, tokens
from tinydeploy.errors import TinyDeployError

_TOKENS = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<directive>/(?:dts-v1|plugin|memreserve|delete-node|delete-property|omit-if-no-ref|bits|include|incbin)/?)
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<character>'(?:\\.[0-9a-fA-F]*|[^'\\])')
    |(?P<reference>&(?:\{[^}\n]*\}|[A-Za-z_][A-Za-z0-9_]*))
    |(?P<word>\#?[A-Za-z0-9_][A-Za-z0-9_,.+?\#@-]*)
    |(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[{}();:=<>\[\],/~!%^&|*+?-])""",
    re.VERBOSE | re.DOTALL,
)
_PREPROCESSOR = re.compile(r"^[ \t]*#[ \t]*(?:include|define|undef|if|ifdef|ifndef|else|elif|endif)\b", re.M)
_PIECES = re.compile(r"0[xX][0-9a-fA-F]+[uUlL]*|\w+|[-+?]")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Reference:
    """``&label`` or ``&{/path}``."""

    name: str


Value = str | bytes | Reference | tuple[int | Reference, ...]
"""A string, a byte string, a path by reference, or a list of cells."""


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree while and after it is built; ``line`` is where it first stands."""

    name: str
    parent: Node | None
    line: int
    labels: list[str] = field(default_factory=list)
    values: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children.values():
            yield from child

    @property
    def label(self) -> str:
        """The first label, or the name without its address."""
        return self.labels[0] if self.labels else self.name.partition("@")[0]

    def strings(self, key: str) -> tuple[str, ...]:
        return tuple(value for value in self.values.get(key, ()) if isinstance(value, str))

    def cells(self, key: str) -> tuple[int | Reference, ...]:
        return tuple(cell for value in self.values.get(key, ()) if isinstance(value, tuple) for cell in value)

    def numbers(self, key: str) -> tuple[int, ...]:
        return tuple(cell for cell in self.cells(key) if isinstance(cell, int))

    def number(self, key: str, default: int = 0) -> int:
        return next(iter(self.numbers(key)), default)

    @property
    def is_enabled(self) -> bool:
        return self.strings("status") in ((), ("okay",), ("ok",))


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole file. ``labels`` leads from every label to its node."""

    path: Path
    root: Node
    labels: dict[str, Node]

    def find(self, what: str | Reference) -> Node | None:
        """The node of a path, an alias or a reference; None where there is none."""
        if isinstance(what, Reference):
            if not what.name.startswith("{"):
                return self.labels.get(what.name)
            what = what.name.strip("{}")
        if not what.startswith("/"):
            aliases = self.root.children.get("aliases")
            target = aliases.values.get(what.partition(":")[0], ()) if aliases else ()
            return self.follow(target[0]) if target else None
        node: Node | None = self.root
        for part in what.partition(":")[0].strip("/").split("/"):
            if part and node is not None:
                found = node.children.get(part)
                short = [child for name, child in node.children.items() if name.partition("@")[0] == part]
                node = found or (short[0] if len(short) == 1 else None)
        return node

    def follow(self, value: Value) -> Node | None:
        """The node that a value names: a path, a reference, or cells that begin with one or a phandle."""
        if isinstance(value, str | Reference):
            return self.find(value)
        if isinstance(value, tuple) and value:
            first = value[0]
            if isinstance(first, Reference):
                return self.find(first)
            return next((node for node in self.root if node.number("phandle", -1) == first), None)
        return None

    def error(self, node: Node, what: str, fix: str = "") -> TinyDeployError:
        return TinyDeployError(what, where=f"{self.path}:{node.line}", fix=fix)


def parse_dts(path: Path, text: str) -> Tree:
    """The tree of a file. Raises TinyDeployError with file and line where it is not devicetree source."""
    directive = _PREPROCESSOR.search(text)
    if directive is not None:
        raise TinyDeployError(
            f"holds {directive[0].strip()!r}, which the C preprocessor has to replace first",
            where=f"{path}:{text.count(chr(10), 0, directive.start()) + 1}",
            fix="Give the zephyr.dts that a build leaves in build/zephyr",
        )
    return _Parser(path, list(tokens(path, text, _TOKENS, opening="\"'/"))).parse()


class _Parser(Arithmetic):
    def __init__(self, path: Path, tokens: list[Token]) -> None:
        super().__init__(path, tokens)
        self._root = Node("/", None, 1)
        self._labels: dict[str, Node] = {}

    def parse(self) -> Tree:
        while self.token.kind != "end":
            if self.token.kind == "directive":
                self._directive()
            else:
                self._top()
        return Tree(self.path, self._root, self._labels)

    def _directive(self) -> None:
        """A directive at the top of the file."""
        word = self.take().text.strip("/")
        if word in ("include", "incbin"):
            raise self.error(f"/{word}/ is not followed", fix="Give the zephyr.dts that a build leaves")
        if word == "delete-node":
            self._delete(self._root, self.take())
            self.expect(";")
        elif word in ("dts-v1", "plugin", "memreserve"):
            while self.take_if(";") is None:
                self.take()

    def _top(self) -> None:
        labels = self._labels_here()
        token = self.take()
        if token.text == "/":
            node = self._root
        elif token.kind == "reference":
            found = Tree(self.path, self._root, self._labels).find(Reference(token.text[1:]))
            if found is None:
                raise self.error(f"{token.text} is no node of this file", token)
            node = found
        else:
            raise self.error(f"got {token.text!r} where a node is allowed: / or &label", token)
        self._name(node, labels)
        self._body(node, 0)

    def _labels_here(self) -> list[str]:
        labels = []
        while self.token.kind == "word" and self.ahead(1).text == ":" and _LABEL.match(self.token.text):
            labels.append(self.take().text)
            self.take()
        return labels

    def _name(self, node: Node, labels: list[str]) -> None:
        for label in labels:
            self._labels[label] = node
            if label not in node.labels:
                node.labels.append(label)

    def _body(self, node: Node, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self.error(f"nodes lie more than {_MAX_DEPTH} deep")
        self.expect("{")
        while self.take_if("}") is None:
            self._entry(node, depth)
        self.expect(";")

    def _entry(self, node: Node, depth: int) -> None:
        """A child, a property or a directive inside a node."""
        if self.token.kind == "directive":
            word = self.take().text.strip("/")
            if word == "omit-if-no-ref":
                return
            if word not in ("delete-node", "delete-property"):
                raise self.error(f"/{word}/ is not allowed in a node")
            target = self.take()
            if word == "delete-property":
                node.values.pop(target.text, None)
            else:
                self._delete(node, target)
            self.expect(";")
            return
        labels = self._labels_here()
        token = self.take()
        if token.kind != "word":
            raise self.error(f"got {token.text!r} where a node or a property is allowed", token)
        if self.token.text == "{":
            child = node.children.setdefault(token.text, Node(token.text, node, token.line))
            self._name(child, labels)
            self._body(child, depth + 1)
        elif self.take_if("="):
            node.values[token.text] = self._values()
        else:
            self.expect(";")
            node.values[token.text] = ()

    def _delete(self, node: Node, target: Token) -> None:
        if target.kind == "reference":
            found = self._labels.get(target.text[1:])
        else:
            found = node.children.get(target.text)
        if found is None:
            raise self.error(f"{target.text} is no node here, so it cannot be deleted", target)
        if found.parent is not None:
            del found.parent.children[found.name]
        gone = set(found)
        self._labels = {label: kept for label, kept in self._labels.items() if kept not in gone}

    def _values(self) -> tuple[Value, ...]:
        found: list[Value] = []
        while True:
            self._labels_here()
            found.append(self._value())
            self._labels_here()
            if self.take_if(";"):
                return tuple(found)
            self.expect(",")

    def _value(self) -> Value:
        token = self.take()
        if token.kind == "string":
            return token.text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        if token.kind == "reference":
            return Reference(token.text[1:])
        if token.text == "/bits/":
            self.take()
            token = self.take()
        if token.text == "<":
            return self._cells()
        if token.text == "[":
            return self._bytes()
        raise self.error(
            f'got {token.text!r} where a value is allowed: "text", <cells>, [bytes] or &label', token
        )

    def _cells(self) -> tuple[int | Reference, ...]:
        cells: list[int | Reference] = []
        while self.take_if(">") is None:
            self._labels_here()
            if self.token.kind == "reference":
                cells.append(Reference(self.take().text[1:]))
            elif self.take_if("("):
                self._split_words()
                cells.append(self.expression())
                self.expect(")")
            elif self.token.kind == "character":
                cells.append(ord(self.take().text[1:-1][-1]))
            elif self.token.text != ">":
                cells.append(self.number())
        return tuple(cells)

    def _split_words(self) -> None:
        """Names may hold ``-``, ``+`` and ``?``; inside round brackets these are operators."""
        end, depth = self._at, 1
        while depth and self._tokens[end].kind != "end":
            depth += {"(": 1, ")": -1}.get(self._tokens[end].text, 0)
            end += 1
        pieces = [
            Token(token.kind, piece, token.line)
            for token in self._tokens[self._at : end]
            for piece in (_PIECES.findall(token.text) if token.kind == "word" else [token.text])
        ]
        self._tokens[self._at : end] = pieces

    def _bytes(self) -> bytes:
        digits = ""
        while self.take_if("]") is None:
            token = self.take()
            digits += token.text
            if token.kind != "word":
                raise self.error(
                    f"got {token.text!r} between [ and ], where hexadecimal bytes are allowed", token
                )
        try:
            return bytes.fromhex(digits)
        except ValueError:
            raise self.error(f"[{digits}] are no hexadecimal bytes") from None
