"""Graphs of the operators that round once, as the pass ``integerize`` makes them."""

from __future__ import annotations

from tests.golden.ort_nodes import integer_graph
from tests.golden.qdq_cases import CASES
from tests.golden.qdq_models import QdqBuilder
from tinydeploy.ir import Graph

NAMES = ("binary", "functions", "normalizations", "pools", "reductions", "softmax")


def once(dtype: str) -> Graph:
    """Elementwise operators, tables, pools, reductions, normalizations: what has a kernel of its own."""
    builder = QdqBuilder(2, dtype)
    for name in NAMES:
        CASES[name](builder)
    return integer_graph(builder.model())
