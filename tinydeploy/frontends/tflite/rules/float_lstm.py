"""TFLite's LSTM in float32 as the LSTM of ONNX: one matrix for all gates, sequences with time first."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Tensor
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.lstm import Lstm
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.transpose import Transpose

# TFLite's gates lie in the order input, forget, cell, output; ONNX's are input, output, forget, cell.
_ORDER = (0, 3, 1, 2)
_WEIGHTS, _RECURRENT, _BIASES = 1, 5, 12


class _Steps:
    """The nodes in the making."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.made: list[Imported] = []

    def add(self, attrs: Attrs, source: int, shape: tuple[int, ...], tag: str) -> int:
        result = self._context.between(TensorType(DType.FLOAT32, shape), tag)
        self.made.append(Imported(attrs, (source,), makes=(result,)))
        return result

    def reshape(self, source: int, shape: tuple[int, ...], tag: str) -> int:
        return self.add(Reshape(shape), source, shape, tag)


def float_lstm(
    context: Context, hidden: Tensor, cell: Tensor, *, time_major: bool, cell_clip: float
) -> tuple[Imported, ...]:
    """The nodes of an LSTM of float data with its two states; a gap where weights are no constant floats."""
    data = context.input(0)
    if len(data.shape) != 3:
        raise context.fault(f"the data have shape {list(data.shape)}; 3 dimensions are needed")
    stacks = [_stacked(context, first) for first in (_WEIGHTS, _RECURRENT, _BIASES)]
    if any(stack is None for stack in stacks):
        return ()
    weights, recurrent, bias = (stack for stack in stacks if stack is not None)
    steps, batch = data.shape[:2] if time_major else (data.shape[1], data.shape[0])
    units = recurrent.shape[-1]
    if hidden.shape != (batch, units) or cell.shape != (batch, units):
        raise context.fault(f"states {list(hidden.shape)} and {list(cell.shape)} for {[batch, units]}")
    both = np.concatenate([bias.reshape(-1), np.zeros(bias.size, np.float32)])[None]
    literals = [
        context.literal(TensorType(DType.FLOAT32, array.shape), array, tag)
        for array, tag in ((weights[None], "weights"), (recurrent[None], "recurrence"), (both, "bias"))
    ]
    nodes = _Steps(context)
    sequence = data.index
    if not time_major:
        sequence = nodes.add(Transpose((1, 0, 2)), sequence, (steps, batch, data.shape[2]), "turned")
    states = [
        nodes.reshape(state.index, (1, batch, units), f"{tag}_before")
        for state, tag in ((hidden, "hidden"), (cell, "cell"))
    ]
    results = [
        context.between(TensorType(DType.FLOAT32, shape), tag)
        for shape, tag in (
            ((steps, 1, batch, units), "sequence"),
            ((1, batch, units), "hidden"),
            ((1, batch, units), "cell"),
        )
    ]
    operands = (sequence, *literals, None, *states)
    nodes.made.append(Imported(Lstm(cell_clip=cell_clip or None), operands, makes=tuple(results)))
    after = [
        nodes.reshape(value, (batch, units), f"{tag}_after")
        for value, tag in zip(results[1:], ("hidden", "cell"), strict=True)
    ]
    updates = ((hidden.index, after[0]), (cell.index, after[1]))
    if time_major:
        last = Imported(Reshape(context.output.shape), (results[0],), updates=updates)
    else:
        flat = nodes.reshape(results[0], (steps, batch, units), "flat")
        last = Imported(Transpose((1, 0, 2)), (flat,), updates=updates)
    return (*nodes.made, last)


def _stacked(context: Context, first: int) -> Array | None:
    """The matrices or vectors of all gates in ONNX's order, one after the other."""
    tensors = [context.input(first + gate) for gate in _ORDER]
    for tensor in tensors:
        if tensor.data is None or tensor.dtype is not DType.FLOAT32:
            context.refuse(
                f"{tensor.label} is not constant float32 beside float data",
                "convert the model in float32 or with full int8 quantization",
            )
            return None
        if tensor.shape != tensors[0].shape:
            raise context.fault(f"shapes {list(tensors[0].shape)} and {list(tensor.shape)} of gates")
    return np.concatenate([tensor.array() for tensor in tensors])
