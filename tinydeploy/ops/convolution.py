"""Geometry, limits and arithmetic that Conv2D and DepthwiseConv2D share."""

from __future__ import annotations

from typing import Protocol

from tinydeploy.fixed_point import Rounding
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, is_plain, only
from tinydeploy.ops.quantized import (
    Activation,
    is_quantized,
)
from tinydeploy.ops.window import Pair, Window

MAX_BORDER = 1 << 20
"""Elements that padding may add to an image; far above any real model, it keeps references affordable."""


class WindowAttrs(Protocol):
    """The attributes that any convolution has; padding is ((top, bottom), (left, right))."""

    @property
    def stride(self) -> Pair: ...
    @property
    def dilation(self) -> Pair: ...
    @property
    def padding(self) -> tuple[Pair, Pair]: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def rounding(self) -> Rounding: ...


def windows(site: AnySite) -> tuple[Window, Window]:
    """The vertical and the horizontal window; weights are [_, K_h, K_w, _]."""
    attrs: WindowAttrs = site.attrs
    _, height, width, _ = site.input(1).shape
    (top, bottom), (left, right) = attrs.padding
    return (
        Window(height, attrs.stride[0], attrs.dilation[0], top, bottom),
        Window(width, attrs.stride[1], attrs.dilation[1], left, right),
    )


def output_shape(site: AnySite, channels: int) -> tuple[int, ...]:
    vertical, horizontal = windows(site)
    batch, height, width, _ = site.input(0).shape
    return batch, vertical.outputs(height), horizontal.outputs(width), channels


def image_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of operators with a padded window on NHWC images."""
    batch, border = plain_image_constraints()
    return (
        *only(
            is_quantized,
            Constraint(
                "the input is an image [1, H, W, C]",
                lambda site: len(site.input(0).shape) == 4 and site.input(0).shape[0] == 1,
                lambda site: str(list(site.input(0).shape)),
                "set the batch to 1 in the converter",
                gate=True,
            ),
        ),
        *only(is_plain, batch),
        border,
    )


def plain_image_constraints() -> tuple[AnyConstraint, AnyConstraint]:
    """The same for operators that compute with plain numbers alone."""

    def border(site: AnySite) -> int:
        _, height, width, channels = site.input(0).shape
        (top, bottom), (left, right) = site.attrs.padding
        return int(((height + top + bottom) * (width + left + right) - height * width) * channels)

    return (
        Constraint(
            "the input is a batch of images [N, H, W, C]",
            lambda site: len(site.input(0).shape) == 4,
            lambda site: str(list(site.input(0).shape)),
            "repair the model",
            gate=True,
        ),
        Constraint(
            f"padding adds at most {MAX_BORDER:,} elements to the image",
            lambda site: border(site) <= MAX_BORDER,
            lambda site: f"{border(site):,} elements, padding {site.attrs.padding}",
            "use a smaller window or dilation",
            gate=True,
        ),
    )


def kernel_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of the weights' shape."""
    return (
        Constraint(
            "the weights have 4 dimensions",
            lambda site: len(site.input(1).shape) == 4,
            lambda site: str(list(site.input(1).shape)),
            "repair the model",
            gate=True,
        ),
    )
