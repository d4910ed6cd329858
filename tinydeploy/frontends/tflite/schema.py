"""The part of TFLite's schema that the reader touches, as data for the structural verifier.

Slots are the field numbers of ``schema.fbs`` (tensorflow/compiler/mlir/lite/schema, version 3). A slot that
is not listed is never read, so it is never verified. No table contains itself: this file bounds the depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

IDENTIFIER = b"TFL3"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number stored in the table itself."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class String:
    """Bytes with a length in front."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Numbers with their count in front. ``bulk`` marks data that is sliced, not read number by number."""

    size_bytes: int
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class TableRef:
    """Another table."""

    table: Table


@dataclass(frozen=True, slots=True)
class Tables:
    """A vector of tables."""

    table: Table


@dataclass(frozen=True, slots=True)
class Union:
    """A table whose kind is the number in slot ``type_slot``; kinds that are not listed are not read."""

    type_slot: int
    members: tuple[tuple[int, Table], ...]


Field = Scalar | String | Vector | TableRef | Tables | Union


@dataclass(frozen=True, slots=True)
class Table:
    """A table: slot number to field."""

    name: str
    fields: tuple[tuple[int, Field], ...]


def _table(name: str, fields: Mapping[int, Field]) -> Table:
    return Table(name, tuple(fields.items()))


_BYTE, _INT, _LONG = Scalar(1), Scalar(4), Scalar(8)
_INTS = Vector(4)

# Members of the union BuiltinOptions; the numbers are its enum values.
OPTIONS: tuple[tuple[int, Table], ...] = (
    (1, _table("Conv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _INT, 5: _INT, 6: _BYTE})),
    (2, _table("DepthwiseConv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _BYTE, 5: _INT, 6: _INT})),
    (5, _table("Pool2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE})),
    (6, _table("SVDFOptions", {0: _INT, 1: _BYTE, 2: _BYTE})),
    (8, _table("FullyConnectedOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE, 3: _BYTE, 4: _BYTE})),
    (9, _table("SoftmaxOptions", {0: _INT})),
    (10, _table("ConcatenationOptions", {0: _INT, 1: _BYTE})),
    (11, _table("AddOptions", {0: _BYTE, 1: _BYTE})),
    (15, _table("ResizeBilinearOptions", {2: _BYTE, 3: _BYTE})),
    (17, _table("ReshapeOptions", {0: _INTS})),
    (19, _table("SpaceToDepthOptions", {0: _INT})),
    (21, _table("MulOptions", {0: _BYTE})),
    (23, _table("GatherOptions", {0: _INT, 1: _INT})),
    (27, _table("ReducerOptions", {0: _BYTE})),
    (28, _table("SubOptions", {0: _BYTE, 1: _BYTE})),
    (29, _table("DivOptions", {0: _BYTE})),
    (32, _table("StridedSliceOptions", {0: _INT, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE})),
    (37, _table("CastOptions", {0: _BYTE, 1: _BYTE})),
    (40, _table("ArgMaxOptions", {0: _BYTE})),
    (49, _table("TransposeConvOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE})),
    (57, _table("ArgMinOptions", {0: _BYTE})),
    (59, _table("PackOptions", {0: _INT, 1: _INT})),
    (64, _table("UnpackOptions", {0: _INT, 1: _INT})),
    (
        71,
        _table(
            "UnidirectionalSequenceLSTMOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE, 5: _BYTE}
        ),
    ),
    (74, _table("ResizeNearestNeighborOptions", {0: _BYTE, 1: _BYTE})),
    (75, _table("LeakyReluOptions", {0: _INT})),
    (77, _table("MirrorPadOptions", {0: _BYTE})),
    (94, _table("DepthToSpaceOptions", {0: _INT})),
    (101, _table("BatchMatMulOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE})),
    (103, _table("CallOnceOptions", {0: _INT})),
    (111, _table("VarHandleOptions", {0: String(), 1: String()})),
    (116, _table("GeluOptions", {0: _BYTE})),
)

# Only whether these are there is asked.
_OPAQUE = _table("opaque table", {})

_OPERATOR_CODE = _table("OperatorCode", {0: _BYTE, 1: String(), 2: _INT, 3: _INT})

_QUANTIZATION = _table(
    "QuantizationParameters",
    {2: Vector(4), 3: Vector(8), 4: _BYTE, 6: _INT},
)

_TENSOR = _table(
    "Tensor",
    {
        0: _INTS,
        1: _BYTE,
        2: _INT,
        3: String(),
        4: TableRef(_QUANTIZATION),
        5: _BYTE,
        6: TableRef(_OPAQUE),
        7: _INTS,
    },
)

_OPERATOR = _table(
    "Operator",
    {0: _INT, 1: _INTS, 2: _INTS, 3: _BYTE, 4: Union(3, OPTIONS), 8: _INTS},
)

_SUBGRAPH = _table("SubGraph", {0: Tables(_TENSOR), 1: _INTS, 2: _INTS, 3: Tables(_OPERATOR), 4: String()})

_BUFFER = _table("Buffer", {0: Vector(1, bulk=True), 1: _LONG, 2: _LONG})

_SIGNATURE = _table("SignatureDef", {2: String(), 4: _INT})

MODEL = _table(
    "Model",
    {
        0: _INT,
        1: Tables(_OPERATOR_CODE),
        2: Tables(_SUBGRAPH),
        4: Tables(_BUFFER),
        7: Tables(_SIGNATURE),
    },
)
