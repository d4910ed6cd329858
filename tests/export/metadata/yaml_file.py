"""YAML as the foreign tools read it, and a small language for what its mappings may hold."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Without stubs: the package has none.
yaml: Any = importlib.import_module("yaml")

Check = Callable[[object, str], Iterator[str]]
"""Faults of a value, found at a place."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """PyYAML takes the last of equal keys; the specification forbids them."""


def _mapping(loader: Any, node: Any) -> dict[object, object]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.YAMLError(f"the keys {sorted(map(str, twice))} come twice")
    return {
        key: loader.construct_object(value, deep=True)
        for key, (_, value) in zip(keys, node.value, strict=True)
    }


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(text: str) -> object:
    """The document as data; raises ValueError where it is not YAML or repeats a key."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def string(pattern: str = r"(?s).+") -> Check:
    """A string that matches in full: not a number, and not what YAML makes of a bare ``no``."""

    def check(value: object, where: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield f"{where}: {value!r} is not a string"
        elif not re.fullmatch(pattern, value):
            yield f"{where}: {value!r} does not match {pattern}"

    return check


def kind(type_: type) -> Check:
    """A value of exactly this type."""

    def check(value: object, where: str) -> Iterator[str]:
        if type(value) is not type_:
            yield f"{where}: {value!r} is not a {type_.__name__}"

    return check


def one_of(*allowed: object) -> Check:
    """One of these values."""

    def check(value: object, where: str) -> Iterator[str]:
        if value not in allowed:
            yield f"{where}: {value!r} is not one of {allowed}"

    return check


def either(first: Check, second: Check) -> Check:
    """A value that one of the two accepts."""

    def check(value: object, where: str) -> Iterator[str]:
        faults = list(first(value, where))
        if faults and list(second(value, where)):
            yield from faults

    return check


def sequence(item: Check) -> Check:
    """A list of such items, at least one."""

    def check(value: object, where: str) -> Iterator[str]:
        if not isinstance(value, list) or not value:
            yield f"{where}: {value!r} is not a list of something"
            return
        for index, entry in enumerate(value):
            yield from item(entry, f"{where}[{index}]")

    return check


def mapping(known: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    """A mapping of known keys; those in ``required`` must be there."""

    def check(value: object, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where}: {value!r} is not a mapping"
            return
        for key in required:
            if key not in value:
                yield f"{where}: {key} is missing"
        for key, entry in value.items():
            if key in known:
                yield from known[key](entry, f"{where}.{key}")
            else:
                yield f"{where}: {key!r} is not known"

    return check


def mapping_of(key_pattern: str, item: Check) -> Check:
    """A mapping whose keys match, at least one."""

    def check(value: object, where: str) -> Iterator[str]:
        if not isinstance(value, dict) or not value:
            yield f"{where}: {value!r} is not a mapping of something"
            return
        for key, entry in value.items():
            yield from string(key_pattern)(key, f"{where}, key")
            yield from item(entry, f"{where}.{key}")

    return check
