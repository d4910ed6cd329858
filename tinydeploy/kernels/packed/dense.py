"""Conv2D and FullyConnected with packed weights in plain C: one window at a time, group by group."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.conv_2d.scalar import bands, is_flat
from tinydeploy.kernels.image import image_access, image_result, shape_text, window_text
from tinydeploy.kernels.packed.grid import GROUP, Grid, on_grid, site_grid
from tinydeploy.kernels.requantize import Folded, Requantize, fold, is_int8_dot
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.fully_connected import FullyConnected, rows_of
from tinydeploy.ops.quantized import quant_of

INSTRUCTIONS_PER_MAC = 5
INSTRUCTIONS_PER_GROUP = 8
INSTRUCTIONS_PER_OUTPUT = 25


@dataclass(frozen=True, slots=True)
class PackedParams(Params):
    """``pixels`` windows a call. Windows that are no run of memory are copied to scratch first."""

    pixels: int
    inputs: int
    channels_out: int
    group: int
    copied: bool
    width_in: int
    channels_in: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    zero_point: int
    requantize: Requantize


def _grid(site: AnySite) -> Grid:
    grid = site_grid(site, 0)
    if grid is None:
        raise ValueError(f"{site.name}: the weights are not on a grid of 4 bits")
    return grid


def _cost(windows_: int, inputs: int, outputs: int) -> int:
    groups = -(-inputs // GROUP)
    each = inputs * INSTRUCTIONS_PER_MAC + groups * INSTRUCTIONS_PER_GROUP + INSTRUCTIONS_PER_OUTPUT
    return windows_ * outputs * each


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    grid, folded = _grid(site), fold(site, channel_axis=0)
    if isinstance(site.attrs, FullyConnected):
        return _dense(site, grid, folded)
    band = knobs.band if isinstance(knobs, Banded) else 1
    vertical, horizontal = windows(site)
    _, _, width, depth = site.input(0).shape
    _, height_out, width_out, channels = site.outputs[0].shape
    flat = is_flat(site)
    inputs, zero_point = grid.numbers.shape[1], quant_of(site.input(0)).zero_point
    params = PackedParams(
        pixels=band * width_out,
        inputs=inputs,
        channels_out=channels,
        group=GROUP,
        copied=not flat,
        width_in=width,
        channels_in=depth,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        zero_point=zero_point,
        requantize=folded.params,
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Conv2D {window_text(vertical, horizontal)}, weights of 4 bits, {shape_text(site)}",
        band=band,
        flat=flat,
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=(*grid.constants(), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=0 if flat else inputs,
        cost_instructions=_cost(height_out * width_out, inputs, channels),
        pad_value=zero_point,
    )


def _dense(site: AnySite, grid: Grid, folded: Folded) -> Kernel:
    rows, (outputs, inputs) = rows_of(site), grid.numbers.shape
    params = PackedParams(1, inputs, outputs, GROUP, False, 1, inputs, 1, 1, 1, 1, 1, 0, 0, folded.params)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"FullyConnected, weights of 4 bits, {rows}x{inputs} -> {rows}x{outputs}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, inputs),),
        result=Result(rows, outputs),
        constants=(*grid.constants(), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=0,
        cost_instructions=_cost(rows, inputs, outputs),
    )


def _knobs(site: AnySite, target: Target) -> tuple[Knobs, ...]:
    return (Banded(1),) if isinstance(site.attrs, FullyConnected) else bands(site, target)


SCHEDULE = Schedule(
    name="packed/dense",
    op=(Conv2D, FullyConnected),
    doc="plain C; weights of 4 bits with a factor per group, unpacked as they are multiplied",
    applies=lambda site, _target: is_int8_dot(site) and on_grid(site),
    knobs=_knobs,
    make=_make,
    headers=("td_fixed_point.h", "td_int4.h", "td_rows.h"),
)
