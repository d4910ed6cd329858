"""Build what a test compiled, run it on this machine, and compare it with the reference."""

from __future__ import annotations

from pathlib import Path

from tinydeploy.build import Compiled, compile_program
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import Graph
from tinydeploy.kernels.base import Kernel, Schedule
from tinydeploy.kernels.targets import TARGETS, Target
from tinydeploy.ops import site_of
from tinydeploy.schedule import Program, Step, call_of, candidates, is_view, storage_of
from tinydeploy.toolchain import HOST, select
from tinydeploy.verify import make_samples
from tinydeploy.verify.compare import compare

EVERY_TARGET = tuple({target.features: target for target in reversed(TARGETS.values())}.values())
"""One of each set of features: schedules ask for nothing else."""


def graph_of(data: bytes, name: str = "model") -> Graph:
    """The graph of a .tflite file in memory."""
    return load_bytes(data, name)


def single_steps(graph: Graph, target: Target, kernels: dict[int, Kernel]) -> Program:
    """A program of one step per node with the given kernel for each."""
    storage = storage_of(graph)
    steps = tuple(
        Step((call_of(graph, storage, index, kernels[index]),))
        for index, node in enumerate(graph.nodes)
        if not is_view(node)
    )
    return Program(graph, target, steps, storage)


def every_schedule(graph: Graph, node: int) -> list[tuple[Target, Schedule]]:
    """Each schedule that applies to a node on any target, once."""
    site = site_of(graph, node)
    found: dict[str, tuple[Target, Schedule]] = {}
    for target in EVERY_TARGET:
        for schedule in candidates(site, target):
            found.setdefault(schedule.name, (target, schedule))
    return list(found.values())


def assert_bit_exact(
    compiled: Compiled, folder: Path, *, samples: int = 4, toolchain: str = "gcc", sanitize: bool = True
) -> None:
    """Build with warnings as errors (and ASan and UBSan), run, compare every instance with the reference.

    Graphs that compute with floats are compared within the tolerance of ``verify``.
    """
    compiler = select(toolchain, HOST, sanitize=sanitize)
    program = build_host(compiled, folder, compiler, optimize="-O1")
    chosen = make_samples(compiled.graph, samples)
    found = compare(compiled.program, chosen, program.run(chosen))
    assert found.passed, f"{found.mismatches} outputs differ; first: {found.first_bad_step}, {found.worst}"


def assert_kernel_bit_exact(
    graph: Graph, target: Target, schedule: Schedule, folder: Path, node: int = 0
) -> None:
    """A graph of one node through one schedule, for each choice of its knobs."""
    site = site_of(graph, node)
    for index, knobs in enumerate(schedule.knobs(site, target)):
        kernel = schedule.make(site, knobs)
        compiled = compile_program(single_steps(graph, target, {node: kernel}), "model")
        assert_bit_exact(compiled, folder / f"knobs{index}")
