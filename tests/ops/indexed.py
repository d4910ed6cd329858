"""Cases of the operators that find elements by indices, and of those that read between elements."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, site, with_input, with_output
from tests.ops.moves import DATA, attrs, other_scale, other_type, too_large
from tinydeploy.ir import DType, TensorType
from tinydeploy.ops import AnySite, Site
from tinydeploy.ops.bit_cast import BitCast
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.grid_sample import GridSample, Outside, Sampling
from tinydeploy.ops.max_roi_pool import MaxRoiPool
from tinydeploy.ops.one_hot import OneHot
from tinydeploy.ops.resample import Resample
from tinydeploy.ops.reverse_sequence import ReverseSequence
from tinydeploy.ops.roi_align import RoiAlign
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND
from tinydeploy.ops.take import Take
from tinydeploy.ops.tile import Tile


def int64(*shape: int) -> TensorType:
    return TensorType(DType.INT64, shape)


def bad_indices(sound: AnySite, index: int = 1) -> Broken:
    broken = with_input(sound, index, float32(*sound.input(index).shape))
    return Broken("indices are int32 or int64", "float32[", broken)


def large_float(sound: AnySite) -> Broken:
    doc = "the result has at most 16,777,216 elements"
    return Broken(doc, "[65536, 65536]", with_output(sound, float32(65536, 65536)))


_EXPAND = site(Expand((2, 2, 3)), (int8(2, 1),), int8(2, 2, 3))
_TILE = site(Tile((1, 2)), (int8(2, 3),), int8(2, 6))
_TAKE = site(Take((None, (2, 0, 0))), (int8(2, 3),), int8(2, 3))
_ELEMENTS = site(GatherElements(1), (int8(2, 3), int64(2, 2)), int8(2, 2))
_VECTORS = site(GatherND(1), (int8(2, 3), int64(2, 1, 1)), int8(2, 1))
_SCATTER = site(ScatterElements(1), (int8(2, 3), int64(2, 1), int8(2, 1)), int8(2, 3))
_SCATTER_ND = site(ScatterND(), (int8(2, 3), int64(2, 1), int8(2, 3)), int8(2, 3))
_REVERSE = site(ReverseSequence(0, 1), (int8(2, 3), int64(2)), int8(2, 3))
_HOT = site(OneHot(1, 3), (int64(2), float32(2)), float32(2, 3))
_BITS = site(BitCast(DType.UINT8), (TensorType(DType.INT8, (2,)),), TensorType(DType.UINT8, (2,)))
_GRID = site(
    GridSample(Sampling.LINEAR, Outside.ZEROS, True),
    (float32(1, 2, 2, 1), float32(1, 1, 2, 2)),
    float32(1, 1, 2, 1),
)
_ROI = site(RoiAlign((1, 1), 1, 1.0), (float32(1, 2, 2, 1), float32(1, 4), int64(1)), float32(1, 1, 1, 1))
_ROI_POOL = site(MaxRoiPool((1, 2), 1.0), (float32(1, 2, 2, 1), float32(1, 5)), float32(1, 1, 2, 1))

_PLACES = np.array([[0, 1], [2, 2]], np.int32)
_WEIGHTS = np.array([[0.5, 0.5], [1, 0]], np.float32)
_RESAMPLE = Site(
    "n",
    Resample(1),
    (int8(2, 3, zero=-3), TensorType(DType.INT32, (2, 2)), float32(2, 2)),
    (int8(2, 2, zero=-3),),
    (None, _PLACES, _WEIGHTS),
)


def case(
    sound: AnySite,
    arrays: tuple[object, ...],
    result: object,
    *broken: Broken,
    impossible: tuple[AnySite, ...] = (),
) -> Case:
    types = [sound.input(index) for index in range(len(sound.inputs)) if sound.constant(index) is None]
    data = tuple(np.array(array, type_.dtype.numpy) for array, type_ in zip(arrays, types, strict=True))
    output = sound.outputs[0]
    return Case(
        sound, data, np.array(result, output.dtype.numpy).reshape(output.shape), 0, broken, impossible
    )


def scatter_limits(sound: AnySite) -> tuple[Broken, ...]:
    added = dataclasses.replace(sound.attrs, reduction=Reduction.ADD)
    return (
        other_type(sound),
        other_scale(sound),
        bad_indices(sound),
        Broken(
            "data and updates have one type", "float32[", with_input(sound, 2, float32(*sound.input(2).shape))
        ),
        attrs(sound, "where updates are added, multiplied or compared", "add of int8", added),
    )


CASES: dict[str, Case] = {
    "Expand": case(
        _EXPAND,
        ([[1], [2]],),
        [[[1] * 3, [2] * 3]] * 2,
        other_type(_EXPAND),
        other_scale(_EXPAND),
        too_large(_EXPAND),
        attrs(_EXPAND, "each extent of the input is that of the output", "[2, 1] to [3, 3]", Expand((3, 3))),
    ),
    "Tile": case(
        _TILE,
        (DATA,),
        [[0, 1, 2, 0, 1, 2], [3, 4, 5, 3, 4, 5]],
        other_type(_TILE),
        other_scale(_TILE),
        too_large(_TILE),
        attrs(_TILE, "there is a number of copies, at least 1", "[0, 1] for [2, 3]", Tile((0, 1))),
        impossible=(dataclasses.replace(_TILE, attrs=Tile((1,))),),
    ),
    "Take": case(
        _TAKE,
        (DATA,),
        [[2, 0, 0], [5, 3, 3]],
        other_type(_TAKE),
        other_scale(_TAKE),
        too_large(_TAKE),
        attrs(_TAKE, "there are places for each axis", "all, 0 to 3 of [2, 3]", Take((None, (0, 3)))),
        impossible=(dataclasses.replace(_TAKE, attrs=Take((None,))),),
    ),
    "GatherElements": case(
        _ELEMENTS,
        (DATA, [[-1, 0], [9, -9]]),
        [[2, 0], [5, 3]],
        other_type(_ELEMENTS),
        other_scale(_ELEMENTS),
        bad_indices(_ELEMENTS),
        Broken(
            "the indices have the rank of the data",
            "[3, 2] for [2, 3], axis 1",
            with_input(_ELEMENTS, 1, int64(3, 2)),
        ),
    ),
    "GatherND": case(
        _VECTORS,
        (DATA, [[[-1]], [[1]]]),
        [2, 4],
        other_type(_VECTORS),
        other_scale(_VECTORS),
        too_large(_VECTORS),
        bad_indices(_VECTORS),
        Broken(
            "the indices have the batch axes of the data",
            "[3, 1, 1] for [2, 3], 1 batch axes",
            with_input(_VECTORS, 1, int64(3, 1, 1)),
        ),
        impossible=(with_input(_VECTORS, 1, int64()),),
    ),
    "ScatterElements": case(
        _SCATTER,
        (DATA, [[-1], [0]], [[9], [8]]),
        [[0, 1, 9], [8, 4, 5]],
        *scatter_limits(_SCATTER),
        Broken(
            "there is an index for each update",
            "[2, 2] and [2, 1] for [2, 3], axis 1",
            with_input(_SCATTER, 1, int64(2, 2)),
        ),
    ),
    "ScatterND": case(
        _SCATTER_ND,
        (DATA, [[-1], [-1]], [[7, 7, 7], [9, 8, 7]]),
        [[0, 1, 2], [9, 8, 7]],
        *scatter_limits(_SCATTER_ND),
        Broken(
            "the indices are vectors for the first axes",
            "[2, 3] and [2, 3] for [2, 3]",
            with_input(_SCATTER_ND, 1, int64(2, 3)),
        ),
    ),
    "ReverseSequence": case(
        _REVERSE,
        (DATA, [2, 9]),
        [[1, 0, 2], [5, 4, 3]],
        other_type(_REVERSE),
        other_scale(_REVERSE),
        bad_indices(_REVERSE),
        attrs(
            _REVERSE,
            "batch and time are two axes",
            "axes 1 and 1 of [2, 3], lengths [2]",
            ReverseSequence(1, 1),
        ),
    ),
    "OneHot": case(
        _HOT,
        ([-1, 3], [0.5, 2]),
        [[0.5, 0.5, 2], [0.5, 0.5, 0.5]],
        large_float(_HOT),
        Broken(
            "indices are integers or float32", "bool[2]", with_input(_HOT, 0, TensorType(DType.BOOL, (2,)))
        ),
        Broken("there are two values, of the output's type", "float32[3]", with_input(_HOT, 1, float32(3))),
        attrs(_HOT, "the new axis stands between the others", "axis 2 of depth 0", OneHot(2, 0)),
    ),
    "BitCast": case(
        _BITS,
        ([-1, 2],),
        [255, 2],
        Broken(
            "both types have the same width", "int8[2] per tensor as uint8", with_input(_BITS, 0, int8(2))
        ),
    ),
    "Resample": case(
        _RESAMPLE,
        ([[0, 1, 2], [3, 5, -7]],),
        [[1, 2], [4, -7]],
        too_large(_RESAMPLE),
        Broken(
            "places and weights are constants [size, taps]",
            "int32[2, 2] not quantized, float32[2, 2] not quantized, axis 1",
            with_input(_RESAMPLE, 1, _RESAMPLE.input(1), _PLACES + 1),
        ),
        Broken(
            "the elements are float32, or quantized with one scale",
            "int8[2, 2] per tensor",
            with_output(_RESAMPLE, int8(2, 2)),
        ),
    ),
    "GridSample": case(
        _GRID,
        (np.arange(4).reshape(1, 2, 2, 1), [[[[0, 0], [3, 3]]]]),
        [1.5, 0],
        large_float(_GRID),
        Broken("image and grid are float32", "int8[", with_input(_GRID, 0, int8(1, 2, 2, 1))),
        Broken(
            "the image has 1 to 3 spatial axes", "[1, 1, 2, 3]", with_input(_GRID, 1, float32(1, 1, 2, 3))
        ),
    ),
    "RoiAlign": case(
        _ROI,
        (np.arange(4).reshape(1, 2, 2, 1), [[0.5, 0.5, 1.5, 1.5]], [0]),
        [1.5],
        large_float(_ROI),
        bad_indices(_ROI, 2),
        Broken("image and regions are float32", "int8[", with_input(_ROI, 0, int8(1, 2, 2, 1))),
        Broken("the image is [N, H, W, C], and there are four", "[1, 3]", with_input(_ROI, 1, float32(1, 3))),
        attrs(_ROI, "bins hold up to 64 x 64 samples", "65 samples", RoiAlign((1, 1), 65, 1.0)),
    ),
    "MaxRoiPool": case(
        _ROI_POOL,
        (np.arange(4).reshape(1, 2, 2, 1), [[0, 0, 0, 1, 1]]),
        [2, 3],
        large_float(_ROI_POOL),
        Broken("image and regions are float32", "int8[", with_input(_ROI_POOL, 0, int8(1, 2, 2, 1))),
        Broken(
            "the image is [N, H, W, C], and there are five", "[1, 4]", with_input(_ROI_POOL, 1, float32(1, 4))
        ),
    ),
}
