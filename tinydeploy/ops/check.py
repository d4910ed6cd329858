"""Are the types of a graph what its operators say, and is all of it supported?"""

from __future__ import annotations

from tinydeploy.errors import Gap, GraphError
from tinydeploy.ir import Graph, TensorType
from tinydeploy.ir import verify as verify_structure
from tinydeploy.ops import OPS
from tinydeploy.ops.base import MAX_OPERANDS, AnySite, site_of


def verify(graph: Graph) -> None:
    """Raise GraphError where structure, number of operands or inferred types are wrong."""
    verify_structure(graph)
    for index, node in enumerate(graph.nodes):
        where = f"node {node.name!r} ({node.op})"
        if node.op not in OPS:
            raise GraphError("unknown operator", where=where)
        site = site_of(graph, index)
        check_operands(site, where)
        inferred = _inferred(site, where)
        got = tuple((type_.dtype, type_.shape) for type_ in site.outputs)
        wanted = tuple((type_.dtype, type_.shape) for type_ in inferred)
        if got != wanted:
            raise GraphError(f"outputs are {_text(got)}, the inputs imply {_text(wanted)}", where=where)


def _inferred(site: AnySite, where: str) -> tuple[TensorType, ...]:
    try:
        return OPS[type(site.attrs).__name__].infer(site)
    except (ArithmeticError, LookupError, ValueError) as error:
        given = ", ".join("nothing" if type_ is None else str(list(type_.shape)) for type_ in site.inputs)
        raise GraphError(f"the operator cannot take inputs of the shapes {given}", where=where) from error


def check_operands(site: AnySite, where: str) -> None:
    """Raise GraphError where a required operand is missing or there are too many."""
    roles = OPS[type(site.attrs).__name__].roles
    required = sum(1 for role in roles if not role.endswith(("?", "*")))
    most = MAX_OPERANDS if roles[-1].endswith("*") else len(roles)
    if len(site.inputs) > most or any(not site.has(index) for index in range(required)):
        given = sum(1 for type_ in site.inputs if type_ is not None)
        raise GraphError(f"needs the inputs {', '.join(roles)}, got {given}", where=where)


def gaps(site: AnySite) -> tuple[Gap, ...]:
    """Everything about a node that its operator does not support; nothing behind a broken gate."""
    op = type(site.attrs).__name__
    found: list[Gap] = []
    for constraint in OPS[op].constraints:
        if not constraint.holds(site):
            reason = f"needed: {constraint.doc}; got {constraint.got(site)}"
            found.append(Gap(site.name, op, reason, constraint.remedy))
            if constraint.gate:
                break
    return tuple(found)


def _text(types: tuple[tuple[object, tuple[int, ...]], ...]) -> str:
    return ", ".join(f"{getattr(dtype, 'value', dtype)}{list(shape)}" for dtype, shape in types)
