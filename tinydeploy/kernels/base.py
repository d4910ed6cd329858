"""The band contract: what a schedule declares about the kernel that it makes.

A kernel computes a band of output rows from pointers to input rows. A tensor is seen as rows of equal
length: the lines of an image, the vectors of a matrix, or the whole tensor as one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite


@dataclass(frozen=True, slots=True)
class Access:
    """The access map of one data operand: which of its rows a kernel reads, in ascending order.

    Output row y reads rows ``y * stride - before`` up to ``extent`` rows further; rows outside the tensor
    are padding, for which the caller passes a row of zero points.
    """

    rows: int
    row_bytes: int
    stride: int = 1
    extent: int = 1
    before: int = 0

    def first(self, y: int) -> int:
        """First row that output row ``y`` reads; negative in the padding."""
        return y * self.stride - self.before

    def end(self, y: int, band: int) -> int:
        """One past the last row that the band of output rows from ``y`` reads; may pass the tensor's end."""
        return self.first(y + band - 1) + self.extent

    def pointers(self, band: int) -> int:
        """Row pointers that a band takes: every row from its first to its last."""
        return (band - 1) * self.stride + self.extent

    def pads(self, bands: int, band: int) -> bool:
        """Whether any of ``bands`` bands reads a row outside the tensor."""
        return self.before > 0 or self.end((bands - 1) * band, band) > self.rows


@dataclass(frozen=True, slots=True)
class Result:
    """The rows that a kernel writes, in ascending order, ``band`` of them a call and contiguous."""

    rows: int
    row_bytes: int


class CType(Enum):
    """Element types of packed constants; the value is the C type."""

    INT8 = "int8_t"
    UINT8 = "uint8_t"
    INT16 = "int16_t"
    UINT16 = "uint16_t"
    INT32 = "int32_t"
    INT64 = "int64_t"
    FLOAT32 = "float"


class Kind(Enum):
    """Where the bytes of a constant are counted."""

    WEIGHTS = "weights"
    TABLE = "table"


_NUMPY: dict[CType, type[np.generic]] = {
    CType.INT8: np.int8,
    CType.UINT8: np.uint8,
    CType.INT16: np.int16,
    CType.UINT16: np.uint16,
    CType.INT32: np.int32,
    CType.INT64: np.int64,
    CType.FLOAT32: np.float32,
}


@dataclass(frozen=True, slots=True)
class Constant:
    """Constant data as the schedule packed it; ``role`` is the name of the kernel's argument."""

    role: str
    ctype: CType
    kind: Kind
    data: bytes

    @property
    def array(self) -> Array:
        return np.frombuffer(self.data, _NUMPY[self.ctype])


def constant(role: str, ctype: CType, kind: Kind, array: Array) -> Constant:
    """Pack an array; its values must fit the C type."""
    dtype = np.dtype(_NUMPY[ctype])
    packed = array.astype(dtype)
    if ctype is not CType.FLOAT32 and not np.array_equal(packed, array):
        raise ValueError(f"{role} does not fit {ctype.value}")
    return Constant(role, ctype, kind, packed.astype(dtype.newbyteorder("<")).tobytes())


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that equal instances take as an argument (int32_t)."""

    role: str
    value: int


class Params:
    """Base of the compile-time constants of a schedule: one frozen dataclass each, hashable."""

    __slots__ = ()


class Knobs:
    """Base of what may be tuned about a schedule: one frozen dataclass each, hashable."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """Identity of a kernel: steps with equal instances share one C function."""

    schedule: str
    params: Params


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel instance bound to one node: its rows, its constants, its price.

    ``operands`` are the node's inputs that are read as rows, in the order of ``accesses``. A ``flat``
    kernel takes only the first row pointer of each operand and reads the band's rows contiguously.
    ``takes_row`` kernels are told the number of the first output row. ``more`` are the results of outputs 1,
    2, ... of a node that has several: whole tensors, and such a kernel has a single band.
    """

    instance: Instance
    title: str
    band: int
    flat: bool
    operands: tuple[int, ...]
    accesses: tuple[Access, ...]
    result: Result
    constants: tuple[Constant, ...]
    scalars: tuple[Scalar, ...]
    scratch_bytes: int
    cost_instructions: int
    takes_row: bool = False
    pad_value: int = 0
    more: tuple[Result, ...] = ()

    @property
    def bands(self) -> int:
        """How often the kernel is called for the whole output."""
        return self.result.rows // self.band


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to compute an operator.

    ``op`` is the operator, or a family of them. ``knobs`` gives the choices, the default first; ``make``
    binds one of them to a node. The template of the C body is ``NAME.c.j2`` in this package; ``headers`` are
    those of the runtime that it needs.
    """

    name: str
    op: type[Attrs] | tuple[type[Attrs], ...]
    doc: str
    applies: Callable[[AnySite, Target], bool]
    knobs: Callable[[AnySite, Target], tuple[Knobs, ...]]
    make: Callable[[AnySite, Knobs], Kernel]
    headers: tuple[str, ...] = ("td_fixed_point.h", "td_rows.h")


@dataclass(frozen=True, slots=True)
class Banded(Knobs):
    """The knob that every schedule has: output rows a call."""

    band: int
