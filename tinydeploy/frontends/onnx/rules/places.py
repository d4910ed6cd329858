"""What the rules of moves read the same way: axes, lists of numbers, moves that keep a quantization."""

from __future__ import annotations

from collections.abc import Sequence

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context
from tinydeploy.ir import Attrs

TO_LAST = (0, 2, 3, 1)
TO_FIRST = (0, 3, 1, 2)
"""Between images NCHW, as the format has them, and NHWC, as operators want them."""


def axis_of(context: Context, number: int, rank: int) -> int:
    """An axis counted from 0 on; raises ModelError where there is no such axis."""
    if not -rank <= number < rank:
        raise context.fault(f"axis {number} of {rank} dimensions")
    return number % rank


def axes_of(context: Context, numbers: Sequence[int], rank: int) -> tuple[int, ...]:
    """Several axes, each once."""
    axes = tuple(axis_of(context, number, rank) for number in numbers)
    if len(set(axes)) != len(axes):
        raise context.fault(f"axes {list(numbers)} name one twice")
    return axes


def numbers_of(context: Context, position: int, what: str) -> list[int]:
    """The integers of an input that must be constant."""
    return [int(number) for number in context.need_constant(position, what).reshape(-1)]


def moved(context: Context, attrs: Attrs, data: Ref, *others: Ref | None, tag: str = "") -> Ref:
    """A move of ``data``: the result has its quantization."""
    quant = data.type.quant
    if quant is not None and not quant.per_tensor:
        context.refuse("it moves a tensor with a scale per channel", "quantize the tensor with one scale")
    return context.emit(attrs, data, *others, like=quant, tag=tag)
