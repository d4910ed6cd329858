"""Kernels that read between elements equal the reference, places of any value included."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.making import GraphBuilder
from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.ir import Array, DType, Graph, Quant
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.grid_sample import GridSample, Outside, Sampling
from tinydeploy.ops.max_roi_pool import MaxRoiPool
from tinydeploy.ops.resample import Resample
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.roi_align import RoiAlign

HOST = target_of("host")
UGLY = (np.nan, np.inf, -np.inf, 1e30, -1e30, 3.0, -3.0, 1.0, -1.0, 0.0)


def _table(size: int, taps: int, extent: int, seed: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    weights = generator.uniform(-0.2, 1, (size, taps))
    weights /= np.abs(weights).sum(axis=1, keepdims=True)
    return generator.integers(0, extent, (size, taps)).astype(np.int32), weights.astype(np.float32)


def sums() -> Graph:
    graph = GraphBuilder()
    kinds = (
        (DType.FLOAT32, None),
        (DType.INT8, Quant((0.1,), (-7,))),
        (DType.UINT8, Quant((0.1,), (200,))),
        (DType.INT16, Quant((0.1,), (0,))),
    )
    for dtype, quant in kinds:
        data = graph.input(dtype, (2, 5, 3), quant)
        for axis, (size, taps) in enumerate(((3, 1), (9, 4), (2, 2))):
            places, weights = _table(size, taps, (2, 5, 3)[axis], size)
            tables = graph.constant(places), graph.constant(weights)
            graph.node(Resample(axis), data, *tables, quant=quant)
    return graph.freeze()


def images() -> Graph:
    graph = GraphBuilder()
    image = graph.input(DType.FLOAT32, (2, 5, 4, 3))
    for flags in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        for size in ((10, 8), (3, 3), (7, 9), (1, 1)):
            graph.node(Resize(size, Method.BILINEAR, **flags), image)
    return graph.freeze()


def _grid(shape: tuple[int, ...]) -> Array:
    drawn = np.random.default_rng(len(shape)).uniform(-1.6, 1.6, shape).astype(np.float32)
    drawn.reshape(-1)[: len(UGLY)] = UGLY
    return drawn


def grids() -> Graph:
    """Every filter and border in two dimensions; a line, a volume and single pixels."""
    graph = GraphBuilder()
    image, one = graph.input(DType.FLOAT32, (2, 4, 5, 3)), graph.input(DType.FLOAT32, (1, 1, 1, 2))
    grid = graph.constant(_grid((2, 3, 4, 2)))
    for number, (sampling, outside) in enumerate(itertools.product(Sampling, Outside)):
        graph.node(GridSample(sampling, outside, number % 2 == 0), image, grid)
    single = graph.constant(_grid((1, 4, 3, 2)))
    for outside, align in itertools.product(Outside, (False, True)):
        graph.node(GridSample(Sampling.CUBIC, outside, align), one, single)
    line, volume = graph.input(DType.FLOAT32, (1, 7, 2)), graph.input(DType.FLOAT32, (1, 2, 3, 4, 2))
    graph.node(GridSample(Sampling.CUBIC, Outside.ZEROS), line, graph.constant(_grid((1, 13, 1))))
    for outside in Outside:
        places = graph.constant(_grid((1, 2, 3, 2, 3)))
        graph.node(GridSample(Sampling.LINEAR, outside), volume, places)
        graph.node(
            GridSample(Sampling.NEAREST, outside, True), volume, graph.input(DType.FLOAT32, (1, 2, 2, 3, 3))
        )
    return graph.freeze()


def regions() -> Graph:
    graph = GraphBuilder()
    image = graph.input(DType.FLOAT32, (2, 6, 7, 3))
    generator = np.random.default_rng(3)
    regions = generator.uniform(-2, 12, (9, 4)).astype(np.float32)
    regions[0], regions[1], regions[2, :2] = UGLY[:4], UGLY[3:7], UGLY[:2]
    numbers = graph.constant(np.array([0, 1, -1, 5, -9, 1, 0, 1, 0], np.int64))
    boxes = graph.constant(regions)
    for samples, half, maximum in ((0, True, False), (2, False, False), (0, False, True), (3, True, True)):
        graph.node(RoiAlign((2, 3), samples, 0.75, half, maximum), image, boxes, numbers)
    graph.node(
        RoiAlign((3, 2), 2, 4.0), image, graph.input(DType.FLOAT32, (2, 4)), graph.input(DType.INT32, (2,))
    )
    named = np.concatenate([generator.integers(-1, 3, (9, 1)).astype(np.float32), regions], axis=1)
    for size, scale in (((2, 3), 1.0), ((1, 1), 0.5), ((7, 8), 0.8)):
        graph.node(MaxRoiPool(size, scale), image, graph.constant(named))
    graph.node(MaxRoiPool((2, 2), 3.0), image, graph.input(DType.FLOAT32, (3, 5)))
    return graph.freeze()


GRAPHS = {"sums": sums, "images": images, "grids": grids, "regions": regions}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_family_equals_the_reference(name: str, tmp_path: Path) -> None:
    assert_bit_exact(compile_graph(GRAPHS[name](), HOST), tmp_path)
