"""uint8 models as int8 ones: every step and every zero point moves down by 128, and the bits stay the same.

Old converters quantized to uint8. Its arithmetic is that of int8: products and sums see steps minus zero
points, which do not change. Only the ends of the model keep the type of the file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from tinydeploy.frontends.tflite.model import Subgraph, Tensor
from tinydeploy.ir import DType

_OFFSET = 128

# What takes uint8 as it is: moves of elements, and changes of type.
_EITHER = frozenset(
    (
        "CAST",
        "CONCATENATION",
        "DEPTH_TO_SPACE",
        "DEQUANTIZE",
        "EXPAND_DIMS",
        "GATHER",
        "GATHER_ND",
        "PACK",
        "PAD",
        "PADV2",
        "QUANTIZE",
        "RESHAPE",
        "SLICE",
        "SPACE_TO_DEPTH",
        "SPLIT",
        "SPLIT_V",
        "SQUEEZE",
        "STRIDED_SLICE",
        "TRANSPOSE",
        "UNPACK",
    )
)


def is_unsigned(tensor: Tensor) -> bool:
    """Whether a tensor is uint8 with a scale, on which operators compute."""
    return tensor.dtype is DType.UINT8 and tensor.quant is not None


def computes_unsigned(graph: Subgraph) -> bool:
    """Whether an operator computes with uint8 steps."""
    return any(
        is_unsigned(graph.tensors[index])
        for operation in graph.operations
        if operation.op not in _EITHER
        for index in (*operation.inputs, *operation.outputs)
        if index is not None
    )


def as_signed(tensors: Iterable[Tensor]) -> list[Tensor]:
    """The tensors with int8 in the place of uint8 steps."""
    return [_signed(tensor) if is_unsigned(tensor) else tensor for tensor in tensors]


def _signed(tensor: Tensor) -> Tensor:
    quant, data = tensor.quant, tensor.data
    if quant is not None:
        quant = dataclasses.replace(quant, zero_points=tuple(zero - _OFFSET for zero in quant.zero_points))
    if data is not None:
        data = memoryview((np.frombuffer(data, np.uint8) ^ np.uint8(_OFFSET)).tobytes())
    return dataclasses.replace(tensor, dtype=DType.INT8, quant=quant, data=data, unsigned=True)
