"""The band contract carries row segments: layers run row by row through rings, same kernels, same bits."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from tests.running import assert_bit_exact, graph_of
from tests.shared_data import mlperf_model, needs_shared
from tests.tflite_builder import ModelBuilder
from tinydeploy.build import compile_graph, compile_program
from tinydeploy.errors import GraphError
from tinydeploy.frontends import load
from tinydeploy.ir import Graph, Rewriter
from tinydeploy.kernels.base import Banded
from tinydeploy.kernels.targets import Target, target_of
from tinydeploy.ops import site_of
from tinydeploy.schedule import Program, Ring, Step, call_of, candidates, schedule, storage_of, verify
from tinydeploy.schedule.streaming import order, verify_segment


def head(graph: Graph, nodes: int) -> Graph:
    """The first nodes of a chain as a graph of their own."""
    rewriter = Rewriter(dataclasses.replace(graph, outputs=graph.nodes[nodes - 1].outputs))
    for index in range(nodes, len(graph.nodes)):
        rewriter.remove_node(index)
    return rewriter.freeze()


def segment(graph: Graph, target: Target, nodes: range, rows: dict[int, int], band: int = 1) -> Step:
    """Nodes as one segment with one output row a call; ``rows`` gives the ring of each inner node."""
    storage = storage_of(graph)
    calls = []
    for index in nodes:
        site = site_of(graph, index)
        kernel = candidates(site, target)[0].make(site, Banded(band))
        calls.append(call_of(graph, storage, index, kernel))
    rings = tuple(Ring(graph.nodes[index].outputs[0], count) for index, count in rows.items())
    return Step(tuple(calls), rings)


def streamed(graph: Graph, target: Target, nodes: range, rows: dict[int, int]) -> Program:
    """The default program of a chain with its first ``nodes`` as one segment."""
    whole = schedule(graph, target)
    first = segment(graph, target, nodes, rows)
    rest = tuple(step for step in whole.steps if step.calls[0].node not in nodes)
    return dataclasses.replace(whole, steps=(first, *rest))


KWS_RINGS = {0: 3, 1: 1}
"""Depthwise 3x3 needs three rows of the first layer, the pointwise one row of the depthwise."""


@needs_shared
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_the_first_three_layers_of_kws_as_one_segment(core: str, tmp_path: Path) -> None:
    target = target_of(core)
    graph = head(load(mlperf_model("kws")), 3)
    program = streamed(graph, target, range(3), KWS_RINGS)
    compiled = compile_program(program, "kws")
    plan = compiled.plan
    # Input 490 (492 aligned), 3 + 1 rows of 320, output 8,000; whole tensors need 16,000.
    assert plan.tensor_bytes == 492 + 4 * 320 + 8000
    assert plan.arena_bytes == plan.tensor_bytes + (256 if core == "cortex-m4" else 0)
    assert plan.optimal
    assert compile_graph(graph, target).plan.tensor_bytes == 16000
    assert_bit_exact(compiled, tmp_path, samples=8)


@needs_shared
def test_the_whole_of_kws_with_a_segment_in_front(tmp_path: Path) -> None:
    graph = load(mlperf_model("kws"))
    compiled = compile_program(streamed(graph, target_of("host"), range(3), KWS_RINGS), "kws")
    assert_bit_exact(compiled, tmp_path)


@needs_shared
def test_all_nine_convolutions_of_kws_as_one_segment(tmp_path: Path) -> None:
    rings = {index: 1 if index % 2 else 3 for index in range(8)}
    graph = load(mlperf_model("kws"))
    compiled = compile_program(streamed(graph, target_of("host"), range(9), rings), "kws")
    assert compiled.plan.tensor_bytes == 492 + 16 * 320 + 8000
    assert_bit_exact(compiled, tmp_path)


@needs_shared
def test_no_row_is_computed_twice_and_rings_are_tight() -> None:
    graph = head(load(mlperf_model("kws")), 3)
    step = segment(graph, target_of("host"), range(3), KWS_RINGS)
    assert Counter(order(step)) == Counter((call, row) for call in range(3) for row in range(25))
    tight = segment(graph, target_of("host"), range(3), {0: 2, 1: 1})
    with pytest.raises(
        GraphError, match=r"row 0 of %\d+ is read after 1 newer rows took its place in a ring of 2"
    ):
        verify_segment(tight)


def small_chain() -> Graph:
    """Strides, a diamond (a shortcut around two layers) and a second reader of the input."""
    builder = ModelBuilder().input((1, 12, 6, 4), zero_point=3)
    builder.conv2d(4, (3, 3), stride=(1, 1))
    trunk = builder.current
    builder.depthwise(1, (3, 3)).conv2d(4, (1, 1)).add(trunk).conv2d(3, (3, 3), stride=(2, 2))
    return graph_of(builder.build())


def test_operands_without_rows_inside_a_segment(tmp_path: Path) -> None:
    """Elementwise operators run row by row too, with a factor per channel and with whole constants."""
    builder = ModelBuilder().input((1, 8, 5, 4), zero_point=3).input((1, 1, 1, 4), zero_point=-9)
    builder.at(0).conv2d(4, (3, 3)).binary("MUL", 1, scale=0.01).unary("RELU6")
    builder.binary("ADD", builder.constant((1, 1, 5, 1), scale=0.02)).depthwise(1, (3, 3))
    graph = graph_of(builder.build())
    compiled = compile_program(streamed(graph, target_of("host"), range(5), {0: 1, 1: 1, 2: 1, 3: 3}), "rows")
    assert_bit_exact(compiled, tmp_path)


def test_a_shortcut_inside_a_segment(tmp_path: Path) -> None:
    graph = small_chain()
    program = streamed(graph, target_of("host"), range(5), {0: 4, 1: 1, 2: 1, 3: 3})
    compiled = compile_program(program, "diamond")
    assert_bit_exact(compiled, tmp_path)
    assert compiled.plan.arena_bytes < compile_graph(graph, target_of("host")).plan.arena_bytes


def test_an_inner_value_that_is_also_an_output_stays_whole(tmp_path: Path) -> None:
    graph = small_chain()
    graph = dataclasses.replace(graph, outputs=(*graph.outputs, graph.nodes[0].outputs[0]))
    program = streamed(graph, target_of("host"), range(5), {1: 1, 2: 1, 3: 3})
    assert_bit_exact(compile_program(program, "tapped"), tmp_path)


class TestFaults:
    """A wrong program is refused before any C is written."""

    def program(self) -> Program:
        return streamed(small_chain(), target_of("host"), range(5), {0: 4, 1: 1, 2: 1, 3: 3})

    def broken(self, **changes: object) -> Program:
        program = self.program()
        first = dataclasses.replace(program.steps[0], **changes)  # type: ignore[arg-type]
        return dataclasses.replace(program, steps=(first, *program.steps[1:]))

    def test_a_missing_node(self) -> None:
        calls = self.program().steps[0].calls
        with pytest.raises(GraphError, match=r"the program runs the nodes \[0, 1, 2, 3\], the graph has"):
            verify(self.broken(calls=calls[:-1]))

    def test_calls_in_an_order_that_overruns_a_ring(self) -> None:
        calls = self.program().steps[0].calls
        with pytest.raises(GraphError, match=r"step 0: row 0 of %\d+ is read after 8 newer rows took its"):
            verify(self.broken(calls=(calls[1], calls[0], *calls[2:])))

    def test_a_ring_that_nobody_writes(self) -> None:
        with pytest.raises(GraphError, match="ring %0 is not written by its step"):
            verify(self.broken(rings=(Ring(0, 3),)))

    def test_a_ring_of_no_rows(self) -> None:
        value = self.program().steps[0].calls[0].output
        with pytest.raises(GraphError, match="has 0 rows, allowed is a multiple of the band 1 up to 12"):
            verify(self.broken(rings=(Ring(value, 0),)))

    def test_an_output_that_only_a_ring_held(self) -> None:
        program = self.program()
        graph = dataclasses.replace(program.graph, outputs=(program.steps[0].calls[0].output,))
        with pytest.raises(GraphError, match=r"output %\d+ is never written"):
            verify(dataclasses.replace(program, graph=graph))

    def test_an_operand_of_another_node(self) -> None:
        calls = self.program().steps[0].calls
        wrong = dataclasses.replace(calls[1], inputs=calls[2].inputs)
        with pytest.raises(GraphError, match=r"the operands of node .* are not the graph's"):
            verify(self.broken(calls=(calls[0], wrong, *calls[2:])))

    def test_a_step_before_its_producer(self) -> None:
        program = schedule(small_chain(), target_of("host"))
        steps = (program.steps[1], program.steps[0], *program.steps[2:])
        with pytest.raises(GraphError, match=r"step 0: %\d+ is read but not there"):
            verify(dataclasses.replace(program, steps=steps))
