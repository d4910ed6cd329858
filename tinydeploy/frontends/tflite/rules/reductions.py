"""Import rules of the reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers
from tinydeploy.ir import Attrs, DType
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.cum_sum import CumSum
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.reduce import Reduce, ReduceFunction
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.sum import Sum
from tinydeploy.ops.top_k import TopK


def _axes(context: Context) -> tuple[int, ...]:
    """The constant axes of input 1, ascending, each once; empty where they are a gap."""
    numbers = integers(context, 1, "the axes are") or ()
    rank = len(context.input(0).shape)
    return tuple(sorted({axis_of(context, number, rank) for number in numbers}))


def _reduction(attrs: Callable[[tuple[int, ...], bool], Attrs]) -> Rule:
    def rule(context: Context) -> Imported:
        context.operands(2, 2)
        options = context.options(tflite.BuiltinOptions.ReducerOptions, tflite.ReducerOptions)
        keep_dims = options is not None and options.KeepDims()
        return Imported(attrs(_axes(context), keep_dims), context.operation.inputs[:1])

    return rule


def _index(attrs: type[ArgMax] | type[ArgMin], kind: int, table: type[Any]) -> Rule:
    """The output's own type tells which indices are wanted; the options repeat it."""

    def rule(context: Context) -> Imported:
        context.operands(2, 2)
        context.options(kind, table)
        index = context.output.dtype or DType.INT32
        return Imported(attrs(_axes(context), index=index), context.operation.inputs[:1])

    return rule


def _cum_sum(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.options(tflite.BuiltinOptions.CumsumOptions, tflite.CumsumOptions)
    exclusive, reverse = (options.Exclusive(), options.Reverse()) if options is not None else (False, False)
    axes = _axes(context)
    return Imported(CumSum(axes[0] if axes else 0, exclusive, reverse), context.operation.inputs[:1])


def _top_k(context: Context) -> Imported:
    """Along the last axis, the largest first."""
    context.operands(2, 2, outputs=2)
    (k,) = integers(context, 1, "the number k is") or (1,)
    axis = max(len(context.input(0).shape) - 1, 0)
    attrs = TopK(k, axis, index=context.output_at(1).dtype or DType.INT32)
    return Imported(attrs, context.operation.inputs[:1], makes=context.operation.outputs)


RULES: dict[str, Rule] = {
    "ARG_MAX": _index(ArgMax, tflite.BuiltinOptions.ArgMaxOptions, tflite.ArgMaxOptions),
    "ARG_MIN": _index(ArgMin, tflite.BuiltinOptions.ArgMinOptions, tflite.ArgMinOptions),
    "CUMSUM": _cum_sum,
    "MEAN": _reduction(Mean),
    "REDUCE_ALL": _reduction(ReduceMin),
    "REDUCE_ANY": _reduction(ReduceMax),
    "REDUCE_MAX": _reduction(ReduceMax),
    "REDUCE_MIN": _reduction(ReduceMin),
    "REDUCE_PROD": _reduction(lambda axes, keep: Reduce(ReduceFunction.PROD, axes, keep)),
    "SUM": _reduction(Sum),
    "TOPK_V2": _top_k,
}
