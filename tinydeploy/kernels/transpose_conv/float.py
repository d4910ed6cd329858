"""Transposed convolutions of float32 in plain C: each output gathers the taps that meet it."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.float_operands import BLOCK, Clamp, clamp_of, weights_and_bias
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.ops.transpose_conv_3d import TransposeConv3D

INSTRUCTIONS_PER_MAC = 4
INSTRUCTIONS_PER_OUTPUT = 60


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension: tap k of input i meets output ``i * stride + k * dilation - before``."""

    extent_in: int
    extent_out: int
    taps: int
    stride: int
    dilation: int
    before: int


@dataclass(frozen=True, slots=True)
class FloatTransposeConvParams(Params):
    """``each`` output channels a group, computed ``block`` at a time; ``depth`` input channels a group."""

    batch: int
    axes: tuple[Axis, ...]
    channels_in: int
    channels_out: int
    groups: int
    depth: int
    each: int
    block: int
    bias: bool
    clamp: Clamp


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs = site.attrs
    data, weights, output = site.input(0).shape, site.input(1).shape, site.outputs[0]
    each = weights[0] // attrs.groups
    operands, accesses = weights_and_bias(site)
    parts = (data[1:-1], attrs.size, weights[1:-1], attrs.stride, attrs.dilation, attrs.before)
    params = FloatTransposeConvParams(
        batch=data[0],
        axes=tuple(Axis(*numbers) for numbers in zip(*parts, strict=True)),
        channels_in=data[-1],
        channels_out=weights[0],
        groups=attrs.groups,
        depth=weights[-1],
        each=each,
        block=min(BLOCK, each),
        bias=site.has(2),
        clamp=clamp_of(attrs.activation),
    )
    op = type(attrs).__name__
    macs = OPS[op].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{op} of float, {shape_text(data)} -> {shape_text(output.shape)}",
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
    name="transpose_conv/float",
    op=(TransposeConv, TransposeConv3D),
    doc="float32 in plain C; each output gathers its taps for a block of channels",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h",),
)
