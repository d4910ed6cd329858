"""Reshape: the same elements under another shape; costs nothing, the output aliases the input."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs


@dataclass(frozen=True, slots=True)
class Reshape(Attrs):
    """``shape`` is final: no -1, no 0."""

    shape: tuple[int, ...]


def _infer(site: Site[Reshape]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.attrs.shape, site.input(0).quant),)


def _reference(site: Site[Reshape], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data = arrays[0]
    if data is None:
        raise ValueError("Reshape needs data")
    return (data.reshape(site.attrs.shape),)


OP = Operator(
    attrs=Reshape,
    roles=("data",),
    doc="another shape for the same elements",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    view=True,
    constraints=(
        Constraint(
            "the new shape holds as many elements as the old one",
            lambda site: site.input(0).elements == site.outputs[0].elements,
            lambda site: f"{list(site.input(0).shape)} to {list(site.outputs[0].shape)}",
            "repair the model",
        ),
        Constraint(
            "input and output have the same type and quantization",
            lambda site: (
                (site.input(0).dtype, site.input(0).quant) == (site.outputs[0].dtype, site.outputs[0].quant)
            ),
            lambda site: f"{site.input(0).quant} and {site.outputs[0].quant}",
            "convert the model again: the converter ties the two scales",
        ),
    ),
)
