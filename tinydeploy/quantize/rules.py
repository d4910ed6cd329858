"""How each operator is quantized: what its operands are, and which scales its result may have.

The classes are the operators' own; this table only says what calibration needs to know of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tinydeploy.ir import DType, Graph, Node, Quant


class Kind(Enum):
    """What an operator does with scales.

    ``DOT``: sums of products with weights and a bias. ``TIED``: moves numbers, so that data and result share
    one scale. ``FIXED``: the result's range is known beforehand. ``FREE``: everything else that has an
    integer form. ``REAL``: stays in floating point.
    """

    DOT = "dot"
    TIED = "tied"
    FIXED = "fixed"
    FREE = "free"
    REAL = "real"


WEIGHT_AXES = {
    "Conv2D": 0,
    "DepthwiseConv2D": 3,
    "FullyConnected": 0,
    "GroupedConv2D": 0,
    "TransposeConv": 0,
}
"""Axis of the weights' scales: that of the output channels."""

_TIED = frozenset(
    {
        "AveragePool2D",
        "BatchToSpace",
        "Concatenation",
        "DepthToSpace",
        "Expand",
        "Gather",
        "GatherElements",
        "GatherND",
        "MaxPool2D",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "Resample",
        "Reshape",
        "Resize",
        "ResizeBilinear",
        "ResizeNearest",
        "ReverseSequence",
        "Slice",
        "SpaceToBatch",
        "SpaceToDepth",
        "Take",
        "Tile",
        "Transpose",
    }
)

_FREE = frozenset(
    {
        "Add",
        "BatchMatMul",
        "Binary",
        "Clip",
        "HardSwish",
        "LeakyRelu",
        "Maximum",
        "Mean",
        "Minimum",
        "Mul",
        "Normalization",
        "Prelu",
        "Relu",
        "Sub",
        "Sum",
        "Unary",
    }
)

_FIXED = {"Logistic": (0.0, 1.0), "Softmax": (0.0, 1.0), "Tanh": (-1.0, 1.0), "LogSoftmax": (-16.0, 0.0)}

_DATA_OPERANDS = {
    "Normalization": 1,
    "Gather": 1,
    "GatherElements": 1,
    "GatherND": 1,
    "Pad": 1,
    "Resize": 1,
    "Resample": 1,
}
"""How many leading inputs are data with scales, where it is not all of them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of one node: its kind, and the inputs that are quantized as activations."""

    kind: Kind
    data: tuple[int, ...]


def rule_of(graph: Graph, node: Node) -> Rule:
    """How a node of a float graph is quantized; nodes of other element types stay as they are."""
    if any(graph.type(value).dtype is not DType.FLOAT32 for value in node.outputs):
        return Rule(Kind.REAL, ())
    if node.op in WEIGHT_AXES:
        constant = [value is not None and graph.values[value].is_constant for value in node.inputs]
        weights_fixed = constant[1] and (len(constant) < 3 or node.inputs[2] is None or constant[2])
        return Rule(Kind.DOT, (0,)) if weights_fixed else Rule(Kind.REAL, ())
    kind = _kind_of(node.op)
    if kind is Kind.REAL:
        return Rule(kind, ())
    floats = (
        index
        for index, value in enumerate(node.inputs[: _DATA_OPERANDS.get(node.op)])
        if value is not None and graph.type(value).dtype is DType.FLOAT32
    )
    return Rule(kind, tuple(floats))


def _kind_of(op: str) -> Kind:
    if op in _TIED:
        return Kind.TIED
    if op in _FIXED:
        return Kind.FIXED
    return Kind.FREE if op in _FREE else Kind.REAL


def fixed_range(op: str) -> tuple[float, float]:
    """The range of a FIXED operator's result."""
    return _FIXED[op]


def fixed_quant(op: str, dtype: DType) -> Quant:
    """The scale that the integer forms of a FIXED operator produce: a power of two."""
    low, high = _FIXED[op]
    if dtype is DType.INT16:
        return Quant((max(-low, high) / 32768.0,), (0,))
    scale = (high - low) / 256.0
    return Quant((scale,), (round(-low / scale) - 128,))
