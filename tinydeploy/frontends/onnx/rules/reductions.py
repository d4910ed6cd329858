"""Reductions over axes, running sums, and what chooses among elements."""

from __future__ import annotations

from collections.abc import Callable

from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ir import Attrs, DType
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.cum_sum import CumSum
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.reduce import FRACTIONAL, Reduce, ReduceFunction
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.sum import Sum
from tinydeploy.ops.top_k import TopK

Reduction = Callable[[tuple[int, ...], bool], Attrs]
"""Attributes of axes and of whether they stay."""


def _axis(context: Context, axis: int, rank: int) -> int:
    """An axis counted from 0 on."""
    if not -rank <= axis < rank:
        raise context.fault(f"axis {axis} of {rank} dimensions")
    return axis % rank


def _axes(context: Context, rank: int) -> tuple[int, ...] | None:
    """The axes that a reduction names: an attribute in old opsets, an input in new ones; None for no axes."""
    given: list[int] = []
    if context.has("axes"):
        given = list(context.ints("axes"))
    elif context.inputs_given > 1:
        given = [int(axis) for axis in context.need_constant(1, "the axes").reshape(-1)]
    axes = sorted({_axis(context, axis, rank) for axis in given})
    return tuple(axes) if given else None


def _reduce(make: Reduction) -> Rule:
    """No axes mean all of them, or with ``noop_with_empty_axes`` none."""

    def rule(context: Context) -> None:
        data = context.input(0)
        axes = _axes(context, data.rank)
        if axes is None:
            axes = () if context.int_("noop_with_empty_axes", 0) else tuple(range(data.rank))
        attrs = make(axes, bool(context.int_("keepdims", 1)))
        wanted = data.dtype
        if isinstance(attrs, Reduce) and attrs.function in FRACTIONAL and wanted is not DType.FLOAT32:
            real = context.emit(Cast(DType.FLOAT32), data, tag="real")
            context.set(context.emit(Cast(wanted), context.emit(attrs, real, tag="reduced")))
            return
        context.set(context.emit(attrs, data))

    return rule


def _function(function: ReduceFunction) -> Rule:
    return _reduce(lambda axes, keep: Reduce(function, axes, keep))


def _index(operator: type[ArgMax] | type[ArgMin]) -> Rule:
    def rule(context: Context) -> None:
        data = context.input(0)
        axis = _axis(context, context.int_("axis", 0), data.rank)
        keep, last = (bool(context.int_(*of)) for of in (("keepdims", 1), ("select_last_index", 0)))
        context.set(context.emit(operator((axis,), keep, last, DType.INT64), data))

    return rule


def _cumulative(*, product: bool) -> Rule:
    def rule(context: Context) -> None:
        data = context.input(0)
        axis = _axis(context, int(context.need_constant(1, "the axis").reshape(-1)[0]), data.rank)
        exclusive, reverse = (bool(context.int_(name, 0)) for name in ("exclusive", "reverse"))
        context.set(context.emit(CumSum(axis, exclusive, reverse, product), data))

    return rule


def _top_k(context: Context) -> None:
    data = context.input(0)
    axis = _axis(context, context.int_("axis", -1), data.rank)
    known = context.opset < 10
    k = context.int_("k") if known else int(context.need_constant(1, "the number k").reshape(-1)[0])
    if not 1 <= k <= data.shape[axis]:
        context.refuse(
            f"it takes {k} elements along an axis of {data.shape[axis]}",
            "choose a number from 1 to the extent of the axis",
        )
    context.set(*context.emit_all(TopK(k, axis, bool(context.int_("largest", 1))), data))


RULES: dict[str, Rule] = {
    "ArgMax": _index(ArgMax),
    "ArgMin": _index(ArgMin),
    "CumProd": _cumulative(product=True),
    "CumSum": _cumulative(product=False),
    "ReduceL1": _function(ReduceFunction.L1),
    "ReduceL2": _function(ReduceFunction.L2),
    "ReduceLogSum": _function(ReduceFunction.LOG_SUM),
    "ReduceLogSumExp": _function(ReduceFunction.LOG_SUM_EXP),
    "ReduceMax": _reduce(ReduceMax),
    "ReduceMean": _reduce(Mean),
    "ReduceMin": _reduce(ReduceMin),
    "ReduceProd": _function(ReduceFunction.PROD),
    "ReduceSum": _reduce(Sum),
    "ReduceSumSquare": _function(ReduceFunction.SUM_SQUARE),
    "TopK": _top_k,
}
