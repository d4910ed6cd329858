"""AveragePool2D: mean over a window; padding does not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site
from tinydeploy.ops.convolution import image_constraints
from tinydeploy.ops.quantized import Activation, activation_limits, int8_activations
from tinydeploy.ops.window import Pair, Window, padded, tap


@dataclass(frozen=True, slots=True)
class AveragePool2D(Attrs):
    """``padding`` is ((top, bottom), (left, right)) in elements; pairs are (vertical, horizontal)."""

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE


def windows(attrs: AveragePool2D) -> tuple[Window, Window]:
    """The vertical and the horizontal window."""
    (top, bottom), (left, right) = attrs.padding
    return (
        Window(attrs.size[0], attrs.stride[0], 1, top, bottom),
        Window(attrs.size[1], attrs.stride[1], 1, left, right),
    )


def _infer(site: Site[AveragePool2D]) -> tuple[TensorType, ...]:
    vertical, horizontal = windows(site.attrs)
    batch, height, width, channels = site.input(0).shape
    shape = (batch, vertical.outputs(height), horizontal.outputs(width), channels)
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[AveragePool2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data = arrays[0]
    if data is None:
        raise ValueError("AveragePool2D needs data")
    vertical, horizontal = windows(site.attrs)
    output = site.outputs[0]
    extents = output.shape[1], output.shape[2]
    image = padded(data.astype(np.int64), *site.attrs.padding, 0)
    inside = padded(np.ones((1, *data.shape[1:3], 1), np.int64), *site.attrs.padding, 0)
    total = np.zeros(output.shape, np.int64)
    count = np.zeros((1, *extents, 1), np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(image, vertical, horizontal, row, column, extents)
            count += tap(inside, vertical, horizontal, row, column, extents)
    # Rounded to nearest, ties away from zero.
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    low, high = activation_limits(site.attrs.activation, output)
    return (np.clip(mean, low, high).astype(output.dtype.numpy),)


def _macs(site: Site[AveragePool2D]) -> int:
    return 0


def _every_window_meets_data(site: Site[AveragePool2D]) -> bool:
    _, height, width, _ = site.input(0).shape
    pairs = zip(windows(site.attrs), (height, width), strict=True)
    return all(
        window.before < window.size
        and window.after < window.size
        and window.start(max(window.outputs(length) - 1, 0)) < length
        for window, length in pairs
    )


OP = Operator(
    attrs=AveragePool2D,
    roles=("data",),
    doc="mean over a window, padding not counted",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *image_constraints(),
        int8_activations(0),
        Constraint(
            "input and output have the same scale and zero point",
            lambda site: site.input(0).quant == site.outputs[0].quant,
            lambda site: f"{site.input(0).quant} and {site.outputs[0].quant}",
            "convert the model again: the converter ties the two scales",
        ),
        Constraint(
            "every window meets at least one element of the data",
            _every_window_meets_data,
            lambda site: f"size {site.attrs.size}, padding {site.attrs.padding}",
            "make the padding smaller than the window",
        ),
    ),
)
