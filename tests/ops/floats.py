"""Cases of float operators with windows and norms, and the limits of the float kind of others."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops import integer
from tests.ops.making import ACTIVATIONS, Broken, Case, float32, int8, site, with_input, with_output
from tinydeploy.ir import DType, TensorType
from tinydeploy.ops import AnySite, Site
from tinydeploy.ops.conv_3d import Conv3D
from tinydeploy.ops.local_response_norm import LocalResponseNorm
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.lp_pool_2d import LpPool2D
from tinydeploy.ops.max_pool_indices import MaxPoolIndices
from tinydeploy.ops.normalization import Norm, Normalization
from tinydeploy.ops.transpose_conv_3d import TransposeConv3D

FLOATS = "without quantization, all operands are float32"
FAR = (2000, 2000)


def as_float(sound: AnySite) -> AnySite:
    """The same node with float32 operands, none of them constant."""
    return Site(
        "n",
        sound.attrs,
        tuple(None if type_ is None else float32(*type_.shape) for type_ in sound.inputs),
        tuple(float32(*type_.shape) for type_ in sound.outputs),
        (None,) * len(sound.inputs),
    )


def integers(*shape: int) -> TensorType:
    return TensorType(DType.INT32, shape)


def float_limits(sound: AnySite) -> tuple[Broken, ...]:
    """Limits of the float kind of any operator."""
    plain = as_float(sound)
    return (Broken(FLOATS, "int32[", with_input(plain, 0, integers(*plain.input(0).shape))),)


def float_dot_limits(sound: AnySite) -> tuple[Broken, ...]:
    """Limits of the float kind of an operator with weights and a bias."""
    plain = as_float(sound)
    return (
        *float_limits(sound),
        Broken("the bias has one number per output channel", "77 for ", with_input(plain, 2, float32(77))),
    )


def plain_image_limits(sound: AnySite) -> tuple[Broken, ...]:
    """Limits of plain images."""
    plain = as_float(sound)
    shape = plain.input(0).shape
    line = with_input(plain, 0, float32(*shape[1:]))
    far = dataclasses.replace(plain, attrs=dataclasses.replace(plain.attrs, padding=(FAR, FAR)))
    return (
        Broken("the input is a batch of images [N, H, W, C]", str(list(shape[1:])), line),
        Broken("padding adds at most 1,048,576 elements", "elements, padding ((", far),
    )


def window_limits(sound: AnySite) -> tuple[Broken, ...]:
    attrs = dataclasses.replace(sound.attrs, padding=((2, 0), (0, 0)))
    return (
        Broken(
            "every window meets at least one element of the data",
            "padding ((2, 0), (0, 0))",
            dataclasses.replace(as_float(sound), attrs=attrs),
        ),
    )


def one_type_limits(sound: AnySite) -> tuple[Broken, ...]:
    plain = as_float(sound)
    return (
        Broken(
            "without quantization, input and output have one element type",
            "int32[",
            with_input(plain, 0, integers(*plain.input(0).shape)),
        ),
    )


_LP = site(LpPool2D((2, 2), (1, 1)), (float32(1, 2, 2, 1),), float32(1, 1, 1, 1))
_INDICES = Site(
    "n",
    MaxPoolIndices((2, 2), (1, 1)),
    (float32(1, 2, 2, 2),),
    (float32(1, 1, 1, 2), TensorType(DType.INT64, (1, 1, 1, 2))),
    (None,),
)
_VOLUME = site(Conv3D(), (float32(1, 2, 1, 1, 2), float32(1, 2, 1, 1, 2), float32(1)), float32(1, 1, 1, 1, 1))
_SPREAD = site(
    TransposeConv3D((3, 1, 1), (2, 1, 1)),
    (float32(1, 2, 1, 1, 1), float32(1, 1, 1, 1, 1), float32(1)),
    float32(1, 3, 1, 1, 1),
)
_NORM = site(
    Normalization((1,), Norm.ROOT_MEAN_SQUARE, 0.0), (float32(2, 2), float32(2), float32(2)), float32(2, 2)
)
_LOG = site(LogSoftmax(), (float32(1, 2),), float32(1, 2))
_RESPONSE = site(LocalResponseNorm(0, 1, 1.0, 1.0, 1.0), (float32(1, 2),), float32(1, 2))


def _floats(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


CASES: dict[str, Case] = {
    "LpPool2D": Case(
        _LP,
        (_floats(1, -5, 3, 1).reshape(1, 2, 2, 1),),
        _floats(6).reshape(1, 1, 1, 1),
        0,
        (
            *plain_image_limits(_LP),
            *float_limits(_LP),
            *window_limits(_LP),
            Broken(
                "the order of the norm is at least 1",
                "order 0",
                dataclasses.replace(_LP, attrs=LpPool2D((2, 2), (1, 1), order=0)),
            ),
        ),
    ),
    "MaxPoolIndices": Case(
        _INDICES,
        (_floats(1, 2, 9, 2, 3, 2, 4, 1).reshape(1, 2, 2, 2),),
        _floats(9, 2).reshape(1, 1, 1, 2),
        0,
        (*plain_image_limits(_INDICES), *one_type_limits(_INDICES), *window_limits(_INDICES)),
        more=(np.array([1, 4], np.int64).reshape(1, 1, 1, 2),),
    ),
    "Conv3D": Case(
        _VOLUME,
        (
            _floats(1, 2, 3, 4).reshape(1, 2, 1, 1, 2),
            _floats(1, 10, 100, -1).reshape(1, 2, 1, 1, 2),
            _floats(5),
        ),
        _floats(322).reshape(1, 1, 1, 1, 1),
        4,
        (
            Broken(
                "data [N, D, H, W, C] and weights have 5 dimensions",
                "[1, 2, 1, 1, 3] and",
                with_input(_VOLUME, 0, float32(1, 2, 1, 1, 3)),
            ),
            Broken(
                "padding adds at most 1,048,576 elements",
                "elements, padding ((",
                dataclasses.replace(_VOLUME, attrs=Conv3D(padding=(FAR, FAR, FAR))),
            ),
            *float_dot_limits(_VOLUME),
        ),
    ),
    "TransposeConv3D": Case(
        _SPREAD,
        (
            _floats(1, 2).reshape(1, 2, 1, 1, 1),
            _floats(3).reshape(1, 1, 1, 1, 1),
            _floats(10),
        ),
        _floats(13, 10, 16).reshape(1, 3, 1, 1, 1),
        2,
        (
            Broken(
                "data [N, D, H, W, C] and weights have 5 dimensions",
                ", 1 groups",
                with_input(_SPREAD, 0, float32(1, 2, 1, 1, 3)),
            ),
            Broken(
                "the result has at most",
                "[1, 99999, 99999, 1, 1]",
                with_output(_SPREAD, float32(1, 99999, 99999, 1, 1)),
            ),
            Broken(
                "strides and extents are at least 1",
                "stride (0, 1, 1)",
                dataclasses.replace(_SPREAD, attrs=TransposeConv3D((3, 1, 1), (0, 1, 1))),
            ),
            *float_dot_limits(_SPREAD),
        ),
    ),
    "Normalization": Case(
        _NORM,
        (_floats(1, 7, 0, 0).reshape(2, 2), _floats(5, 10), _floats(1, 2)),
        _floats(2, 16, 1, 2).reshape(2, 2),
        0,
        (
            *float_limits(_NORM),
            Broken(
                "the axes are dimensions of the data",
                "[2] of [2, 2]",
                dataclasses.replace(_NORM, attrs=Normalization((2,))),
            ),
            Broken("scale and bias broadcast", "[2, 2], [3], [2]", with_input(_NORM, 1, float32(3))),
            Broken(
                "epsilon is not negative",
                "-1",
                dataclasses.replace(_NORM, attrs=Normalization((1,), epsilon=-1)),
            ),
            *integer.NORMALIZATION_LIMITS,
        ),
    ),
    "LogSoftmax": Case(
        _LOG,
        (_floats(3, 3).reshape(1, 2),),
        np.full((1, 2), -np.log(2.0), np.float32),
        0,
        (
            *float_limits(_LOG),
            Broken("the input has at least one dimension", "a single number", with_input(_LOG, 0, float32())),
            Broken(ACTIVATIONS, "int8[1, 2] per tensor, float32[", with_input(_LOG, 0, int8(1, 2))),
        ),
    ),
    "LocalResponseNorm": Case(
        _RESPONSE,
        (_floats(1, 2).reshape(1, 2),),
        np.array([[1 / 6, 2 / 5]], np.float32),
        0,
        (
            *float_limits(_RESPONSE),
            Broken(
                "the input has at least one dimension", "a single number", with_input(_RESPONSE, 0, float32())
            ),
            Broken(
                "the window holds the element itself",
                "0 before, 1 after, bias 0, alpha 1",
                dataclasses.replace(_RESPONSE, attrs=LocalResponseNorm(0, 1, 1.0, 1.0, 0.0)),
            ),
        ),
    ),
}
