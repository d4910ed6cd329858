"""AveragePool2D rounded once, in plain C: a factor per number of taps that count, so nothing is divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.kernels.base import (
    Banded,
    Constant,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Scalar,
    Schedule,
    constant,
)
from tinydeploy.kernels.image import image_access, image_result, shape_text, steps_ctype, window_text
from tinydeploy.ops import AnySite
from tinydeploy.ops.average_pool_2d import AveragePool2D, factors_of
from tinydeploy.ops.blend import is_once
from tinydeploy.ops.float_pools import tap_counts
from tinydeploy.ops.pooling import windows
from tinydeploy.ops.quantized import activation_limits, is_activation, quant_of

INSTRUCTIONS_PER_TAP = 5
INSTRUCTIONS_PER_OUTPUT = 25


@dataclass(frozen=True, slots=True)
class AverageParams(Params):
    """``vary``: how many taps count differs between outputs. It is a product of rows and columns."""

    width_in: int
    width_out: int
    channels: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    low: int
    high: int
    vary: bool
    ctype: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site.attrs)
    _, _, width, channels = site.input(0).shape
    output = site.outputs[0]
    low, high = activation_limits(site.attrs.activation, output)
    counts = tap_counts(site)[0, :, :, 0]
    vary = bool((counts != counts[0, 0]).any())
    params = AverageParams(
        width_in=width,
        width_out=output.shape[2],
        channels=channels,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        low=low,
        high=high,
        vary=vary,
        ctype=steps_ctype(output),
    )
    zero_point = quant_of(site.input(0)).zero_point
    multipliers, shifts = factors_of(site)
    factors: tuple[Scalar, ...] = ()
    constants: tuple[Constant, ...] = ()
    if vary:
        # A window is rows times columns, so its count is the product of its first column's and first row's.
        columns = counts[0] // np.gcd.reduce(counts[0])
        constants = (
            constant("counts_y", CType.INT32, Kind.TABLE, counts[:, 0] // columns[0]),
            constant("counts_x", CType.INT32, Kind.TABLE, columns),
            constant("multiplier", CType.INT32, Kind.TABLE, multipliers),
            constant("shift", CType.INT8, Kind.TABLE, shifts),
        )
    else:
        count = int(counts[0, 0])
        factors = (Scalar("multiplier", int(multipliers[count])), Scalar("shift", int(shifts[count])))
    taps = vertical.size * horizontal.size
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"AveragePool2D {window_text(vertical, horizontal)}, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=constants,
        scalars=(
            Scalar("input_zero_point", zero_point),
            *factors,
            Scalar("output_zero_point", quant_of(output).zero_point),
        ),
        scratch_bytes=0,
        cost_instructions=output.elements * (taps * INSTRUCTIONS_PER_TAP + INSTRUCTIONS_PER_OUTPUT),
        takes_row=vary,
        pad_value=zero_point,
    )


SCHEDULE = Schedule(
    name="average_pool_2d/once",
    op=AveragePool2D,
    doc="plain C; no division: a factor per number of taps that count",
    applies=lambda site, _target: is_once(site) and is_activation(site.outputs[0]),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
