"""Svdf: a dense layer of filters over a memory of their last results (TFLite's SVDF).

Inputs: data [B, I], features [F, I], times [F, M], the state [B, F * M] and bias [U]; F is U times the rank.
Outputs: [B, U] and the next state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, only, operand
from tinydeploy.ops.quantized import Activation, describe, is_activation, is_quantized, quant_of

STATE, BIAS = 3, 4


@dataclass(frozen=True, slots=True)
class Svdf(Attrs):
    """Each output is the sum of ``rank`` filters."""

    rank: int
    activation: Activation = Activation.NONE


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extents of a node."""

    batch: int
    inputs: int
    filters: int
    memory: int
    units: int


def sizes(site: Site[Svdf]) -> Sizes:
    (batch, inputs), (filters, memory) = site.input(0).shape, site.input(2).shape
    return Sizes(batch, inputs, filters, memory, filters // site.attrs.rank)


def factors(site: Site[Svdf]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) to the state's steps and from there to the output's; float32 as in TFLite Micro."""
    data, features, times, state, output = (
        np.float32(quant_of(type_).scale)
        for type_ in (*(site.input(index) for index in (0, 1, 2, STATE)), site.outputs[0])
    )
    with np.errstate(over="ignore", under="ignore"):
        reals = (float(data * features / state), float(state * times / output))
    return quantize_multiplier(min(reals[0], 2.0**40)), quantize_multiplier(min(reals[1], 2.0**40))


def _infer(site: Site[Svdf]) -> tuple[TensorType, ...]:
    size = sizes(site)
    output = TensorType(site.input(0).dtype, (size.batch, size.units))
    return output, TensorType(site.input(STATE).dtype, site.input(STATE).shape)


def _moved(site: Site[Svdf], state: Array, newest: Array) -> Array:
    """The memory of every filter, one step older, with the newest results [B, F] at its end."""
    size = sizes(site)
    memory = state.reshape(size.batch, size.filters, size.memory)
    return np.concatenate([memory[:, :, 1:], newest[:, :, None].astype(state.dtype)], axis=2)


def _reference(site: Site[Svdf], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    size, state = sizes(site), operand(arrays, STATE)
    data, features, times = (operand(arrays, index).astype(np.float64) for index in range(3))
    bias = operand(arrays, BIAS).astype(np.float64) if site.has(BIAS) else np.zeros(size.units)
    output = site.outputs[0]
    if is_plain(site):
        memory = _moved(site, state, data @ features.T)
        total = (memory.astype(np.float64) * times).sum(axis=2)
        summed = total.reshape(size.batch, size.units, site.attrs.rank).sum(axis=2) + bias
        clipped = np.clip(summed, *site.attrs.activation.bounds).astype(np.float32)
        return clipped, memory.reshape(state.shape)
    first, second = factors(site)
    zero_point = quant_of(site.input(STATE)).zero_point
    dots = ((data - quant_of(site.input(0)).zero_point) @ features.T).astype(np.int64)
    # TFLite Micro cuts before it adds the zero point, and lets the sum wrap.
    newest = np.clip(multiply_by_quantized_multiplier(dots, *first), *site.input(STATE).dtype.limits)
    memory = _moved(site, state, newest + zero_point)
    total = ((memory.astype(np.float64) - zero_point) * times).sum(axis=2)
    summed = total.reshape(size.batch, size.units, site.attrs.rank).sum(axis=2) + bias
    steps = multiply_by_quantized_multiplier(summed.astype(np.int64), *second) + quant_of(output).zero_point
    return np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy), memory.reshape(state.shape)


def _macs(site: Site[Svdf]) -> int:
    size = sizes(site)
    return size.batch * size.filters * (size.inputs + size.memory)


def _shapes_fit(site: Site[Svdf]) -> bool:
    if any(len(site.input(index).shape) != 2 for index in (0, 1, 2, STATE)) or site.attrs.rank < 1:
        return False
    size = sizes(site)
    return (
        site.input(1).shape == (size.filters, size.inputs)
        and size.filters % site.attrs.rank == 0
        and site.input(STATE).shape == (size.batch, size.filters * size.memory)
        and (not site.has(BIAS) or site.input(BIAS).shape == (size.units,))
    )


def _types(site: Site[Svdf]) -> tuple[DType | None, ...]:
    inputs = (*site.inputs, None)[: BIAS + 1]
    return tuple(None if type_ is None else type_.dtype for type_ in (*inputs, *site.outputs))


def _steps_fit(site: Site[Svdf]) -> bool:
    data, features, times, state, bias, output, after = _types(site)
    weights = (site.input(1), site.input(2))
    return (
        (data, features, output) == (DType.INT8,) * 3
        and bias in (None, DType.INT32)
        and (times, state) in ((DType.INT8, DType.INT8), (DType.INT16, DType.INT16))
        and after is state
        and all(is_activation(type_) for type_ in (site.input(0), site.input(STATE), *weights, *site.outputs))
        and not any(quant_of(type_).zero_point for type_ in weights)
        and site.outputs[1].quant == site.input(STATE).quant
        and all(site.constant(index) is not None for index in (1, 2))
        and (not site.has(BIAS) or site.constant(BIAS) is not None)
    )


def sums_fit(site: Site[Svdf]) -> bool:
    """Whether no sum, also when it is brought to another scale, leaves 32 bits."""
    features, times, bias = (site.constant(index) for index in (1, 2, BIAS))
    if features is None or times is None:
        return True
    first = 256 * int(np.abs(features.astype(np.int64)).sum(axis=1).max())
    state = 1 << site.input(STATE).dtype.bits
    per_filter = state * np.abs(times.astype(np.int64)).sum(axis=1)
    second = int(per_filter.reshape(-1, site.attrs.rank).sum(axis=1).max())
    second += 0 if bias is None else int(np.abs(bias.astype(np.int64)).max())
    return all(
        shift <= 30 and peak << max(shift, 0) <= INT32_MAX
        for peak, (_, shift) in zip((first, second), factors(site), strict=True)
    )


OP = Operator(
    attrs=Svdf,
    roles=("data", "features", "times", "state", "bias?"),
    doc="filters over a memory of their results; int8 with an int8 or int16 state, or float32",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        Constraint(
            "features, times, bias and state have the shapes that data, filters and rank imply",
            _shapes_fit,
            lambda site: ", ".join(describe(type_) for type_ in site.inputs) + f", rank {site.attrs.rank}",
            "repair the model",
            gate=True,
        ),
        *only(
            is_plain,
            Constraint(
                "without quantization, all operands are float32",
                lambda site: set(_types(site)) <= {DType.FLOAT32, None},
                lambda site: ", ".join(describe(type_) for type_ in site.inputs),
                "convert the model with float32 or with full int8 quantization",
            ),
        ),
        *only(
            is_quantized,
            Constraint(
                "data, features and output are int8, times and state both int8 or int16, weights constant",
                _steps_fit,
                lambda site: ", ".join(describe(type_) for type_ in (*site.inputs, *site.outputs)),
                "convert the model with full int8 quantization",
                gate=True,
            ),
            Constraint(
                "no sum of products, brought to the scale of state or output, leaves 32 bits",
                sums_fit,
                lambda site: f"factors {factors(site)}",
                "calibrate the ranges on real data",
            ),
        ),
    ),
)
