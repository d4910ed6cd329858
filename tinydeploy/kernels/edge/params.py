"""What the two schedules at a model's edges share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType, TensorType
from tinydeploy.kernels.base import (
    Access,
    Banded,
    Constant,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Result,
    Scalar,
    constant,
)
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.quantized import quant_of

C_STEPS = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
}


@dataclass(frozen=True, slots=True)
class EdgeParams(Params):
    """``scale`` is a float32 number. With ``channels`` above 0 the elements are runs of ``inner``, one per
    channel in turn, and each channel has its own scale and zero point."""

    elements: int
    scale: float
    function: str
    steps: str
    low: int
    high: int
    channels: int = 0
    inner: int = 0


def knobs_of(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    per_tensor = all(
        type_ is None or type_.quant is None or type_.quant.per_tensor
        for type_ in (*site.inputs, *site.outputs)
    )
    return (Banded(rows), Banded(1)) if rows > 1 and per_tensor else (Banded(rows),)


def edge_kernel(
    site: AnySite, knobs: Knobs, name: str, steps: TensorType, function: str, instructions: int
) -> Kernel:
    """Element by element between types of different size; ``steps`` is the quantized side."""
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output, quant = lines_of(site), site.outputs[0], quant_of(steps)
    low, high = steps.dtype.limits
    elements = band * output.elements // rows
    constants: tuple[Constant, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    if quant.axis is None:
        params = EdgeParams(elements, quant.scale, function, C_STEPS[steps.dtype], low, high)
        scalars = (Scalar("zero_point", quant.zero_point),)
    else:
        inner = math.prod(steps.shape[quant.axis + 1 :])
        params = EdgeParams(
            elements, 0.0, function, C_STEPS[steps.dtype], low, high, steps.shape[quant.axis], inner
        )
        constants = (
            constant("scales", CType.FLOAT32, Kind.TABLE, np.array(quant.scales, np.float32)),
            constant("zero_points", CType.INT32, Kind.TABLE, np.array(quant.zero_points)),
        )
    return Kernel(
        instance=Instance(name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=constants,
        scalars=scalars,
        scratch_bytes=0,
        cost_instructions=output.elements * instructions,
    )
