"""The families of kernels equal the reference under ASan and UBSan, whole graphs of them at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernels.operator_graphs import GRAPHS
from tests.running import assert_bit_exact, graph_of, single_steps
from tests.tflite_builder import ModelBuilder
from tinydeploy.build import compile_graph, compile_program
from tinydeploy.ir import Graph
from tinydeploy.kernels.base import Kernel
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops import site_of
from tinydeploy.schedule import candidates, is_view

HOST = target_of("host")


@pytest.mark.parametrize("name", GRAPHS)
def test_a_family_equals_the_reference(name: str, tmp_path: Path) -> None:
    """With the default knobs; and once more with the others, where any node has some."""
    graph = graph_of(GRAPHS[name])
    choices: list[list[Kernel]] = []
    for index, node in enumerate(graph.nodes):
        if not is_view(node):
            site = site_of(graph, index)
            schedule = candidates(site, HOST)[0]
            choices.append([schedule.make(site, knobs) for knobs in schedule.knobs(site, HOST)])
        else:
            choices.append([])
    for number in range(max(map(len, choices))):
        kernels = {index: made[min(number, len(made) - 1)] for index, made in enumerate(choices) if made}
        compiled = compile_program(single_steps(graph, HOST, kernels), "model")
        assert_bit_exact(compiled, tmp_path / str(number))


def test_equal_instances_share_a_function() -> None:
    """Other scales, other tables, the same loops: one C function."""
    builder = ModelBuilder().input((1, 4, 4, 3), scale=0.05)
    for scale in (0.08, 0.09, 0.11):
        other = builder.constant((1, 1, 1, 3), scale=scale)
        builder.at(0).binary("ADD", other, scale=scale).output()
        builder.at(0).unary("QUANTIZE", scale=scale).output()
    source = compile_graph(graph_of(builder.build()), HOST).library.files["model.c"]
    assert source.count("static void model_k") == 2


def test_loops_that_walk_evenly_are_joined() -> None:
    builder = ModelBuilder().input((1, 4, 6, 3), scale=0.05).input((1, 4, 6, 3), scale=0.05)
    builder.binary("ADD", 0).move("TRANSPOSE", (1, 3, 4, 6), (0, 3, 1, 2))
    source = compile_graph(graph_of(builder.build()), HOST).library.files["model.c"]
    assert "for (int32_t i0 = 0; i0 < 72; ++i0) {" in source
    assert "to[" not in source
    assert "out[i0 * 24 + i1] = in0[i0 + i1 * 3];" in source


ZEROS = st.integers(-128, 127)
SCALES = st.sampled_from([0.004, 0.03, 0.2, 1.1])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Nodes side by side on one image with drawn shape, quantization, windows, axes and borders."""
    shape = (1, draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 6)))
    builder = ModelBuilder(draw(st.integers(0, 999)))
    builder.input(shape, scale=draw(SCALES), zero_point=draw(ZEROS))
    scale = builder.scale()
    for op in ("ADD", "SUB", "MUL", "PRELU"):
        extents = [draw(st.sampled_from([1, extent])) for extent in shape[1:]]
        absent = draw(st.integers(0, 2))
        other = builder.constant(extents[absent:], scale=draw(SCALES), zero_point=draw(ZEROS))
        activation = draw(st.sampled_from(["NONE", "RELU", "RELU6"])) if op != "PRELU" else "NONE"
        result = scale * max(builder.scale(other), 0.1) * draw(st.floats(0.5, 40))
        builder.at(0).binary(op, other, activation=activation, scale=result, zero_point=draw(ZEROS)).output()
    for op in ("MEAN", "SUM", "REDUCE_MAX"):
        axes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
        quant = {} if op == "REDUCE_MAX" else {"scale": draw(SCALES), "zero_point": draw(ZEROS)}
        builder.at(0).reduce(op, axes, keep_dims=draw(st.booleans()), **quant).output()
    builder.at(0).index("ARG_MAX", draw(st.integers(0, 3))).output()
    order = draw(st.permutations(range(4)))
    builder.at(0).move("TRANSPOSE", [shape[axis] for axis in order], order).output()
    pairs = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=4))
    padded = [a + extent + b for (a, b), extent in zip(pairs, shape, strict=True)]
    builder.at(0).move("PAD", padded, pairs).output()
    size = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        builder.at(0).move(op, (1, *size, shape[3]), size).output()
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    window = (draw(st.integers(1, shape[1])), draw(st.integers(1, shape[2])))
    for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        builder.at(0).pool(op, window, stride=stride, padding=padding).output()
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    builder.at(0).transpose_conv(2, kernel, stride=stride, padding=padding, zero_point=draw(ZEROS)).output()
    builder.at(0).unary("QUANTIZE", scale=draw(SCALES), zero_point=draw(ZEROS)).output()
    return graph_of(builder.build())


@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_drawn_graphs_equal_the_reference(graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert_bit_exact(compile_graph(graph, HOST, name="model"), Path(folder))
