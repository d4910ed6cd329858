"""The shadow run: a plan that lets two live buffers overlap is caught by running it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.running import graph_of
from tests.tflite_builder import ModelBuilder
from tinydeploy import codegen, memplan
from tinydeploy.build import Compiled, compile_graph
from tinydeploy.codegen import dead_ranges
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import DeviceError
from tinydeploy.kernels.targets import target_of
from tinydeploy.memplan import Buffer, Kind
from tinydeploy.toolchain import HOST, select
from tinydeploy.verify import compare, make_samples


def test_dead_bytes_are_the_gaps_between_live_buffers() -> None:
    requests = [
        Buffer(0, 8, 0, 0, Kind.TENSOR),
        Buffer(1, 4, 0, 1, Kind.TENSOR),
        Buffer(2, 8, 1, 2, Kind.TENSOR),
    ]
    plan = memplan.plan(requests, 3)
    at = {placement.buffer.key: placement.offset for placement in plan.placements}
    assert plan.arena_bytes == 12
    assert (at[0], at[2], at[1]) in {(0, 0, 8), (4, 4, 0)}
    assert dead_ranges(plan, 3) == [(2, at[1], 4)]


def chain() -> Compiled:
    """Input, two layers and a sum with the first: the first must survive the second."""
    builder = ModelBuilder().input((1, 6, 6, 4)).conv2d(4, (1, 1))
    first = builder.current
    builder.conv2d(4, (3, 3)).add(first)
    return compile_graph(graph_of(builder.build()), target_of("host"), name="chain")


@pytest.mark.parametrize("sanitize", [True, False])
def test_a_life_that_ends_too_early_is_found(sanitize: bool, tmp_path: Path) -> None:
    """The plan says that the shortcut dies one step before it is read."""
    compiled = chain()
    shortcut = compiled.program.steps[0].calls[0].output
    placements = tuple(
        dataclasses.replace(p, buffer=dataclasses.replace(p.buffer, last=p.buffer.last - 1))
        if p.buffer.key == shortcut
        else p
        for p in compiled.plan.placements
    )
    plan = dataclasses.replace(compiled.plan, placements=placements)
    library = codegen.generate(compiled.program, plan, "chain")
    wrong = dataclasses.replace(compiled, plan=plan, library=library)
    samples = make_samples(wrong.graph, 3)
    program = build_host(wrong, tmp_path, select("gcc", HOST, sanitize=sanitize), optimize="-O1")
    if sanitize:
        with pytest.raises(DeviceError, match="stopped at sample 0"):
            list(program.run(samples))
    else:
        found = compare(wrong.program, samples, program.run(samples))
        assert found.first_bad_step is not None
        assert found.first_bad_step.op == "Add"


def test_a_right_plan_passes(tmp_path: Path) -> None:
    compiled = chain()
    samples = make_samples(compiled.graph, 3)
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=True), optimize="-O1")
    assert compare(compiled.program, samples, program.run(samples)).bit_exact
