"""Import rules of the reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers
from tinydeploy.ir import Attrs
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.sum import Sum


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


def _index(attrs: Callable[[tuple[int, ...]], Attrs], kind: int, table: type[Any]) -> Rule:
    def rule(context: Context) -> Imported:
        context.operands(2, 2)
        context.options(kind, table)
        return Imported(attrs(_axes(context)), context.operation.inputs[:1])

    return rule


RULES: dict[str, Rule] = {
    "ARG_MAX": _index(ArgMax, tflite.BuiltinOptions.ArgMaxOptions, tflite.ArgMaxOptions),
    "ARG_MIN": _index(ArgMin, tflite.BuiltinOptions.ArgMinOptions, tflite.ArgMinOptions),
    "MEAN": _reduction(Mean),
    "REDUCE_MAX": _reduction(ReduceMax),
    "REDUCE_MIN": _reduction(ReduceMin),
    "SUM": _reduction(Sum),
}
