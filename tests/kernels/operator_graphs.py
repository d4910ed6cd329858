"""Graphs of many nodes side by side: one build proves a family of kernels on shapes that break loops."""

from __future__ import annotations

import numpy as np
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.tflite_builder import ModelBuilder


def elementwise() -> ModelBuilder:
    """Every operator and every way to broadcast, operands at either side, constants, one element."""
    builder = ModelBuilder().input((1, 5, 4, 3), scale=0.05, zero_point=-7)
    for shape in ((1, 5, 4, 3), (1, 1, 1, 3), (1, 5, 1, 1), (4, 1), (1,), (5, 1, 3)):
        for op, scale in (("ADD", 0.08), ("SUB", 0.09), ("MUL", 0.01), ("PRELU", 0.02)):
            builder.at(0).binary(op, builder.constant(shape, scale=0.02, zero_point=9), scale=scale).output()
    for op in ("MINIMUM", "MAXIMUM"):
        other = builder.constant((1, 1, 4, 3), scale=0.05, zero_point=-7)
        builder.at(0).binary(op, other, scale=0.05, zero_point=-7).output()
        builder.at(other).binary(op, 0, scale=0.05, zero_point=-7).output()
    builder.at(0).binary("MUL", 0, activation="RELU6", scale=0.00001).output()
    builder.input((1, 1), scale=0.1).binary("ADD", 0).output()
    return builder.at(builder.inputs[1]).binary("SUB", builder.inputs[1], scale=0.3).output()


def lookups() -> ModelBuilder:
    builder = ModelBuilder().input((1, 6, 5, 3), scale=0.07, zero_point=11)
    builder.unary("LOGISTIC", scale=1 / 256, zero_point=-128).output()
    builder.at(0).unary("TANH", scale=1 / 128).output()
    builder.at(0).unary("HARD_SWISH", scale=0.05, zero_point=-100).output()
    builder.at(0).unary("LEAKY_RELU", schema.LeakyReluOptionsT(alpha=0.2), scale=0.1).output()
    for op in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"):
        builder.at(0).unary(op).output()
    return builder.at(0).unary("QUANTIZE", scale=0.3, zero_point=-3).output()


def edges() -> ModelBuilder:
    builder = ModelBuilder().input((1, 4, 3, 5), dtype="float32", scale=None)
    builder.unary("QUANTIZE", scale=0.02, zero_point=-7).unary("DEQUANTIZE", dtype="float32", scale=None)
    builder.output().input((7,), dtype="float32", scale=None)
    builder.unary("QUANTIZE", scale=0.5).unary("DEQUANTIZE", dtype="float32", scale=None).output()
    builder.at(0).move("TRANSPOSE", (1, 5, 4, 3), (0, 3, 1, 2)).output()
    return builder.at(0).move("SLICE", (1, 2, 3, 4), (0, 1, 0, 1), (1, 2, 3, 4)).output()


def reductions() -> ModelBuilder:
    builder = ModelBuilder().input((1, 5, 4, 3), scale=0.05, zero_point=-7)
    for axes in ((1, 2), (2,), (0, 3), (0, 1, 2, 3), (1, 3)):
        for op, scale in (("MEAN", 0.04), ("SUM", 0.6), ("SUM", 0.0001), ("MEAN", 0.0004)):
            builder.at(0).reduce(op, axes, scale=scale, zero_point=5).output()
        for op in ("REDUCE_MAX", "REDUCE_MIN"):
            builder.at(0).reduce(op, axes, keep_dims=True).output()
    for axis in range(4):
        builder.at(0).index("ARG_MAX", axis).output().at(0).index("ARG_MIN", axis).output()
    return builder


def moves(dtype: str) -> ModelBuilder:
    """Every moving operator, for one element type."""
    quant = {"scale": 0.05, "zero_point": 3} if dtype == "int8" else {"scale": None}
    builder = ModelBuilder().input((1, 6, 4, 8), dtype=dtype, **quant)
    pairs = [[0, 0], [1, 2], [0, 3], [2, 0]]
    if dtype != "float32":
        builder.move("PAD", (1, 9, 7, 10), pairs).output()
    for mode in (0, 1):
        options = schema.MirrorPadOptionsT(mode=mode)
        builder.at(0).move("MIRROR_PAD", (1, 9, 7, 10), pairs, options=options).output()
    for order in ((0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3), (0, 1, 2, 3)):
        shape = [builder.shape(0)[axis] for axis in order]
        builder.at(0).move("TRANSPOSE", shape, order).output()
    options = schema.StridedSliceOptionsT(shrinkAxisMask=1)
    builder.at(0).move(
        "STRIDED_SLICE", (3, 2, 3), (0, 5, -1, 7), (1, -7, 0, 0), (1, -2, -2, -3), options=options
    ).output()
    builder.at(0).move("SLICE", (1, 1, 1, 1), (0, 5, 3, 7), (1, 1, 1, 1)).output()
    builder.at(0).split(3, (1, 5, 2))
    builder.outputs += builder.operators[-1].outputs
    builder.at(0).concatenate([0], 1).output().at(0).concatenate([0, 0], 3).output()
    options = schema.SpaceToDepthOptionsT(blockSize=2)
    builder.at(0).move("SPACE_TO_DEPTH", (1, 3, 2, 32), options=options).output()
    options = schema.DepthToSpaceOptionsT(blockSize=2)
    builder.at(0).move("DEPTH_TO_SPACE", (1, 12, 8, 2), options=options).output()
    places: tuple[tuple[int, list[int], tuple[int, ...]], ...] = (
        (1, [4, 0, 0, 3], (4,)),
        (3, [1, 2, 7, 0], (2, 2)),
        (2, [2, 1, 0], (3,)),
    )
    for axis, indices, extents in places:
        taken = (*builder.shape(0)[:axis], *extents, *builder.shape(0)[axis + 1 :])
        options = schema.GatherOptionsT(axis=axis)
        builder.at(0).move("GATHER", taken, np.array(indices).reshape(extents), options=options).output()
    if dtype != "float32":
        builder.at(0).move("SPACE_TO_BATCH_ND", (6, 4, 2, 8), [2, 3], [[1, 1], [0, 2]]).output()
        builder.move("BATCH_TO_SPACE_ND", (1, 6, 4, 8), [2, 3], [[1, 1], [0, 2]]).output()
    for size in ((12, 8), (3, 3), (7, 9), (1, 1)):
        builder.at(0).move("RESIZE_NEAREST_NEIGHBOR", (1, *size, 8), size).output()
    return builder


