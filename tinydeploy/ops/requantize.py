"""Requantize: the same numbers on another scale or in another element type (TFLite's QUANTIZE of steps)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding, quantize_multiplier, requantize
from tinydeploy.ir import Array, Attrs, DType, Quant, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.blend import Blend, Term
from tinydeploy.ops.formula import Element, Formula, Number, scaled
from tinydeploy.ops.quantize import STEPS
from tinydeploy.ops.quantized import describe, quant_of


@dataclass(frozen=True, slots=True)
class Requantize(Attrs):
    """Element by element; ``dtype`` is that of the output."""

    dtype: DType = DType.INT8
    rounding: Rounding = Rounding.TFLITE


def factor_between(source: Quant, target: Quant) -> tuple[int, int]:
    """(multiplier, shift) from steps of one scale to steps of another."""
    return quantize_multiplier(source.scale / target.scale)


def rescaled(centred: Int64, source: Quant, target: Quant, rounding: Rounding = Rounding.TFLITE) -> Int64:
    """Steps on ``target``, not yet cut to its type, of steps on ``source`` minus its zero point."""
    return requantize(centred, *factor_between(source, target), rounding) + target.zero_point


def _reference(site: Site[Requantize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    output = site.outputs[0]
    source = quant_of(site.input(0))
    centred = operand(arrays, 0).astype(np.int64) - source.zero_point
    steps = rescaled(centred, source, quant_of(output), site.attrs.rounding)
    return (np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy),)


def blend_of(site: Site[Requantize]) -> Blend:
    """The same as a blend, for kernels of elements that are too wide for a table."""
    source, target = quant_of(site.input(0)), quant_of(site.outputs[0])
    multiplier, shift = factor_between(source, target)
    low, high = site.outputs[0].dtype.limits
    term = Term(multiplier, (0,))
    return Blend((term,), (source.zero_point,), 31 - shift, target.zero_point, low, high)


def formula(site: Site[Requantize]) -> Formula:
    """The same as a formula, where it is rounded twice."""
    source, target = quant_of(site.input(0)), quant_of(site.outputs[0])
    centred = Element(0) - Number("zero_point", source.zero_point)
    steps = scaled(centred, "", factor_between(source, target))
    total = steps + Number("output_zero_point", target.zero_point)
    return Formula((), total, *site.outputs[0].dtype.limits)


def _is_steps(type_: TensorType, *more: DType) -> bool:
    return type_.dtype in (*STEPS, *more) and type_.quant is not None and type_.quant.per_tensor


def _types_fit(site: Site[Requantize]) -> bool:
    more = () if site.attrs.rounding is Rounding.HALF_EVEN else (DType.INT32,)
    return _is_steps(site.input(0), *more) and _is_steps(site.outputs[0], *more)


def _scaled_fits(site: Site[Requantize]) -> bool:
    source, target = quant_of(site.input(0)), quant_of(site.outputs[0])
    _, shift = factor_between(source, target)
    if site.outputs[0].dtype is DType.INT32 and target.zero_point:
        return False
    if site.input(0).dtype is DType.INT32:
        return shift <= 0 and source.zero_point == 0
    return fits_32_bits((1 << site.input(0).dtype.bits) - 1, shift)


OP = Operator(
    attrs=Requantize,
    roles=("data",),
    doc="the same numbers on another scale, steps of 8 or 16 bits",
    infer=lambda site: (TensorType(site.attrs.dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "input and output are int8, uint8, int16, uint16, or int32 rounded twice, with one scale each",
            _types_fit,
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "an element, brought to the output's scale, stays in 32 bits; int32 steps count from 0",
            _scaled_fits,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
