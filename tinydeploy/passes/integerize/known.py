"""What is known of a float value while a graph is made integer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Quant, TensorType
from tinydeploy.ops.quantized import along, quant_of


@dataclass(frozen=True, slots=True)
class Known:
    """A float value that a function makes of each step of a quantized value.

    ``source`` is that value and ``type`` its type, of one scale; it never leaves [``low``, ``high``].
    ``table`` holds the function of every step of the type, in float32.
    """

    source: int
    type: TensorType
    low: int
    high: int
    table: Array

    @property
    def first(self) -> int:
        """The lowest step of the type, that of the table's first entry."""
        return self.type.dtype.limits[0]

    @property
    def reached(self) -> slice:
        """The part of the table that counts."""
        return slice(self.low - self.first, self.high - self.first + 1)

    @property
    def is_steps(self) -> bool:
        """Whether the function is what Dequantize does."""
        return bool(np.array_equal(self.table[self.reached], dequantized(self.type)[self.reached]))


def dequantized(type_: TensorType) -> Array:
    """The number that each step of a type stands for, from the lowest on, in float32."""
    quant = quant_of(type_)
    low, high = type_.dtype.limits
    centred = np.arange(low, high + 1) - quant.zero_point
    with np.errstate(over="ignore"):
        table: Array = centred.astype(np.float32) * np.float32(quant.scale)
    return table


def steps_known(source: int, type_: TensorType, low: int | None = None, high: int | None = None) -> Known:
    """A value that is the number of each step of ``source``."""
    least, most = type_.dtype.limits
    return Known(
        source, type_, least if low is None else low, most if high is None else high, dequantized(type_)
    )


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant float value: ``scale * (steps - zero_point)``, element by element.

    ``type`` is that of the steps. Numbers that the model does not quantize have no ``type``, steps of float64
    and scales of 1.
    """

    steps: Array
    scale: Array
    zero_point: Array
    type: TensorType | None

    @property
    def real(self) -> Array:
        real: Array = (self.steps - self.zero_point) * self.scale
        return real

    def taken(self, places: Array) -> Constant:
        """The elements at ``places`` of the flat value."""
        return Constant(
            self.steps.reshape(-1)[places],
            self.scale.reshape(-1)[places],
            self.zero_point.reshape(-1)[places],
            self.type,
        )

    def quant(self, axis: int | None) -> Quant | None:
        """The quantization, with one scale or one per index of ``axis``; None where it differs elsewhere."""
        found: list[tuple[float, int]] = []
        for part in range(1 if axis is None else self.steps.shape[axis]):
            scales, zero_points = self.scale, self.zero_point
            if axis is not None:
                scales, zero_points = scales.take(part, axis), zero_points.take(part, axis)
            first = scales.reshape(-1)[0], zero_points.reshape(-1)[0]
            if (scales != first[0]).any() or (zero_points != first[1]).any():
                return None
            found.append((float(first[0]), int(first[1])))
        return Quant(tuple(scale for scale, _ in found), tuple(zero for _, zero in found), axis)


def constant_steps(steps: Array, type_: TensorType) -> Constant:
    """The constant that Dequantize makes of constant steps."""
    scale, zero_point = along(quant_of(type_), type_.shape)
    return Constant(
        steps.astype(np.int64),
        np.broadcast_to(scale, type_.shape),
        np.broadcast_to(zero_point, type_.shape),
        type_,
    )


def constant_reals(array: Array) -> Constant:
    """A constant that the model does not quantize."""
    ones = np.ones(array.shape)
    return Constant(array.astype(np.float64), ones, np.zeros(array.shape), None)
