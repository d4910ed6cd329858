"""Sum: sum over axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding, requantize
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.blend import is_once
from tinydeploy.ops.plain import by_kind, plain_reference, widened
from tinydeploy.ops.quantized import activations, is_quantized, quant_of
from tinydeploy.ops.reduction import elements_of, peak_of, reduction_constraints, reduction_infer
from tinydeploy.ops.requantize import factor_between


@dataclass(frozen=True, slots=True)
class Sum(Attrs):
    """``axes`` are ascending, from 0 on; ``keep_dims`` leaves them with extent 1."""

    axes: tuple[int, ...]
    keep_dims: bool = False
    rounding: Rounding = Rounding.TFLITE


def factor_of(site: Site[Sum]) -> tuple[int, int]:
    """(multiplier, shift) from a sum of steps to output steps."""
    return factor_between(quant_of(site.input(0)), quant_of(site.outputs[0]))


def _reference(site: Site[Sum], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    output = site.outputs[0]
    centred = operand(arrays, 0).astype(np.int64) - quant_of(site.input(0)).zero_point
    total: Int64 = np.asarray(centred.sum(axis=site.attrs.axes), np.int64)
    steps = requantize(total, *factor_of(site), site.attrs.rounding) + quant_of(output).zero_point
    return (np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy).reshape(output.shape),)


def _plain(site: Site[Sum], data: tuple[Array, ...]) -> Array:
    x = widened(data[0])
    return np.asarray(x.sum(axis=site.attrs.axes, dtype=x.dtype)).reshape(site.outputs[0].shape)


OP = Operator(
    attrs=Sum,
    roles=("data",),
    doc="sum over any axes",
    infer=reduction_infer,
    reference=by_kind(_reference, plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_once, activations(0)),
        *reduction_constraints(),
        *only(
            is_quantized,
            Constraint(
                "no sum, brought to the output's scale, leaves 32 bits",
                lambda site: fits_32_bits(peak_of(site), factor_of(site)[1]),
                lambda site: (
                    f"{elements_of(site)} elements, output scale {quant_of(site.outputs[0]).scale:g}"
                ),
                "calibrate the output's range on real data, or reduce in two steps",
            ),
        ),
    ),
)
