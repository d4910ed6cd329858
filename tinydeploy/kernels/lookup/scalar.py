"""Functions of one int8 element: a table of 256 results, made by the reference at compile time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, DType
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
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.lookup import Lookup
from tinydeploy.ops.quantized import is_quantized
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.requantize import Requantize
from tinydeploy.ops.tanh import Tanh

INSTRUCTIONS_PER_OUTPUT = 5


@dataclass(frozen=True, slots=True)
class LookupParams(Params):
    """The table holds results of ``result`` from the input ``first`` on, that of the lowest ``source``."""

    elements: int
    source: str = "int8_t"
    result: str = "int8_t"
    first: int = -128


_C_TYPES = {
    DType.INT8: CType.INT8,
    DType.UINT8: CType.UINT8,
    DType.INT16: CType.INT16,
    DType.INT32: CType.INT32,
}


def _table(site: AnySite) -> Array:
    """The result of every input, from the lowest on."""
    source = site.input(0).dtype
    low, high = source.limits
    inputs = np.arange(low, high + 1).astype(source.numpy)
    (table,) = OPS[type(site.attrs).__name__].reference(site, (inputs, *site.constants[1:]))
    return table


def _applies(site: AnySite, _target: Target) -> bool:
    quantized = is_quantized(site) or isinstance(site.attrs, Lookup)
    return quantized and site.input(0).dtype.bits == 8 and site.outputs[0].dtype in _C_TYPES


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output = lines_of(site), site.outputs[0]
    source, result = _C_TYPES[site.input(0).dtype], _C_TYPES[output.dtype]
    params = LookupParams(
        band * output.elements // rows, source.value, result.value, site.input(0).dtype.limits[0]
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=(constant("table", result, Kind.TABLE, _table(site)),),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="lookup/scalar",
    op=(HardSwish, LeakyRelu, Logistic, Lookup, Relu, Requantize, Tanh),
    doc="plain C; one load from a table of 256 results per element",
    applies=_applies,
    knobs=_knobs,
    make=_make,
)
