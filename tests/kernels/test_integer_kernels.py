"""Every schedule of operators that round once, with the last choice of its knobs, equals the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.integer_graphs import once
from tests.running import assert_bit_exact, single_steps
from tinydeploy.build import compile_program
from tinydeploy.kernels.targets import TARGETS
from tinydeploy.ops import site_of
from tinydeploy.schedule import candidates, is_view

ONCE = {
    "average_pool_2d/once",
    "elementwise/once",
    "lookup/interpolated",
    "lookup/scalar",
    "normalization/once",
    "softmax/log_once",
    "softmax/once",
}


@pytest.mark.parametrize("dtype", ["int8", pytest.param("int16", marks=pytest.mark.slow)])
def test_the_last_knobs_of_every_schedule(dtype: str, tmp_path: Path) -> None:
    target = TARGETS["cortex-m4"]
    graph = once(dtype)
    kernels = {}
    for index, node in enumerate(graph.nodes):
        if is_view(node):
            continue
        site = site_of(graph, index)
        schedule = candidates(site, target)[0]
        kernels[index] = schedule.make(site, schedule.knobs(site, target)[-1])
    reached = {kernel.instance.schedule for kernel in kernels.values()}
    assert reached >= ONCE - {"lookup/scalar" if dtype == "int16" else "lookup/interpolated"}
    compiled = compile_program(single_steps(graph, target, kernels), "model")
    assert_bit_exact(compiled, tmp_path, samples=2)
