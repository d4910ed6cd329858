"""Weights of 4 bits with factors: found on the grid, stored in half, the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.running import assert_bit_exact, every_schedule
from tinydeploy.build import compile_graph
from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.kernels.packed.grid import grid_of
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected

ONCE = Rounding.HALF_EVEN


def on_grid(shape: tuple[int, ...], axis: int, seed: int = 0) -> Array:
    """Weights of factors and numbers; the largest factor occurs."""
    random = np.random.default_rng(seed)
    channels = shape[axis]
    inputs = int(np.prod(shape)) // channels
    factors = np.repeat(random.integers(1, 17, (channels, -(-inputs // 32))), 32, axis=1)[:, :inputs]
    numbers = random.integers(-7, 8, (channels, inputs))
    factors[0, : min(32, inputs)] = 16
    numbers[0, 0] = 7
    rest = tuple(extent for index, extent in enumerate(shape) if index != axis)
    return np.ascontiguousarray(
        np.moveaxis((factors * numbers).reshape(channels, *rest), 0, axis).astype(np.int8)
    )


def layer(
    attrs: Attrs, data: tuple[int, ...], weights: tuple[int, ...], out: tuple[int, ...], axis: int
) -> Graph:
    rewriter = Rewriter.empty("packed")
    value = rewriter.input("x", TensorType(DType.INT8, data, Quant((0.05,), (-9,))))
    channels = weights[axis]
    scales = tuple(0.002 + 0.0001 * index for index in range(channels))
    quant = Quant(scales, (0,) * channels, axis)
    kernel = rewriter.constant("w", TensorType(DType.INT8, weights, quant), on_grid(weights, axis))
    bias = rewriter.constant(
        "b", TensorType(DType.INT32, (channels,)), (np.arange(channels) * 50 - 100).astype(np.int32)
    )
    type_ = TensorType(DType.INT8, out, Quant((0.07,), (3,)))
    (result,) = rewriter.node("layer", attrs, (value, kernel, bias), (("y", type_),))
    rewriter.output(result)
    return rewriter.freeze()


PADDED = ((1, 1), (1, 1))
CASES = {
    "conv": layer(Conv2D(padding=PADDED, rounding=ONCE), (1, 5, 6, 5), (7, 3, 3, 5), (1, 5, 6, 7), 0),
    "conv_dilated": layer(
        Conv2D(stride=(1, 2), dilation=(2, 1), rounding=ONCE), (1, 7, 7, 3), (5, 2, 3, 3), (1, 5, 3, 5), 0
    ),
    "pointwise_odd": layer(Conv2D(rounding=ONCE), (1, 3, 4, 33), (4, 1, 1, 33), (1, 3, 4, 4), 0),
    "pointwise": layer(Conv2D(), (1, 3, 4, 64), (6, 1, 1, 64), (1, 3, 4, 6), 0),
    "depthwise": layer(
        DepthwiseConv2D(padding=PADDED, stride=(2, 1), rounding=ONCE),
        (1, 6, 5, 8),
        (1, 3, 3, 8),
        (1, 3, 5, 8),
        3,
    ),
    "depthwise_multiplier": layer(
        DepthwiseConv2D(rounding=ONCE), (1, 9, 8, 3), (1, 6, 6, 6), (1, 4, 3, 6), 3
    ),
    "dense": layer(FullyConnected(rounding=ONCE), (1, 37), (5, 37), (1, 5), 0),
    "dense_rows": layer(FullyConnected(), (3, 96), (4, 96), (3, 4), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_packed_schedule_has_the_references_bits(name: str, tmp_path: Path) -> None:
    graph = CASES[name]
    assert {schedule.name.split("/")[0] for _, schedule in every_schedule(graph, 0)} == {"packed"}
    compiled = compile_graph(graph, target_of("host"), name="packed")
    assert_bit_exact(compiled, tmp_path, samples=4)
    weights = graph.array(graph.nodes[0].inputs[1] or 0).size
    channels = graph.type(graph.nodes[0].inputs[2] or 0).shape[0]
    groups = channels * -(-(weights // channels) // 32)
    assert compiled.library.weights_bytes == channels * -(-(weights // channels) // 2) + -(-groups // 2)


def test_factors_and_numbers_make_the_weights() -> None:
    weights = on_grid((6, 100), 0)
    grid = grid_of(weights, 0)
    assert grid is not None
    assert np.abs(grid.numbers).max() <= 7
    assert grid.factors.min() >= 1
    assert grid.factors.max() <= 16
    np.testing.assert_array_equal(np.repeat(grid.factors, 32, axis=1)[:, :100] * grid.numbers, weights)


@pytest.mark.parametrize(
    "weights",
    [
        np.full((8, 8), 127, np.int8),
        np.random.default_rng(0).integers(-127, 128, (8, 40)).astype(np.int8),
        np.random.default_rng(0).integers(-100, 101, (8, 40)).astype(np.int8),
        np.random.default_rng(0).integers(-7, 8, (8, 40)).astype(np.int8),
        np.full((4, 4), 32, np.int8),
        np.full((8, 8), -128, np.int8),
    ],
    ids=["full", "dense", "smaller", "small", "few", "lowest"],
)
def test_other_weights_are_left_alone(weights: Array) -> None:
    assert grid_of(weights, 0) is None
