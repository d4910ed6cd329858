"""Concatenation: tensors one after the other along an axis; int8 ones are brought to the output's scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.movable import movable
from tinydeploy.ops.quantized import describe, is_int8, quant_of
from tinydeploy.ops.requantize import factor_between, rescaled


@dataclass(frozen=True, slots=True)
class Concatenation(Attrs):
    """``axis`` counts from 0 on. With ``stacks`` each input is one element of a new axis there."""

    axis: int
    stacks: bool = False


def _inputs(site: Site[Concatenation]) -> list[TensorType]:
    return [site.input(index) for index in range(len(site.inputs))]


def shape_in(site: Site[Concatenation], index: int) -> tuple[int, ...]:
    """The shape of input ``index`` with the new axis, if there is one."""
    shape, axis = site.input(index).shape, site.attrs.axis
    return (*shape[:axis], 1, *shape[axis:]) if site.attrs.stacks else shape


def changes_scale(site: Site[Concatenation], index: int) -> bool:
    """Whether input ``index`` has another scale or zero point than the output."""
    return site.outputs[0].dtype is DType.INT8 and site.input(index).quant != site.outputs[0].quant


def _infer(site: Site[Concatenation]) -> tuple[TensorType, ...]:
    axis, shape = site.attrs.axis, list(shape_in(site, 0))
    shape[axis] = sum(shape_in(site, index)[axis] for index in range(len(site.inputs)))
    return (TensorType(site.input(0).dtype, tuple(shape)),)


def _reference(site: Site[Concatenation], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    parts = [brought(site, index, operand(arrays, index)) for index in range(len(site.inputs))]
    shaped = [part.reshape(shape_in(site, index)) for index, part in enumerate(parts)]
    return (np.concatenate(shaped, axis=site.attrs.axis),)


def brought(site: Site[Concatenation], index: int, data: Array) -> Array:
    """The elements of input ``index`` on the output's scale."""
    if not changes_scale(site, index):
        return data
    source, target = quant_of(site.input(index)), quant_of(site.outputs[0])
    steps = rescaled(data.astype(np.int64) - source.zero_point, source, target)
    return np.clip(steps, -128, 127).astype(np.int8)


def _shapes_fit(site: Site[Concatenation]) -> bool:
    axis, first = site.attrs.axis, shape_in(site, 0)
    shapes = [shape_in(site, index) for index in range(len(site.inputs))]
    return 0 <= axis < len(first) and all(
        len(shape) == len(first) and shape[:axis] == first[:axis] and shape[axis + 1 :] == first[axis + 1 :]
        for shape in shapes
    )


def _scales_fit(site: Site[Concatenation]) -> bool:
    changed = [index for index in range(len(site.inputs)) if changes_scale(site, index)]
    types = [site.outputs[0], *(site.input(index) for index in changed)]
    if changed and not all(map(is_int8, types)):
        return False
    target = site.outputs[0].quant
    return target is None or all(
        fits_32_bits(255, factor_between(quant_of(site.input(index)), target)[1]) for index in changed
    )


def _types_text(site: Site[Concatenation]) -> str:
    return ", ".join(map(describe, [*site.inputs, *site.outputs]))


OP = Operator(
    attrs=Concatenation,
    roles=("first", "next*"),
    doc="tensors one after the other along an axis, int8 ones with a change of scale",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(same_quant=False),
        Constraint(
            "the inputs have one element type, and one shape but for the axis",
            lambda site: (
                all(type_.dtype is site.input(0).dtype for type_ in _inputs(site)) and _shapes_fit(site)
            ),
            lambda site: f"axis {site.attrs.axis} of {_types_text(site)}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            "int8 inputs can be brought to the output's scale",
            _scales_fit,
            _types_text,
            "convert the model with full int8 quantization",
        ),
    ),
)
