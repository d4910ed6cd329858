"""Cases of operators that only integer graphs have."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, site, with_input
from tinydeploy.ir import DType, TensorType
from tinydeploy.ops import Site
from tinydeploy.ops.interpolated import Interpolated
from tinydeploy.ops.lookup import Lookup
from tinydeploy.ops.normalization import Norm, Normalization
from tinydeploy.ops.reinterpret import Reinterpret

_TABLE = np.arange(127, -129, -1).astype(np.int8)
_TABLE_TYPE = TensorType(DType.INT8, (256,))
_LOOKUP = Site("n", Lookup(), (int8(1, 3), _TABLE_TYPE), (int8(1, 3),), (None, _TABLE))
_REINTERPRET = site(Reinterpret(), (TensorType(DType.INT8, (1, 3)),), int8(1, 3))

_NORM = site(Normalization((1,)), (int8(2, 4), float32(4), float32(4)), int8(2, 4, scale=0.125))
_ONES = np.ones(4, np.float32)
_SOUND = dataclasses.replace(_NORM, constants=(None, _ONES, _ONES))

NORMALIZATION_LIMITS = (
    Broken("data and result are both int8 or int16, scale and bias constants", "int8[2, 4]", _NORM),
    Broken(
        "at most 32,768 elements of int8",
        "40,000",
        dataclasses.replace(_SOUND, inputs=(int8(1, 40000), None, None), outputs=(int8(1, 40000),)),
    ),
    Broken(
        "epsilon is below 2**60",
        "epsilon 1e+20, scale 0.5",
        dataclasses.replace(_SOUND, attrs=Normalization((1,), epsilon=1e20)),
    ),
    Broken(
        "quantized data is divided by its deviation or its root mean square",
        "l1",
        dataclasses.replace(_SOUND, attrs=Normalization((1,), Norm.L1)),
    ),
)
"""Of data that is quantized."""

_LINES = Site(
    "n",
    Interpolated(DType.INT8),
    (TensorType(DType.INT16, (1, 3)), TensorType(DType.INT32, (3,))),
    (int8(1, 3),),
    (None, np.array([-256, 0, 2560], np.int32)),
)

CASES: dict[str, Case] = {
    "Interpolated": Case(
        _LINES,
        (np.array([[-32768, -16384, 16384]], np.int16),),
        np.array([[-1, 0, 5]], np.int8),
        0,
        (
            Broken(
                "the data is int16, the result int8 to int32",
                "int8[1, 3] per tensor",
                with_input(_LINES, 0, int8(1, 3)),
            ),
        ),
    ),
    "Lookup": Case(
        _LOOKUP,
        (np.array([[-128, 0, 127]], np.int8),),
        np.array([[127, -1, -128]], np.int8),
        0,
        (
            Broken(
                "the data is int8 or uint8; the table",
                "float32[1, 3] not quantized",
                with_input(_LOOKUP, 0, float32(1, 3)),
            ),
            Broken(
                "the data is int8 or uint8; the table",
                "int8[256] not quantized",
                dataclasses.replace(_LOOKUP, constants=(None, None)),
            ),
        ),
    ),
    "Reinterpret": Case(
        _REINTERPRET,
        (np.array([[-128, 0, 127]], np.int8),),
        np.array([[-128, 0, 127]], np.int8),
        0,
        (Broken("the elements are integers", "float32[1, 3]", with_input(_REINTERPRET, 0, float32(1, 3))),),
    ),
}
