"""Are the types of a graph what its operators say, and is all of it supported?"""

from __future__ import annotations

from tinydeploy.errors import Gap, GraphError
from tinydeploy.ir import Graph
from tinydeploy.ir import verify as verify_structure
from tinydeploy.ops import OPS
from tinydeploy.ops.base import AnySite, site_of


def verify(graph: Graph) -> None:
    """Raise GraphError where structure, number of operands or inferred types are wrong."""
    verify_structure(graph)
    for index, node in enumerate(graph.nodes):
        where = f"node {node.name!r} ({node.op})"
        if node.op not in OPS:
            raise GraphError("unknown operator", where=where)
        site = site_of(graph, index)
        check_operands(site, where)
        inferred = OPS[node.op].infer(site)
        got = tuple((type_.dtype, type_.shape) for type_ in site.outputs)
        wanted = tuple((type_.dtype, type_.shape) for type_ in inferred)
        if got != wanted:
            raise GraphError(f"outputs are {_text(got)}, the inputs imply {_text(wanted)}", where=where)


def check_operands(site: AnySite, where: str) -> None:
    """Raise GraphError where a required operand is missing or there are too many."""
    roles = OPS[type(site.attrs).__name__].roles
    required = sum(1 for role in roles if not role.endswith("?"))
    if len(site.inputs) > len(roles) or any(not site.has(index) for index in range(required)):
        given = sum(1 for type_ in site.inputs if type_ is not None)
        raise GraphError(f"needs the inputs {', '.join(roles)}, got {given}", where=where)


def gaps(site: AnySite) -> tuple[Gap, ...]:
    """Everything about a node that its operator does not support."""
    return tuple(
        Gap(
            site.name,
            type(site.attrs).__name__,
            f"needed: {constraint.doc}; got {constraint.got(site)}",
            constraint.remedy,
        )
        for constraint in OPS[type(site.attrs).__name__].constraints
        if not constraint.holds(site)
    )


def _text(types: tuple[tuple[object, tuple[int, ...]], ...]) -> str:
    return ", ".join(f"{getattr(dtype, 'value', dtype)}{list(shape)}" for dtype, shape in types)
