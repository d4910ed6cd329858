"""Moves of every element type, and those whose indices are known at run time only, equal the reference."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.making import GraphBuilder, numbers
from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.ir import DType, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.bit_cast import BitCast
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.one_hot import OneHot
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.reverse_sequence import ReverseSequence
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.take import Take
from tinydeploy.ops.tile import Tile
from tinydeploy.ops.transpose import Transpose

HOST = target_of("host")

VALUES: dict[DType, tuple[int | float, ...]] = {
    DType.BOOL: (0, 1),
    DType.UINT8: (200,),
    DType.INT8: (-128,),
    DType.INT16: (-32768,),
    DType.UINT16: (65535,),
    DType.INT32: (-(2**31),),
    DType.UINT32: (2**32 - 1,),
    DType.INT64: (-(2**63), 1 << 40),
    DType.FLOAT32: (-math.inf, math.inf, 0.1),
}
"""Values of borders that need care in C."""


def still_moves(dtype: DType) -> Graph:
    """Every move to places that are known, from rank 0 to 6."""
    graph = GraphBuilder()
    single, line, image = (graph.input(dtype, shape) for shape in ((), (7,), (1, 4, 6, 8)))
    deep = graph.input(dtype, (2, 1, 3, 2, 1, 3))
    graph.node(Expand((2, 3)), single)
    graph.node(Pad((), value=1), single)
    graph.node(Pad(((-2, 3),), value=1), line)
    graph.node(Slice((6,), (4,), (-2,)), line)
    graph.node(Tile((3,)), line)
    for value in VALUES[dtype]:
        graph.node(Pad(((0, 0), (1, 2), (-1, 0), (0, 3)), value=value), image)
    for border in (Border.REFLECT, Border.SYMMETRIC, Border.EDGE, Border.WRAP):
        graph.node(Pad(((0, 0), (2, 5), (-1, 3), (0, -2)), border), image)
    graph.node(Transpose((5, 3, 1, 4, 2, 0)), deep)
    graph.node(Expand((2, 4, 3, 2, 5, 3)), deep)
    graph.node(Tile((1, 2, 1, 3, 1, 2)), deep)
    graph.node(Slice((1, 0, 2, 0, 0, 2), (2, 1, 2, 1, 1, 3), (-1, 1, -2, 1, 1, -1), (3,)), deep)
    graph.node(Concatenation(2), deep, deep)
    graph.node(Concatenation(1, stacks=True), line, line, line)
    graph.node(Concatenation(0), line, graph.constant(numbers(dtype, (3,))))
    graph.node(DepthToSpace(2), image)
    graph.node(DepthToSpace(2, interleaved=True), image)
    graph.node(SpaceToDepth(2), image)
    graph.node(SpaceToBatch((2, 3), ((1, 1), (0, 3)), VALUES[dtype][-1]), image)
    graph.node(Take((None, (3, 3, 0), (0, 2, 4), (7, 0, 1, 1))), image)
    graph.node(Gather(3, (1, 2, 7, 0), (2, 2)), image)
    if dtype is not DType.BOOL:
        graph.node(
            BitCast({8: DType.INT8, 16: DType.INT16, 32: DType.UINT32, 64: DType.INT64}[dtype.bits]), image
        )
    return graph.freeze()


def indexed_moves(dtype: DType, index: DType) -> Graph:
    """Every move whose places come from an input; the samples hold indices of any value."""
    graph = GraphBuilder()
    data, image = graph.input(dtype, (5, 4, 3)), graph.input(dtype, (2, 3, 4, 5))
    table = graph.constant(numbers(dtype, (6, 8)))

    def indices(*shape: int) -> int:
        """Half of the indices reach around the ends, half come from the samples."""
        drawn = np.random.default_rng(math.prod(shape)).integers(-7, 7, shape)
        return (
            graph.constant(drawn.astype(index.numpy)) if math.prod(shape) % 2 else graph.input(index, shape)
        )

    graph.node(Gather(0), table, indices(2, 3))
    graph.node(Gather(0), table, indices())
    for axis in range(3):
        graph.node(Gather(axis), data, indices(3))
        graph.node(Gather(axis), data, indices(2, 1, 2))
        graph.node(GatherElements(axis), data, indices(3, 3, 3))
    graph.node(GatherElements(0), data, indices(9, 2, 2))
    graph.node(Gather(3, batch_dims=1), image, indices(2, 3))
    graph.node(Gather(2, batch_dims=2), image, indices(2, 3, 2))
    graph.node(GatherND(), data, indices(4, 2))
    graph.node(GatherND(), data, indices(3, 3))
    graph.node(GatherND(), data, indices(1))
    graph.node(GatherND(1), image, indices(2, 3, 1))
    graph.node(GatherND(2), image, indices(2, 3, 5, 2))
    graph.node(GatherND(), table, indices(3, 1))
    kinds = (Reduction.NONE,) if dtype is DType.BOOL else tuple(Reduction)
    for kind in kinds:
        for axis in range(3):
            updates = graph.input(dtype, (3, 3, 3)) if axis else graph.constant(numbers(dtype, (3, 3, 3)))
            graph.node(ScatterElements(axis, kind), data, indices(3, 3, 3), updates)
        graph.node(ScatterND(kind), data, indices(3, 3), graph.constant(numbers(dtype, (3,))))
        graph.node(ScatterND(kind), data, indices(2, 2), graph.input(dtype, (2, 3)))
        graph.node(ScatterND(kind), data, indices(4, 1, 1), graph.constant(numbers(dtype, (4, 1, 4, 3))))
    lengths = graph.input(index, (2,))
    graph.node(ReverseSequence(0, 2), image, lengths)
    graph.node(ReverseSequence(0, 1), image, graph.constant(np.array([2, 9], index.numpy)))
    graph.node(ReverseSequence(2, 0), image, graph.constant(np.array([1, 2, 0, -3], index.numpy)))
    graph.node(ReverseSequence(3, 2), image, graph.constant(np.array([1, 2, 3, 4, 5], index.numpy)))
    values = graph.constant(numbers(dtype, (2,), 1))
    for axis in range(3):
        graph.node(OneHot(axis, 6), indices(3, 3), values)
    reals = graph.constant(np.array([-4.0, -3.0, -0.5, 2.9, 3.0, np.nan], np.float32))
    for wraps in (False, True):
        graph.node(OneHot(0, 3, wraps), reals, values)
    return graph.freeze()


SOME = (DType.BOOL, DType.INT8, DType.UINT16, DType.INT64, DType.FLOAT32)
"""Types that stand for the others of their width and sign in the tier ci."""


def _rest(*types: DType) -> object:
    return pytest.param(*types, marks=pytest.mark.full)


@pytest.mark.parametrize(
    "dtype", [dtype if dtype in SOME else _rest(dtype) for dtype in VALUES], ids=lambda dtype: dtype.value
)
def test_moves_to_known_places(dtype: DType, tmp_path: Path) -> None:
    assert_bit_exact(compile_graph(still_moves(dtype), HOST), tmp_path)


@pytest.mark.parametrize(
    ("dtype", "index"),
    [
        (DType.FLOAT32, DType.INT64),
        (DType.INT8, DType.INT32),
        (DType.INT64, DType.INT64),
        _rest(DType.UINT16, DType.INT32),
        _rest(DType.BOOL, DType.INT64),
    ],
    ids=lambda dtype: dtype.value,
)
def test_moves_to_computed_places(dtype: DType, index: DType, tmp_path: Path) -> None:
    assert_bit_exact(compile_graph(indexed_moves(dtype, index), HOST), tmp_path)
