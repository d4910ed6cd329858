"""Geometry and limits that AveragePool2D and MaxPool2D share."""

from __future__ import annotations

from typing import Protocol

from tinydeploy.ir import TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.convolution import image_constraints
from tinydeploy.ops.quantized import Activation, int8_activations, same_quantization
from tinydeploy.ops.window import Pair, Window


class PoolAttrs(Protocol):
    """The attributes of any pooling; padding is ((top, bottom), (left, right))."""

    @property
    def size(self) -> Pair: ...
    @property
    def stride(self) -> Pair: ...
    @property
    def padding(self) -> tuple[Pair, Pair]: ...
    @property
    def activation(self) -> Activation: ...


def windows(attrs: PoolAttrs) -> tuple[Window, Window]:
    """The vertical and the horizontal window."""
    (top, bottom), (left, right) = attrs.padding
    return (
        Window(attrs.size[0], attrs.stride[0], 1, top, bottom),
        Window(attrs.size[1], attrs.stride[1], 1, left, right),
    )


def pool_infer(site: AnySite) -> tuple[TensorType, ...]:
    vertical, horizontal = windows(site.attrs)
    batch, height, width, channels = site.input(0).shape
    shape = (batch, vertical.outputs(height), horizontal.outputs(width), channels)
    return (TensorType(site.input(0).dtype, shape),)


def _every_window_meets_data(site: AnySite) -> bool:
    _, height, width, _ = site.input(0).shape
    pairs = zip(windows(site.attrs), (height, width), strict=True)
    return all(
        window.before < window.size
        and window.after < window.size
        and window.start(max(window.outputs(length) - 1, 0)) < length
        for window, length in pairs
    )


def pool_constraints() -> tuple[AnyConstraint, ...]:
    return (
        *image_constraints(),
        int8_activations(0),
        same_quantization(0),
        Constraint(
            "every window meets at least one element of the data",
            _every_window_meets_data,
            lambda site: f"size {site.attrs.size}, padding {site.attrs.padding}",
            "make the padding smaller than the window",
        ),
    )
