"""The example that every format ships: one run on a test vector, printed and judged, in plain C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy import __version__
from tinydeploy.codegen import Files
from tinydeploy.codegen.literals import CComment, CFloat, CIdent, CString, Raw, c_array
from tinydeploy.codegen.views import C_TYPES
from tinydeploy.export.project import Project
from tinydeploy.export.text import MarkdownText, Word, render
from tinydeploy.ir import Array, DType, TensorType

RELATIVE = 1e-5
"""What floats may differ by, over the largest magnitude that was expected; as in ``tinydeploy.verify``."""

SHOWN = 32
"""How many elements of an output the example prints."""

_LEAST_MAGNITUDE = 1e-6
_WIDE = (DType.INT64, DType.UINT32)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output as the templates see it.

    ``tolerance`` is None where the bits must be right; ``rule`` says in words what is compared.
    """

    tag: CIdent
    macro: CIdent
    ctype: CIdent
    elements: int
    shape: Raw
    values: Raw
    is_float: bool
    tolerance: CFloat | None
    rule: CComment


def example_files(project: Project, *, section: str | None = None) -> Files:
    """``NAME_example.h``, ``.c``, ``NAME_vector.h``, ``.c``: C99 and C++11, of libc ``memcpy`` alone.

    ``section`` is where the arena is placed, for linker scripts that give it a region of its own.
    """
    values = values_of(project)
    return {
        f"{project.name}_{name}": render(
            f"example/{name}.j2", section=None if section is None else CString(section), **values
        )
        for name in ("example.h", "example.c", "vector.h", "vector.c")
    }


def example_sources(project: Project) -> tuple[str, ...]:
    """The C files among ``example_files``."""
    return (f"{project.name}_example.c", f"{project.name}_vector.c")


def values_of(project: Project) -> dict[str, object]:
    """What the templates of every format may print of a project.

    Templates include ``example/figures.md.j2`` (memory and ports) and ``example/end.md.j2`` (making it again,
    licence; it wants ``format``, a Word) in their README.
    """
    compiled, vector = project.compiled, project.vector
    graph, plan, library = compiled.graph, compiled.plan, compiled.library
    inputs, outputs = _ports(project, "in"), _ports(project, "out")
    types = [graph.type(value) for value in graph.outputs]
    return {
        "name": CIdent(project.name),
        "upper": CIdent(project.name.upper()),
        "title": MarkdownText(graph.name),
        "board": None if project.board is None else Word(project.board.name),
        "core": Word(compiled.program.target.core),
        "version": Word(__version__),
        "arena_bytes": plan.arena_bytes,
        "arena_words": max(1, -(-plan.arena_bytes // 8)),
        "weights_bytes": library.weights_bytes,
        "table_bytes": library.table_bytes,
        "vector_bytes": sum(array.nbytes for array in (*vector.inputs, *vector.outputs)),
        "macs": library.macs,
        "states": len(graph.states),
        "inputs": inputs,
        "outputs": outputs,
        "shown": SHOWN,
        "floats": any(port.is_float for port in outputs),
        "wide": Raw("int64" if any(type_.dtype in _WIDE for type_ in types) else "int32"),
        "sources": [Raw(name) for name in project.sources],
        "example_sources": [Raw(name) for name in example_sources(project)],
    }


def _ports(project: Project, kind: str) -> list[Port]:
    graph, vector = project.compiled.graph, project.vector
    ids = graph.inputs if kind == "in" else graph.outputs
    arrays = vector.inputs if kind == "in" else vector.outputs
    return [
        _port(f"{kind}{index}", graph.type(value), array, vector.exact)
        for index, (value, array) in enumerate(zip(ids, arrays, strict=True))
    ]


def _port(tag: str, type_: TensorType, array: Array, exact: bool) -> Port:
    tolerance, rule = _tolerance(type_, array, exact)
    return Port(
        tag=CIdent(tag),
        macro=CIdent(tag.upper()),
        ctype=CIdent(C_TYPES[type_.dtype]),
        elements=array.size,
        shape=Raw(str(list(type_.shape))),
        values=c_array(array),
        is_float=type_.dtype is DType.FLOAT32,
        tolerance=tolerance,
        rule=CComment(rule),
    )


def _tolerance(type_: TensorType, array: Array, exact: bool) -> tuple[CFloat | None, str]:
    """How far an element may be from the reference's, and that in words."""
    if not exact and type_.dtype is DType.FLOAT32:
        magnitudes = np.abs(array[np.isfinite(array)])
        scale = max(float(magnitudes.max(initial=0.0)), _LEAST_MAGNITUDE)
        return CFloat(RELATIVE * scale), "Floats may differ in their last digits from one machine to another."
    if not exact and type_.quant is not None:
        return CFloat(1.0), "Floats lie behind these steps: one may fall on the other side of a boundary."
    return None, "The same bits on every machine."
