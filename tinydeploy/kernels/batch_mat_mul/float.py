"""Products of float32 matrices and dense layers in plain C: blocks of two rows by four columns."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.batch_mat_mul.scalar import batches
from tinydeploy.kernels.float_operands import BLOCK, Clamp, clamp_of, weights_and_bias
from tinydeploy.kernels.nest import Loop, shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.batch_mat_mul import BatchMatMul, matrices
from tinydeploy.ops.fully_connected import FullyConnected, rows_of
from tinydeploy.ops.quantized import Activation

ROWS = 2
INSTRUCTIONS_PER_MAC = 3
INSTRUCTIONS_PER_OUTPUT = 12


@dataclass(frozen=True, slots=True)
class FloatMatrixParams(Params):
    """``batches`` walk both operands; ``a_*`` and ``b_*`` are distances in elements.

    A block of ``high`` rows by ``wide`` columns is computed side by side.
    """

    batches: tuple[Loop, ...]
    rows: int
    depth: int
    columns: int
    a_row: int
    a_step: int
    b_column: int
    b_step: int
    high: int
    wide: int
    bias: bool
    clamp: Clamp


def _params(site: AnySite) -> FloatMatrixParams:
    attrs = site.attrs
    if isinstance(attrs, FullyConnected):
        columns, depth = site.input(1).shape
        walk: tuple[Loop, ...] = ()
        rows, clamp = rows_of(site), clamp_of(attrs.activation)
        exchanged = False, True
    else:
        rows, depth, columns = matrices(site)
        walk, clamp = batches(site), clamp_of(Activation.NONE)
        exchanged = attrs.transpose_a, attrs.transpose_b
    return FloatMatrixParams(
        batches=walk,
        rows=rows,
        depth=depth,
        columns=columns,
        a_row=1 if exchanged[0] else depth,
        a_step=rows if exchanged[0] else 1,
        b_column=depth if exchanged[1] else 1,
        b_step=1 if exchanged[1] else columns,
        high=min(ROWS, rows),
        wide=min(BLOCK, columns),
        bias=site.has(2),
        clamp=clamp,
    )


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    params = _params(site)
    weights, accesses = weights_and_bias(site)
    outputs = site.outputs[0].elements
    sides = " by ".join(shape_text(site.input(index).shape) for index in range(2))
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__} of float, {sides}",
        band=1,
        flat=True,
        operands=(0, *weights),
        accesses=(whole_access(site, 0), *accesses),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=outputs * (params.depth * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="batch_mat_mul/float",
    op=(BatchMatMul, FullyConnected),
    doc="float32 in plain C; loads each element once for a block of outputs",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h",),
)
