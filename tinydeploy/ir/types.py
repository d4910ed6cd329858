"""Types of values: element type, shape and quantization."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any element type; the types of values say which."""


class DType(Enum):
    """Element types; the value is the name in the text form."""

    INT4 = "int4"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT32 = "float32"
    BOOL = "bool"

    @property
    def bits(self) -> int:
        """Width of one element in memory; INT4 packs two to a byte."""
        return _BITS[self]

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The array type that holds such elements on the desk; INT4 is held unpacked in int8."""
        return np.dtype("int8" if self is DType.INT4 else self.value)

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        signed = self not in (DType.UINT8, DType.UINT16, DType.UINT32)
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if signed else (0, (1 << self.bits) - 1)

    @property
    def is_integer(self) -> bool:
        return self not in (DType.FLOAT32, DType.BOOL)


_BITS = {
    DType.INT4: 4,
    DType.INT8: 8,
    DType.UINT8: 8,
    DType.INT16: 16,
    DType.UINT16: 16,
    DType.INT32: 32,
    DType.UINT32: 32,
    DType.INT64: 64,
    DType.FLOAT32: 32,
    DType.BOOL: 8,
}


@dataclass(frozen=True, slots=True)
class Quant:
    """Affine quantization: ``real = scale * (q - zero_point)``.

    One scale and zero point for the tensor (``axis`` is None), or one of each per index of ``axis``.
    Scales are the exact float64 images of the model's own numbers.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def scale(self) -> float:
        """The scale of a per-tensor quantization."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor quantization."""
        return self.zero_points[0]

    @property
    def per_tensor(self) -> bool:
        return self.axis is None


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type, shape (every extent known and positive) and quantization, if any."""

    dtype: DType
    shape: tuple[int, ...]
    quant: Quant | None = None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory, dense and row-major."""
        return (self.elements * self.dtype.bits + 7) // 8
