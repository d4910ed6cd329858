"""Import rules of the operators with a state of their own: variable tensors that they read and replace."""

from __future__ import annotations

import math

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Tensor
from tinydeploy.frontends.tflite.rules.float_lstm import float_lstm
from tinydeploy.frontends.tflite.rules.shared import Rule, activation
from tinydeploy.frontends.tflite.tensors import type_of
from tinydeploy.ir import DType
from tinydeploy.ops.lstm_tflite import LstmTflite
from tinydeploy.ops.svdf import Svdf


def _state(context: Context, position: int) -> Tensor:
    """The variable tensor at an input."""
    tensor = context.input(position)
    if not tensor.variable:
        raise context.fault(f"its state {tensor.label} is not a variable")
    return tensor


def _after(context: Context, state: Tensor, tag: str) -> int:
    """The state's next value."""
    return context.between(type_of(state), tag)


def _svdf(context: Context) -> Imported:
    context.operands(3, 5)
    options = context.required_options(tflite.BuiltinOptions.SVDFOptions, tflite.SVDFOptions)
    if len(context.operation.inputs) != 5 or context.operation.inputs[4] is None:
        raise context.fault("it has no state")
    state = _state(context, 4)
    after = _after(context, state, "state")
    attrs = Svdf(int(options.Rank()), activation(context, options.FusedActivationFunction()))
    data, features, times, bias, _ = context.operation.inputs
    operands = (data, features, times, state.index, bias)
    makes = (context.output.index, after)
    return Imported(attrs, operands, makes=makes, updates=((state.index, after),))


_INPUT, _RECURRENT, _BIAS = range(1, 5), range(5, 9), range(12, 16)
_HIDDEN, _CELL, _INPUTS = 18, 19, 24
_UNUSED = {
    range(9, 12): "peephole connections",
    range(16, 18): "a projection",
    range(20, 24): "layer normalization",
}


def _lstm(context: Context) -> Imported | tuple[Imported, ...]:
    """UNIDIRECTIONAL_SEQUENCE_LSTM; its gates lie in the order input, forget, cell, output."""
    inputs = context.operation.inputs
    context.operands(1, _INPUTS)
    options = context.required_options(
        tflite.BuiltinOptions.UnidirectionalSequenceLSTMOptions, tflite.UnidirectionalSequenceLSTMOptions
    )
    if len(inputs) < 20:
        raise context.fault(f"{len(inputs)} inputs; it takes 20 to 24")
    remedy = "export the model with plain LSTM cells"
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        context.refuse("an activation other than tanh is not supported", remedy)
    for positions, what in _UNUSED.items():
        if any(context.optional(position) is not None for position in positions):
            context.refuse(f"{what} is not supported", remedy)
    if options.DiagonalRecurrentTensors():
        context.refuse("diagonal recurrent weights are not supported", remedy)
    needed = (*_INPUT, *_RECURRENT, *_BIAS)
    if context.optional(1) is None and context.optional(5) is None:
        context.refuse("an input gate that is coupled to the forget gate is not supported", remedy)
    elif any(context.optional(position) is None for position in needed):
        raise context.fault("weights or biases are missing")
    if context.gaps:
        return ()
    hidden, cell = _state(context, _HIDDEN), _state(context, _CELL)
    time_major, clip = bool(options.TimeMajor()), float(options.CellClip())
    if not (math.isfinite(clip) and clip >= 0.0):
        raise context.fault(f"the cell's clip is {clip!r}; a number from 0 on is needed")
    if context.input(0).dtype is DType.FLOAT32:
        return float_lstm(context, hidden, cell, time_major=time_major, cell_clip=clip)
    after = (_after(context, hidden, "hidden"), _after(context, cell, "cell"))
    operands = (inputs[0], *(inputs[position] for position in needed), hidden.index, cell.index)
    return Imported(
        LstmTflite(time_major, clip),
        operands,
        makes=(context.output.index, *after),
        updates=((hidden.index, after[0]), (cell.index, after[1])),
    )


RULES: dict[str, Rule] = {
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
}
