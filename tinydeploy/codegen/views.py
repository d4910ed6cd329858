"""What the templates see of a program: names chosen, addresses resolved, every text in a printable type."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.codegen.literals import CComment, CFloat, CIdent, CString, Raw
from tinydeploy.ir import DType, TensorType
from tinydeploy.kernels.base import Kind

C_TYPES = {
    DType.INT4: "int8_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
    DType.UINT32: "uint32_t",
    DType.INT64: "int64_t",
    DType.FLOAT32: "float",
    DType.BOOL: "uint8_t",
}

QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16)
"""Types for which the interface converts from and to float."""


@dataclass(frozen=True, slots=True)
class Data:
    """One constant array of the weights file."""

    symbol: CIdent
    ctype: CIdent
    kind: Kind
    elements: int
    bytes: int
    values: Raw


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output. ``pointer`` is a C expression for its address, given ``m``."""

    index: int
    tag: CIdent
    macro: CIdent
    comment: CComment
    label: CString
    ctype: CIdent
    dtype: CIdent
    elements: int
    bytes: int
    rank: int
    shape: Raw
    scale: CFloat | Raw
    zero_point: int | Raw
    low: int
    high: int
    converts: bool
    is_float: bool
    pointer: Raw
    in_arena: bool


@dataclass(frozen=True, slots=True)
class Function:
    """One kernel instance as a C function."""

    symbol: CIdent
    comment: CComment
    signature: Raw
    body: Raw


@dataclass(frozen=True, slots=True)
class Source:
    """One data operand of a call: where its rows are.

    ``end`` and ``waits_for`` matter in segments: the call needs rows below ``end`` of call ``waits_for``.
    """

    base: Raw
    rows: int
    row_bytes: int
    stride: int
    before: int
    pointers: int
    first_pointer: int
    padding: CIdent | Raw | None
    ring: int
    end_offset: int
    waits_for: int | None


@dataclass(frozen=True, slots=True)
class Further:
    """An output after the first of a call: ``base`` is a C expression for its address."""

    index: int
    base: Raw
    bytes: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a run for one state variable: ``bytes`` bytes from one address to the other.

    ``initial`` is the data that a reset restores, or None where all of it is the byte ``fill``.
    """

    comment: CComment
    to: Raw
    source: Raw | None
    bytes: int
    initial: CIdent | Raw | None
    fill: int | Raw


@dataclass(frozen=True, slots=True)
class CallView:
    """One call of a step; ``arguments`` are those after the row pointers."""

    position: int
    instance: int
    comments: tuple[CComment, ...]
    function: CIdent
    arguments: tuple[str, ...]
    takes_row: bool
    sources: tuple[Source, ...]
    pointers: int
    flat: bool
    band: int
    bands: int
    out: Raw
    out_rows: int
    out_row_bytes: int
    out_ring: int
    more: tuple[Further, ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: a single call, or the calls of a row segment."""

    index: int
    calls: tuple[CallView, ...]


def shape_text(type_: TensorType) -> str:
    """``[1, 25, 5, 64]``."""
    return str(list(type_.shape))


def quant_text(type_: TensorType) -> str:
    """Quantization for comments."""
    if type_.quant is None:
        return "not quantized"
    if not type_.quant.per_tensor:
        return f"{len(type_.quant.scales)} scales on axis {type_.quant.axis}"
    return f"scale {type_.quant.scale:.9g}, zero point {type_.quant.zero_point}"
