"""Conv3D: data NDHWC, weights [C_out, K_d, K_h, K_w, C_in / groups], bias [C_out]; float32."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, operand
from tinydeploy.ops.convolution import MAX_BORDER
from tinydeploy.ops.float_windows import finished, float_constraints
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.window import Pair, Window

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Conv3D(Attrs):
    """``padding`` is (before, after) in elements for depth, height and width; the shapes tell the groups."""

    stride: Triple = (1, 1, 1)
    dilation: Triple = (1, 1, 1)
    padding: tuple[Pair, Pair, Pair] = ((0, 0), (0, 0), (0, 0))
    activation: Activation = Activation.NONE


def windows_3d(site: Site[Conv3D]) -> tuple[Window, Window, Window]:
    """The window along depth, height and width."""
    attrs = site.attrs
    first, second, third = (
        Window(size, stride, dilation, before, after)
        for size, stride, dilation, (before, after) in zip(
            site.input(1).shape[1:4], attrs.stride, attrs.dilation, attrs.padding, strict=True
        )
    )
    return first, second, third


def groups_3d(site: Site[Conv3D]) -> int:
    return site.input(0).shape[4] // site.input(1).shape[4]


def _infer(site: Site[Conv3D]) -> tuple[TensorType, ...]:
    batch, *extents, _ = site.input(0).shape
    outputs = (window.outputs(length) for window, length in zip(windows_3d(site), extents, strict=True))
    return (TensorType(site.input(0).dtype, (batch, *outputs, site.input(1).shape[0])),)


def _reference(site: Site[Conv3D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    weights = operand(arrays, 1).astype(np.float64)
    image = np.pad(operand(arrays, 0).astype(np.float64), ((0, 0), *site.attrs.padding, (0, 0)))
    output, axes = site.outputs[0].shape, windows_3d(site)
    groups = groups_3d(site)
    each, depth = weights.shape[0] // groups, weights.shape[4]
    total = np.zeros(output, np.float64)
    for taps in np.ndindex(*(window.size for window in axes)):
        met = image[
            (
                slice(None),
                *(
                    slice(at * w.dilation, at * w.dilation + (count - 1) * w.stride + 1, w.stride)
                    for at, w, count in zip(taps, axes, output[1:4], strict=True)
                ),
            )
        ]
        for group in range(groups):
            part = slice(group * each, (group + 1) * each)
            data = met[..., group * depth : (group + 1) * depth]
            total[..., part] += data @ weights[part][(slice(None), *taps)].T
    return (finished(site, total, arrays),)


def _shapes_fit(site: Site[Conv3D]) -> bool:
    data, weights = site.input(0).shape, site.input(1).shape
    if len(data) != 5 or len(weights) != 5 or data[4] % weights[4]:
        return False
    return weights[0] % (data[4] // weights[4]) == 0


def _border(site: Site[Conv3D]) -> int:
    _, *extents, channels = site.input(0).shape
    padded = math.prod(length + sum(pair) for length, pair in zip(extents, site.attrs.padding, strict=True))
    return (padded - math.prod(extents)) * channels


OP = Operator(
    attrs=Conv3D,
    roles=("data", "weights", "bias?"),
    doc="3-D convolution with any kernel, stride, dilation, padding and groups",
    infer=_infer,
    reference=_reference,
    macs=lambda site: site.outputs[0].elements * math.prod(site.input(1).shape[1:]),
    constraints=(
        Constraint(
            "data [N, D, H, W, C] and weights have 5 dimensions and whole groups of channels",
            _shapes_fit,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            f"padding adds at most {MAX_BORDER:,} elements to the data",
            lambda site: _border(site) <= MAX_BORDER,
            lambda site: f"{_border(site):,} elements, padding {site.attrs.padding}",
            "use a smaller window or dilation",
            gate=True,
        ),
        *float_constraints(channel_axis=0),
    ),
)
