"""A user's operator: the C of its definition around typed pointers to whole tensors."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType, TensorType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access
from tinydeploy.ops import AnySite
from tinydeploy.ops.custom import Custom, Definition

INSTRUCTIONS_PER_ELEMENT = 50

_CTYPES = {
    DType.INT4: "int8_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
    DType.UINT32: "uint32_t",
    DType.INT64: "int64_t",
    DType.FLOAT32: "float",
    DType.BOOL: "uint8_t",
}


@dataclass(frozen=True, slots=True)
class Pointer:
    """One tensor in the C: ``index`` is its place among the row pointers, or the number of its output."""

    name: str
    ctype: str
    index: int
    shape: tuple[int, ...]
    elements: int


@dataclass(frozen=True, slots=True)
class CustomParams(Params):
    """``absent`` are the optional inputs that the node does not have; ``numbers`` those of the definition."""

    definition: Definition
    inputs: tuple[Pointer, ...]
    outputs: tuple[Pointer, ...]
    absent: tuple[str, ...]
    numbers: tuple[tuple[str, int | float], ...]

    def names(self) -> dict[str, object]:
        """What the user's template may print or ask."""
        names: dict[str, object] = dict(self.numbers)
        for pointer in (*self.inputs, *self.outputs):
            names[f"{pointer.name}_shape"] = pointer.shape
            names[f"{pointer.name}_elements"] = pointer.elements
            names[f"has_{pointer.name}"] = True
        names.update((f"has_{name}", False) for name in self.absent)
        return names


def _pointer(name: str, type_: TensorType, index: int) -> Pointer:
    return Pointer(name, _CTYPES[type_.dtype], index, type_.shape, type_.elements)


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    definition: Definition = site.attrs.definition
    names = [role.removesuffix("?") for role in definition.roles]
    operands = tuple(index for index in range(len(site.inputs)) if site.has(index))
    results = [Result(1, type_.bytes) for type_ in site.outputs]
    params = CustomParams(
        definition=definition,
        inputs=tuple(
            _pointer(names[index], site.input(index), place) for place, index in enumerate(operands)
        ),
        outputs=tuple(
            _pointer(name, type_, index)
            for index, (name, type_) in enumerate(zip(definition.results, site.outputs, strict=True))
        ),
        absent=tuple(name for index, name in enumerate(names) if index not in operands),
        numbers=tuple(definition.params(site).items()),
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Custom, {shape_text(site.outputs[0].shape)}",
        band=1,
        flat=True,
        operands=operands,
        accesses=tuple(whole_access(site, index) for index in operands),
        result=results[0],
        constants=(),
        scalars=(),
        scratch_bytes=definition.scratch_bytes(site),
        cost_instructions=site.outputs[0].elements * INSTRUCTIONS_PER_ELEMENT,
        more=tuple(results[1:]),
    )


SCHEDULE = Schedule(
    name="custom/template",
    op=Custom,
    doc="the user's own C",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_fixed_point.h", "td_math.h", "td_rows.h"),
)
