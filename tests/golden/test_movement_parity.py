"""Operators from TFLite files that move elements, of every plain type, against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.golden.test_plain_parity import Nodes, numbers

SHAPE = (2, 4, 6, 3)


def _moved(nodes: Nodes, op: str, data: int, dtype: str, shape: tuple[int, ...], *lists: object) -> None:
    operands = [data]
    for given in lists:
        array = np.array(given, np.int32)
        operands.append(nodes.builder.numbers(*array.reshape(-1).tolist(), shape=array.shape))
    nodes.add(op, operands, dtype, shape=shape)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_moves(dtype: str) -> None:
    nodes = Nodes()
    data = nodes.input(numbers("float32", 1, SHAPE).astype(dtype))
    single = nodes.input(numbers("float32", 2, ()).astype(dtype))
    pairs = [[0, 1], [1, 2], [0, 0], [2, 0]]
    _moved(nodes, "PAD", data, dtype, (3, 7, 6, 5), pairs)
    value = nodes.builder.tensor((), dtype=dtype, scale=None, data=np.array(7.0).astype(dtype))
    places = nodes.builder.numbers(*np.array(pairs).reshape(-1).tolist(), shape=(4, 2))
    nodes.add("PADV2", [data, places, value], dtype, shape=(3, 7, 6, 5))
    _moved(nodes, "REVERSE_V2", data, dtype, SHAPE, [1])
    _moved(nodes, "TRANSPOSE", data, dtype, (3, 4, 2, 6), [3, 1, 0, 2])
    nodes.add("FILL", [nodes.builder.numbers(2, 3), single], dtype, shape=(2, 3))
    if dtype != "int64":
        _moved(nodes, "SPACE_TO_BATCH_ND", data, dtype, (12, 3, 2, 3), [2, 3], [[1, 1], [0, 0]])
    options = schema.StridedSliceOptionsT(endMask=8)
    lists = [nodes.builder.numbers(*row) for row in ((0, -1, 5, 0), (2, 0, 0, 0), (1, -2, -2, 1))]
    nodes.add("STRIDED_SLICE", [data, *lists], dtype, options, shape=(2, 2, 3, 3))
    nodes.check()


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_indices_of_run_time(dtype: str) -> None:
    nodes = Nodes()
    data = nodes.input(numbers("float32", 1, SHAPE).astype(dtype))
    rows = nodes.input(np.array([[3, 0, 1], [2, 2, 0]], np.int32))
    vectors = nodes.input(np.array([[1, 3], [0, 0], [1, 3]], np.int32))
    lengths = nodes.input(np.array([3, 1], np.int32))
    nodes.add("GATHER", [data, rows], dtype, schema.GatherOptionsT(axis=1), shape=(2, 2, 3, 6, 3))
    options = schema.GatherOptionsT(axis=2, batchDims=1)
    nodes.add("GATHER", [data, rows], dtype, options, shape=(2, 4, 3, 3))
    nodes.add("GATHER_ND", [data, vectors], dtype, shape=(3, 6, 3))
    updates = nodes.input(numbers("float32", 3, (3, 5)).astype(dtype))
    nodes.add("SCATTER_ND", [vectors, updates, nodes.builder.numbers(2, 4, 5)], dtype, shape=(2, 4, 5))
    options = schema.ReverseSequenceOptionsT(seqDim=1, batchDim=0)
    nodes.add("REVERSE_SEQUENCE", [data, lengths], dtype, options, shape=SHAPE)
    on, off = (nodes.builder.tensor((), dtype=dtype, scale=None, data=np.array(x, dtype)) for x in (5, -2))
    hot = [nodes.input(np.array([2, -1, 4, 0], np.int32)), nodes.builder.numbers(4, shape=()), on, off]
    nodes.add("ONE_HOT", hot, dtype, schema.OneHotOptionsT(axis=-1), shape=(4, 4))
    if dtype == "float32":
        table = nodes.builder.tensor((5, 3), dtype=dtype, scale=None, data=numbers(dtype, 4, (5, 3)))
        nodes.add("EMBEDDING_LOOKUP", [nodes.input(np.array([4, 0], np.int32)), table], dtype, shape=(2, 3))
    nodes.check()


def test_resized_floats() -> None:
    nodes = Nodes()
    data = nodes.input(numbers("float32", 1, SHAPE))
    for flags in ({}, {"alignCorners": True}, {"halfPixelCenters": True}):
        for size in ((8, 12), (3, 3), (7, 11), (1, 1)):
            options = schema.ResizeBilinearOptionsT(**flags)
            shape = (2, *size, 3)
            nodes.add("RESIZE_BILINEAR", [data, nodes.builder.numbers(*size)], "float32", options, shape)
            options = schema.ResizeNearestNeighborOptionsT(**flags)
            nodes.add(
                "RESIZE_NEAREST_NEIGHBOR", [data, nodes.builder.numbers(*size)], "float32", options, shape
            )
    nodes.check()
