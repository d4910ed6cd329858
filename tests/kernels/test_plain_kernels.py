"""The schedules of plain operators equal the reference, floats within 1e-5, under ASan and UBSan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.plain_graphs import GRAPHS
from tests.running import single_steps
from tinydeploy.build import compile_program
from tinydeploy.emulate.host import build_host
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.base import Kernel
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops import site_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.schedule import candidates
from tinydeploy.toolchain import HOST, select

TARGET = target_of("host")


def kernels_of(graph: Graph, choice: int) -> dict[int, Kernel]:
    """The only schedule of each node, with its knobs of that number."""
    found: dict[int, Kernel] = {}
    for index in range(len(graph.nodes)):
        site = site_of(graph, index)
        (schedule,) = candidates(site, TARGET)
        knobs = schedule.knobs(site, TARGET)
        found[index] = schedule.make(site, knobs[min(choice, len(knobs) - 1)])
    return found


def assert_close(graph: Graph, choice: int, sample: tuple[Array, ...], folder: Path) -> None:
    compiled = compile_program(single_steps(graph, TARGET, kernels_of(graph, choice)), "model")
    program = build_host(compiled, folder, select("gcc", HOST, sanitize=True), optimize="-O0")
    (answer,) = program.run([sample])
    expected = Interpreter(graph).run(sample)
    for value, wanted, got in zip(graph.outputs, expected, answer.outputs, strict=True):
        node = graph.nodes[graph.producers()[value]]
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-37, err_msg=str(node.attrs))


@pytest.mark.parametrize("name", GRAPHS)
def test_plain_kernels_are_close_to_the_reference(name: str, tmp_path: Path) -> None:
    graph, sample = GRAPHS[name]
    assert_close(graph, 0, sample, tmp_path)


def test_images_are_computed_line_by_line_too(tmp_path: Path) -> None:
    graph, sample = GRAPHS["broadcasts"]
    assert_close(graph, 1, sample, tmp_path)
