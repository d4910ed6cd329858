"""What the cases of operators are made of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, Quant, TensorType
from tinydeploy.ops import AnySite, Site


def int8(*shape: int, scale: float = 0.5, zero: int = 0) -> TensorType:
    return TensorType(DType.INT8, shape, Quant((scale,), (zero,)))


def float32(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


@dataclass(frozen=True)
class Broken:
    """A node that one constraint refuses: its ``doc`` begins with ``doc``, its figure is ``got``."""

    doc: str
    got: str
    site: AnySite


@dataclass(frozen=True)
class Case:
    """A sound node, arrays for its inputs that are not constant, and what it makes of them.

    ``more`` are the results after the first.
    """

    site: AnySite
    data: tuple[Array, ...]
    result: Array
    macs: int
    broken: tuple[Broken, ...] = ()
    impossible: tuple[AnySite, ...] = field(default=())
    more: tuple[Array, ...] = ()


def site(attrs: Attrs, inputs: tuple[TensorType | None, ...], output: TensorType) -> AnySite:
    return Site("n", attrs, inputs, (output,), (None,) * len(inputs))


def dot(attrs: Attrs, data: TensorType, weights: Array, bias: Array | None, output: TensorType) -> AnySite:
    """An operator with weights of scale 0.25 and a bias."""
    types = [data, int8(*weights.shape, scale=0.25)]
    constants: list[Array | None] = [None, weights]
    if bias is not None:
        types.append(TensorType(DType.INT32, bias.shape))
        constants.append(bias)
    return Site("n", attrs, tuple(types), (output,), tuple(constants))


def with_input(sound: AnySite, index: int, type_: TensorType, array: Array | None = None) -> AnySite:
    inputs, constants = list(sound.inputs), list(sound.constants)
    inputs[index], constants[index] = type_, array
    return dataclasses.replace(sound, inputs=tuple(inputs), constants=tuple(constants))


def with_output(sound: AnySite, type_: TensorType) -> AnySite:
    return dataclasses.replace(sound, outputs=(type_,))


INT8_ACTIVATIONS = "activations are int8 with one scale and zero point per tensor"
ACTIVATIONS = "activations are all int8 or all int16, with one scale and zero point per tensor"


def dot_limits(sound: AnySite) -> tuple[Broken, ...]:
    weights, output = sound.input(1), sound.outputs[0]
    huge = np.full(sound.input(2).shape, 2**31 - 1, np.int32)
    kinds = "weights are constant int8 or int4"
    hybrid = with_output(with_input(sound, 0, float32(*sound.input(0).shape)), float32(*output.shape))
    return (
        Broken(ACTIVATIONS, "float32[", with_output(sound, float32(*output.shape))),
        Broken(kinds, "per tensor, not constant", with_input(sound, 1, weights)),
        Broken(
            kinds,
            "float32[",
            with_input(sound, 1, float32(*weights.shape), np.full(weights.shape, np.nan, np.float32)),
        ),
        Broken("beside float data, weights are constant", "not constant", with_input(hybrid, 1, weights)),
        Broken("beside float data, the output is float32", "int32[", hybrid),
        Broken("the bias is absent or a constant int32", "float32[", with_input(sound, 2, float32(1))),
        Broken(
            "no sum of products and bias can leave 32 bits",
            "a sum of up to 2147",
            with_input(sound, 2, sound.input(2), huge),
        ),
        Broken(
            "the output's scale is not so small",
            "output scale 1e-09",
            with_output(sound, int8(*output.shape, scale=1e-9)),
        ),
    )


def wide_zero_limit(sound: AnySite) -> Broken:
    """int16 steps that do not count from 0."""

    def wide(type_: TensorType) -> TensorType:
        return TensorType(DType.INT16, type_.shape, Quant((0.5,), (3,)))

    inputs = tuple(None if type_ is None else wide(type_) for type_ in sound.inputs)
    broken = dataclasses.replace(sound, inputs=inputs, outputs=tuple(map(wide, sound.outputs)))
    return Broken("zero points are 0 where activations are int16", "3, ", broken)


def image_limits(sound: AnySite, padded: Attrs) -> tuple[Broken, ...]:
    shape = sound.input(0).shape
    return (
        Broken("the input is an image [1, H, W, C]", "[2, ", with_input(sound, 0, int8(2, *shape[1:]))),
        Broken(
            "the input is an image [1, H, W, C]", str(list(shape[1:])), with_input(sound, 0, int8(*shape[1:]))
        ),
        Broken(
            "padding adds at most 1,048,576 elements",
            "elements, padding ((",
            dataclasses.replace(sound, attrs=padded),
        ),
    )


FAR = ((2000, 2000), (2000, 2000))
IMAGE = np.arange(8, dtype=np.int8).reshape(1, 2, 2, 2)
