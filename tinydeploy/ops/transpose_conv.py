"""TransposeConv: each input pixel adds its kernel to the output; weights [C_out, K_h, K_w, C_in]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.convolution import dot_constraints, kernel_constraints, requantized
from tinydeploy.ops.movement import size_constraint
from tinydeploy.ops.quantized import Activation, accumulator_factors, is_int8, partial_peak, quant_of
from tinydeploy.ops.window import Pair


@dataclass(frozen=True, slots=True)
class TransposeConv(Attrs):
    """The kernel of input pixel (y, x) begins at output ``(y, x) * stride - before``; ``size`` cuts."""

    size: Pair
    stride: Pair = (1, 1)
    before: Pair = (0, 0)
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def _infer(site: Site[TransposeConv]) -> tuple[TensorType, ...]:
    shape = (site.input(0).shape[0], *site.attrs.size, site.input(1).shape[0])
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[TransposeConv], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, weights = site.attrs, operand(arrays, 1).astype(np.float64)
    image = operand(arrays, 0).astype(np.float64) - quant_of(site.input(0)).zero_point
    _, height, width, _ = image.shape
    # The whole sum, before it is cut; float64 is exact far beyond sums of int8 products.
    extents = [
        (length - 1) * stride + size
        for length, stride, size in zip((height, width), attrs.stride, weights.shape[1:3], strict=True)
    ]
    rows, columns = (max(a, b + c) for a, b, c in zip(extents, attrs.size, attrs.before, strict=True))
    total = np.zeros((1, rows, columns, weights.shape[0]), np.float64)
    for row in range(weights.shape[1]):
        for column in range(weights.shape[2]):
            total[
                :,
                row : row + (height - 1) * attrs.stride[0] + 1 : attrs.stride[0],
                column : column + (width - 1) * attrs.stride[1] + 1 : attrs.stride[1],
            ] += image @ weights[:, row, column].T
    (top, left), (out_rows, out_columns) = attrs.before, attrs.size
    cut = total[:, top : top + out_rows, left : left + out_columns]
    return (requantized(site, cut.astype(np.int64), attrs.activation, attrs.rounding),)


def _every_sum_fits(site: Site[TransposeConv]) -> bool:
    """Any part of the taps may meet an output, so the zero point does not cancel between them."""
    weights = site.constant(1)
    if weights is None or not (is_int8(site.input(0)) and is_int8(site.outputs[0])):
        return True
    _, shifts = accumulator_factors(site.input(0), site.input(1), site.outputs[0])
    return fits_32_bits(partial_peak(weights, 0, site.constant(2)), int(shifts.max()))


def _macs(site: Site[TransposeConv]) -> int:
    return site.input(0).elements * math.prod(site.input(1).shape[:3])


OP = Operator(
    attrs=TransposeConv,
    roles=("data", "weights", "bias?"),
    doc="transposed 2-D convolution with any kernel, stride and padding",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *kernel_constraints(),
        size_constraint(),
        Constraint(
            "the input is an image [1, H, W, C] with the channels of the weights",
            lambda site: (
                len(site.input(0).shape) == 4
                and site.input(0).shape[0] == 1
                and site.input(0).shape[3] == site.input(1).shape[3]
            ),
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "set the batch to 1 in the converter",
            gate=True,
        ),
        Constraint(
            "strides and extents are at least 1, and the padding is smaller than the kernel",
            lambda site: (
                min(*site.attrs.stride, *site.attrs.size) >= 1
                and all(
                    0 <= before < max(size, 1)
                    for before, size in zip(site.attrs.before, site.input(1).shape[1:3], strict=True)
                )
                and max(site.attrs.stride) <= 64
            ),
            lambda site: f"stride {site.attrs.stride}, size {site.attrs.size}, padding {site.attrs.before}",
            "repair the model",
            gate=True,
        ),
        *dot_constraints(channel_axis=0),
        Constraint(
            "no sum of any part of the products, brought to the output's scale, leaves 32 bits",
            _every_sum_fits,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
