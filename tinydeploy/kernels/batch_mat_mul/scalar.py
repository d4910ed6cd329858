"""BatchMatMul in plain C: a dot product per output, operands read in place however they are stored."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import Rounding, reduced_multiplier
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Scalar, Schedule
from tinydeploy.kernels.nest import (
    Loop,
    broadcast_strides,
    merged,
    shape_text,
    whole_access,
    whole_result,
)
from tinydeploy.kernels.requantize import single_requantizer
from tinydeploy.ops import AnySite
from tinydeploy.ops.batch_mat_mul import BatchMatMul, factor_of, is_wide, matrices
from tinydeploy.ops.quantized import is_activation, quant_of

INSTRUCTIONS_PER_MAC = 6
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class MatMulParams(Params):
    """``batches`` walk both operands; the others are distances in elements."""

    batches: tuple[Loop, ...]
    rows: int
    depth: int
    columns: int
    a_row: int
    a_step: int
    b_column: int
    b_step: int
    function: str
    wide: bool = False


def batches(site: AnySite) -> tuple[Loop, ...]:
    """The walk over the leading axes: one stride per operand."""
    shape = site.outputs[0].shape
    strides = []
    for index in range(2):
        own = site.input(index).shape
        # A matrix of extent 1 along an axis still walks it, but nothing walks the last two axes here.
        strides.append(broadcast_strides(own, len(shape))[: len(shape) - 2])
    pairs = zip(shape[:-2], zip(*strides, strict=True), strict=True)
    return merged(Loop(extent, walk) for extent, walk in pairs)


def _wide_function(rounding: Rounding, multiplier: int) -> tuple[str, int]:
    """The C function of 64-bit sums, and the multiplier as it takes it."""
    if rounding is Rounding.HALF_EVEN:
        return "td_requantize_wide_half_even", multiplier
    return "td_requantize_wide", int(reduced_multiplier(multiplier))


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    rows, depth, columns = matrices(site)
    attrs: BatchMatMul = site.attrs
    multiplier, shift = factor_of(site)
    wide = is_wide(site)
    if wide:
        function, multiplier = _wide_function(attrs.rounding, multiplier)
    else:
        function, shift = single_requantizer(attrs.rounding, multiplier, shift, 255 * 255 * depth)
    params = MatMulParams(
        batches=batches(site),
        rows=rows,
        depth=depth,
        columns=columns,
        a_row=1 if attrs.transpose_a else depth,
        a_step=rows if attrs.transpose_a else 1,
        b_column=depth if attrs.transpose_b else 1,
        b_step=1 if attrs.transpose_b else columns,
        function=function,
        wide=wide,
    )
    outputs = site.outputs[0].elements
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"BatchMatMul, {shape_text(site.input(0).shape)} by {shape_text(site.input(1).shape)}",
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(
            Scalar("a_zero_point", quant_of(site.input(0)).zero_point),
            Scalar("b_zero_point", quant_of(site.input(1)).zero_point),
            Scalar("multiplier", multiplier),
            Scalar("shift", shift),
            Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point),
        ),
        scratch_bytes=0,
        cost_instructions=outputs * (depth * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="batch_mat_mul/scalar",
    op=BatchMatMul,
    doc="plain C; one dot product per output",
    applies=lambda site, _target: is_activation(site.outputs[0]),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
