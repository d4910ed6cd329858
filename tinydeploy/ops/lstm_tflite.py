"""LstmTflite: TFLite's LSTM over a sequence in integers: int8 data and hidden state, int16 gates and cell.

Inputs: data [B, T, I], then for the input, forget, cell and output gate in this order the weights [H, I], the
recurrent weights [H, H] and the biases [H], then the states hidden [B, H] and cell [B, H]. Outputs: the
hidden state of every step [B, T, H], and the next states. ``time_major`` data and results have T before B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import (
    INT32_MAX,
    Int64,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, operand
from tinydeploy.ops.quantized import accumulator_peak, describe, is_int8, quant_of
from tinydeploy.ops.wide_tables import INT16_MAX, INT16_MIN, Brought, wide_sigmoid, wide_tanh

GATES = ("input", "forget", "cell", "output")
WEIGHTS, RECURRENT, BIASES, HIDDEN, CELL = 1, 5, 9, 13, 14

GATE_SCALE = 2.0**-12
"""What goes into the functions of the gates."""
UNIT = 2.0**-15
"""What comes out of them."""
PLAIN = Brought(3, 0)
"""How steps of ``GATE_SCALE`` reach the tables."""

Factor = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LstmTflite(Attrs):
    """``cell_clip`` bounds the cell, 0 does not."""

    time_major: bool = False
    cell_clip: float = 0.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extents of a node."""

    batch: int
    steps: int
    inputs: int
    units: int


@dataclass(frozen=True, slots=True)
class Factors:
    """(multiplier, shift) of each gate's two matrix products, and of the three products of gates."""

    inputs: tuple[Factor, ...]
    recurrent: tuple[Factor, ...]
    forget: Factor
    remember: Factor
    output: Factor


def sizes(site: Site[LstmTflite]) -> Sizes:
    batch, steps, inputs = site.input(0).shape
    if site.attrs.time_major:
        batch, steps = steps, batch
    return Sizes(batch, steps, inputs, site.input(WEIGHTS).shape[0])


def factors(site: Site[LstmTflite]) -> Factors:
    """All factors of a node."""

    def of(first: int, source: int) -> tuple[Factor, ...]:
        scale = quant_of(site.input(source)).scale
        return tuple(
            quantize_multiplier(scale * quant_of(site.input(first + gate)).scale / GATE_SCALE)
            for gate in range(len(GATES))
        )

    cell, hidden = quant_of(site.input(CELL)).scale, quant_of(site.input(HIDDEN)).scale
    return Factors(
        of(WEIGHTS, 0),
        of(RECURRENT, HIDDEN),
        quantize_multiplier(UNIT * cell / cell),
        quantize_multiplier(UNIT * UNIT / cell),
        quantize_multiplier(UNIT * UNIT / hidden),
    )


def cell_power(site: Site[LstmTflite]) -> int:
    """The cell's scale is 2 to this."""
    return round(math.log2(quant_of(site.input(CELL)).scale))


def cell_brought(site: Site[LstmTflite]) -> Brought:
    """How the cell's steps reach the table of tanh."""
    shift = cell_power(site) + 12
    return Brought(3 << shift, 0) if shift >= 0 else Brought(3, -shift)


def cell_limit(site: Site[LstmTflite]) -> int:
    """The largest step of the cell; its lowest is -limit, or int16's own where there is no clip."""
    clip = site.attrs.cell_clip
    return min(int(clip / quant_of(site.input(CELL)).scale), INT16_MAX) if clip > 0 else INT16_MAX


def _infer(site: Site[LstmTflite]) -> tuple[TensorType, ...]:
    states = (TensorType(site.input(index).dtype, site.input(index).shape) for index in (HIDDEN, CELL))
    return TensorType(site.input(0).dtype, (*site.input(0).shape[:2], sizes(site).units)), *states


def _saturated(value: Int64) -> Int64:
    return np.clip(value, INT16_MIN, INT16_MAX)


