"""TransposeConv: each input pixel adds its kernel to the output; weights [C_out, K_h, K_w, C_in]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, only
from tinydeploy.ops.convolution import kernel_constraints
from tinydeploy.ops.dot import dot_constraints, dot_reference, peak_of, scaled_sum_fits
from tinydeploy.ops.float_windows import float_constraints, float_dot
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import Activation, is_quantized, quant_of
from tinydeploy.ops.sums import transpose_conv_sums
from tinydeploy.ops.window import Pair


@dataclass(frozen=True, slots=True)
class TransposeConv(Attrs):
    """The kernel of input pixel (y, x) begins at output ``(y, x) * stride - before``; ``size`` cuts.

    The weights have ``C_in / groups`` channels; group g of the input makes group g of the output.
    """

    size: Pair
    stride: Pair = (1, 1)
    before: Pair = (0, 0)
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE
    dilation: Pair = (1, 1)
    groups: int = 1


def _infer(site: Site[TransposeConv]) -> tuple[TensorType, ...]:
    shape = (site.input(0).shape[0], *site.attrs.size, site.input(1).shape[0])
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[TransposeConv], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (float_dot(site, arrays, transpose_conv_sums),)
    return (dot_reference(site, arrays, transpose_conv_sums),)


def _every_sum_fits(site: Site[TransposeConv]) -> bool:
    """Any part of the taps may meet an output, so the zero point does not cancel between them."""
    return scaled_sum_fits(site, peak_of(site, 0, partial=True))


def _groups_fit(site: Site[TransposeConv]) -> bool:
    groups, data, weights = site.attrs.groups, site.input(0).shape, site.input(1).shape
    return len(data) == 4 and groups >= 1 and data[3] == weights[3] * groups and weights[0] % groups == 0


def _geometry_fits(site: Site[TransposeConv]) -> bool:
    attrs = site.attrs
    extents = [
        (size - 1) * dilation + 1
        for size, dilation in zip(site.input(1).shape[1:3], attrs.dilation, strict=True)
    ]
    return (
        min(*attrs.stride, *attrs.size, *attrs.dilation) >= 1
        and max(*attrs.stride, *attrs.dilation) <= 64
        and all(0 <= before < extent for before, extent in zip(attrs.before, extents, strict=True))
    )


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
        *only(
            is_quantized,
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
                "without dilation and groups where it is quantized",
                lambda site: site.attrs.dilation == (1, 1) and site.attrs.groups == 1,
                lambda site: f"dilation {site.attrs.dilation}, {site.attrs.groups} groups",
                "leave this layer in float32",
                gate=True,
            ),
        ),
        *only(
            is_plain,
            Constraint(
                "the input is a batch of images [N, H, W, C] of whole groups of channels",
                _groups_fit,
                lambda site: (
                    f"{list(site.input(0).shape)}, {list(site.input(1).shape)}, {site.attrs.groups} groups"
                ),
                "repair the model",
                gate=True,
            ),
        ),
        Constraint(
            "strides and extents are at least 1, and the padding is smaller than the kernel",
            _geometry_fits,
            lambda site: f"stride {site.attrs.stride}, size {site.attrs.size}, padding {site.attrs.before}",
            "repair the model",
            gate=True,
        ),
        *only(is_plain, *float_constraints(channel_axis=0)),
        *only(
            is_quantized,
            *dot_constraints(channel_axis=0),
            Constraint(
                "no sum of any part of the products, brought to the output's scale, leaves 32 bits",
                _every_sum_fits,
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
