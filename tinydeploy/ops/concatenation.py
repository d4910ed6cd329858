"""Concatenation: tensors one after the other along an axis; int8 ones are brought to the output's scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.movement import movable
from tinydeploy.ops.quantized import describe, is_int8, quant_of
from tinydeploy.ops.requantize import factor_between, rescaled


@dataclass(frozen=True, slots=True)
class Concatenation(Attrs):
    """``axis`` counts from 0 on."""

    axis: int


def _inputs(site: Site[Concatenation]) -> list[TensorType]:
    return [site.input(index) for index in range(len(site.inputs))]


def changes_scale(site: Site[Concatenation], index: int) -> bool:
    """Whether input ``index`` has another scale or zero point than the output."""
    return site.outputs[0].dtype is DType.INT8 and site.input(index).quant != site.outputs[0].quant


def _infer(site: Site[Concatenation]) -> tuple[TensorType, ...]:
    axis, shape = site.attrs.axis, list(site.input(0).shape)
    shape[axis] = sum(type_.shape[axis] for type_ in _inputs(site))
    return (TensorType(site.input(0).dtype, tuple(shape)),)


def _reference(site: Site[Concatenation], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    parts = [brought(site, index, operand(arrays, index)) for index in range(len(site.inputs))]
    return (np.concatenate(parts, axis=site.attrs.axis),)


def brought(site: Site[Concatenation], index: int, data: Array) -> Array:
    """The elements of input ``index`` on the output's scale."""
    if not changes_scale(site, index):
        return data
    source, target = quant_of(site.input(index)), quant_of(site.outputs[0])
    steps = rescaled(data.astype(np.int64) - source.zero_point, source, target)
    return np.clip(steps, -128, 127).astype(np.int8)


def _shapes_fit(site: Site[Concatenation]) -> bool:
    axis, first = site.attrs.axis, site.input(0)
    return 0 <= axis < len(first.shape) and all(
        len(type_.shape) == len(first.shape)
        and type_.shape[:axis] == first.shape[:axis]
        and type_.shape[axis + 1 :] == first.shape[axis + 1 :]
        for type_ in _inputs(site)
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


def _constants_fit(site: Site[Concatenation]) -> bool:
    return all(
        site.constant(index) is None or site.input(index).dtype is DType.INT8
        for index in range(len(site.inputs))
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
        Constraint(
            "constant inputs are int8",
            _constants_fit,
            _types_text,
            "compute the constant part outside of the model",
        ),
    ),
)
