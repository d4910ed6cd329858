"""Program and plan to the text of a library that any project can add."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tinydeploy.codegen.layout import Slots, layout_of
from tinydeploy.codegen.model import Model, build_model
from tinydeploy.codegen.render import TOOLS, render
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
    block: Slots | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The C files of the library."""
        return tuple(name for name in self.files if name.endswith(".c"))


def generate(program: Program, plan: Plan, prefix: str, *, slots: bool = False) -> Library:
    """Generate the library of a verified program under the C prefix ``prefix``. Deterministic.

    With ``slots`` the constants lie in one block, which can be exchanged for that of another training; raises
    TinyDeployError for a model without constants.
    """
    model = build_model(program, plan, prefix, slots=slots)
    block: Slots | None = None
    if model.block is not None:
        layout = layout_of(program, plan)
        block = Slots(layout, model.block.payload)
        model = replace(model, block=layout.shown(model.block))
    names = {
        f"{prefix}.h": "model.h.j2",
        f"{prefix}.c": "model.c.j2",
        f"{prefix}_weights.h": "weights.h.j2",
        f"{prefix}_weights.c": "weights.c.j2",
        "CMakeLists.txt": "CMakeLists.txt.j2",
    }
    if model.checks:
        names[f"{prefix}_selftest.c"] = "selftest.c.j2"
    files = {name: render(template, model=model, **TOOLS) for name, template in names.items()}
    needed = ["td_slot_model.h"] if slots else []
    files |= _headers(["tinydeploy.h", *map(str, model.headers), *needed])
    return Library(
        prefix=prefix,
        files=files,
        descriptor={f"{prefix}_model.c": render("descriptor.c.j2", model=model)},
        weights_bytes=model.weights_bytes,
        table_bytes=model.table_bytes,
        macs=model.macs,
        rounding=str(model.rounding).strip('"'),
        hash=_hash_text(model),
        data_symbols=frozenset(str(data.symbol) for data in model.data) | {f"{prefix}_constants"},
        block=block,
    )


def _headers(wanted: list[str]) -> Files:
    """The runtime's headers and those that they include."""
    found: Files = {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = (runtime_dir() / "include" / name).read_text(encoding="utf-8")
            wanted += re.findall(r'^#include "(.+)"$', found[name], re.MULTILINE)
    return dict(sorted(found.items()))


def _hash_text(model: Model) -> str:
    return str(model.hash).removeprefix("0x").removesuffix("ULL")
