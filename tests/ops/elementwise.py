"""Cases of the elementwise operators."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import (
    ACTIVATIONS,
    INT8_ACTIVATIONS,
    Broken,
    Case,
    float32,
    int8,
    site,
    wide_zero_limit,
    with_input,
    with_output,
)
from tests.ops.plain import plain_limit
from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Attrs
from tinydeploy.ops import AnySite
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.requantize import Requantize
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.tanh import Tanh

TINY = 1e-9
LEFT = np.array([[1, 2, -3]], np.int8)


def tiny_output(sound: AnySite, doc: str) -> Broken:
    """The output's scale makes the result leave 32 bits."""
    shape = sound.outputs[0].shape
    return Broken(doc, "output scale 1e-09", with_output(sound, int8(*shape, scale=TINY)))


def binary(attrs: Attrs, result: list[list[int]], tiny: str = "", *, scale: float = 1.0) -> Case:
    """[1, 3] with scale 0.5 and [3] with ``scale``, to scale 0.5."""
    sound = site(attrs, (int8(1, 3), int8(3, scale=scale)), int8(1, 3))
    broken = [
        Broken(ACTIVATIONS, "float32[1, 3] not quantized", with_input(sound, 1, float32(1, 3))),
        Broken("each extent of one input is that of", "[1, 3] and [2]", with_input(sound, 1, int8(2))),
    ]
    if tiny:
        broken.append(tiny_output(sound, tiny))
    else:
        broken.append(
            Broken("input and output have the same scale", "Quant(", with_input(sound, 1, int8(3, zero=1)))
        )
    broken.append(plain_limit(sound))
    broken.append(wide_zero_limit(sound))
    if hasattr(attrs, "rounding"):
        broken.append(once_limit(sound))
    right = np.array([10, 20, -30], np.int8)
    impossible = (with_input(sound, 1, int8(2)),)
    return Case(sound, (LEFT, right), np.array(result, np.int8), 0, tuple(broken), impossible)


def once_limit(sound: AnySite) -> Broken:
    """Where a node of two operands rounds once."""
    attrs = dataclasses.replace(sound.attrs, rounding=Rounding.HALF_EVEN)
    broken = with_input(dataclasses.replace(sound, attrs=attrs), 1, float32(1, 3))
    return Broken("operands are steps of 8, 16 or 32 bits", "float32[1, 3] not quantized", broken)


def unary(
    sound: AnySite, data: list[int], result: list[int], *broken: Broken, activations: str = ACTIVATIONS
) -> Case:
    first = Broken(activations, "float32[1, 3] not quantized", with_input(sound, 0, float32(1, 3)))
    limits = (first, plain_limit(sound), *broken)
    return Case(sound, (np.array([data], np.int8),), np.array([result], np.int8), 0, limits)


LEAVES = "the output's scale is not so small that an element, brought to it, leaves 32 bits"
_RELU = site(Relu(), (int8(1, 3),), int8(1, 3, scale=0.25, zero=-10))
_LEAKY = site(LeakyRelu(0.25), (int8(1, 3),), int8(1, 3))
_SIGMOID = site(Logistic(), (int8(1, 3),), int8(1, 3, scale=1 / 256, zero=-128))
_TANH = site(Tanh(), (int8(1, 3),), int8(1, 3, scale=1 / 128))
_SWISH = site(HardSwish(), (int8(1, 3),), int8(1, 3))
_REQUANTIZE = site(Requantize(), (int8(1, 3),), int8(1, 3, scale=0.25, zero=1))
_QUANTIZE = site(Quantize(), (float32(1, 6),), int8(1, 6, zero=1))
_DEQUANTIZE = site(Dequantize(), (int8(1, 3, zero=1),), float32(1, 3))

CASES: dict[str, Case] = {
    "Sub": binary(Sub(), [[-19, -38, 57]], "the output's scale is not so small that a difference"),
    "Mul": binary(Mul(), [[10, 40, 90]], "the output's scale is not so small that a product"),
    "Prelu": binary(Prelu(), [[1, 2, 90]], LEAVES),
    "Maximum": binary(Maximum(), [[10, 20, -3]], scale=0.5),
    "Minimum": binary(Minimum(), [[1, 2, -30]], scale=0.5),
    "Relu": unary(
        _RELU,
        [3, -3, 100],
        [-4, -10, 127],
        tiny_output(_RELU, LEAVES),
        Broken(
            "RELU6 has the same scale and zero point",
            "Quant(",
            dataclasses.replace(_RELU, attrs=Relu(Activation.RELU6)),
        ),
    ),
    "LeakyRelu": unary(
        _LEAKY,
        [3, -8, -2],
        [3, -2, -1],
        Broken("the slope is a number, from 0 on", "-1", dataclasses.replace(_LEAKY, attrs=LeakyRelu(-1.0))),
        tiny_output(_LEAKY, LEAVES),
    ),
    "Logistic": unary(
        _SIGMOID,
        [0, 100, -100],
        [0, 127, -128],
        Broken("the input's scale is between", "scale 4", with_input(_SIGMOID, 0, int8(1, 3, scale=4.0))),
        Broken("the output has scale 1/256", "Quant(", with_output(_SIGMOID, int8(1, 3))),
    ),
    "Tanh": unary(
        _TANH,
        [0, 100, -1],
        [0, 127, -59],
        Broken("the input's scale is between", "scale 4", with_input(_TANH, 0, int8(1, 3, scale=4.0))),
        Broken("the output has scale 1/128", "Quant(", with_output(_TANH, int8(1, 3))),
    ),
    "HardSwish": unary(
        _SWISH,
        [8, -8, 0],
        [8, 0, 0],
        Broken(
            "the output's scale is at least 1/128",
            "0.5 and 1e-09",
            with_output(_SWISH, int8(1, 3, scale=TINY)),
        ),
        activations=INT8_ACTIVATIONS,
    ),
    "Requantize": Case(
        _REQUANTIZE,
        (np.array([[3, -3, 100]], np.int8),),
        np.array([[7, -5, 127]], np.int8),
        0,
        (
            Broken(
                "input and output are int8, uint8, int16",
                "float32[1, 3] not quantized",
                with_input(_REQUANTIZE, 0, float32(1, 3)),
            ),
            tiny_output(_REQUANTIZE, "an element, brought to the output's scale, stays in 32 bits"),
        ),
    ),
    "Quantize": Case(
        _QUANTIZE,
        (np.array([[0.25, -0.25, 1e9, np.nan, -np.inf, 0.74]], np.float32),),
        np.array([[2, 0, 127, -128, -128, 2]], np.int8),
        0,
        (
            Broken(
                "the input is float32, the output int8, uint8, int16",
                "int8[1, 6] per tensor",
                with_input(_QUANTIZE, 0, int8(1, 6)),
            ),
        ),
    ),
    "Dequantize": Case(
        _DEQUANTIZE,
        (np.array([[1, 127, -128]], np.int8),),
        np.array([[0.0, 63.0, -64.5]], np.float32),
        0,
        (
            Broken(
                "the input is int8, uint8, int16, uint16 or int32 with a scale",
                "float32[1, 3]",
                with_input(_DEQUANTIZE, 0, float32(1, 3)),
            ),
        ),
    ),
}
