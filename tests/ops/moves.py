"""Cases of the operators that only move elements."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, site, with_input, with_output
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops import AnySite
from tinydeploy.ops.batch_to_space import BatchToSpace
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.transpose import Transpose

DATA = np.arange(6, dtype=np.int8).reshape(2, 3)
TYPE = "input and output have one element type of whole bytes"
TIED = "input and output have the same scale and zero point"
LARGE = "the result has at most 16,777,216 elements"


def other_type(sound: AnySite) -> Broken:
    return Broken(TYPE, "float32[", with_input(sound, 0, float32(*sound.input(0).shape)))


def other_scale(sound: AnySite) -> Broken:
    return Broken(TIED, "Quant(", with_output(sound, int8(*sound.outputs[0].shape, zero=1)))


def too_large(sound: AnySite) -> Broken:
    return Broken(LARGE, "[65536, 65536]", with_output(sound, int8(65536, 65536)))


def attrs(sound: AnySite, doc: str, got: str, value: Attrs) -> Broken:
    return Broken(doc, got, dataclasses.replace(sound, attrs=value))


def case(sound: AnySite, data: Any, result: Any, *broken: Broken, impossible: Any = ()) -> Case:
    return Case(
        sound,
        (np.array(data, np.int8),),
        np.array(result, np.int8).reshape(sound.outputs[0].shape),
        0,
        (other_type(sound), *broken),
        impossible,
    )


def square(count: int, channels: int = 1) -> Array:
    return np.arange(count * count * channels).reshape(1, count, count, channels)


_SLICE = site(Slice((1, 2), (1, 2), (1, -2), (0,)), (int8(2, 3),), int8(2, zero=5))
_TRANSPOSE = site(Transpose((1, 0)), (int8(2, 3),), int8(3, 2))
_PAD = site(Pad(((0, 1), (1, 0)), Border.CONSTANT, 9), (int8(2, 3),), int8(3, 4))
_GATHER = site(Gather(1, (2, 0), (2, 1)), (int8(2, 3),), int8(2, 2, 1))
_TO_DEPTH = site(SpaceToDepth(2), (int8(1, 2, 2, 1),), int8(1, 1, 1, 4))
_TO_SPACE = site(DepthToSpace(2), (int8(1, 1, 1, 4),), int8(1, 2, 2, 1))
_TO_BATCH = site(SpaceToBatch((2, 1), ((1, 0), (0, 0)), 7), (int8(1, 1, 2, 1),), int8(2, 1, 2, 1))
_FROM_BATCH = site(BatchToSpace((2, 1), ((1, 0), (0, 0))), (int8(2, 1, 2, 1),), int8(1, 1, 2, 1))
_RESIZE = site(Resize((4, 2), Method.BILINEAR), (int8(1, 2, 2, 1),), int8(1, 4, 2, 1))
_JOIN = site(Concatenation(1), (int8(1, 2), int8(1, 1, scale=1.0)), int8(1, 3))
_INT16 = TensorType(DType.INT16, (1, 4, 2, 1))
_IMAGE = "the input is an image"


CASES: dict[str, Case] = {
    "Slice": case(
        _SLICE,
        DATA,
        [5, 3],
        attrs(
            _SLICE, "the box lies inside the input", "from (0, 0), size (3, 1)", Slice((0, 0), (3, 1), (1, 1))
        ),
    ),
    "Transpose": case(
        _TRANSPOSE,
        DATA,
        [0, 3, 1, 4, 2, 5],
        other_scale(_TRANSPOSE),
        attrs(_TRANSPOSE, "the order names every axis once", "[0, 0] for [2, 3]", Transpose((0, 0))),
        impossible=(dataclasses.replace(_TRANSPOSE, attrs=Transpose((0, 4))),),
    ),
    "Pad": case(
        _PAD,
        DATA,
        [[9, 0, 1, 2], [9, 3, 4, 5], [9, 9, 9, 9]],
        other_scale(_PAD),
        too_large(_PAD),
        attrs(
            _PAD,
            "there is a pair of paddings for each axis that leaves data",
            "[(1, -2), (0, 0)] for [2, 3]",
            Pad(((1, -2), (0, 0)), Border.EDGE),
        ),
        attrs(
            _PAD,
            "the border's value is one of the element type",
            "200 in int8",
            Pad(((0, 1), (1, 0)), value=200),
        ),
        impossible=(dataclasses.replace(_PAD, attrs=Pad(((0, 0),))),),
    ),
    "Gather": case(
        _GATHER,
        DATA,
        [2, 0, 5, 3],
        other_scale(_GATHER),
        too_large(_GATHER),
        attrs(_GATHER, "the axis is one of the input", "axis 1 of [2, 3]", Gather(1, (3, 0), (2, 1))),
        attrs(_GATHER, "the indices are attributes or an input", "1 inputs, 0 batch axes", Gather(1)),
        Broken(
            "indices are int32 or int64",
            "int8[1]",
            site(Gather(1), (int8(2, 3), int8(1)), int8(2, 1)),
        ),
    ),
    "SpaceToDepth": case(
        _TO_DEPTH,
        square(2),
        [0, 1, 2, 3],
        other_scale(_TO_DEPTH),
        attrs(_TO_DEPTH, "the input is an image of whole blocks", "in blocks of 3", SpaceToDepth(3)),
        impossible=(with_input(_TO_DEPTH, 0, int8(2)),),
    ),
    "DepthToSpace": case(
        _TO_SPACE,
        [[[[0, 1, 2, 3]]]],
        [0, 1, 2, 3],
        other_scale(_TO_SPACE),
        attrs(_TO_SPACE, "the input is an image whose channels", "in blocks of 3", DepthToSpace(3)),
        impossible=(with_input(_TO_SPACE, 0, int8(2)),),
    ),
    "SpaceToBatch": case(
        _TO_BATCH,
        [[[[1], [2]]]],
        [7, 7, 1, 2],
        other_scale(_TO_BATCH),
        too_large(_TO_BATCH),
        attrs(
            _TO_BATCH,
            "1 or 2 spatial axes, padded to whole blocks",
            "in blocks of (2, 2)",
            SpaceToBatch((2, 2), ((0, 0), (0, 0))),
        ),
        impossible=(with_input(_TO_BATCH, 0, int8()),),
    ),
    "BatchToSpace": case(
        _FROM_BATCH,
        [[[[8], [8]]], [[[1], [2]]]],
        [1, 2],
        other_scale(_FROM_BATCH),
        attrs(
            _FROM_BATCH,
            "1 or 2 spatial axes, a batch of whole blocks",
            "in blocks of (3, 1)",
            BatchToSpace((3, 1), ((0, 0), (0, 0))),
        ),
        impossible=(with_input(_FROM_BATCH, 0, int8()),),
    ),
    "Resize": case(
        _RESIZE,
        [[[[0], [4]], [[8], [12]]]],
        [0, 4, 4, 8, 8, 12, 8, 12],
        other_scale(_RESIZE),
        too_large(_RESIZE),
        Broken(_IMAGE, "[2, 2] to [4, 2]", with_input(_RESIZE, 0, int8(2, 2))),
        Broken(
            "between four pixels, the input is float32, or int8",
            "int16[1, 2, 2, 1]",
            with_input(with_output(_RESIZE, _INT16), 0, TensorType(DType.INT16, (1, 2, 2, 1))),
        ),
        attrs(_RESIZE, "not both", "both", Resize((4, 2), Method.NEAREST, True, True)),
        impossible=(with_input(_RESIZE, 0, int8(2)),),
    ),
    "Concatenation": Case(
        _JOIN,
        (np.array([[1, 2]], np.int8), np.array([[100]], np.int8)),
        np.array([[1, 2, 127]], np.int8),
        0,
        (
            other_type(_JOIN),
            Broken(
                "the inputs have one element type",
                "axis 1 of int8[1, 2] per tensor, int8[2, 1]",
                with_input(_JOIN, 1, int8(2, 1)),
            ),
            Broken(
                "int8 inputs can be brought to the output's scale",
                "int8[1, 3] per tensor",
                with_output(_JOIN, int8(1, 3, scale=1e-9)),
            ),
        ),
        (with_input(_JOIN, 0, int8()),),
    ),
}
