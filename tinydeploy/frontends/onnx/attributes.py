"""The attributes of a node, read with their types checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, TypeVar

from onnx import AttributeProto, GraphProto

from tinydeploy.frontends.onnx.tensors import TensorError, array_of
from tinydeploy.ir import Array

MAX_ITEMS = 1 << 16

T = TypeVar("T")


class Attributes:
    """Typed access by name; ``fault`` makes the exception for a contradiction.

    Each reader takes the operator's default; without one the attribute must be there.
    """

    def __init__(self, protos: Iterable[AttributeProto], fault: Callable[[str], Exception]) -> None:
        self._protos: dict[str, AttributeProto] = {}
        self._fault = fault
        for proto in protos:
            if proto.name in self._protos:
                raise fault(f"attribute {proto.name!r} is given twice")
            self._protos[proto.name] = proto

    def has(self, name: str) -> bool:
        return name in self._protos

    def protos(self) -> tuple[AttributeProto, ...]:
        return tuple(self._protos.values())

    def int_(self, name: str, default: int | None = None) -> int:
        proto = self._get(name, AttributeProto.INT)
        return int(proto.i) if proto is not None else self._given(name, default)

    def float_(self, name: str, default: float | None = None) -> float:
        proto = self._get(name, AttributeProto.FLOAT)
        return float(proto.f) if proto is not None else self._given(name, default)

    def str_(self, name: str, default: str | None = None) -> str:
        proto = self._get(name, AttributeProto.STRING)
        return _text(proto.s) if proto is not None else self._given(name, default)

    def ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        proto = self._get(name, AttributeProto.INTS)
        return self._short(name, proto.ints) if proto is not None else self._given(name, default)

    def floats(self, name: str, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        proto = self._get(name, AttributeProto.FLOATS)
        return self._short(name, proto.floats) if proto is not None else self._given(name, default)

    def strings(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        proto = self._get(name, AttributeProto.STRINGS)
        if proto is None:
            return self._given(name, default)
        return tuple(map(_text, self._short(name, proto.strings)))

    def tensor(self, name: str) -> Array:
        proto = self._get(name, AttributeProto.TENSOR)
        if proto is None:
            self._miss(name)
        try:
            return array_of(proto.t)
        except TensorError as error:
            raise self._fault(f"attribute {name!r}: {error}") from error

    def all_names(self) -> tuple[str, ...]:
        """The names of all attributes that are given."""
        return tuple(self._protos)

    def value(self, name: str) -> int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]:
        """An attribute that is a number, a text, or a list of them."""
        match self._protos[name].type:
            case AttributeProto.INT:
                return self.int_(name)
            case AttributeProto.FLOAT:
                return self.float_(name)
            case AttributeProto.STRING:
                return self.str_(name)
            case AttributeProto.INTS:
                return self.ints(name)
            case AttributeProto.FLOATS:
                return self.floats(name)
            case AttributeProto.STRINGS:
                return self.strings(name)
        raise self._fault(f"attribute {name!r} is neither number nor text")

    def graph(self, name: str) -> GraphProto:
        proto = self._get(name, AttributeProto.GRAPH)
        if proto is None:
            self._miss(name)
        return proto.g

    def _get(self, name: str, kind: int) -> AttributeProto | None:
        proto = self._protos.get(name)
        if proto is not None and proto.type != kind:
            got, wanted = (_kind_name(number) for number in (proto.type, kind))
            raise self._fault(f"attribute {name!r} is of type {got}; it should be {wanted}")
        return proto

    def _given(self, name: str, default: T | None) -> T:
        if default is None:
            self._miss(name)
        return default

    def _short(self, name: str, items: Sequence[T]) -> tuple[T, ...]:
        if len(items) > MAX_ITEMS:
            raise self._fault(f"attribute {name!r} has {len(items)} items; {MAX_ITEMS} are allowed")
        return tuple(items)

    def _miss(self, name: str) -> NoReturn:
        raise self._fault(f"attribute {name!r} is missing")


def _kind_name(number: int) -> str:
    try:
        return str(AttributeProto.AttributeType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
