"""Cases of the operators that know plain numbers only, and the limits of the plain kind of others."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, site, with_input
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops import AnySite, Site
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.compare import Compare, Relation
from tinydeploy.ops.cum_sum import CumSum
from tinydeploy.ops.logical import Logical, LogicalFunction
from tinydeploy.ops.reduce import Reduce, ReduceFunction
from tinydeploy.ops.top_k import TopK
from tinydeploy.ops.unary_function import Unary, UnaryFunction
from tinydeploy.ops.where import Where


def number(dtype: DType, *shape: int) -> TensorType:
    return TensorType(dtype, shape)


def truth(*shape: int) -> TensorType:
    return TensorType(DType.BOOL, shape)


def plain_limit(sound: AnySite, doc: str = "all elements are ") -> Broken:
    """Without quantization an operator does not take every element type."""
    inputs = tuple(None if type_ is None else number(DType.INT4, *type_.shape) for type_ in sound.inputs)
    outputs = tuple(number(DType.INT4, *type_.shape) for type_ in sound.outputs)
    broken = Site("n", sound.attrs, inputs, outputs, (None,) * len(inputs))
    return Broken(doc, "int4[", broken)


def _quantized(sound: AnySite, index: int = 0) -> Broken:
    shape = sound.input(index).shape
    return Broken("no input or output is quantized", "per tensor", with_input(sound, index, int8(*shape)))


def _shapes(sound: AnySite, *types: TensorType) -> Broken:
    found = " and ".join(str(list(type_.shape)) for type_ in types)
    return Broken("each extent of one input is that of", found, dataclasses.replace(sound, inputs=types))


def _attrs(sound: AnySite, attrs: Attrs, doc: str, got: str) -> Broken:
    return Broken(doc, got, dataclasses.replace(sound, attrs=attrs))


def _case(sound: AnySite, data: tuple[Array, ...], result: Array, *broken: Broken) -> Case:
    return Case(sound, data, result, 0, (_quantized(sound, len(sound.inputs) - 1), *broken))


_LINE = np.array([[3.0, -1.5, 0.0]], np.float32)
_UNARY = site(Unary(UnaryFunction.THRESHOLDED_RELU, 1.0), (float32(1, 3),), float32(1, 3))
_BINARY = site(Binary(BinaryFunction.MOD), (float32(1, 3), float32(1)), float32(1, 3))
_COMPARE = site(Compare(Relation.GREATER), (float32(1, 3), float32(1)), truth(1, 3))
_LOGICAL = site(Logical(LogicalFunction.XOR), (truth(3), truth(1)), truth(3))
_WHERE = site(Where(), (truth(1, 3), float32(1, 3), float32(1)), float32(1, 3))
_CAST = site(Cast(DType.UINT8), (float32(1, 3),), number(DType.UINT8, 1, 3))
_CLIP = site(Clip(-1.0, 2.0), (float32(1, 3),), float32(1, 3))
_REDUCE = site(Reduce(ReduceFunction.L2, (1,)), (float32(1, 3),), float32(1))
_CUM_SUM = site(CumSum(1, exclusive=True), (float32(1, 3),), float32(1, 3))
_TOP_K = dataclasses.replace(
    site(TopK(2, 1), (float32(1, 3),), float32(1, 2)),
    outputs=(float32(1, 2), number(DType.INT64, 1, 2)),
)
_SCALED = TensorType(DType.FLOAT32, (1, 3), int8().quant)
_FAR = "the axis is a dimension of the input"

CASES: dict[str, Case] = {
    "Unary": _case(
        _UNARY,
        (_LINE,),
        np.array([[3, 0, 0]], np.float32),
        Broken(
            "the function takes the element type",
            "thresholded_relu of int32[1, 3] not quantized: float32",
            with_input(_UNARY, 0, number(DType.INT32, 1, 3)),
        ),
        _attrs(
            _UNARY,
            Unary(UnaryFunction.ELU, math.inf),
            "its parameters are finite numbers",
            "alpha inf, beta 0",
        ),
    ),
    "Binary": _case(
        _BINARY,
        (_LINE, np.array([2], np.float32)),
        np.array([[1, 0.5, 0]], np.float32),
        Broken(
            "the function takes the element types",
            "mod of float32[1, 3] not quantized and int32[1] not quantized: float32 or integers",
            with_input(_BINARY, 1, number(DType.INT32, 1)),
        ),
        _attrs(
            _BINARY,
            Binary(BinaryFunction.BIT_AND),
            "the function takes the element types",
            "bit_and of float32[1, 3]",
        ),
        _shapes(_BINARY, float32(1, 3), float32(2)),
    ),
    "Compare": _case(
        _COMPARE,
        (_LINE, np.array([-1.5], np.float32)),
        np.array([[True, False, True]]),
        plain_limit(_COMPARE),
        _shapes(_COMPARE, float32(1, 3), float32(2)),
    ),
    "Logical": _case(
        _LOGICAL,
        (np.array([True, False, True]), np.array([True])),
        np.array([False, True, False]),
        plain_limit(_LOGICAL),
        _shapes(_LOGICAL, truth(3), truth(2)),
    ),
    "Where": Case(
        _WHERE,
        (np.array([[True, False, True]]), _LINE, np.array([7], np.float32)),
        np.array([[3, 7, 0]], np.float32),
        0,
        (
            Broken(
                "the condition is bool, and a and b have one element type",
                "float32[1, 3] not quantized, float32",
                with_input(_WHERE, 0, float32(1, 3)),
            ),
            Broken("input and output have the same scale", "Quant(", with_input(_WHERE, 1, _SCALED)),
            _shapes(_WHERE, truth(1, 3), float32(1, 3), float32(2)),
        ),
    ),
    "Cast": _case(
        _CAST,
        (np.array([[300.5, -3.0, 2.9]], np.float32),),
        np.array([[255, 0, 2]], np.uint8),
        Broken(
            "the types are float32, bool or integers of 8 to 64 bits",
            "int4[1, 3] not quantized to uint8",
            with_input(_CAST, 0, number(DType.INT4, 1, 3)),
        ),
    ),
    "Clip": _case(
        _CLIP,
        (_LINE,),
        np.array([[2, -1, 0]], np.float32),
        plain_limit(_CLIP),
        _attrs(_CLIP, Clip(None, math.inf), "the bounds are finite numbers", "None and inf for float32"),
    ),
    "Reduce": _case(
        _REDUCE,
        (np.array([[3, -4, 0]], np.float32),),
        np.array([5], np.float32),
        plain_limit(_REDUCE),
        _attrs(
            _REDUCE,
            Reduce(ReduceFunction.PROD, (2,)),
            "the axes are dimensions of the input",
            "[2] of [1, 3]",
        ),
        Broken(
            "roots and logarithms are of float32",
            "l2 of int32[1, 3]",
            dataclasses.replace(
                _REDUCE, inputs=(number(DType.INT32, 1, 3),), outputs=(number(DType.INT32, 1),)
            ),
        ),
    ),
    "CumSum": _case(
        _CUM_SUM,
        (_LINE,),
        np.array([[0, 3, 1.5]], np.float32),
        plain_limit(_CUM_SUM),
        _attrs(_CUM_SUM, CumSum(2), _FAR, "2 of [1, 3]"),
    ),
    "TopK": dataclasses.replace(
        _case(
            _TOP_K,
            (_LINE,),
            np.array([[3, 0]], np.float32),
            plain_limit(_TOP_K),
            _attrs(_TOP_K, TopK(2, 2), _FAR, "2 of [1, 3]"),
            _attrs(_TOP_K, TopK(4, 1), "k is at least 1 and at most the extent", "k 4 of [1, 3], int64"),
        ),
        more=(np.array([[0, 2]], np.int64),),
    ),
}
