"""Geometry and limits that AveragePool2D and MaxPool2D share."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tinydeploy.ir import TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, is_plain, only
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.convolution import image_constraints
from tinydeploy.ops.quantized import (
    Activation,
    activations,
    is_quantized,
    same_quantization,
    wide_zero_points,
)
from tinydeploy.ops.window import Pair, Window


class PoolAttrs(Protocol):
    """The attributes of any pooling; padding is ((top, bottom), (left, right)).

    ``beyond`` is how far the last windows may reach over the padding: the windows that ONNX's ceil mode adds.
    """

    @property
    def size(self) -> Pair: ...
    @property
    def stride(self) -> Pair: ...
    @property
    def padding(self) -> tuple[Pair, Pair]: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def dilation(self) -> Pair: ...
    @property
    def beyond(self) -> Pair: ...


def windows(attrs: PoolAttrs) -> tuple[Window, Window]:
    """The vertical and the horizontal window."""
    (top, bottom), (left, right) = attrs.padding
    return (
        Window(attrs.size[0], attrs.stride[0], attrs.dilation[0], top, bottom + attrs.beyond[0]),
        Window(attrs.size[1], attrs.stride[1], attrs.dilation[1], left, right + attrs.beyond[1]),
    )


def pool_infer(site: AnySite) -> tuple[TensorType, ...]:
    vertical, horizontal = windows(site.attrs)
    batch, height, width, channels = site.input(0).shape
    shape = (batch, vertical.outputs(height), horizontal.outputs(width), channels)
    return (TensorType(site.input(0).dtype, shape),)


def _every_window_meets_data(site: AnySite) -> bool:
    _, height, width, _ = site.input(0).shape
    pairs = zip(windows(site.attrs), (height, width), strict=True)
    return all(window.outputs(length) < 1 or _meets(window, length) for window, length in pairs)


def _meets(window: Window, length: int) -> bool:
    """Whether at each output position some tap lies inside an axis of ``length`` elements."""
    start = np.arange(window.outputs(length), dtype=np.int64) * window.stride - window.before
    first = np.maximum(-(start // window.dilation), 0)
    return bool(((first < window.size) & (start + first * window.dilation < length)).all())


def _is_simple(site: AnySite) -> bool:
    return site.attrs.dilation == (1, 1) and not getattr(site.attrs, "count_include_pad", False)


def window_constraint() -> AnyConstraint:
    return Constraint(
        "every window meets at least one element of the data",
        _every_window_meets_data,
        lambda site: f"size {site.attrs.size}, padding {site.attrs.padding}",
        "make the padding smaller than the window",
    )


def pool_constraints(*plain: AnyConstraint) -> tuple[AnyConstraint, ...]:
    """Limits of a pool; ``plain`` ones are those of its kind without quantization."""
    return (
        *image_constraints(),
        *only(is_quantized, activations(0), wide_zero_points(0)),
        *only(
            is_twice,
            same_quantization(0),
            Constraint(
                "without dilation, and with padding that does not count, where it is quantized",
                _is_simple,
                lambda site: str(site.attrs),
                "leave this layer in float32",
                gate=True,
            ),
        ),
        *only(is_plain, *plain),
        window_constraint(),
    )
