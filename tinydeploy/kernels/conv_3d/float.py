"""3-D convolutions of float32 in plain C: blocks of four channels, only the taps inside the data."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.float_operands import BLOCK, Clamp, clamp_of, weights_and_bias
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.conv_3d import Conv3D, Triple, groups_3d

INSTRUCTIONS_PER_MAC = 4
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class FloatConv3DParams(Params):
    """Triples are of depth, height and width; ``each`` output channels a group, ``block`` at a time."""

    batch: int
    extents_in: Triple
    extents_out: Triple
    channels_in: int
    channels_out: int
    groups: int
    depth: int
    each: int
    block: int
    taps: Triple
    stride: Triple
    dilation: Triple
    before: Triple
    bias: bool
    clamp: Clamp


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs: Conv3D = site.attrs
    data, weights, output = site.input(0), site.input(1).shape, site.outputs[0]
    groups = groups_3d(site)
    each = weights[0] // groups
    operands, accesses = weights_and_bias(site)
    (front, _), (top, _), (left, _) = attrs.padding
    params = FloatConv3DParams(
        batch=data.shape[0],
        extents_in=(data.shape[1], data.shape[2], data.shape[3]),
        extents_out=(output.shape[1], output.shape[2], output.shape[3]),
        channels_in=data.shape[4],
        channels_out=weights[0],
        groups=groups,
        depth=weights[4],
        each=each,
        block=min(BLOCK, each),
        taps=(weights[1], weights[2], weights[3]),
        stride=attrs.stride,
        dilation=attrs.dilation,
        before=(front, top, left),
        bias=site.has(2),
        clamp=clamp_of(attrs.activation),
    )
    macs = OPS["Conv3D"].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Conv3D of float, {shape_text(data.shape)} by {shape_text(weights)}",
        band=1,
        flat=True,
        operands=(0, *operands),
        accesses=(whole_access(site, 0), *accesses),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=macs * INSTRUCTIONS_PER_MAC + output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="conv_3d/float",
    op=Conv3D,
    doc="float32 in plain C; a block of channels side by side",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h",),
)
