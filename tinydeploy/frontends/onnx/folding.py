"""What depends on constants alone is computed at import, under caps on size and work."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tinydeploy.ir import Array

MAX_OUTPUT_ELEMENTS = 1 << 24
MAX_OPERAND_ELEMENTS = 1 << 25
MAX_PRODUCTS = 1 << 24
"""Elements of the two operands of a matrix product, multiplied."""
MAX_TOTAL_ELEMENTS = 1 << 27
"""Elements that are made for one model, altogether."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Results are no larger than the operands together, or than the operands broadcast against each other.
_BOUNDED = _names(
    """
    Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Clip
    Concat Cos Cosh CumSum DepthToSpace Elu Erf Exp Flatten Floor HardSigmoid HardSwish Identity
    IsInf IsNaN LeakyRelu Log Neg Not Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Selu
    Shrink Sigmoid Sign Sin Sinh Size Slice Softplus Softsign SpaceToDepth Split Sqrt Squeeze Tan
    Tanh ThresholdedRelu Transpose Trilu Unsqueeze
    """
)
_BROADCAST = _names(
    """
    Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less
    LessOrEqual Max Mean Min Mod Mul Or Pow PRelu Sub Sum Where Xor
    """
)
# Their size is asked of ONNX's own shape inference, which sees the operands' data.
_INFERRED = _names(
    """
    BlackmanWindow ConstantOfShape Expand EyeLike Gather GatherElements GatherND HammingWindow
    HannWindow MelWeightMatrix OneHot Pad QuantizeLinear Range ScatterElements ScatterND Tile TopK
    """
)
_PRODUCTS = frozenset(("Gemm", "MatMul"))
_LISTS_SIZES = frozenset(("NonZero",))

_FOLDABLE = _BOUNDED | _BROADCAST | _INFERRED | _PRODUCTS | _LISTS_SIZES
"""DequantizeLinear is not among them: quantized weights stay so."""

MAX_INFERENCE_ELEMENTS = 1 << 16
"""Operands above this size are not shown to shape inference."""


class Folder:
    """Computes nodes of constant operands; knows how much it has made."""

    def __init__(self) -> None:
        self._made = 0

    def fold(self, node: NodeProto, operands: Sequence[Array | None], opset: int) -> tuple[Array, ...] | None:
        """The node's outputs, or None where it is not to be computed now."""
        if node.op_type not in _FOLDABLE or node.domain not in ("", "ai.onnx"):
            return None
        if node.op_type == "Range":
            # Exporters give its numbers as vectors of one element too.
            operands = [a if a is None or a.size != 1 else a.reshape(()) for a in operands]
        given = [array for array in operands if array is not None]
        if sum(array.size for array in given) > MAX_OPERAND_ELEMENTS:
            return None
        model = _model(node, operands, opset)
        elements = _elements(node.op_type, given, model)
        if elements is None or elements > min(MAX_OUTPUT_ELEMENTS, MAX_TOTAL_ELEMENTS - self._made):
            return None
        results = _run(model, [array for array in operands if array is not None])
        if results is not None:
            self._made += sum(array.size for array in results)
        return results


def _model(node: NodeProto, operands: Sequence[Array | None], opset: int) -> onnx.ModelProto:
    """The node alone, its operands as inputs of fixed types."""
    alone = NodeProto()
    alone.CopyFrom(node)
    alone.domain = ""
    del alone.input[:], alone.output[:]
    alone.input.extend("" if array is None else f"i{index}" for index, array in enumerate(operands))
    alone.output.extend(f"o{index}" if name else "" for index, name in enumerate(node.output))
    inputs = [
        helper.make_tensor_value_info(f"i{index}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for index, array in enumerate(operands)
        if array is not None
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in alone.output if name]
    graph = helper.make_graph([alone], "constant", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _elements(op: str, given: Sequence[Array], model: onnx.ModelProto) -> int | None:
    """An upper bound of the elements of the results, None where there is none."""
    total = sum(array.size for array in given)
    if op in _BOUNDED:
        return total + 64
    if op in _LISTS_SIZES:
        return max(given[0].ndim, 1) * given[0].size if given else None
    if op in _BROADCAST:
        try:
            return math.prod(np.broadcast_shapes(*(array.shape for array in given)))
        except ValueError:
            return None
    if op in _PRODUCTS:
        return None if math.prod(array.size for array in given[:2]) > MAX_PRODUCTS else MAX_PRODUCTS >> 4
    return None if total > MAX_INFERENCE_ELEMENTS else _inferred(given, model)


def _inferred(given: Sequence[Array], model: onnx.ModelProto) -> int | None:
    known = onnx.ModelProto()
    known.CopyFrom(model)
    for info, array in zip(model.graph.input, given, strict=True):
        known.graph.initializer.append(numpy_helper.from_array(np.asarray(array, order="C"), info.name))
    try:
        shaped = onnx.shape_inference.infer_shapes(known, data_prop=True)
    except Exception:  # whatever the library thinks of a broken node, it is not folded
        return None
    total = 0
    for output in shaped.graph.output:
        if not output.type.tensor_type.HasField("shape"):
            return None
        dims = output.type.tensor_type.shape.dim
        if any(not dim.HasField("dim_value") or dim.dim_value < 0 for dim in dims):
            return None
        total += math.prod(dim.dim_value for dim in dims)
    return total


def _run(model: onnx.ModelProto, operands: Sequence[Array]) -> tuple[Array, ...] | None:
    from onnx.reference import ReferenceEvaluator  # takes long to import, and most models need none of it

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            evaluator = ReferenceEvaluator(model)
            found = evaluator.run(None, {f"i{k}": array for k, array in _numbered(model, operands)})
        except Exception:  # as above
            return None
    results = tuple(map(np.asarray, found))
    return results if all(array.dtype != np.object_ for array in results) else None


def _numbered(model: onnx.ModelProto, operands: Sequence[Array]) -> list[tuple[int, Array]]:
    return [(int(info.name[1:]), array) for info, array in zip(model.graph.input, operands, strict=True)]


def constant_of(node: NodeProto) -> TensorProto | Array | None:
    """The value of a Constant node: a tensor yet to be read, or the array; None for other kinds."""
    for attribute in node.attribute:
        match attribute.name:
            case "value":
                tensor: TensorProto = attribute.t
                return tensor
            case "value_float":
                return np.array(attribute.f, np.float32)
            case "value_floats":
                return np.array(attribute.floats, np.float32)
            case "value_int":
                return np.array(attribute.i, np.int64)
            case "value_ints":
                return np.array(attribute.ints, np.int64)
    return None


def shape_result(node: NodeProto, shape: tuple[int, ...]) -> Array:
    """What Shape and Size give for a value of known shape."""
    if node.op_type == "Size":
        return np.array(math.prod(shape), np.int64)
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    start, end = bounds.get("start", 0), bounds.get("end", len(shape))
    return np.array(shape[slice(start, end)], np.int64)
