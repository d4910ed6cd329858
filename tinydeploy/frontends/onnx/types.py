"""ONNX element types and tensors in our terms."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, TypeProto, helper

from tinydeploy.ir import Array, DType, Quant, TensorType

DTYPES: dict[int, DType] = {
    TensorProto.FLOAT: DType.FLOAT32,
    TensorProto.INT8: DType.INT8,
    TensorProto.UINT8: DType.UINT8,
    TensorProto.INT16: DType.INT16,
    TensorProto.UINT16: DType.UINT16,
    TensorProto.INT32: DType.INT32,
    TensorProto.UINT32: DType.UINT32,
    TensorProto.INT64: DType.INT64,
    TensorProto.BOOL: DType.BOOL,
}
"""Element types that values computed at run time may have."""

ELEMENT_TYPES = {dtype: number for number, dtype in DTYPES.items()}
ELEMENT_TYPES[DType.INT4] = TensorProto.INT4

_BY_NUMPY = {dtype.numpy: dtype for dtype in DTYPES.values()}

OTHER_TYPES = "use float32, bool, int8 to int64 or uint8 to uint32 in the model"
"""Remedy for any other element type."""


def element_name(number: int) -> str:
    """The format's own name of an element type."""
    try:
        return str(TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


def held(array: Array) -> tuple[DType, Array] | None:
    """How the graph holds a constant: its element type and the array in that type's numpy form.

    4-bit integers are unpacked: signed ones stay INT4, unsigned ones become UINT8. None for element types
    that the graph does not know.
    """
    if array.dtype in _BY_NUMPY:
        return _BY_NUMPY[array.dtype], array
    if array.dtype.name == "int4":
        return DType.INT4, array.astype(np.int8)
    if array.dtype.name == "uint4":
        return DType.UINT8, array.astype(np.uint8)
    return None


def type_proto(value: TensorType | Array) -> TypeProto:
    """The format's own type of a value or a constant."""
    if isinstance(value, TensorType):
        return helper.make_tensor_type_proto(ELEMENT_TYPES[value.dtype], value.shape)
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def permuted(quant: Quant | None, order: tuple[int, ...]) -> Quant | None:
    """The quantization after a transpose."""
    if quant is None or quant.axis is None:
        return quant
    return Quant(quant.scales, quant.zero_points, order.index(quant.axis))


def reshaped(quant: Quant | None, old: tuple[int, ...], new: tuple[int, ...]) -> Quant | None:
    """The quantization after a reshape. Raises ValueError where the quantized axis does not survive."""
    if quant is None or quant.axis is None:
        return quant
    before, extent = int(np.prod(old[: quant.axis])), old[quant.axis]
    passed = 1
    for axis, size in enumerate(new):
        if passed == before and size == extent:
            return Quant(quant.scales, quant.zero_points, axis)
        passed *= size
    raise ValueError("the reshape splits or joins the quantized axis")
