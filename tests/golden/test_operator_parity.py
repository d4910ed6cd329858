"""The numpy references of elementwise, reducing and moving operators have TFLM's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.tflm import assert_same_tensors, random_inputs
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ops.interpreter import Interpreter

SAMPLES = 5


def check(builder: ModelBuilder, samples: int = SAMPLES) -> None:
    data = builder.build()
    graph = load_bytes(data, "generated")
    assert assert_same_tensors(data, graph, random_inputs(graph, samples, seed=11)) > 0


def image(scale: float = 0.037, zero_point: int = -11, shape: tuple[int, ...] = (1, 6, 4, 3)) -> ModelBuilder:
    return ModelBuilder().input(shape, scale=scale, zero_point=zero_point)


def every_step(scale: float, zero_point: int) -> tuple[ModelBuilder, list[list[np.ndarray]]]:
    """A model of 256 elements and the sample that holds each step once."""
    builder = ModelBuilder().input((1, 256), scale=scale, zero_point=zero_point)
    return builder, [[np.arange(-128, 128).astype(np.int8).reshape(1, 256)]]


def check_every_step(builder: ModelBuilder, samples: list[list[np.ndarray]]) -> None:
    data = builder.build()
    assert assert_same_tensors(data, load_bytes(data, "generated"), samples) > 0


SHAPES = [
    ((1, 6, 4, 3), (1, 6, 4, 3)),
    ((1, 6, 4, 3), (1, 1, 1, 3)),
    ((1, 6, 4, 3), (3,)),
    ((1, 6, 4, 3), (1,)),
    ((1, 6, 1, 3), (1, 1, 4, 1)),
    ((4, 1), (2, 1, 5)),
    ((1, 1, 4, 1), (1, 6, 4, 3)),
]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_arithmetic(op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for activation, scales in (
        ("NONE", (0.05, 0.05, 0.11)),
        ("RELU6", (0.021, 0.9, 0.7)),
        ("RELU_N1_TO_1", (1.3, 0.004, 0.02)),
    ):
        builder = ModelBuilder().input(shapes[0], scale=scales[0], zero_point=-128)
        builder.input(shapes[1], scale=scales[1], zero_point=127).at(0)
        builder.binary(op, 1, activation=activation, scale=scales[2] if op != "MUL" else 0.3, zero_point=-3)
        check(builder)


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"])
def test_constant_operands_on_either_side(op: str) -> None:
    for first in (True, False):
        builder = image()
        quant: dict[str, Any] = {"scale": 0.037, "zero_point": -11}
        other = builder.constant((1, 1, 1, 3), **quant)
        sides = (0, other) if first else (other, 0)
        check(builder.at(sides[0]).binary(op, sides[1], **quant))


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_extremes(op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    builder = ModelBuilder().input(shapes[0], scale=0.1).input(shapes[1], scale=0.1).at(0)
    check(builder.binary(op, 1, scale=0.1))


@pytest.mark.parametrize("shape", [(3,), (1, 1, 3), (6, 4, 3), (1, 1, 1)])
def test_prelu(shape: tuple[int, ...]) -> None:
    builder = image()
    alpha = builder.constant(shape, scale=0.007, zero_point=5)
    check(builder.at(0).binary("PRELU", alpha, scale=0.05, zero_point=9))


SCALES = [0.0004, 0.011, 0.0625, 0.4, 1.9]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("zero_point", [-128, 0, 41, 127])
def test_sigmoids(scale: float, zero_point: int) -> None:
    builder, samples = every_step(scale, zero_point)
    builder.unary("LOGISTIC", scale=1 / 256, zero_point=-128)
    builder.at(0).unary("TANH", scale=1 / 128)
    builder.outputs = [1, 2]
    check_every_step(builder, samples)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("zero_point", [-128, 0, 41, 127])
def test_functions_of_one_element(scale: float, zero_point: int) -> None:
    builder, samples = every_step(scale, zero_point)
    for ratio, out in ((1.0, zero_point), (1.37, -128), (0.31, 17)):
        builder.at(0).unary("RELU", scale=scale * ratio, zero_point=out)
        builder.at(0).unary("QUANTIZE", scale=scale * ratio, zero_point=out)
        for alpha in (0.0, 0.1, 0.3, 1.7):
            options = schema.LeakyReluOptionsT(alpha=alpha)
            builder.at(0).unary("LEAKY_RELU", options, scale=scale * ratio, zero_point=out)
        builder.at(0).unary("HARD_SWISH", scale=scale * ratio, zero_point=out)
    builder.at(0).unary("RELU6")
    builder.outputs = list(range(1, len(builder.tensors)))
    check_every_step(builder, samples)


def test_relu_n1_to_1_and_0_to_1_are_clamps_on_the_output_s_scale() -> None:
    """TFLM has neither; on one scale they are exact by definition."""
    builder, samples = every_step(0.02, 10)
    builder.unary("RELU_N1_TO_1").at(0).unary("RELU_0_TO_1")
    builder.outputs = [1, 2]
    graph = load_bytes(builder.build(), "clamps")
    both = Interpreter(graph).run(samples[0])
    np.testing.assert_array_equal(both[0], np.clip(samples[0][0], -40, 60))
    np.testing.assert_array_equal(both[1], np.clip(samples[0][0], 10, 60))


def test_float_edges() -> None:
    values = np.concatenate(
        [np.arange(-80, 80) / 2 * np.float32(0.11), np.linspace(-20, 20, 96), [1e8, -1e8, 0.0, -0.0]]
    )
    sample = values.astype(np.float32).reshape(1, -1)
    builder = ModelBuilder().input(sample.shape, dtype="float32", scale=None)
    builder.unary("QUANTIZE", scale=0.11, zero_point=-7)
    builder.unary("DEQUANTIZE", dtype="float32", scale=None)
    check_every_step(builder, [[sample]])


@pytest.mark.parametrize("keep_dims", [True, False])
@pytest.mark.parametrize("axes", [(1, 2), (2,), (0, 3), (-1,), (3, 1, 1), (0, 1, 2, 3)])
def test_reductions(axes: tuple[int, ...], keep_dims: bool) -> None:
    builder = image()
    for op, scale in (("MEAN", 0.029), ("MEAN", 0.0001), ("MEAN", 0.5), ("SUM", 0.4), ("SUM", 0.037)):
        builder.at(0).reduce(op, axes, keep_dims=keep_dims, scale=scale, zero_point=31).output()
    for op in ("REDUCE_MAX", "REDUCE_MIN", "MEAN"):
        builder.at(0).reduce(op, axes, keep_dims=keep_dims).output()
    check(builder)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_indices(axis: int) -> None:
    builder = image(shape=(3, 5, 4)).index("ARG_MAX", axis).output().at(0).index("ARG_MIN", axis).output()
    check(builder)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_max_pool(padding: str, activation: str) -> None:
    builder = image(shape=(1, 9, 8, 3))
    for size, stride in (((2, 2), (2, 2)), ((3, 4), (1, 2)), ((9, 8), (1, 1)), ((5, 5), (3, 3))):
        builder.at(0).pool("MAX_POOL_2D", size, stride=stride, padding=padding, activation=activation)
        builder.output()
    check(builder)


def test_pads() -> None:
    builder = image()
    pairs = [[0, 0], [1, 2], [0, 3], [2, 0]]
    shape = (1, 9, 7, 5)
    builder.move("PAD", shape, pairs).output()
    value = builder.constant((1,), scale=0.037, zero_point=-11)
    builder.at(0).move("PADV2", shape, pairs)
    builder.operators[-1].inputs.append(value)
    builder.output()
    for mode in (0, 1):
        options = schema.MirrorPadOptionsT(mode=mode)
        builder.at(0).move("MIRROR_PAD", shape, pairs, options=options).output()
    check(builder)


def test_slices() -> None:
    builder = image()
    builder.move("SLICE", (1, 2, 4, 1), [0, 3, 0, 2], [1, 2, -1, 1]).output()
    for begin, end, stride, masks, shape in (
        ((0, 5, 3, 2), (1, -7, 0, -9), (1, -2, -1, -1), {}, (1, 3, 3, 3)),
        ((0, 1, 9, 0), (1, 6, -9, 2), (1, 2, -3, 1), {"beginMask": 4, "endMask": 4}, (1, 3, 2, 2)),
        ((0, -2, 0, 1), (1, 0, 4, 9), (1, 1, 2, 1), {"shrinkAxisMask": 10}, (1, 2)),
    ):
        options = schema.StridedSliceOptionsT(**masks)
        builder.at(0).move("STRIDED_SLICE", shape, begin, end, stride, options=options).output()
    check(builder)


def test_splits_and_concatenations() -> None:
    builder = image()
    builder.split(1, (2, 2, 2), op="SPLIT")
    builder.outputs += builder.operators[-1].outputs
    builder.at(0).split(2, (1, 3))
    builder.outputs += builder.operators[-1].outputs
    builder.at(builder.operators[0].outputs[2])
    builder.concatenate([0, builder.operators[0].outputs[0]], 1).output()
    builder.concatenate([builder.constant((1, 10, 4, 2), scale=0.037, zero_point=-11)], 3).output()
    check(builder)


def test_concatenation_brings_inputs_to_the_output_s_scale_as_quantize_would() -> None:
    """TFLM refuses such a file; the same with a QUANTIZE before each input is the oracle."""

    def inputs() -> ModelBuilder:
        builder = ModelBuilder().input((1, 5, 8), scale=0.1, zero_point=3)
        return builder.input((1, 5, 4), scale=0.02, zero_point=-100).input((1, 5, 2), scale=0.3)

    direct = inputs().at(0).concatenate([1, 2], 2, scale=0.05, zero_point=7)
    twin = inputs()
    for index in range(3):
        twin.at(index).unary("QUANTIZE", scale=0.05, zero_point=7)
    twin.at(3).concatenate([4, 5], 2)
    data = twin.build()
    graph = load_bytes(data, "twin")
    samples = random_inputs(graph, SAMPLES, seed=3)
    assert assert_same_tensors(data, graph, samples) > 0
    ours = Interpreter(load_bytes(direct.build(), "direct"))
    for sample in samples:
        np.testing.assert_array_equal(ours.run(sample)[0], Interpreter(graph).run(sample)[0])


def test_other_moves() -> None:
    builder = image(shape=(1, 6, 4, 8))
    for order in ((0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3)):
        exchanged = [builder.shape(0)[axis] for axis in order]
        builder.at(0).move("TRANSPOSE", exchanged, order).output()
    options = schema.SpaceToDepthOptionsT(blockSize=2)
    builder.at(0).move("SPACE_TO_DEPTH", (1, 3, 2, 32), options=options).output()
    options = schema.DepthToSpaceOptionsT(blockSize=2)
    builder.at(0).move("DEPTH_TO_SPACE", (1, 12, 8, 2), options=options).output()
    for axis, indices in ((1, [4, 0, 0, 3]), (3, [[1, 2], [7, 0]]), (2, [0, 2])):
        shape = (*builder.shape(0)[:axis], *np.shape(indices), *builder.shape(0)[axis + 1 :])
        options = schema.GatherOptionsT(axis=axis)
        builder.at(0).move("GATHER", shape, indices, options=options).output()
    builder.at(0).move("EXPAND_DIMS", (1, 1, 6, 4, 8), [1]).output()
    builder.at(0).move("SQUEEZE", (6, 4, 8)).output()
    check(builder)


def test_blocks_of_a_batch() -> None:
    # Only with zero point 0: TFLM pads with a number that it never sets, LiteRT and we with the zero point.
    builder = image(shape=(1, 5, 4, 3), zero_point=0)
    builder.move("SPACE_TO_BATCH_ND", (6, 3, 2, 3), [2, 3], [[1, 0], [0, 2]]).output()
    dealt = builder.current
    builder.move("BATCH_TO_SPACE_ND", (1, 5, 4, 3), [2, 3], [[1, 0], [0, 2]]).output()
    builder.at(dealt).move("BATCH_TO_SPACE_ND", (1, 3, 4, 3), [2, 3], [[2, 1], [1, 1]])
    check(builder.output())


@pytest.mark.parametrize("flags", [{}, {"alignCorners": True}, {"halfPixelCenters": True}])
def test_resizes(flags: dict[str, bool]) -> None:
    builder = image(shape=(1, 5, 4, 3))
    for size in ((10, 8), (3, 3), (7, 9), (1, 1), (5, 13)):
        options = schema.ResizeBilinearOptionsT(**flags)
        builder.at(0).move("RESIZE_BILINEAR", (1, *size, 3), size, options=options).output()
        options = schema.ResizeNearestNeighborOptionsT(**flags)
        builder.at(0).move("RESIZE_NEAREST_NEIGHBOR", (1, *size, 3), size, options=options).output()
    check(builder)


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_convolutions(padding: str, per_channel: bool) -> None:
    builder = image(shape=(1, 4, 3, 5))
    for kernel, stride, bias in (
        ((3, 3), (2, 2), True),
        ((2, 2), (2, 2), False),
        ((1, 4), (1, 3), True),
        ((5, 2), (3, 1), True),
        ((2, 3), (3, 2), False),
    ):
        builder.at(0).transpose_conv(
            4, kernel, stride=stride, padding=padding, bias=bias, per_channel=per_channel, zero_point=-9
        )
        builder.output()
    check(builder)


@pytest.mark.parametrize("groups", [2, 4])
def test_grouped_convolutions(groups: int) -> None:
    builder = image(shape=(1, 7, 6, 8))
    for kernel, stride, padding, dilation in (
        ((3, 3), (1, 1), "SAME", (1, 1)),
        ((1, 1), (1, 1), "VALID", (1, 1)),
        ((3, 2), (2, 2), "SAME", (1, 1)),
        ((2, 2), (1, 1), "SAME", (2, 3)),
    ):
        builder.at(0).conv2d(
            12, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups, zero_point=-4
        )
        builder.output()
    check(builder)


@pytest.mark.parametrize("flags", [(False, False), (False, True), (True, False), (True, True)])
def test_matrix_products(flags: tuple[bool, bool]) -> None:
    for a, b in (((2, 3, 4, 7), (1, 3, 7, 5)), ((1, 4, 7), (2, 7, 5)), ((4, 7), (7, 5))):
        shapes = [
            (*shape[:-2], shape[-1], shape[-2]) if exchanged else shape
            for shape, exchanged in zip((a, b), flags, strict=True)
        ]
        builder = ModelBuilder().input(shapes[0], scale=0.03, zero_point=-5)
        builder.input(shapes[1], scale=0.011, zero_point=9).at(0)
        builder.batch_matmul(1, adj_x=flags[0], adj_y=flags[1], scale=0.04, zero_point=2)
        check(builder)


QUANT = st.tuples(st.floats(1e-3, 2.0), st.integers(-128, 127))


@st.composite
def networks(draw: st.DrawFn) -> ModelBuilder:
    """Elementwise, reducing and moving operators on one image, with drawn scales."""
    shape = (1, draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 5)))
    scale, zero_point = draw(QUANT)
    builder = ModelBuilder(draw(st.integers(0, 999))).input(shape, scale=scale, zero_point=zero_point)
    for op in draw(st.lists(st.sampled_from(["ADD", "SUB", "MUL", "PRELU"]), min_size=1, max_size=3)):
        other, other_zero = draw(QUANT)
        repeats = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
        extents = [1 if once else extent for once, extent in zip(repeats, shape[1:], strict=True)]
        constant = builder.constant((1, *extents), scale=other, zero_point=other_zero)
        result, result_zero = draw(QUANT)
        # Far below the inputs' scales a sum leaves 32 bits, which the front end refuses.
        least = max(scale, other) / 1000 if op in ("ADD", "SUB") else scale * max(other, 1) / 1000
        builder.at(0).binary(op, constant, scale=max(result, least), zero_point=result_zero).output()
    mean, mean_zero = draw(QUANT)
    axes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    op = draw(st.sampled_from(["MEAN", "SUM"]))
    builder.at(0).reduce(op, axes, scale=max(mean, scale / 1000), zero_point=mean_zero).output()
    order = draw(st.permutations(range(4)))
    builder.at(0).move("TRANSPOSE", [shape[axis] for axis in order], order).output()
    pairs = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=4))
    padded = [a + extent + b for (a, b), extent in zip(pairs, shape, strict=True)]
    return builder.at(0).move("PAD", padded, pairs).output()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(networks())
def test_drawn_networks(builder: ModelBuilder) -> None:
    check(builder, samples=3)
