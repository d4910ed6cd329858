"""TransposeConv3D: each element adds its kernel to the output.

The weights are [C_out, K_d, K_h, K_w, C_in / groups].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site
from tinydeploy.ops.conv_3d import Triple
from tinydeploy.ops.float_windows import float_constraints, float_dot
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.sums import transpose_conv_sums


@dataclass(frozen=True, slots=True)
class TransposeConv3D(Attrs):
    """As TransposeConv, with depth before height and width; float32."""

    size: Triple
    stride: Triple = (1, 1, 1)
    before: Triple = (0, 0, 0)
    activation: Activation = Activation.NONE
    dilation: Triple = (1, 1, 1)
    groups: int = 1


def _infer(site: Site[TransposeConv3D]) -> tuple[TensorType, ...]:
    shape = (site.input(0).shape[0], *site.attrs.size, site.input(1).shape[0])
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[TransposeConv3D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (float_dot(site, arrays, transpose_conv_sums),)


def _shapes_fit(site: Site[TransposeConv3D]) -> bool:
    groups, data, weights = site.attrs.groups, site.input(0).shape, site.input(1).shape
    return (
        len(data) == 5
        and len(weights) == 5
        and groups >= 1
        and data[4] == weights[4] * groups
        and weights[0] % groups == 0
    )


def _geometry_fits(site: Site[TransposeConv3D]) -> bool:
    attrs = site.attrs
    return (
        min(*attrs.stride, *attrs.size, *attrs.dilation) >= 1
        and max(*attrs.stride, *attrs.dilation) <= 64
        and all(
            0 <= before < (size - 1) * dilation + 1
            for before, size, dilation in zip(
                attrs.before, site.input(1).shape[1:4], attrs.dilation, strict=True
            )
        )
    )


OP = Operator(
    attrs=TransposeConv3D,
    roles=("data", "weights", "bias?"),
    doc="transposed 3-D convolution with any kernel, stride, dilation, padding and groups",
    infer=_infer,
    reference=_reference,
    macs=lambda site: site.input(0).elements * math.prod(site.input(1).shape[:4]),
    constraints=(
        Constraint(
            "data [N, D, H, W, C] and weights have 5 dimensions and whole groups of channels",
            _shapes_fit,
            lambda site: (
                f"{list(site.input(0).shape)}, {list(site.input(1).shape)}, {site.attrs.groups} groups"
            ),
            "repair the model",
            gate=True,
        ),
        size_constraint(),
        Constraint(
            "strides and extents are at least 1, and the padding is smaller than the kernel",
            _geometry_fits,
            lambda site: f"stride {site.attrs.stride}, size {site.attrs.size}, padding {site.attrs.before}",
            "repair the model",
            gate=True,
        ),
        *float_constraints(channel_axis=0),
    ),
)
