"""What several import rules read the same way: activations, windows, constant lists of numbers."""

from __future__ import annotations

from collections.abc import Callable

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Tensor
from tinydeploy.ir import DType
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.window import Pair, same_padding

Rule = Callable[[Context], Imported | tuple[Imported, ...]]

_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: Activation.NONE,
    tflite.ActivationFunctionType.RELU: Activation.RELU,
    tflite.ActivationFunctionType.RELU_N1_TO_1: Activation.RELU_N1_TO_1,
    tflite.ActivationFunctionType.RELU6: Activation.RELU6,
}
_OTHER_ACTIVATIONS = {
    tflite.ActivationFunctionType.TANH: "TANH",
    tflite.ActivationFunctionType.SIGN_BIT: "SIGN_BIT",
}


def activation(context: Context, number: int) -> Activation:
    """A fused activation; one that we lack is a gap."""
    if number in _OTHER_ACTIVATIONS:
        context.refuse(
            f"the fused activation {_OTHER_ACTIVATIONS[number]} is not supported",
            "use NONE, RELU, RELU6 or RELU_N1_TO_1",
        )
        return Activation.NONE
    if number not in _ACTIVATIONS:
        raise context.fault(f"fused activation {number} is not one of TFLite")
    return _ACTIVATIONS[number]


def positive(context: Context, what: str, pair: Pair) -> Pair:
    """``pair``; raises ModelError where it holds less than 1."""
    if min(pair) < 1:
        raise context.fault(f"{what} {list(pair)}; at least 1 is needed")
    return pair


def image(context: Context, tensor: Tensor, what: str) -> Pair:
    """Height and width of a tensor [_, H, W, _]."""
    if len(tensor.shape) != 4:
        raise context.fault(f"{what} have shape {list(tensor.shape)}; 4 dimensions are needed")
    return tensor.shape[1], tensor.shape[2]


def padding(
    context: Context, number: int, extents: Pair, size: Pair, stride: Pair, dilation: Pair
) -> tuple[Pair, Pair]:
    """((top, bottom), (left, right)) in elements."""
    if number == tflite.Padding.VALID:
        return (0, 0), (0, 0)
    if number != tflite.Padding.SAME:
        raise context.fault(f"padding {number} is neither SAME (0) nor VALID (1)")
    vertical, horizontal = (same_padding(*axis) for axis in zip(extents, size, stride, dilation, strict=True))
    return vertical, horizontal


def integers(context: Context, position: int, what: str) -> tuple[int, ...] | None:
    """The numbers of a constant input, row by row; None, and a gap, where they are computed at run time."""
    tensor = context.input(position)
    if tensor.data is None:
        context.refuse(
            f"{what} computed when the model runs",
            "convert the model with fixed shapes, so that the converter makes them constant",
        )
        return None
    if tensor.dtype not in (DType.INT32, DType.INT64):
        raise context.fault(f"{what} {tensor.type_name}{list(tensor.shape)}, not int32")
    return tuple(int(number) for number in tensor.array().reshape(-1))


def axis_of(context: Context, number: int, rank: int) -> int:
    """An axis counted from 0 on; raises ModelError where there is no such axis."""
    if not -rank <= number < rank:
        raise context.fault(f"axis {number} of {rank} dimensions")
    return number % rank


def pairs_of(context: Context, numbers: tuple[int, ...], count: int, what: str) -> tuple[Pair, ...]:
    """``count`` pairs from a list of numbers; raises ModelError for another length."""
    if len(numbers) != 2 * count:
        raise context.fault(f"{len(numbers)} numbers of {what}; {2 * count} are needed")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))
