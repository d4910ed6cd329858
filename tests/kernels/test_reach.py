"""No schedule is left out: the graphs of this folder's tests reach every one."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kernels import (
    float_graphs,
    integer_graphs,
    operator_graphs,
    plain_graphs,
    test_kernels,
    test_movement,
    test_packed,
    test_recurrent,
    test_sampling,
    test_step_kernels,
)
from tests.running import EVERY_TARGET, graph_of
from tests.running_onnx import graph_of as graph_of_onnx
from tinydeploy.ir import DType, Graph
from tinydeploy.kernels import SCHEDULES
from tinydeploy.ops import site_of
from tinydeploy.schedule import candidates

ELSEWHERE = {"custom/template"}
"""Tested with the operators that it is made for, in tests/frontends/test_custom_operators.py."""


def graphs() -> Iterator[Graph]:
    """Every graph that the tests beside this one compile."""
    yield from (graph_of(data) for data in test_kernels.CASES.values())
    yield from (graph_of(data) for data in operator_graphs.GRAPHS.values())
    yield from (make() for make in test_sampling.GRAPHS.values())
    yield from (graph_of(make().build()) for make in test_step_kernels.GRAPHS.values())
    yield from float_graphs.GRAPHS.values()
    yield from (graph for graph, _ in plain_graphs.GRAPHS.values())
    yield from (integer_graphs.once(dtype) for dtype in ("int8", "int16"))
    yield from test_packed.CASES.values()
    yield test_movement.still_moves(DType.INT8)
    yield test_movement.indexed_moves(DType.INT8, DType.INT32)
    yield graph_of_onnx(test_recurrent.model_of(test_recurrent.CASES))


def test_the_graphs_reach_every_schedule() -> None:
    reached: set[str] = set()
    for graph in graphs():
        for index in range(len(graph.nodes)):
            site = site_of(graph, index)
            for target in EVERY_TARGET:
                reached |= {schedule.name for schedule in candidates(site, target)}
    assert reached | ELSEWHERE == {schedule.name for schedule in SCHEDULES}
