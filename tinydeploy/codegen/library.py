"""Program and plan to the text of a library that any project can add."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tinydeploy.codegen.literals import c_call
from tinydeploy.codegen.model import Model, build_model
from tinydeploy.codegen.render import render
from tinydeploy.memplan import Plan
from tinydeploy.resources import runtime_dir
from tinydeploy.schedule import Program

Files = dict[str, str]
"""Relative path to text."""


@dataclass(frozen=True, slots=True)
class Library:
    """The files of a model, and the figures that only the generator knows.

    ``descriptor`` is the extra source that firmware and host harness compile; libraries do without.
    """

    prefix: str
    files: Files
    descriptor: Files
    weights_bytes: int
    table_bytes: int
    macs: int
    rounding: str
    hash: str
    data_symbols: frozenset[str]

    @property
    def sources(self) -> tuple[str, ...]:
        """The C files of the library."""
        return tuple(name for name in self.files if name.endswith(".c"))


def generate(program: Program, plan: Plan, prefix: str) -> Library:
    """Generate the library of a verified program under the C prefix ``prefix``. Deterministic."""
    model = build_model(program, plan, prefix)
    names = {
        f"{prefix}.h": "model.h.j2",
        f"{prefix}.c": "model.c.j2",
        f"{prefix}_weights.h": "weights.h.j2",
        f"{prefix}_weights.c": "weights.c.j2",
        "CMakeLists.txt": "CMakeLists.txt.j2",
    }
    if model.checks:
        names[f"{prefix}_selftest.c"] = "selftest.c.j2"
    tools = {"c_call": _call, "prefixed": _prefixed}
    files = {name: render(template, model=model, **tools) for name, template in names.items()}
    files |= _headers(["tinydeploy.h", *map(str, model.headers)])
    return Library(
        prefix=prefix,
        files=files,
        descriptor={f"{prefix}_model.c": render("descriptor.c.j2", model=model)},
        weights_bytes=model.weights_bytes,
        table_bytes=model.table_bytes,
        macs=model.macs,
        rounding=str(model.rounding).strip('"'),
        hash=_hash_text(model),
        data_symbols=frozenset(str(data.symbol) for data in model.data),
    )


def _headers(wanted: list[str]) -> Files:
    """The runtime's headers and those that they include."""
    found: Files = {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = (runtime_dir() / "include" / name).read_text()
            wanted += re.findall(r'^#include "(.+)"$', found[name], re.MULTILINE)
    return dict(sorted(found.items()))


def _call(head: object, arguments: list[object], indent: str, tail: str = ");") -> object:
    return c_call(str(head), map(str, arguments), indent, tail)


def _prefixed(prefix: object, items: list[object]) -> list[str]:
    return [f"{prefix}{item}" for item in items]


def _hash_text(model: Model) -> str:
    return str(model.hash).removeprefix("0x").removesuffix("ULL")
