"""Constants that are exchanged whole: one struct, reached through the model's state, in place of symbols.

What two trainings of one network choose differently goes there: weights, biases, tables, factors, zero
points and scales. What decides about code (shapes, clamps, the functions that are exact) stays compiled.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinydeploy.codegen.constants import Constants
from tinydeploy.codegen.literals import CIdent, Raw, c_array
from tinydeploy.codegen.views import C_TYPES
from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, Graph, TensorType
from tinydeploy.kernels.base import Constant, CType, Instance, Kernel, Kind, Scalar, constant
from tinydeploy.kernels.edge.params import EdgeParams
from tinydeploy.kernels.packed.dense import PackedParams
from tinydeploy.kernels.packed.depthwise import PackedDepthwiseParams
from tinydeploy.kernels.softmax.scalar import SoftmaxParams

_DISTANCES = 256
# Stands in templates where the zero point of this training would be printed.
_PADDING: Any = CIdent("padding_zero_point")


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the struct. ``values`` are its initialisers; ``elements`` includes padding."""

    name: CIdent
    ctype: CIdent
    elements: int
    values: Raw


@dataclass(frozen=True, slots=True)
class BlockView:
    """The struct as the templates see it. ``layout`` and ``parts`` identify the code that it belongs to."""

    fields: tuple[Field, ...]
    align_bytes: int
    payload: bytes
    layout: Raw = Raw("0ULL")  # noqa: RUF009 - immutable
    parts: tuple[Raw, ...] = ()

    @property
    def size_bytes(self) -> int:
        return len(self.payload)


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    ctype: str
    kind: Kind
    array: Array


class Block(Constants):
    """Collects data as members of one struct. What has one owner and one role is kept once; content that
    happens to be equal is not, because the next training would tell it apart."""

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self._items: dict[Hashable, _Item] = {}
        self._numbers: list[int] = []
        self._scales: list[float] = []

    def packed(self, constant: Constant, owner: Hashable) -> Raw:
        shared = constant.kind is Kind.WEIGHTS
        key = (owner, constant.role, constant.ctype) if shared else len(self._items)
        return self._put(key, constant.role, constant.ctype.value, constant.kind, constant.array)

    def scalar(self, value: int) -> str:
        return str(self._number(value))

    def scale(self, value: float) -> Raw:
        self._scales.append(value)
        return Raw(f"{self._bound}->scales[{len(self._scales) - 1}]")

    def zero_point(self, value: int) -> Raw:
        return self._number(value)

    def fill(self, value: int) -> Raw:
        return Raw(f"(int8_t){self._number(value)}")

    def value(self, graph: Graph, value: int) -> Raw:
        ctype = C_TYPES[graph.type(value).dtype]
        return self._put(("value", value), "constant", ctype, Kind.WEIGHTS, graph.array(value))

    def initial(self, type_: TensorType, array: Array) -> Raw:
        return self._put(len(self._items), "initial", C_TYPES[type_.dtype], Kind.TABLE, array)

    def padding(self, zero_point: int, row_bytes: int, owner: Hashable) -> Raw:
        row = np.full(row_bytes, zero_point, np.int8)
        return self._put(("padding", owner), "padding", "int8_t", Kind.TABLE, row)

    def bytes(self, kind: Kind) -> int:
        numbers = 4 * (len(self._numbers) + len(self._scales)) if kind is Kind.TABLE else 0
        return numbers + sum(item.array.nbytes for item in self._items.values() if item.kind is kind)

    def view(self) -> BlockView:
        """The struct; raises TinyDeployError for a model without constants."""
        items = [
            _Item("numbers", "int32_t", Kind.TABLE, np.array(self._numbers, np.int32)),
            _Item("scales", "float", Kind.TABLE, np.array(self._scales, np.float32)),
            *self._items.values(),
        ]
        items = [item for item in items if item.array.size]
        if not items:
            raise TinyDeployError(
                "the model has no constants, so there is nothing to exchange", fix="Leave out --slots"
            )
        align = max(4, *(item.array.itemsize for item in items))
        fields, payload = [], b""
        for item in items:
            data = item.array.astype(item.array.dtype.newbyteorder("<")).tobytes()
            data += bytes(-len(data) % align)
            payload += data
            elements = len(data) // item.array.itemsize
            fields.append(Field(CIdent(item.name), CIdent(item.ctype), elements, c_array(item.array)))
        return BlockView(tuple(fields), align, payload)

    @property
    def _bound(self) -> str:
        return f"{self._prefix}_data(&m->state)"

    def _number(self, value: int) -> Raw:
        self._numbers.append(value)
        return Raw(f"{self._bound}->numbers[{len(self._numbers) - 1}]")

    def _put(self, key: Hashable, role: str, ctype: str, kind: Kind, array: Array) -> Raw:
        if key in self._items and self._items[key].array.tobytes() != array.tobytes():
            key = len(self._items)
        if key not in self._items:
            self._items[key] = _Item(f"{role}_{len(self._items)}", ctype, kind, array.reshape(-1))
        return Raw(f"{self._bound}->{self._items[key].name}")


def exchangeable(kernel: Kernel) -> Kernel:
    """The kernel with the same results whose code holds no scale and no length that depends on one."""
    params = kernel.instance.params
    if isinstance(params, EdgeParams) and params.channels == 0:
        (zero_point,) = kernel.scalars
        return replace(
            kernel,
            instance=Instance(
                kernel.instance.schedule, replace(params, scale=0.0, channels=1, inner=params.elements)
            ),
            constants=(
                constant("scales", CType.FLOAT32, Kind.TABLE, np.array([params.scale], np.float32)),
                constant("zero_points", CType.INT32, Kind.TABLE, np.array([zero_point.value])),
            ),
            scalars=(),
        )
    if isinstance(params, SoftmaxParams) and params.entries < _DISTANCES:
        (table,) = kernel.constants
        whole = np.pad(table.array, (0, _DISTANCES - params.entries))
        return replace(
            kernel,
            instance=Instance(kernel.instance.schedule, replace(params, entries=_DISTANCES)),
            constants=(constant(table.role, table.ctype, table.kind, whole),),
        )
    if isinstance(params, PackedParams) and not params.copied:
        return replace(kernel, instance=Instance(kernel.instance.schedule, replace(params, zero_point=0)))
    if isinstance(params, PackedParams | PackedDepthwiseParams):
        named = replace(params, zero_point=_PADDING)
        padding = Scalar(str(_PADDING), params.zero_point)
        return replace(
            kernel,
            instance=Instance(kernel.instance.schedule, named),
            scalars=(*kernel.scalars, padding),
        )
    return kernel
