"""Recurrent networks: LSTM, GRU, RNN."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ir import Attrs
from tinydeploy.ops.gru import Gru
from tinydeploy.ops.lstm import Lstm
from tinydeploy.ops.recurrent import INITIAL, LENGTHS, SIGMOID, TANH, Cell, CellFunction, Direction
from tinydeploy.ops.rnn import Rnn

_FUNCTIONS = {function.value.lower(): function for function in CellFunction}

_ALPHA = {
    CellFunction.AFFINE: 1.0,
    CellFunction.ELU: 1.0,
    CellFunction.HARD_SIGMOID: 0.2,
    CellFunction.LEAKY_RELU: 0.01,
    CellFunction.SCALED_TANH: 1.0,
    CellFunction.THRESHOLDED_RELU: 1.0,
}
_BETA = {CellFunction.AFFINE: 0.0, CellFunction.HARD_SIGMOID: 0.5, CellFunction.SCALED_TANH: 1.0}
"""What a function has where the node gives no more values; absent functions take none."""


def _direction(context: Context) -> Direction:
    name = context.str_("direction", "forward")
    try:
        return Direction(name)
    except ValueError:
        raise context.fault(f"direction is {name!r}; allowed are forward, reverse, bidirectional") from None


def _activations(context: Context, direction: Direction, default: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """The node's functions; alphas and betas go, in order, to the functions that take them."""
    names = context.strings("activations", ())
    if not names:
        return default * len(direction.reversed)
    alphas = iter(context.floats("activation_alpha", ()))
    betas = iter(context.floats("activation_beta", ()))
    cells: list[Cell] = []
    for name in names:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise context.fault(
                f"activation {name[:40]!r} is not one of {', '.join(item.value for item in CellFunction)}"
            )
        alpha = float(next(alphas, _ALPHA[function])) if function in _ALPHA else 0.0
        beta = float(next(betas, _BETA[function])) if function in _BETA else 0.0
        cells.append((function, alpha, beta))
    return tuple(cells)


def _clip(context: Context) -> float | None:
    clip = context.float_("clip") if context.has("clip") else None
    if clip is not None and not 0 < clip < np.inf:
        raise context.fault(f"clip is {clip:g}; a positive number is allowed")
    return clip


def _emit(context: Context, attrs: Attrs, most: int) -> None:
    """The node, with time first whatever the model's layout says."""
    batch_first = bool(context.int_("layout", 0))
    turned = (0, INITIAL, INITIAL + 1) if batch_first else ()
    refs: list[Ref | None] = []
    for index in range(most):
        ref = context.input(index) if index < 3 else context.optional(index)
        if ref is not None and ref.rank != 3 and index in (0, 1, 2, *turned):
            raise context.fault(f"input {index} has the shape {list(ref.shape)}; 3 dimensions are allowed")
        refs.append(context.transpose(ref, (1, 0, 2)) if ref is not None and index in turned else ref)
    hidden = context.int_("hidden_size", context.input(2).shape[-1])
    if context.input(2).shape[-1] != hidden:
        raise context.fault(f"hidden_size is {hidden}, the recurrence is {list(context.input(2).shape)}")
    lengths = context.constant(LENGTHS)
    if lengths is not None and np.all(lengths == context.input(0).shape[1 if batch_first else 0]):
        refs[LENGTHS] = None
    while refs[-1] is None:
        refs.pop()
    sequence, *states = context.emit_all(attrs, *refs)
    if batch_first:
        sequence = context.transpose(sequence, (2, 0, 1, 3))
        states = [context.transpose(state, (1, 0, 2)) for state in states]
    context.set(sequence, *states)


def _lstm(context: Context) -> None:
    direction = _direction(context)
    attrs = Lstm(
        direction,
        _activations(context, direction, (SIGMOID, TANH, TANH)),
        _clip(context),
        input_forget=bool(context.int_("input_forget", 0)),
    )
    _emit(context, attrs, 8)


def _gru(context: Context) -> None:
    direction = _direction(context)
    attrs = Gru(
        direction,
        _activations(context, direction, (SIGMOID, TANH)),
        _clip(context),
        linear_before_reset=bool(context.int_("linear_before_reset", 0)),
    )
    _emit(context, attrs, 6)


def _rnn(context: Context) -> None:
    direction = _direction(context)
    attrs = Rnn(direction, _activations(context, direction, (TANH,)), _clip(context))
    _emit(context, attrs, 6)


RULES: dict[str, Rule] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
