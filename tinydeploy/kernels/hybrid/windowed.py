"""Convolutions and dense layers of float data and integer weights: the data become steps in scratch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType
from tinydeploy.kernels.base import (
    Access,
    Banded,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Result,
    Schedule,
    constant,
)
from tinydeploy.kernels.float_operands import Clamp, clamp_of
from tinydeploy.kernels.general.numbers import packed
from tinydeploy.kernels.image import shape_text, window_text
from tinydeploy.kernels.nest import whole_access, whole_result
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected, rows_of
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.hybrid import is_asymmetric, is_hybrid
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.window import Window

INSTRUCTIONS_PER_MAC = 8
INSTRUCTIONS_PER_INPUT = 30
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class HybridParams(Params):
    """Output channel c reads ``depth`` input channels from ``c / each * depth`` on.

    ``channel_step`` and ``tap_step`` are distances in the weights; ``scale`` is that of the weights where all
    channels have one.
    """

    height_in: int
    width_in: int
    height_out: int
    width_out: int
    channels_in: int
    channels_out: int
    depth: int
    each: int
    channel_step: int
    tap_step: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_y: int
    before_x: int
    asymmetric: bool
    nibbles: bool
    scale: float | None
    bias: bool
    clamp: Clamp


@dataclass(frozen=True, slots=True)
class _Image:
    """What one call sees: windows, (height, width, channels) of its data and of its output."""

    vertical: Window
    horizontal: Window
    data: tuple[int, int, int]
    output: tuple[int, int, int]
    access: Access
    result: Result
    title: str


def _image(site: AnySite) -> _Image:
    if isinstance(site.attrs, FullyConnected):
        one = Window(1, 1, 1, 0, 0)
        outputs, inputs = site.input(1).shape
        rows = rows_of(site)
        access = Access(rows, site.input(0).bytes // rows)
        result = Result(rows, site.outputs[0].bytes // rows)
        title = f"FullyConnected, {rows}x{inputs} -> {rows}x{outputs}"
        return _Image(one, one, (1, 1, inputs), (1, 1, outputs), access, result, title)
    vertical, horizontal = windows(site)
    _, height, width, channels = site.input(0).shape
    _, rows, columns, filters = site.outputs[0].shape
    title = f"{type(site.attrs).__name__} {window_text(vertical, horizontal)}, {shape_text(site)}"
    return _Image(
        vertical,
        horizontal,
        (height, width, channels),
        (rows, columns, filters),
        whole_access(site, 0),
        whole_result(site),
        title,
    )


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    image = _image(site)
    vertical, horizontal = image.vertical, image.horizontal
    height, width, channels = image.data
    rows, columns, filters = image.output
    depthwise = isinstance(site.attrs, DepthwiseConv2D)
    weights, quant, bias = weights_of(site), quant_of(site.input(1)), site.constant(2)
    nibbles = site.input(1).dtype is DType.INT4
    depth = 1 if depthwise else weights.shape[-1]
    taps = vertical.size * horizontal.size
    constants = [
        constant("weights", CType.INT8, Kind.WEIGHTS, packed(weights) if nibbles else weights.reshape(-1))
    ]
    if not quant.per_tensor:
        constants.append(constant("scales", CType.FLOAT32, Kind.TABLE, np.array(quant.scales, np.float32)))
    if bias is not None:
        constants.append(constant("bias", CType.FLOAT32, Kind.TABLE, bias.reshape(-1)))
    params = HybridParams(
        height_in=height,
        width_in=width,
        height_out=rows,
        width_out=columns,
        channels_in=channels,
        channels_out=filters,
        depth=depth,
        each=filters // (channels // depth),
        channel_step=1 if depthwise else taps * depth,
        tap_step=filters if depthwise else depth,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        asymmetric=is_asymmetric(site),
        nibbles=nibbles,
        scale=quant.scale if quant.per_tensor else None,
        bias=bias is not None,
        clamp=clamp_of(site.attrs.activation),
    )
    macs = OPS[type(site.attrs).__name__].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=image.title,
        band=1,
        flat=True,
        operands=(0,),
        accesses=(image.access,),
        result=image.result,
        constants=tuple(constants),
        scalars=(),
        scratch_bytes=height * width * channels,
        cost_instructions=macs * INSTRUCTIONS_PER_MAC
        + site.input(0).elements * INSTRUCTIONS_PER_INPUT
        + site.outputs[0].elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="hybrid/windowed",
    op=(Conv2D, DepthwiseConv2D, FullyConnected, GroupedConv2D),
    doc="plain C; float data become int8 steps in scratch, sums are integers",
    applies=lambda site, _target: is_hybrid(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_hybrid.h", "td_int4.h", "td_rows.h"),
)
