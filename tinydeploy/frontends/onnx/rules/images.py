"""Images of ONNX, channels first with 1 to 3 dimensions, as our operators see them: channels last.

The transposes that this makes cancel between neighbours; a pass removes those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context
from tinydeploy.ops.window import Pair

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def channels_last(context: Context, ref: Ref) -> Ref:
    """[N, C, ...] as [N, ..., C], with a height of 1 where there is only one dimension."""
    last = context.transpose(ref, (0, *range(2, ref.rank), 1))
    return context.reshape(last, (last.shape[0], 1, *last.shape[1:])) if ref.rank == 3 else last


def channels_first(context: Context, ref: Ref, dimensions: int) -> Ref:
    """The way back, to ``dimensions`` of 1 to 3."""
    if dimensions == 1:
        ref = context.reshape(ref, (ref.shape[0], *ref.shape[2:]))
    return context.transpose(ref, (0, ref.rank - 1, *range(1, ref.rank - 1)))


def dimensions_of(context: Context, data: Ref) -> int:
    """How many spatial dimensions data [N, C, ...] has: 1, 2 or 3."""
    if data.rank < 3:
        raise context.fault(f"data of shape {list(data.shape)}; [N, C, ...] is needed")
    if data.rank > 5:
        context.refuse(f"{data.rank - 2} spatial dimensions", "use 1, 2 or 3")
    return data.rank - 2


def with_height(numbers: Sequence[int], fill: int) -> tuple[int, ...]:
    """One number per dimension; a single one gets ``fill`` for the height before it."""
    return (fill, *numbers) if len(numbers) == 1 else tuple(numbers)


def pair(context: Context, numbers: Sequence[int]) -> Pair:
    """The numbers of height and width."""
    if len(numbers) != 2:
        raise context.fault(f"{len(numbers)} numbers for 2 dimensions")
    return numbers[0], numbers[1]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the windows of an operator lie, one number per dimension. Padding is in elements.

    ``beyond`` is how far the last windows reach over the padding, in ceil mode.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[Pair, ...]
    beyond: tuple[int, ...]

    def raised(self) -> Frame:
        """With a height of 1 where there is only one dimension."""
        if len(self.size) != 1:
            return self
        return Frame(
            (1, *self.size),
            (1, *self.stride),
            (1, *self.dilation),
            ((0, 0), *self.padding),
            (0, *self.beyond),
        )


def per_dimension(context: Context, name: str, count: int, default: int) -> tuple[int, ...]:
    """An attribute of one number per dimension, each at least 1."""
    numbers = context.ints(name, (default,) * count)
    if len(numbers) != count or min(numbers) < 1:
        raise context.fault(f"{name} {list(numbers)}; {count} numbers from 1 on are needed")
    return numbers


def auto_pad(context: Context) -> str:
    mode = context.str_("auto_pad", "NOTSET") or "NOTSET"
    if mode not in AUTO_PADS:
        raise context.fault(f"auto_pad {mode!r} is none of {', '.join(AUTO_PADS)}")
    return mode


def given_pads(context: Context, count: int) -> tuple[Pair, ...]:
    """The attribute ``pads``: all begins, then all ends."""
    pads = context.ints("pads", (0,) * (2 * count))
    if len(pads) != 2 * count:
        raise context.fault(f"pads {list(pads)}; {2 * count} numbers are needed")
    if min(pads) < 0:
        context.refuse(f"pads {list(pads)} are negative", "cut the data with Slice instead")
    return tuple(zip(pads[:count], pads[count:], strict=True))


def frame(context: Context, extents: Sequence[int], size: tuple[int, ...]) -> Frame:
    """The windows of ``size`` over ``extents``, as stride, dilation, pads, auto_pad and ceil_mode say."""
    count = len(extents)
    stride = per_dimension(context, "strides", count, 1)
    dilation = per_dimension(context, "dilations", count, 1)
    reach = [(taps - 1) * step + 1 for taps, step in zip(size, dilation, strict=True)]
    mode = auto_pad(context)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        padding = tuple(
            split(max((-(-length // step) - 1) * step + extent - length, 0), mode)
            for length, step, extent in zip(extents, stride, reach, strict=True)
        )
        return Frame(size, stride, dilation, padding, (0,) * count)
    padding = given_pads(context, count) if mode == "NOTSET" else ((0, 0),) * count
    beyond = [0] * count
    if context.int_("ceil_mode", 0):
        for axis, (length, step, extent) in enumerate(zip(extents, stride, reach, strict=True)):
            before, after = padding[axis]
            last = -(-(length + before + after - extent) // step) * step
            if last >= length + before:
                # A window that would begin in the padding after the data is left out.
                last -= step
            beyond[axis] = max(last + extent - (length + before + after), 0)
    return Frame(size, stride, dilation, padding, tuple(beyond))


def split(total: int, mode: str) -> Pair:
    """Padding of SAME: the odd element after the data, or before it with SAME_LOWER."""
    small, large = total // 2, total - total // 2
    return (large, small) if mode == "SAME_LOWER" else (small, large)
