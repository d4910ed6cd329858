"""Which graphs promise bits, and which only closeness."""

from __future__ import annotations

from tinydeploy.ir import DType, Graph
from tinydeploy.ops.base import AnySite, is_float, site_of
from tinydeploy.ops.max_roi_pool import MaxRoiPool
from tinydeploy.ops.movement import moved_inputs
from tinydeploy.ops.one_hot import OneHot

_CHOOSE = (MaxRoiPool, OneHot)
"""Operators beside the moves that give floats on as they are."""


def _is_hybrid(site: AnySite) -> bool:
    """Float data times integer weights."""
    first = site.inputs[0] if site.inputs else None
    types = (first, site.outputs[0])
    return all(type_ is not None and type_.dtype is DType.FLOAT32 for type_ in types)


def computes_floats(site: AnySite) -> bool:
    """Whether a node does float arithmetic, whose last bits may differ between machines and references."""
    return (
        (is_float(site) or _is_hybrid(site))
        and not isinstance(site.attrs, _CHOOSE)
        and not moved_inputs(site.attrs, len(site.inputs))
        and any(type_ is not None and type_.dtype is DType.FLOAT32 for type_ in site.inputs)
    )


def is_exact(graph: Graph) -> bool:
    """Whether every value of a graph has the same bits on every machine."""
    return not any(computes_floats(site_of(graph, index)) for index in range(len(graph.nodes)))
