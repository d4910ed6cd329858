"""Which code a block of constants belongs to: the text that a slot variant compiles to, without names.

Two models of equal layout differ in their constants only. The parts of a layout say in the model's words
what a difference is.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

from tinydeploy.codegen.literals import Raw
from tinydeploy.codegen.model import Model, build_model, rounding_of
from tinydeploy.codegen.render import TOOLS, render
from tinydeploy.codegen.slots import BlockView, exchangeable
from tinydeploy.codegen.views import StepView
from tinydeploy.memplan import Plan
from tinydeploy.schedule import Call, Program

_PREFIX = "m"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the code. ``facts`` are what it was made of; ``crc`` is that of its text."""

    name: str
    facts: tuple[tuple[str, str], ...]
    crc: int


@dataclass(frozen=True, slots=True)
class Layout:
    """``hash`` is the first 8 bytes of the SHA-256 of all code and of the block's members."""

    hash: int
    parts: tuple[Part, ...]

    def to_json(self) -> str:
        """The layout as a file beside an image, for the reasons of later refusals."""
        parts = [{"name": part.name, "facts": dict(part.facts), "crc": part.crc} for part in self.parts]
        return json.dumps({"layout": f"{self.hash:016x}", "parts": parts}, indent=1) + "\n"

    def shown(self, block: BlockView) -> BlockView:
        """The block as templates print it, with this layout."""
        parts = tuple(Raw(f"0x{part.crc:08x}u") for part in self.parts)
        return replace(block, layout=Raw(f"0x{self.hash:016x}ULL"), parts=parts)


@dataclass(frozen=True, slots=True)
class Slots:
    """What ``--slots`` adds to a library: its layout, and the bytes of its constants."""

    layout: Layout
    payload: bytes


def layout_of(program: Program, plan: Plan) -> Layout:
    """The layout of a verified program and its verified plan."""
    model = replace(build_model(program, plan, _PREFIX, slots=True), hash=Raw("0ULL"))
    assert model.block is not None
    members = "\n".join(f"{field.ctype} {field.name} {field.elements}" for field in model.block.fields)
    header, code = (_text(model, name) for name in ("model.h.j2", "model.c.j2"))
    interface, memory = tuple(_interface(program)), tuple(_memory(model, program, plan))
    parts = [
        Part("the interface", interface, zlib.crc32(repr(interface).encode())),
        *(_step(model, program, step) for step in model.steps),
        Part("the memory", memory, zlib.crc32((repr(memory) + members).encode())),
    ]
    digest = hashlib.sha256("\0".join((header, code, members)).encode()).digest()
    return Layout(int.from_bytes(digest[:8], "big"), tuple(parts))


def _text(model: Model, template: str, **more: object) -> str:
    return _COMMENT.sub("", render(template, model=model, **TOOLS, **more))


def _interface(program: Program) -> Iterator[tuple[str, str]]:
    graph = program.graph
    for kind, values in (("input", graph.inputs), ("output", graph.outputs)):
        for index, value in enumerate(values):
            type_ = graph.type(value)
            yield f"{kind} {index}", f"{type_.dtype.value}{list(type_.shape)}"
    yield "the number of steps", str(len(program.steps))
    yield "the size of state variables", str(sum(graph.type(state.before).bytes for state in graph.states))


def _memory(model: Model, program: Program, plan: Plan) -> Iterator[tuple[str, str]]:
    assert model.block is not None
    yield "the number of bytes of the arena", str(plan.arena_bytes)
    yield "the number of bytes of constants", str(model.block.size_bytes)
    yield "the rounding", rounding_of(program.graph)


def _step(model: Model, program: Program, step: StepView) -> Part:
    calls = program.steps[step.index].calls
    used = {str(call.function) for call in step.calls}
    bodies = [f"{f.signature}{f.body}" for f in model.functions if str(f.symbol) in used]
    text = _text(model, "step.c.j2", step=step) + "\n".join(bodies)
    ops = " + ".join(f"{program.graph.nodes[call.node].op} '{_name(program, call)}'" for call in calls)
    facts = tuple(fact for call in calls for fact in _facts(program, call))
    return Part(f"step {step.index} ({ops})", facts, zlib.crc32(_COMMENT.sub("", text).encode()))


def _name(program: Program, call: Call) -> str:
    return program.graph.nodes[call.node].name[:60]


def _facts(program: Program, call: Call) -> Iterator[tuple[str, str]]:
    kernel = exchangeable(call.kernel)
    yield "the operator", program.graph.nodes[call.node].op
    yield "the shape", kernel.title
    yield "the schedule", kernel.instance.schedule
    yield from _flat(kernel.instance.params, "")


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    """The fields of compile-time constants, nested ones too; a pair of limits is a clamp."""
    if is_dataclass(value):
        known = {field.name: getattr(value, field.name) for field in fields(value)}
        if "low" in known and "high" in known:
            yield "the clamp", f"{known.pop('low')}..{known.pop('high')}"
        for key, item in known.items():
            yield from _flat(item, key.replace("_", " "))
    else:
        yield name, str(value)