def joins() -> ModelBuilder:
    """Concatenations with changes of scale and constants."""
    builder = ModelBuilder().input((1, 5, 8), scale=0.1, zero_point=3).input((1, 5, 4), scale=0.02)
    other = builder.constant((1, 5, 3), scale=0.3)
    return builder.at(0).concatenate([1, other], 2, scale=0.05, zero_point=7)


def resizes() -> ModelBuilder:
    builder = ModelBuilder().input((1, 5, 4, 3))
    for flags in ({}, {"alignCorners": True}, {"halfPixelCenters": True}):
        for size in ((10, 8), (3, 3), (7, 9), (1, 1)):
            options = schema.ResizeBilinearOptionsT(**flags)
            builder.at(0).move("RESIZE_BILINEAR", (1, *size, 3), size, options=options).output()
    return builder


def products() -> ModelBuilder:
    """Matrix products, grouped and transposed convolutions."""
    builder = ModelBuilder().input((1, 7, 6, 8), zero_point=-3)
    for kernel, stride, dilation, padding in (
        ((3, 3), (1, 1), (1, 1), "SAME"),
        ((1, 1), (1, 1), (1, 1), "VALID"),
        ((3, 2), (2, 2), (1, 1), "SAME"),
        ((2, 2), (1, 1), (2, 3), "SAME"),
    ):
        builder.at(0).conv2d(12, kernel, stride=stride, dilation=dilation, padding=padding, groups=4).output()
    builder.at(0).conv2d(4, (3, 3), groups=2, per_channel=False, bias=False, activation="RELU").output()
    for kernel, stride, padding in (
        ((3, 3), (2, 2), "SAME"),
        ((2, 2), (3, 3), "VALID"),
        ((5, 2), (1, 3), "SAME"),
        ((1, 4), (1, 1), "VALID"),
    ):
        builder.at(0).transpose_conv(3, kernel, stride=stride, padding=padding, zero_point=4).output()
    builder.at(0).transpose_conv(2, (3, 3), stride=(2, 1), bias=False, per_channel=False).output()
    shapes = ((2, 3, 4, 7), (1, 3, 7, 5))
    for adj_x, adj_y in ((False, False), (False, True), (True, False), (True, True)):
        a, b = (
            builder.constant((*shape[:-2], *(shape[:-3:-1] if exchanged else shape[-2:])), scale=0.03)
            for shape, exchanged in zip(shapes, (adj_x, adj_y), strict=True)
        )
        data = builder.input(builder.shape(a), scale=0.03, zero_point=-5).current
        builder.at(data).batch_matmul(b, adj_x=adj_x, adj_y=adj_y, scale=0.05, zero_point=2).output()
    return builder


def pools() -> ModelBuilder:
    builder = ModelBuilder().input((1, 9, 8, 3))
    for size, stride, padding, activation in (
        ((2, 2), (2, 2), "VALID", "NONE"),
        ((3, 4), (1, 2), "SAME", "RELU"),
        ((9, 8), (1, 1), "VALID", "NONE"),
        ((5, 5), (3, 3), "SAME", "NONE"),
    ):
        builder.at(0).pool("MAX_POOL_2D", size, stride=stride, padding=padding, activation=activation)
        builder.output()
    return builder


GRAPHS = {
    "elementwise": elementwise().build(),
    "lookups": lookups().build(),
    "edges": edges().build(),
    "reductions": reductions().build(),
    "moves_int8": moves("int8").build(),
    "moves_int16": moves("int16").build(),
    "moves_int32": moves("int32").build(),
    "moves_float32": moves("float32").build(),
    "joins": joins().build(),
    "resizes": resizes().build(),
    "products": products().build(),
    "pools": pools().build(),
}
