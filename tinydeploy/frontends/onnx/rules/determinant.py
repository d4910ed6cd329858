"""Det of small matrices, by their first row: products and differences of elements."""

from __future__ import annotations

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ops.add import Add
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.sub import Sub

MAX_SIDE = 4


def _det(context: Context) -> None:
    data = context.input(0)
    side = data.shape[-1] if data.rank >= 2 else 0
    if side < 1 or data.shape[-2] != side:
        raise context.fault(f"its input has shape {list(data.shape)}; square matrices are needed")
    if side > MAX_SIDE:
        context.refuse(
            f"its matrices have {side} rows; {MAX_SIDE} are supported", "compute it in the application"
        )
    result = _expanded(context, data, 0, tuple(range(side)))
    context.set(context.reshape(result, data.shape[:-2]))


def _expanded(context: Context, data: Ref, row: int, columns: tuple[int, ...]) -> Ref:
    """The determinant of the rows from ``row`` on and the given columns, [..., 1, 1]."""
    total: Ref | None = None
    for place, column in enumerate(columns):
        begin = (*(0,) * (data.rank - 2), row, column)
        attrs = Slice(begin, (*data.shape[:-2], 1, 1), (1,) * data.rank)
        part = context.emit(attrs, data, tag=f"at{row}_{column}")
        if len(columns) > 1:
            rest = tuple(other for other in columns if other != column)
            part = context.emit(Mul(), part, _expanded(context, data, row + 1, rest), tag="product")
        sign = Sub() if place % 2 else Add()
        total = part if total is None else context.emit(sign, total, part, tag="sum")
    if total is None:
        raise ValueError("no columns")
    return total


RULES: dict[str, Rule] = {"Det": _det}
