"""Import rules of functions of plain elements: floats, integers that are no steps, and truth values."""

from __future__ import annotations

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule
from tinydeploy.ir import Attrs, DType
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.compare import Compare, Relation
from tinydeploy.ops.logical import Logical, LogicalFunction
from tinydeploy.ops.unary_function import Unary, UnaryFunction
from tinydeploy.ops.where import Where


def _of(attrs: Attrs, operands: int) -> Rule:
    """Operands and no options that say anything."""

    def rule(context: Context) -> Imported:
        context.operands(operands, operands)
        return Imported(attrs, context.operation.inputs)

    return rule


def _cast(context: Context) -> Imported:
    """The output's own type tells what is wanted; the options repeat it."""
    context.operands(1, 1)
    return Imported(Cast(context.output.dtype or DType.FLOAT32), context.operation.inputs)


def _div(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.options(tflite.BuiltinOptions.DivOptions, tflite.DivOptions)
    if options is not None and options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        context.refuse("a fused activation is not supported", "make the activation an operator of its own")
    return Imported(Binary(BinaryFunction.DIV), context.operation.inputs)


def _gelu(context: Context) -> Imported:
    context.operands(1, 1)
    options = context.options(tflite.BuiltinOptions.GeluOptions, tflite.GeluOptions)
    rough = options is not None and options.Approximate()
    function = UnaryFunction.GELU_TANH if rough else UnaryFunction.GELU
    return Imported(Unary(function), context.operation.inputs)


def _select(context: Context) -> Imported:
    """The old form: shapes are equal, or one condition chooses whole rows, which broadcasts otherwise."""
    context.operands(3, 3)
    condition, data = context.input(0).shape, context.input(1).shape
    if condition not in ((), data):
        context.refuse(
            f"the condition {list(condition)} chooses rows of {list(data)}",
            "use SELECT_V2 with a condition that broadcasts",
        )
    return Imported(Where(), context.operation.inputs)


_UNARY = {
    "ABS": UnaryFunction.ABS,
    "CEIL": UnaryFunction.CEIL,
    "COS": UnaryFunction.COS,
    "EXP": UnaryFunction.EXP,
    "FLOOR": UnaryFunction.FLOOR,
    "LOG": UnaryFunction.LOG,
    "LOGICAL_NOT": UnaryFunction.NOT,
    "NEG": UnaryFunction.NEG,
    "ROUND": UnaryFunction.ROUND,
    "RSQRT": UnaryFunction.RSQRT,
    "SIGN": UnaryFunction.SIGN,
    "SIN": UnaryFunction.SIN,
    "SQRT": UnaryFunction.SQRT,
    "SQUARE": UnaryFunction.SQUARE,
}
_BINARY = {
    "BITWISE_XOR": BinaryFunction.BIT_XOR,
    "FLOOR_DIV": BinaryFunction.FLOOR_DIV,
    "FLOOR_MOD": BinaryFunction.MOD,
    "POW": BinaryFunction.POW,
    "RIGHT_SHIFT": BinaryFunction.SHIFT_RIGHT,
    "SQUARED_DIFFERENCE": BinaryFunction.SQUARED_DIFFERENCE,
}
_RELATIONS = {
    "EQUAL": Relation.EQUAL,
    "GREATER": Relation.GREATER,
    "GREATER_EQUAL": Relation.GREATER_EQUAL,
    "LESS": Relation.LESS,
    "LESS_EQUAL": Relation.LESS_EQUAL,
    "NOT_EQUAL": Relation.NOT_EQUAL,
}

RULES: dict[str, Rule] = {
    "CAST": _cast,
    "DIV": _div,
    "ELU": _of(Unary(UnaryFunction.ELU, 1.0), 1),
    "GELU": _gelu,
    "LOGICAL_AND": _of(Logical(LogicalFunction.AND), 2),
    "LOGICAL_OR": _of(Logical(LogicalFunction.OR), 2),
    "SELECT": _select,
    "SELECT_V2": _of(Where(), 3),
    **{name: _of(Unary(function), 1) for name, function in _UNARY.items()},
    **{name: _of(Binary(function), 2) for name, function in _BINARY.items()},
    **{name: _of(Compare(relation), 2) for name, relation in _RELATIONS.items()},
}