def _reference(site: Site[LstmTflite], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    size, factor = sizes(site), factors(site)
    data = operand(arrays, 0).astype(np.int64) - quant_of(site.input(0)).zero_point
    data = data.swapaxes(0, 1) if not site.attrs.time_major else data
    hidden, cell = (operand(arrays, index).astype(np.int64) for index in (HIDDEN, CELL))
    zero_point = quant_of(site.input(HIDDEN)).zero_point
    weights, recurrent, biases = (
        [operand(arrays, first + gate).astype(np.int64) for gate in range(len(GATES))]
        for first in (WEIGHTS, RECURRENT, BIASES)
    )
    limit, tanh_factor = cell_limit(site), cell_brought(site)
    results = []
    for step in range(size.steps):
        gates = []
        for gate, name in enumerate(GATES):
            brought = multiply_by_quantized_multiplier(
                data[step] @ weights[gate].T + biases[gate], *factor.inputs[gate]
            )
            kept = multiply_by_quantized_multiplier(
                (hidden - zero_point) @ recurrent[gate].T, *factor.recurrent[gate]
            )
            total = _saturated(_saturated(brought) + _saturated(kept))
            gates.append((wide_tanh if name == "cell" else wide_sigmoid)(total, PLAIN))
        opened, forget, new, shown = gates
        old = _saturated(multiply_by_quantized_multiplier(forget * cell, *factor.forget))
        added = _saturated(multiply_by_quantized_multiplier(opened * new, *factor.remember))
        cell = _saturated(old + added)
        if site.attrs.cell_clip > 0:
            cell = np.clip(cell, -limit, limit)
        seen = wide_tanh(cell, tanh_factor)
        scaled = multiply_by_quantized_multiplier(shown * seen, *factor.output) + zero_point
        hidden = np.clip(scaled, -128, 127)
        results.append(hidden)
    sequence = np.stack(results, axis=0 if site.attrs.time_major else 1)
    return sequence.astype(np.int8), hidden.astype(np.int8), cell.astype(np.int16)


def _macs(site: Site[LstmTflite]) -> int:
    size = sizes(site)
    return size.batch * size.steps * len(GATES) * size.units * (size.inputs + size.units)


def _shapes_fit(site: Site[LstmTflite]) -> bool:
    if len(site.input(0).shape) != 3 or len(site.input(WEIGHTS).shape) != 2:
        return False
    size = sizes(site)
    wanted = {WEIGHTS: (size.units, size.inputs), RECURRENT: (size.units,) * 2, BIASES: (size.units,)}
    return all(
        site.input(first + gate).shape == shape
        for first, shape in wanted.items()
        for gate in range(len(GATES))
    ) and all(site.input(index).shape == (size.batch, size.units) for index in (HIDDEN, CELL))


def _types_fit(site: Site[LstmTflite]) -> bool:
    matrices = range(WEIGHTS, BIASES)
    biases = range(BIASES, HIDDEN)
    cell = site.input(CELL)
    return (
        all(is_int8(site.input(index)) for index in (0, HIDDEN, *matrices))
        and all(site.constant(index) is not None for index in (*matrices, *biases))
        and not any(quant_of(site.input(index)).zero_point for index in matrices)
        and all(site.input(index).dtype is DType.INT32 for index in biases)
        and cell.dtype is DType.INT16
        and cell.quant is not None
        and cell.quant.zero_points == (0,)
        and site.outputs[0].quant == site.outputs[1].quant == site.input(HIDDEN).quant
        and site.outputs[2].quant == cell.quant
    )


def _cell_scale_fits(site: Site[LstmTflite]) -> bool:
    log = math.log2(quant_of(site.input(CELL)).scale)
    return abs(log - round(log)) < 1e-3 and -20 <= round(log) <= -8


def sums_fit(site: Site[LstmTflite]) -> bool:
    """Whether no sum, also when it is brought to another scale, leaves 32 bits."""
    found = factors(site)
    pairs: list[tuple[int, int]] = []
    for first, source, scales in ((WEIGHTS, 0, found.inputs), (RECURRENT, HIDDEN, found.recurrent)):
        for gate, (_, shift) in enumerate(scales):
            weights = site.constant(first + gate)
            bias = site.constant(BIASES + gate) if first == WEIGHTS else None
            if weights is not None:
                zero_point = quant_of(site.input(source)).zero_point
                pairs.append((accumulator_peak(weights, 0, bias, zero_point), shift))
    pairs += [(1 << 30, shift) for _, shift in (found.forget, found.remember, found.output)]
    return all(shift <= 30 and peak << max(shift, 0) <= INT32_MAX for peak, shift in pairs)


OP = Operator(
    attrs=LstmTflite,
    roles=(
        "data",
        *(f"{kind}_{gate}" for kind in ("weights", "recurrent", "bias") for gate in GATES),
        "hidden",
        "cell",
    ),
    doc="TFLite's LSTM in integers: int8 data, int16 gates and cell",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        Constraint(
            "weights, biases and states have the shapes that data and units imply",
            _shapes_fit,
            lambda site: ", ".join(str(list(type_.shape)) for type_ in site.inputs if type_ is not None),
            "repair the model",
            gate=True,
        ),
        Constraint(
            "data, hidden state, result and constant symmetric weights are int8, the cell int16",
            _types_fit,
            lambda site: ", ".join(map(describe, (site.inputs[0], site.inputs[1], *site.inputs[HIDDEN:]))),
            "convert the model with full int8 quantization, or in float32",
            gate=True,
        ),
        Constraint(
            "the cell's scale is a power of two from 2**-20 to 2**-8",
            _cell_scale_fits,
            lambda site: f"{quant_of(site.input(CELL)).scale:g}",
            "convert the model again: the converter fixes this scale",
            gate=True,
        ),
        Constraint(
            "no sum of products, brought to its scale, leaves 32 bits",
            sums_fit,
            lambda site: f"factors {factors(site)}",
            "calibrate the ranges on real data",
        ),
    ),
)
